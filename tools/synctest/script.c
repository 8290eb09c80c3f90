#include "lockstep/tools/synctest/script.h"

#include <string.h>

enum {
    LATE_ONE_IN = 4, /* seats that nobody takes at the start */
    LATE_TICKS_MAX = 60,
    STAY_TICKS_MIN = 100,
    STAY_TICKS_MAX = 400,
    AWAY_TICKS_MIN = 5,
    AWAY_TICKS_MAX = 60,
};

synctest_script synctest_script_make(uint64_t seed, uint32_t players)
{
    synctest_script script = {.rng = ls_rng_make(seed, 0x73637269), .players = players};
    for (uint32_t slot = 1; slot < players; slot++) {
        bool is_late = ls_rng_below(&script.rng, LATE_ONE_IN) == 0;
        uint32_t wait = ls_rng_below(&script.rng, LATE_TICKS_MAX);
        script.next_change[slot] = is_late ? wait : 0;
    }
    return script;
}

void synctest_script_advance(synctest_script *script, ls_tick tick, uint32_t events[LS_PLAYERS_MAX])
{
    memset(events, 0, LS_PLAYERS_MAX * sizeof events[0]);
    for (uint32_t slot = 0; slot < script->players; slot++) {
        if (script->next_change[slot] != tick) {
            continue;
        }
        bool is_joining = !script->is_present[slot];
        int32_t wait = is_joining ? ls_rng_between(&script->rng, STAY_TICKS_MIN, STAY_TICKS_MAX)
                                  : ls_rng_between(&script->rng, AWAY_TICKS_MIN, AWAY_TICKS_MAX);
        script->is_present[slot] = is_joining;
        script->next_change[slot] = tick + (uint32_t)wait;
        events[slot] = is_joining ? LS_EVENT_JOINED : LS_EVENT_LEFT;
    }
}
