/* Delay control: the input delay that a link needs: more as soon as its inputs come late, less when
 * it has not been needed for a while, and more patiently after each time that was wrong. */
#ifndef LOCKSTEP_COMMON_LAG_DELAY_CONTROL_H
#define LOCKSTEP_COMMON_LAG_DELAY_CONTROL_H

#include "lockstep/common/lag/lag_verdict.h"

typedef struct ls_delay_control {
    uint32_t ticks;           /* the delay that is wanted */
    uint32_t spare_stretches; /* stretches in which a tick less would have done */
    uint32_t patience;        /* as many take a tick off */
    bool has_taken_off;       /* since it was last raised */
} ls_delay_control;

void ls_delay_control_init(ls_delay_control *control, uint32_t ticks);

/* A stretch is over; `recent` is judged as `lag`. True when `ticks` has changed. */
bool ls_delay_control_update(ls_delay_control *control, const ls_lag_figures *recent,
                             const ls_lag *lag);

#endif
