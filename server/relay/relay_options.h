/* Relay options: the settings of a relay as its command line has them: one table, by which the file
 * of a service that is also a relay is checked as well. Called by main and service_program. */
#ifndef LOCKSTEP_SERVER_RELAY_RELAY_OPTIONS_H
#define LOCKSTEP_SERVER_RELAY_RELAY_OPTIONS_H

#include "lockstep/common/program/console.h"
#include "lockstep/common/program/option.h"
#include "lockstep/server/relay/relay.h"

/* ---- Relay program: a relay on a UDP socket and an event loop until a signal ends it, with the
 * list of its games over HTTP and a door for pages. Called by main ---- */

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

extern const ls_setting_table ls_relay_settings; /* of ls_relay_program_config */

ls_relay_program_config ls_relay_options_default(void);

/* Whether they fit together. BAD_ARGUMENT. */
ls_status ls_relay_options_check(const ls_relay_program_config *config, ls_text *why);

#endif
