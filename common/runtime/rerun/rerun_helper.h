/* Rerun helper: the process that simulates ticks again for a diagnosis. A program that hosts or
 * plays matches starts itself once more, with its own command line, which a step may go by, and a
 * variable that no person sets; its main then ends here: the plug-in is loaded anew, the stretch is
 * read from standard input, and the outcome goes to standard output. A crash or an endless loop in
 * a plug-in costs this process alone. Called by main first of all. */
#ifndef LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_HELPER_H
#define LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_HELPER_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"

#include <stdbool.h>
#include <stddef.h>

LS_C_BEGIN

#define LS_RERUN_HELPER_ARGUMENT "--rerun-helper" /* says the same, for another program */
#define LS_RERUN_HELPER_VARIABLE "LOCKSTEP_RERUN_HELPER=1"

/* Whether this process is one. Then main returns ls_rerun_helper_run(). Else its helpers get the
 * words of its command line, which are borrowed for good. */
bool ls_rerun_helper_is_asked(int argc, char **argv);

/* The command line for a helper of this program, NULL last. */
const char *const *ls_rerun_helper_words(void);

/* The process's exit code: 0 when an outcome was written. */
int ls_rerun_helper_run(void);

/* A limit counts what the helper worked: on a busy machine it gets no further while it waits for a
 * processor. One that waits for something else has so many times as long. */
#define LS_RERUN_BUSY_TIMES 4u

static inline uint64_t ls_rerun_spent_ns(uint64_t passed_ns, uint64_t worked_ns)
{
    return LS_MAX(LS_MIN(worked_ns, passed_ns), passed_ns / LS_RERUN_BUSY_TIMES);
}

/* ---- for a helper that does something else with the same request ---- */

/* First of all in a main that was started as a helper, with a plain heap: reads the request, and
 * makes the surroundings that it asks for. NULL: it cannot be read. */
const ls_rerun_order *ls_rerun_helper_begin(void);

/* Right behind loading: where the plug-in has not set what it gets from the heap, it holds the
 * noise that the first run of a re-run begins with. */
void ls_rerun_helper_fill_blocks(void);

/* Into the pipe to the parent. */
bool ls_rerun_helper_write(const void *bytes, size_t size);

LS_C_END

#endif
