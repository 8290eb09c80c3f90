/* Wait notes: the players that a match has waited for, how often and for how long. A wait is said
 * once, again when somebody else is waited for as well, and when it is over. Reads no clock. Called
 * by the programs of the server and of the client, for their logs. */
#ifndef LOCKSTEP_COMMON_LAG_WAIT_NOTES_H
#define LOCKSTEP_COMMON_LAG_WAIT_NOTES_H

#include "lockstep/common/base/slot_set.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/simulation.h"

/* One of zeros has noted nothing. */
typedef struct ls_wait_notes {
    ls_slot_set slots; /* that were waited for, since it was last over */
    uint32_t waits;
    uint64_t waited_ms; /* in all, but for the newest wait: */
    ls_tick tick;
    uint32_t newest_ms;
    uint64_t newest_ns; /* when that was last noted */
} ls_wait_notes;

/* The match waits for these slots with this tick. True when that is to be said. */
bool ls_wait_notes_add(ls_wait_notes *notes, ls_slot_set slots, ls_tick tick, uint32_t waited_ms,
                       uint64_t now_ns);

/* Whether nobody has been waited for any more for a while: to be said, and to be forgotten. */
bool ls_wait_notes_is_over(const ls_wait_notes *notes, uint64_t now_ns);

/* How often, and for how long. */
void ls_wait_notes_text(const ls_wait_notes *notes, ls_text *text);

#endif
