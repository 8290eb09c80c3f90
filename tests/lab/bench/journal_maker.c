#include "lockstep/tests/lab/bench/journal_maker.h"

#include "lockstep/client/bots.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulation/state_hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK_BYTES = 128 << 10,
    BLOCKS_PER_S = 4,
};

typedef struct making {
    const bench_journal_maker_config *config;
    FILE *file;
    ls_journal_writer *writer;
    ls_sim_instance *instance;
    uint8_t *state; /* as it is saved; NULL: it cannot be */
    uint8_t *block;
    ls_tick_block_writer ticks;
    ls_bot_crew bots;
    uint64_t tick_chain;
    uint64_t hash_chain;
    uint64_t state_hash;
    ls_status status; /* the first that failed */
} making;

/* ---- records ---- */

static void append(making *work, ls_journal_raw raw)
{
    if (work->status != LS_OK) {
        return;
    }
    ls_journal_framed record = ls_journal_writer_frame(work->writer, &raw);
    if (fwrite(record.bytes, 1, record.size, work->file) != record.size) {
        work->status = LS_IO;
        return;
    }
    ls_journal_writer_keep(work->writer);
}

static void append_header(making *work)
{
    const ls_simulation *simulation = work->config->simulation;
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = {.match_id = 1,
                                .simulation_version = simulation->version,
                                .config = work->config->sim,
                                .digests = ls_sim_instance_digests(work->instance),
                                .input_bytes_max = simulation->input_bytes_max,
                                .save_bytes = ls_sim_instance_save_bytes(work->instance),
                                .hash_interval_ticks = 1,
                                .ticks = work->config->ticks};
    ls_name_copy(header.simulation, sizeof header.simulation, simulation->name);
    append(work, ls_journal_header_record(&header, bytes));
}

static void append_block(making *work)
{
    if (work->ticks.count > 0) {
        ls_journal_raw raw = {
            .kind = LS_JOURNAL_TICKS, .tick = work->ticks.first, .bytes = work->block};
        raw.size = ls_tick_block_finish(&work->ticks, work->tick_chain);
        append(work, raw);
    }
    ls_tick_block_start(&work->ticks, work->block, BLOCK_BYTES, work->config->sim.players);
}

static void append_snapshot(making *work)
{
    size_t size = ls_sim_instance_save_bytes(work->instance);
    ls_tick tick = ls_sim_instance_tick(work->instance);
    ls_journal_snapshot head = {.tick = tick,
                                .state_hash = work->state_hash,
                                .hash_chain = work->hash_chain,
                                .hash_chain_tick = tick,
                                .tick_chain = work->tick_chain,
                                .state_bytes = size};
    append_block(work);
    ls_sim_instance_save(work->instance, work->state);
    for (; head.piece < ls_journal_pieces(size); head.piece++) {
        append(work, ls_journal_piece_record(&head, work->state));
    }
}

static void append_end(making *work)
{
    const bench_journal_maker_config *config = work->config;
    ls_journal_end end = {.final_tick = config->ticks,
                          .final_hash = work->state_hash,
                          .tick_chain = work->tick_chain,
                          .ticks = config->ticks - (config->gap_end - config->gap_first)};
    append(work, ls_journal_end_record(&end));
}

/* ---- the match ---- */

/* Of the state `tick`: now and then, and behind ticks that are missing. */
static bool is_snapshot_due(const bench_journal_maker_config *config, ls_tick tick)
{
    uint32_t interval = config->snapshot_ticks;
    bool is_in_gap = tick > config->gap_first && tick < config->gap_end;
    bool is_behind_gap = tick == config->gap_end;
    return interval > 0 && !is_in_gap && (is_behind_gap || tick % interval == 0);
}

static void play_tick(making *work)
{
    ls_tick_inputs inputs = ls_bot_crew_inputs(&work->bots, work->instance);
    uint32_t block_ticks = work->config->sim.tick_rate_hz / BLOCKS_PER_S + 1;
    ls_sim_instance_step(work->instance, &inputs);
    work->state_hash = ls_sim_instance_hash(work->instance);
    bool is_left_out =
        inputs.tick >= work->config->gap_first && inputs.tick < work->config->gap_end;
    if (is_left_out || work->ticks.count == block_ticks) {
        append_block(work);
    }
    if (!is_left_out && !ls_tick_block_add(&work->ticks, &inputs, work->state_hash)) {
        append_block(work);
        bool fits = ls_tick_block_add(&work->ticks, &inputs, work->state_hash);
        LS_ASSERT(fits);
    }
    work->tick_chain = ls_tick_chain_next(work->tick_chain, &inputs);
    work->hash_chain = ls_hash_chain_next(work->hash_chain, work->state_hash);
    if (work->state && is_snapshot_due(work->config, inputs.tick + 1)) {
        append_snapshot(work);
    }
}

static void play(making *work)
{
    work->state_hash = ls_sim_instance_hash(work->instance);
    work->tick_chain = LS_TICK_CHAIN_START;
    work->hash_chain = ls_hash_chain_start(work->state_hash);
    ls_bot_crew_init(&work->bots, 1);
    append_header(work);
    append_block(work);
    for (uint32_t tick = 0; tick < work->config->ticks && work->status == LS_OK; tick++) {
        play_tick(work);
    }
    append_block(work);
    append_end(work);
}

/* ---- life ---- */

static ls_status prepare(making *work, const char *path, ls_text *why)
{
    const ls_allocator *heap = ls_allocator_heap();
    const bench_journal_maker_config *config = work->config;
    ls_status status =
        ls_sim_instance_create(config->simulation, &config->sim, heap, &work->instance, why);
    if (status != LS_OK) {
        return status;
    }
    size_t saved =
        ls_sim_instance_schema(work->instance) ? ls_sim_instance_save_bytes(work->instance) : 0;
    work->state = saved > 0 ? ls_allocate(heap, saved) : NULL;
    work->block = ls_allocate(heap, BLOCK_BYTES);
    status = ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL, heap, &work->writer);
    if (status != LS_OK || !work->block || (saved > 0 && !work->state)) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    work->file = fopen(path, "wb");
    if (!work->file) {
        return ls_fail(LS_IO, why, "%s: %s", path, strerror(errno));
    }
    return LS_OK;
}

bench_journal_maker_config bench_journal_maker_config_default(const ls_simulation *simulation)
{
    ls_sim_config sim = ls_sim_config_default(simulation);
    return (bench_journal_maker_config){.simulation = simulation,
                                        .sim = sim,
                                        .ticks = 60 * sim.tick_rate_hz,
                                        .snapshot_ticks = 10 * sim.tick_rate_hz};
}

ls_status bench_journal_make(const bench_journal_maker_config *config, const char *path,
                             ls_text *why)
{
    const ls_allocator *heap = ls_allocator_heap();
    making *work = ls_allocate(heap, sizeof *work);
    if (!work) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    work->config = config;
    ls_status status = prepare(work, path, why);
    if (status == LS_OK) {
        play(work);
        status = work->status;
    }
    if (work->file && fclose(work->file) != 0 && status == LS_OK) {
        status = LS_IO;
    }
    if (status != LS_OK && !why->bytes[0]) {
        ls_text_set(why, "%s: %s", path, ls_status_text(status));
    }
    ls_journal_writer_destroy(work->writer);
    ls_sim_instance_destroy(work->instance);
    ls_release(heap, work->state);
    ls_release(heap, work->block);
    ls_release(heap, work);
    return status;
}
