#include "lockstep/tools/replay/command.h"

#include "lockstep/common/system/output.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- what a journal holds ---- */

enum {
    EVENTS_SHOWN = 40,
};

static void show_contents(const replay_run *run, const ls_sim_config *config)
{
    ls_json *strings = ls_json_array(run->json, "strings");
    for (uint32_t i = 0; i < config->string_count; i++) {
        replay_say(run, "string: %s", config->strings[i]);
        ls_json_append_text(strings, config->strings[i]);
    }
    ls_json *files = ls_json_array(run->json, "files");
    for (uint32_t i = 0; i < config->file_count; i++) {
        const ls_sim_file *file = &config->files[i];
        replay_say(run, "file: digest %016" PRIx64 ", %" PRIu64 " bytes", file->digest, file->size);
        ls_json *entry = ls_json_append(files);
        ls_json_hash(entry, "digest", file->digest);
        ls_json_number(entry, "bytes", (double)file->size);
    }
}

static void show_header(const replay_run *run, const ls_journal_header *header)
{
    static const char *const rules[] = {"repeat", "wait"};
    const ls_sim_config *config = &header->config;
    const char *rule = header->late_rule < 2 ? rules[header->late_rule] : "?";
    ls_text rate = {{0}};
    ls_rate_add_text(ls_sim_config_rate(config), &rate);
    replay_say(run, "%s version %" PRIu32 ", %" PRIu32 " players, %s Hz, seed %" PRIu64,
               header->simulation, header->simulation_version, config->players, rate.bytes,
               config->seed);
    replay_say(run, "match %016" PRIx64 ", late %s, one state in %" PRIu32 " hashed",
               header->match_id, rule, header->hash_interval_ticks);
    ls_json_hash(run->json, "match_id", header->match_id);
    ls_json_text(run->json, "sim", header->simulation);
    ls_json_number(run->json, "sim_version", header->simulation_version);
    ls_json_decimal(run->json, "seed", config->seed);
    ls_json_number(run->json, "tick_rate_hz", ls_rate_hz(ls_sim_config_rate(config)));
    ls_json_number(run->json, "players", config->players);
    ls_json_number(run->json, "hash_interval", header->hash_interval_ticks);
    ls_json_text(run->json, "late", rule);
    ls_json *params = ls_json_array(run->json, "params");
    for (uint32_t i = 0; i < config->param_count; i++) {
        char text[24];
        snprintf(text, sizeof text, "%" PRId64, config->params[i]);
        ls_json_append_text(params, text);
    }
    show_contents(run, config);
    ls_json *build = ls_json_object(run->json, "build");
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        ls_json_text(build, ls_fingerprint_item_name((ls_fingerprint_item)i),
                     header->print.items[i]);
    }
}

static void show_ticks(const replay_run *run, const ls_journal_header *header,
                       const ls_journal_info *info)
{
    double seconds = (double)info->ticks / ls_rate_hz(ls_sim_config_rate(&header->config));
    double hours = seconds / 3600 * header->config.players;
    replay_say(run,
               "ticks %" PRIu32 " to %" PRIu32 " (%.1f s), %" PRIu64 " state hashes, %" PRIu64
               " snapshots; %s",
               info->first_tick, info->end_tick, seconds, info->state_hashes, info->snapshots,
               info->is_complete ? "closed cleanly" : "not closed");
    if (info->ticks_missing > 0) {
        replay_say(run, "%" PRIu64 " ticks are missing, in %" PRIu32 " gaps, the first at %" PRIu32,
                   info->ticks_missing, info->gaps, info->gap_tick);
    }
    replay_say(run, "%" PRIu64 " bytes, %.0f for each player and hour", info->bytes,
               hours > 0 ? (double)info->bytes / hours : 0);
    ls_json_number(run->json, "first_tick", info->first_tick);
    ls_json_number(run->json, "end_tick", info->end_tick);
    ls_json_number(run->json, "ticks", (double)info->ticks);
    ls_json_number(run->json, "ticks_missing", (double)info->ticks_missing);
    ls_json_number(run->json, "state_hashes", (double)info->state_hashes);
    ls_json_number(run->json, "snapshots", (double)info->snapshots);
    ls_json_bool(run->json, "is_complete", info->is_complete);
    ls_json_hash(run->json, "tick_chain", info->tick_chain);
    if (info->is_complete) {
        ls_json_number(run->json, "final_tick", info->end.final_tick);
        ls_json_hash(run->json, "final_hash", info->end.final_hash);
    }
    ls_json_number(run->json, "bytes", (double)info->bytes);
    ls_json_number(run->json, "bytes_lost", (double)info->lost_bytes);
    if (info->lost_tick != UINT32_MAX) {
        ls_json_number(run->json, "lost_from_tick", info->lost_tick);
    } else {
        ls_json_null(run->json, "lost_from_tick");
    }
    ls_json_number(run->json, "bytes_per_player_hour", hours > 0 ? (double)info->bytes / hours : 0);
}

