/* Made journal: a journal made in memory, of a match of arena that was really simulated, and the
 * match that goes on from it. Every test has one of its own, `here`. Asserts by Criterion; for the
 * tests of resume alone. */
#ifndef LOCKSTEP_TESTS_UNIT_MADE_JOURNAL_H
#define LOCKSTEP_TESTS_UNIT_MADE_JOURNAL_H

#include "lockstep/server/journal/resume.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    JOURNAL_BLOCK_TICKS = 16,
    /* Slot 1 is told JOINED then, and LEFT and JOINED again later. */
    JOURNAL_SECOND_PLAYER_TICK = 5,
    JOURNAL_CHANGE_TICK = 40,
};

/* A journal to be written, and its faults. */
typedef struct journal_plan {
    uint32_t ticks;
    uint32_t snapshot_ticks; /* between snapshots; 0: none */
    ls_tick gap_first;       /* ticks that are left out */
    ls_tick gap_end;
    ls_tick wrong_hash_tick; /* of the state behind that tick; 0: none */
    ls_tick wrong_snapshot_tick;
    ls_tick change_tick; /* another player sits down on slot 1 then; 0: never */
    bool is_turned_away; /* that one, at once */
    bool is_started;
    bool has_ended; /* an event says so ... */
    bool is_closed; /* ... and END */
    ls_journal_header header;
} journal_plan;

/* A journal, what really happened in its match, and what goes on from it. */
typedef struct resume_place {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    ls_journal_writer *writer;
    sim_fixture *sim;
    uint64_t chain;
    uint64_t hash_chain;
    uint64_t final_hash;
    ls_match_config config; /* as it was recorded */
    ls_resume *resume;
    ls_match *match;
    ls_text why;
} resume_place;

extern resume_place here;

/* The plan of a whole journal of so many ticks, to be changed; opens its simulation. */
journal_plan plan_of(uint32_t ticks, uint32_t snapshot_ticks);
void make_journal(const journal_plan *made);

/* Appends one more. */
void append_event(ls_journal_event_kind kind, uint32_t slot, ls_tick tick, const char *text);

/* Opens so many bytes of it; restore also makes a match of them. here.why says what is wrong. */
ls_status open_resume(size_t size);
ls_status restore(size_t size, ls_resume_report *report);

/* From all its bytes; expects the match that was recorded. */
ls_resume_report restore_all(void);

/* Restores from all its bytes in vain; `words` are in what it is told. */
void expect_refused(ls_status expected, const char *words);

/* Then another one can be restored from the same bytes. */
void forget_match(void);

/* The end of every test. */
void close_all(void);

#endif
