/* Late journal: the journal of a match that has been played for very long, made without playing it:
 * behind what a journal holds comes state 0 under the number of a late state. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_LATE_JOURNAL_H
#define LOCKSTEP_TESTS_SUPPORT_LATE_JOURNAL_H

#include "lockstep/common/simulation/simulation.h"

#include <stddef.h>
#include <stdint.h>

/* `*bytes`, which came from malloc, are those of a journal that was not closed; they grow, by
 * realloc. The match that is resumed from them goes on at `tick`, with the seats as they were. */
void late_journal_make(const ls_simulation *simulation, ls_tick tick, uint8_t **bytes,
                       size_t *size);

#endif
