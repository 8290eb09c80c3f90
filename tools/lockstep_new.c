/* lockstep-new: reads the command line, makes the directory, says how to go on. */
#include "lockstep/common/base/log.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/tools/new/new_game.h"

#include <stdio.h>

static ls_status check(void *user, ls_text *why)
{
    const char *const *name = user;
    return *name ? new_game_check_name(*name, why)
                 : ls_fail(LS_BAD_ARGUMENT, why, "NAME is missing");
}

static void print_files(FILE *file)
{
    fprintf(file, "It has\n"
                  "  NAME.c          state, schema, step, picture, keys and a bot\n"
                  "  CMakeLists.txt  builds NAME.so against the installed Lockstep\n"
                  "  play            builds, hosts a match and opens two windows\n"
                  "  check           build, determinism test, a match of two bots: for CI\n"
                  "  README.md       how to go on\n");
}

int main(int argc, char **argv)
{
    const char *name = NULL;
    const ls_command_line line = {
        .summary = "Makes a directory with a game to start from: it can be played at once.",
        .words = "NAME",
        .ending = "A name is made of a-z, 0-9, - and _, and begins with a letter. Exit codes: 0 "
                  "made, 1 environment (there is such a directory already), 2 usage, 4 internal.",
        .print_lists = print_files,
        .word = &name,
        .check = check,
        .user = &name,
    };
    ls_command_line_read(&line, argc, argv);

    const ls_log log = ls_log_stderr("lockstep-new", LS_LOG_INFO);
    ls_text why = {{0}};
    ls_status status = new_game_make(name, &why);
    if (status != LS_OK) {
        return ls_exit_report(&log, status, &why);
    }
    printf("%s is a game in %s/. To build it and play in two windows:\n\n"
           "  cd %s\n"
           "  ./play\n\n"
           "%s/README.md says how to go on.\n",
           name, name, name, name);
    return LS_EXIT_CLEAN;
}
