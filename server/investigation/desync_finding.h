/* Desync finding: all that a match found out about one desync: which values differ, in which pass
 * they first did, and why. Plain data, filled in by the match and good as long as it. Read by
 * reports, summaries and the writer of bundles. */
#ifndef LOCKSTEP_SERVER_INVESTIGATION_DESYNC_FINDING_H
#define LOCKSTEP_SERVER_INVESTIGATION_DESYNC_FINDING_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/state_difference.h"

LS_C_BEGIN

typedef struct ls_desync_finding {
    ls_tick tick;            /* of the first compared state that differs */
    uint32_t interval_ticks; /* of the match: every so many states are compared */
    ls_tick agreed_tick;     /* of the compared state before it */
    bool is_trusted;        /* of that whose hash was of all bytes: others are not known to agree */
    ls_tick first_tick;     /* of the first state that differs, compared or not; 0: not known */
    ls_tick first_tick_min; /* it lies from here */
    ls_tick first_tick_max; /* to here; both are first_tick where that is known */
    uint32_t times;         /* this slot was found to differ, this time included */
    uint32_t healed;        /* how many of them were healed */
    ls_tick values_tick;    /* of the state that the values are of: first_tick, or tick */
    uint64_t elements;      /* that differ there; 0: not known */
    uint32_t fields;        /* that hold them */
    bool is_lower_bound;    /* at least so many: not everything was compared */
    uint32_t bits;          /* in which those listed differ */
    bool is_beyond_bit;     /* none of them by a power of two, as one flipped bit makes it */
    uint32_t place_count;   /* 0 .. LS_DIFFERENCES_MAX */
    const ls_field *place_fields[LS_DIFFERENCES_MAX];
    ls_difference_text places[LS_DIFFERENCES_MAX]; /* a: the server's value, b: the client's */
    ls_differing_pass differing_pass;
    const char *pass; /* the first one that did other work; NULL: not known */
    uint32_t pass_index;
    bool do_later_passes_write; /* with PASS_WRITES: the value that `pass` writes, too */

    /* Elements, fields and places are those after `pass`, as both sides got there when they
     * simulated the step to state `values_tick` again; else those of that state. */
    bool is_after_pass;
    ls_text inputs;        /* of ls_desync_finding_step, slot by slot; empty: not known */
    ls_text circumstances; /* other clients' states, how the player came in; empty: not known */
    bool is_open;          /* the values have been told, and the rest is still being looked for */
    ls_desync_verdict verdict;
    uint64_t values_ns; /* from the DESYNC notice to when values were told; 0: none were */
    uint64_t took_ns;   /* from the DESYNC notice to the whole */
} ls_desync_finding;

/* The tick that made the state: the first one that differs if it is known, else the compared one.
 */
static inline ls_tick ls_desync_finding_step(const ls_desync_finding *finding)
{
    return (finding->first_tick ? finding->first_tick : finding->tick) - 1;
}

/* The contents of a bundle, but for what the instance of the match knows. Canonical states; a field
 * that is NULL is not known. Borrowed until the match is called again. */
typedef struct ls_desync_evidence_set {
    ls_tick tick; /* of the bad state: the first one that differs, or the first compared one */
    uint64_t server_hash;
    uint64_t client_hash;
    ls_tick agreed;            /* a state before it that is the same on both sides */
    ls_replay_stretch stretch; /* from there to the bad state */
    bool has_stretch;
    const ls_replay_window *window; /* the server's */
    uint64_t elements;              /* in which the two states below differ, */
    bool is_lower_bound;            /* or more */
    const ls_rerun_figures *server_figures;
    const ls_rerun_figures *client_figures;
    const ls_pass_trace *server_passes;
    const ls_pass_trace *client_passes;
    const ls_build_fingerprint *client_fingerprint;
    const void *server_state; /* as this machine lays it out */
    const void *client_state; /* likewise */
} ls_desync_evidence_set;

LS_C_END

#endif
