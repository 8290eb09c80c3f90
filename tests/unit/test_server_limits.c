/* A match keeps budgets and places of peers, and messages for them. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/server/journal/event_rows.h"
#include "lockstep/server/match/outbox.h"
#include "lockstep/server/match/peer_map.h"
#include "lockstep/server/match/pending_connections.h"
#include "lockstep/server/match/spectator_table.h"
#include "lockstep/server/match/state_handover.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <string.h>

/* ---- send_budget ---- */

Test(send_budget, holds_half_a_second_at_first_and_at_most)
{
    ls_send_budget budget = ls_send_budget_make(1000, LS_NS_PER_SECOND);
    cr_assert_eq(budget.left, 500);
    ls_send_budget_fill(&budget, 100 * LS_NS_PER_SECOND);
    cr_assert_eq(budget.left, 500);
    cr_assert_not(ls_send_budget_is_spent(&budget));
}

Test(send_budget, is_spent_when_nothing_is_left_and_fills_again)
{
    ls_send_budget budget = ls_send_budget_make(1000, 0);
    ls_send_budget_spend(&budget, 499);
    cr_assert_not(ls_send_budget_is_spent(&budget));
    ls_send_budget_spend(&budget, 1);
    cr_assert(ls_send_budget_is_spent(&budget));
    ls_send_budget_spend(&budget, 50); /* overdrawn by what was sent last */
    ls_send_budget_fill(&budget, 50 * LS_NS_PER_MS);
    cr_assert(ls_send_budget_is_spent(&budget));
    ls_send_budget_fill(&budget, 51 * LS_NS_PER_MS);
    cr_assert_not(ls_send_budget_is_spent(&budget));
}

Test(send_budget, keeps_its_rate_however_often_it_is_filled)
{
    ls_send_budget budget = ls_send_budget_make(UINT64_C(1) << 30, 0);
    uint64_t sent = 0;
    for (uint64_t now_ns = 0; now_ns <= LS_NS_PER_SECOND; now_ns += 12345) {
        ls_send_budget_fill(&budget, now_ns);
        while (!ls_send_budget_is_spent(&budget)) {
            ls_send_budget_spend(&budget, 1200);
            sent += 1200;
        }
    }
    uint64_t allowed = (UINT64_C(1) << 30) * 3 / 2; /* a second, and what it held at first */
    cr_assert_leq(sent, allowed + 1200);
    cr_assert_geq(sent, allowed - allowed / 1000);
}

Test(send_budget, the_largest_rate_does_not_overflow)
{
    ls_send_budget budget = ls_send_budget_make(UINT64_C(1) << 40, 0);
    ls_send_budget_spend(&budget, UINT64_C(1) << 41);
    ls_send_budget_fill(&budget, UINT64_MAX);
    cr_assert_eq(budget.left, -(INT64_C(1) << 39), "a second's worth at most");
}

/* ---- lapsed_offers ---- */

#define NOW_NS (100 * LS_NS_PER_SECOND)

Test(lapsed_offers, an_origin_is_remembered_for_a_minute_after_its_newest_lapse)
{
    ls_lapsed_offers lapsed = {0};
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 7, NOW_NS));
    ls_lapsed_offers_note(&lapsed, 7, NOW_NS);
    cr_assert(ls_lapsed_offers_has(&lapsed, 7, NOW_NS));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 8, NOW_NS));
    uint64_t again_ns = NOW_NS + LS_LAPSED_OFFERS_NS - 1;
    cr_assert(ls_lapsed_offers_has(&lapsed, 7, again_ns));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 7, again_ns + 1));
    ls_lapsed_offers_note(&lapsed, 7, again_ns);
    cr_assert(ls_lapsed_offers_has(&lapsed, 7, again_ns + LS_LAPSED_OFFERS_NS - 1));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 7, again_ns + LS_LAPSED_OFFERS_NS));
}

