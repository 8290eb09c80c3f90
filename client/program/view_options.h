/* View options: what the command lines of programs with a view have in common: --view, --size,
 * --no-interpolation and --screenshot, read into a screen's configuration. Opens nothing. Called by
 * mains. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_VIEW_OPTIONS_H
#define LOCKSTEP_CLIENT_PROGRAM_VIEW_OPTIONS_H

#include "lockstep/client/view/screen.h"
#include "lockstep/common/program/command_line.h"

/* A child for a program's argp, with an ls_screen_config as its input: the caller's defaults, with
 * kind NONE when nothing is shown unless --view says so. */
extern const struct argp ls_view_argp;

/* Once the whole line is read: ends the program when the options do not fit each other. */
void ls_view_options_check(struct argp_state *state, const ls_screen_config *view,
                           const ls_output_options *output);

#endif
