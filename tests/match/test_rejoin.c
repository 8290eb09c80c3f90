/* Coming late and coming back, seen from the server: the seat, how the state comes, when
 * the input counts, and that no client that lies or stops half way hurts those who play. */
#include "lockstep/common/base/secret.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    HONEST = 2,
    TICKS = 1200,
    PEERS_MAX = 16,
};

typedef struct stage {
    virtual_match *run;
    raw_peer *peer; /* the one that it is about now */
    uint32_t slot;
    raw_peer *peers[PEERS_MAX];
    uint32_t peer_count;
} stage;

static virtual_setup setup_of(uint32_t seats)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, TICKS);
    setup.match.sim.players = seats;
    setup.match.start_players = HONEST;
    setup.match.timeout_ms = 2000;
    return setup;
}

static void deliver(const stage *here)
{
    virtual_match_run(here->run, 3 * MS);
}

/* One more, connected. */
static raw_peer *add_peer(stage *here)
{
    raw_peer *peer = raw_peer_create(here->run);
    cr_assert_lt(here->peer_count, PEERS_MAX);
    here->peers[here->peer_count++] = peer;
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

/* One more, that asks for a seat. */
static raw_peer *come_anew(stage *here)
{
    raw_peer *peer = add_peer(here);
    raw_peer_say_hello(peer);
    deliver(here);
    return peer;
}

/* Two play in a match with a free seat. */
static stage open_stage(const virtual_setup *setup)
{
    stage here = {.run = checked_match_create(setup)};
    virtual_match_run_to_tick(here.run, 100);
    here.peer = add_peer(&here);
    return here;
}

static stage open_with_seats(uint32_t seats)
{
    virtual_setup setup = setup_of(seats);
    return open_stage(&setup);
}

static void discard(stage *here)
{
    for (uint32_t i = 0; i < here->peer_count; i++) {
        raw_peer_destroy(here->peers[i]);
    }
    virtual_match_destroy(here->run);
}

/* As far as READY. */
static void come(stage *here)
{
    raw_peer_join(here->peer);
    here->slot = here->peer->offer.slot;
    deliver(here);
}

/* Until the blob is there, acknowledging ticks as a session does. */
static void follow(const stage *here, uint64_t ns)
{
    uint64_t end_ns = here->run->now_ns + ns;
    while (here->run->now_ns < end_ns && !here->peer->is_closed) {
        ls_inputs_header header = raw_peer_inputs_header(here->peer);
        raw_peer_send_inputs(here->peer, &header, 0);
        virtual_match_run(here->run, 20 * MS);
    }
}

/* A match with a free seat, for which the raw peer has come and has been sent the state. */
static stage open_and_come(void)
{
    stage here = open_with_seats(HONEST + 1);
    come(&here);
    follow(&here, 300 * MS);
    return here;
}

static void check_refused(const raw_peer *peer, ls_status status)
{
    cr_assert_eq(peer->refusal.negated_status, (uint32_t)-status);
}

static void close_stage(stage *here)
{
    virtual_match_run_to_end(here->run);
    for (uint32_t i = 0; i < HONEST; i++) {
        check_played_to_the_end(here->run, here->run->clients[i]);
        uint32_t slot = report_of(here->run->clients[i]).slot;
        cr_assert_eq(slot_of(here->run, slot).inputs_substituted, 0);
    }
    check_sound(here->run);
    discard(here);
}

static uint32_t events_at(const stage *here, ls_tick tick)
{
    return check_of(here->run)->ticks[tick].events[here->slot];
}

static uint32_t count_events(const stage *here, uint32_t events)
{
    uint32_t count = 0;
    for (ls_tick tick = 0; tick < check_of(here->run)->tick_count; tick++) {
        count += (events_at(here, tick) & events) != 0;
    }
    return count;
}

/* ---- coming late ---- */

Test(rejoin, a_match_starts_with_as_many_as_it_is_told)
{
    stage here = open_with_seats(HONEST + 2);
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_RUNNING);
    cr_assert_eq(ls_match_seats_open(here.run->match),
                 1); /* the other may be the pending connection's */
    close_stage(&here);
}

