#include "lockstep/server/match/evidence_hold.h"

#include "lockstep/common/base/language.h"

static void hold_oldest(const ls_evidence_hold *hold)
{
    ls_tick oldest = UINT32_MAX;
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        if (hold->open >> slot & 1) {
            oldest = LS_MIN(oldest, hold->agreed[slot]);
        }
    }
    if (hold->open != 0) {
        ls_replay_window_hold(hold->window, oldest);
    } else {
        ls_replay_window_let_go(hold->window);
    }
}

void ls_evidence_hold_begin(ls_evidence_hold *hold, uint32_t slot, ls_tick agreed)
{
    hold->open |= UINT32_C(1) << slot;
    hold->agreed[slot] = agreed;
    hold_oldest(hold);
}

void ls_evidence_hold_end(ls_evidence_hold *hold, uint32_t slot)
{
    if (hold->open >> slot & 1) {
        hold->open &= ~(UINT32_C(1) << slot);
        hold_oldest(hold);
    }
}
