#include "lockstep/server/match/spectators.h"

#include "lockstep/common/base/assert.h"

ls_status ls_watchers_init(ls_watchers *watchers, uint32_t rows_max, const ls_allocator *allocator)
{
    LS_ASSERT(rows_max > 0);
    *watchers = (ls_watchers){.rows_max = rows_max};
    watchers->rows = ls_allocate_array(allocator, rows_max, sizeof *watchers->rows);
    ls_status status = ls_peer_map_init(&watchers->places, rows_max, allocator);
    return watchers->rows ? status : LS_NO_MEMORY;
}

void ls_watchers_deinit(ls_watchers *watchers, const ls_allocator *allocator)
{
    ls_peer_map_deinit(&watchers->places, allocator);
    ls_release(allocator, watchers->rows);
    *watchers = (ls_watchers){0};
}

ls_watcher *ls_watchers_add(ls_watchers *watchers, ls_peer_id peer)
{
    if (watchers->count == watchers->rows_max) {
        return NULL;
    }
    uint32_t index = 0;
    while (watchers->rows[index].peer != 0) {
        index++;
    }
    bool is_added = ls_peer_map_add(&watchers->places, peer, index);
    LS_ASSERT(is_added);
    watchers->rows[index] = (ls_watcher){.peer = peer};
    watchers->count++;
    watchers->end = watchers->end > index ? watchers->end : index + 1;
    return &watchers->rows[index];
}

void ls_watchers_remove(ls_watchers *watchers, ls_watcher *watcher)
{
    ls_peer_map_remove(&watchers->places, watcher->peer);
    watcher->peer = 0;
    watchers->count--;
    while (watchers->end > 0 && watchers->rows[watchers->end - 1].peer == 0) {
        watchers->end--;
    }
}

ls_watcher *ls_watchers_find(const ls_watchers *watchers, ls_peer_id peer)
{
    uint32_t index = ls_peer_map_find(&watchers->places, peer);
    return index == LS_PEER_MAP_NONE ? NULL : &watchers->rows[index];
}

ls_watcher *ls_watchers_next(ls_watchers *watchers)
{
    if (watchers->end == 0) {
        return NULL;
    }
    watchers->turn = watchers->turn < watchers->end ? watchers->turn : 0;
    ls_watcher *watcher = &watchers->rows[watchers->turn++];
    return watcher->peer != 0 ? watcher : NULL;
}
