#include "lockstep/common/journal/journal_index.h"

#include "lockstep/common/base/byte_io.h"

#include <string.h>

static void leave_out_every_second(ls_journal_index_list *list)
{
    for (uint32_t i = 0; i < list->count / 2; i++) {
        list->entries[i] = list->entries[2 * i];
    }
    list->count /= 2;
    list->stride *= 2;
}

static void add(ls_journal_index_list *list, ls_journal_index_entry entry)
{
    list->stride = list->stride > 0 ? list->stride : 1;
    if (list->count == LS_JOURNAL_INDEX_MAX) {
        leave_out_every_second(list);
    }
    if (list->seen++ % list->stride == 0) {
        list->entries[list->count++] = entry;
    }
}

void ls_journal_index_add(ls_journal_index *index, ls_journal_index_entry entry)
{
    add(entry.kind == LS_JOURNAL_TICKS ? &index->ticks : &index->snapshots, entry);
}

static uint8_t *put(uint8_t *at, const ls_journal_index_entry *entry)
{
    ls_store_u32(at, entry->kind);
    ls_store_u32(at + 4, entry->tick);
    ls_store_u64(at + 8, entry->offset);
    return at + LS_JOURNAL_INDEX_ENTRY_BYTES;
}

size_t ls_journal_index_write(const ls_journal_index *index,
                              uint8_t bytes[LS_JOURNAL_INDEX_BYTES_MAX])
{
    const ls_journal_index_list *ticks = &index->ticks;
    const ls_journal_index_list *snapshots = &index->snapshots;
    uint32_t t = 0;
    uint32_t s = 0;
    uint8_t *at = bytes + 4;
    ls_store_u32(bytes, ticks->count + snapshots->count);
    while (t < ticks->count || s < snapshots->count) {
        bool is_tick =
            s == snapshots->count ||
            (t < ticks->count && ticks->entries[t].offset < snapshots->entries[s].offset);
        at = put(at, is_tick ? &ticks->entries[t++] : &snapshots->entries[s++]);
    }
    return (size_t)(at - bytes);
}

uint32_t ls_journal_index_count(const uint8_t *bytes, size_t size)
{
    uint32_t count = size >= 4 ? ls_load_u32(bytes) : UINT32_MAX;
    bool is_sized = count <= 2 * LS_JOURNAL_INDEX_MAX &&
                    size == 4 + (size_t)count * LS_JOURNAL_INDEX_ENTRY_BYTES;
    return is_sized ? count : UINT32_MAX;
}

ls_journal_index_entry ls_journal_index_read(const uint8_t *bytes, uint32_t number)
{
    const uint8_t *at = bytes + 4 + (size_t)number * LS_JOURNAL_INDEX_ENTRY_BYTES;
    return (ls_journal_index_entry){
        .kind = ls_load_u32(at), .tick = ls_load_u32(at + 4), .offset = ls_load_u64(at + 8)};
}

bool ls_journal_is_named(const char *name)
{
    static const char ending[] = ".journal";
    size_t size = strlen(name);
    return size >= sizeof ending && strcmp(name + size - (sizeof ending - 1), ending) == 0;
}
