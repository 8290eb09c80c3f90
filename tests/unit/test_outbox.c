#include "lockstep/server/match/outbox.h"

#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    PLAYERS = 2,
    MANY = 700,
};

static counting_allocator counting;
static ls_outbox *outbox;

static void open_outbox(void)
{
    ls_packet_sink sink = {0};
    counting_allocator_init(&counting);
    cr_assert_eq(ls_outbox_create(&sink, PLAYERS, &counting.allocator, &outbox), LS_OK);
}

static void close_outbox(void)
{
    ls_outbox_destroy(outbox);
    cr_assert_eq(counting.live_blocks, 0);
}

TestSuite(outbox, .init = open_outbox, .fini = close_outbox);

static uint32_t text_bytes(uint32_t number)
{
    return number * 37 % LS_TEXT_BYTES_MAX;
}

static void push(uint32_t number)
{
    ls_match_event *event = ls_outbox_push_event(outbox, LS_MATCH_LAG, number % PLAYERS, number);
    event->number = number;
    memset(event->text.bytes, 'a' + (int)(number % 26), text_bytes(number));
    event->text.bytes[text_bytes(number)] = '\0';
}

static void expect(uint32_t number)
{
    ls_match_event event;
    cr_assert(ls_outbox_next_event(outbox, &event), "event %u", number);
    cr_assert_eq(event.kind, LS_MATCH_LAG);
    cr_assert_eq(event.tick, number);
    cr_assert_eq(event.number, number);
    cr_assert_eq(event.slot, number % PLAYERS);
    cr_assert_eq(strlen(event.text.bytes), text_bytes(number));
    cr_assert(text_bytes(number) == 0 || event.text.bytes[0] == 'a' + (char)(number % 26));
}

static void expect_none(void)
{
    ls_match_event event;
    cr_assert_not(ls_outbox_next_event(outbox, &event));
}

Test(outbox, events_come_in_the_order_in_which_they_were_pushed)
{
    expect_none();
    uint32_t taken = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        push(i);
        if (i % 7 == 6) { /* between none and a few wait */
            while (taken < i - i % 3) {
                expect(taken++);
            }
        }
    }
    while (taken < MANY) {
        expect(taken++);
    }
    expect_none();
}

Test(outbox, the_newest_256_events_wait)
{
    for (uint32_t i = 0; i < MANY; i++) {
        push(i);
    }
    for (uint32_t i = MANY - LS_OUTBOX_EVENTS_MAX; i < MANY; i++) {
        expect(i);
    }
    expect_none();
}

Test(outbox, events_that_are_taken_take_no_more_memory)
{
    uint64_t allocations = counting.allocations;
    for (uint32_t i = 0; i < MANY; i++) {
        push(2 * i);
        push(2 * i + 1);
        expect(2 * i);
        expect(2 * i + 1);
    }
    cr_assert_eq(counting.allocations, allocations);
}

Test(outbox, without_more_memory_the_oldest_events_give_way)
{
    ls_match_event event;
    uint32_t held = 0;
    counting.allowed = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        push(i);
    }
    cr_assert_gt(counting.refusals, 0);
    cr_assert(ls_outbox_next_event(outbox, &event));
    for (uint32_t i = event.tick + 1; i < MANY; i++) {
        expect(i);
        held++;
    }
    expect_none();
    cr_assert_gt(held, 1);
    cr_assert_lt(held, LS_OUTBOX_EVENTS_MAX - 1);
}

Test(outbox, survives_every_failed_allocation_and_gives_all_back)
{
    ls_packet_sink sink = {0};
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_outbox *made = NULL;
        refused.status = ls_outbox_create(&sink, PLAYERS, &refused.counting.allocator, &made);
        ls_outbox_destroy(made);
    }
}
