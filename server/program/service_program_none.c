#include "lockstep/server/program/service_program.h"

ls_exit_code ls_service_program_run(ls_server_options *options, ls_console *console)
{
    (void)options;
    ls_log_line(&console->log, LS_LOG_ERROR,
                "A service with many rooms runs on POSIX systems alone: host one match here.");
    return LS_EXIT_USAGE;
}
