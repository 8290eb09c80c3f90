#include "lockstep/server/match/peer_map.h"

#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>

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
