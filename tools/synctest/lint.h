/* Lint: what can be said about a plug-in from its file and those of the libraries that it needs,
 * without running it: functions it calls that are not known to give the same results elsewhere,
 * machine instructions that round another way, flags that it was compiled with, variables that
 * outlive a match. Called by synctest. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_LINT_H
#define LOCKSTEP_TOOLS_SYNCTEST_LINT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYNCTEST_LINT_ITEMS_MAX 256u
#define SYNCTEST_LINT_NAME_BYTES_MAX 96u

/* Topics that a diagnosis asks for. */
#define SYNCTEST_LINT_TOPIC_FUSED "fused multiply-add"
#define SYNCTEST_LINT_TOPIC_RANDOM "random"
#define SYNCTEST_LINT_TOPIC_LOCALE "locale"
#define SYNCTEST_LINT_TOPIC_UNKNOWN "unknown call"

typedef enum synctest_lint_kind {
    SYNCTEST_LINT_CALL,        /* an undefined symbol */
    SYNCTEST_LINT_INSTRUCTION, /* in the machine code of a function */
    SYNCTEST_LINT_STATIC,      /* a variable that outlives a match */
    SYNCTEST_LINT_SCHEMA,      /* bytes of the state that no field covers */
    SYNCTEST_LINT_LIBRARY,     /* a library that is needed and was not found */
    SYNCTEST_LINT_FLAG,        /* of the compiler, where the file says it */
    SYNCTEST_LINT_TYPE,        /* of a member of the state, where the file says it */
} synctest_lint_kind;

typedef struct synctest_lint_item {
    synctest_lint_kind kind;
    bool is_error;                              /* else a warning */
    char name[SYNCTEST_LINT_NAME_BYTES_MAX];    /* of the symbol, instruction or flag */
    char place[SYNCTEST_LINT_NAME_BYTES_MAX];   /* the function, section or line it is in; "" for a
                                                   call */
    char library[SYNCTEST_LINT_NAME_BYTES_MAX]; /* the needed library it is in; "": the plug-in */
    uint64_t count;    /* instructions, bytes of a variable or member; 0 for a call */
    const char *topic; /* "libm", "random", "fused multiply-add" */
    const char *why;
    const char *instead;
} synctest_lint_item;

typedef struct synctest_lint_report {
    synctest_lint_item items[SYNCTEST_LINT_ITEMS_MAX];
    uint32_t count;
    uint32_t errors;
    uint32_t warnings;
    uint32_t left_out;       /* beyond SYNCTEST_LINT_ITEMS_MAX */
    uint32_t libraries_read; /* besides the plug-in itself */
    uint64_t functions_read; /* those with machine code that was looked at */
    uint64_t instructions_read;
    bool is_code_read; /* false for a processor that is not known */
} synctest_lint_report;

/* Reads the file and every library that it needs, whose items are warnings: a step may never
 * get there. IO when the file cannot be read, PLUGIN when it is no shared object or
 * ends too early; `why` explains. */
ls_status synctest_lint_file(const char *path, synctest_lint_report *report, ls_text *why);

/* For the finding of a loader: `text` is borrowed. */
void synctest_lint_add(synctest_lint_report *report, const synctest_lint_item *item);

/* The variable at an address of the file, or false when it has no name there. */
bool synctest_lint_variable_at(const char *path, uint64_t address, char *name, size_t capacity);

/* Likewise the function that holds the instruction. */
bool synctest_lint_function_at(const char *path, uint64_t address, char *name, size_t capacity);

bool synctest_lint_has_topic(const synctest_lint_report *report, const char *topic);

/* Where the file has a variable of this name, whoever may see it. */
bool synctest_lint_variable_named(const char *path, const char *name, uint64_t *address,
                                  uint64_t *byte_count);

/* ---- Lint text: what the lint found, in lines for a person: one for each item, but one for
 * all calls of a needed library. Pure ---- */

/* "lint: srand [random]: its state is hidden; keep an ls_rng in the state" */
void synctest_lint_text_item(const synctest_lint_item *item, ls_text *out);

/* Whether an item is a call of a needed library. `out` is the line for all of them at the first one
 * of that library, and empty at the others. */
bool synctest_lint_text_fold(const synctest_lint_report *report, uint32_t index, ls_text *out);

/* ---- Lint types: members of a plug-in's state whose types mean other values on other machines or
 * in other builds, by the rules of lockstep-schema, out of the debug information. Called by
 * synctest, which knows how large the state is ---- */

/* Adds a warning for each; none for a file without debug information. The items of a state that is
 * laid out by hand count where no struct has its size. */
void synctest_lint_types(const char *path, size_t state_bytes, const size_t *item_bytes,
                         uint32_t item_sizes, synctest_lint_report *report);

#endif
