#include "lockstep/server/match/spectator_table.h"

#include "lockstep/common/base/assert.h"

ls_status ls_spectator_table_init(ls_spectator_table *table, uint32_t rows_max,
                                  const ls_allocator *allocator)
{
    LS_ASSERT(rows_max > 0);
    *table = (ls_spectator_table){.rows_max = rows_max};
    table->rows = ls_allocate_array(allocator, rows_max, sizeof *table->rows);
    ls_status status = ls_peer_map_init(&table->places, rows_max, allocator);
    return table->rows ? status : LS_NO_MEMORY;
}

void ls_spectator_table_deinit(ls_spectator_table *table, const ls_allocator *allocator)
{
    ls_peer_map_deinit(&table->places, allocator);
    ls_release(allocator, table->rows);
    *table = (ls_spectator_table){0};
}

ls_spectator *ls_spectator_table_add(ls_spectator_table *table, ls_peer_id peer)
{
    if (table->count == table->rows_max) {
        return NULL;
    }
    uint32_t index = 0;
    while (table->rows[index].peer != 0) {
        index++;
    }
    bool is_added = ls_peer_map_add(&table->places, peer, index);
    LS_ASSERT(is_added);
    table->rows[index] = (ls_spectator){.peer = peer};
    table->count++;
    table->end = LS_MAX(table->end, index + 1);
    return &table->rows[index];
}

void ls_spectator_table_remove(ls_spectator_table *table, ls_spectator *spectator)
{
    ls_peer_map_remove(&table->places, spectator->peer);
    spectator->peer = 0;
    table->count--;
    while (table->end > 0 && table->rows[table->end - 1].peer == 0) {
        table->end--;
    }
}

ls_spectator *ls_spectator_table_find(const ls_spectator_table *table, ls_peer_id peer)
{
    uint32_t index = ls_peer_map_find(&table->places, peer);
    return index == LS_PEER_MAP_NONE ? NULL : &table->rows[index];
}

ls_peer_id ls_spectator_table_holder(const ls_spectator_table *table, uint64_t holder)
{
    for (uint32_t row = 0; row < table->end; row++) {
        const ls_spectator *spectator = &table->rows[row];
        if (spectator->peer != 0 && spectator->has_holder && spectator->holder == holder) {
            return spectator->peer;
        }
    }
    return 0;
}

void ls_spectator_table_send(const ls_spectator_table *table, ls_outbox *outbox)
{
    for (uint32_t row = 0; row < table->end; row++) {
        if (table->rows[row].peer != 0) {
            ls_outbox_send(outbox, table->rows[row].peer);
        }
    }
}

ls_spectator *ls_spectator_table_next(ls_spectator_table *table)
{
    if (table->end == 0) {
        return NULL;
    }
    table->turn = table->turn < table->end ? table->turn : 0;
    ls_spectator *spectator = &table->rows[table->turn++];
    return spectator->peer != 0 ? spectator : NULL;
}
