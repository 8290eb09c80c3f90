/* Lint text: what the lint found, in lines for a person: one for each item, but one for all calls
 * of a needed library. Pure. Called by synctest. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_TEXT_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_TEXT_H

#include "lockstep/tools/synctest/lint.h"

/* "lint: warning: srand [random]: its state is hidden; keep an ls_rng in the state" */
void synctest_lint_text_item(const synctest_lint_item *item, ls_text *out);

/* Whether an item is a call of a needed library. `out` is the line for all of them at the first one
 * of that library, and empty at the others. */
bool synctest_lint_text_fold(const synctest_lint_report *report, uint32_t index, ls_text *out);

#endif
