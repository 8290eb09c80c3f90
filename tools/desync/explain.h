/* Explain: `lockstep-desync explain` as a whole: reads the bundle, finds the simulation, gathers
 * the evidence, writes the reports. Decides nothing by itself. Called by main. */
#ifndef LOCKSTEP_TOOLS_DESYNC_EXPLAIN_H
#define LOCKSTEP_TOOLS_DESYNC_EXPLAIN_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/console.h"

#include <stdbool.h>

typedef struct explain_config {
    const char *bundle_path;
    const char *simulation; /* name or file; NULL: the built-in that the bundle names */
    const char *helper;    /* the program that runs ticks again; NULL: nothing is run again there */
    const char *against;   /* another build of the simulation; NULL: none */
    const char *sanitized; /* another build, with sanitizers; NULL: none */
    const struct ls_sim_files *files; /* of file parameters; NULL: none */
    const char *trace;                /* field; NULL: none */
    const char *why;       /* field to go back from to the first difference; NULL: none */
    const char *html_path; /* NULL: none; "-": standard output, likewise below */
    const char *json_path;
    bool is_quiet; /* no report as text */
} explain_config;

/* LS_EXIT_DESYNC when the bundle shows a desync: the state hashes of the two sides differ, whatever
 * else can be told of it. LS_EXIT_CLEAN when they do not, else why it cannot be explained. */
ls_exit_code explain_run(const explain_config *config, const ls_log *log);

/* ---- Memory check: the bad step of a bundle under valgrind's memcheck, where that is installed:
 * which memory was never set that reaches the state, and where it was made. Called by explain; read
 * by the reports, and by main for the helper ---- */

/* Whether this process is the one under valgrind. Then main returns the other one. */
bool explain_memory_helper_is_asked(int argc, char **argv);
int explain_memory_helper_run(void);

#endif
