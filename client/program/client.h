/* Client: what its main runs: one session on a real network: the event loop, the UDP transport, a
 * bot and the session, wired together, with its events on the console. */
#ifndef LOCKSTEP_CLIENT_PROGRAM_CLIENT_H
#define LOCKSTEP_CLIENT_PROGRAM_CLIENT_H

#include "lockstep/client/program/client_view.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/runtime/rerun/rerun_process.h"
#include "lockstep/common/simulation/simulation.h"

#define LS_CLIENT_FPS_MAX 1000u

/* The fault that `--flip-bit` plants in the own state, so that a user can see what a desync looks
 * like. */
typedef struct ls_bit_flip {
    ls_tick tick; /* after the step to this state; 0: never */
    uint64_t bit; /* modulo the size of the state */
    bool has_told;
} ls_bit_flip;

typedef struct ls_client_config {
    const char *server;       /* HOST, HOST:PORT, or an invite; NULL: the token's addresses */
    const char *token_path;   /* a connect token; NULL: none */
    bool is_insecure;         /* believes whoever answers at HOST:PORT, on any network */
    bool avoids_direct;       /* by a code, has the relay carry all */
    uint32_t connect_wait_ms; /* how long to try to reach it for the first time; 0: try once */
    ls_session_config
        session; /* what the player and the build are; the client adds the callbacks */
    const ls_simulation *simulation; /* NULL: the built-in that the server names */
    ls_rerun_process *reruns;        /* the host of the session's re-runs; NULL: there is none */
    bool has_chat;                   /* the person reads and writes to the other players */
    bool has_bot;                    /* else the view's person plays, or the inputs are empty */
    uint64_t bot_seed;
    uint32_t bot_delay_ticks; /* 0: the bot answers the newest state; see ls_delayed_bot */
    uint32_t fps;             /* 1 .. LS_CLIENT_FPS_MAX; not for a view, which has its own */
    ls_screen_config view;    /* of kind NONE: there is no window */
    ls_bit_flip flip;
    uint32_t matches_max;  /* of a room that plays one after the other; 0: all */
    const char *seat_path; /* remembers the seat for a process after this one; NULL: nothing does */
    const char *json_path; /* NULL: no summary; "-": standard output */
    const char *frames_path; /* where the frames' times go, see frame_trace.h; NULL: nowhere */
} ls_client_config;

/* Plays the match to its end, and those that follow it in the same room, until it leaves, or until
 * SIGINT, SIGTERM or SIGHUP. Each match has a summary; that of the newest is kept. */
ls_exit_code ls_client_run(const ls_client_config *config, ls_console *console);

/* ---- finder: looks for servers on the local network for a second, or asks a relay for the games
 * that it lists, and prints a table of them ---- */

typedef struct ls_finder_config {
    bool is_asked;         /* whether the command line asks for it at all */
    const char *address;   /* of the broadcast, IPv4; NULL: that of every interface */
    uint32_t port;         /* UDP, of the queries */
    const char *json_path; /* NULL: no summary; "-": standard output, in place of the table */
} ls_finder_config;

/* CLEAN when a server has answered, ENVIRONMENT when none has. */
ls_exit_code ls_finder_run(const ls_finder_config *config, ls_console *console);

/* Games: of the relay at HOST[:PORT]; NULL for `json_path`: no summary; "-": standard output, in
 * place of the table. CLEAN when the relay lists a game, ENVIRONMENT when it lists none or does not
 * answer. */
ls_exit_code ls_game_list_run(const char *relay, const char *json_path, ls_console *console);

#endif
