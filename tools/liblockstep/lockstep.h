/* lockstep.h: a networked deterministic game by one header. It hosts matches, plays in them and
 * steps simulations, over liblockstep.so.0 (or liblockstep.a). C99 and C++; for other languages: no
 * macro is needed to call anything, structs hold numbers and pointers alone, and every size that
 * may grow stands first in its struct.
 *
 * Three kinds of handle share one life:
 *
 *     lockstep *client = lockstep_create(LOCKSTEP_CLIENT, NULL);
 *     lockstep_set(client, "server", "lockstep:...");    by name, as the programs' flags
 *     int more = lockstep_start(client) + 1;
 *     while (more > 0) {
 *         more = lockstep_frame(client, 16);             works for up to 16 ms
 *         lockstep_input(client, keys, sizeof keys, 0);
 *         lockstep_get_view(client, &view);              two states and how far between them
 *         while (lockstep_poll(client, &event) > 0) ...  also behind the last frame
 *     }
 *     lockstep_close(client);
 *
 * Reconnecting, joining a running match, prediction, and finding, naming and healing differences
 * between machines come with it. Every function that returns an int gives 0 or more when it went
 * well, and a negative lockstep_status otherwise; lockstep_error has the sentence for a person.
 *
 * Threads: one handle is used by one thread at a time (a second one gets BAD_ARGUMENT), several
 * handles by several threads at once. The library starts no thread of its own for a handle unless
 * it is set to ("thread", "on"). Nothing is written to standard output or standard error. */
#ifndef LOCKSTEP_TOOLS_LIBLOCKSTEP_LOCKSTEP_H
#define LOCKSTEP_TOOLS_LIBLOCKSTEP_LOCKSTEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define LOCKSTEP_EXPORT __declspec(dllexport)
#else
#define LOCKSTEP_EXPORT __attribute__((visibility("default")))
#endif
#if defined(LOCKSTEP_STATIC) /* for a program that links liblockstep.a */
#define LOCKSTEP_API
#elif defined(_WIN32) && !defined(LOCKSTEP_BUILDS_LIBRARY)
#define LOCKSTEP_API __declspec(dllimport)
#else
#define LOCKSTEP_API LOCKSTEP_EXPORT
#endif

/* Of this header. A program runs with every library of the same first number that is not older. */
#define LOCKSTEP_VERSION "0.1.0"

#define LOCKSTEP_PLAYERS_MAX 128      /* seats of a match, from slot 0 on */
#define LOCKSTEP_INPUT_BYTES_MAX 1024 /* of a player for one tick */
#define LOCKSTEP_NO_SLOT UINT32_MAX   /* an event of nobody's seat; a player that has none */

typedef struct lockstep lockstep;

typedef enum lockstep_kind {
    LOCKSTEP_CLIENT = 1, /* plays in, or watches, a match that somebody hosts */
    LOCKSTEP_HOST = 2,   /* hosts a match, and decides what its inputs are */
    LOCKSTEP_SIM = 3,    /* one simulation by itself: no network, no clock */
} lockstep_kind;

/* Numbers never change their meaning. lockstep_status_name names those that are not here. */
typedef enum lockstep_status {
    LOCKSTEP_OK = 0,
    LOCKSTEP_NO_MEMORY = -1,
    LOCKSTEP_IO = -2,
    LOCKSTEP_BAD_ARGUMENT = -3, /* also: NULL, closed, the wrong kind, moment or thread */
    LOCKSTEP_MALFORMED = -4,
    LOCKSTEP_FULL = -5,
    LOCKSTEP_NOT_FOUND = -6,
    LOCKSTEP_UNSUPPORTED = -7, /* by this simulation */
    LOCKSTEP_SCHEMA = -8,      /* fields that do not cover the state */
    LOCKSTEP_PLUGIN = -9,
    LOCKSTEP_PROTOCOL_MISMATCH = -20,
    LOCKSTEP_SIMULATION_MISMATCH = -22, /* -21 to -27: the machines would not compute the same */
    LOCKSTEP_CONTENT_MISMATCH = -26,
    LOCKSTEP_MATCH_FULL = -30,
    LOCKSTEP_ALREADY_OVER = -32,
    LOCKSTEP_TIMED_OUT = -33, /* also: no server answers */
    LOCKSTEP_DESYNCED = -35,
    LOCKSTEP_DISCONNECTED = -37,
    LOCKSTEP_REFUSED = -38, /* a server is there, and lets nobody in like this */
    LOCKSTEP_NOT_ADMITTED = -39,
    LOCKSTEP_KICKED = -40,
    LOCKSTEP_SAVED = -41,       /* the host saved the match, to go on another time */
    LOCKSTEP_UNREACHABLE = -42, /* no program listens there, or no network leads there */
} lockstep_status;

