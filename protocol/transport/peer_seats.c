#include "lockstep/protocol/transport/peer_seats.h"

#include "lockstep/common/base/assert.h"

#include <stddef.h>

ls_status ls_peer_seats_init(ls_peer_seats *seats, uint32_t count, const ls_allocator *allocator)
{
    LS_ASSERT(count > 0);
    ls_peer_seat *made = ls_allocate_array(allocator, count, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *seats = (ls_peer_seats){.seats = made, .count = count};
    return LS_OK;
}

void ls_peer_seats_deinit(ls_peer_seats *seats, const ls_allocator *allocator)
{
    ls_release(allocator, seats->seats);
    *seats = (ls_peer_seats){0};
}

ls_peer_seat *ls_peer_seats_find(const ls_peer_seats *seats, ls_peer_id id)
{
    if (id == 0) {
        return NULL;
    }
    ls_peer_seat *seat = &seats->seats[(id - 1) % seats->count];
    return seat->id == id ? seat : NULL;
}

bool ls_peer_seats_claim(ls_peer_seats *seats, ls_peer_seat *seat, ls_peer_seat_state state)
{
    LS_ASSERT(seat->id == 0);
    /* The ids of a seat are its index + 1, and the count of seats more for each generation. */
    uint32_t first = (uint32_t)(seat - seats->seats) + 1;
    if (seat->generation > (UINT32_MAX - first) / seats->count) {
        return false;
    }
    seat->id = first + seat->generation * seats->count;
    seats->taken_count++;
    ls_peer_seats_set_state(seats, seat, state);
    return true;
}

static bool has_deadline(ls_peer_seat_state state)
{
    return state == LS_PEER_SEAT_CONNECTING || state == LS_PEER_SEAT_CLOSING;
}

void ls_peer_seats_set_state(ls_peer_seats *seats, ls_peer_seat *seat, ls_peer_seat_state state)
{
    seats->deadline_count -= has_deadline(seat->state) ? 1 : 0;
    seats->deadline_count += has_deadline(state) ? 1 : 0;
    seats->ended_count -= seat->state == LS_PEER_SEAT_ENDED ? 1 : 0;
    seats->ended_count += state == LS_PEER_SEAT_ENDED ? 1 : 0;
    seat->state = state;
}

void ls_peer_seats_end(ls_peer_seats *seats, ls_peer_seat *seat, ls_status reason)
{
    seat->end_reason = reason;
    ls_peer_seats_set_state(seats, seat, LS_PEER_SEAT_ENDED);
}

ls_peer_seat *ls_peer_seats_overdue(const ls_peer_seats *seats, uint64_t now_ns)
{
    uint32_t left = seats->deadline_count;
    for (uint32_t i = 0; left > 0 && i < seats->count; i++) {
        ls_peer_seat *seat = &seats->seats[i];
        bool is_limited = has_deadline(seat->state);
        if (is_limited && now_ns >= seat->deadline_ns) {
            return seat;
        }
        left -= is_limited ? 1 : 0;
    }
    return NULL;
}

void ls_peer_seats_report(ls_peer_seats *seats, ls_peer_seat *seat, ls_status reason,
                          ls_transport_event *event)
{
    LS_ASSERT(!seats->told && seat->id != 0);
    ls_peer_seats_set_state(seats, seat, LS_PEER_SEAT_TOLD);
    seats->told = seat;
    *event =
        (ls_transport_event){.kind = LS_TRANSPORT_DISCONNECTED, .peer = seat->id, .reason = reason};
}

bool ls_peer_seats_pop_ended(ls_peer_seats *seats, ls_transport_event *event)
{
    for (uint32_t i = 0; seats->ended_count > 0 && i < seats->count; i++) {
        ls_peer_seat *seat = &seats->seats[i];
        if (seat->state == LS_PEER_SEAT_ENDED) {
            ls_peer_seats_report(seats, seat, seat->end_reason, event);
            return true;
        }
    }
    return false;
}

void ls_peer_seats_retire_reported(ls_peer_seats *seats)
{
    if (!seats->told) {
        return;
    }
    uint32_t generation = seats->told->generation + 1;
    *seats->told = (ls_peer_seat){.generation = generation};
    seats->told = NULL;
    seats->taken_count--;
}
