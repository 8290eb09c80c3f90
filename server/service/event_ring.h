/* Event ring: the newest events of a service, numbered without gaps, for streams that go on where
 * they were. The newest LS_SERVICE_EVENTS_KEPT are there. Written by room_keeper, read by those
 * who show the service. */
#ifndef LOCKSTEP_SERVER_SERVICE_EVENT_RING_H
#define LOCKSTEP_SERVER_SERVICE_EVENT_RING_H

#include "lockstep/server/service/service_view.h"

/* All zero at first. */
typedef struct ls_event_ring {
    uint64_t newest; /* its number; 0: there is none */
    ls_service_event events[LS_SERVICE_EVENTS_KEPT];
} ls_event_ring;

/* Gives the event the next number; one without a time gets that of now. */
void ls_event_ring_add(ls_event_ring *ring, const ls_service_event *event);

/* The oldest event that is kept, of number `from` or above; NULL: there is none yet. */
const ls_service_event *ls_event_ring_at(const ls_event_ring *ring, uint64_t from);

#endif
