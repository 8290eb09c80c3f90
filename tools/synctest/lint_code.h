/* Lint code: reads machine code and counts the instructions that a rule names. The only place that
 * names the disassembler. Called by lint. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_CODE_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_CODE_H

#include "lockstep/common/base/status.h"
#include "lockstep/tools/synctest/lint_rules.h"

#include <stddef.h>

typedef struct ls_lint_code ls_lint_code;

/* UNSUPPORTED for a processor that is not known. */
ls_status ls_lint_code_open(ls_lint_processor processor, ls_lint_code **out);
void ls_lint_code_close(ls_lint_code *code);

typedef struct ls_lint_code_count {
    char mnemonic[32];
    const ls_lint_rule *rule;
    uint64_t count;
} ls_lint_code_count;

#define LS_LINT_CODE_COUNTS_MAX 16u

/* Counts what rules name in one function's bytes, by mnemonic; returns how many there are. Bytes
 * that are no instruction are passed over. */
uint32_t ls_lint_code_read(ls_lint_code *code, const uint8_t *bytes, size_t size, uint64_t address,
                           ls_lint_code_count counts[LS_LINT_CODE_COUNTS_MAX],
                           uint64_t *instructions);

#endif
