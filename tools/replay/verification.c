#include "lockstep/tools/replay/verification.h"

#include <inttypes.h>

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
    ls_status status = replay_playback_skip(work->playback);
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
