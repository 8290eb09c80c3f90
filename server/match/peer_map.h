/* Peer map: which match each connection belongs to, found in the same time however many there are.
 * Holds a bounded number of peers, so that nobody makes it grow; never allocates once it is
 * made. */
#ifndef LOCKSTEP_SERVER_MATCH_PEER_MAP_H
#define LOCKSTEP_SERVER_MATCH_PEER_MAP_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/protocol/transport/transport.h"

#include <stdbool.h>

#define LS_PEER_MAP_NONE UINT32_MAX
#define LS_PEER_MAP_PEERS_MAX (1u << 20)

typedef struct ls_peer_place {
    ls_peer_id peer; /* 0: free */
    uint32_t match;
} ls_peer_place;

typedef struct ls_peer_map {
    ls_peer_place *places; /* a peer stands at its own place or in the next free one after it */
    uint32_t mask;         /* their count, a power of two, less one */
    uint32_t count;        /* peers in it */
    uint32_t peers_max;
} ls_peer_map;

/* peers_max: 1 .. LS_PEER_MAP_PEERS_MAX. NO_MEMORY. */
ls_status ls_peer_map_init(ls_peer_map *map, uint32_t peers_max, const ls_allocator *allocator);
void ls_peer_map_deinit(ls_peer_map *map, const ls_allocator *allocator);

/* LS_PEER_MAP_NONE when it is not there. */
uint32_t ls_peer_map_find(const ls_peer_map *map, ls_peer_id peer);

/* The peer will be looked for: asks for the memory that this needs. */
void ls_peer_map_prefetch(const ls_peer_map *map, ls_peer_id peer);

/* Adds a peer, not 0, that is not there yet. False when the map is full. */
bool ls_peer_map_add(ls_peer_map *map, ls_peer_id peer, uint32_t match);

/* Some peer of the match; 0: it has none. Looks at every place. */
ls_peer_id ls_peer_map_any_of(const ls_peer_map *map, uint32_t match);

/* Nothing happens when it is not there. */
void ls_peer_map_remove(ls_peer_map *map, ls_peer_id peer);

#endif
