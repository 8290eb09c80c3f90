/* The cost of a state on its way to a peer: one that takes it at a trickle, or not at all and says
 * that it gets on, is sent so many bytes of it and then let go, though nobody else waits. */
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/protocol/blob/blob_packet.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/state_handover.h"
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

enum {
    PLAYERS = 2,
    BODIES = 2000, /* a state of many parts */
    PARAM_BODIES = 0,
    RATE_HZ = 10,
};

typedef struct stage {
    virtual_match *run;
    raw_peer *peer;
    uint32_t acknowledged; /* parts */
} stage;

static stage open_stage(void)
{
    virtual_setup setup = virtual_setup_default(ls_arena_simulation(), PLAYERS, 0);
    setup.match.sim.params[PARAM_BODIES] = BODIES;
    setup.match.sim.tick_rate_hz = RATE_HZ;
    setup.match.sim.players = PLAYERS + 1;
    setup.match.start_players = PLAYERS;
    setup.match.spectators_max = 4;
    setup.match.spectator_delay_ticks = 2;
    setup.match.join_bytes_per_s = LS_BLOB_RATE_MIN;
    stage here = {.run = checked_match_create(&setup)};
    virtual_match_run_to_tick(here.run, 30);
    here.peer = raw_peer_create(here.run);
    here.peer->takes_no_parts = true;
    virtual_match_run(here.run, 5 * MS);
    return here;
}

/* A sign of life, which says that it has stepped all there is. */
static void claim_all(const stage *here)
{
    ls_inputs_header header = raw_peer_inputs_header(here->peer);
    header.chain_tick = ls_match_tick(here->run->match);
    header.first = header.next;
    raw_peer_send_inputs(here->peer, &header, 0);
}

static void come(const stage *here, bool is_spectator)
{
    ls_message message = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("raw")};
    message.body.hello.is_spectator = is_spectator;
    raw_peer_send_message(here->peer, &message);
    virtual_match_run(here->run, 5 * MS);
    raw_peer_say_ready(here->peer);
    for (uint32_t i = 0; i < 10 && here->peer->heard[LS_MESSAGE_JOIN] == 0; i++) {
        claim_all(here);
        virtual_match_run(here->run, 500 * MS);
    }
    cr_assert_eq(here->peer->heard[LS_MESSAGE_JOIN], 1);
    cr_assert_gt(here->peer->join.blob_bytes, 64 * LS_BLOB_PART_BYTES);
}

/* Says that all packets have come, and part after part was not in them. */
static void acknowledge(const stage *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    uint32_t received = here->peer->heard[LS_MESSAGE_BLOB_PART];
    ls_blob_ack ack = {.blob = here->peer->join.blob,
                       .first = here->acknowledged,
                       .received = received,
                       .newest = received > 0 ? received - 1 : 0};
    raw_peer_send(here->peer, LS_CHANNEL_UNRELIABLE, bytes, ls_blob_ack_write(&ack, bytes));
}

/* For so long, unless it is let go; returns how long it was. */
static uint64_t stay(stage *here, uint64_t longest_ns, bool acknowledges)
{
    uint64_t came_ns = here->run->now_ns;
    for (uint32_t turn = 0; here->run->now_ns - came_ns < longest_ns && !here->peer->is_closed;
         turn++) {
        here->acknowledged += turn % 80 == 79;
        if (acknowledges) {
            acknowledge(here);
        }
        if (turn % 10 == 0) {
            claim_all(here);
        }
        virtual_match_run(here->run, 50 * MS);
    }
    return here->run->now_ns - came_ns;
}

static void check_bytes(const stage *here)
{
    uint64_t sent = (uint64_t)here->peer->heard[LS_MESSAGE_BLOB_PART] *
                    (LS_BLOB_PART_BYTES + LS_PEER_LINK_HEADER_BYTES);
    uint64_t limit = ls_handover_bytes_max(here->peer->join.blob_bytes);
    cr_expect(sent > limit / 2 && sent <= limit, "%u of %u", (unsigned)sent, (unsigned)limit);
    cr_expect_eq(here->peer->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
}

static void close_stage(const stage *here)
{
    ls_match_stop(here->run->match, virtual_match_server_ns(here->run));
    virtual_match_run_to_end(here->run);
    close_run(here->run);
    raw_peer_destroy(here->peer);
}

Test(state_limits, a_joiner_that_takes_nothing_and_says_that_it_steps_is_let_go)
{
    stage here = open_stage();
    come(&here, false);
    cr_expect_leq(stay(&here, 30 * SECOND, false), 11 * SECOND);
    cr_expect_eq(here.peer->refusal.negated_status, (uint32_t)-LS_TIMED_OUT);
    close_stage(&here);
}

Test(state_limits, a_joiner_that_takes_its_state_at_a_trickle_is_sent_so_much_of_it)
{
    stage here = open_stage();
    come(&here, false);
    cr_expect_lt(stay(&here, 60 * SECOND, true), 60 * SECOND);
    check_bytes(&here);
    close_stage(&here);
}

Test(state_limits, a_spectator_that_takes_its_state_at_a_trickle_is_sent_so_much_of_it)
{
    stage here = open_stage();
    come(&here, true);
    cr_expect_lt(stay(&here, 60 * SECOND, true), 60 * SECOND);
    check_bytes(&here);
    close_stage(&here);
}
