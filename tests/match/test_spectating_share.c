/* The share of spectators: one that comes and goes again and again, or takes its state at a
 * trickle, neither costs more than its part nor keeps others out. */
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    DELAY_TICKS = 6,
    PLACES = 16,
    STREAMS = 8, /* of states to spectators, at a time */
    OWN = 7,     /* an origin, and another one */
    OTHER = 8,
};

static const ls_link_config near_link = {.delay_ns = MS};

/* The run pumps them to its end. */
static raw_peer *peers[64];
static uint32_t peer_count;

static virtual_match *open_watched(void)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 2, 0);
    setup.match.spectators_max = PLACES;
    setup.match.spectator_delay_ticks = DELAY_TICKS;
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run_to_tick(run,
                              300); /* there is another state than the first one to begin with */
    return run;
}

/* Comes from this origin to watch, and takes nothing of its state. */
static raw_peer *come(virtual_match *run, uint64_t origin)
{
    const raw_peer_owner owner = {.origin = origin};
    raw_peer *peer = raw_peer_create_for(run, &near_link, &owner);
    peers[peer_count++] = peer;
    peer->takes_no_parts = true;
    virtual_match_run(run, 5 * MS);
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    message.body.hello.is_spectator = true;
    raw_peer_send_message(peer, &message);
    virtual_match_run(run, 5 * MS);
    raw_peer_say_ready(peer);
    virtual_match_run(run, 200 * MS);
    return peer;
}

/* Takes its state too. */
static raw_peer *come_and_watch(virtual_match *run, uint64_t origin)
{
    raw_peer *peer = come(run, origin);
    peer->takes_no_parts = false; /* a late one has a stream when this one is done */
    virtual_match_run(run, 200 * MS);
    raw_peer_send_joined(peer, peer->join.tick, peer->join.state_hash, 0);
    return peer;
}

static void go(const raw_peer *peer)
{
    ls_transport_disconnect(peer->transport, peer->server);
    virtual_match_run(peer->run, 5 * MS);
}

/* JOINs with a state that so many visits get. */
static uint32_t visit(virtual_match *run, uint64_t origin, uint32_t visits)
{
    uint32_t sent = 0;
    for (uint32_t i = 0; i < visits; i++) {
        raw_peer *peer = come(run, origin);
        sent += peer->heard[LS_MESSAGE_JOIN] > 0 && peer->join.blob_bytes > 0;
        go(peer);
    }
    return sent;
}

static void end(virtual_match *run)
{
    ls_match_stop(run->match, virtual_match_server_ns(run));
    virtual_match_run_to_end(run);
    close_run(run);
    while (peer_count > 0) {
        raw_peer_destroy(peers[--peer_count]);
    }
}

Test(spectating_share, an_origin_that_watches_again_and_again_is_sent_so_many_states)
{
    virtual_match *run = open_watched();
    uint32_t sent = visit(run, OWN, 14); /* in three seconds */
    cr_expect(sent >= 8 && sent <= 10, "%u", sent);
    raw_peer *waiting = come(run, OWN);
    virtual_match_run(run, 2 * SECOND);
    cr_expect_eq(waiting->heard[LS_MESSAGE_JOIN], 1, "its turn comes");
    cr_expect_eq(waiting->heard[LS_MESSAGE_REFUSE], 0);
    go(waiting);
    end(run);
}

Test(spectating_share, others_come_in_meanwhile)
{
    virtual_match *run = open_watched();
    visit(run, OWN, 12);
    raw_peer *waiting = come(run, OWN);
    cr_expect_eq(waiting->heard[LS_MESSAGE_JOIN], 0);
    cr_expect_eq(visit(run, OTHER, 1), 1);
    cr_expect_eq(visit(run, 0, 12), 12, "of nobody knows whom");
    go(waiting);
    end(run);
}

Test(spectating_share, a_crowd_behind_one_address_comes_in_at_once)
{
    virtual_match *run = open_watched();
    raw_peer *crowd[PLACES];
    for (uint32_t i = 0; i < PLACES; i++) {
        crowd[i] = come_and_watch(run, OWN);
    }
    virtual_match_run(run, SECOND);
    for (uint32_t i = 0; i < PLACES; i++) {
        cr_expect_eq(crowd[i]->heard[LS_MESSAGE_JOIN], 1, "%u", i);
    }
    end(run); /* to which they stay */
}

Test(spectating_share, whoever_takes_its_state_at_a_trickle_makes_room_for_others)
{
    virtual_match *run = open_watched();
    raw_peer *slow[STREAMS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        slow[i] = come(run, OWN);
        cr_expect_eq(slow[i]->heard[LS_MESSAGE_JOIN], 1, "%u", i);
    }
    raw_peer *honest = come(run, OTHER);
    virtual_match_run(run, 3500 * MS);
    cr_expect_eq(honest->heard[LS_MESSAGE_JOIN], 1, "a stream is free within seconds");
    uint32_t gone = 0;
    for (uint32_t i = 0; i < STREAMS; i++) {
        gone += slow[i]->is_closed;
    }
    cr_expect(gone > 0 && gone < STREAMS, "%u", gone);
    end(run);
}

/* They wait in no order, so to speak: where they come from counts. */
Test(spectating_share, an_origin_with_many_connections_does_not_wait_in_front_of_others)
{
    virtual_match *run = open_watched();
    for (uint32_t i = 0; i < PLACES - 1; i++) {
        (void)come(run, OWN); /* 3.1 s: all streams, and more that wait for one */
    }
    raw_peer *honest = come(run, OTHER);
    virtual_match_run(run, 300 * MS);
    cr_expect_eq(honest->heard[LS_MESSAGE_JOIN], 1, "the next stream is its own");
    end(run);
}

Test(spectating_share, an_origin_that_has_taken_all_places_makes_room_down_to_half_of_them)
{
    virtual_match *run = open_watched();
    raw_peer *crowd[PLACES];
    for (uint32_t i = 0; i < PLACES; i++) {
        crowd[i] = come_and_watch(run, OWN);
    }
    cr_expect_eq(come(run, OWN)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    for (uint32_t i = 0; i < PLACES / 2; i++) {
        cr_expect_eq(come(run, OTHER + i)->heard[LS_MESSAGE_REFUSE], 0, "%u", i);
    }
    cr_expect_eq(come(run, OTHER)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    uint32_t left = 0;
    for (uint32_t i = 0; i < PLACES; i++) {
        left += !crowd[i]->is_closed;
    }
    cr_expect_eq(left, PLACES / 2, "%u", left);
    end(run);
}

Test(spectating_share, nobody_is_too_slow_while_nobody_waits)
{
    virtual_match *run = open_watched();
    raw_peer *slow = come(run, OWN);
    virtual_match_run(run, 6 * SECOND);
    cr_expect_not(slow->is_closed);
    end(run);
}
