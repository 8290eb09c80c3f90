#include "lockstep/common/encoding/journal_record.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/language.h"

#include <inttypes.h>
#include <string.h>

LS_CASE_FUNCTION(const char *, ls_journal_kind_name, ls_journal_kind, LS_JOURNAL_KIND_MAP,
                 LS_CASE_TEXT, "unknown")

LS_CASE_FUNCTION(const char *, ls_journal_event_name, uint32_t, LS_JOURNAL_EVENT_MAP, LS_CASE_NAME,
                 "UNKNOWN")

LS_CASE_FUNCTION(const char *, ls_journal_event_text, uint32_t, LS_JOURNAL_EVENT_MAP, LS_CASE_TEXT,
                 "something that this build does not know")

static void bool_stream(ls_byte_stream *stream, bool *value)
{
    uint32_t number = stream->mode != LS_STREAM_READ && *value ? 1 : 0;
    ls_byte_stream_ranged(stream, &number, 0, 1);
    *value = number != 0;
}

static void settings_stream(ls_byte_stream *stream, ls_journal_header *header)
{
    ls_byte_stream_ranged(stream, &header->hash_interval_ticks, 1, UINT32_MAX);
    ls_byte_stream_u32(stream, &header->late_rule);
    ls_byte_stream_u32(stream, &header->send_rate);
    ls_byte_stream_u32(stream, &header->on_desync);
    ls_byte_stream_u32(stream, &header->ticks);
    ls_byte_stream_u32(stream, &header->input_delay_ticks);
    bool_stream(stream, &header->adapts_input_delay);
    ls_byte_stream_u32(stream, &header->timeout_ms);
    ls_byte_stream_u32(stream, &header->wait_limit_ms);
}

void ls_journal_header_stream(ls_byte_stream *stream, ls_journal_header *header)
{
    ls_byte_stream_u64(stream, &header->match_id);
    ls_byte_stream_bytes(stream, header->key.bytes, sizeof header->key.bytes);
    ls_byte_stream_u32(stream, &header->match_number);
    ls_byte_stream_u32(stream, &header->first_tick);
    ls_byte_stream_text(stream, header->simulation, sizeof header->simulation);
    ls_byte_stream_u32(stream, &header->simulation_version);
    ls_sim_config_stream(stream, &header->config);
    ls_sim_digests_stream(stream, &header->digests);
    ls_byte_stream_ranged(stream, &header->input_bytes_max, 0, LS_INPUT_BYTES_MAX);
    ls_byte_stream_u64(stream, &header->save_bytes);
    settings_stream(stream, header);
    ls_build_fingerprint_stream(stream, &header->print);
    ls_sim_config_end_stream(stream, &header->config);
}

ls_status ls_journal_header_check_simulation(const ls_journal_header *header,
                                             const ls_simulation *simulation, ls_text *why)
{
    if (strcmp(simulation->name, header->simulation) != 0) {
        return ls_fail(LS_SIMULATION_MISMATCH, why,
                       "the journal is of simulation '%s', this is '%s'", header->simulation,
                       simulation->name);
    }
    if (simulation->version != header->simulation_version ||
        simulation->param_count != header->config.param_count ||
        simulation->input_bytes_max != header->input_bytes_max) {
        return ls_fail(LS_SIMULATION_VERSION_MISMATCH, why,
                       "the journal is of version %" PRIu32 " of '%s', here is version %" PRIu32,
                       header->simulation_version, simulation->name, simulation->version);
    }
    return LS_OK;
}

void ls_journal_event_stream(ls_byte_stream *stream, ls_journal_event *event)
{
    ls_byte_stream_u32(stream, &event->kind);
    ls_byte_stream_u32(stream, &event->tick);
    ls_byte_stream_u32(stream, &event->slot);
    ls_byte_stream_text(stream, event->text.bytes, sizeof event->text.bytes);
}

