#include "lockstep/common/base/prefetch.h"
#include "lockstep/server/match/match_state.h"

#include <stddef.h>

/* A host of many matches finds nothing of the one that it turns to in a cache, and what a tick of
 * it needs is spread over half a megabyte: waited for one line after the other, that took longer
 * than all that is computed. */

static void prefetch_rings(const ls_match *match)
{
    const ls_arbiter *arbiter = &match->arbiter;
    uint32_t next = match->next_close % LS_WINDOW_TICKS;
    uint32_t newest = (match->next_close - 1) % LS_WINDOW_TICKS;
    ls_prefetch(&match->closed_at_ns[newest], sizeof match->closed_at_ns[0]);
    ls_prefetch(&match->coded[newest], sizeof match->coded[0]);
    ls_prefetch(&match->coded[next], sizeof match->coded[0]);
    ls_prefetch(&match->tick_chains[next], sizeof match->tick_chains[0]);
    ls_prefetch(arbiter, offsetof(ls_arbiter, state_hashes));
    ls_prefetch(&arbiter->chains[newest], sizeof arbiter->chains[0]);
    ls_prefetch(&arbiter->state_hashes[next], sizeof arbiter->state_hashes[0]);
    ls_prefetch(arbiter->slots, match->config.sim.players * sizeof arbiter->slots[0]);
}

static void prefetch_seat(const ls_seat *seat)
{
    ls_prefetch(seat, offsetof(ls_seat, downlink) + offsetof(ls_downlink, parts));
    ls_prefetch(&seat->lag, offsetof(ls_lag_meter, recent) + offsetof(ls_lag_figures, arrivals));
}

void ls_match_prefetch(const ls_match *match)
{
    ls_prefetch(match, offsetof(struct ls_match, closed_at_ns));
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        prefetch_seat(&match->seats[slot]);
    }
    prefetch_rings(match);
}

void ls_match_prefetch_more(const ls_match *match)
{
    ls_input_buffer_prefetch(match->closed, match->next_close);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        ls_input_buffer_prefetch(seat->received, match->next_close);
        ls_lag_meter_prefetch(&seat->lag, seat->report.slack_ns);
    }
}
