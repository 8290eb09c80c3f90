/* Finder: looks for servers on the local network for a second, or asks a relay for the games that
 * it lists, and prints a table of them. Called by the client's main. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_FINDER_H
#define LOCKSTEP_CLIENT_PROGRAM_FINDER_H

#include "lockstep/common/program/console.h"

typedef struct ls_finder_config {
    bool is_asked;         /* whether the command line asks for it at all */
    const char *address;   /* of the broadcast, IPv4; NULL: that of every interface */
    uint32_t port;         /* UDP, of the queries */
    const char *json_path; /* NULL: no summary; "-": standard output, in place of the table */
} ls_finder_config;

/* CLEAN when a server has answered, ENVIRONMENT when none has. */
ls_exit_code ls_finder_run(const ls_finder_config *config, ls_console *console);

/* Games: of the relay at HOST[:PORT]; NULL for `json_path`: no summary; "-": standard output, in
 * place of the table. CLEAN when the relay lists a game, ENVIRONMENT when it lists none or does not
 * answer. */
ls_exit_code ls_game_list_run(const char *relay, const char *json_path, ls_console *console);

#endif
