/* Lint: what can be said about a plug-in from its file alone, without running it: functions it
 * calls that give other results elsewhere, machine instructions that round another way, variables
 * that outlive a match. Called by synctest. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_LINT_ITEMS_MAX 256u
#define LS_LINT_NAME_BYTES_MAX 96u

/* Topics that a diagnosis asks for. */
#define LS_LINT_TOPIC_FUSED "fused multiply-add"
#define LS_LINT_TOPIC_RANDOM "random"

typedef enum ls_lint_kind {
    LS_LINT_CALL,        /* an undefined symbol */
    LS_LINT_INSTRUCTION, /* in the machine code of a function */
    LS_LINT_STATIC,      /* a variable that outlives a match */
    LS_LINT_SCHEMA,      /* bytes of the state that no field covers */
} ls_lint_kind;

typedef struct ls_lint_item {
    ls_lint_kind kind;
    bool is_error;                      /* else a warning */
    char name[LS_LINT_NAME_BYTES_MAX];  /* of the symbol or instruction */
    char place[LS_LINT_NAME_BYTES_MAX]; /* the function or section it is in; "" for a call */
    uint64_t count;                     /* instructions, bytes of a variable; 0 for a call */
    const char *topic;                  /* "libm", "random", "fused multiply-add" */
    const char *why;
    const char *instead;
} ls_lint_item;

typedef struct ls_lint_report {
    ls_lint_item items[LS_LINT_ITEMS_MAX];
    uint32_t count;
    uint32_t errors;
    uint32_t warnings;
    uint32_t left_out;       /* beyond LS_LINT_ITEMS_MAX */
    uint64_t functions_read; /* whose machine code was looked at */
    uint64_t instructions_read;
    bool is_code_read; /* false for a processor that is not known */
} ls_lint_report;

/* IO when the file cannot be read, PLUGIN when it is no shared object; `why` explains. */
ls_status ls_lint_file(const char *path, ls_lint_report *report, ls_text *why);

/* For the finding of a loader: `text` is borrowed. */
void ls_lint_add(ls_lint_report *report, const ls_lint_item *item);

/* The variable at an address of the file, or false when it has no name there. */
bool ls_lint_variable_at(const char *path, uint64_t address, char *name, size_t capacity);

bool ls_lint_has_topic(const ls_lint_report *report, const char *topic);

#endif
