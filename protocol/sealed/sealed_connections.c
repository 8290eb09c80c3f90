#include "lockstep/protocol/sealed/sealed_connections.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"

#include <string.h>

#define NONE LS_SEALED_NO_CONNECTION

typedef enum place_state {
    FREE,
    HALF_OPEN,
    OPEN,
} place_state;

typedef struct place {
    place_state state;
    uint32_t chained;        /* the next place whose key is found in the same chain */
    uint32_t before, behind; /* of the list of its state; OPEN: in none */
    uint8_t client_key[LS_CIPHER_KEY_BYTES];
} place;

typedef struct list {
    uint32_t first, last, count;
} list;

struct ls_sealed_connections {
    const ls_allocator *allocator;
    place *places;
    uint32_t *chains;
    uint32_t place_count;
    uint32_t chain_bits;
    uint64_t multiplier; /* odd and secret: no client can choose keys of one chain */
    list free, half_open;
};

/* ---- lists ---- */

static void append(ls_sealed_connections *connections, list *to, uint32_t index)
{
    place *added = &connections->places[index];
    added->before = to->last;
    added->behind = NONE;
    if (to->last == NONE) {
        to->first = index;
    } else {
        connections->places[to->last].behind = index;
    }
    to->last = index;
    to->count++;
}

static void unlink_place(ls_sealed_connections *connections, list *from, uint32_t index)
{
    const place *removed = &connections->places[index];
    if (removed->before == NONE) {
        from->first = removed->behind;
    } else {
        connections->places[removed->before].behind = removed->behind;
    }
    if (removed->behind == NONE) {
        from->last = removed->before;
    } else {
        connections->places[removed->behind].before = removed->before;
    }
    from->count--;
}

/* ---- chains ---- */

static uint32_t *chain_of(const ls_sealed_connections *connections, const uint8_t *client_key)
{
    uint64_t mixed = ls_load_u64(client_key) * connections->multiplier;
    return &connections->chains[mixed >> (64 - connections->chain_bits)];
}

static void chain(ls_sealed_connections *connections, uint32_t index)
{
    uint32_t *head = chain_of(connections, connections->places[index].client_key);
    connections->places[index].chained = *head;
    *head = index;
}

static void unchain(ls_sealed_connections *connections, uint32_t index)
{
    uint32_t *link = chain_of(connections, connections->places[index].client_key);
    while (*link != index) {
        link = &connections->places[*link].chained;
    }
    *link = connections->places[index].chained;
}

uint32_t ls_sealed_connections_find(const ls_sealed_connections *connections,
                                    const uint8_t client_key[LS_CIPHER_KEY_BYTES])
{
    uint32_t index = *chain_of(connections, client_key);
    while (index != NONE &&
           memcmp(connections->places[index].client_key, client_key, LS_CIPHER_KEY_BYTES) != 0) {
        index = connections->places[index].chained;
    }
    return index;
}

/* ---- places ---- */

static ls_status allocate(ls_sealed_connections *connections)
{
    const ls_allocator *allocator = connections->allocator;
    uint32_t chain_count = 1u << connections->chain_bits;
    connections->places =
        ls_allocate_array(allocator, connections->place_count, sizeof *connections->places);
    connections->chains = ls_allocate_array(allocator, chain_count, sizeof *connections->chains);
    if (!connections->places || !connections->chains) {
        return LS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < chain_count; i++) {
        connections->chains[i] = NONE;
    }
    for (uint32_t i = 0; i < connections->place_count; i++) {
        append(connections, &connections->free, i);
    }
    return LS_OK;
}

ls_status ls_sealed_connections_create(uint32_t places, uint64_t seed,
                                       const ls_allocator *allocator, ls_sealed_connections **out)
{
    ls_sealed_connections *connections = ls_allocate(allocator, sizeof *connections);
    if (!connections) {
        return LS_NO_MEMORY;
    }
    *connections = (ls_sealed_connections){
        .allocator = allocator,
        .place_count = places,
        .chain_bits = 1,
        .multiplier = seed | 1u,
        .free = {NONE, NONE, 0},
        .half_open = {NONE, NONE, 0},
    };
    while (1u << connections->chain_bits < places) {
        connections->chain_bits++;
    }
    ls_status status = allocate(connections);
    if (status) {
        ls_sealed_connections_destroy(connections);
        return status;
    }
    *out = connections;
    return LS_OK;
}

void ls_sealed_connections_destroy(ls_sealed_connections *connections)
{
    if (!connections) {
        return;
    }
    const ls_allocator *allocator = connections->allocator;
    ls_release(allocator, connections->places);
    ls_release(allocator, connections->chains);
    ls_release(allocator, connections);
}

uint32_t ls_sealed_connections_claim(ls_sealed_connections *connections,
                                     const uint8_t client_key[LS_CIPHER_KEY_BYTES])
{
    uint32_t index = connections->free.first;
    if (index == NONE) {
        return NONE;
    }
    unlink_place(connections, &connections->free, index);
    append(connections, &connections->half_open, index);
    place *taken = &connections->places[index];
    taken->state = HALF_OPEN;
    memcpy(taken->client_key, client_key, LS_CIPHER_KEY_BYTES);
    chain(connections, index);
    return index;
}

void ls_sealed_connections_open(ls_sealed_connections *connections, uint32_t index)
{
    LS_ASSERT(connections->places[index].state == HALF_OPEN);
    unlink_place(connections, &connections->half_open, index);
    connections->places[index].state = OPEN;
}

void ls_sealed_connections_release(ls_sealed_connections *connections, uint32_t index)
{
    LS_ASSERT(ls_sealed_connections_is_used(connections, index));
    place *released = &connections->places[index];
    if (released->state == HALF_OPEN) {
        unlink_place(connections, &connections->half_open, index);
    }
    unchain(connections, index);
    released->state = FREE;
    append(connections, &connections->free, index);
}

uint32_t ls_sealed_connections_oldest(const ls_sealed_connections *connections)
{
    return connections->half_open.first;
}

uint32_t ls_sealed_connections_half_open(const ls_sealed_connections *connections)
{
    return connections->half_open.count;
}

bool ls_sealed_connections_is_used(const ls_sealed_connections *connections, uint32_t index)
{
    return index < connections->place_count && connections->places[index].state != FREE;
}

bool ls_sealed_connections_is_open(const ls_sealed_connections *connections, uint32_t index)
{
    return index < connections->place_count && connections->places[index].state == OPEN;
}
