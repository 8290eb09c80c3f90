/* System clock: the time of this machine. Called by programs and transports; cores get time as an
 * argument. */
#ifndef LOCKSTEP_COMMON_SYSTEM_SYSTEM_CLOCK_H
#define LOCKSTEP_COMMON_SYSTEM_SYSTEM_CLOCK_H

#include "lockstep/common/base/clock.h"

LS_C_BEGIN

/* Monotonic: never stepped by changes of the wall clock. */
ls_clock ls_clock_system(void);

/* Milliseconds since 1970 by the wall clock. May be called in a handler of signals. */
uint64_t ls_clock_unix_ms(void);

LS_C_END

#endif