Test(lapsed_offers, an_origin_that_is_not_known_is_never_remembered)
{
    ls_lapsed_offers lapsed = {0};
    ls_lapsed_offers_note(&lapsed, 0, 1);
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 0, 1));
}

Test(lapsed_offers, the_origin_whose_newest_lapse_is_oldest_makes_room)
{
    ls_lapsed_offers lapsed = {0};
    for (uint64_t origin = 1; origin <= LS_LAPSED_OFFERS_MAX; origin++) {
        ls_lapsed_offers_note(&lapsed, origin, NOW_NS + origin);
    }
    ls_lapsed_offers_note(&lapsed, 1, NOW_NS + 100);
    for (uint64_t origin = 1; origin <= LS_LAPSED_OFFERS_MAX; origin++) {
        cr_assert(ls_lapsed_offers_has(&lapsed, origin, NOW_NS + 100));
    }
    ls_lapsed_offers_note(&lapsed, 1000, NOW_NS + 101);
    cr_assert(ls_lapsed_offers_has(&lapsed, 1000, NOW_NS + 101));
    cr_assert(ls_lapsed_offers_has(&lapsed, 1, NOW_NS + 101));
    cr_assert_not(ls_lapsed_offers_has(&lapsed, 2, NOW_NS + 101));
    cr_assert(ls_lapsed_offers_has(&lapsed, 3, NOW_NS + 101));
}

/* ---- origin_budget ---- */

#define SECOND LS_NS_PER_SECOND

static ls_origin_budget budget;

static uint32_t spend(uint64_t origin, uint32_t times, uint64_t now_ns)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < times; i++) {
        if (!ls_origin_budget_is_spent(&budget, origin, now_ns)) {
            ls_origin_budget_spend(&budget, origin, now_ns);
            taken++;
        }
    }
    return taken;
}

Test(origin_budget, an_origin_gets_eight_at_once_and_one_every_two_seconds)
{
    cr_expect_eq(spend(5, 20, SECOND), LS_STATES_AT_ONCE);
    cr_expect_eq(spend(5, 20, 3 * SECOND - 1), 0);
    cr_expect_eq(spend(5, 20, 3 * SECOND), 1);
    cr_expect_eq(spend(5, 20, 13 * SECOND), 5);
}

Test(origin_budget, origins_do_not_share_and_the_unknown_one_is_not_limited)
{
    spend(5, 20, SECOND);
    cr_expect_eq(spend(6, 20, SECOND), LS_STATES_AT_ONCE);
    cr_expect_eq(spend(0, 1000, SECOND), 1000);
}

Test(origin_budget, nobody_waits_for_longer_than_sixteen_shares)
{
    for (uint32_t i = 0; i < 1000; i++) { /* all leave at once */
        ls_origin_budget_spend(&budget, 5, SECOND);
    }
    cr_expect(ls_origin_budget_is_spent(&budget, 5, 18 * SECOND));
    cr_expect_not(ls_origin_budget_is_spent(&budget, 5, 19 * SECOND));
}

Test(origin_budget, the_one_that_owes_least_is_forgotten)
{
    spend(1000, 8, SECOND);
    for (uint64_t origin = 1; origin < LS_ORIGIN_BUDGET_ROWS; origin++) {
        spend(origin, 7, SECOND);
    }
    spend(1001, 1, SECOND);
    cr_expect_eq(spend(1, 8, SECOND), 8, "it was forgotten");
    cr_expect_eq(spend(1000, 8, SECOND), 0, "it was not");
}

/* ---- peer_map ---- */

static ls_peer_map map;

static void open_map(uint32_t peers_max)
{
    cr_assert_eq(ls_peer_map_init(&map, peers_max, ls_allocator_heap()), LS_OK);
}

static void close_map(void)
{
    ls_peer_map_deinit(&map, ls_allocator_heap());
}

TestSuite(peer_map, .fini = close_map);

