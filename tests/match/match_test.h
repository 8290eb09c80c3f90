/* Match test: what most tests of whole matches end with, as assertions. Reads what a run has seen;
 * never moves its time. Called by tests/match. */
#ifndef LOCKSTEP_TESTS_MATCH_MATCH_TEST_H
#define LOCKSTEP_TESTS_MATCH_MATCH_TEST_H

#include "lockstep/tools/faultsim/virtual_match.h"

#include <criterion/criterion.h>

#define MS LS_NS_PER_MS
#define SECOND LS_NS_PER_SECOND

/* No invariant broke. */
static inline void check_sound(virtual_match *run)
{
    cr_assert(virtual_match_is_sound(run), "%s", run->fault.bytes);
}

/* This client played the match to its end and agrees with the server about it. */
static inline void check_played_to_the_end(virtual_match *run, const virtual_client *client)
{
    ls_session_report session = ls_session_report_of(client->session);
    ls_match_slot slot = ls_match_slot_of(run->match, session.slot);
    cr_assert_eq(session.status, LS_OK, "client %u: %s", client->index,
                 ls_status_name(session.status));
    cr_assert_eq(session.tick, ls_match_tick(run->match));
    cr_assert_eq(slot.left_status, LS_OK);
    cr_assert(slot.has_finished);
    cr_assert_eq(slot.finished.state_hash, ls_match_hash(run->match));
}

/* Everything is over, everybody played to the end, and something was played. */
static inline void check_complete(virtual_match *run)
{
    cr_assert(virtual_match_is_over(run), "still running at tick %u", ls_match_tick(run->match));
    if (run->setup.match.ticks > 0) {
        cr_assert_eq(ls_match_tick(run->match), run->setup.match.ticks);
    }
    cr_assert_eq(run->tick_count, ls_match_tick(run->match));
    for (uint32_t i = 0; i < run->client_count; i++) {
        check_played_to_the_end(run, run->clients[i]);
    }
    check_sound(run);
}

/* Runs the match to its end and checks it. */
static inline void play_and_check(virtual_match *run)
{
    virtual_match_run_to_end(run);
    check_complete(run);
}

static inline ls_session_report report_of(const virtual_client *client)
{
    return ls_session_report_of(client->session);
}

static inline ls_match_slot slot_of(const virtual_match *run, uint32_t slot)
{
    return ls_match_slot_of(run->match, slot);
}

#endif
