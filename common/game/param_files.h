/* Param files: reads what --param gives: numbers and strings of the programs that decide a match,
 * and the files of file parameters, whole, into memory. The disk may change afterwards. Called by
 * mains and their drivers. */
#ifndef LOCKSTEP_COMMON_GAME_PARAM_FILES_H
#define LOCKSTEP_COMMON_GAME_PARAM_FILES_H

#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/system/file.h"

/* Which files parameters may name, where not every one may. */
typedef struct ls_param_gate {
    /* Opens the file of "name=PATH"; a failure with `why`. */
    ls_status (*open)(void *user, const char *assignment, ls_mapped_file *out, ls_text *why);
    /* Whether these bytes, the file of this parameter, may be used: OK, or a failure with `why`. */
    ls_status (*check)(void *user, const ls_param *param, const uint8_t *bytes, size_t size,
                       ls_text *why);
    void *user;
} ls_param_gate;

/* All zero at first. */
typedef struct ls_param_files {
    const char *directory; /* where relative paths begin; NULL: in the current one */
    ls_param_gate gate;    /* of files that decide a match; without `open`: any file will do */
    ls_sim_files files;
    uint8_t *memory[LS_PARAMS_MAX]; /* of every file that was read */
    uint32_t count;
} ls_param_files;

/* Decides a match: puts "name=value" and, for file parameters, "name=PATH" into the config, whose
 * files are borrowed until release. The errors of ls_sim_config_set; IO with path and reason. */
ls_status ls_param_files_decide(ls_param_files *kept, const char *const *assignments,
                                uint32_t count, const ls_simulation *simulation,
                                ls_sim_config *config, ls_text *why);

/* For a match that was decided elsewhere: reads every "name=PATH". BAD_ARGUMENT, FULL; IO. */
ls_status ls_param_files_read(ls_param_files *kept, const char *const *assignments, uint32_t count,
                              ls_text *why);

void ls_param_files_release(ls_param_files *kept);

#endif
