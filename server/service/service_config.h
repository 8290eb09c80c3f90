/* Service config: the file of lockstep-server --config: where the service listens, its workers, its
 * files, and which rooms it keeps open. Its keys are flags of the command line, and its values are
 * tried when it is read, so that the file is wrong at the start and not a room later. Called by
 * service_program. */
#ifndef LOCKSTEP_SERVER_SERVICE_SERVICE_CONFIG_H
#define LOCKSTEP_SERVER_SERVICE_SERVICE_CONFIG_H

#include "lockstep/server/service/room_report.h"
#include "lockstep/server/service/room_settings.h"
#include "lockstep/server/service/toml_file.h"

#define LS_SERVICE_GROUPS_MAX 64u
#define LS_SERVICE_WORKERS_MAX 16u
#define LS_SERVICE_ROOMS_MAX 16384u
#define LS_SERVICE_UPLOADS_MAX 16u
#define LS_SERVICE_DRAIN_S_MAX 86400u
#define LS_BROADCAST_S_MAX 86400u
#define LS_SERVICE_FAULTS_MAX 64u

/* The faults of a file, in its order; those of no place in it come first. */
typedef struct ls_service_faults {
    const char *path; /* of the file, for the sentences; NULL: it has none */
    uint32_t count;   /* of all; the first LS_SERVICE_FAULTS_MAX of them are kept */
    struct ls_service_fault {
        ls_toml_place at; /* {0, 0}: of no place */
        ls_text text;     /* "FILE: line 3:8: ..." */
    } rows[LS_SERVICE_FAULTS_MAX];
} ls_service_faults;

void ls_service_faults_add(ls_service_faults *faults, ls_toml_place at, const char *sentence);

/* [[rooms]]: rooms of one kind; each is named NAME-1, NAME-2, ... */
typedef struct ls_service_group {
    char name[LS_ROOM_NAME_BYTES_MAX];
    uint32_t open; /* so many are kept open; 0: only on demand, by this name */
    ls_toml_place at;
    ls_room_settings settings;
} ls_service_group;

typedef struct ls_service_config {
    /* [server]: rows of the command line that are of the process and not of a match: bind, port,
     * identity, invite-only, token-key ... */
    ls_room_settings server;
    ls_toml_place server_at[LS_ROOM_SETTINGS_MAX]; /* of its rows */
    /* [relay]: flags of lockstep-relay. None: the service is no relay. */
    ls_room_settings relay;
    ls_toml_place relay_at[LS_ROOM_SETTINGS_MAX];
    bool is_relay;
    uint32_t workers; /* 0: one for each core */
    uint32_t rooms_max;
    uint32_t join_timeout_s;  /* rooms on demand that are empty for so long end; 0: never */
    uint32_t drain_timeout_s; /* running rooms have so long after SIGTERM */
    char journal_dir[512];    /* "": no journals */
    char bundle_dir[512];
    char plugin_dir[512];       /* "": built-in simulations alone */
    char files[4096];           /* folders of files that parameters of rooms name, a line each */
    char code[4096];            /* SHA-256 of files that parameters may have run, likewise */
    char http_bind[64];         /* 127.0.0.1 */
    uint32_t http_port;         /* 0: no HTTP */
    char http_token_file[512];  /* bearer token of /api/v1; "": the API answers nobody */
    char http_certificate[512]; /* of TLS, in PEM, and its key; "": no TLS */
    char http_key[512];
    char http_operators[512]; /* file of operators by name; "": none */
    char http_hosts[512];     /* names of the service in a Host header, with commas between */
    char metrics_rooms[16];   /* of each room: none, summary or all */
    char log_format[16];      /* text, json or journald */
    /* [web]: a door for pages, as lockstep-server --web. "": none; the certificate of [http]. */
    char web[256];
    char web_files[512];
    char web_hosts[512];
    char web_certificate[512];
    char web_key[512];
    uint32_t web_broadcast_s; /* so late matches are shown to everybody; 0: they are not */
    /* [limits]: of one address (/32, /56), of clients without a token; 0: none. */
    uint32_t address_connections; /* of all workers, as the two below */
    uint32_t address_joins;       /* see join_limits.h */
    uint32_t address_rooms;
    char upload_command[512];   /* "{}" stands for the closed journal's file; "": none */
    uint32_t upload_parallel;   /* commands at a time */
    uint32_t upload_limit_s;    /* then a command that still runs has failed; 0: never */
    uint32_t journals_keep_mib; /* of closed journals on this machine; 0: all */
    ls_room_settings match;     /* [match]: of every room, unless its group says otherwise */
    uint32_t group_count;
    ls_service_group groups[LS_SERVICE_GROUPS_MAX];
} ls_service_config;

/* The [[rooms]] of this name; NULL: there are none. */
const ls_service_group *ls_service_config_group(const ls_service_config *config, const char *name);

/* The settings of all rooms, then those of the group, if there is one: the later one counts.
 * BAD_ARGUMENT or FULL with `why`. */
ls_status ls_service_config_settle(const ls_service_config *config, const ls_service_group *group,
                                   ls_room_settings *out, ls_text *why);

/* The parameters of all rooms that the file has, "name=value", a line each; of the heap. NULL:
 * memory is out. */
char *ls_service_config_params(const ls_service_config *config);

/* Adds every fault of the file: a key that is not known is refused, with the nearest one that is.
 * Text that is no TOML has one fault. `out` holds what is right. */
void ls_service_config_read(const char *path, ls_service_config *out, ls_service_faults *faults);

/* The same of bytes that end with a NUL which is not counted. */
void ls_service_config_parse(const char *bytes, size_t size, ls_service_config *out,
                             ls_service_faults *faults);

/* A file that was read again while the service runs: what cannot change stays in `fresh` as it is
 * in `running`, and is told, a sentence each. */
void ls_service_config_keep_fixed(const ls_service_config *running, ls_service_config *fresh,
                                  void (*tell)(void *user, const char *sentence), void *user);

/* Puts what the command line gives to a flag, a uint32_t or a text, in place of the file's row.
 * Without effect for a flag of no row. BAD_ARGUMENT with `why`. */
ls_status ls_service_config_override(ls_service_config *config, const char *flag, const void *given,
                                     ls_text *why);

#endif
