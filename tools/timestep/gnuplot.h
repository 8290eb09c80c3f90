/* Gnuplot: runs the program gnuplot as a child process, with a script on its standard input, and
 * its picture straight into a file. The only place that starts it. Called by the driver. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_GNUPLOT_H
#define LOCKSTEP_TOOLS_TIMESTEP_GNUPLOT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stddef.h>

/* Whether the file can be written, so that nothing is computed for nothing. IO; nothing is left
 * behind, and nothing changed. */
ls_status stepping_gnuplot_check_path(const char *path, ls_text *why);

/* Replaces the file by what the script draws. IO: there is no gnuplot (and which package has it),
 * it could not draw, or the file cannot be written; no file is left then that was not there. */
ls_status stepping_gnuplot_run(const char *script, size_t size, const char *path, ls_text *why);

#endif
