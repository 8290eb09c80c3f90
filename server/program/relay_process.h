/* Relay process: lockstep-relay beside a service, with the rows of [relay] of its file, which is
 * started again when it ends. The service goes on without one. Called by the supervisor. */
#ifndef LOCKSTEP_SERVER_PROGRAM_RELAY_PROCESS_H
#define LOCKSTEP_SERVER_PROGRAM_RELAY_PROCESS_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/service/room_settings.h"

typedef struct ls_relay_process ls_relay_process;

/* Starts the program that lies beside this one. The rows and the log are borrowed. NOT_FOUND, IO,
 * NO_MEMORY; with `why`. */
ls_status ls_relay_process_start(const ls_room_settings *rows, uint32_t log_format,
                                 ls_event_loop *loop, const ls_log *log, ls_relay_process **out,
                                 ls_text *why);
/* The loop does not run any more. Lets it say goodbye. NULL is allowed. */
void ls_relay_process_stop(ls_relay_process *relay);

#endif
