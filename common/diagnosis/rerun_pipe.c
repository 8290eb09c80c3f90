#include "lockstep/common/diagnosis/rerun_pipe.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/common/simulation/state_schema.h"

#include <string.h>

/* The first byte of everything that a helper writes. */
enum {
    OUTCOME = 'O',
    CRASH = 'C',
};

/* Where a state is. */
enum {
    IN_MEMORY = 1,
    LEFT = 2,
};

/* The ticks of a stretch are held in rings of this many at most. */
#define TICKS_MAX (1u << 20)

bool ls_rerun_pipe_leaves_states(size_t state_bytes, uint32_t pass)
{
    return state_bytes > LS_RERUN_PIPE_SMALL_BYTES && pass != LS_PASS_OF_WRITERS &&
           ls_schema_is_canonical_here();
}

/* ---- the request ---- */

static void match_stream(ls_byte_stream *stream, ls_rerun_match *match)
{
    ls_byte_stream_u32(stream, &match->surroundings); /* first, so that it can be set later */
    ls_byte_stream_text(stream, match->simulation, sizeof match->simulation);
    ls_sim_config_stream(stream, &match->config);
    ls_sim_config_later_stream(stream, &match->config);
    ls_byte_stream_ranged(stream, &match->input_bytes_max, 0, LS_INPUT_BYTES_MAX);
    ls_byte_stream_ranged(stream, &match->state_bytes, 1, LS_STATE_BYTES_MAX);
    ls_byte_stream_ranged(stream, &match->workers, 0, LS_WORKERS_MAX);
    ls_byte_stream_u32(stream, &match->noise);
}

static void head_stream(ls_byte_stream *stream, ls_rerun_order *order)
{
    match_stream(stream, &order->match);
    ls_byte_stream_u32(stream, &order->pass);
    ls_byte_stream_u32(stream, &order->time_max_ms);
    ls_byte_stream_ranged(stream, &order->stretch.first, 0, UINT32_MAX - TICKS_MAX);
    ls_byte_stream_u32(stream, &order->stretch.agreed);
    ls_byte_stream_u32(stream, &order->stretch.last);
    const ls_replay_stretch *stretch = &order->stretch;
    stream->has_failed = stream->has_failed || stretch->agreed < stretch->first ||
                         stretch->last <= stretch->agreed ||
                         stretch->last - stretch->first >= TICKS_MAX;
}

static ls_status write_input(ls_byte_stream *stream, const ls_input_buffer *inputs, ls_tick tick,
                             uint32_t slot)
{
    ls_slot_input input;
    ls_status status = ls_input_buffer_get(inputs, tick, slot, &input);
    if (status == LS_OK) {
        ls_byte_stream_u32(stream, &input.size);
        ls_byte_stream_u32(stream, &input.events);
        ls_byte_stream_add(stream, input.bytes, input.size);
    }
    return status;
}

static ls_status write_request(ls_byte_stream *stream, uint64_t body_bytes, ls_rerun_order *order)
{
    const ls_replay_stretch *stretch = &order->stretch;
    ls_status status = LS_OK;
    ls_byte_stream_u64(stream, &body_bytes);
    head_stream(stream, order);
    for (ls_tick tick = stretch->first; tick <= stretch->last; tick++) {
        uint64_t state_hash = ls_replay_stretch_hash(stretch, tick);
        ls_byte_stream_u64(stream, &state_hash);
    }
    for (ls_tick tick = stretch->first; tick < stretch->last; tick++) {
        for (uint32_t slot = 0; status == LS_OK && slot < order->match.config.players; slot++) {
            status = write_input(stream, stretch->inputs, tick, slot);
        }
    }
    for (uint32_t i = 0; i < order->match.config.file_count; i++) {
        const ls_sim_file *file = &order->match.config.files[i];
        ls_byte_stream_add(stream, file->bytes, (size_t)file->size);
    }
    return status;
}

/* Makes room for `snapshot_bytes` behind it as well. */
static ls_status make_request(const ls_rerun_match *match, const ls_rerun_request *request,
                              size_t snapshot_bytes, const ls_allocator *allocator, uint8_t **bytes,
                              size_t *size)
{
    ls_rerun_order order = {.match = *match,
                            .stretch = *request->stretch,
                            .pass = request->pass,
                            .time_max_ms = request->time_max_ms};
    ls_byte_stream measured = ls_byte_stream_measure();
    ls_status status = write_request(&measured, 0, &order);
    if (status != LS_OK) {
        return status;
    }
    *size = measured.at;
    *bytes = ls_allocate(allocator, measured.at + snapshot_bytes);
    if (!*bytes) {
        return LS_NO_MEMORY;
    }
    ls_byte_stream stream = ls_byte_stream_write(*bytes, *size);
    return write_request(&stream, *size - LS_RERUN_PIPE_HEAD_BYTES + match->state_bytes, &order);
}

