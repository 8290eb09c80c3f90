/* Service view: what an operator sees of the running service, and asks of it: the narrow interface
 * between the service (rooms on workers) and those who show and steer it (HTTP listener, fleet
 * client, signals). One thread, the event loop's. */
#ifndef LOCKSTEP_SERVER_SERVICE_SERVICE_VIEW_H
#define LOCKSTEP_SERVER_SERVICE_SERVICE_VIEW_H

#include "lockstep/server/service/ban_list.h"
#include "lockstep/server/service/room_report.h"
#include "lockstep/server/service/room_settings.h"

typedef struct ls_worker_report {
    uint32_t worker; /* its number, from 0 */
    uint32_t pid;    /* 0: it is being started again */
    uint32_t rooms;
    uint32_t players;
    uint32_t starts; /* 1, and one more for each time it was started again */
    double load;     /* share of the last second in which its loop worked or blocked, or, if that is
                        more,     its threads computed: of several it may be above 1 */
    uint64_t cpu_ms; /* used since it was started */
    uint64_t memory_bytes;
    uint64_t datagrams_dropped; /* before they belonged to anybody */
    uint64_t clients_denied;    /* a connection */
    uint64_t tokens_refused;
} ls_worker_report;

/* The journals that are handed to the command of [upload]. */
typedef struct ls_upload_report {
    uint64_t uploaded;
    uint64_t failures;       /* of the command */
    uint32_t waiting;        /* closed journals that have to leave still */
    uint64_t oldest_unix_ms; /* when the oldest of them was written last; 0: none waits */
} ls_upload_report;

/* The door for pages: figures from when it was opened first, but for the players. */
typedef struct ls_door_report {
    uint64_t players;           /* now, by WebSockets and data channels */
    uint64_t opened;            /* connections of players */
    uint64_t refused;           /* handshakes and offers */
    uint64_t wrong;             /* WebSockets that were closed for what came by them */
    uint64_t received, dropped; /* datagrams of players: forwarded; too many or too long */
    uint64_t sent, stale;       /* datagrams to players: forwarded; too late */
} ls_door_report;

/* The disk of the journals. */
typedef struct ls_storage_report {
    uint64_t free_bytes, bytes; /* 0: not known */
    ls_text why_not;            /* why a new room could not be recorded; empty: it could */
} ls_storage_report;

/* An event, for the stream of events: the newest LS_SERVICE_EVENTS_KEPT are kept. */
typedef struct ls_service_event {
    uint64_t number; /* from 1, without gaps */
    uint64_t unix_ms;
    char kind[32];                     /* "room-opened", "player-joined", "desync", ... */
    char room[LS_ROOM_NAME_BYTES_MAX]; /* "": of the service */
    int32_t slot;                      /* -1: of nobody */
    ls_text text;                      /* the sentence of the log */
} ls_service_event;

#define LS_SERVICE_EVENTS_KEPT 256u

/* The newest events of a service, numbered without gaps, for streams that go on where they were.
 * Written by room_keeper, read by those who show the service. All zero at first. */
typedef struct ls_event_ring {
    uint64_t newest; /* its number; 0: there is none */
    ls_service_event events[LS_SERVICE_EVENTS_KEPT];
} ls_event_ring;

/* Gives the event the next number; one without a time gets that of now. */
void ls_event_ring_add(ls_event_ring *ring, const ls_service_event *event);

/* The oldest event that is kept, of number `from` or above; NULL: there is none yet. */
const ls_service_event *ls_event_ring_at(const ls_event_ring *ring, uint64_t from);

typedef enum ls_service_command_kind {
    LS_SERVICE_OPEN_ROOM,    /* room (may be ""), settings; the result's text is the name */
    LS_SERVICE_END_ROOM,     /* room */
    LS_SERVICE_SAVE_ROOM,    /* room, text: why; the result's text is the journal's file, its body
                                what that lacks, as a sentence, or NULL */
    LS_SERVICE_PAUSE_ROOM,   /* room, text: why */
    LS_SERVICE_UNPAUSE_ROOM, /* room, text: why */
    LS_SERVICE_DRAW_ROOM,    /* room; the result's body is a picture of it, an SVG document */
    LS_SERVICE_KICK,         /* room, slot, text: why */
    /* room, slot, seconds, text: why; ban.kind: what of the player no room lets in. The result's
     * text is that */
    LS_SERVICE_BAN,
    /* seconds, ban: kind, what, why; and sends those away whom it names. The result's text is the
     * ban's number */
    LS_SERVICE_ADD_BAN,
    LS_SERVICE_LIFT_BAN, /* ban.number */
    LS_SERVICE_MESSAGE,  /* room ("": all), text */
    LS_SERVICE_DRAIN,    /* no new rooms; ends the service when the last one is over */
} ls_service_command_kind;

typedef struct ls_service_command {
    ls_service_command_kind kind;
    char room[LS_ROOM_NAME_BYTES_MAX];
    uint32_t slot;
    uint32_t seconds;
    ls_text text;
    ls_ban ban;
    bool spares_players; /* of ADD_BAN, within the service: no player is sent away */
    ls_room_settings settings;
} ls_service_command;

typedef struct ls_service_result {
    ls_status status; /* OK; NOT_FOUND: no such room or player; BAD_ARGUMENT; FULL; ... */
    ls_text text;     /* why not, as a sentence; or what the kind says */
    char *body;       /* what the kind says, of the one who tells the result; else NULL */
} ls_service_result;

struct ls_room_register; /* room_register.h */

typedef struct ls_service_view {
    const struct ls_room_register *rooms; /* good until the loop goes on, as its reports are */
    const ls_event_ring *events;
    const ls_ban_list *bans;
    const ls_upload_report *uploads;  /* NULL: journals stay here */
    const ls_door_report *door;       /* NULL: there is none for pages */
    const ls_storage_report *storage; /* NULL: there are no journals */
    const char *room_metrics;         /* of each room: "none", "all"; or a summary */
    uint32_t worker_count;
    bool is_draining;
    void *user;
    const ls_worker_report *(*worker)(void *user, uint32_t index);
    bool (*is_ready)(void *user, ls_text *why_not); /* takes rooms and players */
    /* How to get into a room: an address or invite for lockstep-client; "" when there is none. */
    void (*invite)(void *user, const ls_room_report *room, char *out, size_t capacity);
    /* The address of the page for players who come by this invite; "": there is no page. */
    void (*link)(void *user, const char *invite, char *out, size_t capacity);
    /* `done` is called once, perhaps at once, in the loop's thread. */
    void (*command)(void *user, const ls_service_command *command,
                    void (*done)(void *done_user, const ls_service_result *result),
                    void *done_user);
} ls_service_view;

#endif
