#include "lockstep/protocol/transport/peer_seats.h"

#include <criterion/criterion.h>

static ls_peer_seats make_seats(uint32_t count)
{
    ls_peer_seats seats;
    cr_assert_eq(ls_peer_seats_init(&seats, count, ls_allocator_heap()), LS_OK);
    return seats;
}

static void leave(ls_peer_seats *seats, ls_peer_seat *seat)
{
    ls_transport_event event;
    ls_peer_seats_end(seats, seat, LS_DISCONNECTED);
    cr_assert(ls_peer_seats_pop_ended(seats, &event));
    ls_peer_seats_retire_reported(seats);
}

Test(peer_seats, no_id_is_given_twice_and_none_is_0)
{
    enum {
        SEATS = 5,
        ROUNDS = 40
    };
    ls_peer_seats seats = make_seats(SEATS);
    bool is_given[SEATS * ROUNDS + 1] = {true};
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < SEATS; i++) {
            ls_peer_seat *seat = &seats.seats[i];
            cr_assert(ls_peer_seats_claim(&seats, seat, LS_PEER_SEAT_OPEN));
            cr_assert_leq(seat->id, SEATS * ROUNDS);
            cr_assert(!is_given[seat->id]);
            is_given[seat->id] = true;
            cr_assert_eq(ls_peer_seats_find(&seats, seat->id), seat);
        }
        for (size_t i = 0; i < SEATS; i++) {
            ls_peer_id id = seats.seats[i].id;
            leave(&seats, &seats.seats[i]);
            cr_assert_null(ls_peer_seats_find(&seats, id));
        }
    }
    cr_assert_null(ls_peer_seats_find(&seats, 0));
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

Test(peer_seats, a_seat_takes_nobody_once_its_ids_are_used_up)
{
    ls_peer_seats seats = make_seats(4);
    ls_peer_seat *last = &seats.seats[3];
    last->generation = (UINT32_MAX - 4) / 4;
    cr_assert(ls_peer_seats_claim(&seats, last, LS_PEER_SEAT_OPEN));
    cr_assert_eq(last->id, UINT32_MAX - 3);
    leave(&seats, last);
    cr_assert_not(ls_peer_seats_claim(&seats, last, LS_PEER_SEAT_OPEN));
    cr_assert_eq(last->id, 0);
    cr_assert_eq(last->state, LS_PEER_SEAT_FREE);
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

Test(peer_seats, an_end_is_told_once_with_its_reason)
{
    ls_peer_seats seats = make_seats(2);
    ls_transport_event event;
    cr_assert_not(ls_peer_seats_pop_ended(&seats, &event));
    ls_peer_seat *seat = &seats.seats[1];
    ls_peer_seats_claim(&seats, seat, LS_PEER_SEAT_OPEN);
    seat->traffic.bytes_sent = 5;
    ls_peer_id id = seat->id;
    ls_peer_seats_end(&seats, seat, LS_TIMED_OUT);
    cr_assert(ls_peer_seats_pop_ended(&seats, &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(event.peer, id);
    cr_assert_eq(event.reason, LS_TIMED_OUT);
    cr_assert_eq(ls_peer_seats_find(&seats, id)->traffic.bytes_sent, 5, "readable until retired");
    cr_assert_not(ls_peer_seats_pop_ended(&seats, &event));
    ls_peer_seats_retire_reported(&seats);
    ls_peer_seats_retire_reported(&seats);
    cr_assert_null(ls_peer_seats_find(&seats, id));
    cr_assert_eq(seat->generation, 1);
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

Test(peer_seats, only_what_has_a_deadline_is_overdue_and_only_from_then_on)
{
    ls_peer_seats seats = make_seats(3);
    cr_assert_null(ls_peer_seats_overdue(&seats, UINT64_MAX));
    ls_peer_seat *seat = &seats.seats[2];
    ls_peer_seats_claim(&seats, seat, LS_PEER_SEAT_CONNECTING);
    seat->deadline_ns = 100;
    cr_assert_null(ls_peer_seats_overdue(&seats, 99));
    cr_assert_eq(ls_peer_seats_overdue(&seats, 100), seat);
    ls_peer_seats_set_state(&seats, seat, LS_PEER_SEAT_OPEN);
    cr_assert_null(ls_peer_seats_overdue(&seats, UINT64_MAX));
    ls_peer_seats_set_state(&seats, seat, LS_PEER_SEAT_CLOSING);
    cr_assert_eq(ls_peer_seats_overdue(&seats, 100), seat);
    ls_peer_seats_end(&seats, seat, LS_DISCONNECTED);
    cr_assert_null(ls_peer_seats_overdue(&seats, UINT64_MAX));
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}