Test(rejoin, a_late_player_is_sent_the_state_and_plays_from_its_first_input_on)
{
    virtual_setup setup = setup_of(HONEST + 1);
    stage here = open_stage(&setup);
    come(&here);
    cr_assert(here.peer->offer.is_running);
    const ls_join *join = &here.peer->join;
    cr_assert_eq(here.peer->heard[LS_MESSAGE_JOIN], 1);
    cr_assert_eq(join->source, LS_JOIN_SNAPSHOT);
    cr_assert_eq(join->blob_bytes, sizeof(test_simulation_state));
    cr_assert_str_eq(join->names[0], slot_of(here.run, 0).name);
    follow(&here, 300 * MS);
    cr_assert_eq(here.peer->first_tick, join->tick);
    cr_assert_eq(ls_blob_receiver_state_of(here.peer->blob), LS_BLOB_COMPLETE);

    ls_sim_instance *copy = NULL;
    ls_text why;
    cr_assert_eq(ls_sim_instance_create(test_simulation(), &setup.match.sim, ls_allocator_heap(),
                                        &copy, &why),
                 LS_OK);
    cr_assert_eq(ls_sim_instance_load(copy, ls_blob_receiver_bytes(here.peer->blob),
                                      join->blob_bytes, join->tick),
                 LS_OK);
    cr_assert_eq(ls_sim_instance_hash(copy), join->state_hash);
    ls_sim_instance_destroy(copy);

    ls_tick first = ls_match_tick(here.run->match) + 30;
    raw_peer_say_joined(here.peer, first);
    deliver(&here);
    const virtual_event *joined =
        virtual_match_find_slot(here.run, LS_MATCH_PLAYER_JOINED, here.slot);
    cr_assert_not_null(joined);
    cr_assert_eq(joined->event.tick, first);
    follow(&here, SECOND);
    cr_assert_eq(events_at(&here, first), LS_EVENT_JOINED);
    cr_assert_eq(count_events(&here, LS_EVENT_JOINED), 1);
    /* The inputs that it did not send before its first tick count as no loss. */
    ls_match_slot slot = slot_of(here.run, here.slot);
    cr_assert(slot.is_playing);
    cr_assert_eq(slot.joined_tick, first);
    cr_assert_eq(slot.inputs_substituted, check_of(here.run)->tick_count - first);
    close_stage(&here);
}

Test(rejoin, inputs_that_overtake_joined_are_kept)
{
    stage here = open_and_come();
    ls_inputs_header header = raw_peer_inputs_header(here.peer);
    header.first += 10;
    raw_peer_send_inputs(here.peer, &header, 20);
    deliver(&here);
    raw_peer_say_joined(here.peer, header.first);
    follow(&here, 500 * MS);
    cr_assert_eq(slot_of(here.run, here.slot).inputs_on_time, 20);
    cr_assert_eq(slot_of(here.run, here.slot).joined_tick, header.first);
    close_stage(&here);
}

Test(rejoin, the_rule_wait_does_not_wait_for_a_joining_player)
{
    virtual_setup setup = setup_of(HONEST + 1);
    setup.match.late_rule = LS_LATE_WAIT;
    stage here = open_stage(&setup);
    come(&here);
    ls_tick before = ls_match_tick(here.run->match);
    follow(&here, SECOND);
    raw_peer_say_joined(here.peer, ls_match_tick(here.run->match) + 60);
    follow(&here, SECOND / 2);
    cr_assert_geq(ls_match_tick(here.run->match), before + 85);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_STALLED, LS_PLAYERS_MAX), 0);
    follow(&here, SECOND);
    cr_assert_geq(virtual_match_count(here.run, LS_MATCH_STALLED, LS_PLAYERS_MAX), 1);
    close_stage(&here);
}

Test(rejoin, a_first_input_far_away_is_brought_nearer)
{
    stage here = open_and_come();
    raw_peer_say_joined(here.peer, UINT32_MAX);
    deliver(&here);
    cr_assert_lt(slot_of(here.run, here.slot).joined_tick,
                 ls_match_tick(here.run->match) + LS_LEAD_TICKS_MAX);
    close_stage(&here);
}

Test(rejoin, a_full_match_takes_nobody)
{
    stage here = open_with_seats(HONEST);
    virtual_match_run(here.run, 5 * MS);
    raw_peer_say_hello(here.peer);
    deliver(&here);
    check_refused(here.peer, LS_MATCH_FULL);
    close_stage(&here);
}

