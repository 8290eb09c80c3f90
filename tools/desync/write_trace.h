/* Write trace: every write to one field in one step, with the pass and the instruction that made
 * it. The field's pages are made read-only, the step faults at each write, the instruction is let
 * through alone and the pages are closed again (LS_ABILITY_WRITE_TRACES). Elsewhere only what each
 * pass changed can be told. Never called while anything else in the process relies on SIGSEGV and
 * SIGTRAP. Called by lockstep-desync. */
#ifndef LOCKSTEP_TOOLS_DESYNC_WRITE_TRACE_H
#define LOCKSTEP_TOOLS_DESYNC_WRITE_TRACE_H

#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/tools/desync/field_name.h"
#include "lockstep/tools/desync/step_log.h"

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

/* The fields to trace, and what else is to be had from the step. The choices' fields belong to a
 * schema which may be another than the instance's of equal digest. */
typedef struct explain_write_request {
    const explain_field_choice *choices;
    uint32_t choice_count; /* 1 .. EXPLAIN_CHOICES_MAX */
    bool wants_watch;      /* as far as the platform can */
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
