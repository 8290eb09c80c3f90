/* Journal sample: a journal in memory of a match that was never played: inputs, state hashes and
 * states made from a seed, so that a test can tell at any place what belongs there. For tests only.
 */
#ifndef LOCKSTEP_TESTS_SUPPORT_JOURNAL_SAMPLE_H
#define LOCKSTEP_TESTS_SUPPORT_JOURNAL_SAMPLE_H

#include "lockstep/common/journal/journal.h"

typedef struct journal_sample_config {
    uint32_t ticks;
    uint32_t block_ticks;
    uint32_t snapshot_ticks; /* between snapshots; 0: none */
    size_t state_bytes;
    ls_tick gap_first; /* ticks that are left out, as when a disk is full */
    ls_tick gap_end;   /* gap_first: none */
    bool is_closed;
    bool is_public; /* a broadcast may show it */
} journal_sample_config;

typedef struct journal_sample {
    journal_sample_config config;
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    ls_journal_writer *writer;
    uint64_t chain;
} journal_sample;

enum {
    JOURNAL_SAMPLE_SLOTS = 3,
    JOURNAL_SAMPLE_INPUT_BYTES = 8,
};

/* A small one of 200 ticks: blocks of 16, snapshots of 600 bytes every 50, closed. */
journal_sample_config journal_sample_default(void);
void journal_sample_make(journal_sample *sample, const journal_sample_config *config);
void journal_sample_release(journal_sample *sample);

/* The contents of a tick. */
void journal_sample_inputs(ls_tick tick, ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out);
uint64_t journal_sample_hash(ls_tick tick); /* of the state `tick` */
uint8_t journal_sample_state_byte(ls_tick tick, size_t index);
ls_journal_header journal_sample_header(const journal_sample_config *config);

/* Appends one more record, as a store does. */
void journal_sample_append(journal_sample *sample, const ls_journal_raw *raw);

#endif
