/* A system without services: their programs are refused in words. */
#include "lockstep/server/program/service_program.h"
#include "lockstep/server/service/worker.h"

ls_exit_code ls_service_program_run(ls_server_options *options, ls_console *console)
{
    (void)options;
    ls_log_line(&console->log, LS_LOG_ERROR,
                "A service with many rooms runs on POSIX systems alone: host one match here.");
    return LS_EXIT_USAGE;
}

ls_exit_code ls_worker_run(ls_console *console)
{
    ls_log_line(&console->log, LS_LOG_ERROR, "There are no workers here: see --config.");
    return LS_EXIT_USAGE;
}