/* ---- a game of the caller's own ---- */

typedef enum lockstep_type {
    LOCKSTEP_PADDING = 0, /* must stay zero */
    LOCKSTEP_U8 = 1,
    LOCKSTEP_U16 = 2,
    LOCKSTEP_U32 = 3,
    LOCKSTEP_U64 = 4,
    LOCKSTEP_I8 = 5,
    LOCKSTEP_I16 = 6,
    LOCKSTEP_I32 = 7,
    LOCKSTEP_I64 = 8,
    LOCKSTEP_FIXED = 9,  /* int64_t, of 2^-32 each */
    LOCKSTEP_ANGLE = 10, /* uint32_t, of 2^-32 of a turn each */
    LOCKSTEP_F32 = 11,
    LOCKSTEP_F64 = 12,
} lockstep_type;

/* Names bytes of a state, so that a report of a difference says "ships[2].speed" and two values.
 * The element with item i and place j lies at offset + i*stride + j*(bytes of type). */
typedef struct lockstep_field {
    const char *path; /* "ships.speed" */
    const char *unit; /* "m/s"; "": none */
    uint32_t type;    /* lockstep_type */
    uint32_t length;  /* neighbouring elements of an item; 1 or more */
    uint32_t count;   /* items; 1 or more */
    size_t offset;    /* bytes, from the start of the state */
    size_t stride;    /* bytes from one item to the next; of one item alone 0 */
} lockstep_field;

/* A row: a member that is a number or an array of numbers; rows of an array of structs: a member of
 * each, as LOCKSTEP_FIELDS(state, ships, speed, "m/s", LOCKSTEP_I32). */
#define LOCKSTEP_FIELD(state, member, unit, type)                                                  \
    {                                                                                              \
#member, unit, type, LOCKSTEP_LENGTH(state, member, type), 1, offsetof(state, member), 0   \
    }
#define LOCKSTEP_FIELDS(state, items, member, unit, type)                                          \
    {                                                                                              \
#items "." #member, unit, type, LOCKSTEP_LENGTH(state, items[0].member, type),             \
            sizeof(((state *)0)->items) / sizeof(((state *)0)->items[0]),                          \
            offsetof(state, items[0].member), sizeof(((state *)0)->items[0])                       \
    }
#define LOCKSTEP_LENGTH(state, member, type) /* a digit for the bytes of each type */              \
    (uint32_t)(sizeof(((state *)0)->member) / (0x8448842184211u >> 4 * (type)&15))

/* Fixed for a whole match, and equal on all its machines. */
typedef struct lockstep_setup {
    size_t size;
    uint64_t seed;
    uint32_t players; /* slots 0 .. players-1 */
    uint32_t tick_rate_hz;
} lockstep_setup;

#define LOCKSTEP_JOINED 1u /* the player's first tick */
#define LOCKSTEP_LEFT 2u   /* the first tick without this player */
/* One player's part of a tick. The bytes come from another machine: any content and size must be
 * safe, and what makes no sense is ignored. */
typedef struct lockstep_slot {
    const uint8_t *bytes; /* not aligned; gone after the call */
    uint32_t size;        /* 0 .. input_bytes; 0 as well while nobody plays there */
    uint32_t events;      /* LOCKSTEP_JOINED, LOCKSTEP_LEFT */
} lockstep_slot;

typedef struct lockstep_inputs {
    size_t size;
    const lockstep_setup *setup;
    const lockstep_slot *slots; /* setup->players of them */
    uint32_t tick;              /* from 0 */
    /* Of a game with names_writes, where `size` reaches here and it is not NULL: to be called as
     * wrote(step, offset, bytes) for every piece of the state that this step writes to. */
    void (*wrote)(const void *step, size_t offset, size_t bytes);
    const void *step;
} lockstep_inputs;

/* A game is a state without pointers and a step that depends on the state and the inputs alone: no
 * clock, file, address, thread, random number that is not in the state, or float that another
 * compiler rounds differently. Any number of states may be stepped at once. A shared object with
 * `LOCKSTEP_EXPORT const lockstep_game *lockstep_plugin(void)` is a plug-in, played by its file. */
