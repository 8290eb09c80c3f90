/* Event rows: what is made of the events of a match, one row for each kind: its word in a service's
 * stream of events, its record in a journal, its line in the log, and whom the line is charged to.
 * Decides nothing else. Called by recorder, room and worker_rooms. */
#ifndef LOCKSTEP_SERVER_JOURNAL_EVENT_ROWS_H
#define LOCKSTEP_SERVER_JOURNAL_EVENT_ROWS_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/server/match/match.h"

typedef enum ls_event_scope {
    LS_EVENT_OF_SLOT,
    LS_EVENT_OF_PEER, /* without a seat */
    LS_EVENT_OF_MATCH,
} ls_event_scope;

typedef struct ls_event_row {
    ls_event_scope scope;
    const char *word;    /* "player-joined"; NULL: it is not in the stream */
    uint32_t record;     /* an ls_journal_event_kind; 0: it is not in the journal */
    bool is_of_its_tick; /* its record; otherwise that is of the tick that is closed next */
    ls_log_level level;
    bool is_mild_when_planned; /* INFO in place of the level, when somebody left as it should be */
    /* With {fields}, which room.c fills in; NULL: none, or more than one sentence. */
    const char *line;
} ls_event_row;

/* A newcomer's READY and LEFT have rows of their own. */
const ls_event_row *ls_event_row_of(const ls_match_event *event);

/* ---- Output limits: how much of what one peer causes a program writes down: lines of its log
 * and bundles of desyncs. Decides only; writes nothing ---- */

#define LS_SLOT_BUNDLES_MAX 8u /* of a slot, whoever sits there */

/* The budget of whom an event tells: one of `slots`, which are the match's, or `peers`, who have no
 * seat; NULL: the match itself, whose lines are not limited. */
ls_log_budget *ls_output_limits_lines(ls_log_budget *slots, ls_log_budget *peers,
                                      const ls_match_event *event);

/* Whether one more bundle of a slot may be written; `bundles` counts it then. */
bool ls_output_limits_reserve_bundle(uint32_t *bundles);

#endif
