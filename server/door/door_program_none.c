#include "lockstep/server/door/door_program.h"

ls_exit_code ls_door_program_run(ls_console *console)
{
    ls_log_line(&console->log, LS_LOG_ERROR, "There are no doors here: see --web.");
    return LS_EXIT_USAGE;
}