void ls_journal_snapshot_stream(ls_byte_stream *stream, ls_journal_snapshot *snapshot)
{
    ls_byte_stream_u32(stream, &snapshot->tick);
    ls_byte_stream_u64(stream, &snapshot->state_hash);
    ls_byte_stream_u64(stream, &snapshot->hash_chain);
    ls_byte_stream_u32(stream, &snapshot->hash_chain_tick);
    ls_byte_stream_u64(stream, &snapshot->tick_chain);
    ls_byte_stream_u64(stream, &snapshot->state_bytes);
    ls_byte_stream_u32(stream, &snapshot->piece);
}

uint32_t ls_journal_pieces(uint64_t state_bytes)
{
    uint64_t pieces = state_bytes / LS_JOURNAL_PIECE_BYTES;
    pieces += state_bytes % LS_JOURNAL_PIECE_BYTES != 0 || pieces == 0 ? 1 : 0;
    return pieces < UINT32_MAX ? (uint32_t)pieces : UINT32_MAX;
}

size_t ls_journal_piece_size(uint64_t state_bytes, uint32_t piece)
{
    uint64_t start = (uint64_t)piece * LS_JOURNAL_PIECE_BYTES;
    LS_ASSERT(start < state_bytes || piece == 0);
    uint64_t left = state_bytes - start;
    return left < LS_JOURNAL_PIECE_BYTES ? (size_t)left : LS_JOURNAL_PIECE_BYTES;
}

void ls_journal_end_stream(ls_byte_stream *stream, ls_journal_end *end)
{
    ls_byte_stream_u32(stream, &end->final_tick);
    ls_byte_stream_u64(stream, &end->final_hash);
    ls_byte_stream_u64(stream, &end->tick_chain);
    ls_byte_stream_u64(stream, &end->ticks);
    ls_byte_stream_u64(stream, &end->index_offset);
}

/* ---- records ---- */

ls_journal_raw ls_journal_header_record(const ls_journal_header *header,
                                        uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX])
{
    ls_journal_header copy = *header;
    ls_byte_stream stream = ls_byte_stream_write(bytes, LS_JOURNAL_HEADER_BYTES_MAX);
    ls_journal_header_stream(&stream, &copy);
    LS_ASSERT(!stream.has_failed);
    return (ls_journal_raw){.kind = LS_JOURNAL_HEADER, .bytes = bytes, .size = stream.at};
}

ls_journal_raw ls_journal_event_record(const ls_journal_event *event,
                                       uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX])
{
    ls_journal_event copy = *event;
    ls_byte_stream stream = ls_byte_stream_write(bytes, LS_JOURNAL_EVENT_BYTES_MAX);
    ls_journal_event_stream(&stream, &copy);
    LS_ASSERT(!stream.has_failed);
    return (ls_journal_raw){.kind = LS_JOURNAL_EVENT, .bytes = bytes, .size = stream.at};
}

ls_journal_raw ls_journal_piece_record(const ls_journal_snapshot *head, const uint8_t *state)
{
    ls_journal_snapshot copy = *head;
    ls_journal_raw raw = {.kind = LS_JOURNAL_SNAPSHOT,
                          .tick = head->tick,
                          .bytes = state + (size_t)head->piece * LS_JOURNAL_PIECE_BYTES,
                          .size = ls_journal_piece_size(head->state_bytes, head->piece)};
    ls_byte_stream stream = ls_byte_stream_write(raw.head, sizeof raw.head);
    ls_journal_snapshot_stream(&stream, &copy);
    raw.head_bytes = (uint32_t)stream.at;
    return raw;
}

ls_journal_raw ls_journal_end_record(const ls_journal_end *end)
{
    ls_journal_end copy = *end;
    ls_journal_raw raw = {.kind = LS_JOURNAL_END};
    ls_byte_stream stream = ls_byte_stream_write(raw.head, sizeof raw.head);
    ls_journal_end_stream(&stream, &copy);
    raw.head_bytes = (uint32_t)stream.at;
    return raw;
}