Test(rejoin, a_player_within_a_second_is_sent_the_same_snapshot)
{
    stage here = open_with_seats(HONEST + 2);
    here.peer->takes_no_parts = true;
    come(&here);
    follow(&here, 300 * MS);
    raw_peer *other = add_peer(&here);
    raw_peer_join(other);
    deliver(&here);
    cr_assert_eq(other->join.tick, here.peer->join.tick);
    cr_assert_eq(other->join.state_hash, here.peer->join.state_hash);
    cr_assert_eq(other->join.blob_hash, here.peer->join.blob_hash);
    cr_assert_eq(other->first_tick, 0);
    virtual_match_run(here.run, 50 * MS);
    cr_assert_eq(other->first_tick, other->join.tick);
    close_stage(&here);
}

Test(rejoin, a_later_player_waits_until_the_snapshot_before_is_done)
{
    stage here = open_with_seats(HONEST + 2);
    here.peer->takes_no_parts = true;
    come(&here);
    follow(&here, 1500 * MS);
    raw_peer *other = add_peer(&here);
    raw_peer_join(other);
    virtual_match_run(here.run, 150 * MS);
    cr_assert_eq(other->heard[LS_MESSAGE_JOIN], 0);
    cr_assert_gt(other->heard[LS_MESSAGE_TICKS], 0); /* signs of life */
    here.peer->takes_no_parts = false;
    follow(&here, 500 * MS);
    cr_assert_eq(other->heard[LS_MESSAGE_JOIN], 1);
    cr_assert_gt(other->join.tick, here.peer->join.tick);
    close_stage(&here);
}

/* As `follow`, all who were sent JOIN and are there. */
static void follow_all(const stage *here, uint64_t ns)
{
    uint64_t end_ns = here->run->now_ns + ns;
    while (here->run->now_ns < end_ns) {
        for (uint32_t i = 0; i < here->peer_count; i++) {
            raw_peer *peer = here->peers[i];
            if (peer->heard[LS_MESSAGE_JOIN] > 0 && !peer->is_closed) {
                ls_inputs_header header = raw_peer_inputs_header(peer);
                raw_peer_send_inputs(peer, &header, 0);
            }
        }
        virtual_match_run(here->run, 20 * MS);
    }
}

/* One more comes, and is sent a state within two seconds. */
static raw_peer *come_beside(stage *here, bool takes_no_parts)
{
    raw_peer *other = add_peer(here);
    other->takes_no_parts = takes_no_parts;
    raw_peer_join(other);
    for (uint32_t i = 0; i < 20 && other->heard[LS_MESSAGE_JOIN] == 0; i++) {
        cr_assert_lt(i, 19, "still waiting at tick %u", ls_match_tick(here->run->match));
        follow_all(here, 100 * MS);
    }
    return other;
}

