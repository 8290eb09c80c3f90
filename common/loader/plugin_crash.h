/* Plug-in crash: what a program says when the code of its simulation crashes, or hangs until a
 * signal ends the program: which file, in which pass of which tick, and what to run to find out
 * why. The process then ends as it would have, with the signal. Called by programs, once the
 * simulation's name is known. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_CRASH_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_CRASH_H

#include "lockstep/common/simulation/plugin_place.h"

#include <stddef.h>

/* `name` as it was given for the simulation; copied. Signals that have a handler keep it, such as a
 * sanitizer's. */
void ls_plugin_crash_watch(const char *name);

/* A program with a log of its own writes the line there, in place of one for people. Both functions
 * are called in the handler, and may call nothing that is not for one. */
typedef struct ls_plugin_crash_reporter {
    /* Of the simulation that is called now; NULL: the one that is watched. */
    const char *(*name)(void *user);
    void (*report)(void *user, const char *sentence);
    void *user;
} ls_plugin_crash_reporter;

/* Copied; outlives what its `user` points to only as long as that is there. */
void ls_plugin_crash_report_to(const ls_plugin_crash_reporter *reporter);

#endif
