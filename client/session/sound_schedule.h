/* Sound schedule: which sounds of the newest ticks have been given out, so that a tick that is
 * stepped again, because its inputs were guessed wrong, gives out only what is new, and nothing
 * that comes too late to make sense. Compares and remembers; plays nothing, and reads no clock. */
#ifndef LOCKSTEP_CLIENT_SESSION_SOUND_SCHEDULE_H
#define LOCKSTEP_CLIENT_SESSION_SOUND_SCHEDULE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/simulation.h"

/* Ticks whose sounds are remembered: no guess goes back further. */
#define LS_SOUND_SCHEDULE_TICKS (2 * LS_PREDICT_TICKS_MAX)

typedef struct ls_sound_schedule ls_sound_schedule;

/* `late_ns`: how old a tick may be whose sounds are still worth hearing, cut to what is remembered;
 * `dt_ns`: of one tick. NO_MEMORY. */
ls_status ls_sound_schedule_create(uint64_t late_ns, uint64_t dt_ns, const ls_allocator *allocator,
                                   ls_sound_schedule **out);
void ls_sound_schedule_destroy(ls_sound_schedule *schedule);

/* The first tick that the steps which follow do not reach: it is now. */
void ls_sound_schedule_set_now(ls_sound_schedule *schedule, ls_tick tick);

/* Whether a tick's sounds are not too old: else nobody need ask for them. */
bool ls_sound_schedule_is_due(const ls_sound_schedule *schedule, ls_tick tick);

/* Leaves in `list` the sounds that were never given out for this tick, which is due, and counts
 * them as given out. Anything but cues and samples that can be is left out as well. */
void ls_sound_schedule_filter(ls_sound_schedule *schedule, ls_tick tick, ls_sound_list *list);

#endif
