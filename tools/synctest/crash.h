/* Crash: what a perturbed process does when the code in it crashes: it notes the signal and ends.
 * In a guarded call it may find that the memory that was touched is what must not be written to. A
 * plug-in's crash is a finding, never a crash of the program. Called by the perturbed process
 * alone. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_CRASH_H
#define LOCKSTEP_TOOLS_SYNCTEST_CRASH_H

#include "lockstep/tools/synctest/exchange.h"

/* From here on a crash is written to the outcome. */
void synctest_crash_watch(synctest_exchange *exchange);

typedef struct synctest_reader {
    void (*run)(void *user);
    /* The call has touched memory that is closed. True: the outcome says so, and the process is to
     * end; false: it is a crash like any other. */
    bool (*on_write)(void *user, uintptr_t address);
    void *user;
} synctest_reader;

void synctest_crash_guard(const synctest_reader *reader);

#endif
