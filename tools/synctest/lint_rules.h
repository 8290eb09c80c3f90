/* Lint rules: which functions, machine instructions and compiler's flags give other results on
 * another machine or in another build, why, and what to use instead; and which functions are known
 * to do no harm. Tables and a look-up; reads no file. Called by lint. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_RULES_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_RULES_H

#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct synctest_lint_rule {
    const char *names; /* separated by spaces; '*' is any bytes, '?' is any one */
    bool is_error;
    const char *topic;
    const char *why;
    const char *instead;
} synctest_lint_rule;

/* Processors whose instructions are known. */
typedef enum synctest_lint_processor {
    SYNCTEST_PROCESSOR_UNKNOWN,
    SYNCTEST_PROCESSOR_X86_64,
    SYNCTEST_PROCESSOR_I386,
    SYNCTEST_PROCESSOR_ARM64,
    SYNCTEST_PROCESSOR_ARM,
    SYNCTEST_PROCESSOR_PPC64,
    SYNCTEST_PROCESSOR_S390X,
    SYNCTEST_PROCESSOR_COUNT,
} synctest_lint_processor;

/* The rule of a function that a plug-in calls, or NULL when it is known to do no harm; one that is
 * not known has a rule that says so (SYNCTEST_LINT_TOPIC_UNKNOWN). Hardened names
 * (__snprintf_chk), older ones (__isoc99_sscanf) and those of float and long double (sinf) have the
 * rule of the plain one. */
const synctest_lint_rule *synctest_lint_rule_of_function(const char *name);

/* Of a flag that the plug-in was compiled with, or NULL when it makes no other results. */
const synctest_lint_rule *synctest_lint_rule_of_flag(const char *flag);

const synctest_lint_rule *synctest_lint_rule_of_instruction(synctest_lint_processor processor,
                                                            const char *mnemonic);

/* ---- Lint code: reads machine code and counts the instructions that a rule names ---- */

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
