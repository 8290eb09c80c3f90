#include "lockstep/server/service/service_view.h"

#include "lockstep/common/system/system_clock.h"

void ls_event_ring_add(ls_event_ring *ring, const ls_service_event *event)
{
    ls_service_event *place = &ring->events[++ring->newest % LS_SERVICE_EVENTS_KEPT];
    *place = *event;
    place->number = ring->newest;
    place->unix_ms = event->unix_ms > 0 ? event->unix_ms : ls_clock_unix_ms();
}

const ls_service_event *ls_event_ring_at(const ls_event_ring *ring, uint64_t from)
{
    uint64_t oldest =
        ring->newest > LS_SERVICE_EVENTS_KEPT ? ring->newest - LS_SERVICE_EVENTS_KEPT + 1 : 1;
    uint64_t number = LS_MAX(from, oldest);
    return number <= ring->newest ? &ring->events[number % LS_SERVICE_EVENTS_KEPT] : NULL;
}
