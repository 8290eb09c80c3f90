/* Journal maker: writes the journal of a match that nobody hosted: bots answer the states of one
 * instance, which is stepped as fast as it goes. The file is laid out as the recorder does it.
 * Called by the benchmarks, and by tests of what reads journals. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_JOURNAL_MAKER_H
#define LOCKSTEP_TESTS_LAB_BENCH_JOURNAL_MAKER_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/simulation/simulation.h"

typedef struct bench_journal_maker_config {
    const ls_simulation *simulation;
    ls_sim_config sim;
    uint32_t ticks;
    uint32_t snapshot_ticks; /* between snapshots; 0: none */
    ls_tick gap_first;       /* ticks that are left out, as when a disk is full */
    ls_tick gap_end;         /* gap_first: none */
} bench_journal_maker_config;

/* A minute of four bots, a snapshot every ten seconds. */
bench_journal_maker_config bench_journal_maker_config_default(const ls_simulation *simulation);

/* Writes the file, over one that is there. IO, NO_MEMORY or what creating an instance returns,
 * explained. */
ls_status bench_journal_make(const bench_journal_maker_config *config, const char *path,
                             ls_text *why);

#endif
