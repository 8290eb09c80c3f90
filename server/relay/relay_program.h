/* Relay program: a relay on a UDP socket and an event loop until a signal ends it, with the list of
 * its games over HTTP and a door for pages. Called by main. */
#ifndef LOCKSTEP_SERVER_RELAY_RELAY_PROGRAM_H
#define LOCKSTEP_SERVER_RELAY_RELAY_PROGRAM_H

#include "lockstep/common/program/console.h"
#include "lockstep/server/relay/relay.h"

typedef struct ls_relay_program_config {
    ls_relay_config relay; /* without its log and its key */
    const char *bind_host;
    uint32_t port;              /* 0: chosen by the system */
    const char *port_file;      /* NULL: none */
    const char *key_path;       /* likewise */
    const char *http;           /* ADDRESS:PORT, for the list of games; NULL: no HTTP */
    const char *http_port_file; /* NULL: none */
    const char *web;            /* ADDRESS:PORT, for pages to play in; NULL: no door for them */
    const char *web_files, *web_hosts, *web_certificate, *web_key; /* see ls_door_config */
    const char *web_port_file;                                     /* NULL: none */
    const char *json_path;                                         /* likewise */
    ls_log_format log_format;
    bool is_door; /* for pages: it is told all else by the relay that it is opened for */
} ls_relay_program_config;

ls_exit_code ls_relay_program_run(const ls_relay_program_config *config, ls_console *console);

#endif
