/* Counter window: which packets of one direction have come, by their 64-bit counter, of which a
 * packet holds the lowest 16 bits. Takes every counter at most once. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_COUNTER_WINDOW_H
#define LOCKSTEP_PROTOCOL_SEALED_COUNTER_WINDOW_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_COUNTER_WINDOW_PACKETS 256u

/* Zeroed: nothing has come. */
typedef struct ls_counter_window {
    uint64_t next; /* one more than the newest counter that was taken; 0: none was */
    uint64_t seen[LS_COUNTER_WINDOW_PACKETS / 64]; /* bit c % 256: counter c was taken */
} ls_counter_window;

/* The counter whose lowest 16 bits are `low`: the nearest to `next`. False when it was taken
 * already, or is older than the window can tell; `counter` is untouched then. */
bool ls_counter_window_find(const ls_counter_window *window, uint16_t low, uint64_t *counter);

/* Marks one that find gave as taken; returns whether it is the newest so far. */
bool ls_counter_window_mark(ls_counter_window *window, uint64_t counter);

LS_C_END

#endif
