/* Worker: a process that hosts rooms for the supervisor that started it, with one socket of the
 * service's UDP port. It opens and ends rooms as it is told, and tells what happens in them. When
 * the supervisor goes, so does the worker: its rooms are left in their journals. Called by main. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_H

#include "lockstep/common/program/console.h"
#include "lockstep/server/host/publisher.h"
#include "lockstep/server/service/join_limits.h"

/* The memory that all workers share; zeroed at first. */
typedef struct ls_worker_shared {
    ls_join_limits limits; /* which the supervisor counts in as well */
    ls_publisher_shared published;
} ls_worker_shared;

/* In every worker. */
#define LS_WORKER_UDP_DESCRIPTOR 3
#define LS_WORKER_CHANNEL_DESCRIPTOR 4
#define LS_WORKER_MARK_DESCRIPTOR 5   /* of a work mark */
#define LS_WORKER_SHARED_DESCRIPTOR 6 /* of ls_worker_shared */

/* Hosts rooms as the settings say that come first over the channel, until the supervisor says
 * LEAVE, or is gone. */
ls_exit_code ls_worker_run(ls_console *console);

#endif
