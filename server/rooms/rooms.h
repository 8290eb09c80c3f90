/* Rooms: the rooms of one process on a real network: opens them, with a new match or with one that
 * goes on from its journal, lets each hear of its match, and closes them. Owns the host, and the
 * loop with it. Decides nothing about a match, and not which rooms there are. Called by server.c.
 */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOMS_H
#define LOCKSTEP_SERVER_ROOMS_ROOMS_H

#include "lockstep/common/base/setting_row.h"
#include "lockstep/server/host/admission.h"
#include "lockstep/server/host/host.h"
#include "lockstep/server/journal/resume.h"
#include "lockstep/server/rooms/room.h"

/* ---- Hosting: the settings of whoever hosts matches, beside those of a match: the game, where it
 * listens, who gets in, and which files it writes. Called by lockstep-server and by the shared
 * library ---- */

typedef struct ls_hosting {
    const char *sim, *bind_host, *bundle_dir, *journal_dir, *resume_path;
    uint32_t port, bundle_limit;
    ls_admission_options admission;
} ls_hosting;

extern const ls_setting_table ls_hosting_settings; /* of an ls_hosting */

ls_hosting ls_hosting_default(void);

/* Whether settings fit together. BAD_ARGUMENT. */
ls_status ls_hosting_check(const ls_hosting *hosting, ls_text *why);

typedef struct ls_rooms_config {
    ls_console *console; /* outlives the rooms */
    /* Address, sealed and of the table players_max, matches_max (the rooms that are open at a time)
     * and at_work; all else is set by the rooms. */
    ls_host_config host;
    const char *bundle_dir;  /* gets the bundles of desyncs; NULL: none are written */
    uint32_t bundle_mib_max; /* of all bundles together */
    bool is_lasting;         /* goes on when every room is done; else the loop stops then */
    /* Called for each event of a room, behind its lines in the log; NULL: no callback. */
    void (*on_event)(void *user, ls_room *room, const ls_match_event *event);
    /* Called after each advance of a room's match, which was due at `due_ns`; NULL: no callback. */
    void (*on_advanced)(void *user, ls_room *room, uint64_t due_ns, uint64_t now_ns);
    /* As in match_table.h, or NULL. */
    const char *(*put_off)(void *user, const ls_match_asker *asker);
    /* A room is done: it may be closed within. Called once; NULL: no callback. */
    void (*on_done)(void *user, ls_room *room);
    /* A bundle was written, or could not be, perhaps of a room that is gone; NULL: no callback. */
    void (*on_bundle)(void *user, const ls_desync_file *file);
    void *user;
} ls_rooms_config;

typedef struct ls_rooms ls_rooms;

/* Listens, and has no room yet. BAD_ARGUMENT, NOT_FOUND, IO, NO_MEMORY. */
ls_status ls_rooms_create(const ls_rooms_config *config, ls_rooms **out, ls_text *why);
/* Leaves what has not been written. NULL is allowed. */
void ls_rooms_destroy(ls_rooms *rooms);

/* Gives a match a key and an id that no other has. IO. */
ls_status ls_rooms_give_identity(ls_match_config *match, ls_text *why);

/* Opens a room; `report` tells of one that goes on, and is NULL otherwise. FULL, or what the match,
 * its journal's restoring or its new journal says, with `why`. */
ls_status ls_rooms_open(ls_rooms *rooms, const ls_room_opening *opening, ls_room **out,
                        ls_resume_report *report, ls_text *why);

/* Forgets a room; its peers are disconnected. Not from within on_event. */
void ls_rooms_close(ls_rooms *rooms, ls_room *room);

/* While the rooms rest, what becomes due without a tick is not looked for: for a time in which
 * nobody is in any of them. They do not rest at first. */
void ls_rooms_set_resting(ls_rooms *rooms, bool are_resting);

/* Waits for the bundles that are being written. */
void ls_rooms_finish_bundles(ls_rooms *rooms);

/* The numbers of all rooms are below it. */
uint32_t ls_rooms_count(const ls_rooms *rooms);

/* NULL: there is none of this number. */
ls_room *ls_rooms_room(const ls_rooms *rooms, uint32_t number);

/* Owned by the rooms. */
ls_host *ls_rooms_host(const ls_rooms *rooms);

#endif
