/* Many who join at a time: so many are sent the state, and the others wait for theirs; those who
 * hold a seat and are never ready keep no other from joining. */
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    HONEST = 2,
    PEERS = 6,
};

typedef struct stage {
    virtual_match *run;
    raw_peer *peers[PEERS];
    uint32_t peer_count;
} stage;

/* Two play in a match with seats for all peers. */
static stage open_stage(uint32_t joiners_max)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), HONEST, 1200);
    setup.match.sim.players = HONEST + PEERS;
    setup.match.start_players = HONEST;
    setup.match.timeout_ms = 2000;
    setup.match.joiners_max = joiners_max;
    stage here = {.run = checked_match_create(&setup)};
    virtual_match_run_to_tick(here.run, 100);
    return here;
}

static raw_peer *come(stage *here)
{
    raw_peer *peer = raw_peer_create(here->run);
    here->peers[here->peer_count++] = peer;
    peer->takes_no_parts = true;
    virtual_match_run(here->run, 5 * MS);
    raw_peer_say_hello(peer);
    virtual_match_run(here->run, 5 * MS);
    return peer;
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

Test(joining_places, no_newcomer_joins_a_match_that_takes_none)
{
    stage here = open_stage(0);
    cr_assert_eq(come(&here)->refusal.negated_status, (uint32_t)-LS_MATCH_FULL);
    close_stage(&here);
}
