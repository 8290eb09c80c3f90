#include "lockstep/server/service/event_ring.h"

#include <criterion/criterion.h>

static ls_event_ring ring;

static void add(uint64_t unix_ms)
{
    const ls_service_event event = {.unix_ms = unix_ms, .slot = -1};
    ls_event_ring_add(&ring, &event);
}

Test(event_ring, events_are_numbered_from_1_and_are_there_to_be_read_again)
{
    cr_assert_null(ls_event_ring_at(&ring, 0));
    add(5);
    add(6);
    cr_assert_eq(ls_event_ring_at(&ring, 0)->number, 1);
    cr_assert_eq(ls_event_ring_at(&ring, 2)->unix_ms, 6);
    cr_assert_null(ls_event_ring_at(&ring, 3));
}

Test(event_ring, a_reader_who_is_too_late_goes_on_with_the_oldest_that_is_kept)
{
    for (uint64_t i = 1; i <= LS_SERVICE_EVENTS_KEPT + 10; i++) {
        add(i);
    }
    cr_assert_eq(ls_event_ring_at(&ring, 1)->number, 11);
    cr_assert_eq(ls_event_ring_at(&ring, 11)->unix_ms, 11);
    cr_assert_eq(ls_event_ring_at(&ring, ring.newest)->unix_ms, LS_SERVICE_EVENTS_KEPT + 10);
}

Test(event_ring, an_event_without_a_time_gets_that_of_now)
{
    add(0);
    cr_assert_gt(ls_event_ring_at(&ring, 1)->unix_ms, UINT64_C(1600000000000));
}
