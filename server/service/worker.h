/* Worker: a process that hosts rooms for the supervisor that started it, with one socket of the
 * service's UDP port. It opens and ends rooms as it is told, and tells what happens in them. When
 * the supervisor goes, so does the worker: its rooms are left in their journals. Called by main. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"

/* In every worker. */
#define LS_WORKER_UDP_DESCRIPTOR 3
#define LS_WORKER_CHANNEL_DESCRIPTOR 4
#define LS_WORKER_MARK_DESCRIPTOR 5   /* of a work mark */
#define LS_WORKER_LIMITS_DESCRIPTOR 6 /* of join limits, which all workers share */

/* Hosts rooms as the settings say that come first over the channel, until the supervisor says
 * LEAVE, or is gone. */
ls_exit_code ls_worker_run(ls_console *console);

#endif