Test(peer_map, a_peer_is_found_where_it_was_put_until_it_is_removed)
{
    open_map(4);
    cr_assert(ls_peer_map_add(&map, 7, 3));
    cr_assert(ls_peer_map_add(&map, UINT32_MAX, 0));
    cr_assert_eq(ls_peer_map_find(&map, 7), 3);
    cr_assert_eq(ls_peer_map_find(&map, UINT32_MAX), 0);
    cr_assert_eq(ls_peer_map_find(&map, 8), LS_PEER_MAP_NONE);
    ls_peer_map_remove(&map, 7);
    cr_assert_eq(ls_peer_map_find(&map, 7), LS_PEER_MAP_NONE);
    cr_assert_eq(ls_peer_map_find(&map, UINT32_MAX), 0);
    cr_assert_eq(map.count, 1);
}

Test(peer_map, nobody_is_peer_0)
{
    open_map(2);
    cr_assert(ls_peer_map_add(&map, 1, 1));
    cr_assert_eq(ls_peer_map_find(&map, 0), LS_PEER_MAP_NONE);
    ls_peer_map_remove(&map, 0);
    ls_peer_map_remove(&map, 2);
    cr_assert_eq(map.count, 1);
}

Test(peer_map, a_map_takes_as_many_as_were_asked_for_and_not_one_more)
{
    static const uint32_t sizes[] = {1, 2, 3, 64, 65, 576};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        open_map(sizes[i]);
        for (uint32_t peer = 1; peer <= sizes[i]; peer++) {
            cr_assert(ls_peer_map_add(&map, peer, peer / 4));
        }
        cr_assert_not(ls_peer_map_add(&map, sizes[i] + 1, 0));
        ls_peer_map_remove(&map, 1);
        cr_assert(ls_peer_map_add(&map, sizes[i] + 1, 9));
        cr_assert_eq(ls_peer_map_find(&map, sizes[i] + 1), 9);
        close_map();
    }
}

/* Against a plain list, with few peers to choose from and more to come than go, so that most of
 * them share their places and holes arise in every position. */
Test(peer_map, a_map_agrees_with_a_list)
{
    enum {
        PEERS = 48,
        TURNS = 20000
    };
    uint32_t list[PEERS + 1];
    ls_rng rng = ls_rng_make(1, 1);
    uint32_t added = 0;
    uint32_t removed = 0;
    open_map(PEERS);
    for (uint32_t peer = 0; peer <= PEERS; peer++) {
        list[peer] = LS_PEER_MAP_NONE;
    }
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        ls_peer_id peer = 1 + ls_rng_below(&rng, PEERS);
        if (list[peer] == LS_PEER_MAP_NONE) {
            cr_assert(ls_peer_map_add(&map, peer << 16, turn));
            list[peer] = turn;
            added++;
        } else if (ls_rng_below(&rng, 3) > 0) {
            ls_peer_map_remove(&map, peer << 16);
            list[peer] = LS_PEER_MAP_NONE;
            removed++;
        }
        for (peer = 1; peer <= PEERS; peer++) {
            cr_assert_eq(ls_peer_map_find(&map, peer << 16), list[peer]);
        }
    }
    cr_assert_eq(map.count, added - removed);
    cr_assert_gt(removed, TURNS / 8);
}

/* ---- spectator_table ---- */

static ls_spectator_table table;

static void open_table(void)
{
    cr_assert_eq(ls_spectator_table_init(&table, 4, NULL, ls_allocator_heap()), LS_OK);
}

static void close_table(void)
{
    ls_spectator_table_deinit(&table, ls_allocator_heap());
}

TestSuite(spectator_table, .fini = close_table);

Test(spectator_table, finds_who_was_added_until_it_is_removed, .init = open_table)
{
    ls_spectator *first = ls_spectator_table_add(&table, 11);
    ls_spectator *second = ls_spectator_table_add(&table, 12);
    cr_assert_eq(table.count, 2);
    cr_assert_eq(ls_spectator_table_find(&table, 11), first);
    cr_assert_eq(ls_spectator_table_find(&table, 12), second);
    cr_assert_null(ls_spectator_table_find(&table, 13));
    cr_assert_null(ls_spectator_table_find(&table, 0));
    ls_spectator_table_remove(&table, first);
    cr_assert_null(ls_spectator_table_find(&table, 11));
    cr_assert_eq(ls_spectator_table_find(&table, 12), second);
    cr_assert_eq(table.count, 1);
}

