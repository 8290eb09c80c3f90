#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/match/outbox.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- outbox ---- */

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

/* ---- event_rows ---- */

enum {
    KINDS = LS_MATCH_CHAT + 1,
};

static const ls_event_row *row_of(uint32_t kind, bool was_coming)
{
    const ls_match_event event = {.kind = (ls_match_event_kind)kind, .was_coming = was_coming};
    return ls_event_row_of(&event);
}

Test(event_rows, newcomer_joins_and_one_that_does_not_stay_was_never_there)
{
    cr_expect_str_eq(row_of(LS_MATCH_PLAYER_READY, true)->word, "player-joined");
    cr_expect_null(row_of(LS_MATCH_PLAYER_READY, false)->word);
    cr_expect_null(row_of(LS_MATCH_PLAYER_LEFT, true)->word);
    cr_expect_eq(row_of(LS_MATCH_PLAYER_LEFT, true)->record, LS_JOURNAL_EVENT_TURNED_AWAY);
    cr_expect_str_eq(row_of(LS_MATCH_PLAYER_LEFT, false)->word, "player-left");
    cr_expect_eq(row_of(LS_MATCH_PLAYER_LEFT, false)->record, LS_JOURNAL_EVENT_LEFT);
}

/* No player is charged for the lines of an operator. */
Test(event_rows, pause_is_of_the_match)
{
    cr_expect_eq(row_of(LS_MATCH_PAUSED, false)->scope, LS_EVENT_OF_MATCH);
    cr_expect_eq(row_of(LS_MATCH_UNPAUSED, false)->scope, LS_EVENT_OF_MATCH);
    cr_expect_eq(row_of(LS_MATCH_SUSPENDED, false)->scope, LS_EVENT_OF_MATCH);
}

Test(event_rows, no_two_kinds_have_one_word_or_one_record)
{
    for (uint32_t a = 0; a < KINDS; a++) {
        for (uint32_t b = 0; b < a; b++) {
            const ls_event_row *one = row_of(a, false);
            const ls_event_row *other = row_of(b, false);
            cr_expect(!one->word || !other->word || strcmp(one->word, other->word) != 0);
            cr_expect(one->record == 0 || one->record != other->record);
        }
    }
}

Test(event_rows, lines_have_fields_that_there_are)
{
    static const char names[] = "{player} {slot} {tick} {text} {: text} {status} {waited for} "
                                "{waited_ms} {keep_s}";
    uint32_t fields = 0;
    for (uint32_t i = 0; i < 2 * KINDS; i++) {
        const char *at = row_of(i / 2, i % 2 != 0)->line;
        for (at = at ? strchr(at, '{') : NULL; at; at = strchr(at + 1, '{')) {
            char field[16] = "";
            size_t length = strcspn(at, "}") + 1;
            cr_assert_lt(length, sizeof field);
            memcpy(field, at, length);
            cr_expect(strstr(names, field), "%s", field);
            fields++;
        }
    }
    cr_expect_gt(fields, 30);
}