typedef struct lockstep_game {
    size_t size;      /* sizeof(lockstep_game); members beyond it are absent (zero) */
    const char *name; /* 1 to 63 of a-z 0-9 - _ */
    uint32_t version; /* machines with different ones never play together */
    uint32_t tick_rate_hz;
    uint32_t players_max; /* 1 .. LOCKSTEP_PLAYERS_MAX */
    uint32_t input_bytes; /* at most, of a player for one tick */
    size_t state_bytes;
    /* Together they cover every byte of the state once. NULL: bytes without a name. */
    const lockstep_field *fields;
    size_t field_count;
    void (*init)(void *user, void *state, const lockstep_setup *setup); /* the state comes zeroed */
    void (*step)(void *user, void *state, const lockstep_inputs *inputs);
    void *user; /* handed to both */
    /* Two masks of input_bytes each, or NULL: what the bits of an input that is late mean. A host
     * closes a tick with the player's input of the tick before (unless "late" is "wait"), but for
     * edges (a jump, an order), which are left out and sent again, so that a tap is one move. A
     * button that was missed altogether is sent again for a tick. */
    const uint8_t *edges;
    const uint8_t *buttons;
    /* 1: its step names all that it writes (lockstep_inputs.wrote), and a host with "trust-writes"
     * on hashes only that, and all bytes once a second. For large states that change little. */
    uint32_t names_writes;
} lockstep_game;

/* ---- every handle ---- */

LOCKSTEP_API const char *lockstep_version(void);           /* "0.1.0" */
LOCKSTEP_API const char *lockstep_status_name(int status); /* "MATCH_FULL"; else "UNKNOWN" */

/* `game` is copied; what it points to stays until close. NULL: lockstep_set(handle, "sim", ...)
 * names a built-in (arena, rope, spring, tumble, units) or a plug-in's file; a client without one
 * plays the built-in of its host. Gives NULL for no such kind, no such size, no memory. */
LOCKSTEP_API lockstep *lockstep_create(int kind, const lockstep_game *game);

/* Before start: a setting by the name of its flag, without the dashes, and its value as on the
 * command line ("on" for a flag without a value). lockstep_setting lists them. "param" is given as
 * "name=value", many times.
 *   client: server (an invite or HOST[:PORT]), token (a file), name, predict (ticks), spectate,
 *           reconnect (seconds), connect-wait, seat-file, insecure, ticks, thread, ...
 *   host:   players, port (0: chosen by the system), bind, tick-rate, seed, ticks, late, journal,
 *           resume, bundle-dir (no bundles without it), on-desync, invite-host, thread, ...
 *   sim:    players, seed, tick-rate, param */
LOCKSTEP_API int lockstep_set(lockstep *handle, const char *name, const char *value);

/* A setting of a kind of handle by its number, from 0 on: its name, what it takes, and its help, in
 * texts that stay. NOT_FOUND behind the last. Any of the three may be NULL. */
LOCKSTEP_API int lockstep_setting(int kind, uint32_t number, const char **name, const char **takes,
                                  const char **help);

/* The host listens, the client begins to connect, and neither waits. May be tried again. DESYNCED:
 * init of the game, which both call more than once, does not make the same state each time. */
LOCKSTEP_API int lockstep_start(lockstep *handle);

/* Client, host: works for up to wait_ms and returns, earlier once there is a new event (OVER is
 * one); the client then makes one frame for the picture that follows. With 0, or a negative number,
 * it does what is due and returns. With a thread of its own it waits and shows what that has done.
 * 1: there is more to play, 0: it is over, negative: why it ended early; poll after all three. */
LOCKSTEP_API int lockstep_frame(lockstep *handle, uint32_t wait_ms);

/* Client: leaves. Host: ends the match at its newest tick; with `saves` so that "resume" goes on
 * with its journal (BAD_ARGUMENT: it has none). Frames go on until everybody knows. */
LOCKSTEP_API int lockstep_end(lockstep *handle, int saves);

/* Ends what has not ended, and forgets the handle. NULL is allowed; a step of its own may not. */
LOCKSTEP_API int lockstep_close(lockstep *handle);

/* Why the newest call that failed on this handle did, until another one fails; "": none has. That
 * there is no state does not replace why the handle is over. */
LOCKSTEP_API const char *lockstep_error(const lockstep *handle);

/* ---- what happens ---- */