ls_status ls_rerun_pipe_write_request_head(const ls_rerun_match *match,
                                           const ls_rerun_request *request,
                                           const ls_allocator *allocator, uint8_t **bytes,
                                           size_t *size)
{
    return make_request(match, request, 0, allocator, bytes, size);
}

ls_status ls_rerun_pipe_write_request(const ls_rerun_match *match, const ls_rerun_request *request,
                                      const ls_allocator *allocator, uint8_t **bytes, size_t *size)
{
    ls_status status = make_request(match, request, match->state_bytes, allocator, bytes, size);
    if (status == LS_OK) {
        memcpy(*bytes + *size, request->stretch->snapshot, match->state_bytes);
        *size += match->state_bytes;
    }
    return status;
}

void ls_rerun_pipe_set_surroundings(uint8_t *bytes, uint32_t surroundings)
{
    ls_store_u32(bytes + LS_RERUN_PIPE_HEAD_BYTES, surroundings);
}

static uint32_t power_of_two_from(uint32_t count)
{
    uint32_t power = 1;
    while (power < count) {
        power *= 2;
    }
    return power;
}

static ls_status allocate_order(ls_rerun_order *order, const ls_allocator *allocator)
{
    uint32_t ring = power_of_two_from(order->stretch.last - order->stretch.first + 1);
    ls_input_buffer_config config = {.slots = order->match.config.players,
                                     .input_bytes_max = order->match.input_bytes_max,
                                     .window_ticks = ring};
    order->state_hashes = ls_allocate_array(allocator, ring, sizeof *order->state_hashes);
    if (!order->state_hashes) {
        return LS_NO_MEMORY;
    }
    order->stretch.state_hashes = order->state_hashes;
    order->stretch.hashes_mask = ring - 1;
    ls_status status = ls_input_buffer_create(&config, allocator, &order->inputs);
    if (status == LS_OK) {
        ls_input_buffer_restart(order->inputs, order->stretch.first);
        order->stretch.inputs = order->inputs;
    }
    return status;
}

static void read_input(ls_byte_stream *stream, ls_rerun_order *order, ls_tick tick, uint32_t slot)
{
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    uint32_t events = 0;
    ls_byte_stream_ranged(stream, &size, 0, order->match.input_bytes_max);
    ls_byte_stream_u32(stream, &events);
    ls_byte_stream_bytes(stream, bytes, size);
    if (!stream->has_failed) {
        (void)ls_input_buffer_put(order->inputs, tick, slot, bytes, size, events);
    }
}

static void read_ticks(ls_byte_stream *stream, ls_rerun_order *order)
{
    const ls_replay_stretch *stretch = &order->stretch;
    for (ls_tick tick = stretch->first; tick <= stretch->last; tick++) {
        ls_byte_stream_u64(stream, &order->state_hashes[tick & stretch->hashes_mask]);
    }
    for (ls_tick tick = stretch->first; !stream->has_failed && tick < stretch->last; tick++) {
        for (uint32_t slot = 0; slot < order->match.config.players; slot++) {
            read_input(stream, order, tick, slot);
        }
    }
}

/* The content of the match's files: where it stands. */
static void read_files(ls_byte_stream *stream, ls_sim_config *config)
{
    for (uint32_t i = 0; i < config->file_count && !stream->has_failed; i++) {
        ls_sim_file *file = &config->files[i];
        stream->has_failed = stream->size - stream->at < file->size;
        file->bytes = stream->has_failed || file->size == 0 ? NULL : stream->from + stream->at;
        stream->at += stream->has_failed ? 0 : (size_t)file->size;
    }
}

static void release_order(ls_rerun_order *order, const ls_allocator *allocator)
{
    ls_input_buffer_destroy(order->inputs);
    ls_release(allocator, order->state_hashes);
    *order = (ls_rerun_order){0};
}

ls_status ls_rerun_pipe_read_request(const uint8_t *bytes, size_t size,
                                     const ls_allocator *allocator, ls_rerun_order *out)
{
    *out = (ls_rerun_order){0};
    ls_byte_stream stream = ls_byte_stream_read(bytes, size);
    head_stream(&stream, out);
    ls_status status = stream.has_failed ? LS_MALFORMED : allocate_order(out, allocator);
    if (status != LS_OK) {
        release_order(out, allocator);
        return status;
    }
    read_ticks(&stream, out);
    read_files(&stream, &out->match.config);
    if (stream.has_failed || stream.size - stream.at != out->match.state_bytes) {
        release_order(out, allocator);
        return LS_MALFORMED;
    }
    out->stretch.snapshot = bytes + stream.at;
    out->stretch.snapshot_bytes = out->match.state_bytes;
    return LS_OK;
}

/* ---- a crash ---- */

