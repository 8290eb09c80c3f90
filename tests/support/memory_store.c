#include "lockstep/tests/support/memory_store.h"

#include "lockstep/common/base/assert.h"

#include <stdlib.h>
#include <string.h>

void memory_store_init(memory_store *store, size_t raw_bytes_max)
{
    *store = (memory_store){.capacity = 1 << 16};
    store->bytes = malloc(store->capacity);
    ls_status status =
        ls_journal_writer_create(raw_bytes_max, NULL, ls_allocator_heap(), &store->writer);
    LS_ASSERT(store->bytes && status == LS_OK);
}

void memory_store_deinit(memory_store *store)
{
    ls_journal_writer_destroy(store->writer);
    free(store->bytes);
}

static bool submit(void *user, const ls_journal_raw *raw)
{
    memory_store *store = user;
    if (store->has_record) {
        return false;
    }
    store->raw = *raw;
    store->has_record = true;
    store->submissions++;
    return true;
}

ls_journal_store memory_store_of(memory_store *store)
{
    return (ls_journal_store){.submit = submit, .user = store};
}

static uint64_t write_record(memory_store *store)
{
    ls_journal_framed record = ls_journal_writer_frame(store->writer, &store->raw);
    LS_ASSERT(record.offset == store->size);
    while (record.offset + record.size > store->capacity) {
        store->capacity *= 2;
        store->bytes = realloc(store->bytes, store->capacity);
    }
    memcpy(store->bytes + record.offset, record.bytes, record.size);
    store->size += record.size;
    ls_journal_writer_keep(store->writer);
    return record.size;
}

void memory_store_pump(memory_store *store, ls_recorder *recorder, uint64_t now_ns)
{
    while (store->has_record && !store->is_stuck) {
        ls_journal_completion done = {.status = LS_IO, .why = "the disk is full"};
        ls_journal_kind kind = store->raw.kind;
        bool fits = (store->takes_events && kind == LS_JOURNAL_EVENT) ||
                    (store->takes_all_but_snapshots && kind != LS_JOURNAL_SNAPSHOT);
        if (store->is_failing && !fits) {
            store->failures++;
        } else {
            done = (ls_journal_completion){
                .status = LS_OK, .written_bytes = write_record(store), .why = ""};
        }
        store->has_record = false;
        ls_recorder_complete(recorder, &done, now_ns);
    }
}
