/* Game list: asks a relay for the games that it lists, and prints a table of them. Called by the
 * client's main. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_GAME_LIST_H
#define LOCKSTEP_CLIENT_PROGRAM_GAME_LIST_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"

/* Of HOST[:PORT]; NULL for `json_path`: no summary; "-": standard output, in place of the table.
 * CLEAN when the relay lists a game, ENVIRONMENT when it lists none or does not answer. */
ls_exit_code ls_game_list_run(const char *relay, const char *json_path, ls_console *console);

#endif
