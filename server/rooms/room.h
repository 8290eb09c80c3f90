/* Room: a match of a server with all that the program keeps around it: its journal, the bundles of
 * its desyncs, its lines in the log and what they may cost, and its summary. Decides nothing about
 * the match, and does not own it. Called by rooms.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_H

#include "lockstep/common/base/log_budget.h"
#include "lockstep/common/program/console.h"
#include "lockstep/server/rooms/desync_files.h"
#include "lockstep/server/rooms/room_journal.h"

/* Shared by the rooms of a process, and outlives them. */
typedef struct ls_room_ground {
    ls_console *console;
    ls_event_loop *loop;
    ls_desync_files *files;    /* NULL: no bundles are written */
    ls_log_budget *peer_lines; /* of peers without a seat */
} ls_room_ground;

typedef struct ls_room_config {
    uint64_t serial; /* no other room of this process ever has it */
    uint32_t number; /* of its match */
    ls_match *match; /* outlives the room */
    /* "match 3", before its lines, and "match3", in names of files; NULL: it is the only one. */
    const char *title;
    const char *label;
    const ls_build_fingerprint *print; /* of this program; outlives the room; NULL: unknown */
    const char *journal_dir;           /* NULL: no journal is written, unless one is continued */
    const char *continued_path;        /* the journal that is gone on with, and ... */
    ls_journal *continued;             /* ... what was read of it, for create; NULL: none */
    /* The match is over and its journal closed; or there is none: then nobody is called. */
    void (*on_closed)(void *user);
    void *user;
} ls_room_config;

typedef struct ls_room ls_room;

/* Begins its journal, if it gets one. IO with the path and the reason in `why`, NO_MEMORY. */
ls_status ls_room_create(const ls_room_config *config, const ls_room_ground *ground, ls_room **out,
                         ls_text *why);
/* Leaves what has not been written. NULL is allowed. */
void ls_room_destroy(ls_room *room);

/* The match has said something; was advanced, or time has passed. */
void ls_room_take_event(ls_room *room, const ls_match_event *event);
void ls_room_pull(ls_room *room, uint64_t now_ns);

/* A bundle of this room was written, or not. */
void ls_room_take_bundle(ls_room *room, const ls_desync_file *file);

/* Lines of the console are about this room from here to the end. */
void ls_room_begin_lines(ls_room *room);
void ls_room_end_lines(ls_room *room);

uint64_t ls_room_serial(const ls_room *room);
ls_match *ls_room_match(const ls_room *room);
const char *ls_room_title(const ls_room *room); /* "": it is the only one */
bool ls_room_has_desync(const ls_room *room);
/* The match is over and its journal, if it has one, closed. */
bool ls_room_is_done(const ls_room *room);

/* Fills the summary, whose texts are borrowed from the room, and logs it. `traffic` has one entry
 * per slot. */
void ls_room_summarize(ls_room *room, const ls_transport_traffic *traffic, ls_summary *summary);

/* NULL: it has none. */
const ls_room_journal *ls_room_journal_of(const ls_room *room);

#endif