typedef enum lockstep_event_kind {
    LOCKSTEP_LOG = 0,           /* a line for the log that is none of the rest */
    LOCKSTEP_CONNECTED = 1,     /* client: has a seat (slot), or NO_SLOT: watches */
    LOCKSTEP_STARTED = 2,       /* tick 0 is on its way */
    LOCKSTEP_JOINING = 3,       /* client: the match runs; its state is on the way */
    LOCKSTEP_PLAYING = 4,       /* client: plays from this tick on, also after it was away */
    LOCKSTEP_PLAYER_JOINED = 5, /* host: slot; also who comes back */
    LOCKSTEP_PLAYER_LOST = 6,   /* host: slot, status; the seat is kept for a while */
    LOCKSTEP_PLAYER_LEFT = 7,   /* host: slot, status */
    LOCKSTEP_REFUSED_PEER = 8,  /* host: status; somebody was not let in */
    LOCKSTEP_WAITING = 9,       /* the match waits for somebody's input (rule "late" = "wait") */
    LOCKSTEP_LAG = 10,          /* slot: what its player suffers from has changed */
    LOCKSTEP_CHAT = 11,         /* slot has said `text` */
    LOCKSTEP_SAID = 12,         /* client: the host says `text` */
    LOCKSTEP_PAUSED = 13,
    LOCKSTEP_UNPAUSED = 14,
    LOCKSTEP_LOST = 15,   /* client: no link to the host; it is made again (setting "reconnect") */
    LOCKSTEP_DESYNC = 16, /* slot: its state differs from the host's from `tick` on */
    LOCKSTEP_CAUSE = 17,  /* slot: the report: field, values, pass, which machine and why */
    LOCKSTEP_BUNDLE = 18, /* host: the file `text` has all of it, for lockstep-desync */
    LOCKSTEP_HEALED = 19, /* slot: agrees again from `tick` on */
    LOCKSTEP_ENDED = 20,  /* tick: the match's last */
    LOCKSTEP_OVER = 21,   /* status: OK after a whole match; nothing follows */
} lockstep_event_kind;

typedef struct lockstep_event {
    size_t size;  /* the caller sets it to sizeof(lockstep_event) */
    int32_t kind; /* a newer library may have kinds that this header has not: leave them out */
    int32_t status;
    uint32_t slot; /* or LOCKSTEP_NO_SLOT */
    uint32_t tick;
    /* A sentence for a person, several lines of a report, never NULL; until the next poll. */
    const char *text;
} lockstep_event;

/* The oldest event that was not polled: 1, or 0: none. 1,024 wait, and OVER; the rest is lost. */
LOCKSTEP_API int lockstep_poll(lockstep *handle, lockstep_event *event);

typedef struct lockstep_info {
    size_t size;        /* the caller sets it to sizeof(lockstep_info) */
    int32_t status;     /* once it is over: why */
    int32_t is_running; /* ticks are played: the match has started and is not over */
    int32_t is_over;
    uint32_t slot;         /* client: its own, or LOCKSTEP_NO_SLOT */
    uint32_t players;      /* seats */
    uint32_t players_here; /* host */
    uint32_t tick;         /* of the newest state that is confirmed */
    uint32_t tick_rate_hz;
    uint32_t input_bytes; /* of a player for one tick, at most */
    uint32_t input_delay_ticks;
    uint32_t desyncs;            /* differences that were found, of any machine */
    uint32_t rollback_depth_max; /* ticks */
    uint32_t port;               /* host: UDP */
    double rtt_ms;               /* client */
    double lost_percent;         /* client: of packets, both ways together */
    uint64_t stalled_ticks;      /* client: were due and not confirmed yet */
    uint64_t rollback_ticks;     /* client: guessed, wrong and stepped again */
    uint64_t bytes_up;           /* client: sent since the start, all headers counted */
    uint64_t bytes_down;
    const char *sim;    /* "": not known yet */
    const char *invite; /* host: one line that a player gives to "server"; else "" */
} lockstep_info;

LOCKSTEP_API int lockstep_get_info(lockstep *handle, lockstep_info *info);

typedef struct lockstep_player {
    size_t size;           /* the caller sets it to sizeof(lockstep_player) */
    int32_t is_here;       /* host: has a link now */
    int32_t is_desynced;   /* host: its newest state differs */
    uint32_t agreed_tick;  /* host: its newest state that is proven equal */
    uint32_t ticks_behind; /* host */
    double rtt_ms;         /* host */
    uint64_t inputs_late;  /* host: came after their ticks were closed */
    const char *name;      /* "": no player has sat there; until the next call */
} lockstep_player;

/* NOT_FOUND: there is no such slot, or not yet. */
LOCKSTEP_API int lockstep_get_player(lockstep *handle, uint32_t slot, lockstep_player *player);

LOCKSTEP_API int lockstep_say(lockstep *handle, const char *text); /* to everybody in the match */

