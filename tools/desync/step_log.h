/* Step log: the instructions that a step ran, with the registers before each: the newest ones. From
 * it follows what a value was computed from. Holds what is appended, decides nothing. Appending
 * neither allocates nor calls: it is done in a signal handler. Filled by the write trace, read by
 * the search for the origin of a value. */
#ifndef LOCKSTEP_TOOLS_DESYNC_STEP_LOG_H
#define LOCKSTEP_TOOLS_DESYNC_STEP_LOG_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 .. r15, as x86-64 counts them. */
#define EXPLAIN_REGISTERS 16u

/* Instructions that are kept, and those that one step may take in all (some 30 s). */
#define EXPLAIN_LOG_KEPT (1u << 18)
#define EXPLAIN_LOG_MAX (1u << 24)

typedef struct explain_logged_step {
    uint64_t instruction;
    uint64_t registers[EXPLAIN_REGISTERS];
} explain_logged_step;

/* Addresses in the process that ran it, which may be gone. */
typedef struct explain_span {
    uint64_t begin;
    uint64_t end;
} explain_span;

typedef struct explain_step_log {
    uint64_t count;            /* ever appended */
    explain_logged_step *list; /* [EXPLAIN_LOG_KEPT] */
    explain_span state;
    explain_span slots; /* the inputs, and each one's bytes */
    uint32_t input_count;
    explain_span inputs[LS_PLAYERS_MAX];
} explain_step_log;

ls_status explain_step_log_init(explain_step_log *log); /* NO_MEMORY */
void explain_step_log_deinit(explain_step_log *log);

/* The place of the next one; false: enough. */
bool explain_step_log_append(explain_step_log *log, explain_logged_step **out);

/* Counted back from the newest; NULL: not kept. */
const explain_logged_step *explain_step_log_at(const explain_step_log *log, uint64_t back);

bool explain_span_meets(const explain_span *span, uint64_t begin, uint64_t end);

#endif
