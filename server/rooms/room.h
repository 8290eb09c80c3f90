/* Room: a match of a server with all that the program keeps around it: its journal, the bundles of
 * its desyncs, its lines in the log and what they may cost, and its summary. Decides nothing about
 * the match, and does not own it. Called by rooms.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/console.h"
#include "lockstep/protocol/transport/transport.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/journal/resume.h"
#include "lockstep/server/rooms/desync_files.h"
#include "lockstep/server/rooms/room_journal.h"

typedef struct ls_room ls_room;

/* Shared by the rooms of a process, and outlives them. */
typedef struct ls_room_ground {
    ls_console *console;
    ls_event_loop *loop;
    const ls_transport *transport;
    ls_desync_files *files;   /* NULL: no bundles are written */
    ls_log_budget peer_lines; /* of peers without a seat */
    uint64_t serials;         /* that were given out */
    /* The match of a room is over and its journal closed; not called of one without a journal. */
    void (*on_closed)(void *user);
    void *user;
} ls_room_ground;

/* A room that is to be opened. */
typedef struct ls_room_opening {
    ls_match_config match; /* with a key and an id of its own */
    /* "match 3", before its lines, and "match3", in names of files; NULL: it is the only one. */
    const char *title;
    const char *label;
    const char *name;          /* tokens may call its match so; NULL: by its number or id */
    bool is_for_invited;       /* takes only clients that were let in for it */
    const ls_held_seats *held; /* see match_table.h; NULL: none are */
    const char *journal_dir;   /* NULL: no journal is written, unless one is gone on with */
    bool is_public;            /* a broadcast may show what is in its journal */
    ls_resume *resume; /* its match goes on from this journal, in the same file; NULL: it is new */
    const char *resume_path;
    void *owner; /* see ls_room_owner */
} ls_room_opening;

/* The room of a match of this number, which outlives it. Begins its journal, if it gets one. IO
 * with the path and the reason in `why`, NO_MEMORY. */
ls_status ls_room_create(const ls_room_opening *opening, uint32_t number, ls_match *match,
                         ls_room_ground *ground, ls_room **out, ls_text *why);
/* Leaves what has not been written. NULL is allowed. */
void ls_room_destroy(ls_room *room);

/* The match has said something; was advanced, or time has passed. */
void ls_room_receive_event(ls_room *room, const ls_match_event *event);
void ls_room_pull(ls_room *room, uint64_t now_ns);

/* A connection has ended, of whomever it was: what it has carried is kept. */
void ls_room_on_disconnect(ls_room *room, ls_peer_id peer);

/* A bundle was written, or not, of this room or another. */
void ls_room_receive_bundle(ls_room *room, const ls_desync_file *file);

ls_match *ls_room_match(const ls_room *room);
uint32_t ls_room_number(const ls_room *room); /* of its match */
void *ls_room_owner(const ls_room *room);     /* as it was given; NULL: none */
/* Of the player who sits or sat last in this seat, as far as is known. */
ls_transport_traffic ls_room_traffic(const ls_room *room, uint32_t slot);
const char *ls_room_title(const ls_room *room); /* "": it is the only one */
bool ls_room_has_desync(const ls_room *room);
/* The match is over and its journal, if it has one, closed. */
bool ls_room_is_done(const ls_room *room);
/* It is, for the first time that this is asked. */
bool ls_room_is_done_now(ls_room *room);

/* Fills the summary, whose texts are borrowed from the room, and logs it. */
void ls_room_summarize(ls_room *room, ls_summary *summary);

/* NULL: it has none. */
const ls_room_journal *ls_room_journal_of(const ls_room *room);

#endif
