/* Word changes: where two blocks of 64-bit words differ, as runs of words, and how many do. Reads
 * only. Called by the state history. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_WORD_CHANGES_H
#define LOCKSTEP_COMMON_DIAGNOSIS_WORD_CHANGES_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

typedef struct ls_word_blocks {
    const uint64_t *before;
    const uint64_t *now;
    size_t count; /* of words, of either */
} ls_word_blocks;

typedef struct ls_word_run {
    size_t first;
    size_t end; /* behind the last */
} ls_word_run;

/* The next run that is not before `run->end`, which is 0 at first; false: there is none. A run goes
 * on over a single word that is equal, so that two words or more lie between two runs. */
bool ls_word_changes_next(const ls_word_blocks *blocks, ls_word_run *run);

/* How many words differ, and how many of them have none that differs before them. */
typedef struct ls_word_figures {
    size_t words;
    size_t groups;
} ls_word_figures;

ls_word_figures ls_word_changes_count(const ls_word_blocks *blocks);

LS_C_END

#endif
