/* Crash: what a perturbed process does when the code in it crashes: it notes the signal and ends,
 * or, in a guarded call, comes back and says which address was touched. A plug-in's crash is a
 * finding, never a crash of the program. Called by the perturbed process alone. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_CRASH_H
#define LOCKSTEP_TOOLS_SYNCTEST_CRASH_H

#include "lockstep/tools/synctest/exchange.h"

/* From here on a crash is written to the outcome. */
void synctest_crash_watch(synctest_exchange *exchange);

/* Runs `run`, and returns false with the address when it touched memory that it must not. */
bool synctest_crash_guard(void (*run)(void *user), void *user, uintptr_t *address);

/* As if the signal had come outside a guarded call. */
_Noreturn void synctest_crash_end(int signal_number);

#endif