/* The first goes on with a blob of its own, and another one at a trickle makes way. */
Test(rejoin, a_joiner_that_takes_its_state_at_a_trickle_holds_up_nobody)
{
    stage here = open_with_seats(HONEST + 3);
    here.peer->takes_no_parts = true;
    come(&here);
    follow_all(&here, 1500 * MS);
    raw_peer *second = come_beside(&here, true);
    cr_assert_gt(second->join.tick, here.peer->join.tick);
    follow_all(&here, 2500 * MS);
    raw_peer *third = come_beside(&here, false);
    cr_assert_gt(third->join.tick, second->join.tick);
    cr_expect_eq(second->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
    cr_expect_not(here.peer->is_closed);
    close_stage(&here);
}

/* ---- coming back ---- */

/* The raw peer plays. */
static void play(stage *here)
{
    come(here);
    follow(here, 300 * MS);
    raw_peer_say_joined(here->peer, 0);
    follow(here, 300 * MS);
    cr_assert(slot_of(here->run, here->slot).is_playing);
}

/* Its link is lost. */
static void lose(stage *here)
{
    ls_transport_disconnect(here->peer->transport, here->peer->server);
    virtual_match_run(here->run, 10 * MS);
    cr_assert_not(slot_of(here->run, here->slot).is_playing);
}

static void play_and_lose(stage *here)
{
    play(here);
    lose(here);
}

/* A match with a free seat that the raw peer has taken and lost again. */
static stage open_and_lose(void)
{
    stage here = open_with_seats(HONEST + 1);
    play_and_lose(&here);
    return here;
}

/* It says that it comes back, with what it holds. */
static raw_peer *say_back(stage *here, const ls_offer *offer, ls_tick confirmed, uint64_t chain)
{
    raw_peer *again = add_peer(here);
    ls_return claim = {.confirmed = confirmed, .tick_chain = chain, .held = confirmed};
    raw_peer_say_back(again, offer, &claim);
    deliver(here);
    return again;
}

/* And is ready. */
static raw_peer *come_back(stage *here, ls_tick confirmed, uint64_t chain)
{
    raw_peer *again = say_back(here, &here->peer->offer, confirmed, chain);
    raw_peer_say_ready(again);
    deliver(here);
    memcpy(here->peer->offer.secret, again->offer.secret, sizeof again->offer.secret);
    return again;
}

static bool is_let_in(stage *here, const ls_offer *offer)
{
    return say_back(here, offer, 0, LS_TICK_CHAIN_START)->heard[LS_MESSAGE_OFFER] > 0;
}

Test(rejoin, each_return_gives_another_secret_and_the_one_before_is_worth_nothing)
{
    stage here = open_and_lose();
    for (uint32_t i = 0; i < 3; i++) {
        const ls_offer before = here.peer->offer;
        raw_peer *again = come_back(&here, 0, LS_TICK_CHAIN_START);
        cr_assert_arr_neq(again->offer.secret, before.secret, LS_SECRET_BYTES);
        cr_assert_eq(virtual_match_count(here.run, LS_MATCH_SECRET_PROVEN, here.slot), i + 1);
        cr_assert_not(is_let_in(&here, &before), "one that was read off somewhere");
        cr_assert_not(again->is_closed, "nobody takes the seat with it");
    }
    close_stage(&here);
}

/* OFFER is lost, or the client crashes before it has kept what OFFER said. */
Test(rejoin, a_secret_is_good_until_its_player_has_the_next_one)
{
    stage here = open_and_lose();
    const ls_offer first = here.peer->offer;
    const raw_peer *unheard = say_back(&here, &first, 0, LS_TICK_CHAIN_START);
    const ls_offer second = unheard->offer;
    const raw_peer *again = say_back(&here, &first, 0, LS_TICK_CHAIN_START);
    cr_assert_arr_eq(again->offer.secret, second.secret, LS_SECRET_BYTES, "the same once more");
    cr_assert(is_let_in(&here, &second), "READY was lost");
    cr_assert_not(is_let_in(&here, &first));
    cr_assert(is_let_in(&here, &second));
    close_stage(&here);
}

Test(rejoin, a_player_with_the_secret_gets_the_seat_and_only_what_it_lacks)
{
    stage here = open_and_lose();
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_PLAYER_LOST, here.slot), 1);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_PLAYER_LEFT, here.slot), 0);
    ls_tick confirmed = ls_match_tick(here.run->match);
    uint64_t chain = ls_match_tick_chain(here.run->match, confirmed);
    virtual_match_run(here.run, 3 * SECOND);
    raw_peer *again = come_back(&here, confirmed, chain);
    cr_assert_eq(again->offer.slot, here.slot);
    cr_assert_eq(again->join.source, LS_JOIN_HELD);
    cr_assert_eq(again->join.tick, confirmed);
    cr_assert_eq(again->join.tick_chain, chain);
    cr_assert_eq(again->join.blob_bytes, 0);
    here.peer = again;
    virtual_match_run(here.run, 50 * MS);
    cr_assert_eq(again->first_tick, confirmed);
    follow(&here, 200 * MS);
    raw_peer_say_joined(again, 0);
    follow(&here, 200 * MS);
    ls_match_slot slot = slot_of(here.run, here.slot);
    cr_assert(slot.is_playing);
    cr_assert_eq(slot.rejoins, 1);
    cr_assert_eq(slot.left_status, LS_OK);
    cr_assert_eq(count_events(&here, LS_EVENT_JOINED), 2);
    cr_assert_eq(count_events(&here, LS_EVENT_LEFT), 1);
    close_stage(&here);
}

