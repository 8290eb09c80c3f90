#include "lockstep/tools/replay/playback.h"

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

ls_status replay_playback_skip(replay_playback *playback)
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
