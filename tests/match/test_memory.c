/* The memory of a match of 256 bytes of state: little before anybody comes, more while ticks are
 * closed, most of it while a state is sent or causes are looked for; and each time that there is
 * none. */
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/match.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>

enum {
    STATE_BYTES = 256,
    LARGE_STATE_BYTES = 512 << 10,
    PEERS = 8,
};

#define DT_NS (LS_NS_PER_SECOND / 60 + 1)

/* The newest reliable message that each peer was sent. */
typedef struct table {
    counting_allocator counting;
    ls_match *match;
    uint64_t now_ns;
    uint32_t newest[PEERS]; /* kinds */
    uint32_t refused_with;  /* negated status of the newest REFUSE */
    uint32_t disconnects;
    uint32_t desyncs; /* events */
} table;

static table here;

static void on_send(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                    size_t size)
{
    ls_message message;
    (void)user;
    if (channel != LS_CHANNEL_RELIABLE) {
        return;
    }
    here.newest[peer % PEERS] = ls_message_peek(bytes, size);
    if (here.newest[peer % PEERS] == LS_MESSAGE_REFUSE) {
        cr_assert_eq(ls_message_read(bytes, size, 0, &message), LS_OK);
        here.refused_with = message.body.close_reason.negated_status;
    }
}

static void on_disconnect(void *user, ls_peer_id peer)
{
    (void)user;
    (void)peer;
    here.disconnects++;
}

static void open_configured(const ls_match_config *config)
{
    ls_packet_sink sink = {on_send, on_disconnect, NULL};
    counting_allocator_init(&here.counting);
    here.now_ns = LS_NS_PER_SECOND;
    cr_assert_eq(ls_match_create(config, &sink, &here.counting.allocator, &here.match, NULL),
                 LS_OK);
}

static void open_match(uint32_t players, uint32_t start_players)
{
    ls_match_config config = ls_match_config_default(bench_pad_simulation());
    config.sim = bench_pad_config(STATE_BYTES, players);
    config.start_players = start_players;
    open_configured(&config);
}

static void close_match(void)
{
    ls_match_destroy(here.match);
    cr_assert_eq(here.counting.live_blocks, 0, "everything is given back");
}

static void send_message(ls_peer_id peer, const ls_message *message)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(message, bytes);
    ls_match_receive(here.match, peer, LS_CHANNEL_RELIABLE, bytes, size, here.now_ns);
}

static void say_hello(ls_peer_id peer)
{
    ls_message hello = {.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make("Ada")};
    ls_match_peer_connected(here.match, peer, here.now_ns);
    send_message(peer, &hello);
}

static void say_ready(ls_peer_id peer)
{
    ls_message ready = {.kind = LS_MESSAGE_READY,
                        .body.ready = ls_ready_make(ls_match_instance(here.match))};
    send_message(peer, &ready);
}

static void run_to_tick(ls_tick tick)
{
    ls_match_event event;
    for (uint32_t turn = 0; ls_match_tick(here.match) < tick; turn++) {
        cr_assert_lt(turn, 10 * tick + 1000);
        here.now_ns += DT_NS;
        ls_match_advance(here.match, here.now_ns);
        while (ls_match_next_event(here.match, &event)) {
            here.desyncs += event.kind == LS_MATCH_DESYNC;
        }
    }
}

/* A running match of two seats, of which one is taken. */
static void open_running_match(void)
{
    open_match(2, 1);
    say_hello(1);
    say_ready(1);
    cr_assert_eq(here.newest[1], LS_MESSAGE_START);
    run_to_tick(10);
}

/* ---- sizes ---- */

Test(memory, match_of_small_state_takes_at_most_64_kib_before_anybody_comes)
{
    for (uint32_t players = 1; players <= 4; players++) {
        open_match(players, 0);
        cr_assert_leq(here.counting.live_bytes, 64 << 10, "%u players: %lu bytes", players,
                      (unsigned long)here.counting.live_bytes);
        close_match();
    }
}

Test(memory, match_of_small_state_takes_at_most_256_kib_while_it_is_played)
{
    open_match(4, 0);
    for (ls_peer_id peer = 1; peer <= 4; peer++) {
        say_hello(peer);
        say_ready(peer);
    }
    run_to_tick(100);
    cr_assert_leq(here.counting.live_bytes, 256 << 10, "%lu bytes",
                  (unsigned long)here.counting.live_bytes);
    close_match();
}