Test(rejoin, other_ticks_than_the_servers_are_made_good_with_a_snapshot)
{
    static const ls_tick ahead[] = {0, 1, 100000};
    for (size_t i = 0; i < sizeof ahead / sizeof ahead[0]; i++) {
        stage here = open_and_lose();
        ls_tick tick = ls_match_tick(here.run->match);
        uint64_t chain = ls_match_tick_chain(here.run->match, tick) + 1;
        raw_peer *again = come_back(&here, tick + ahead[i], chain);
        cr_assert_eq(again->join.source, LS_JOIN_SNAPSHOT);
        close_stage(&here);
    }
}

Test(rejoin, a_player_away_for_longer_than_ticks_are_held_gets_a_snapshot)
{
    stage here = open_and_lose();
    ls_tick confirmed = ls_match_tick(here.run->match);
    uint64_t chain = ls_match_tick_chain(here.run->match, confirmed);
    virtual_match_run(here.run, 14 * SECOND);
    raw_peer *again = come_back(&here, confirmed, chain);
    cr_assert_eq(again->join.source, LS_JOIN_SNAPSHOT);
    close_stage(&here);
}

Test(rejoin, the_old_connection_gives_way_to_the_new_one)
{
    stage here = open_with_seats(HONEST + 1);
    play(&here);
    raw_peer *again = say_back(&here, &here.peer->offer, 0, LS_TICK_CHAIN_START);
    cr_assert(here.peer->is_closed);
    cr_assert_eq(again->offer.slot, here.slot);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_PLAYER_LOST, here.slot), 1);
    close_stage(&here);
}

/* Each time it says that it has nothing, and leaves again. */
Test(rejoin, a_player_that_comes_back_again_and_again_is_sent_so_many_snapshots)
{
    stage here = open_and_lose();
    uint32_t sent = 0;
    raw_peer *again = NULL;
    for (uint32_t i = 0; i < 12; i++) {
        again = come_back(&here, 0, 1234);
        sent += again->heard[LS_MESSAGE_JOIN];
    }
    cr_assert_eq(sent, 7, "and one when it came");
    virtual_match_run(here.run, 2100 * MS);
    cr_assert_eq(again->heard[LS_MESSAGE_JOIN], 1, "one more in two seconds");
    close_stage(&here);
}

Test(rejoin, a_wrong_secret_or_another_match_gets_nothing)
{
    for (uint32_t i = 0; i < 3; i++) {
        virtual_setup setup = setup_of(HONEST + 1);
        stage here = open_stage(&setup);
        play_and_lose(&here);
        ls_offer offer = here.peer->offer;
        if (i == 0) {
            offer.secret[15] ^= 1;
        } else if (i == 1) {
            offer.match_id++;
        } else {
            /* Of the one who would come next: it has not been given out. */
            ls_secret_derive(&setup.match.key, setup.match.match_id, here.slot, 2, offer.secret);
        }
        raw_peer *again = say_back(&here, &offer, 0, LS_TICK_CHAIN_START);
        check_refused(again, LS_NOT_FOUND);
        cr_assert(again->is_closed);
        cr_assert_eq(again->heard[LS_MESSAGE_OFFER], 0);
        close_stage(&here);
    }
}

Test(rejoin, a_seat_is_kept_for_its_player_and_then_for_any_other)
{
    virtual_setup setup = setup_of(HONEST + 1);
    setup.match.keep_seat_ms = 5000;
    stage here = open_stage(&setup);
    play_and_lose(&here);
    virtual_match_run(here.run, 4500 * MS);
    raw_peer *early = come_anew(&here);
    check_refused(early, LS_MATCH_FULL);
    virtual_match_run(here.run, SECOND);
    cr_assert_eq(virtual_match_count(here.run, LS_MATCH_PLAYER_LEFT, here.slot), 1);
    raw_peer *other = come_anew(&here);
    cr_assert_eq(other->offer.slot, here.slot);
    cr_assert_arr_neq(other->offer.secret, here.peer->offer.secret, LS_SECRET_BYTES);
    close_stage(&here);
}

Test(rejoin, a_player_back_before_anybody_else_sits_there_is_not_too_late)
{
    virtual_setup setup = setup_of(HONEST + 1);
    setup.match.keep_seat_ms = 1000;
    stage here = open_stage(&setup);
    play_and_lose(&here);
    virtual_match_run(here.run, 3 * SECOND);
    raw_peer *again = say_back(&here, &here.peer->offer, 0, LS_TICK_CHAIN_START);
    cr_assert_eq(again->offer.slot, here.slot);
    close_stage(&here);
}

