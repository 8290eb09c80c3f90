/* Room game: the simulation of a room, and what it takes to play it: its parameters and their
 * files, the settings of the match, the journal that it goes on from, the fingerprint of its code,
 * and the processes that run its ticks again for a diagnosis. Outlives the room. Called by main and
 * worker.
 */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_GAME_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_GAME_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/journal/resume.h"

/* ---- Room files: which files the parameters of a service's room may name. A room that is made
 * over the API or by an annotation gets files from beneath the folders that the operator has named,
 * and from nowhere else; a file that the operator's configuration names may lie anywhere. Code is
 * taken by its digest alone. Called by room_game ---- */

/* Lists of lines, of which each ends with a newline; NULL: an empty list. */
typedef struct ls_room_files {
    const char *folders; /* that files are taken from */
    const char *named;   /* "name=PATH" of the configuration */
    const char *code;    /* SHA-256 of files that may be run, in 64 hexadecimal digits each */
    bool is_foreign;     /* set once a file was taken from a folder */
} ls_room_files;

/* A room that an operator asks for. The texts outlive the game. */
typedef struct ls_room_request {
    const char *sim; /* a built-in or a file; NULL: what the journal names, or units */
    /* In place of `sim`: one of this process; NULL: `sim` counts. */
    const ls_simulation *simulation;
    /* Where ticks are run again; NULL: in helper processes, which are this program once more. */
    const struct ls_rerun_host *rerun_host;
    const char *resume_path;   /* of the journal that the match goes on from; NULL: it is new */
    ls_match_config match;     /* fields of it, ... */
    uint64_t given;            /* ... of these rows of ls_match_settings */
    uint32_t spectators;       /* where the request says nothing of them */
    const char *const *params; /* "name=value" */
    uint32_t param_count;
    const ls_room_files *files; /* that they may name; NULL: any, the request is the operator's */
} ls_room_request;

typedef struct ls_room_game ls_room_game;

/* Reads the journal, if there is one. IO, or what ls_resume_open says. */
ls_status ls_room_game_create(const ls_room_request *request, ls_room_game **out, ls_text *why);

/* Loads the simulation and decides the match. Fails with what ls_simulation_load and the checks of
 * settings and parameters say. */
ls_status ls_room_game_load(ls_room_game *game, ls_text *why);

/* A sentence about a room that could not be opened: what a simulation says of a file of somebody
 * else is left out, since it may quote the file. */
void ls_room_game_veil(const ls_room_game *game, ls_text *why);

/* Tells an operator of settings without effect, and before a desync what a report of this
 * simulation cannot have. */
void ls_room_game_warn(const ls_room_game *game, const ls_log *log);

/* From where ticks are run again; before the first desync. */
void ls_room_game_attach(ls_room_game *game, ls_event_loop *loop);
/* Before the loop is destroyed, and behind its room. */
void ls_room_game_detach(ls_room_game *game);

/* NULL is allowed. */
void ls_room_game_destroy(ls_room_game *game);

/* All but a key and an id, unless it goes on from a journal. */
const ls_match_config *ls_room_game_match(const ls_room_game *game);
const char *ls_room_game_simulation(const ls_room_game *game); /* as it was given */
ls_resume *ls_room_game_resume(const ls_room_game *game);      /* NULL: the match is new */

#endif
