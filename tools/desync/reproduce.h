/* Reproduce: runs the ticks of a bundle again in helper processes, each with one thing about the
 * machine changed, and tells which of them get the client's result or the server's. The
 * change that gets the client's result names the cause. Called by explain; read by the reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPRODUCE_H
#define LOCKSTEP_TOOLS_DESYNC_REPRODUCE_H

#include "lockstep/tools/desync/evidence.h"

#define EXPLAIN_REPRODUCTIONS_MAX 8u

typedef struct explain_reproduction {
    const char *word;            /* in JSON: "no-fma" */
    const char *change;          /* what was changed: "CPU features off (AVX2, FMA)" */
    const char *cause;           /* what follows when it alone gets the client's result */
    explain_agreement agreement; /* NOT_RUN with why */
    ls_text why;
} explain_reproduction;

typedef struct explain_reproductions {
    uint32_t count;
    explain_reproduction runs[EXPLAIN_REPRODUCTIONS_MAX]; /* the first has nothing changed */
} explain_reproductions;

typedef struct explain_builds {
    const char *name;   /* as ls_simulation_load takes it */
    const char *other;  /* another build, which is run as well, or NULL */
    const char *helper; /* the program that runs them: its main calls ls_rerun_helper_run */
} explain_builds;

void explain_reproduce(const explain_evidence *evidence, const ls_bundle_reading *reading,
                       const explain_builds *builds, explain_reproductions *out);

/* One sentence: which change gets the client's result, and what to do; or that none does. */
void explain_reproductions_text(const explain_reproductions *reproductions, ls_text *out);

#endif
