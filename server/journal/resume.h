/* Resume: a match that goes on from its journal: what the journal says of its settings and of who
 * sits where, and the match itself, brought to the last tick that was recorded, with every recorded
 * state hash compared on the way. It is given the bytes of the file and does no I/O; what cannot be
 * gone on with it refuses, with a sentence. Called by server.c and main, once, before the match
 * runs. */
#ifndef LOCKSTEP_SERVER_JOURNAL_RESUME_H
#define LOCKSTEP_SERVER_JOURNAL_RESUME_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/server/match/match.h"

LS_C_BEGIN

typedef struct ls_resume ls_resume;

/* A seat as the journal tells it, as far as it was written down. */
typedef struct ls_resume_seat {
    ls_seat_generations generations;
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* of the last one */
    ls_tick seated_tick;                 /* the next to be closed when the last one sat down */
    bool has_left;                       /* the last one has, and the seat was free */
} ls_resume_seat;

/* Figures of a restored match, for a person. */
typedef struct ls_resume_report {
    ls_tick from_tick;     /* of the snapshot it was simulated from; 0: from the beginning */
    ls_tick tick;          /* the next to be closed */
    bool has_begun;        /* as far as the journal says; otherwise its lobby is open again */
    uint64_t state_hashes; /* compared */
    ls_text loss;          /* what was lost of the file, to damage; empty: nothing */
    uint64_t cut_bytes;    /* at its end, which are written over */
    bool is_cut_at_gap;    /* ticks were missing there and no snapshot stood behind them: told.tick
                              is the first of them */
    ls_slot_set in_band;   /* slots that were playing, as the simulation was told */
    ls_tick missing_tick;  /* ticks are missing before from_tick, the first of them; UINT32_MAX */
} ls_resume_report;

/* Reads the whole journal; the bytes stay borrowed until close. Where ticks are missing and no
 * snapshot stands behind them, it ends there. MALFORMED: it is none, or its header is damaged;
 * ALREADY_OVER: its match has ended; UNSUPPORTED: it was cut out of another; NOT_FOUND: nothing of
 * it is left before the missing ticks; NO_MEMORY. `why` says it. */
ls_status ls_resume_open(const uint8_t *bytes, size_t size, const ls_allocator *allocator,
                         ls_resume **out, ls_text *why);
void ls_resume_close(ls_resume *resume);

/* For the file that is gone on with. */
ls_journal *ls_resume_journal(ls_resume *resume);

/* The name of the simulation that was recorded. */
const char *ls_resume_simulation(const ls_resume *resume);

/* The configuration with which the match was recorded; what a journal does not hold is as
 * ls_match_config_default has it. SIMULATION_MISMATCH, SIMULATION_VERSION_MISMATCH. */
ls_status ls_resume_configure(const ls_resume *resume, const ls_simulation *simulation,
                              ls_match_config *out, ls_text *why);

/* Whether a configuration still is that of the journal, after command-line flags were applied to
 * it: BAD_ARGUMENT names the flag and both values. */
ls_status ls_resume_check(const ls_resume *resume, const ls_match_config *config, ls_text *why);

/* Brings a match that was created with that configuration, and has not been called since, to where
 * its journal ends; it waits for its players then (LS_MATCH_RESUMING, or LS_MATCH_LOBBY when the
 * journal does not say that it had begun). DESYNCED with tick and both
 * state hashes when a state is not what was recorded; a mismatch of digests; MALFORMED; NO_MEMORY.
 * After a failure the match is destroyed. */
ls_status ls_resume_restore(ls_resume *resume, ls_match *match, uint64_t now_ns,
                            ls_resume_report *report, ls_text *why);

/* slot < the journal's players. */
const ls_resume_seat *ls_resume_seat_of(const ls_resume *resume, uint32_t slot);

LS_C_END

#endif
