#include "lockstep/server/match/peer_map.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/prefetch.h"

ls_status ls_peer_map_init(ls_peer_map *map, uint32_t peers_max, const ls_allocator *allocator)
{
    LS_ASSERT(peers_max > 0 && peers_max <= LS_PEER_MAP_PEERS_MAX);
    uint32_t places = 4;
    while (places < 2 * peers_max) { /* half of them free, so that searches are short */
        places *= 2;
    }
    ls_peer_place *made = ls_allocate_array(allocator, places, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *map = (ls_peer_map){.places = made, .mask = places - 1, .peers_max = peers_max};
    return LS_OK;
}

void ls_peer_map_deinit(ls_peer_map *map, const ls_allocator *allocator)
{
    ls_release(allocator, map->places);
    *map = (ls_peer_map){0};
}

/* A peer's own place. Transports number their peers one after the other: those do not collide, and
 * the factor parts those that are a power of two apart. */
static uint32_t home_of(const ls_peer_map *map, ls_peer_id peer)
{
    return (uint32_t)((peer * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & map->mask;
}

/* The peer's place, or the free one where the search for it ends. */
static uint32_t place_of(const ls_peer_map *map, ls_peer_id peer)
{
    uint32_t index = home_of(map, peer);
    while (map->places[index].peer != 0 && map->places[index].peer != peer) {
        index = (index + 1) & map->mask;
    }
    return index;
}

void ls_peer_map_prefetch(const ls_peer_map *map, ls_peer_id peer)
{
    ls_prefetch(&map->places[home_of(map, peer)], sizeof map->places[0]);
}

uint32_t ls_peer_map_find(const ls_peer_map *map, ls_peer_id peer)
{
    const ls_peer_place *place = &map->places[place_of(map, peer)];
    return peer != 0 && place->peer == peer ? place->match : LS_PEER_MAP_NONE;
}

bool ls_peer_map_add(ls_peer_map *map, ls_peer_id peer, uint32_t match)
{
    LS_ASSERT(peer != 0);
    if (map->count == map->peers_max) {
        return false;
    }
    ls_peer_place *place = &map->places[place_of(map, peer)];
    LS_ASSERT(place->peer == 0);
    *place = (ls_peer_place){.peer = peer, .match = match};
    map->count++;
    return true;
}

ls_peer_id ls_peer_map_any_of(const ls_peer_map *map, uint32_t match)
{
    for (uint32_t i = 0; i <= map->mask; i++) {
        if (map->places[i].peer != 0 && map->places[i].match == match) {
            return map->places[i].peer;
        }
    }
    return 0;
}

void ls_peer_map_remove(ls_peer_map *map, ls_peer_id peer)
{
    uint32_t hole = place_of(map, peer);
    if (peer == 0 || map->places[hole].peer != peer) {
        return;
    }
    /* Entries behind the hole that a search would no longer reach move up. */
    for (uint32_t next = (hole + 1) & map->mask; map->places[next].peer != 0;
         next = (next + 1) & map->mask) {
        uint32_t home = home_of(map, map->places[next].peer);
        uint32_t from_home = (next - home) & map->mask;
        uint32_t from_hole = (next - hole) & map->mask;
        if (from_home >= from_hole) {
            map->places[hole] = map->places[next];
            hole = next;
        }
    }
    map->places[hole] = (ls_peer_place){0};
    map->count--;
}
