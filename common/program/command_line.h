/* Command line: what the programs' argp parsers have in common: values that say what would have
 * been right, the options of the output and of a simulation's settings, --version, and exit code 2
 * for a line that cannot be right. Knows no program's own options. Called by mains. */
#ifndef LOCKSTEP_COMMON_PROGRAM_COMMAND_LINE_H
#define LOCKSTEP_COMMON_PROGRAM_COMMAND_LINE_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/option.h"

#include <argp.h>
#include <stdbool.h>

/* The choices of --json, --quiet and --verbose. */
typedef struct ls_output_options {
    const char *json_path; /* NULL: no summary; "-": standard output */
    ls_log_level level;    /* the caller sets what it is without the options */
} ls_output_options;

/* A child for a program's argp, with an ls_output_options as its input. */
extern const struct argp ls_output_argp;

/* The choices of --param, --players, --tick-rate and --seed. */
typedef struct ls_setting_options {
    const char *assignments[LS_PARAMS_MAX]; /* "name=value", for ls_sim_config_set */
    uint32_t assignment_count;
    uint64_t players;   /* 0: the simulation's default */
    uint64_t tick_rate; /* in Hz; 0: the simulation's default */
    uint64_t seed;      /* the caller sets what it is without the option */
    bool has_seed;      /* the option was given */
} ls_setting_options;

/* A child for a program's argp, with an ls_setting_options as its input; in group 1 of --help. */
extern const struct argp ls_setting_argp;

/* ls_option_number and ls_option_word; a value that is wrong ends the program. */
void ls_command_line_number(struct argp_state *state, const char *name, const char *value,
                            ls_option_range range, uint64_t *out);
void ls_command_line_word(struct argp_state *state, const char *name, const char *value,
                          const char *const *words, uint32_t count, uint32_t *out);

/* Parses the line into `input`. Ends the program after --help, --usage and --version, and when the
 * line is wrong. From here on an abort exits with LS_EXIT_INTERNAL, and a clean exit with
 * LS_EXIT_ENVIRONMENT when standard output could not be written. */
void ls_command_line_parse(const struct argp *argp, int argc, char **argv, void *input);

#endif
