#include "lockstep/tools/replay/playback.h"

#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/simulation/state_hash.h"

#include <inttypes.h>
#include <string.h>

ls_status replay_playback_read(const uint8_t *bytes, size_t size, ls_journal_trust trust,
                               replay_playback *out, ls_text *why)
{
    ls_status status =
        ls_journal_open(bytes, size, trust, ls_allocator_heap(), &out->journal, &out->loss);
    if (status != LS_OK) {
        *why = out->loss;
    }
    return status;
}

ls_status replay_playback_read_on(replay_playback *playback, const uint8_t *bytes, size_t size,
                                  ls_text *why)
{
    ls_journal *grown = NULL;
    ls_status status = ls_journal_open(bytes, size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(),
                                       &grown, &playback->loss);
    if (status != LS_OK) {
        *why = playback->loss;
        return status;
    }
    ls_journal_close(playback->journal);
    playback->journal = grown;
    playback->has_next = false;
    if (playback->instance) {
        ls_journal_seek(grown, ls_sim_instance_tick(playback->instance));
    }
    return LS_OK;
}

/* ---- the simulation ---- */

static void stand_at_start(replay_playback *playback)
{
    playback->state_hash = ls_journal_header_of(playback->journal)->digests.initial;
    playback->tick_chain = LS_TICK_CHAIN_START;
    playback->hash_chain = ls_hash_chain_start(playback->state_hash);
    playback->hash_chain_tick = 0;
    playback->has_next = false;
}

static ls_status create_instance(replay_playback *playback, ls_text *why)
{
    const ls_journal_header *header = ls_journal_header_of(playback->journal);
    ls_sim_instance_destroy(playback->instance);
    playback->instance = NULL;
    ls_status status = ls_sim_instance_create(playback->loaded.simulation, &playback->config,
                                              ls_allocator_heap(), &playback->instance, why);
    if (status != LS_OK) {
        return status;
    }
    stand_at_start(playback);
    ls_sim_digests here = ls_sim_instance_digests(playback->instance);
    return ls_sim_digests_check(&here, &header->digests, why);
}

ls_status replay_playback_begin(replay_playback *playback, const ls_simulation *simulation,
                                const ls_sim_files *files, ls_text *why)
{
    const ls_journal_header *header = ls_journal_header_of(playback->journal);
    playback->loaded.simulation = simulation;
    playback->config = header->config;
    ls_status status = ls_journal_header_check_simulation(header, simulation, why);
    if (status == LS_OK) {
        status = ls_sim_files_provide(files, simulation, &playback->config, why);
        status =
            status == LS_PARAMETER_MISMATCH || status == LS_NOT_FOUND ? LS_BAD_ARGUMENT : status;
    }
    return status == LS_OK ? create_instance(playback, why) : status;
}

/* ---- snapshots ---- */

static ls_status make_room(replay_playback *playback, uint64_t bytes)
{
    if (bytes <= playback->state_capacity) {
        return LS_OK;
    }
    ls_release(ls_allocator_heap(), playback->state);
    playback->state_capacity = 0;
    playback->state = ls_allocate(ls_allocator_heap(), (size_t)bytes);
    playback->state_capacity = playback->state ? (size_t)bytes : 0;
    return playback->state ? LS_OK : LS_NO_MEMORY;
}

static ls_status load_snapshot(replay_playback *playback, const ls_journal_snapshot *snapshot)
{
    ls_status status = make_room(playback, snapshot->state_bytes);
    LS_THEN(status, ls_journal_read_snapshot(playback->journal, snapshot, playback->state));
    LS_THEN(status, ls_sim_instance_load(playback->instance, playback->state,
                                         (size_t)snapshot->state_bytes, snapshot->tick));
    if (status != LS_OK) {
        return status;
    }
    playback->state_hash = snapshot->state_hash;
    playback->tick_chain = snapshot->tick_chain;
    playback->hash_chain = snapshot->hash_chain;
    playback->hash_chain_tick = snapshot->hash_chain_tick;
    playback->has_next = false;
    ls_journal_seek(playback->journal, snapshot->tick);
    return LS_OK;
}

