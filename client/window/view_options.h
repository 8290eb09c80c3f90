/* View options: what the command lines of programs with a view have in common: --view, --size,
 * --no-interpolation, --sounds, --volume and --screenshot, read into a screen's configuration.
 * Opens nothing. Called by mains. */
#ifndef LOCKSTEP_CLIENT_WINDOW_VIEW_OPTIONS_H
#define LOCKSTEP_CLIENT_WINDOW_VIEW_OPTIONS_H

#include "lockstep/client/window/screen.h"
#include "lockstep/common/program/command_line.h"

/* Of an ls_screen_config: the caller's defaults, with kind NONE when nothing is shown unless --view
 * says so. */
extern const ls_setting_table ls_view_settings;

/* Once the whole line is read: BAD_ARGUMENT when the options do not fit each other. */
ls_status ls_view_options_check(const ls_screen_config *view, const ls_output_options *output,
                                ls_text *why);

#endif
