/* Laid inputs: the inputs of a tick, copied to where a step that reads past their end is found out:
 * against a forbidden page, or before random bytes. In the reference zeroes follow them. Owns that
 * memory. Called by the player, before every step. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LAID_INPUTS_H
#define LOCKSTEP_TOOLS_SYNCTEST_LAID_INPUTS_H

#include "lockstep/common/simulation/simulation.h"

typedef enum synctest_inputs_layout {
    SYNCTEST_INPUTS_BEFORE_ZEROES,
    SYNCTEST_INPUTS_BEFORE_FENCE, /* the last byte, and the last slot, end at a forbidden page */
    SYNCTEST_INPUTS_BEFORE_NOISE,
} synctest_inputs_layout;

typedef struct synctest_laid_inputs {
    synctest_inputs_layout layout;
    size_t room_bytes; /* of one slot's input, and of the table of slots: whole pages */
    uint8_t *rooms;    /* each with a forbidden page behind it; the first holds the table */
} synctest_laid_inputs;

/* NO_MEMORY leaves nothing to give back. */
ls_status synctest_laid_inputs_init(synctest_laid_inputs *laid, synctest_inputs_layout layout);

/* The same inputs, valid until the next call. */
ls_tick_inputs synctest_laid_inputs_set(synctest_laid_inputs *laid, const ls_tick_inputs *inputs);

#endif
