/* Match test: what most tests of whole matches end with, as assertions. Reads what a run has seen;
 * never moves its time. Called by tests/match. */
#ifndef LOCKSTEP_TESTS_MATCH_MATCH_TEST_H
#define LOCKSTEP_TESTS_MATCH_MATCH_TEST_H

#include "lockstep/tests/lab/faultsim/match_check.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS LS_NS_PER_MS
#define SECOND LS_NS_PER_SECOND
#define DT_NS (SECOND / 60)

/* The newest notice of the host that a client has read; NULL: there is none. */
static inline const ls_notice *newest_notice(const virtual_client *client)
{
    const ls_notice *notice = NULL;
    for (uint32_t i = 0; i < client->event_count; i++) {
        const ls_session_event *event = &client->events[i].event;
        notice = event->kind == LS_SESSION_EVENT_NOTICE ? &event->notice : notice;
    }
    return notice;
}

/* No invariant broke. */
static inline void check_sound(virtual_match *run)
{
    cr_assert(match_check_is_sound(check_of(run)), "%s", check_of(run)->fault.bytes);
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
    cr_assert_eq(check_of(run)->tick_count, ls_match_tick(run->match));
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

/* The run ends here, and no invariant broke. */
static inline void close_run(virtual_match *run)
{
    check_sound(run);
    virtual_match_destroy(run);
}

/* Runs the match to its end, checks it, and ends the run. */
static inline void play_out(virtual_match *run)
{
    play_and_check(run);
    virtual_match_destroy(run);
}

/* A match by this setup that has got to the tick. */
static inline virtual_match *match_at(const virtual_setup *setup, ls_tick tick)
{
    virtual_match *run = checked_match_create(setup);
    virtual_match_run_to_tick(run, tick);
    return run;
}

static inline void set_param(virtual_setup *setup, const char *assignment)
{
    ls_text why = {{0}};
    ls_status status =
        ls_sim_config_set(setup->match.simulation, &setup->match.sim, assignment, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
}

/* Everybody but `other` played to the end and agrees. */
static inline void check_others_played(virtual_match *run, const virtual_client *other)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (run->clients[i] != other) {
            check_played_to_the_end(run, run->clients[i]);
        }
    }
}

static inline void flip_bit(virtual_client *client, ls_tick tick, size_t byte)
{
    client->flip.tick = tick;
    client->flip.byte = byte;
}

/* Plays a whole match in which a bit of the second client's state is flipped; gives that client. */
static inline virtual_client *play_flipped(const virtual_setup *setup, ls_tick tick, size_t byte)
{
    virtual_match *run = checked_match_create(setup);
    flip_bit(run->clients[1], tick, byte);
    virtual_match_run_to_end(run);
    return run->clients[1];
}

/* So many clients more, all by the same setup; without one: as at the start of a match. */
static inline void add_clients(virtual_match *run, uint32_t count,
                               const virtual_client_setup *setup)
{
    virtual_client_setup usual = virtual_client_setup_default(run);
    for (; count > 0; count--) {
        virtual_match_add_client(run, setup ? setup : &usual);
    }
}

/* Inputs that were not there when their tick was closed, of all players. */
static inline uint64_t substituted(const virtual_match *run)
{
    uint64_t sum = 0;
    for (uint32_t slot = 0; slot < ls_match_players(run->match); slot++) {
        sum += ls_match_slot_of(run->match, slot).inputs_substituted;
    }
    return sum;
}

static inline ls_session_report report_of(const virtual_client *client)
{
    return ls_session_report_of(client->session);
}

static inline ls_join newest_join(const virtual_client *client)
{
    const virtual_client_event *joining =
        virtual_client_find_newest(client, LS_SESSION_EVENT_JOINING);
    cr_assert(joining != NULL, "client %u has not joined", client->index);
    return joining->event.join;
}

static inline ls_match_slot slot_of(const virtual_match *run, uint32_t slot)
{
    return ls_match_slot_of(run->match, slot);
}

/* The server's report on a client's seat. */
static inline ls_match_slot seat_of(const virtual_client *client)
{
    return ls_match_slot_of(client->run->match, report_of(client).slot);
}

static inline virtual_setup setup_for(const ls_match_config *config, uint64_t seed)
{
    virtual_setup setup = virtual_setup_default(config->simulation, 0, config->ticks);
    setup.match = *config;
    setup.seed = seed;
    return setup;
}

/* A match by this config, with no client yet. */
static inline virtual_match *open_match(const ls_match_config *config, uint64_t seed)
{
    virtual_setup setup = setup_for(config, seed);
    return checked_match_create(&setup);
}

static inline virtual_client *
add_client_session(virtual_match *run, const ls_session_config *session, const ls_link_config *link)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    setup.session = *session;
    setup.session.makes_inputs_between_frames = true;
    setup.up = *link;
    setup.down = *link;
    return virtual_match_add_client(run, &setup);
}

/* The process of a client is gone; its link seems to live. Another one begins with its seat, and
 * with this simulation. */
static inline virtual_client *start_again(virtual_client *crashed, const ls_simulation *simulation)
{
    virtual_client_setup setup = virtual_client_setup_default(crashed->run);
    const ls_offer *offer = ls_session_offer(crashed->session);
    setup.session.reconnect_ms = 60000;
    setup.session.seat.match_id = offer->match_id;
    memcpy(setup.session.seat.secret, offer->secret, sizeof setup.session.seat.secret);
    setup.simulation = simulation;
    setup.up = crashed->up;
    setup.down = crashed->down;
    crashed->is_paused = true;
    return virtual_match_add_client(crashed->run, &setup);
}

/* From now on nothing passes, or what the link lets pass. */
static inline void cut_link(virtual_client *client, bool is_cut)
{
    ls_link_config link = client->up;
    link.is_cut = is_cut;
    virtual_client_set_links(client, &link);
}

/* The client plays, steps what the server closes, and is not far behind. */
static inline void check_plays(const virtual_client *client)
{
    const match_check *check = check_of(client->run);
    uint32_t slack = 30 + client->run->setup.match.hash_interval_ticks;
    ls_session_report report = report_of(client);
    cr_assert_eq(report.state, LS_SESSION_PLAYING, "client %u: state %d, %s", client->index,
                 (int)report.state, ls_status_name(report.status));
    cr_assert_geq(client_check_of(client)->tick + slack, check->tick_count,
                  "client %u: tick %u of %u", client->index, client_check_of(client)->tick,
                  check->tick_count);
}

/* Ends a run in which no state was made to differ: none differed, and no invariant broke. */
static inline void close_match(virtual_match *run)
{
    const match_check *check = check_of(run);
    cr_assert_eq(check->fault_count, 0, "%s", check->fault.bytes);
    cr_assert_eq(virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX), 0);
    for (uint32_t i = 0; i < run->client_count; i++) {
        cr_assert_not(check->clients[i]->has_state_difference, "client %u", i);
    }
    virtual_match_destroy(run);
}

#endif
