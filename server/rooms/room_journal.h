/* Room journal: the recorder and the file of one match, with what is worth saying about them on the
 * console. A match whose journal cannot be written goes on without. Decides nothing about a match.
 * Called by room.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_ROOM_JOURNAL_H
#define LOCKSTEP_SERVER_ROOMS_ROOM_JOURNAL_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/match/match.h"

typedef struct ls_room_journal ls_room_journal;

typedef struct ls_room_journal_config {
    const char *directory;      /* must be there */
    const char *continued_path; /* instead of a directory: the journal that is gone on with */
    ls_journal *continued;      /* of the match, which stands where it ends; for create */
    const char *title;          /* of the match in the log: "match 3"; borrowed until destroy */
    const char *label;          /* a part of the file's name; "": none */
    bool is_public;             /* a broadcast may show it; a journal that is gone on with stays */
    uint32_t number;            /* of the match */
    ls_match *match;            /* outlives the journal */
    const ls_build_fingerprint *print; /* of this program; NULL: unknown */
    const ls_log *log;                 /* borrowed until destroy */
    ls_event_loop *loop;               /* outlives the journal */
    void (*on_closed)(void *user);     /* the match is over, and all is written or given up */
    void *user;
} ls_room_journal_config;

/* Begins the journal and says where it is. IO with the path and the reason in `why`, NO_MEMORY. */
ls_status ls_room_journal_create(const ls_room_journal_config *config,
                                 const ls_allocator *allocator, ls_room_journal **out,
                                 ls_text *why);

/* Leaves what has not been written. NULL is allowed. */
void ls_room_journal_destroy(ls_room_journal *journal);

/* The match has been advanced, or some time has passed: 100 ms, say; or it has an event. */
void ls_room_journal_pull(ls_room_journal *journal, uint64_t now_ns);
void ls_room_journal_receive_event(ls_room_journal *journal, const ls_match_event *event);

/* The match is over and its journal closed, or given up. */
bool ls_room_journal_is_closed(const ls_room_journal *journal);

/* There is a file at its path still. Asks the system. */
bool ls_room_journal_is_there(const ls_room_journal *journal);

/* How many closed ticks are not in the file yet. */
uint32_t ls_room_journal_backlog(const ls_room_journal *journal);

/* How many were left out, since nowhere was room for them any more. */
uint64_t ls_room_journal_ticks_missing(const ls_room_journal *journal);

/* Borrowed until destroy. */
void ls_room_journal_summarize(const ls_room_journal *journal, ls_summary_journal *out);

#endif
