/* Worker settings: all that a worker is told about itself, as the supervisor has resolved it from
 * its command line and its file: one line, the first one over the channel. A worker has no other
 * source, so that no client comes in at a worker whom the supervisor keeps out. Called by
 * worker_pool and worker. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_SETTINGS_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_SETTINGS_H

#include "lockstep/common/program/json.h"
#include "lockstep/server/host/admission.h"

typedef struct ls_worker_settings {
    uint32_t worker;  /* 0 .. workers - 1; the pool's */
    uint32_t workers; /* 1 .. LS_SERVICE_WORKERS_MAX; the pool's */
    uint32_t rooms_max;
    uint32_t log_level;  /* an ls_log_level */
    uint32_t log_format; /* an ls_log_format */
    const char *bind_host;
    ls_admission_options admission; /* but for invite_path: the supervisor writes the invite */
    const char *bundle_dir;         /* NULL: no bundles are written */
    uint32_t bundle_mib_max;
    const char *journal_dir; /* NULL: no journals */
    const char *plugin_dir;  /* NULL: built-in simulations alone */
} ls_worker_settings;

/* One line without its newline, for ls_json_release_line; NULL: memory is out. */
char *ls_worker_settings_write(const ls_worker_settings *settings);

/* MALFORMED unless every member is there. The texts of `out` belong to `*texts`, for
 * ls_json_destroy. */
ls_status ls_worker_settings_read(const char *line, size_t size, ls_worker_settings *out,
                                  ls_json **texts);

#endif