static void show_records(const replay_run *run, const ls_journal_info *info)
{
    ls_json *records = ls_json_object(run->json, "records");
    for (uint32_t kind = 1; kind < LS_JOURNAL_KIND_COUNT; kind++) {
        const char *name = ls_journal_kind_name((ls_journal_kind)kind);
        ls_json *json = ls_json_object(records, name);
        replay_say(run,
                   "  %-10s %8" PRIu64 " records %12" PRIu64 " bytes, %12" PRIu64
                   " before they were compressed",
                   name, info->records[kind], info->stored_bytes[kind], info->raw_bytes[kind]);
        ls_json_number(json, "records", (double)info->records[kind]);
        ls_json_number(json, "bytes", (double)info->stored_bytes[kind]);
        ls_json_number(json, "raw_bytes", (double)info->raw_bytes[kind]);
    }
}

static void show_events(const replay_run *run)
{
    ls_journal *journal = run->playback->journal;
    ls_journal_event event;
    uint64_t offset = 0;
    uint64_t count = 0;
    ls_json *events = ls_json_array(run->json, "events");
    while (ls_journal_next_event(journal, &offset, &event) == LS_OK) {
        ls_json *json = ls_json_append(events);
        char slot[24] = "";
        ls_json_number(json, "tick", event.tick);
        ls_json_text(json, "kind", ls_journal_event_name(event.kind));
        ls_json_text(json, "text", event.text.bytes);
        if (event.slot != LS_JOURNAL_NO_SLOT) {
            ls_json_number(json, "slot", event.slot);
            snprintf(slot, sizeof slot, "slot %" PRIu32 " ", event.slot);
        }
        if (count++ < EVENTS_SHOWN) {
            replay_say(run, "  tick %8" PRIu32 "  %s%s%s%s", event.tick, slot,
                       ls_journal_event_text(event.kind), event.text.bytes[0] ? ": " : "",
                       event.text.bytes);
        }
    }
    if (count > EVENTS_SHOWN) {
        replay_say(run, "  and %" PRIu64 " more events", count - EVENTS_SHOWN);
    }
}

ls_status replay_info(replay_run *run, ls_text *why)
{
    (void)why;
    const ls_journal *journal = run->playback->journal;
    const ls_journal_header *header = ls_journal_header_of(journal);
    const ls_journal_info *info = ls_journal_info_of(journal);
    show_header(run, header);
    show_ticks(run, header, info);
    show_records(run, info);
    show_events(run);
    return LS_OK;
}

/* ---- export ---- */

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
    FILE *file = ls_output_open(path, LS_OUTPUT_WAITS_FOR_READER);
    uint64_t count = 0;
    ls_status status = file ? write_all(run->playback->journal, file, &count) : LS_IO;
    if (file && !ls_output_close(file)) {
        status = LS_IO;
    }
    if (status == LS_IO) {
        ls_text_set(why, "cannot write to %s: %s",
                    strcmp(path, "-") == 0 ? "standard output" : path, strerror(errno));
    }
    ls_json_number(run->json, "ticks", (double)count);
    return status;
}
