/* Memory store: a recorder's store that keeps the file in memory and writes when it is told to: it
 * can be slow, full, or fail for a while. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_MEMORY_STORE_H
#define LOCKSTEP_TESTS_SUPPORT_MEMORY_STORE_H

#include "lockstep/common/journal/journal.h"
#include "lockstep/server/journal/recorder.h"

typedef struct memory_store {
    ls_journal_writer *writer;
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool has_record; /* that waits to be written */
    ls_journal_raw raw;
    bool is_stuck;                /* nothing is written and nothing told */
    bool is_failing;              /* every write fails */
    bool takes_events;            /* though they are small enough to fit on the full disk */
    bool takes_all_but_snapshots; /* likewise, and ticks too */
    uint64_t failures;
    uint64_t submissions;
} memory_store;

void memory_store_init(memory_store *store, size_t raw_bytes_max);
void memory_store_deinit(memory_store *store);
ls_journal_store memory_store_of(memory_store *store);

/* Writes what waits, and what the recorder hands on then, and tells it how that went. */
void memory_store_pump(memory_store *store, ls_recorder *recorder, uint64_t now_ns);

#endif
