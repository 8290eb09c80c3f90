/* Peer seats: the places that a transport has for connections, and the ids of those who sit there.
 * Sees to it that no id is given twice, that a connection ends with one DISCONNECTED event, and
 * that what must end by a certain time does. Knows no socket and no clock. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_PEER_SEATS_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_PEER_SEATS_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/protocol/transport/transport.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum ls_peer_seat_state {
    LS_PEER_SEAT_FREE,
    LS_PEER_SEAT_CONNECTING, /* has a deadline */
    LS_PEER_SEAT_OPEN,
    LS_PEER_SEAT_CLOSING, /* has a deadline */
    LS_PEER_SEAT_ENDED,   /* its DISCONNECTED waits to be taken */
    LS_PEER_SEAT_TOLD,    /* its DISCONNECTED was the last event */
} ls_peer_seat_state;

typedef struct ls_peer_seat {
    ls_peer_id id; /* 0 in a free seat */
    ls_peer_seat_state state;
    ls_status end_reason; /* ENDED */
    uint64_t deadline_ns; /* CONNECTING and CLOSING */
    uint32_t generation;  /* connections that sat here before */
    ls_transport_traffic traffic;
} ls_peer_seat;

typedef struct ls_peer_seats {
    ls_peer_seat *seats;
    uint32_t count;
    uint32_t taken_count;    /* seats that are not free */
    uint32_t deadline_count; /* seats that have a deadline */
    uint32_t ended_count;    /* seats in state ENDED */
    ls_peer_seat *told;      /* the seat in state TOLD, or NULL */
} ls_peer_seats;

/* `count` free seats, 1 or more. NO_MEMORY. */
ls_status ls_peer_seats_init(ls_peer_seats *seats, uint32_t count, const ls_allocator *allocator);
void ls_peer_seats_deinit(ls_peer_seats *seats, const ls_allocator *allocator);

/* The seat of an id that was given and not yet retired, or NULL. */
ls_peer_seat *ls_peer_seats_find(const ls_peer_seats *seats, ls_peer_id id);

/* Seats somebody: gives a free seat an id that was never given before. false when the seat has used
 * up its share of the 2^32 ids: then nobody can ever sit there again. */
bool ls_peer_seats_claim(ls_peer_seats *seats, ls_peer_seat *seat, ls_peer_seat_state state);

void ls_peer_seats_set_state(ls_peer_seats *seats, ls_peer_seat *seat, ls_peer_seat_state state);

/* The connection is over: its DISCONNECTED waits for take_ended. */
void ls_peer_seats_end(ls_peer_seats *seats, ls_peer_seat *seat, ls_status reason);

/* A seat whose deadline has come, or NULL. */
ls_peer_seat *ls_peer_seats_overdue(const ls_peer_seats *seats, uint64_t now_ns);

/* Fills in the DISCONNECTED event of a seat that has ended, or of the first one that has. */
void ls_peer_seats_report(ls_peer_seats *seats, ls_peer_seat *seat, ls_status reason,
                          ls_transport_event *event);
bool ls_peer_seats_pop_ended(ls_peer_seats *seats, ls_transport_event *event);

/* Frees the seat of the last DISCONNECTED event, if it still has one. */
void ls_peer_seats_retire_reported(ls_peer_seats *seats);

#endif