Test(spectator_table, a_full_table_takes_nobody_and_a_free_row_is_new, .init = open_table)
{
    for (ls_peer_id peer = 1; peer <= 4; peer++) {
        cr_assert_not_null(ls_spectator_table_add(&table, peer));
    }
    cr_assert_null(ls_spectator_table_add(&table, 5));
    ls_spectator *left = ls_spectator_table_find(&table, 2);
    left->link.malformed = 7;
    left->link.downlink.next = 100;
    ls_spectator_table_remove(&table, left);
    ls_spectator *fresh = ls_spectator_table_add(&table, 5);
    cr_assert_eq(fresh, left, "the free one");
    cr_assert_eq(fresh->link.malformed, 0);
    cr_assert_eq(fresh->link.downlink.next, 0);
    cr_assert_eq(fresh->peer, 5);
}

Test(spectator_table, tables_share_a_pool)
{
    static uint32_t pool = 3; /* of the suite's table as well, which ends behind this */
    ls_spectator_table other;
    cr_assert_eq(ls_spectator_table_init(&table, 4, &pool, ls_allocator_heap()), LS_OK);
    cr_assert_eq(ls_spectator_table_init(&other, 4, &pool, ls_allocator_heap()), LS_OK);
    cr_assert_not_null(ls_spectator_table_add(&table, 1));
    cr_assert_not_null(ls_spectator_table_add(&other, 2));
    ls_spectator *third = ls_spectator_table_add(&other, 3);
    cr_assert_not_null(third);
    cr_assert_null(ls_spectator_table_add(&table, 4), "the pool is empty");
    cr_assert_eq(table.count, 1);
    ls_spectator_table_remove(&other, third);
    cr_assert_not_null(ls_spectator_table_add(&table, 4));
    cr_assert_eq(pool, 0);
    ls_spectator_table_deinit(&other, ls_allocator_heap());
    cr_assert_eq(pool, 1, "the last row of a table that ends");
}

static uint32_t go_round(uint32_t turns[8])
{
    uint32_t met = 0;
    for (uint32_t i = table.end; i > 0; i--) {
        ls_spectator *spectator = ls_spectator_table_next(&table);
        if (spectator) {
            turns[spectator->peer]++;
            met++;
        }
    }
    return met;
}

Test(spectator_table, everybody_gets_one_turn_a_round, .init = open_table)
{
    uint32_t turns[8] = {0};
    cr_assert_null(ls_spectator_table_next(&table), "nobody is there");
    for (ls_peer_id peer = 1; peer <= 4; peer++) {
        ls_spectator_table_add(&table, peer);
    }
    for (uint32_t round = 0; round < 3; round++) {
        cr_assert_eq(go_round(turns), 4);
    }
    ls_spectator_table_remove(&table, ls_spectator_table_find(&table, 2));
    ls_spectator_table_next(&table); /* a round may begin anywhere */
    turns[1]++;
    cr_assert_eq(go_round(turns), 3);
    ls_spectator_table_remove(&table, ls_spectator_table_find(&table, 4));
    cr_assert_eq(table.end, 3, "rows behind the last one are not looked at");
    cr_assert_eq(go_round(turns), 2);
    cr_assert_eq(turns[1], 6);
    cr_assert_eq(turns[2], 3);
    cr_assert_eq(turns[3], 5);
    cr_assert_eq(turns[4], 4);
}

Test(spectator_table, survives_every_failed_allocation_and_gives_all_back)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        refused.status = ls_spectator_table_init(&table, 100, NULL, &refused.counting.allocator);
        ls_spectator_table_deinit(&table, &refused.counting.allocator);
    }
}

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
