/* Collect: `lockstep-desync collect`: reads all desync bundles below a folder and groups them by
 * cause, for whoever has many matches. Runs no simulation. Called by main. */
#ifndef LOCKSTEP_TOOLS_DESYNC_COLLECT_H
#define LOCKSTEP_TOOLS_DESYNC_COLLECT_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/console.h"

#include <stdbool.h>

typedef struct collect_config {
    const char *folder;    /* and the folders in it, to a depth of 8; files NAME.bundle count */
    const char *html_path; /* NULL: none; "-": standard output, likewise below */
    const char *json_path;
    bool is_quiet; /* no table as text */
} collect_config;

/* LS_EXIT_DESYNC when there is a bundle of a desync, LS_EXIT_CLEAN when there is none. A file that
 * is no bundle is a warning and is counted. */
ls_exit_code collect_run(const collect_config *config, const ls_log *log);

#endif
