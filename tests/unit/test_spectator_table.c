#include "lockstep/server/match/spectator_table.h"

#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>

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
