#include "lockstep/common/program/exit_code.h"

ls_exit_code ls_exit_code_of(ls_status status)
{
    switch (status) {
    case LS_OK:
        return LS_EXIT_CLEAN;
    case LS_BAD_ARGUMENT:
    case LS_UNSUPPORTED:
    case LS_SCHEMA:
    case LS_PLUGIN:
    case LS_SIMULATION_MISMATCH: /* of what a file names and what was given with --sim */
    case LS_SIMULATION_VERSION_MISMATCH:
        return LS_EXIT_USAGE;
    case LS_DESYNCED:
        return LS_EXIT_DESYNC;
    default:
        return LS_EXIT_ENVIRONMENT;
    }
}

ls_exit_code ls_exit_report(const ls_log *log, ls_status status, const ls_text *why)
{
    if (status != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why->bytes[0] ? why->bytes : ls_status_text(status));
    }
    return ls_exit_code_of(status);
}