/* ---- client, and the simulation alone: states ---- */

typedef struct lockstep_view {
    size_t size;          /* the caller sets it to sizeof(lockstep_view) */
    const void *state;    /* the newest; with prediction it is ahead of the confirmed one */
    const void *previous; /* the one before; the same one where there is none */
    size_t state_bytes;
    uint32_t tick; /* of `state` */
    double alpha;  /* 0: draw `previous`, 1: draw `state`; between: blend them */
} lockstep_view;

/* Until the next frame, step, load or close. NOT_FOUND: none yet; UNSUPPORTED: it is hidden. */
LOCKSTEP_API int lockstep_get_view(lockstep *handle, lockstep_view *view);

/* A field of the state, by its path, or with path NULL by its number from 0 on: where it lies. */
LOCKSTEP_API int lockstep_find_field(lockstep *handle, const char *path, uint32_t number,
                                     lockstep_field *field);

typedef enum lockstep_shape_kind {
    LOCKSTEP_DISC = 0,     /* x, y; half_width: the radius */
    LOCKSTEP_BOX = 1,      /* x, y, half_width, half_height, angle */
    LOCKSTEP_LINE = 2,     /* from x, y along angle, half_width long, half_height thick */
    LOCKSTEP_TRIANGLE = 3, /* corners: x and y, three times */
    LOCKSTEP_TEXT = 5,     /* text, to the right of x, y; half_height: of a line */
    LOCKSTEP_WHEEL = 6,    /* a disc on which a mark shows the angle */
} lockstep_shape_kind;

typedef struct lockstep_shape {
    int32_t kind;
    uint32_t id;     /* the same thing keeps its id */
    uint32_t colour; /* 0xRRGGBBAA */
    uint32_t slot;   /* the owner, or LOCKSTEP_NO_SLOT */
    float x, y;      /* world units, y up */
    float half_width, half_height;
    float angle; /* radians */
    float corners[6];
    char text[64];
} lockstep_shape;

/* Client: the picture of this frame, as the game itself draws it (one of the caller's own does
 * not): up to `capacity` shapes of shape_bytes = sizeof(lockstep_shape). Returns how many. */
LOCKSTEP_API int lockstep_draw(lockstep *client, lockstep_shape *shapes, size_t shape_bytes,
                               uint32_t capacity);

/* ---- client, and host ---- */

/* Client: this player's input from now on (`once` 0); or for one tick, in the order of these calls,
 * behind which the other goes on (`once` 1: an order, a jump). FULL: 64 wait. */
LOCKSTEP_API int lockstep_input(lockstep *client, const void *bytes, uint32_t size, int once);

/* Host: sends a player away, with a sentence that it reads. NOT_FOUND: no player sits there. */
LOCKSTEP_API int lockstep_kick(lockstep *host, uint32_t slot, const char *why);

/* Host: halts a match that runs (1), or lets it go on (0), with a sentence that all read. */
LOCKSTEP_API int lockstep_pause(lockstep *host, int is_paused, const char *why);

/* ---- the simulation alone ---- */

/* Steps `count` simulations once each, on inputs that lie behind each other: for each simulation
 * its slots, lockstep_info.input_bytes for each. `sizes` has as many numbers, the bytes of
 * them that each slot uses; NULL: all. In the first tick every slot is told JOINED. */
LOCKSTEP_API int lockstep_step(lockstep *const *sims, size_t count, const void *inputs,
                               const uint32_t *sizes);

/* Copies the state, equal on every kind of machine, if it fits; returns the bytes that it takes. */
LOCKSTEP_API int64_t lockstep_save(lockstep *sim, void *bytes, size_t capacity);

/* Goes on from a saved state, as from `tick`; NULL and 0: from the start. MALFORMED: no change. */
LOCKSTEP_API int lockstep_load(lockstep *sim, const void *bytes, size_t size, uint32_t tick);

/* Plays `ticks` ticks of random inputs from the start, each step twice: the second time on a state
 * that was saved and loaded, and with other bytes in memory that is not set. The simulation itself
 * stays where it is. DESYNCED: the two differ; lockstep_error has the tick, the field, both values
 * and what may be the cause. lockstep-synctest tries much more, of games that are a plug-in. */
LOCKSTEP_API int lockstep_check_steps(lockstep *sim, uint32_t ticks);

/* The hash by which machines compare state lockstep_info.tick. 0: lockstep_error says why. */
LOCKSTEP_API uint64_t lockstep_hash(lockstep *handle);

#ifdef __cplusplus
}
#endif

#endif
