/* Service program: lockstep-server with --config: puts the file and the command line together, and
 * starts the supervisor. Called by main. */
#ifndef LOCKSTEP_SERVER_PROGRAM_SERVICE_PROGRAM_H
#define LOCKSTEP_SERVER_PROGRAM_SERVICE_PROGRAM_H

#include "lockstep/common/program/console.h"
#include "lockstep/server/program/server_options.h"

/* The options that were given are put in place of the file's; the others are changed to what the
 * file says. */
ls_exit_code ls_service_program_run(ls_server_options *options, ls_console *console);

#endif
