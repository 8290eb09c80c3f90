/* Pass trace: the state hash after each pass of one step, so that two machines can name the first
 * pass whose results differ, and what each pass changed in one field. Steps the instance it is
 * given, keeps nothing. Called by re-runs on both sides of a match and by tools. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_PASS_TRACE_H
#define LOCKSTEP_COMMON_DIAGNOSIS_PASS_TRACE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/step_noise.h"

LS_C_BEGIN

typedef struct ls_pass_trace {
    ls_tick tick;                         /* the traced step is of this tick */
    uint32_t pass_count;                  /* 0: not known */
    uint64_t before;                      /* state hash that the step began with */
    uint64_t state_hashes[LS_PASSES_MAX]; /* after each pass; the last is that of state tick + 1 */
} ls_pass_trace;

#define LS_NO_PASS UINT32_MAX

/* Not a state but its writers: for each byte of the image which passes changed it in the newest
 * step in which any did. A byte that no pass has changed stays as it was in `bytes`, 0 at first. */
#define LS_PASS_OF_WRITERS (LS_NO_PASS - 1u)

/* Of such a byte: the first of these passes, NO_PASS when there is none; and whether a later pass
 * of that step changed it as well. */
uint32_t ls_pass_first_writer(uint8_t writers);
bool ls_pass_has_later_writers(uint8_t writers);

/* The image of the state (sim_instance.h) after one pass of a traced step. */
typedef struct ls_pass_state {
    uint32_t pass;   /* or NO_PASS, or PASS_OF_WRITERS */
    uint8_t *bytes;  /* of the image's size, the caller's; unused with NO_PASS */
    uint8_t *before; /* likewise, to work with; used with PASS_OF_WRITERS only */
    uint8_t *after;  /* likewise */
    bool is_kept;    /* out: it is there */
} ls_pass_state;

/* Steps the instance once on its tick's inputs, with this noise. `kept` may be NULL. */
void ls_pass_trace_step(ls_sim_instance *instance, const ls_tick_inputs *inputs,
                        ls_step_noise *noise, ls_pass_state *kept, ls_pass_trace *out);

/* Where two traces of one tick part. */
typedef enum ls_differing_pass {
    LS_PASS_UNKNOWN,  /* a trace is missing, or they are of different steps */
    LS_PASS_NONE,     /* every state hash is the same */
    LS_PASS_BEFORE,   /* the states differed before the first pass */
    LS_PASS_AT,       /* in the pass that is named */
    LS_PASS_UNSTABLE, /* not said by ls_pass_trace_compare: one machine by itself gets different
                         results from the pass that is named */
    LS_PASS_WRITES,   /* nor is this: the traces cannot be compared, and the pass that is named is
                         the first one that writes any of the values that differ */
} ls_differing_pass;

ls_differing_pass ls_pass_trace_compare(const ls_pass_trace *a, const ls_pass_trace *b,
                                        uint32_t *pass);

LS_C_END

#endif
