#include "lockstep/common/base/assert.h"
#include "lockstep/server/match/match_state.h"

const ls_match_config *ls_match_config_of(const ls_match *match)
{
    return &match->config;
}

ls_status ls_match_closed_tick(const ls_match *match, ls_tick tick,
                               ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out)
{
    if (tick >= match->next_close) {
        return LS_FUTURE;
    }
    if (ls_input_buffer_tick(match->closed, tick, slots) != LS_OK) {
        return LS_STALE;
    }
    *out = (ls_tick_inputs){.tick = tick, .slot_count = match->config.sim.players, .slots = slots};
    return LS_OK;
}

bool ls_match_hash_of_tick(const ls_match *match, ls_tick tick, uint64_t *state_hash)
{
    return ls_arbiter_hash(&match->arbiter, tick, state_hash);
}

uint64_t ls_match_tick_chain(const ls_match *match, ls_tick tick)
{
    LS_ASSERT(tick <= match->next_close && match->next_close - tick < LS_WINDOW_TICKS);
    return match->tick_chains[tick % LS_WINDOW_TICKS];
}

uint64_t ls_match_hash_chain(const ls_match *match, ls_tick *tick)
{
    uint64_t chain = 0;
    *tick = match->arbiter.newest_tick;
    bool is_held = ls_arbiter_chain(&match->arbiter, *tick, &chain);
    LS_ASSERT(is_held);
    return chain;
}
