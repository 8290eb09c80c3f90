/* Service program: lockstep-server with --config: puts the file and the command line together, and
 * starts the supervisor; and its workers, which are the same program. Called by main. */
#ifndef LOCKSTEP_SERVER_PROGRAM_SERVICE_PROGRAM_H
#define LOCKSTEP_SERVER_PROGRAM_SERVICE_PROGRAM_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/server/program/server_options.h"

/* The supervisor. `line` is the command line as it was given, without the program's name, NULL
 * last: its options are put in place of the file's. The options are changed. */
ls_exit_code ls_service_program_run(ls_server_options *options, const char *const *line,
                                    ls_console *console);

/* A worker. */
ls_exit_code ls_service_worker_run(const ls_server_options *options, ls_console *console);

#endif
