/* The way from one peer to another: its seats in a transport, and what a meter knows of it. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/transport/peer_seats.h"
#include "lockstep/protocol/wire/link_meter.h"

#include <criterion/criterion.h>

/* ---- peer_seats ---- */

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

/* ---- link_meter ---- */

#define DT_NS (LS_NS_PER_SECOND / 60)
#define MS LS_NS_PER_MS

/* Packet number n, due n ticks after the first, arrives `delay_ns` later. */
static ls_link_arrival arrive(ls_link_meter *meter, uint32_t n, uint64_t delay_ns)
{
    return ls_link_meter_add(meter, n % (1u << LS_SEQUENCE_BITS), (int64_t)(n * DT_NS),
                             LS_NS_PER_SECOND + n * DT_NS + delay_ns);
}

Test(link_meter, a_perfect_link_loses_nothing_and_delays_evenly)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 2000; n++) {
        cr_assert_eq(arrive(&meter, n, 30 * MS), LS_LINK_NEWER);
    }
    cr_assert_eq(meter.sent, 2000);
    cr_assert_eq(meter.lost, 0);
    cr_assert_eq(ls_link_meter_figures(&meter).loss, 0);
    cr_assert_eq(ls_link_meter_figures(&meter).jitter, 0);
}

Test(link_meter, random_loss_is_counted_exactly_and_told_nearly)
{
    static const uint32_t losses_percent[] = {1, 5, 20, 50};
    static const int32_t errors_percent[] = {2, 4, 6, 8}; /* three deviations of so many packets */
    for (size_t i = 0; i < sizeof losses_percent / sizeof losses_percent[0]; i++) {
        ls_rng rng = ls_rng_make(7, i);
        ls_link_meter meter = {0};
        arrive(&meter, 0, 0);
        uint64_t lost = 0;
        for (uint32_t n = 1; n < 3000; n++) {
            if (n < 2999 && ls_rng_below(&rng, 100) < losses_percent[i]) {
                lost++;
            } else {
                arrive(&meter, n, 0);
            }
        }
        cr_assert_eq(meter.lost, lost);
        cr_assert_eq(meter.sent, 3000);
        int32_t told_percent = (int32_t)(ls_link_meter_figures(&meter).loss * 100 / 256);
        int32_t error = told_percent - (int32_t)losses_percent[i];
        cr_assert(error >= -errors_percent[i] && error <= errors_percent[i], "%u %%: %d",
                  losses_percent[i], told_percent);
    }
}

Test(link_meter, packets_overtaken_or_repeated_are_not_lost)
{
    ls_link_meter meter = {0};
    arrive(&meter, 0, 0);
    arrive(&meter, 1, 0);
    cr_assert_eq(arrive(&meter, 4, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 2);
    cr_assert_eq(arrive(&meter, 3, 3 * DT_NS), LS_LINK_OLDER);
    cr_assert_eq(arrive(&meter, 3, 3 * DT_NS), LS_LINK_REPEATED);
    cr_assert_eq(arrive(&meter, 4, 3 * DT_NS), LS_LINK_REPEATED);
    cr_assert_eq(meter.lost, 1);
    cr_assert_eq(arrive(&meter, 2, 6 * DT_NS), LS_LINK_OLDER);
    cr_assert_eq(meter.lost, 0);
    cr_assert_eq(meter.sent, 5);
}

/* They are told apart by numbers; the times of two that come together may be measured wrongly. */
Test(link_meter, a_time_of_arrival_before_the_last_is_no_silence)
{
    ls_link_meter meter = {0};
    arrive(&meter, 0, 10 * MS);
    cr_assert_eq(arrive(&meter, 2, 10 * MS), LS_LINK_NEWER);
    cr_assert_eq(arrive(&meter, 1, 10 * MS), LS_LINK_OLDER);
    cr_assert_eq(arrive(&meter, 1, 10 * MS - 1), LS_LINK_REPEATED);
    cr_assert_eq(arrive(&meter, 3, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 0);
    cr_assert_eq(meter.sent, 4);
}

Test(link_meter, a_second_of_silence_is_a_second_of_losses)
{
    ls_link_meter meter = {0};
    arrive(&meter, 0, 0);
    arrive(&meter, 1, 0);
    cr_assert_eq(arrive(&meter, 60, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 58);
    cr_assert_eq(arrive(&meter, 61, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 58);
}

Test(link_meter, jitter_is_the_mean_change_of_the_delay)
{
    /* Alternately 0 and 8 ms late: each delay differs from the one before by 8 ms. */
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 500; n++) {
        arrive(&meter, n, n % 2 * 8 * MS);
    }
    uint32_t jitter = ls_link_meter_figures(&meter).jitter;
    cr_assert(jitter >= 31 && jitter <= 32, "%u quarters of a millisecond", jitter);
}

Test(link_meter, a_slow_drift_of_the_delay_is_no_jitter)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 2000; n++) {
        arrive(&meter, n, 100 * MS + n * DT_NS / 2000); /* 500 ppm */
    }
    cr_assert_eq(ls_link_meter_figures(&meter).jitter, 0);
}

Test(link_meter, packets_without_a_newer_tick_say_nothing_of_jitter)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 100; n++) {
        ls_link_meter_add(&meter, 2 * n % 64, (int64_t)(n * DT_NS), n * DT_NS);
        ls_link_meter_add(&meter, (2 * n + 1) % 64, (int64_t)(n * DT_NS), n * DT_NS + DT_NS / 2);
    }
    cr_assert_eq(ls_link_meter_figures(&meter).jitter, 0);
    cr_assert_eq(meter.sent, 200);
}

Test(link_meter, figures_stay_within_what_travels)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 1000; n++) {
        arrive(&meter, n * 31, n % 2 * 10 * LS_NS_PER_SECOND);
    }
    ls_link_figures figures = ls_link_meter_figures(&meter);
    cr_assert_leq(figures.loss, LS_LOSS_MAX);
    cr_assert_leq(figures.jitter, LS_JITTER_MAX);
}
