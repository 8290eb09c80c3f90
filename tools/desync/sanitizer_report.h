/* Sanitizer report: what a plug-in that was built with sanitizers needs of the process that runs
 * it, and the first report that it wrote: what was wrong, and the file and line. Called by
 * reproduce, around one run of a helper. */
#ifndef LOCKSTEP_TOOLS_DESYNC_SANITIZER_REPORT_H
#define LOCKSTEP_TOOLS_DESYNC_SANITIZER_REPORT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>

#define EXPLAIN_SANITIZER_VARIABLES 4u

typedef struct explain_sanitizer_report {
    char directory[64];
    char variables[EXPLAIN_SANITIZER_VARIABLES][4096]; /* "NAME=value" for the process; "": none */
} explain_sanitizer_report;

/* For the plug-in in this file. IO, NOT_FOUND with `why`. */
ls_status explain_sanitizer_report_open(explain_sanitizer_report *report, const char *plugin,
                                        ls_text *why);

/* The first report in one line: "game.c:41:9: runtime error: ...". `out` is empty before. False:
 * there is none. */
bool explain_sanitizer_report_read(const explain_sanitizer_report *report, ls_text *out);

/* Removes the files. */
void explain_sanitizer_report_close(explain_sanitizer_report *report);

#endif
