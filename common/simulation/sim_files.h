/* Sim files: the files that this machine has for the file parameters of a match, in memory, by the
 * names of the parameters. Puts them into a configuration: to decide a match, or to play one whose
 * sizes and digests are known. Never opens a file (param_files.h does), copies no content. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SIM_FILES_H
#define LOCKSTEP_COMMON_SIMULATION_SIM_FILES_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

typedef struct ls_named_file {
    char name[LS_NAME_BYTES_MAX]; /* of the parameter */
    ls_sim_file file;
} ls_named_file;

/* All zero: none. */
typedef struct ls_sim_files {
    uint32_t count;
    ls_named_file list[LS_FILE_PARAMS_MAX];
} ls_sim_files;

/* Adds a file, or replaces the one of this name. The bytes are borrowed for as long as a
 * configuration has them. FULL; BAD_ARGUMENT for a name that is no parameter's, or for more than
 * LS_FILE_BYTES_MAX. */
ls_status ls_sim_files_add(ls_sim_files *files, const char *name, const uint8_t *bytes, size_t size,
                           ls_text *why);

/* Decides the match: these files become those of the config, with their digests. NOT_FOUND for one
 * that is no file parameter of the simulation. */
ls_status ls_sim_files_decide(const ls_sim_files *files, const ls_simulation *simulation,
                              ls_sim_config *config, ls_text *why);

/* Plays a match that was decided elsewhere: gives the config the bytes of its files, whose sizes
 * and digests it has. `files` NULL: there are none. PARAMETER_MISMATCH for one that is not here, or
 * whose content is another: `why` names it and both digests, and says how it is given. */
ls_status ls_sim_files_provide(const ls_sim_files *files, const ls_simulation *simulation,
                               ls_sim_config *config, ls_text *why);

LS_C_END

#endif
