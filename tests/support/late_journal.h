/* Late journal: the journal of a match that has been played for very long, made without playing it:
 * behind what a journal holds comes state 0 under the number of a late state. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_LATE_JOURNAL_H
#define LOCKSTEP_TESTS_SUPPORT_LATE_JOURNAL_H

#include "lockstep/common/base/assert.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_hash.h"

#include <stdlib.h>
#include <string.h>

typedef struct late_journal {
    ls_journal_writer *writer;
    uint8_t *bytes;
} late_journal;

static inline size_t late_journal_append(late_journal *file, const ls_journal_raw *raw)
{
    ls_journal_framed record = ls_journal_writer_frame(file->writer, raw);
    size_t size = (size_t)record.offset + record.size;
    file->bytes = realloc(file->bytes, size);
    memcpy(file->bytes + record.offset, record.bytes, record.size);
    ls_journal_writer_keep(file->writer);
    return size;
}

static inline size_t late_journal_append_state(late_journal *file, ls_sim_instance *instance,
                                               ls_tick tick, uint32_t interval_ticks)
{
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *state = malloc(size);
    ls_status status = ls_sim_instance_save(instance, state);
    LS_ASSERT(status == LS_OK);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    ls_journal_snapshot head = {.tick = tick,
                                .state_hash = state_hash,
                                .hash_chain = ls_hash_chain_start(state_hash),
                                .hash_chain_tick = tick / interval_ticks * interval_ticks,
                                .tick_chain = LS_TICK_CHAIN_START,
                                .state_bytes = size};
    size_t end = 0;
    for (; head.piece < ls_journal_pieces(size); head.piece++) {
        ls_journal_raw raw = ls_journal_piece_record(&head, state);
        end = late_journal_append(file, &raw);
    }
    free(state);
    return end;
}

/* `*bytes`, which came from malloc, are those of a journal that was not closed; they grow, by
 * realloc. The match that is resumed from them goes on at `tick`, with the seats as they were. */
static inline void late_journal_make(const ls_simulation *simulation, ls_tick tick, uint8_t **bytes,
                                     size_t *size)
{
    ls_journal *journal = NULL;
    ls_sim_instance *instance = NULL;
    late_journal file = {.bytes = *bytes};
    ls_text why = {{0}};
    ls_status status =
        ls_journal_open(*bytes, *size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(), &journal, &why);
    LS_ASSERT(status == LS_OK);
    const ls_journal_header *header = ls_journal_header_of(journal);
    status =
        ls_sim_instance_create(simulation, &header->config, ls_allocator_heap(), &instance, &why);
    LS_ASSERT(status == LS_OK);
    status = ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, journal, ls_allocator_heap(),
                                      &file.writer);
    LS_ASSERT(status == LS_OK);
    uint32_t interval_ticks = header->hash_interval_ticks;
    ls_journal_close(journal);
    *size = late_journal_append_state(&file, instance, tick, interval_ticks);
    *bytes = file.bytes;
    ls_sim_instance_destroy(instance);
    ls_journal_writer_destroy(file.writer);
}

#endif