void ls_rerun_pipe_write_crash(const ls_rerun_crash *crash, uint8_t bytes[LS_RERUN_CRASH_BYTES])
{
    bytes[0] = CRASH;
    ls_store_u32(bytes + 1, crash->signal);
    ls_store_u32(bytes + 5, crash->is_in_init);
    ls_store_u32(bytes + 9, crash->tick);
}

/* ---- the outcome ---- */

static void passes_stream(ls_byte_stream *stream, ls_pass_trace *passes)
{
    ls_byte_stream_u32(stream, &passes->tick);
    ls_byte_stream_ranged(stream, &passes->pass_count, 0, LS_PASSES_MAX);
    ls_byte_stream_u64(stream, &passes->before);
    for (uint32_t i = 0; i < passes->pass_count; i++) {
        ls_byte_stream_u64(stream, &passes->state_hashes[i]);
    }
}

static void head_of_outcome_stream(ls_byte_stream *stream, ls_rerun_outcome *outcome,
                                   uint8_t has_states[2])
{
    uint8_t kind = OUTCOME;
    uint8_t figures[LS_RERUN_FIGURES_BYTES] = {0};
    ls_byte_stream_u8(stream, &kind);
    if (stream->mode != LS_STREAM_READ) {
        ls_rerun_figures_write(&outcome->figures, figures);
    }
    ls_byte_stream_bytes(stream, figures, sizeof figures);
    if (stream->mode == LS_STREAM_READ && !stream->has_failed) {
        stream->has_failed = kind != OUTCOME || ls_rerun_figures_read(figures, sizeof figures,
                                                                      &outcome->figures) != LS_OK;
    }
    passes_stream(stream, &outcome->passes);
    ls_byte_stream_u32(stream, &outcome->unstable_pass);
    ls_byte_stream_text(stream, outcome->outside.bytes, sizeof outcome->outside.bytes);
    ls_byte_stream_text(stream, outcome->harmless.bytes, sizeof outcome->harmless.bytes);
    ls_byte_stream_text(stream, outcome->failure.bytes, sizeof outcome->failure.bytes);
    ls_byte_stream_bytes(stream, has_states, 2);
}

/* Where a state stands in what is read; NULL: it is not there. */
static const uint8_t *borrow_state(ls_byte_stream *stream, bool has_state, uint32_t state_bytes)
{
    stream->has_failed =
        stream->has_failed || (has_state && stream->size - stream->at < state_bytes);
    if (!has_state || stream->has_failed) {
        return NULL;
    }
    const uint8_t *state = stream->from + stream->at;
    stream->at += state_bytes;
    return state;
}

size_t ls_rerun_pipe_outcome_bytes(uint32_t state_bytes)
{
    return 2u * (size_t)state_bytes + LS_RERUN_PIPE_OUTCOME_HEAD_BYTES_MAX;
}

size_t ls_rerun_pipe_write_outcome_head(const ls_rerun_outcome *outcome,
                                        uint8_t bytes[LS_RERUN_PIPE_OUTCOME_HEAD_BYTES_MAX])
{
    ls_rerun_outcome written = *outcome;
    uint8_t has_states[2] = {outcome->state        ? IN_MEMORY
                             : outcome->is_left[0] ? LEFT
                                                   : 0,
                             outcome->pass_state   ? IN_MEMORY
                             : outcome->is_left[1] ? LEFT
                                                   : 0};
    ls_byte_stream stream = ls_byte_stream_write(bytes, LS_RERUN_PIPE_OUTCOME_HEAD_BYTES_MAX);
    head_of_outcome_stream(&stream, &written, has_states);
    LS_ASSERT(!stream.has_failed);
    return stream.at;
}

ls_status ls_rerun_pipe_read(const uint8_t *bytes, size_t size, uint32_t state_bytes,
                             ls_rerun_outcome *outcome, ls_rerun_crash *crash)
{
    *outcome = (ls_rerun_outcome){0};
    *crash = (ls_rerun_crash){0};
    if (size == LS_RERUN_CRASH_BYTES && bytes[0] == CRASH) {
        *crash = (ls_rerun_crash){.signal = ls_load_u32(bytes + 1),
                                  .is_in_init = ls_load_u32(bytes + 5),
                                  .tick = ls_load_u32(bytes + 9)};
        return crash->signal != 0 ? LS_OK : LS_MALFORMED;
    }
    uint8_t has_states[2] = {0};
    ls_byte_stream stream = ls_byte_stream_read(bytes, size);
    head_of_outcome_stream(&stream, outcome, has_states);
    outcome->state = borrow_state(&stream, has_states[0] == IN_MEMORY, state_bytes);
    outcome->pass_state = borrow_state(&stream, has_states[1] == IN_MEMORY, state_bytes);
    outcome->is_left[0] = has_states[0] == LEFT;
    outcome->is_left[1] = has_states[1] == LEFT;
    return ls_byte_stream_is_at_end(&stream) ? LS_OK : LS_MALFORMED;
}
