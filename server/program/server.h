/* Server: matches on a real network, with their events on the console, live lines on a terminal and
 * a summary at the end. Decides nothing about a match. Called by main. */
#ifndef LOCKSTEP_SERVER_PROGRAM_SERVER_H
#define LOCKSTEP_SERVER_PROGRAM_SERVER_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/server/host/admission.h"
#include "lockstep/server/rooms/room_game.h"

typedef struct ls_server_config {
    ls_room_game *game;      /* of every match; borrowed */
    uint32_t matches;        /* hosted at once, 1 or more */
    const char *bind_host;   /* address or interface name; "::" is all */
    ls_admission *admission; /* of clients that come; borrowed */
    uint16_t port;           /* 0: chosen by the system and told on the console */
    bool is_found;           /* clients that look for servers on the local network find it ... */
    uint16_t find_port;      /* ... by queries to this UDP port */
    const char *port_file;   /* gets the port in decimal once it is bound; NULL: none */
    const char *bundle_dir;  /* gets the bundles of desyncs; NULL: none are written */
    uint32_t bundle_mib_max; /* of all bundles together */
    const char *journal_dir; /* gets a journal of each match; NULL: none are written */
    const char *resume_path; /* that the only match goes on from and with; NULL: it begins anew */
    const char *json_path;   /* NULL: no summary; "-": standard output */
} ls_server_config;

/* Hosts the matches to their end, or until SIGINT, SIGTERM or SIGHUP. */
ls_exit_code ls_server_run(const ls_server_config *config, ls_console *console);

#endif
