/* Lint code: reads machine code and counts the instructions that a rule names. Called by lint.
 */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_CODE_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_CODE_H

#include "lockstep/common/base/status.h"
#include "lockstep/tools/synctest/lint_rules.h"

#include <stddef.h>

typedef struct synctest_lint_code synctest_lint_code;

/* UNSUPPORTED for a processor that is not known. */
ls_status synctest_lint_code_open(synctest_lint_processor processor, synctest_lint_code **out);
void synctest_lint_code_close(synctest_lint_code *code);

typedef struct synctest_lint_code_count {
    char mnemonic[32];
    const synctest_lint_rule *rule;
    uint64_t count;
} synctest_lint_code_count;

#define SYNCTEST_LINT_CODE_COUNTS_MAX 16u

/* Counts what rules name in one function's bytes, by mnemonic; returns how many there are. Bytes
 * that are no instruction are passed over. */
uint32_t synctest_lint_code_read(synctest_lint_code *code, const uint8_t *bytes, size_t size,
                                 uint64_t address,
                                 synctest_lint_code_count counts[SYNCTEST_LINT_CODE_COUNTS_MAX],
                                 uint64_t *instructions);

#endif
