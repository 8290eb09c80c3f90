/* Float mode: how this thread rounds, and what it does with denormals. Called by re-runs and by
 * synctest, which change it and see who else does. */
#ifndef LOCKSTEP_COMMON_SYSTEM_FLOAT_MODE_H
#define LOCKSTEP_COMMON_SYSTEM_FLOAT_MODE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ls_float_mode {
    int rounding;     /* as fegetround has it */
    uint32_t control; /* what else the processor's control register says; 0 where there is none */
} ls_float_mode;

ls_float_mode ls_float_mode_now(void);
void ls_float_mode_set(ls_float_mode mode);
void ls_float_mode_round(int rounding); /* leaves the rest */
bool ls_float_mode_equal(ls_float_mode a, ls_float_mode b);

/* Another rounding than the default, in turn. */
ls_float_mode ls_float_mode_moved(uint32_t turn);

/* From now on denormals count as zero, as after a library that was built for speed is loaded;
 * nothing where can_flush is false. */
void ls_float_mode_flush(void);
bool ls_float_mode_can_flush(void);

#endif
