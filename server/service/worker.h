/* Worker: a process that hosts rooms for the supervisor that started it, with one socket of the
 * service's UDP port. It opens and ends rooms as it is told, and tells what happens in them. When
 * the supervisor goes, so does the worker: its rooms are left in their journals. Called by main. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/server/host/admission.h"

/* In every worker. */
#define LS_WORKER_UDP_DESCRIPTOR 3
#define LS_WORKER_CHANNEL_DESCRIPTOR 4
#define LS_WORKER_MARK_DESCRIPTOR 5 /* of a work mark */

typedef struct ls_worker_config {
    uint32_t worker;  /* 0 .. workers - 1 */
    uint32_t workers; /* 1 .. LS_SERVICE_WORKERS_MAX */
    uint32_t rooms_max;
    ls_admission *admission; /* borrowed */
    const char *bundle_dir;  /* NULL: no bundles are written */
    uint32_t bundle_mib_max;
    const char *journal_dir; /* NULL: no journals */
    const char *plugin_dir;  /* NULL: built-in simulations alone */
} ls_worker_config;

/* Reads "1/4". BAD_ARGUMENT. */
ls_status ls_worker_read_share(const char *text, ls_worker_config *out);

/* Hosts rooms until the supervisor says LEAVE, or is gone. */
ls_exit_code ls_worker_run(const ls_worker_config *config, ls_console *console);

#endif