/* Comes, is offered the seat, and says why it cannot play; gives what it was offered. */
static ls_offer visit(stage *here)
{
    raw_peer *visitor = come_anew(here);
    cr_assert_eq(visitor->offer.slot, here->slot);
    ls_message goodbye = {.kind = LS_MESSAGE_GOODBYE};
    goodbye.body.close_reason.negated_status = (uint32_t)-LS_SIMULATION_MISMATCH;
    ls_text_set(&goodbye.body.close_reason.text, "no such simulation here");
    raw_peer_send_message(visitor, &goodbye);
    deliver(here);
    cr_assert(visitor->is_closed);
    return visitor->offer;
}

Test(rejoin, a_client_that_cannot_play_leaves_the_seat_as_it_was)
{
    virtual_setup setup = setup_of(HONEST + 1);
    setup.match.keep_seat_ms = 1000;
    stage here = open_stage(&setup);
    play_and_lose(&here);
    virtual_match_run(here.run, 3 * SECOND);
    ls_match_slot before = slot_of(here.run, here.slot);
    uint32_t open = ls_match_seats_open(here.run->match);
    ls_offer offered = visit(&here);
    ls_match_slot after = slot_of(here.run, here.slot);
    cr_assert(after.has_played && !after.is_playing && after.peer == 0);
    cr_assert_str_eq(after.name, before.name);
    cr_assert_eq(after.left_status, before.left_status);
    cr_assert_eq(after.joined_tick, before.joined_tick);
    cr_assert_eq(after.inputs_substituted, before.inputs_substituted);
    cr_assert_eq(ls_match_seats_open(here.run->match), open);
    const virtual_event *left = &here.run->events[here.run->event_count - 1];
    cr_assert(left->event.kind == LS_MATCH_PLAYER_LEFT && left->event.was_coming);
    /* The seat that it was offered is worth nothing, to it and to the next one. */
    raw_peer *again = say_back(&here, &offered, 0, LS_TICK_CHAIN_START);
    check_refused(again, LS_NOT_FOUND);
    cr_assert_arr_neq(visit(&here).secret, offered.secret, LS_SECRET_BYTES);
    again = say_back(&here, &here.peer->offer, 0, LS_TICK_CHAIN_START);
    cr_assert_eq(again->offer.slot, here.slot, "whose seat it was may still come back");
    close_stage(&here);
}

Test(rejoin, a_client_that_says_nothing_more_leaves_a_free_seat_free)
{
    stage here = open_with_seats(HONEST + 1);
    raw_peer_say_hello(here.peer);
    deliver(&here);
    cr_assert_eq(ls_match_seats_open(here.run->match), 0);
    virtual_match_run(here.run, 11 * SECOND);
    cr_assert(here.peer->is_closed);
    cr_assert_eq(ls_match_seats_open(here.run->match), 1);
    cr_assert_str_empty(slot_of(here.run, here.peer->offer.slot).name);
    cr_assert_not(slot_of(here.run, here.peer->offer.slot).has_played);
    close_stage(&here);
}

Test(rejoin, a_player_that_left_as_planned_leaves_the_seat_to_others_at_once)
{
    stage here = open_with_seats(HONEST + 1);
    play(&here);
    ls_message goodbye = {.kind = LS_MESSAGE_GOODBYE};
    ls_text_set(&goodbye.body.close_reason.text, "enough");
    raw_peer_send_message(here.peer, &goodbye);
    deliver(&here);
    raw_peer *other = add_peer(&here);
    raw_peer_join(other);
    deliver(&here);
    cr_assert_eq(other->offer.slot, here.slot);
    /* It is the next player's now. */
    raw_peer *again = say_back(&here, &here.peer->offer, 0, LS_TICK_CHAIN_START);
    check_refused(again, LS_NOT_FOUND);
    close_stage(&here);
}

/* ---- nobody is there ---- */

