/* Input taps: what a bot sends for one tick at a time, over and over, as a person's move is sent,
 * though the simulation does not say that it is an edge or a button. A late input is replaced by
 * the one before it, so such a move would act twice, or be lost. Pure. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_INPUT_TAPS_H
#define LOCKSTEP_TOOLS_SYNCTEST_INPUT_TAPS_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/simulation.h"

enum {
    SYNCTEST_TAP_BYTES = 64
}; /* of an input, that are looked at */

typedef struct synctest_tap_counts {
    uint32_t alone; /* set for one tick, between two ticks that are equal without it */
    uint32_t kept;  /* still set one tick later */
} synctest_tap_counts;

typedef struct synctest_taps {
    synctest_tap_counts bits[SYNCTEST_TAP_BYTES * 8];
    synctest_tap_counts whole; /* an input between two empty ones */
    struct {
        uint32_t seen; /* inputs in a row, 2 at most */
        uint32_t sizes[2];
        uint8_t bytes[2][SYNCTEST_TAP_BYTES]; /* the one before last, and the last */
    } slots[LS_PLAYERS_MAX];
} synctest_taps;

/* The next input of a slot; all zero at first. NULL where the seat is empty. */
void synctest_taps_add(synctest_taps *taps, uint32_t slot, const uint8_t *bytes, uint32_t size);

/* The bits that were tapped and are neither edges nor buttons. `masks` are the simulation's
 * input_bits, of `mask_bytes` bytes each. */
typedef struct synctest_tapped {
    uint32_t times;    /* 0: there are none */
    uint32_t is_whole; /* inputs as a whole: byte and bits are 0 */
    uint32_t byte;     /* the first that has such bits */
    uint32_t bits;     /* of it */
} synctest_tapped;

synctest_tapped synctest_taps_found(const synctest_taps *taps, const ls_input_bits *masks,
                                    uint32_t mask_bytes);

/* In words, what to do about it included. */
void synctest_tapped_describe(const synctest_tapped *tapped, ls_text *out);

#endif