/* ---- stepping ---- */

ls_status replay_playback_step(replay_playback *playback)
{
    ls_tick tick = ls_sim_instance_tick(playback->instance);
    if (!playback->has_next) {
        ls_status status = ls_journal_next_tick(playback->journal, playback->slots,
                                                &playback->inputs, &playback->next_hash);
        if (status != LS_OK) {
            return status;
        }
        playback->has_next = true;
    }
    if (playback->inputs.tick != tick) {
        return LS_STALE;
    }
    playback->has_next = false;
    ls_sim_instance_step(playback->instance, &playback->inputs);
    playback->tick_chain = ls_tick_chain_next(playback->tick_chain, &playback->inputs);
    playback->state_hash = playback->next_hash;
    if (playback->state_hash != 0) {
        playback->hash_chain = ls_hash_chain_next(playback->hash_chain, playback->state_hash);
        playback->hash_chain_tick = tick + 1;
    }
    return LS_OK;
}

ls_status replay_playback_approach(replay_playback *playback, ls_tick tick, ls_text *why)
{
    const ls_journal_info *info = ls_journal_info_of(playback->journal);
    ls_journal_snapshot snapshot;
    ls_tick here = ls_sim_instance_tick(playback->instance);
    if (tick < info->first_tick || tick > info->end_tick) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the journal holds ticks %" PRIu32 " to %" PRIu32,
                       info->first_tick, info->end_tick);
    }
    bool has_snapshot = ls_journal_find_snapshot(playback->journal, tick, &snapshot) == LS_OK &&
                        (here > tick || snapshot.tick > here || here < info->first_tick);
    if (has_snapshot && load_snapshot(playback, &snapshot) == LS_OK) {
        return LS_OK;
    }
    ls_status status = here > tick ? create_instance(playback, why) : LS_OK;
    if (status == LS_OK) {
        /* Another reader of the journal has moved its place. */
        playback->has_next = false;
        ls_journal_seek(playback->journal, ls_sim_instance_tick(playback->instance));
    }
    return status;
}

ls_status replay_playback_seek(replay_playback *playback, ls_tick tick, ls_text *why)
{
    ls_status status = replay_playback_approach(playback, tick, why);
    while (status == LS_OK && ls_sim_instance_tick(playback->instance) < tick) {
        if (replay_playback_step(playback) != LS_OK) {
            ls_text_set(why, "tick %" PRIu32 " is not in the journal",
                        ls_sim_instance_tick(playback->instance));
            status = LS_NOT_FOUND;
        }
    }
    return status;
}

/* Stands at the first snapshot behind the ticks that are missing. NOT_FOUND when there is none. */
static ls_status skip_tick(replay_playback *playback)
{
    ls_journal_snapshot snapshot;
    ls_tick behind = ls_sim_instance_tick(playback->instance) + 1;
    while (ls_journal_next_snapshot(playback->journal, behind, &snapshot) == LS_OK) {
        if (load_snapshot(playback, &snapshot) == LS_OK) {
            return LS_OK;
        }
        behind = snapshot.tick + 1;
    }
    return LS_NOT_FOUND;
}

/* ---- verification ---- */

static ls_status check_hash(replay_verification *work, uint64_t recorded)
{
    ls_sim_instance *instance = work->playback->instance;
    if (recorded == 0) {
        return LS_OK;
    }
    uint64_t here = ls_sim_instance_hash(instance);
    work->state_hashes++;
    if (here == recorded) {
        return LS_OK;
    }
    work->differing_tick = ls_sim_instance_tick(instance);
    work->recorded = recorded;
    work->here = here;
    return LS_DESYNCED;
}

/* Where the inputs themselves are not what the journal says of them, every state hash may be wrong.
 */