Test(rejoin, while_nobody_plays_and_seats_are_kept_no_tick_is_closed)
{
    virtual_setup setup = setup_of(HONEST);
    setup.match.hash_interval_ticks = 8;
    stage here = open_stage(&setup);
    virtual_client_vanish(here.run->clients[0]);
    virtual_client_vanish(here.run->clients[1]);
    virtual_match_run(here.run, 4 * SECOND);
    ls_tick tick = ls_match_tick(here.run->match);
    cr_assert_eq(tick % 8, 0);
    virtual_match_run(here.run, 10 * SECOND);
    cr_assert_eq(ls_match_tick(here.run->match), tick);
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_RUNNING);
    virtual_match_run(here.run, 20 * SECOND);
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_OVER);
    cr_assert_eq(ls_match_tick(here.run->match), tick);
    check_sound(here.run);
    discard(&here);
}

Test(rejoin, a_match_that_stood_still_goes_on_with_the_first_player_back)
{
    virtual_setup setup = setup_of(1);
    setup.clients = 0;
    setup.match.start_players = 1;
    stage here = {.run = checked_match_create(&setup)};
    here.peer = add_peer(&here);
    raw_peer_join(here.peer);
    virtual_match_run_to_tick(here.run, 50);
    ls_transport_disconnect(here.peer->transport, here.peer->server);
    virtual_match_run(here.run, 5 * SECOND);
    ls_tick tick = ls_match_tick(here.run->match);
    raw_peer *again = come_back(&here, tick, ls_match_tick_chain(here.run->match, tick));
    virtual_match_run(here.run, SECOND);
    cr_assert_eq(ls_match_tick(here.run->match), tick);
    here.peer = again;
    raw_peer_say_joined(again, tick);
    follow(&here, 100 * MS);
    cr_assert_gt(ls_match_tick(here.run->match), tick);
    cr_assert_eq(check_of(here.run)->ticks[tick].events[0], LS_EVENT_LEFT | LS_EVENT_JOINED);
    check_sound(here.run);
    discard(&here);
}

/* ---- the end ---- */

Test(rejoin, a_client_with_only_a_seat_when_the_match_ends_is_refused)
{
    stage here = open_with_seats(HONEST + 1);
    raw_peer_say_hello(here.peer);
    deliver(&here);
    cr_assert_eq(here.peer->heard[LS_MESSAGE_OFFER], 1);
    ls_match_stop(here.run->match, virtual_match_server_ns(here.run));
    deliver(&here);
    check_refused(here.peer, LS_ALREADY_OVER);
    cr_assert_eq(here.peer->heard[LS_MESSAGE_END], 0);
    close_stage(&here);
}

/* The last client is heard, but does not reach the final state. */
static void expect_end_held_up_for(uint32_t timeout_ms, uint64_t limit_ns)
{
    virtual_setup setup = setup_of(HONEST + 1);
    setup.match.timeout_ms = timeout_ms;
    stage here = open_stage(&setup);
    come(&here);
    follow(&here, 100 * MS);
    ls_match_stop(here.run->match, virtual_match_server_ns(here.run));
    deliver(&here);
    cr_assert_eq(here.peer->heard[LS_MESSAGE_END], 1);
    follow(&here, limit_ns - 100 * MS);
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_ENDING);
    virtual_match_run(here.run, 200 * MS);
    cr_assert_eq(ls_match_state_of(here.run->match), LS_MATCH_OVER);
    check_refused(here.peer, LS_TIMED_OUT);
    close_stage(&here);
}

Test(rejoin, a_client_not_at_the_end_in_time_holds_it_up_for_no_longer)
{
    expect_end_held_up_for(2000, 5 * SECOND);
}

Test(rejoin, clients_that_may_be_silent_for_long_have_half_of_that_for_the_end)
{
    expect_end_held_up_for(40000, 20 * SECOND);
}

/* ---- hostile ---- */

Test(rejoin, a_wrong_hash_of_the_state_it_was_sent_ends_the_joining)
{
    stage here = open_and_come();
    const ls_join *join = &here.peer->join;
    raw_peer_send_joined(here.peer, join->tick, join->state_hash + 1, join->tick);
    deliver(&here);
    check_refused(here.peer, LS_DESYNCED);
    cr_assert_eq(slot_of(here.run, here.slot).left_status, LS_DESYNCED);
    cr_assert_eq(count_events(&here, LS_EVENT_JOINED), 0);
    close_stage(&here);
}

