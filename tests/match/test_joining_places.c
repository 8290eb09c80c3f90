/* Many who join at a time: so many are sent the state, and the others wait for theirs; those who
 * hold a seat and are never ready keep no other from joining. */
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    HONEST = 2,
    SEATS = 6, /* that are free */
    PEERS = 16,
};

typedef struct stage {
    virtual_match *run;
    raw_peer *peers[PEERS];
    uint32_t peer_count;
} stage;

/* Two play in a match with seats for six more. */
static stage open_stage(uint32_t joiners_max)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, 1200);
    setup.match.sim.players = HONEST + SEATS;
    setup.match.start_players = HONEST;
    setup.match.timeout_ms = 2000;
    setup.match.joiners_max = joiners_max;
    stage here = {.run = checked_match_create(&setup)};
    virtual_match_run_to_tick(here.run, 100);
    return here;
}

static raw_peer *come_from(stage *here, uint64_t origin)
{
    const ls_link_config link = {.delay_ns = 1 * MS};
    const raw_peer_owner owner = {.origin = origin};
    raw_peer *peer = raw_peer_create_for(here->run, &link, &owner);
    here->peers[here->peer_count++] = peer;
    peer->takes_no_parts = true;
    virtual_match_run(here->run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

static raw_peer *come(stage *here)
{
    return come_from(here, 0);
}

static raw_peer *come_ready(stage *here)
{
    raw_peer *peer = come(here);
    raw_peer_say_ready(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
}

static uint32_t count_joining(const stage *here)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < here->peer_count; i++) {
        count += here->peers[i]->heard[LS_MESSAGE_JOIN];
    }
    return count;
}

/* All that are still there give signs of life. */
static void stay(const stage *here, uint64_t ns)
{
    uint64_t end_ns = here->run->now_ns + ns;
    while (here->run->now_ns < end_ns) {
        for (uint32_t i = 0; i < here->peer_count; i++) {
            if (!here->peers[i]->is_closed) {
                ls_inputs_header header = raw_peer_inputs_header(here->peers[i]);
                raw_peer_send_inputs(here->peers[i], &header, 0);
            }
        }
        virtual_match_run(here->run, 100 * MS);
    }
}

static void close_stage(const stage *here)
{
    virtual_match_run_to_end(here->run);
    for (uint32_t i = 0; i < HONEST; i++) {
        check_played_to_the_end(here->run, here->run->clients[i]);
    }
    close_run(here->run);
    for (uint32_t i = 0; i < here->peer_count; i++) {
        raw_peer_destroy(here->peers[i]);
    }
}

Test(joining_places, no_more_are_sent_the_state_at_a_time_than_allowed_and_others_wait)
{
    stage here = open_stage(3);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(come_ready(&here)->heard[LS_MESSAGE_REFUSE], 0);
    }
    cr_assert_eq(count_joining(&here), 3);
    stay(&here, 5 * SECOND); /* the first get no further, and make room */
    cr_assert_eq(count_joining(&here), 5);
    close_stage(&here);
}

Test(joining_places, newcomers_that_are_never_ready_keep_no_other_from_joining)
{
    stage here = open_stage(3);
    for (uint32_t i = 0; i < 5; i++) {
        cr_assert_eq(come(&here)->heard[LS_MESSAGE_OFFER], 1);
    }
    cr_assert_eq(come_ready(&here)->heard[LS_MESSAGE_JOIN], 1);
    close_stage(&here);
}

/* READY, and then they take nothing of their states. */
static void fill_with_idlers(stage *here, uint64_t first_origin, bool is_one)
{
    for (uint32_t i = 0; i < SEATS; i++) {
        raw_peer *idler = come_from(here, is_one ? first_origin : first_origin + i);
        raw_peer_say_ready(idler);
        virtual_match_run(here->run, 5 * MS);
    }
}

Test(joining_places, those_who_take_nothing_of_their_state_keep_no_other_from_joining)
{
    for (int i = 0; i < 4; i++) {
        stage here = open_stage(i / 2 == 0 ? 4 : SEATS);
        fill_with_idlers(&here, 70, i % 2 != 0);
        cr_assert_eq(come_from(&here, 50)->heard[LS_MESSAGE_REFUSE], 1, "all had their time yet");
        stay(&here, 4 * SECOND);
        for (uint64_t origin = 51; origin < 55; origin++) {
            raw_peer *newcomer = come_from(&here, origin);
            cr_assert_eq(newcomer->heard[LS_MESSAGE_OFFER], 1, "origin %lu", (unsigned long)origin);
            raw_peer_say_ready(newcomer);
            newcomer->takes_no_parts = false;
            stay(&here, 4 * SECOND); /* those who are sent an older state have their time */
            cr_assert_eq(newcomer->heard[LS_MESSAGE_JOIN], 1, "origin %lu", (unsigned long)origin);
        }
        close_stage(&here);
    }
}

/* They leave, and come again at once. */
Test(joining_places, an_origin_that_let_a_state_go_makes_room_at_once)
{
    stage here = open_stage(4);
    raw_peer *first = come_from(&here, 70);
    raw_peer_say_ready(first);
    stay(&here, 4 * SECOND);
    raw_peer_send_kind(first, LS_MESSAGE_GOODBYE);
    virtual_match_run(here.run, 5 * MS);
    fill_with_idlers(&here, 70, true);
    cr_assert_eq(come_from(&here, 51)->heard[LS_MESSAGE_OFFER], 1);
    close_stage(&here);
}

Test(joining_places, no_newcomer_joins_a_match_that_takes_none)
{
    stage here = open_stage(0);
    cr_assert_eq(come(&here)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    close_stage(&here);
}
