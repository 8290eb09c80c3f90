/* Reproduce: runs the ticks of a bundle again in helper processes, each with one thing about the
 * machine changed, and tells which of them get the client's result or the server's. The
 * change that gets the client's result names the cause. Called by explain; read by the reports. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPRODUCE_H
#define LOCKSTEP_TOOLS_DESYNC_REPRODUCE_H

#include "lockstep/tools/desync/evidence.h"

#define EXPLAIN_REPRODUCTIONS_MAX 16u

/* How one run of the ticks is made. All 0 but for the name: with nothing changed. */
typedef struct explain_variation {
    const char *name;      /* of the simulation, as ls_simulation_load takes it */
    uint32_t surroundings; /* LS_RERUN_WITH_* */
    uint32_t workers;
    uint32_t noise;
    const char *const *variables; /* "NAME=value", up to NULL; NULL: none */
} explain_variation;

typedef struct explain_reproduction {
    const char *word;            /* in JSON: "no-fma" */
    const char *change;          /* what was changed: "CPU features off (AVX2, FMA)" */
    const char *cause;           /* what follows when it gets the client's result */
    bool is_harmless;            /* a simulation that is right gets the same result with it */
    explain_agreement agreement; /* of all results, the one that tells most; NOT_RUN with why */
    uint32_t results;            /* that there are */
    uint32_t other_results;      /* of them, those that nothing changed does not get */
    bool is_race;          /* the same in processes that begin alike comes out in several ways */
    bool has_report;       /* of a sanitizer, which is `why` */
    explain_variation run; /* that gave `agreement`; no name: there is none of its own */
    ls_text why;           /* it was not run, or what else came out */
} explain_reproduction;

typedef struct explain_reproductions {
    uint32_t count;
    explain_reproduction runs[EXPLAIN_REPRODUCTIONS_MAX]; /* the first has nothing changed */
    bool has_other;                                       /* that build was run */
    bool has_sanitized;
    ls_text not_run;           /* why there are none */
    const char *open_features; /* why the code may have gone by features that were off; NULL */
    ls_text memory;            /* what memcheck says of memory that is not set; empty: not asked */
} explain_reproductions;

typedef struct explain_builds {
    const char *name;      /* as ls_simulation_load takes it */
    uint32_t workers_max;  /* of the simulation */
    const char *other;     /* another build, which is run as well, or NULL */
    const char *sanitized; /* one that was built with sanitizers, or NULL */
    const char *helper;    /* the program that runs them: its main calls ls_rerun_helper_run */
} explain_builds;

/* All that runs have in common. */
typedef struct explain_runs {
    const explain_evidence *evidence;
    const ls_bundle_reading *reading;
    const explain_builds *builds;
} explain_runs;

void explain_reproduce(const explain_runs *runs, explain_reproductions *out);

/* A program that runs the helper, with its arguments, up to NULL. */
typedef struct explain_wrapper {
    const char *const *words;
    int errors; /* an open file for what it says */
} explain_wrapper;

/* Starts the helper with one argument, hands it the bundle's ticks, and takes what it writes into
 * `output`. `wrapper` may be NULL. */
bool explain_variation_run(const explain_runs *runs, const explain_variation *run,
                           const char *argument, const explain_wrapper *wrapper, uint8_t *output,
                           size_t room, size_t *size, ls_text *why);

/* The change that gives the result of the other side than the one that the plain run agrees with;
 * NULL: none does. */
const explain_reproduction *explain_reproductions_cause(const explain_reproductions *reproductions);

/* The first change that a right simulation would not notice, and this one does; or NULL. */
const explain_reproduction *
explain_reproductions_suspect(const explain_reproductions *reproductions);

/* Which change gets the client's result, and what to do; if none does, how many were tried and what
 * to try next. Never empty. */
void explain_reproductions_text(const explain_reproductions *reproductions, ls_text *out);

#endif
