/* Command line: reads a program's line by tables of rows (common/base/setting_row.h). The rows make
 * --help and --usage, say what would have been right, and fill the structs that they describe. Also
 * here: --version, the options that many programs share, and exit code 2 for a line that cannot be
 * right. Called by mains. */
#ifndef LOCKSTEP_COMMON_PROGRAM_COMMAND_LINE_H
#define LOCKSTEP_COMMON_PROGRAM_COMMAND_LINE_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/setting_row.h"
#include "lockstep/common/program/option.h"

#include <stdbool.h>
#include <stdio.h>

/* The choices of --json, --quiet and --verbose. */
typedef struct ls_output_options {
    const char *json_path; /* NULL: no summary; "-": standard output */
    ls_log_level level;    /* the caller sets what it is without the options */
} ls_output_options;

extern const ls_setting_table ls_output_settings; /* of an ls_output_options */

/* The choices of --param. */
typedef struct ls_param_options {
    const char *assignments[LS_PARAMS_MAX]; /* "name=value", for param_files.h */
    uint32_t count;
} ls_param_options;

extern const ls_setting_table ls_param_settings; /* of an ls_param_options */

/* The same of a program that plays a match which was decided elsewhere: files alone. */
extern const ls_setting_table ls_file_param_settings;

#define LS_COMMAND_LINE_PARTS_MAX 6u

/* A table, and the struct of the caller that its rows describe, with the defaults in it. */
typedef struct ls_command_line_part {
    const ls_setting_table *table;
    void *target;
    uint64_t *given; /* gets a bit for every row that the line has; NULL: not asked for */
} ls_command_line_part;

typedef struct ls_command_line {
    const char *summary;             /* what the program does */
    const char *words;               /* "HOST:PORT": what follows the options; NULL: nothing does */
    const char *ending;              /* of --help: the exit codes */
    void (*print_lists)(FILE *file); /* of --help, before its ending; NULL: nothing */
    ls_command_line_part parts[LS_COMMAND_LINE_PARTS_MAX];

    /* A word that is no option is taken by the function, or else is kept in `word`, once. */
    ls_status (*read_word)(void *user, char *word, ls_text *why);
    const char **word;

    /* Looks at the whole line; NULL: every line of right options is right. */
    ls_status (*check)(void *user, ls_text *why);
    void *user;
} ls_command_line;

/* A row of such a list: `text` behind `head`, and in lines that begin at `column`. */
void ls_command_line_print_row(FILE *file, const char *head, const char *text, int column);

/* Ends the program after --help, --usage and --version, and when the line is wrong. From here on an
 * abort exits with LS_EXIT_INTERNAL, and a clean exit with LS_EXIT_ENVIRONMENT when standard output
 * could not be written. */
void ls_command_line_read(const ls_command_line *line, int argc, char **argv);

#endif