static ls_status check_chain(replay_verification *work, ls_text *why)
{
    replay_playback *playback = work->playback;
    ls_tick tick = ls_sim_instance_tick(playback->instance);
    ls_tick behind = 0;
    uint64_t chain = ls_journal_block_chain(playback->journal, &behind);
    if (behind != tick) {
        return LS_OK;
    }
    work->chains++;
    if (chain == playback->tick_chain) {
        return LS_OK;
    }
    return ls_fail(LS_MALFORMED, why,
                   "the inputs before tick %" PRIu32 " are not those that were recorded", tick);
}

/* Goes on behind missing ticks. NOT_FOUND: nothing is left. */
static ls_status skip(replay_verification *work)
{
    ls_sim_instance *instance = work->playback->instance;
    ls_tick from = ls_sim_instance_tick(instance);
    ls_status status = skip_tick(work->playback);
    ls_tick to = ls_sim_instance_tick(instance);
    if (status == LS_OK) {
        work->ticks_skipped += to - from;
        ls_log_line(work->log, LS_LOG_WARNING,
                    "ticks %" PRIu32 " to %" PRIu32 " cannot be simulated: some are missing", from,
                    to - 1);
        status = check_hash(work, work->playback->state_hash);
    }
    return status;
}

static ls_status check_end(replay_verification *work)
{
    ls_sim_instance *instance = work->playback->instance;
    const ls_journal_info *info = ls_journal_info_of(work->playback->journal);
    bool is_there = info->is_complete && ls_sim_instance_tick(instance) == info->end.final_tick;
    work->is_done = true;
    return is_there ? check_hash(work, info->end.final_hash) : LS_OK;
}

ls_status replay_verification_begin(replay_playback *playback, const ls_log *log,
                                    replay_verification *out, ls_text *why)
{
    *out = (replay_verification){.playback = playback, .log = log};
    ls_tick first_tick = ls_journal_info_of(playback->journal)->first_tick;
    ls_status status = replay_playback_seek(playback, first_tick, why);
    return status == LS_OK ? check_hash(out, playback->state_hash) : status;
}

ls_status replay_verification_go_on(replay_verification *work, uint32_t ticks, ls_text *why)
{
    for (uint32_t i = 0; i < ticks; i++) {
        ls_status status = replay_playback_step(work->playback);
        if (status == LS_OK) {
            work->ticks++;
            status = check_hash(work, work->playback->state_hash);
        } else if (status == LS_STALE) {
            status = skip(work);
        }
        if (status == LS_NOT_FOUND) {
            return check_end(work);
        }
        LS_THEN(status, check_chain(work, why));
        if (status != LS_OK) {
            return status;
        }
    }
    return LS_OK;
}

void replay_verification_read_on(replay_verification *work)
{
    work->is_done = false;
}

ls_status replay_verification_judge(const replay_verification *work, ls_text *why)
{
    const ls_journal_info *info = ls_journal_info_of(work->playback->journal);
    if (info->lost_bytes > 0) {
        return ls_fail(LS_MALFORMED, why, "what is left of the journal is right; %s",
                       work->playback->loss.bytes);
    }
    if (info->ticks_missing > 0) {
        return ls_fail(LS_MALFORMED, why,
                       "what is in the journal is right; %" PRIu64
                       " ticks are missing, from %" PRIu32 " on",
                       info->ticks_missing, info->gap_tick);
    }
    return LS_OK;
}

/* ---- broadcast segment ---- */

size_t replay_broadcast_segment_head(const uint8_t *bytes, size_t size)
{
    ls_record header;
    ls_text why;
    bool is_segment =
        ls_record_file_check(&ls_journal_format, bytes, size, &why) == LS_OK &&
        ls_record_read(&ls_journal_format, bytes, size, LS_RECORD_FILE_HEAD_BYTES, &header) &&
        header.kind == LS_JOURNAL_HEADER;
    return is_segment ? (size_t)ls_record_end(&header, &ls_journal_format) : 0;
}
