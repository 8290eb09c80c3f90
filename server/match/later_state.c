#include "lockstep/server/match/later_state.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/pass_trace.h"

#define MARGIN_NS (50 * LS_NS_PER_MS)

enum {
    CHOSEN_MAX = 2, /* the client may hear of one too late */
};

bool ls_later_state_is_used_up(const ls_later_state *later)
{
    return later->is_known || later->count >= CHOSEN_MAX;
}

void ls_later_state_choose(ls_later_state *later, ls_replay_window *window, uint32_t tick_rate_hz,
                           uint64_t rtt_ns)
{
    uint64_t ahead_ns = LS_MIN(2 * rtt_ns + MARGIN_NS, LS_NS_PER_SECOND);
    uint32_t ahead_ticks = (uint32_t)(ahead_ns * tick_rate_hz / LS_NS_PER_SECOND) + 1;
    later->tick = ls_replay_window_newest(window) + ahead_ticks;
    later->is_asked = false;
    later->count++;
    ls_replay_window_want(window, later->tick);
}

bool ls_later_state_is_to_come(const ls_later_state *later, const ls_replay_window *window)
{
    return later->tick > ls_replay_window_newest(window);
}

bool ls_later_state_next_query(ls_later_state *later, ls_wire_query *out)
{
    if (later->tick == 0 || later->is_asked) {
        return false;
    }
    *out = (ls_wire_query){
        .tick = later->tick, .pass = LS_NO_PASS, .query = {.nodes = {.first = 0, .count = 1}}};
    later->is_asked = true;
    return true;
}
