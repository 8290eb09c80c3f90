/* Server options: the command line of lockstep-server, beside the settings of a match and of
 * whoever hosts it: one table, which the file of a service is read by as well. Called by main and
 * service_program. */
#ifndef LOCKSTEP_SERVER_PROGRAM_SERVER_OPTIONS_H
#define LOCKSTEP_SERVER_PROGRAM_SERVER_OPTIONS_H

#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/log_format.h"
#include "lockstep/server/match/match.h"
#include "lockstep/server/rooms/rooms.h"

typedef struct ls_server_options {
    ls_hosting hosting;
    uint64_t hosting_given; /* rows of ls_hosting_settings */
    const char *port_file;
    uint32_t matches, find_port;
    bool is_found;
    const char *publish, *publish_key_path;  /* HOST[:PORT] of a relay, and the file of its key */
    const char *public_name, *region;        /* in its directory */
    bool maps_port;                          /* asked for; see ls_server_options_may_map */
    const char *web, *web_files, *web_hosts; /* of a door for pages: door_process.h */
    bool has_web_codes;
    uint32_t broadcast_delay_s; /* 0: matches are not shown to everybody */
    const char *web_certificate, *web_key, *web_port_file;
    const char *config_path, *http_port_file; /* of a service */
    /* Likewise, in place of what the file says where they are given. */
    const char *plugin_dir, *http_bind, *http_token_file;
    uint32_t workers, rooms_max, drain_timeout, http_port;
    bool is_on_agones; /* likewise */
    bool is_check;     /* the service is only checked */
    bool is_door;      /* for pages: it is told all else by the server that it is opened for */
    bool is_worker;    /* one of a service's: it is told all else by the service */
    ls_log_format log_format;
    uint64_t own_given;    /* rows of ls_server_settings */
    ls_match_config match; /* fields of it, ... */
    uint64_t given;        /* ... of these rows of ls_match_settings */
    ls_param_options params;
    ls_output_options output;
} ls_server_options;

extern const ls_setting_table ls_server_settings; /* of ls_server_options */

ls_server_options ls_server_options_default(void);

/* Whether a router is to be asked for a port: by a server without --config with --publish, unless
 * it says no; by a service where it says so. */
bool ls_server_options_may_map(const ls_server_options *options);

/* Whether those of a broadcast fit together, likewise. */
ls_status ls_server_options_check_broadcast(const ls_server_options *options, ls_text *why);

/* Whether those of a relay fit together. BAD_ARGUMENT, in words of the command line. */
ls_status ls_server_options_check_relay(const ls_server_options *options, ls_text *why);

/* Whether options fit together, for ls_command_line.check. BAD_ARGUMENT. */
ls_status ls_server_options_check(void *options, ls_text *why);

#endif
