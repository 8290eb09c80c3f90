/* Worker message: the lines between the supervisor of a service and its workers, as values. One
 * kind of line, one place that writes and reads it. Both sides are the same program, but a line
 * that is not understood is refused all the same. Called by worker_pool and worker. */
#ifndef LOCKSTEP_SERVER_SERVICE_WORKER_MESSAGE_H
#define LOCKSTEP_SERVER_SERVICE_WORKER_MESSAGE_H

#include "lockstep/common/program/json.h"
#include "lockstep/server/host/admission.h"
#include "lockstep/server/rooms/room_game.h"
#include "lockstep/server/service/service_view.h"

#define LS_WORKER_PATH_BYTES_MAX 512u

#define LS_WORKER_MESSAGE_MAP(X)                                                                   \
    /* To a worker. */                                                                             \
    X(COMMAND, "command")     /* id, command, and of OPEN_ROOM what it goes on with; see below */  \
    X(DIRECTORY, "directory") /* room, match_id, worker; match_id 0: the room is gone */           \
    X(SEATS, "seats")         /* worker, seats */                                                  \
    X(INTAKE, "intake")       /* worker: it has the intake; see below */                           \
    X(DRAIN, "drain")         /* rooms where nobody plays yet are ended, now and from now on */    \
    X(LEAVE, "leave")         /* journals are written to their ends, and all rooms left there */   \
    /* From a worker. */                                                                           \
    X(READY, "ready")                                                                              \
    X(RESULT, "result") /* id, result; of an OPEN_ROOM journal and match_id as well */             \
    X(REPORT, "report") /* room_report */                                                          \
    X(LOAD, "load")     /* worker_report */                                                        \
    X(EVENT, "event")   /* event */                                                                \
    X(GONE, "gone")     /* room_report: the last one of a room that is over; id: see below */

typedef enum ls_worker_message_kind {
#define LS_WORKER_MESSAGE_ENUM(name, word) LS_WORKER_##name,
    LS_WORKER_MESSAGE_MAP(LS_WORKER_MESSAGE_ENUM)
#undef LS_WORKER_MESSAGE_ENUM
    LS_WORKER_MESSAGE_COUNT,
} ls_worker_message_kind;

/* OPEN_ROOM has the group of the room, the journal that it goes on from, and whether it is paused
 * from the start; the command's text is then why. */

/* GONE has as its id the turn of the room's rotation that follows, and 1; 0: the room ends. */

/* INTAKE comes from the worker that hands the intake on, and goes to all. The worker that has it
 * from then on says INTAKE of itself when it knows, and only then do newcomers come to it. */

/* Seats for newcomers who were not invited. Newcomers who are on their way count as players, and
 * have their seats. */
typedef struct ls_worker_seats {
    uint32_t open;    /* in all rooms */
    uint32_t awaited; /* of them, where others are waiting for the match to start */
    uint32_t players; /* in all rooms of the worker */
} ls_worker_seats;

/* The members that the kind does not have are zero. */
typedef struct ls_worker_message {
    ls_worker_message_kind kind;
    uint64_t id;
    char room[LS_ROOM_NAME_BYTES_MAX];
    char group[LS_ROOM_NAME_BYTES_MAX];
    char journal[LS_WORKER_PATH_BYTES_MAX];
    uint64_t match_id;
    bool is_open; /* the room is; else it was, and will be again */
    bool is_paused;
    bool is_unplayed; /* of OPEN_ROOM, REPORT, GONE: no player ever played in the journal */
    uint32_t worker;
    ls_worker_seats seats;
    ls_service_command command;
    ls_service_result result;
    ls_room_report report;
    ls_worker_report load;
    ls_service_event event;
} ls_worker_message;

/* One line without its newline, for ls_json_release_line; NULL: memory is out. */
char *ls_worker_message_write(const ls_worker_message *message);

/* MALFORMED, NO_MEMORY. A message that was read, and one with a body of its own, has to
 * be deinitialised. */
ls_status ls_worker_message_read(const char *line, size_t size, ls_worker_message *out);
void ls_worker_message_deinit(ls_worker_message *message);

/* ---- Worker settings: all that a worker is told about itself, as the supervisor has resolved
 * it from its command line and its file: one line, the first one over the channel. A
 * worker has no other source, so that no client comes in at a worker whom the supervisor
 * keeps out ---- */

typedef struct ls_worker_settings {
    uint32_t worker;  /* 0 .. workers - 1; the pool's */
    uint32_t workers; /* 1 .. LS_SERVICE_WORKERS_MAX; the pool's */
    uint32_t rooms_max;
    uint32_t log_level;  /* an ls_log_level */
    uint32_t log_format; /* an ls_log_format */
    const char *bind_host;
    ls_admission_options admission; /* but for invite_path: the supervisor writes the invite */
    const char *relay, *relay_key;  /* as publisher.h has them, or NULL */
    const char *public_name, *region, *page;
    const char *bundle_dir; /* NULL: no bundles are written */
    uint32_t bundle_mib_max;
    const char *journal_dir;      /* NULL: no journals */
    bool has_broadcast;           /* which shows those of rooms that are not private */
    const char *plugin_dir;       /* NULL: built-in simulations alone */
    ls_room_files files;          /* that parameters of rooms may name */
    uint32_t address_connections; /* as service_config.h has them */
    const char *door;             /* ls_door_link_write; NULL: there is none for pages */
} ls_worker_settings;

/* One line without its newline, for ls_json_release_line; NULL: memory is out. */
char *ls_worker_settings_write(const ls_worker_settings *settings);

/* MALFORMED unless every member is there. The texts of `out` belong to `*texts`, for
 * ls_json_destroy. */
ls_status ls_worker_settings_read(const char *line, size_t size, ls_worker_settings *out,
                                  ls_json **texts);

#endif