/* Many wait for players at a time. */
Test(memory, one_of_many_matches_takes_the_memory_of_its_state_when_somebody_comes)
{
    ls_match_config config = ls_match_config_default(bench_pad_simulation());
    config.sim = bench_pad_config(LARGE_STATE_BYTES, 4);
    config.spectators_max = 16;
    config.has_others = true;
    open_configured(&config);
    uint64_t waiting_bytes = here.counting.live_bytes;
    cr_assert_leq(waiting_bytes, 64 << 10, "%lu bytes", (unsigned long)waiting_bytes);
    uint64_t initial = ls_match_hash(here.match);
    say_hello(1);
    cr_assert_eq(here.newest[1], LS_MESSAGE_OFFER);
    cr_assert_gt(here.counting.live_bytes, waiting_bytes + LARGE_STATE_BYTES);
    cr_assert_eq(ls_sim_instance_hash(ls_match_instance(here.match)), initial);
    say_ready(1);
    for (ls_peer_id peer = 2; peer <= 4; peer++) {
        say_hello(peer);
        say_ready(peer);
    }
    run_to_tick(10);
    close_match();
}

Test(memory, one_of_many_matches_ends_without_its_state)
{
    ls_match_config config = ls_match_config_default(bench_pad_simulation());
    config.sim = bench_pad_config(LARGE_STATE_BYTES, 4);
    config.has_others = true;
    open_configured(&config);
    uint64_t initial = ls_match_hash(here.match);
    uint64_t allocations = here.counting.allocations;
    ls_match_stop(here.match, here.now_ns);
    cr_assert_eq(ls_match_hash(here.match), initial);
    cr_assert_eq(here.counting.allocations, allocations);
    close_match();
}

/* ---- memory that is out ---- */

Test(memory, peer_is_refused_when_there_is_none_for_ticks_and_the_next_one_is_not)
{
    open_match(2, 0);
    uint32_t refused = 0;
    for (ls_peer_id peer = 1; refused + 1 == peer; peer++) {
        cr_assert_lt(peer, 50);
        here.counting.allowed = peer - 1;
        here.newest[peer % PEERS] = 0;
        say_hello(peer);
        refused += here.newest[peer % PEERS] == LS_MESSAGE_REFUSE;
        cr_assert(here.refused_with == 0 || here.refused_with == (uint32_t)-LS_NO_MEMORY);
    }
    cr_assert_gt(refused, 3);
    cr_assert_eq(here.disconnects, refused);
    cr_assert_eq(ls_match_seats_open(here.match), 1);
    close_match();
}

Test(memory, player_is_refused_when_there_is_none_for_its_state)
{
    open_running_match();
    uint64_t live_bytes = here.counting.live_bytes;
    for (uint64_t allowed = 0; allowed < 4; allowed++) {
        ls_peer_id peer = 2 + allowed;
        say_hello(peer);
        cr_assert_eq(here.newest[peer % PEERS], LS_MESSAGE_OFFER);
        here.counting.allowed = allowed;
        say_ready(peer);
        cr_assert_eq(here.newest[peer % PEERS], LS_MESSAGE_REFUSE, "%lu allowed",
                     (unsigned long)allowed);
        cr_assert_eq(here.refused_with, (uint32_t)-LS_NO_MEMORY);
        here.counting.allowed = UINT64_MAX;
    }
    say_hello(7);
    say_ready(7);
    cr_assert_eq(here.newest[7], LS_MESSAGE_JOIN);
    cr_assert_gt(here.counting.live_bytes, live_bytes);
    ls_match_peer_disconnected(here.match, 7, LS_DISCONNECTED, here.now_ns);
    cr_assert_eq(here.counting.live_bytes, live_bytes, "it goes when nobody is sent a state");
    close_match();
}

/* INPUTS without an input, whose chain up to state `tick` is not the server's. */
static void send_wrong_chain(ls_peer_id peer, ls_tick tick)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_inputs_header header = {.next = tick, .chain_tick = tick, .chain = 12345, .first = tick};
    ls_bit_stream stream = ls_bit_writer(bytes, sizeof bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    ls_tick_packet_write_end(&stream);
    ls_match_receive(here.match, peer, LS_CHANNEL_UNRELIABLE, bytes, ls_bits_size_bytes(&stream),
                     here.now_ns);
}

static void differ(void)
{
    ls_message hashes = {.kind = LS_MESSAGE_HASHES, .body.hashes = {.first = 0, .count = 5}};
    send_wrong_chain(1, 4);
    cr_assert_eq(here.newest[1], LS_MESSAGE_HASH_REQUEST);
    send_message(1, &hashes);
}

Test(memory, desync_is_reported_when_there_is_none_to_look_for_its_cause)
{
    open_running_match();
    uint64_t live_bytes = here.counting.live_bytes;
    here.counting.allowed = 3;
    differ();
    run_to_tick(20);
    cr_assert_eq(here.desyncs, 1);
    cr_assert_gt(here.counting.refusals, 0);
    cr_assert_eq(here.counting.live_bytes, live_bytes);
    close_match();
}

Test(memory, causes_are_looked_for_in_memory_that_is_taken_once)
{
    open_running_match();
    uint64_t live_bytes = here.counting.live_bytes;
    differ();
    cr_assert_gt(here.counting.live_bytes, live_bytes);
    uint64_t allocations = here.counting.allocations;
    run_to_tick(20);
    cr_assert_eq(here.desyncs, 1);
    cr_assert_eq(here.counting.allocations, allocations);
    close_match();
}
