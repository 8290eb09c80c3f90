#include "lockstep/tools/replay/command.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static ls_json *line_of(const char *kind)
{
    ls_json *json = ls_json_create();
    ls_json_text(json, "record", kind);
    return json;
}

static ls_status finish_line(ls_json *json, FILE *file)
{
    ls_status status = ls_json_write_line(json, file);
    ls_json_destroy(json);
    return status;
}

/* Everything but the key: what is exported may be handed on. */
static ls_status write_header(const ls_journal_header *header, FILE *file)
{
    ls_json *json = line_of("header");
    ls_json_hash(json, "match_id", header->match_id);
    ls_json_text(json, "sim", header->simulation);
    ls_json_number(json, "sim_version", header->simulation_version);
    ls_json_decimal(json, "seed", header->config.seed);
    ls_json_number(json, "tick_rate_hz", ls_rate_hz(ls_sim_config_rate(&header->config)));
    ls_json_number(json, "players", header->config.players);
    ls_json_number(json, "first_tick", header->first_tick);
    ls_json_hash(json, "initial_root", header->digests.initial);
    return finish_line(json, file);
}

static ls_status write_tick(const ls_tick_inputs *inputs, uint64_t state_hash, FILE *file)
{
    ls_json *json = line_of("tick");
    ls_json_number(json, "tick", inputs->tick);
    if (state_hash != 0) {
        ls_json_hash(json, "state_hash", state_hash);
    }
    ls_json *slots = ls_json_array(json, "slots");
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        const ls_slot_input *input = &inputs->slots[slot];
        ls_json *item = ls_json_append(slots);
        ls_json_bytes(item, "input", input->bytes, input->size);
        if (input->events != 0) {
            ls_json_number(item, "events", input->events);
        }
    }
    return finish_line(json, file);
}

static ls_status write_event(const ls_journal_record *record, FILE *file)
{
    ls_journal_event event = {0};
    ls_byte_stream stream = ls_byte_stream_read(record->raw, record->raw_bytes);
    ls_journal_event_stream(&stream, &event);
    if (stream.has_failed) {
        return LS_OK;
    }
    ls_json *json = line_of("event");
    ls_json_number(json, "tick", event.tick);
    ls_json_text(json, "kind", ls_journal_event_name(event.kind));
    if (event.slot != LS_JOURNAL_NO_SLOT) {
        ls_json_number(json, "slot", event.slot);
    }
    ls_json_text(json, "text", event.text.bytes);
    return finish_line(json, file);
}

static ls_status write_snapshot(const ls_journal_record *record, FILE *file)
{
    ls_journal_snapshot snapshot = {0};
    ls_byte_stream stream = ls_byte_stream_read(record->raw, record->raw_bytes);
    ls_journal_snapshot_stream(&stream, &snapshot);
    if (stream.has_failed || snapshot.piece > 0) {
        return LS_OK;
    }
    ls_json *json = line_of("snapshot");
    ls_json_number(json, "tick", snapshot.tick);
    ls_json_hash(json, "state_hash", snapshot.state_hash);
    ls_json_number(json, "bytes", (double)snapshot.state_bytes);
    return finish_line(json, file);
}

static ls_status write_end(const ls_journal_info *info, FILE *file)
{
    ls_json *json = line_of("end");
    ls_json_bool(json, "is_complete", info->is_complete);
    ls_json_number(json, "end_tick", info->end_tick);
    ls_json_hash(json, "tick_chain", info->tick_chain);
    ls_json_number(json, "ticks_missing", (double)info->ticks_missing);
    ls_json_number(json, "bytes_lost", (double)info->lost_bytes);
    return finish_line(json, file);
}

static ls_status write_events(ls_journal *journal, FILE *file)
{
    ls_journal_record record;
    uint64_t offset = 0;
    ls_status status = LS_OK;
    while (status == LS_OK && ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        if (record.kind == LS_JOURNAL_EVENT) {
            status = write_event(&record, file);
        } else if (record.kind == LS_JOURNAL_SNAPSHOT) {
            status = write_snapshot(&record, file);
        }
    }
    return status;
}

static ls_status write_ticks(ls_journal *journal, FILE *file, uint64_t *count)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_status status = LS_OK;
    ls_journal_seek(journal, 0);
    while (status == LS_OK && ls_journal_next_tick(journal, slots, &inputs, &state_hash) == LS_OK) {
        status = write_tick(&inputs, state_hash, file);
        (*count)++;
    }
    return status;
}

static ls_status write_all(ls_journal *journal, FILE *file, uint64_t *count)
{
    ls_status status = write_header(ls_journal_header_of(journal), file);
    status = status == LS_OK ? write_events(journal, file) : status;
    status = status == LS_OK ? write_ticks(journal, file, count) : status;
    return status == LS_OK ? write_end(ls_journal_info_of(journal), file) : status;
}

ls_status replay_export(replay_run *run, ls_text *why)
{
    const char *path = run->config->output;
    bool is_standard = strcmp(path, "-") == 0;
    FILE *file = is_standard ? stdout : fopen(path, "w");
    uint64_t count = 0;
    ls_status status = file ? write_all(run->playback->journal, file, &count) : LS_IO;
    if (file && (is_standard ? fflush(file) : fclose(file)) != 0) {
        status = LS_IO;
    }
    if (status == LS_IO) {
        ls_text_set(why, "cannot write to %s: %s", is_standard ? "standard output" : path,
                    strerror(errno));
    }
    ls_json_number(run->json, "ticks", (double)count);
    return status;
}
