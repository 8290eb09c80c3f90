/* Lint types: members of a plug-in's state whose types mean other values on other machines or in
 * other builds, by the rules of lockstep-schema, out of the debug information. Called by synctest,
 * which knows how large the state is. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_TYPES_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_TYPES_H

#include "lockstep/tools/synctest/lint.h"

/* Adds a warning for each; none for a file without debug information. The items of a state that is
 * laid out by hand count where no struct has its size. */
void synctest_lint_types(const char *path, size_t state_bytes, const size_t *item_bytes,
                         uint32_t item_sizes, synctest_lint_report *report);

#endif
