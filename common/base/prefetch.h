/* Prefetch: asks for memory and code that is about to be used, all of it at once, so that what is
 * in no cache does not have to be waited for line by line. Changes no value and no outcome, only
 * when the machine fetches. For what is touched once a tick and cold by the next. */
#ifndef LOCKSTEP_COMMON_BASE_PREFETCH_H
#define LOCKSTEP_COMMON_BASE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum {
    LS_CACHE_LINE_BYTES = 64
};

/* Any address is allowed, none too: nothing is read, and addresses are counted as numbers. */
static inline void ls_prefetch(const void *start, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LS_CACHE_LINE_BYTES) {
        __builtin_prefetch((const void *)((uintptr_t)start + at), 1);
    }
}

/* Asks for all functions that are marked LS_TICK_CODE: as soon as it is known that a tick may be
 * due. */
void ls_tick_code_fetch(void);

#endif
