/* Agones plan: what a server tells the sidecar of Agones' SDK, and what it does when it is
 * allocated: from what is seen of the service and of the sidecar's replies it says which request
 * comes next. Sends nothing, and asks for no time. Called by agones.c. */
#ifndef LOCKSTEP_SERVER_CONTROL_AGONES_PLAN_H
#define LOCKSTEP_SERVER_CONTROL_AGONES_PLAN_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/server/service/service_view.h"

/* The annotation of an allocation that asks for a room: a JSON object of its settings, and `name`.
 */
#define LS_AGONES_ROOM_ANNOTATION "lockstep.dev/room"

/* The annotation of an allocation that brings the key of its connect tokens, as 64 hexadecimal
 * digits. */
#define LS_AGONES_KEY_ANNOTATION "lockstep.dev/token-key"

#define LS_AGONES_BODY_BYTES_MAX 32768u

typedef enum ls_agones_step {
    LS_AGONES_NOTHING, /* for now */
    LS_AGONES_READY,
    LS_AGONES_HEALTH,
    LS_AGONES_LOOK,     /* at the game server, if the stream of its changes has told nothing */
    LS_AGONES_ROOMS,    /* how many there are, as the counter `rooms` */
    LS_AGONES_PLAYERS,  /* the players who are here, as the list `players` */
    LS_AGONES_ANNOTATE, /* how to get into a room that was asked for, or why there is none */
    LS_AGONES_SHUTDOWN,
} ls_agones_step;

typedef struct ls_agones_request {
    ls_agones_step step;
    const char *method;
    const char *path;                    /* "/ready" */
    uint32_t allocations;                /* READY: behind so many of them */
    uint32_t rooms;                      /* ROOMS */
    uint64_t players;                    /* PLAYERS: a hash of the list */
    uint32_t annotation;                 /* ANNOTATE: which of them it is, ... */
    uint32_t change;                     /* ... and after which change */
    char body[LS_AGONES_BODY_BYTES_MAX]; /* JSON; "": none */
} ls_agones_request;

/* Rooms of allocations that stand at the same time; one more is refused. */
#define LS_AGONES_ROOMS_MAX 64u

/* An annotation of the game server. Zero: there is none. */
typedef struct ls_agones_annotation {
    char value[1024];
    bool is_due;
    uint32_t changes; /* so far: a reply may be to the one before */
} ls_agones_annotation;

/* A room that an allocation asked for. */
typedef struct ls_agones_room {
    bool is_asked;                     /* and its result has not come */
    bool is_open;                      /* it was, and is not known to be over */
    char name[LS_ROOM_NAME_BYTES_MAX]; /* "": the server names it */
    ls_agones_annotation annotation;
} ls_agones_room;

/* Zero: nothing has been said yet. Only agones_plan.c reads it. */
typedef struct ls_agones_plan {
    uint32_t join_timeout_s; /* set by the owner: for so long an allocation without a room waits
                                for one, before the server is Ready again; 0: for ever */
    bool has_begun;          /* Ready was told once */
    bool is_ready_told;      /* since the newest allocation */
    bool is_allocated;       /* when it was seen last */
    uint32_t allocations;    /* so far */
    uint64_t asked;          /* a hash of the newest one */
    uint64_t asked_ns;       /* when it was seen first, if it brought no room; else 0 */
    uint64_t token_key;      /* a hash of the key that came with a room that stands; 0: none */
    bool is_shutdown_told;
    bool has_no_counter, has_no_list; /* of the fleet: it is not told again */
    uint64_t counter_ns, list_ns; /* not before: it was refused, as a count above the capacity */
    uint64_t health_ns, look_ns;  /* when they come next */
    uint64_t again_ns;            /* no request before: the sidecar did not answer */
    uint64_t pause_ns;
    uint32_t failures; /* in a row */
    uint32_t rooms_told;
    uint64_t players_told; /* a hash of the list; 0: never */
    uint32_t names_told;   /* annotations of rooms that the game server has by now, at most */
    uint32_t newest_room;  /* row of the newest allocation; LS_AGONES_ROOMS_MAX: it has none */
    ls_agones_annotation newest;
    ls_agones_room rooms[LS_AGONES_ROOMS_MAX];
} ls_agones_plan;

/* The server must do this itself: take tokens by this key from now on, and open a room with these
 * settings. The caller wipes the key. */
typedef struct ls_agones_opening {
    bool has_room;
    uint32_t row; /* for ls_agones_plan_opened */
    char name[LS_ROOM_NAME_BYTES_MAX];
    ls_room_settings settings;
    bool has_token_key;
    uint8_t token_key[LS_CIPHER_KEY_BYTES];
} ls_agones_opening;

/* The request that is due, or NOTHING. */
void ls_agones_plan_next(ls_agones_plan *plan, const ls_service_view *view, uint64_t now_ns,
                         ls_agones_request *out);

/* Its reply: a status of HTTP, or 0 when the sidecar did not answer. With an allocation `opening`
 * says what to open; BAD_ARGUMENT when that cannot be, with `why`, which is annotated. */
ls_status ls_agones_plan_reply(ls_agones_plan *plan, const ls_agones_request *request,
                               unsigned http_status, const char *body, size_t size, uint64_t now_ns,
                               ls_agones_opening *opening, ls_text *why);

/* A line of the stream of the game server's changes: the same. Any other line changes nothing. */
ls_status ls_agones_plan_watch(ls_agones_plan *plan, const char *line, size_t size, uint64_t now_ns,
                               ls_agones_opening *opening, ls_text *why);

/* The result of opening the room of a row. */
void ls_agones_plan_opened(ls_agones_plan *plan, uint32_t row, const ls_service_result *result);

#endif