/* A liar cannot be told from a client that strays: its chains are compared as any player's. */
Test(rejoin, a_wrong_hash_of_a_later_state_lets_it_play)
{
    stage here = open_and_come();
    ls_tick tick = ls_match_tick(here.run->match);
    uint64_t state_hash = 0;
    cr_assert_gt(tick, here.peer->join.tick);
    cr_assert(ls_match_hash_of_tick(here.run->match, tick, &state_hash));
    raw_peer_send_joined(here.peer, tick, state_hash + 1, tick);
    deliver(&here);
    cr_assert_eq(slot_of(here.run, here.slot).left_status, LS_OK);
    cr_assert_eq(slot_of(here.run, here.slot).agreed_tick, here.peer->join.tick);
    close_stage(&here);
}

Test(rejoin, a_state_that_cannot_have_been_reached_is_misbehaviour)
{
    for (uint32_t i = 0; i < 3; i++) {
        virtual_setup setup = setup_of(HONEST + 1);
        setup.match.hash_interval_ticks = 4;
        stage here = open_stage(&setup);
        come(&here);
        follow(&here, 300 * MS);
        ls_tick join = here.peer->join.chain_tick;
        ls_tick ticks[] = {join - 4, join + 5, ls_match_tick(here.run->match) / 4 * 4 + 8};
        raw_peer_send_joined(here.peer, ticks[i], 1, ticks[i]);
        deliver(&here);
        check_refused(here.peer, LS_MISBEHAVED);
        close_stage(&here);
    }
}

Test(rejoin, joined_belongs_to_a_joining_client)
{
    stage here = open_and_come();
    raw_peer_say_joined(here.peer, 0);
    deliver(&here);
    raw_peer_say_joined(here.peer, 0);
    deliver(&here);
    check_refused(here.peer, LS_MISBEHAVED);
    close_stage(&here);
}

Test(rejoin, a_client_that_stops_half_way_loses_its_place)
{
    stage here = open_with_seats(HONEST + 1);
    here.peer->takes_no_parts = true;
    come(&here);
    uint64_t began_ns = here.run->now_ns;
    follow(&here, 12 * SECOND);
    cr_assert(here.peer->is_closed);
    check_refused(here.peer, LS_TIMED_OUT);
    cr_assert_lt(here.run->now_ns - began_ns, 11 * SECOND);
    cr_assert_eq(ls_match_seats_open(here.run->match), 1);
    close_stage(&here);
}

static size_t write_ack(uint32_t blob, uint32_t first, uint8_t bytes[LS_PACKET_BYTES_MAX])
{
    ls_blob_ack ack = {
        .blob = blob, .first = first, .received = first, .newest = first, .hold = 255};
    return ls_blob_ack_write(&ack, bytes);
}

Test(rejoin, an_ack_of_what_was_never_sent_is_malformed)
{
    stage here = open_with_seats(HONEST + 1);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    here.peer->takes_no_parts = true;
    come(&here);
    size_t size = write_ack(here.peer->join.blob, 1000, bytes);
    uint64_t before = ls_match_packets_rejected(here.run->match);
    raw_peer_send(here.peer, LS_CHANNEL_UNRELIABLE, bytes, size);
    deliver(&here);
    cr_assert_eq(ls_match_packets_rejected(here.run->match), before + 1);
    here.peer->takes_no_parts = false;
    follow(&here, 300 * MS);
    raw_peer_say_joined(here.peer, 0);
    follow(&here, 100 * MS);
    cr_assert(slot_of(here.run, here.slot).is_playing);
    close_stage(&here);
}

Test(rejoin, an_ack_of_a_client_that_was_sent_no_blob_is_malformed)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, TICKS);
    setup.match.sim.players = HONEST + 1;
    setup.match.timeout_ms = 2000;
    stage here = {.run = checked_match_create(&setup)};
    here.peer = add_peer(&here);
    raw_peer_join(here.peer);
    virtual_match_run_to_tick(here.run, 20);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = write_ack(0, 0, bytes);
    raw_peer_send(here.peer, LS_CHANNEL_UNRELIABLE, bytes, size);
    deliver(&here);
    cr_assert_eq(ls_match_packets_rejected(here.run->match), 1);
    close_stage(&here);
}
