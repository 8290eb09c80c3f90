#include "lockstep/tools/replay/command.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    BLOCK_BYTES = 64 << 10,
};

typedef struct cutting {
    replay_run *run;
    replay_playback *playback;
    ls_journal_writer *writer;
    FILE *file;
    uint64_t bytes;
    ls_tick_block_writer block;
    uint8_t *block_bytes;
    size_t block_capacity;
    uint64_t ticks;
} cutting;

static ls_status write_record(cutting *cut, ls_journal_raw raw)
{
    ls_journal_framed record = ls_journal_writer_frame(cut->writer, &raw);
    if (fwrite(record.bytes, 1, record.size, cut->file) != record.size) {
        return LS_IO;
    }
    ls_journal_writer_keep(cut->writer);
    cut->bytes += record.size;
    return LS_OK;
}

/* No player can come back to a match that is over: its key stays where it is. */
static ls_status write_header(cutting *cut)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = *ls_journal_header_of(cut->playback->journal);
    header.first_tick = cut->run->config->from;
    memset(&header.key, 0, sizeof header.key);
    return write_record(cut, ls_journal_header_record(&header, bytes));
}

/* The state that the playback stands at. */
static ls_status write_snapshot(cutting *cut)
{
    ls_sim_instance *instance = cut->playback->instance;
    size_t size = ls_sim_instance_save_bytes(instance);
    ls_journal_snapshot head = {.tick = ls_sim_instance_tick(instance),
                                .state_hash = ls_sim_instance_hash(instance),
                                .hash_chain = cut->playback->hash_chain,
                                .hash_chain_tick = cut->playback->hash_chain_tick,
                                .tick_chain = cut->playback->tick_chain,
                                .state_bytes = size};
    uint8_t *state = ls_allocate(ls_allocator_heap(), size);
    if (!state) {
        return LS_NO_MEMORY;
    }
    ls_status status = ls_sim_instance_save(instance, state);
    for (; status == LS_OK && head.piece < ls_journal_pieces(size); head.piece++) {
        status = write_record(cut, ls_journal_piece_record(&head, state));
    }
    ls_release(ls_allocator_heap(), state);
    return status;
}

/* ---- ticks ---- */

static void start_block(cutting *cut)
{
    const ls_journal_header *header = ls_journal_header_of(cut->playback->journal);
    ls_tick_block_start(&cut->block, cut->block_bytes, cut->block_capacity, header->config.players);
}

static ls_status write_block(cutting *cut, uint64_t chain)
{
    ls_journal_raw raw = {.kind = LS_JOURNAL_TICKS, .tick = cut->block.first};
    if (cut->block.count == 0) {
        return LS_OK;
    }
    raw.size = ls_tick_block_finish(&cut->block, chain);
    raw.bytes = cut->block_bytes;
    ls_status status = write_record(cut, raw);
    start_block(cut);
    return status;
}

/* The tick that was stepped last. */
static ls_status add_tick(cutting *cut, uint64_t chain_before)
{
    const replay_playback *playback = cut->playback;
    if (ls_tick_block_add(&cut->block, &playback->inputs, playback->state_hash)) {
        return LS_OK;
    }
    ls_status status = write_block(cut, chain_before);
    /* An empty block holds any tick. */
    ls_tick_block_add(&cut->block, &playback->inputs, playback->state_hash);
    return status;
}

static ls_status write_ticks(cutting *cut, ls_text *why)
{
    ls_sim_instance *instance = cut->playback->instance;
    start_block(cut);
    while (ls_sim_instance_tick(instance) < cut->run->config->to) {
        uint64_t before = cut->playback->tick_chain;
        ls_status status = replay_playback_step(cut->playback);
        if (status != LS_OK) {
            return ls_fail(LS_NOT_FOUND, why, "tick %" PRIu32 " is not in the journal",
                           ls_sim_instance_tick(instance));
        }
        cut->ticks++;
        status = add_tick(cut, before);
        if (status != LS_OK) {
            return status;
        }
    }
    return write_block(cut, cut->playback->tick_chain);
}

/* ---- the rest ---- */

