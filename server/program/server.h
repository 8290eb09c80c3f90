/* Server: matches on a real network, with their events on the console, live lines on a terminal and
 * a summary at the end. Decides nothing about a match. Called by main. */
#ifndef LOCKSTEP_SERVER_PROGRAM_SERVER_H
#define LOCKSTEP_SERVER_PROGRAM_SERVER_H

#include "lockstep/common/program/console.h"
#include "lockstep/server/program/port_keeper.h"
#include "lockstep/server/program/server_options.h"
#include "lockstep/server/rooms/room_game.h"

typedef struct ls_server_config {
    const ls_server_options *options; /* the texts outlive the server */
    ls_room_game *game;               /* of every match; borrowed */
    ls_admission *admission;          /* of clients that come; borrowed */
    ls_port_keeper *ports;            /* taken; NULL: no router is asked */
} ls_server_config;

/* Hosts the matches to their end, or until SIGINT, SIGTERM or SIGHUP. */
ls_exit_code ls_server_run(const ls_server_config *config, ls_console *console);

#endif
