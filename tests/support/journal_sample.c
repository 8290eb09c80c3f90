#include "lockstep/tests/support/journal_sample.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/state_hash.h"

#include <stdlib.h>
#include <string.h>

journal_sample_config journal_sample_default(void)
{
    return (journal_sample_config){.ticks = 200,
                                   .block_ticks = 16,
                                   .snapshot_ticks = 50,
                                   .state_bytes = 600,
                                   .is_closed = true};
}

void journal_sample_inputs(ls_tick tick, ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    static uint8_t bytes[JOURNAL_SAMPLE_SLOTS][JOURNAL_SAMPLE_INPUT_BYTES];
    for (uint32_t slot = 0; slot < JOURNAL_SAMPLE_SLOTS; slot++) {
        uint64_t made = ls_hash_pair(tick / 4, slot); /* every fourth tick is another one */
        memcpy(bytes[slot], &made, sizeof bytes[slot]);
        slots[slot] = (ls_slot_input){.bytes = bytes[slot],
                                      .size = (uint32_t)(made >> 8) % 9,
                                      .events = tick == 0 ? LS_EVENT_JOINED : 0};
    }
    *out = (ls_tick_inputs){.tick = tick, .slot_count = JOURNAL_SAMPLE_SLOTS, .slots = slots};
}

uint64_t journal_sample_hash(ls_tick tick)
{
    return ls_hash_pair(tick, 77) | 1;
}

uint8_t journal_sample_state_byte(ls_tick tick, size_t index)
{
    return (uint8_t)ls_hash_pair(tick, index / 8); /* half of it can be compressed away */
}

ls_journal_header journal_sample_header(const journal_sample_config *config)
{
    ls_journal_header header = {.match_id = 0x123456789abcdef0,
                                .match_number = 3,
                                .simulation = "sample",
                                .simulation_version = 2,
                                .config = {.seed = 9,
                                           .tick_rate_hz = 60,
                                           .players = JOURNAL_SAMPLE_SLOTS,
                                           .param_count = 2,
                                           .params = {5, -6}},
                                .digests = {1, 2, 3, 4},
                                .input_bytes_max = JOURNAL_SAMPLE_INPUT_BYTES,
                                .save_bytes = config->state_bytes,
                                .hash_interval_ticks = 1,
                                .late_rule = 1,
                                .ticks = config->ticks,
                                .timeout_ms = 10000,
                                .wait_limit_ms = 2000};
    memset(header.key.bytes, 0x5a, sizeof header.key.bytes);
    ls_build_fingerprint_set(&header.print, LS_PRINT_COMPILER, "a compiler");
    return header;
}

void journal_sample_append(journal_sample *sample, const ls_journal_raw *raw)
{
    ls_journal_framed record = ls_journal_writer_frame(sample->writer, raw);
    LS_ASSERT(record.offset <= sample->size);
    while (record.offset + record.size > sample->capacity) {
        sample->capacity = sample->capacity > 0 ? sample->capacity * 2 : 1 << 16;
        sample->bytes = realloc(sample->bytes, sample->capacity);
    }
    memcpy(sample->bytes + record.offset, record.bytes, record.size);
    sample->size = (size_t)record.offset + record.size;
    ls_journal_writer_keep(sample->writer);
}

static void append_header(journal_sample *sample)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = journal_sample_header(&sample->config);
    ls_journal_raw raw = ls_journal_header_record(&header, bytes);
    journal_sample_append(sample, &raw);
}

static void append_event(journal_sample *sample, ls_journal_event_kind kind, ls_tick tick,
                         const char *text)
{
    uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
    ls_journal_event event = {.kind = kind, .tick = tick, .slot = 1};
    ls_text_set(&event.text, "%s", text);
    ls_journal_raw raw = ls_journal_event_record(&event, bytes);
    journal_sample_append(sample, &raw);
}

static void append_snapshot(journal_sample *sample, ls_tick tick)
{
    size_t size = sample->config.state_bytes;
    uint8_t *state = malloc(size);
    for (size_t i = 0; i < size; i++) {
        state[i] = journal_sample_state_byte(tick, i);
    }
    ls_journal_snapshot head = {.tick = tick,
                                .state_hash = journal_sample_hash(tick),
                                .hash_chain = tick + 1000,
                                .hash_chain_tick = tick,
                                .tick_chain = sample->chain,
                                .state_bytes = size};
    for (; head.piece < ls_journal_pieces(size); head.piece++) {
        ls_journal_raw raw = ls_journal_piece_record(&head, state);
        journal_sample_append(sample, &raw);
    }
    free(state);
}

static bool is_left_out(const journal_sample_config *config, ls_tick tick)
{
    return tick >= config->gap_first && tick < config->gap_end;
}

/* The block of ticks from `first` on; returns the first tick that is not in it. */
static ls_tick append_block(journal_sample *sample, ls_tick first)
{
    static ls_tick_block_writer writer;
    static uint8_t memory[1 << 16];
    const journal_sample_config *config = &sample->config;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_tick tick = first;
    ls_tick_block_start(&writer, memory, sizeof memory, JOURNAL_SAMPLE_SLOTS);
    while (tick < config->ticks && tick < first + config->block_ticks) {
        journal_sample_inputs(tick, slots, &inputs);
        if (!is_left_out(config, tick)) {
            bool is_added = ls_tick_block_add(&writer, &inputs, journal_sample_hash(tick + 1));
            LS_ASSERT(is_added);
        }
        sample->chain = ls_tick_chain_next(sample->chain, &inputs);
        tick++;
        if (config->snapshot_ticks > 0 && tick % config->snapshot_ticks == 0) {
            break; /* a snapshot stands behind every block before it */
        }
    }
    if (writer.count > 0) {
        ls_journal_raw raw = {.kind = LS_JOURNAL_TICKS, .tick = writer.first, .bytes = memory};
        raw.size = ls_tick_block_finish(&writer, sample->chain);
        journal_sample_append(sample, &raw);
    }
    return tick;
}

static void append_end(journal_sample *sample)
{
    ls_journal_end end = {.final_tick = sample->config.ticks,
                          .final_hash = journal_sample_hash(sample->config.ticks),
                          .tick_chain = sample->chain,
                          .ticks = sample->config.ticks};
    ls_journal_raw raw = ls_journal_end_record(&end);
    journal_sample_append(sample, &raw);
}

void journal_sample_make(journal_sample *sample, const journal_sample_config *config)
{
    *sample = (journal_sample){.config = *config, .chain = LS_TICK_CHAIN_START};
    ls_status status = ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL, ls_allocator_heap(),
                                                &sample->writer);
    LS_ASSERT(status == LS_OK);
    append_header(sample);
    if (config->is_public) {
        append_event(sample, LS_JOURNAL_EVENT_PUBLIC, 0, "");
    }
    append_event(sample, LS_JOURNAL_EVENT_SEATED, 0, "Ada");
    append_event(sample, LS_JOURNAL_EVENT_STARTED, 0, "");
    for (ls_tick tick = 0; tick < config->ticks;) {
        tick = append_block(sample, tick);
        bool has_snapshot = config->snapshot_ticks > 0 && tick % config->snapshot_ticks == 0;
        if (has_snapshot && !is_left_out(config, tick)) {
            append_snapshot(sample, tick);
        }
    }
    append_event(sample, LS_JOURNAL_EVENT_ENDED, config->ticks, "");
    if (config->is_closed) {
        append_end(sample);
    }
}

void journal_sample_release(journal_sample *sample)
{
    ls_journal_writer_destroy(sample->writer);
    free(sample->bytes);
}