/* ---- what identifies a match, as lists of fields that every format kept on disk shares ---- */

enum {
    PRINT_BYTES_READ = 1152, /* as older programs wrote */
};
_Static_assert(LS_PRINT_BYTES_MAX <= PRINT_BYTES_READ, "a print that is written can be read");

void ls_sim_config_stream(ls_byte_stream *stream, ls_sim_config *config)
{
    ls_byte_stream_u64(stream, &config->seed);
    ls_byte_stream_ranged(stream, &config->tick_rate_hz, LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ);
    ls_byte_stream_ranged(stream, &config->players, 1, LS_PLAYERS_MAX);
    ls_byte_stream_ranged(stream, &config->param_count, 0, LS_PARAMS_MAX);
    for (uint32_t i = 0; i < config->param_count; i++) {
        uint64_t value = (uint64_t)config->params[i];
        ls_byte_stream_u64(stream, &value);
        config->params[i] = (int64_t)value;
    }
}

static void sim_file_stream(ls_byte_stream *stream, ls_sim_file *file)
{
    uint32_t size = (uint32_t)file->size;
    ls_byte_stream_ranged(stream, &size, 0, LS_FILE_BYTES_MAX);
    ls_byte_stream_u64(stream, &file->digest);
    if (stream->mode == LS_STREAM_READ) {
        file->bytes = NULL;
    }
    file->size = size;
}

void ls_sim_config_later_stream(ls_byte_stream *stream, ls_sim_config *config)
{
    ls_byte_stream_u32(stream, &config->tick_rate.numerator);
    ls_byte_stream_u32(stream, &config->tick_rate.denominator);
    bool is_whole = config->tick_rate.numerator == 0 && config->tick_rate.denominator == 0;
    stream->has_failed = stream->has_failed || (!is_whole && !ls_rate_is_good(config->tick_rate));
    ls_byte_stream_ranged(stream, &config->string_count, 0, LS_STRING_PARAMS_MAX);
    for (uint32_t i = 0; i < config->string_count; i++) {
        ls_byte_stream_text(stream, config->strings[i], sizeof config->strings[i]);
    }
    ls_byte_stream_ranged(stream, &config->file_count, 0, LS_FILE_PARAMS_MAX);
    for (uint32_t i = 0; i < config->file_count; i++) {
        sim_file_stream(stream, &config->files[i]);
    }
}

void ls_sim_config_end_stream(ls_byte_stream *stream, ls_sim_config *config)
{
    bool is_reading = stream->mode == LS_STREAM_READ;
    bool has_later =
        config->string_count > 0 || config->file_count > 0 || config->tick_rate.denominator > 0;
    if (is_reading ? !stream->has_failed && !ls_byte_stream_is_at_end(stream) : has_later) {
        ls_sim_config_later_stream(stream, config);
    }
}

void ls_sim_digests_stream(ls_byte_stream *stream, ls_sim_digests *digests)
{
    ls_byte_stream_u64(stream, &digests->parameters);
    ls_byte_stream_u64(stream, &digests->schema);
    ls_byte_stream_u64(stream, &digests->content);
    ls_byte_stream_u64(stream, &digests->initial);
}

void ls_build_fingerprint_stream(ls_byte_stream *stream, ls_build_fingerprint *print)
{
    uint8_t bytes[PRINT_BYTES_READ] = {0};
    uint32_t size =
        stream->mode == LS_STREAM_READ ? 0 : (uint32_t)ls_build_fingerprint_write(print, bytes);
    ls_byte_stream_ranged(stream, &size, 0, PRINT_BYTES_READ);
    ls_byte_stream_bytes(stream, bytes, size);
    if (stream->mode == LS_STREAM_READ) {
        ls_build_fingerprint_read(bytes, stream->has_failed ? 0 : size, print);
    }
}
