/* Calendar: the time of day, for what people read and for what outlives a process. Nothing of a
 * match depends on it. Called by the parts of the service. */
#ifndef LOCKSTEP_SERVER_SERVICE_CALENDAR_H
#define LOCKSTEP_SERVER_SERVICE_CALENDAR_H

#include <stdint.h>

/* Milliseconds since 1970, UTC. */
uint64_t ls_calendar_ms(void);

#endif
