/* Crash log: the line of the log about a simulation that crashes, in the log's format, with the
 * room and match that were played. It is written in a handler of signals, which can look nothing
 * up: all that it needs is noted here beforehand. One for the process. Called by main, server.c,
 * worker and worker_rooms. */
#ifndef LOCKSTEP_SERVER_ROOMS_CRASH_LOG_H
#define LOCKSTEP_SERVER_ROOMS_CRASH_LOG_H

#include "lockstep/common/program/console.h"
#include "lockstep/server/host/match_table.h"

/* In place of the number of a match: one that is being opened. */
#define LS_CRASH_LOG_OPENING LS_MATCHES_MAX

typedef struct ls_crash_log_match {
    const char *title;      /* of its room, as in the log; NULL: it is the only one */
    uint64_t match_id;      /* 0: it has none yet */
    const char *simulation; /* as it was given; NULL: the one that was loaded last */
} ls_crash_log_match;

/* From now on crashes are told so. The console outlives the process' matches. */
void ls_crash_log_begin(const ls_console *console);

/* Where the number of the match that is called, plus 1, stands, or 0: see match_table.h. A place of
 * its own for those who have none; or another one, which outlives the matches. */
uint32_t *ls_crash_log_place(void);
void ls_crash_log_watch(const uint32_t *at_work);

/* Copies what is said of a match, .. LS_CRASH_LOG_OPENING; NULL: it is over. */
void ls_crash_log_note(uint32_t match, const ls_crash_log_match *about);

#endif
