#include "lockstep/server/match/spectators.h"

#include "lockstep/common/base/assert.h"

ls_status ls_spectators_init(ls_spectators *spectators, uint32_t rows_max,
                             const ls_allocator *allocator)
{
    LS_ASSERT(rows_max > 0);
    *spectators = (ls_spectators){.rows_max = rows_max};
    spectators->rows = ls_allocate_array(allocator, rows_max, sizeof *spectators->rows);
    ls_status status = ls_peer_map_init(&spectators->places, rows_max, allocator);
    return spectators->rows ? status : LS_NO_MEMORY;
}

void ls_spectators_deinit(ls_spectators *spectators, const ls_allocator *allocator)
{
    ls_peer_map_deinit(&spectators->places, allocator);
    ls_release(allocator, spectators->rows);
    *spectators = (ls_spectators){0};
}

ls_spectator *ls_spectators_add(ls_spectators *spectators, ls_peer_id peer)
{
    if (spectators->count == spectators->rows_max) {
        return NULL;
    }
    uint32_t index = 0;
    while (spectators->rows[index].peer != 0) {
        index++;
    }
    bool is_added = ls_peer_map_add(&spectators->places, peer, index);
    LS_ASSERT(is_added);
    spectators->rows[index] = (ls_spectator){.peer = peer};
    spectators->count++;
    spectators->end = spectators->end > index ? spectators->end : index + 1;
    return &spectators->rows[index];
}

void ls_spectators_remove(ls_spectators *spectators, ls_spectator *spectator)
{
    ls_peer_map_remove(&spectators->places, spectator->peer);
    spectator->peer = 0;
    spectators->count--;
    while (spectators->end > 0 && spectators->rows[spectators->end - 1].peer == 0) {
        spectators->end--;
    }
}

ls_spectator *ls_spectators_find(const ls_spectators *spectators, ls_peer_id peer)
{
    uint32_t index = ls_peer_map_find(&spectators->places, peer);
    return index == LS_PEER_MAP_NONE ? NULL : &spectators->rows[index];
}

ls_spectator *ls_spectators_next(ls_spectators *spectators)
{
    if (spectators->end == 0) {
        return NULL;
    }
    spectators->turn = spectators->turn < spectators->end ? spectators->turn : 0;
    ls_spectator *spectator = &spectators->rows[spectators->turn++];
    return spectator->peer != 0 ? spectator : NULL;
}
