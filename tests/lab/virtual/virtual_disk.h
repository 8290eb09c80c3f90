/* Virtual disk: one journal's file in virtual time, and the store that writes it: slow, full or
 * failing as it is told to be, and after a crash without what had not been written, with a torn
 * record at its end, or without what was not synchronised. Draws from a stream of its own; reads no
 * clock. Called by virtual_server. */
#ifndef LOCKSTEP_TESTS_LAB_VIRTUAL_VIRTUAL_DISK_H
#define LOCKSTEP_TESTS_LAB_VIRTUAL_VIRTUAL_DISK_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/maths/rng.h"

/* How it does; all zero: at once and always. */
typedef struct virtual_disk_state {
    uint64_t delay_min_ns; /* from handing on a record to its completion */
    uint64_t delay_max_ns;
    bool is_full;         /* nothing can be written */
    uint32_t failing_ppm; /* of a million records so many cannot be written */
} virtual_disk_state;

typedef struct virtual_disk_counts {
    uint64_t records;    /* written */
    uint64_t failures;   /* of writing one */
    uint64_t torn;       /* crashes that left a part of a record */
    uint64_t lost_bytes; /* by crashes: written, but not synchronised */
} virtual_disk_counts;

typedef struct virtual_disk {
    const ls_allocator *allocator;
    ls_rng rng;
    virtual_disk_state state;
    ls_journal_writer *writer; /* of the process that writes; NULL: none does */
    uint8_t *bytes;
    size_t capacity;
    size_t size;         /* of the file */
    size_t synchronised; /* so much of it outlives a crash */
    uint64_t synchronised_ns;
    bool has_record; /* that is being written */
    ls_journal_raw raw;
    uint64_t due_ns;
    uint64_t now_ns;
    bool has_failed; /* ever */
    virtual_disk_counts counts;
} virtual_disk;

void virtual_disk_init(virtual_disk *disk, uint64_t seed, const ls_allocator *allocator);
void virtual_disk_deinit(virtual_disk *disk);

/* A process begins to write a new journal, or goes on with one that is read from these bytes. */
ls_status virtual_disk_open(virtual_disk *disk, size_t raw_bytes_max, ls_journal *continued,
                            uint64_t now_ns);
ls_journal_store virtual_disk_store(virtual_disk *disk);

/* When the record that is being written is through; UINT64_MAX: there is none. */
uint64_t virtual_disk_next_ns(const virtual_disk *disk);

/* True when a record is through: how it fared is to be told to the recorder. Call it again. */
bool virtual_disk_advance(virtual_disk *disk, uint64_t now_ns, ls_journal_completion *completion);

/* The process that writes dies. */
void virtual_disk_crash(virtual_disk *disk);

#endif
