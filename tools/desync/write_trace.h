/* Write trace: every write to one field in one step, with the pass and the instruction that made
 * it. The field's pages are made read-only, the step faults at each write, the instruction is let
 * through alone and the pages are closed again (LS_ABILITY_WRITE_TRACES). Elsewhere only what each
 * pass changed can be told. Never called while anything else in the process relies on SIGSEGV and
 * SIGTRAP. Called by lockstep-desync. */
#ifndef LOCKSTEP_TOOLS_DESYNC_WRITE_TRACE_H
#define LOCKSTEP_TOOLS_DESYNC_WRITE_TRACE_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/diagnosis/pass_trace.h"
#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/diagnosis/step_noise.h"
#include "lockstep/common/simulation/state_schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Field name: which elements a person means by "bodies[3].position.x": one element, or all
 * of a field when indices are left out. Reads text, never a state ---- */

typedef struct explain_field_choice {
    const ls_field *field;
    uint32_t item; /* UINT32_MAX: every one */
    uint32_t element;
} explain_field_choice;

/* NOT_FOUND with a field that looks alike, BAD_ARGUMENT with the range of an index. */
ls_status explain_field_choice_parse(const ls_schema *schema, const char *name,
                                     explain_field_choice *out, ls_text *why);

/* Whether the place is one of those that were meant. */
bool explain_field_choice_has(const explain_field_choice *choice, const ls_schema_place *place);

/* ---- Step log: the instructions that a step ran, with the registers before each: the newest
 * ones. From it follows what a value was computed from. Holds what is appended, decides
 * nothing. Appending neither allocates nor calls: it is done in a signal handler ---- */

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

/* Counted back from the newest; NULL: not kept. */
const explain_logged_step *explain_step_log_at(const explain_step_log *log, uint64_t back);

bool explain_span_meets(const explain_span *span, uint64_t begin, uint64_t end);

/* ---- the trace ---- */

#define EXPLAIN_WRITES_MAX 4096u
#define EXPLAIN_STACK_MAX 16u

typedef struct explain_field_write {
    uint32_t pass;
    ls_schema_place place;
    uint8_t before[8]; /* the element, as this machine lays it out */
    uint8_t after[8];
    uint64_t instruction; /* address; 0: not known, the pass as a whole did it */
    uint32_t stack_count;
    uint64_t stack[EXPLAIN_STACK_MAX]; /* return addresses, from the inside out to the pass */
} explain_field_write;

typedef struct explain_write_trace {
    bool is_watched;     /* each write by itself, or what passes changed */
    uint64_t count;      /* of all writes; the first EXPLAIN_WRITES_MAX are listed */
    uint32_t list_count; /* in the order of the step */
    explain_field_write *writes;
    uint8_t *state_before; /* the step; NULL: not asked for */
} explain_write_trace;

/* A stream: the writes to any element of the state, in their order, in little room. */
#define EXPLAIN_STREAM_MAX (1u << 19)

typedef struct explain_stream_write {
    uint64_t offset; /* of the element */
    uint32_t pass;
    uint8_t bytes; /* of the element */
    uint8_t before[8];
    uint8_t after[8];
} explain_stream_write;

typedef struct explain_write_stream {
    uint32_t count;             /* EXPLAIN_STREAM_MAX: there may have been more */
    explain_stream_write *list; /* [EXPLAIN_STREAM_MAX] */
    uint32_t wanted; /* the one that is listed in the trace, with its stack; UINT32_MAX: none */
    uint32_t pass;   /* of its writes alone; LS_NO_PASS: of all */
    ls_step_noise *noise; /* in memory that passes have not set, in every step */
} explain_write_stream;

/* The fields to trace, and what else is to be had from the step. The choices' fields belong to a
 * schema which may be another than the instance's of equal digest. */
typedef struct explain_write_request {
    const explain_field_choice *choices;
    uint32_t choice_count;        /* 1 .. EXPLAIN_CHOICES_MAX; 0 with a stream */
    explain_write_stream *stream; /* NULL: of the choices alone */
    uint32_t workers;             /* that the step may use; 0 as 1 */
    uint64_t *state_hash;         /* NULL; else room for that of the state behind the step */
    bool wants_watch;             /* as far as the platform can */
    bool wants_state;
    explain_step_log
        *log; /* NULL; else of the instructions of `log_pass` up to write `log_until` */
    uint32_t log_pass;
    uint32_t log_until;
} explain_write_request;

#define EXPLAIN_CHOICES_MAX 40u

/* Runs the stretch up to its last step and traces that. A write that gives an element its old value
 * is told when it begins inside a field. Errors of ls_sim_instance_create and of the stretch. */
ls_status explain_write_trace_run(const ls_simulation *simulation, const ls_sim_config *config,
                                  const ls_replay_stretch *stretch,
                                  const explain_write_request *request, explain_write_trace *out,
                                  ls_text *why);
void explain_write_trace_release(explain_write_trace *trace);

/* The element's name, and its value before or after, as a person reads it. */
void explain_field_write_name(const explain_field_write *write, char *text, size_t capacity);
void explain_field_write_value(const explain_field_write *write, bool is_after, char *text,
                               size_t capacity);

#endif
