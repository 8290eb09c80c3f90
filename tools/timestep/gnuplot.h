/* Gnuplot: runs the program gnuplot as a child process, with a script's file as its standard input
 * and another as its standard output. The only place that starts it. Called by the driver. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_GNUPLOT_H
#define LOCKSTEP_TOOLS_TIMESTEP_GNUPLOT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdio.h>

/* Replaces the file by what the script draws. IO: gnuplot is not installed (the reason names the
 * package), it could not draw, or the file cannot be written; no file is left then that was not
 * there before. */
ls_status stepping_gnuplot_run(FILE *script, const char *path, ls_text *why);

#endif
