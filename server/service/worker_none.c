#include "lockstep/server/service/worker.h"

ls_exit_code ls_worker_run(ls_console *console)
{
    ls_log_line(&console->log, LS_LOG_ERROR, "There are no workers here: see --config.");
    return LS_EXIT_USAGE;
}
