#include "lockstep/common/maths/rng.h"
#include "lockstep/server/match/peer_map.h"
#include "lockstep/server/match/spectator_table.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>

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
