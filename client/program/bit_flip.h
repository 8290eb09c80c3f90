/* Bit flip: the fault that `--flip-bit` plants, so that a user can see what a desync looks like.
 * Changes a client's own state, and says so once. Called by client.c. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_BIT_FLIP_H
#define LOCKSTEP_CLIENT_PROGRAM_BIT_FLIP_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/simulation/sim_instance.h"

typedef struct ls_bit_flip {
    ls_tick tick; /* after the step to this state; 0: never */
    uint64_t bit; /* modulo the size of the state */
    bool has_told;
} ls_bit_flip;

/* After each step, repeated ones too. */
void ls_bit_flip_apply(ls_bit_flip *flip, ls_sim_instance *instance, const ls_log *log);

#endif