static ls_status write_events(cutting *cut)
{
    ls_journal *journal = cut->playback->journal;
    ls_journal_event event;
    uint64_t offset = 0;
    ls_status status = LS_OK;
    while (status == LS_OK && ls_journal_next_event(journal, &offset, &event) == LS_OK) {
        uint8_t bytes[LS_JOURNAL_EVENT_BYTES_MAX];
        if (event.tick < cut->run->config->from || event.tick > cut->run->config->to) {
            continue;
        }
        status = write_record(cut, ls_journal_event_record(&event, bytes));
    }
    return status;
}

static ls_status write_end(cutting *cut)
{
    ls_sim_instance *instance = cut->playback->instance;
    ls_journal_end end = {.final_tick = ls_sim_instance_tick(instance),
                          .final_hash = ls_sim_instance_hash(instance),
                          .tick_chain = cut->playback->tick_chain,
                          .ticks = cut->ticks};
    return write_record(cut, ls_journal_end_record(&end));
}

static ls_status write_all(cutting *cut, ls_text *why)
{
    ls_status status = write_header(cut);
    if (status == LS_OK && cut->run->config->from > 0) {
        status = write_snapshot(cut);
    }
    status = status == LS_OK ? write_events(cut) : status;
    if (status == LS_OK) {
        /* The events were read from the same journal. */
        status = replay_playback_seek(cut->playback, cut->run->config->from, why);
    }
    status = status == LS_OK ? write_ticks(cut, why) : status;
    return status == LS_OK ? write_end(cut) : status;
}

static ls_status create_parts(cutting *cut)
{
    const ls_journal_header *header = ls_journal_header_of(cut->playback->journal);
    size_t tick = ls_tick_block_tick_bytes(header->config.players, header->input_bytes_max);
    cut->block_capacity = LS_TICK_BLOCK_HEAD_BYTES + (LS_MAX(tick, BLOCK_BYTES));
    cut->block_bytes = ls_allocate(ls_allocator_heap(), cut->block_capacity);
    return cut->block_bytes ? ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL,
                                                       ls_allocator_heap(), &cut->writer)
                            : LS_NO_MEMORY;
}

static ls_status write_file(cutting *cut, ls_text *why)
{
    const char *path = cut->run->config->output;
    cut->file = fopen(path, "wbx"); /* never over the journal that is cut */
    ls_status status = cut->file ? write_all(cut, why) : LS_IO;
    if (cut->file && fclose(cut->file) != 0) {
        status = LS_IO;
    }
    if (status == LS_IO) {
        ls_text_set(why, "cannot write to %s: %s", path, strerror(errno));
    }
    if (status != LS_OK && cut->file) {
        remove(path); /* the beginning of a journal, which nobody asked for */
    }
    return status;
}

static ls_status check_range(const replay_run *run, ls_text *why)
{
    const replay_config *config = run->config;
    const ls_journal_info *info = ls_journal_info_of(run->playback->journal);
    if (config->from < config->to && config->from >= info->first_tick &&
        config->to <= info->end_tick) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "cut takes two ticks from %" PRIu32 " to %" PRIu32 ", the first one smaller",
                   info->first_tick, info->end_tick);
}

ls_status replay_cut(replay_run *run, ls_text *why)
{
    cutting cut = {.run = run, .playback = run->playback};
    ls_status status = check_range(run, why);
    LS_THEN(status,
            replay_playback_load(run->playback, run->config->simulation, &run->config->files, why));
    if (status == LS_OK && run->config->from > 0 &&
        ls_sim_instance_save_bytes(run->playback->instance) == 0) {
        ls_text_set(why, "this simulation cannot save: its journal can only be cut from tick 0 on");
        status = LS_UNSUPPORTED;
    }
    LS_THEN(status, replay_playback_seek(run->playback, run->config->from, why));
    LS_THEN(status, create_parts(&cut));
    LS_THEN(status, write_file(&cut, why));
    if (status == LS_OK) {
        replay_say(run, "%s: ticks %" PRIu32 " to %" PRIu32 ", %" PRIu64 " bytes",
                   run->config->output, run->config->from, run->config->to - 1, cut.bytes);
        ls_json_text(run->json, "file", run->config->output);
        ls_json_number(run->json, "ticks", (double)cut.ticks);
        ls_json_number(run->json, "bytes", (double)cut.bytes);
    }
    ls_journal_writer_destroy(cut.writer);
    ls_release(ls_allocator_heap(), cut.block_bytes);
    return status;
}
