/* Evidence: all that a bundle and this machine tell of one desync: what is written in the bundle,
 * what follows from it, and what this machine gets when it simulates the same ticks again. Reads no
 * file and prints nothing. Called by explain; read by the reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_EVIDENCE_H
#define LOCKSTEP_TOOLS_DESYNC_EVIDENCE_H

#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/tools/desync/picture.h"
#include "lockstep/tools/desync/write_trace.h"

/* The machines that a report sets side by side. */
typedef enum explain_machine {
    EXPLAIN_SERVER,
    EXPLAIN_CLIENT,
    EXPLAIN_HERE,
    EXPLAIN_MACHINE_COUNT,
} explain_machine;

/* The side that this machine's re-run agrees with at the bad tick. */
typedef enum explain_agreement {
    EXPLAIN_AGREES_NOT_RUN,
    EXPLAIN_AGREES_SERVER,
    EXPLAIN_AGREES_CLIENT,
    EXPLAIN_AGREES_NEITHER,
    EXPLAIN_AGREES_UNSTABLE, /* its own runs differ */
} explain_agreement;

typedef struct explain_evidence {
    const ls_desync_bundle *bundle;
    const ls_schema *schema; /* NULL: the bundle has lost it */
    ls_text missing;         /* what the bundle lacks; empty: nothing */

    uint8_t *server_state; /* as this machine lays states out; NULL: not known */
    uint8_t *client_state;
    bool is_server_state_proved; /* it has the state hash that the match had */
    bool is_client_state_proved;
    bool has_difference;
    ls_state_difference difference; /* a: server, b: client */
    ls_differing_pass differing_pass;
    uint32_t pass; /* with LS_PASS_AT */

    ls_build_fingerprint here;
    uint64_t arithmetic_here; /* the check, for explain_evidence_rerun */
    explain_agreement agreement;
    ls_text not_run;          /* why this machine did not simulate it */
    ls_rerun_figures figures; /* of this machine */
    ls_pass_trace passes;
    uint32_t hash_count;    /* 0, or tick - snapshot_tick + 1 */
    uint64_t *state_hashes; /* of this machine's run, from the snapshot on */

    const char *trace_name;                   /* NULL: no trace was asked for */
    char first_name[LS_PLACE_NAME_BYTES_MAX]; /* of the first element that differs; "": none */
    ls_text not_traced;
    explain_write_trace trace;
    bool has_other;                  /* another build was given */
    ls_text not_compared;            /* why there is no trace of the other build */
    explain_write_trace other_trace; /* of the other build, when there is one */
    explain_picture picture;
} explain_evidence;

/* Fills in everything that follows from the bundle itself. NO_MEMORY. Release it in any case. */
ls_status explain_evidence_init(explain_evidence *evidence, const ls_bundle_reading *reading,
                                const ls_text *missing);
void explain_evidence_release(explain_evidence *evidence);

/* The same, and whether writes to its state can be traced. */
ls_status explain_evidence_check_traced(const ls_desync_bundle *bundle,
                                        const ls_simulation *simulation, ls_text *why);

/* The bundle is of a client that was refused for its arithmetic. */
bool explain_is_of_arithmetic(const ls_desync_bundle *bundle);

/* Simulates the bundle's ticks again, or makes the first state, where the client was refused for
 * its own; when that cannot be, `not_run` says why. */
void explain_evidence_rerun(explain_evidence *evidence, const ls_bundle_reading *reading,
                            const ls_simulation *simulation);

/* Traces the writes to a field in the bad step; when that cannot be, `not_traced` says why. NULL:
 * the first element that differs, after the first pass that does if that is known. */
void explain_evidence_trace(explain_evidence *evidence, const ls_bundle_reading *reading,
                            const ls_simulation *simulation, const char *field);

/* Traces the writes of another build to the field that has been traced. */
void explain_evidence_trace_other(explain_evidence *evidence, const ls_bundle_reading *reading,
                                  const ls_simulation *other);

/* The first write in which the two builds differ: another element, another value or another pass;
 * either is NULL when that build writes no more. False: they do not differ, or one has no trace. */
bool explain_evidence_differing_write(const explain_evidence *evidence,
                                      const explain_field_write **here,
                                      const explain_field_write **other);

/* Draws the states of both sides; when that cannot be, the picture says why. The second build is
 * the client's, or NULL. */
void explain_evidence_draw(explain_evidence *evidence, const ls_bundle_reading *reading,
                           const ls_simulation *const builds[2]);

/* The side whose state hash at the bad tick this is. */
explain_agreement explain_agreement_with(const ls_desync_bundle *bundle, uint64_t state_hash);
const char *explain_agreement_word(explain_agreement agreement);
const char *explain_agreement_text(explain_agreement agreement);

const char *explain_machine_name(explain_machine machine);

/* The state hash that a machine had at `tick`; false: not known. */
bool explain_evidence_hash(const explain_evidence *evidence, explain_machine machine, ls_tick tick,
                           uint64_t *out);
const ls_pass_trace *explain_evidence_passes(const explain_evidence *evidence,
                                             explain_machine machine);
const ls_build_fingerprint *explain_evidence_print(const explain_evidence *evidence,
                                                   explain_machine machine);

/* "spread, pass 2 of 3", or why no pass can be named. */
void explain_evidence_pass_text(const explain_evidence *evidence, ls_text *out);

#endif
