/* Plug-in crash: what a program says when the code of its simulation crashes: which file, in which
 * pass of which tick, and what to run to find out why. The process then ends as it would have, with
 * the signal. Called by programs, once the simulation's name is known. */
#ifndef LOCKSTEP_COMMON_SIMULATION_PLUGIN_CRASH_H
#define LOCKSTEP_COMMON_SIMULATION_PLUGIN_CRASH_H

#include "lockstep/common/simulation/plugin_place.h"

#include <stddef.h>

/* `name` as it was given for the simulation; borrowed for the life of the process. Signals that
 * have a handler keep it, such as a sanitizer's. */
void ls_plugin_crash_watch(const char *name);

/* The signals that a crash can be caught by, one after the other from index 0; 0: no more. The one
 * list of them. */
int ls_plugin_crash_signal(size_t index);

/* "segmentation fault"; "signal" for one that is no crash. */
const char *ls_plugin_crash_text(int signal_number);

#endif
