/* Exit code: what every Lockstep program says to its shell. Part of the contract with
 * scripts: a number never changes its meaning. Called by mains and their drivers. */
#ifndef LOCKSTEP_COMMON_PROGRAM_EXIT_CODE_H
#define LOCKSTEP_COMMON_PROGRAM_EXIT_CODE_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

typedef enum ls_exit_code {
    LS_EXIT_CLEAN = 0,
    LS_EXIT_ENVIRONMENT = 1, /* network, files, memory, or the other side refused */
    LS_EXIT_USAGE = 2,       /* the command line cannot be right */
    LS_EXIT_DESYNC = 3,      /* a difference was found */
    LS_EXIT_INTERNAL = 4,
} ls_exit_code;

/* The exit code of a program that ended with this status. A host that cannot be found is the
 * environment's fault: the same line may work in a minute. */
ls_exit_code ls_exit_code_of(ls_status status);

/* The same; unless it is OK the log says why. */
ls_exit_code ls_exit_report(const ls_log *log, ls_status status, const ls_text *why);

#endif
