/* Recorder: writes down a match while it is played, as a state machine without I/O: it pulls closed
 * ticks, state hashes, events and now and then a snapshot out of the match and hands whole records
 * to a store, which compresses and writes them elsewhere. It never makes the match wait: when the
 * store is behind or fails, it holds what its fixed memory holds, then lets ticks go, says so, and
 * goes on when writing works again. Allocates nothing once it is created. Called by the driver of a
 * match, in the match's thread. */
#ifndef LOCKSTEP_SERVER_JOURNAL_RECORDER_H
#define LOCKSTEP_SERVER_JOURNAL_RECORDER_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/server/match/match.h"

LS_C_BEGIN

typedef struct ls_recorder_config {
    uint32_t match_number;
    const ls_build_fingerprint *print; /* borrowed for create; NULL: unknown */

    uint32_t block_ms;    /* ticks are handed on after so long at most; 1 .. 60,000 */
    uint32_t snapshot_ms; /* between snapshots at least; 0: none */
    /* Large states are written less often, so that snapshots, before they are compressed, take no
     * more than this. */
    uint64_t snapshot_bytes_per_s;
    uint32_t retry_ms; /* after a failure; 1 .. 60,000 */

    /* The journal has a header already and every tick before the match's next one. */
    bool is_continued;
} ls_recorder_config;

/* Blocks every 250 ms, snapshots every 10 s and at most 1 MiB/s of them, retries every second. */
ls_recorder_config ls_recorder_config_default(void);

/* Figures for a person and for metrics. */
typedef struct ls_recorder_figures {
    uint64_t records;       /* in the file */
    uint64_t bytes;         /* likewise */
    uint64_t ticks;         /* likewise */
    uint64_t snapshots;     /* whole ones, likewise */
    uint64_t failures;      /* of writes */
    uint64_t ticks_missing; /* left out, since nowhere was room for them any more */
    uint64_t events_missing;
    uint64_t snapshots_failed; /* could not be written to their end */
    uint32_t backlog_ticks;    /* closed and not yet in the file */
    uint32_t backlog_max;
    bool is_failing;               /* the newest write failed, of anything but a snapshot */
    bool is_leaving_out_snapshots; /* the newest one could not be written */
    ls_text why;                   /* of the newest failure */
} ls_recorder_figures;

typedef struct ls_recorder ls_recorder;

/* No record of the match is larger: what the store has to be made for. */
size_t ls_recorder_raw_bytes_max(const ls_recorder_config *config, ls_match *match);

/* The match and the store's user outlive the recorder; the match stands at its beginning or where
 * the journal that is continued ends. NO_MEMORY. */
ls_status ls_recorder_create(const ls_recorder_config *config, ls_match *match,
                             const ls_journal_store *store, const ls_allocator *allocator,
                             ls_recorder **out);
void ls_recorder_destroy(ls_recorder *recorder);

/* Takes what the match has closed, and hands on what is due. After each call of the match that may
 * have closed ticks, and now and then, since time passes: every 100 ms, say. */
void ls_recorder_pull(ls_recorder *recorder, uint64_t now_ns);

/* A piece of the match's events: each of them, in the order in which they come. The journal is
 * closed behind LS_MATCH_FINISHED; but one that is continued, of a match that was stopped before it
 * went on, is left as it is: its players may hold more ticks than it does. */
void ls_recorder_receive_event(ls_recorder *recorder, const ls_match_event *event);

/* Anything else that is worth writing down. */
void ls_recorder_note(ls_recorder *recorder, const ls_journal_event *event);

/* A record that was submitted is through. */
void ls_recorder_complete(ls_recorder *recorder, const ls_journal_completion *completion,
                          uint64_t now_ns);

/* The match is over and its journal closed, or the end could not be written. */
bool ls_recorder_is_done(const ls_recorder *recorder);

const ls_recorder_figures *ls_recorder_figures_of(const ls_recorder *recorder);

/* True once for each time that writing begins to fail (`is_failing`) or works again: for the
 * console. */
bool ls_recorder_has_event(ls_recorder *recorder);

/* Likewise of snapshots (`is_leaving_out_snapshots`): a disk that is nearly full takes ticks long
 * after it has no room for those. */
bool ls_recorder_has_snapshot_event(ls_recorder *recorder);

LS_C_END

#endif
