#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/protocol/blob/blob_receiver.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/protocol/wire/message.h"

#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ==== blob_sender ==== */

enum {
    BYTES = 3 << 20, /* random */
    NUMBER = 3,
};

static const uint64_t START_NS = 1000 * LS_NS_PER_SECOND;
static const uint64_t RTT_NS = 100 * LS_NS_PER_MS;

typedef struct sending {
    ls_blob *blob;
    ls_blob_sender *sender;
    uint64_t now_ns;
    uint32_t sent; /* parts, once or more often */
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} sending;

static void destroy_sender(void *sender)
{
    ls_blob_sender_destroy(sender);
}

static void destroy_blob(void *blob)
{
    cr_assert(!ls_blob_is_in_use(blob));
    ls_blob_destroy(blob);
}

static sending open_sending(uint32_t bytes)
{
    sending here = {.now_ns = START_NS};
    ls_blob_sender_config config = ls_blob_sender_config_default();
    cr_assert_eq(ls_blob_create(bytes, ls_allocator_heap(), &here.blob), LS_OK);
    cr_assert_eq(ls_blob_sender_create(&config, ls_allocator_heap(), &here.sender), LS_OK);
    keep_until_end(here.blob, destroy_blob);
    keep_until_end(here.sender, destroy_sender);
    uint8_t *room = ls_blob_start(here.blob, bytes);
    ls_rng rng = ls_rng_make(5, 1);
    for (uint32_t i = 0; i < bytes; i++) {
        room[i] = (uint8_t)ls_rng_next(&rng);
    }
    ls_blob_seal(here.blob);
    ls_blob_advance(here.blob, UINT32_MAX);
    ls_blob_sender_start(here.sender, here.blob, NUMBER, RTT_NS, here.now_ns);
    return here;
}

/* The next part, when one is due. */
static bool pop_due(sending *here, ls_blob_part *part)
{
    size_t size = ls_blob_sender_next(here->sender, here->now_ns, here->bytes);
    if (size == 0) {
        return false;
    }
    cr_assert_eq(ls_blob_part_read(here->bytes, size, part), LS_OK);
    cr_assert_eq(part->blob, NUMBER);
    here->sent = part->index >= here->sent ? part->index + 1 : here->sent;
    return true;
}

static ls_blob_part pop_part(sending *here)
{
    ls_blob_part part;
    cr_assert(pop_due(here, &part));
    return part;
}

/* Takes what is due for so long; returns how many. */
static uint32_t pop_for(sending *here, uint64_t ns)
{
    ls_blob_part part;
    uint32_t count = 0;
    uint64_t end_ns = here->now_ns + ns;
    for (;;) {
        while (pop_due(here, &part)) {
            count++;
        }
        uint64_t next_ns = ls_blob_sender_next_ns(here->sender);
        cr_assert_gt(next_ns, here->now_ns);
        if (next_ns > end_ns) {
            here->now_ns = end_ns;
            return count;
        }
        here->now_ns = next_ns;
    }
}

static ls_status give(sending *here, const ls_blob_ack *ack)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_blob_ack_write(ack, bytes);
    return ls_blob_sender_receive_ack(here->sender, here->now_ns, bytes, size);
}

static ls_blob_ack ack_of(uint32_t first)
{
    return (ls_blob_ack){
        .blob = NUMBER, .first = first, .received = first, .newest = first - 1, .hold = 0};
}

TestSuite(blob_sender, .fini = destroy_kept);

enum {
    TRAIN = 10, /* packets of the first */
};

Test(blob_sender, ten_parts_go_out_at_first_and_one_for_each_that_comes)
{
    sending here = open_sending(BYTES);
    for (uint32_t i = 0; i < 4; i++) {
        ls_blob_part part = pop_part(&here);
        cr_assert(part.index == i && part.packet == i && !part.is_last);
    }
    cr_assert_eq(pop_for(&here, RTT_NS), TRAIN - 4);
    ls_blob_ack ack = ack_of(1);
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(pop_for(&here, LS_NS_PER_MS), 1);
}

/* Sends until so many have been acknowledged, each after `rtt_ns`. */
static void send_well(sending *here, uint32_t parts, uint64_t rtt_ns)
{
    while (ls_blob_sender_figures_of(here->sender).acknowledged < parts) {
        pop_for(here, rtt_ns);
        here->now_ns += rtt_ns;
        ls_blob_ack ack = ack_of(here->sent);
        ack.received = ls_blob_sender_figures_of(here->sender).packets;
        ack.newest = ack.received - 1;
        cr_assert_eq(give(here, &ack), LS_OK);
    }
}

/* Begins anew with what no link reaches as the highest rate. */
static void lift_limit(sending *here)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    config.bytes_per_second = LS_BLOB_RATE_MAX;
    config.burst_packets = LS_BLOB_BURST_PACKETS_MAX;
    ls_blob_sender_stop(here->sender);
    cr_assert_eq(ls_blob_sender_create(&config, ls_allocator_heap(), &here->sender), LS_OK);
    keep_until_end(here->sender, destroy_sender);
    ls_blob_sender_start(here->sender, here->blob, NUMBER, RTT_NS, here->now_ns);
}

/* Sends a train, of which the receiver says after a round trip when the first and the last packet
 * came: so long apart. Returns how many packets leave upon that. */
static uint32_t send_train(sending *here, uint32_t packets, uint32_t spread_ms)
{
    uint64_t left_ns = here->now_ns;
    cr_assert_eq(pop_for(here, RTT_NS / 2), packets);
    uint32_t first = here->sent - packets;
    ls_blob_ack ack = ack_of(first + 1);
    here->now_ns = left_ns + RTT_NS;
    cr_assert_eq(give(here, &ack), LS_OK);
    uint32_t more = pop_for(here, spread_ms * LS_NS_PER_MS);
    cr_assert_leq(more, 1);
    ack = ack_of(first + packets);
    cr_assert_eq(give(here, &ack), LS_OK);
    return more + pop_for(here, RTT_NS / 4);
}

Test(blob_sender, a_train_that_comes_as_it_left_is_followed_by_one_sixteen_times_as_long)
{
    sending here = open_sending(BYTES);
    lift_limit(&here);
    cr_expect_eq(send_train(&here, TRAIN, 0), 16 * TRAIN);
}

/* Nine packets in 9 ms: 119 KB in a round trip and half of the queue that is wanted, of which 25 ms
 * leave as the next train. Where that takes as long for each packet the window is known. */
Test(blob_sender, a_train_that_comes_apart_shows_what_the_link_carries)
{
    enum {
        NEXT = 25
    };
    sending here = open_sending(BYTES);
    lift_limit(&here);
    uint32_t more = send_train(&here, TRAIN, TRAIN - 1);
    cr_expect(more >= NEXT - 1 && more <= NEXT + 1, "%u", more);
    uint32_t before = here.sent;
    here.now_ns += RTT_NS * 3 / 4;
    ls_blob_ack ack = ack_of(TRAIN + 2);
    cr_assert_eq(give(&here, &ack), LS_OK);
    pop_for(&here, (more - 2) * LS_NS_PER_MS);
    ack = ack_of(before);
    cr_assert_eq(give(&here, &ack), LS_OK);
    uint32_t window = pop_for(&here, RTT_NS * 3 / 4);
    cr_expect(window >= 100 && window <= 125, "%u", window);
}

Test(blob_sender, no_more_than_the_receiver_has_room_for_is_on_its_way)
{
    sending here = open_sending(64 << 20);
    lift_limit(&here);
    send_well(&here, 20000, RTT_NS);
    cr_expect_eq(pop_for(&here, RTT_NS), LS_BLOB_WINDOW_PARTS);
    uint32_t acknowledged = ls_blob_sender_figures_of(here.sender).acknowledged;
    ls_blob_ack ack = ack_of(acknowledged + 10);
    ack.received = acknowledged + 10;
    cr_assert_eq(give(&here, &ack), LS_OK);
    uint32_t more = pop_for(&here, LS_NS_PER_MS);
    cr_expect_eq(more, 10, "%u", more);
}

Test(blob_sender, only_what_is_missing_is_sent_again)
{
    sending here = open_sending(BYTES);
    for (uint32_t i = 0; i < 4; i++) {
        pop_part(&here);
    }
    here.now_ns += RTT_NS;
    ls_blob_ack ack = ack_of(1);
    ack.newest = 3;
    ack.received = 2;
    ack.count = 2;
    ack.has[0] = 2; /* part 3 */
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_assert_eq(pop_part(&here).index, 4, "the network may have changed their order");
    cr_assert_eq(pop_part(&here).index, 5);
    here.now_ns += RTT_NS;
    ack.newest = 5;
    ack.received = 4;
    ack.count = 4;
    ack.has[0] = 2 | 4 | 8;
    cr_assert_eq(give(&here, &ack), LS_OK);
    for (uint32_t index = 1; index < 3; index++) {
        ls_blob_part part = pop_part(&here);
        cr_expect_eq(part.index, index);
        cr_expect_eq(part.packet, 5 + index);
    }
    cr_expect_eq(pop_part(&here).index, 6);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).repeated, 2);
}

Test(blob_sender, a_longer_round_trip_makes_it_slower_and_a_short_one_faster)
{
    sending here = open_sending(16 << 20);
    lift_limit(&here);
    send_well(&here, 200, RTT_NS);
    uint32_t fast = ls_blob_sender_figures_of(here.sender).bytes_per_second;
    send_well(&here, 3000, 3 * RTT_NS);
    uint32_t slow = ls_blob_sender_figures_of(here.sender).bytes_per_second;
    cr_expect_lt(slow, fast / 2, "%u after %u", slow, fast);
    send_well(&here, 6000, RTT_NS);
    cr_expect_gt(ls_blob_sender_figures_of(here.sender).bytes_per_second, 2 * slow);
}

Test(blob_sender, a_silent_receiver_is_tried_more_and_more_rarely)
{
    sending here = open_sending(BYTES);
    send_well(&here, 500, RTT_NS);
    pop_for(&here, RTT_NS);
    uint32_t first = pop_for(&here, LS_NS_PER_SECOND);
    pop_for(&here, 9 * LS_NS_PER_SECOND);
    uint32_t later = pop_for(&here, 10 * LS_NS_PER_SECOND);
    cr_expect(later >= 5 && later <= 12, "%u", later);
    cr_expect_gt(first, later);
}

Test(blob_sender, an_acknowledgement_of_what_was_not_sent_changes_nothing)
{
    sending here = open_sending(BYTES);
    for (uint32_t i = 0; i < 4; i++) {
        pop_part(&here);
    }
    ls_blob_ack ack = ack_of(5);
    ack.newest = 3;
    cr_expect_eq(give(&here, &ack), LS_MALFORMED);
    ack = ack_of(4);
    ack.newest = 4;
    cr_expect_eq(give(&here, &ack), LS_MALFORMED);
    ack = ack_of(1);
    ack.count = 3;
    ack.has[0] = 4; /* part 4 */
    cr_expect_eq(give(&here, &ack), LS_MALFORMED);
    ack = ack_of(2);
    ack.blob++;
    cr_expect_eq(give(&here, &ack), LS_STALE);
    cr_expect_eq(ls_blob_sender_receive_ack(here.sender, here.now_ns, here.bytes, 60),
                 LS_MALFORMED);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).acknowledged, 0);
    ack = ack_of(4);
    cr_expect_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).acknowledged, 4);
    ack = ack_of(2); /* overtaken */
    cr_expect_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).acknowledged, 4);
}

Test(blob_sender, parts_that_the_receiver_holds_from_another_connection_are_not_sent)
{
    sending here = open_sending(BYTES);
    ls_blob_ack ack = {.blob = NUMBER, .first = 1500, .hold = 255, .count = 3};
    ack.has[0] = 4; /* part 1503 */
    pop_part(&here);
    cr_assert_eq(give(&here, &ack), LS_MALFORMED, "it was not said that there are any");
    ls_blob_sender_expect_held(here.sender);
    ack.first = ls_blob_part_count(here.blob) + 1;
    cr_assert_eq(give(&here, &ack), LS_MALFORMED, "the blob has not so many");
    ack.first = 1500;
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).acknowledged, 1500);
    static const uint32_t missing[] = {1500, 1501, 1502, 1504};
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(pop_part(&here).index, missing[i]);
    }
    here.now_ns += RTT_NS;
    cr_expect_eq(pop_part(&here).index, missing[3]);
    ack.first = ls_blob_part_count(here.blob);
    ack.count = 0;
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_not(ls_blob_sender_is_busy(here.sender));
}

/* The ring has room for the parts behind the first that is missing, and not for those before it. */
Test(blob_sender, parts_that_are_held_as_far_ahead_as_can_be_leave_no_part_on_its_way)
{
    sending here = open_sending(20 << 20);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert_eq(pop_part(&here).index, i);
    }
    ls_blob_sender_expect_held(here.sender);
    ls_blob_ack ack = {.blob = NUMBER, .first = 3, .hold = 255, .count = LS_BLOB_ACK_PARTS - 1};
    memset(ack.has, 0xFF, sizeof ack.has);
    ack.has[sizeof ack.has - 1] = 0x7F;
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).acknowledged, 3);
    here.now_ns += 2 * LS_NS_PER_MS;
    cr_expect_eq(pop_part(&here).index, 3 + LS_BLOB_ACK_PARTS, "behind all that is held");
    here.now_ns += 10 * RTT_NS;
    cr_expect_eq(pop_part(&here).index, 3);
    ack = ack_of(4 + LS_BLOB_ACK_PARTS);
    ack.newest = ack.received = 5;
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(pop_for(&here, RTT_NS), TRAIN, "the window, and nothing else is on its way");
}

Test(blob_sender, the_round_trip_is_measured_without_the_hold)
{
    sending here = open_sending(BYTES);
    ls_blob_sender_start(here.sender, here.blob, NUMBER, 0, here.now_ns);
    pop_part(&here);
    here.now_ns += 50 * LS_NS_PER_MS;
    ls_blob_ack ack = ack_of(1);
    ack.hold = 40; /* 10 ms */
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).rtt_ns, 40 * LS_NS_PER_MS);
    pop_part(&here);
    here.now_ns += LS_NS_PER_MS;
    ack = ack_of(2);
    ack.hold = 40; /* longer than it can be */
    cr_assert_eq(give(&here, &ack), LS_OK);
    cr_expect_eq(ls_blob_sender_figures_of(here.sender).rtt_ns, 40 * LS_NS_PER_MS);
}

/* Times of arrival are measured, and less exactly than the times of sending. */
Test(blob_sender, an_acknowledgement_that_seems_older_than_its_part_measures_nothing)
{
    sending here = open_sending(BYTES);
    ls_blob_sender_start(here.sender, here.blob, NUMBER, RTT_NS, here.now_ns);
    ls_blob_sender_figures before = ls_blob_sender_figures_of(here.sender);
    pop_part(&here);
    here.now_ns--;
    ls_blob_ack ack = ack_of(1);
    cr_assert_eq(give(&here, &ack), LS_OK);
    ls_blob_sender_figures after = ls_blob_sender_figures_of(here.sender);
    cr_expect_eq(after.rtt_ns, before.rtt_ns);
    cr_expect_eq(after.bytes_per_second, before.bytes_per_second);
    cr_expect_eq(after.acknowledged, 1);
}

Test(blob_sender, the_sender_waits_for_bytes_that_are_not_compressed)
{
    sending here = open_sending(BYTES);
    ls_blob_sender_stop(here.sender);
    cr_expect(!ls_blob_sender_is_busy(here.sender));
    cr_expect_eq(ls_blob_sender_next_ns(here.sender), UINT64_MAX);
    ls_blob_ack ack = ack_of(1);
    cr_expect_eq(give(&here, &ack), LS_STALE);
    ls_blob_start(here.blob, 2 * LS_BLOB_PIECE_BYTES);
    ls_blob_seal(here.blob);
    ls_blob_sender_start(here.sender, here.blob, NUMBER, RTT_NS, here.now_ns);
    cr_expect(ls_blob_sender_is_busy(here.sender));
    cr_expect_eq(ls_blob_sender_next_ns(here.sender), UINT64_MAX);
    cr_expect_eq(ls_blob_sender_next(here.sender, here.now_ns, here.bytes), 0);
    ls_blob_advance(here.blob, 1);
    cr_expect_leq(ls_blob_sender_next_ns(here.sender), here.now_ns);
    pop_part(&here);
}

Test(blob_sender, a_config_out_of_range_is_named)
{
    ls_text why;
    ls_blob_sender_config config = ls_blob_sender_config_default();
    cr_assert_eq(ls_blob_sender_config_check(&config, &why), LS_OK);
    config.bytes_per_second = LS_BLOB_RATE_MIN - 1;
    cr_expect_eq(ls_blob_sender_config_check(&config, &why), LS_BAD_ARGUMENT);
    cr_expect(strstr(why.bytes, "bytes_per_second"));
    config = ls_blob_sender_config_default();
    config.burst_packets = 0;
    cr_expect_eq(ls_blob_sender_config_check(&config, NULL), LS_BAD_ARGUMENT);
    config = ls_blob_sender_config_default();
    config.header_bytes = 257;
    cr_expect_eq(ls_blob_sender_config_check(&config, NULL), LS_BAD_ARGUMENT);
    config = ls_blob_sender_config_default();
    config.blob_bytes_max = 0;
    cr_expect_eq(ls_blob_sender_config_check(&config, NULL), LS_BAD_ARGUMENT);
    config = ls_blob_sender_config_default();
    config.tick_ns = LS_NS_PER_SECOND + 1;
    cr_expect_eq(ls_blob_sender_config_check(&config, NULL), LS_BAD_ARGUMENT);
}

Test(blob_sender, a_failed_allocation_is_survived)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    counting.allowed = 0;
    ls_blob_sender_config config = ls_blob_sender_config_default();
    ls_blob_sender *sender = NULL;
    cr_assert_eq(ls_blob_sender_create(&config, &counting.allocator, &sender), LS_NO_MEMORY);
    ls_blob_sender_destroy(NULL);
    counting.allowed = 1;
    cr_assert_eq(ls_blob_sender_create(&config, &counting.allocator, &sender), LS_OK);
    cr_expect_leq(counting.peak_bytes, 400u << 10);
    ls_blob_sender_destroy(sender);
    counting.peak_bytes = 0;
    counting.allowed = 1;
    config.blob_bytes_max = 1 << 20;
    cr_assert_eq(ls_blob_sender_create(&config, &counting.allocator, &sender), LS_OK);
    cr_expect_leq(counting.peak_bytes, (1u << 20) / 40);
    ls_blob_sender_destroy(sender);
    cr_assert_eq(counting.live_blocks, 0);
}

/* ==== blob_stream ==== */

/* A whole transfer: blob, sender and receiver over a network in virtual time that loses, repeats,
 * reorders and alters packets. Prints how long transfers take. */

enum {
    KIB = 1 << 10,
    MIB = 1 << 20,
    PER_MILLION = 1000000,
    FRAME_NS = 1000000000 / 60,
    PIECES_PER_TICK = 8,
    TICKS_MAX = 60 * 600,
    TICK_BYTES = 25, /* of four players, with what a link of 100 ms has them repeat */
    HEADER_BYTES = 38,
};

static const uint64_t STREAM_START_NS = 5 * LS_NS_PER_SECOND;
static const uint64_t PATIENCE_NS = 600 * LS_NS_PER_SECOND;

typedef struct transfer transfer;

struct transfer {
    counting_allocator counting;
    ls_memory_network *network;
    ls_transport *server;
    ls_transport *client;
    ls_peer_id peer; /* the server's name for the client */
    ls_peer_id host; /* the client's name for the server */
    ls_blob *blob;
    ls_blob_sender *sender;
    ls_blob_receiver *receiver;
    uint32_t number; /* of the blob */
    uint64_t now_ns;
    uint64_t frame_ns; /* of the client, which looks at its packets once a frame; 0: at once */
    uint64_t looked_ns;
    uint64_t ticked_ns;
    uint32_t refused; /* packets that either side called malformed */
    uint32_t packets_at_once_max;

    /* Packets of closed ticks travel beside the blob, to the same client. */
    uint32_t tick_bytes; /* of each, without headers; 0: there are none */
    uint64_t tick_due_ns;
    uint32_t tick_count; /* that have come */
    uint64_t tick_delays[TICKS_MAX];

    /* The links change meanwhile; NULL: they do not. */
    void (*change_links)(transfer *here, uint64_t passed_ns);
    uint64_t changed_ns;
    ls_link_config link; /* of before */
};

/* Half of it is random, so that it compresses as states do. */
static void fill(uint8_t *bytes, uint32_t size, uint64_t seed)
{
    ls_rng rng = ls_rng_make(seed, 1);
    for (uint32_t i = 0; i < size; i++) {
        bytes[i] = i % 8 < 4 ? (uint8_t)ls_rng_next(&rng) : (uint8_t)(i >> 12);
    }
}

static void connect(transfer *here, uint64_t seed)
{
    ls_transport_event event;
    cr_assert_eq(ls_memory_network_create(seed, ls_allocator_heap(), &here->network), LS_OK);
    cr_assert_eq(ls_memory_server_create(here->network, &here->server), LS_OK);
    cr_assert_eq(ls_memory_client_create(here->network, here->server, &here->client), LS_OK);
    cr_assert(ls_transport_next_event(here->server, &event));
    here->peer = event.peer;
    cr_assert(ls_transport_next_event(here->client, &event));
    here->host = event.peer;
    here->now_ns = STREAM_START_NS;
    ls_memory_network_set_time(here->network, STREAM_START_NS);
}

static void open_transfer(transfer *here, uint32_t bytes, const ls_blob_sender_config *config,
                          uint64_t seed)
{
    memset(here, 0, sizeof *here);
    counting_allocator_init(&here->counting);
    const ls_allocator *allocator = &here->counting.allocator;
    connect(here, seed);
    cr_assert_eq(ls_blob_create(bytes, allocator, &here->blob), LS_OK);
    cr_assert_eq(ls_blob_sender_create(config, allocator, &here->sender), LS_OK);
    cr_assert_eq(ls_blob_receiver_create(bytes, allocator, &here->receiver), LS_OK);
    fill(ls_blob_start(here->blob, bytes), bytes, seed);
    ls_blob_seal(here->blob);
}

static void close_transfer(transfer *here)
{
    ls_blob_sender_destroy(here->sender);
    ls_blob_receiver_destroy(here->receiver);
    ls_blob_destroy(here->blob);
    ls_memory_network_destroy(here->network);
    cr_assert_eq(here->counting.live_blocks, 0);
}

static void set_links(transfer *here, ls_link_config link)
{
    ls_memory_client_set_links(here->client, &link, &link);
}

static void send_tick(transfer *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX] = {0};
    if (here->tick_bytes == 0 || here->now_ns < here->tick_due_ns) {
        return;
    }
    memcpy(bytes, &here->now_ns, sizeof here->now_ns);
    here->tick_due_ns = here->now_ns + FRAME_NS;
    ls_transport_send(here->server, here->peer, LS_CHANNEL_UNRELIABLE, bytes, here->tick_bytes);
}

static bool receive_tick(transfer *here, const ls_transport_event *event)
{
    uint64_t sent_ns;
    if (here->tick_bytes == 0 || event->size != here->tick_bytes) {
        return false;
    }
    memcpy(&sent_ns, event->bytes, sizeof sent_ns);
    cr_assert_lt(here->tick_count, TICKS_MAX);
    here->tick_delays[here->tick_count++] = event->arrived_ns - sent_ns;
    return true;
}

static void run_server(transfer *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_transport_event event;
    send_tick(here);
    while (ls_transport_next_event(here->server, &event)) {
        ls_status status =
            ls_blob_sender_receive_ack(here->sender, here->now_ns, event.bytes, event.size);
        here->refused += status == LS_MALFORMED;
    }
    if (here->now_ns >= here->ticked_ns) {
        here->ticked_ns = here->now_ns + FRAME_NS;
        ls_blob_advance(here->blob, PIECES_PER_TICK);
    }
    uint32_t at_once = 0;
    size_t size;
    while ((size = ls_blob_sender_next(here->sender, here->now_ns, bytes)) > 0) {
        ls_transport_send(here->server, here->peer, LS_CHANNEL_UNRELIABLE, bytes, size);
        at_once++;
    }
    if (at_once > here->packets_at_once_max) {
        here->packets_at_once_max = at_once;
    }
}

static void run_client(transfer *here)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    ls_transport_event event;
    if (here->now_ns < here->looked_ns) {
        return;
    }
    here->looked_ns = here->now_ns + here->frame_ns;
    while (ls_transport_next_event(here->client, &event)) {
        if (receive_tick(here, &event)) {
            continue;
        }
        ls_status status =
            ls_blob_receiver_receive_part(here->receiver, here->now_ns, event.bytes, event.size);
        here->refused += status == LS_MALFORMED;
    }
    while (ls_blob_receiver_advance(here->receiver, 1)) {
    }
    size_t size = ls_blob_receiver_next(here->receiver, here->now_ns, bytes);
    if (size > 0) {
        ls_transport_send(here->client, here->host, LS_CHANNEL_UNRELIABLE, bytes, size);
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t later(uint64_t ns, uint64_t floor_ns)
{
    return ns > floor_ns ? ns : floor_ns;
}

/* The next moment at which anything is due. */
static uint64_t next_ns(const transfer *here)
{
    uint64_t client_ns =
        least(ls_memory_network_next_ns(here->network), ls_blob_receiver_next_ns(here->receiver));
    client_ns = client_ns == UINT64_MAX ? client_ns : later(client_ns, here->looked_ns);
    uint64_t server_ns =
        least(ls_memory_network_next_ns(here->network), ls_blob_sender_next_ns(here->sender));
    if (!ls_blob_is_compressed(here->blob)) {
        server_ns = least(server_ns, here->ticked_ns);
    }
    if (here->tick_bytes > 0) {
        server_ns = least(server_ns, here->tick_due_ns);
    }
    /* Packets that wait for the client's frame say nothing about when one comes to the server. */
    uint64_t step_ns = here->frame_ns > 0 ? LS_NS_PER_MS / 4 : LS_NS_PER_US;
    return later(least(client_ns, server_ns), here->now_ns + step_ns);
}

/* Streams until the sender knows that everything came; returns the time until the receiver had it.
 */
static uint64_t stream(transfer *here)
{
    ls_blob_promise promise = {++here->number, ls_blob_bytes(here->blob), ls_blob_hash(here->blob)};
    uint64_t start_ns = here->now_ns;
    uint64_t took_ns = 0;
    uint64_t calls = heap_calls();
    uint64_t allocations = here->counting.allocations;
    cr_assert_eq(ls_blob_receiver_start(here->receiver, &promise, start_ns), LS_OK);
    ls_blob_sender_start(here->sender, here->blob, here->number, 0, start_ns);
    for (;;) {
        if (here->change_links) {
            here->change_links(here, here->now_ns - start_ns);
        }
        run_server(here);
        run_client(here);
        if (took_ns == 0 && ls_blob_receiver_state_of(here->receiver) == LS_BLOB_COMPLETE) {
            took_ns = here->now_ns - start_ns;
        }
        cr_assert_neq(ls_blob_receiver_state_of(here->receiver), LS_BLOB_FAILED);
        cr_assert_lt(here->now_ns - start_ns, PATIENCE_NS, "it never ends");
        if (!ls_blob_sender_is_busy(here->sender)) {
            break;
        }
        here->now_ns = next_ns(here);
        ls_memory_network_set_time(here->network, here->now_ns);
    }
    cr_assert_eq(heap_calls(), calls);
    cr_assert_eq(here->counting.allocations, allocations);
    ls_blob_sender_stop(here->sender);
    return took_ns;
}

static void expect_all(const transfer *here, uint64_t seed)
{
    uint32_t size = ls_blob_bytes(here->blob);
    uint8_t *expected = malloc(size);
    cr_assert(expected);
    fill(expected, size, seed);
    const uint8_t *bytes = ls_blob_receiver_bytes(here->receiver);
    cr_assert(bytes);
    cr_assert_eq(memcmp(bytes, expected, size), 0);
    cr_assert_eq(ls_blob_receiver_progress(here->receiver), size);
    free(expected);
}

static ls_link_config link_of(uint32_t loss_percent)
{
    return (ls_link_config){.delay_ns = 50 * LS_NS_PER_MS,
                            .loss_ppm = loss_percent * (PER_MILLION / 100)};
}

Test(blob_stream, comes_whole_over_any_link)
{
    static const uint32_t losses[] = {0, 5, 20};
    for (uint64_t seed = 0; seed < 12; seed++) {
        ls_blob_sender_config config = ls_blob_sender_config_default();
        transfer here;
        ls_link_config link = link_of(losses[seed % 3]);
        link.jitter_ns = seed * 3 * LS_NS_PER_MS;
        link.duplicate_ppm = 50000;
        link.corrupt_ppm = 50000;
        open_transfer(&here, (uint32_t)(200 * KIB + seed * 777), &config, seed);
        here.frame_ns = seed % 2 == 0 ? 0 : FRAME_NS;
        set_links(&here, link);
        stream(&here);
        expect_all(&here, seed);
        ls_memory_counts counts = ls_memory_network_counts(here.network);
        cr_assert_gt(counts.corrupted, 0);
        cr_assert_gt(counts.duplicated, 0);
        cr_assert(counts.reordered > 0 || seed == 0);
        cr_assert_leq(here.refused, 2 * counts.corrupted); /* what was altered may come twice */
        cr_assert_gt(here.refused, 0);
        close_transfer(&here);
    }
}

Test(blob_stream, one_byte_and_whole_pieces_come)
{
    static const uint32_t sizes[] = {1, 2, 1134, 1135, 1136, 65535, 65536, 65537, 131072};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ls_blob_sender_config config = ls_blob_sender_config_default();
        transfer here;
        open_transfer(&here, sizes[i], &config, i);
        set_links(&here, link_of(20));
        stream(&here);
        expect_all(&here, i);
        close_transfer(&here);
    }
}

Test(blob_stream, the_memory_serves_one_blob_after_the_other)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    transfer here;
    open_transfer(&here, 300 * KIB, &config, 0);
    set_links(&here, link_of(5));
    for (uint64_t seed = 1; seed < 4; seed++) {
        fill(ls_blob_start(here.blob, (uint32_t)(seed * 99 * KIB)), (uint32_t)(seed * 99 * KIB),
             seed);
        ls_blob_seal(here.blob);
        stream(&here);
        expect_all(&here, seed);
    }
    close_transfer(&here);
}

Test(blob_stream, an_outage_is_waited_out_with_a_packet_now_and_then)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    transfer here;
    open_transfer(&here, 2 * MIB, &config, 1);
    set_links(&here, (ls_link_config){.delay_ns = 50 * LS_NS_PER_MS, .is_cut = true});
    ls_blob_promise promise = {0, ls_blob_bytes(here.blob), ls_blob_hash(here.blob)};
    cr_assert_eq(ls_blob_receiver_start(here.receiver, &promise, here.now_ns), LS_OK);
    ls_blob_sender_start(here.sender, here.blob, 0, 100 * LS_NS_PER_MS, here.now_ns);
    for (; here.now_ns < STREAM_START_NS + 10 * LS_NS_PER_SECOND; here.now_ns = next_ns(&here)) {
        ls_memory_network_set_time(here.network, here.now_ns);
        run_server(&here);
        run_client(&here);
    }
    ls_blob_sender_figures figures = ls_blob_sender_figures_of(here.sender);
    cr_expect(figures.packets > 10 && figures.packets < 40, "%u", figures.packets);
    set_links(&here, link_of(0));
    stream(&here);
    expect_all(&here, 1);
    close_transfer(&here);
}

/* ---- what a transfer may take ---- */

/* Of a hundred ticks so many came later than that. */
static double late_percent(const transfer *here, uint64_t delay_ns)
{
    uint32_t late = 0;
    for (uint32_t i = 0; i < here->tick_count; i++) {
        late += here->tick_delays[i] > delay_ns;
    }
    return 100.0 * late / here->tick_count;
}

static uint32_t stream_bytes(const transfer *here)
{
    return ls_blob_part_count(here->blob) * LS_BLOB_PART_BYTES;
}

typedef struct goal {
    uint32_t compressed_kib;
    uint32_t kbit_per_s; /* of the link, headers counted */
    uint32_t delay_ms;   /* of each way */
    uint32_t loss_percent;
    uint32_t queue_kib;     /* of the bottleneck */
    uint32_t mib_per_s;     /* the highest rate */
    double time_max;        /* of what it takes at the link's rate less that of the ticks */
    double bytes_max;       /* that are offered, of those of the stream */
    uint64_t tick_delay_ns; /* beyond the link's own, that one tick of twenty passes at most */
    void (*change_links)(transfer *here, uint64_t passed_ns);
    double rate_share; /* of the rate that the link has over the time that it takes; 0: all */
} goal;

static ls_link_config bottleneck(const goal *from)
{
    ls_link_config link = link_of(from->loss_percent);
    link.delay_ns = from->delay_ms * LS_NS_PER_MS;
    link.keeps_order = true;
    link.rate_bps = (uint64_t)from->kbit_per_s * 1000;
    link.queue_bytes = (uint64_t)from->queue_kib * KIB;
    link.bucket_bytes = 3 * KIB / 2;
    return link;
}

static void reach(const goal *wanted, uint64_t seed)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    config.bytes_per_second = wanted->mib_per_s * MIB;
    transfer *here = malloc(sizeof *here);
    cr_assert(here);
    open_transfer(here, 2 * wanted->compressed_kib * KIB, &config, seed);
    here->link = bottleneck(wanted);
    here->tick_bytes = TICK_BYTES;
    here->change_links = wanted->change_links;
    here->frame_ns = seed % 2 == 0 ? 0 : FRAME_NS;
    set_links(here, here->link);
    uint64_t took_ns = stream(here);
    expect_all(here, seed);
    ls_blob_sender_figures figures = ls_blob_sender_figures_of(here->sender);
    double rate = wanted->kbit_per_s * 125.0 * (wanted->rate_share > 0 ? wanted->rate_share : 1);
    double floor_s = stream_bytes(here) / (rate - 60 * (TICK_BYTES + HEADER_BYTES));
    double took = (double)took_ns / LS_NS_PER_SECOND / floor_s;
    double offered = (double)figures.bytes / stream_bytes(here);
    double late = late_percent(here, here->link.delay_ns + wanted->tick_delay_ns);
    fprintf(stderr,
            "%6u KiB over %6u kbit/s, loss %2u %%, queue %4u KiB: %7.2f s, %.2f of the least, "
            "%.2f of the bytes offered, %4.1f %% of the ticks %3.0f ms late\n",
            wanted->compressed_kib, wanted->kbit_per_s, wanted->loss_percent, wanted->queue_kib,
            (double)took_ns / LS_NS_PER_SECOND, took, offered, late,
            (double)wanted->tick_delay_ns / LS_NS_PER_MS);
    cr_expect_leq(took, wanted->time_max);
    cr_expect_leq(offered, wanted->bytes_max);
    cr_expect_leq(late, 5);
    close_transfer(here);
    free(here);
}

/* The ticks beside it never wait long. A part alone takes 103 ms at 96 kbit/s. */
Test(blob_stream, a_slow_link_is_filled_and_its_queue_is_not)
{
    static const goal goals[] = {
        {703, 96, 50, 0, 64, 1, 1.3, 1.15, 350 * LS_NS_PER_MS, NULL, 0},
        {703, 96, 50, 0, 16, 1, 1.3, 1.15, 350 * LS_NS_PER_MS, NULL, 0},
        {703, 192, 50, 0, 64, 1, 1.3, 1.15, 200 * LS_NS_PER_MS, NULL, 0},
        {703, 1000, 50, 0, 64, 1, 1.3, 1.15, 80 * LS_NS_PER_MS, NULL, 0},
        {703, 1000, 50, 0, 4, 1, 1.5, 1.25, 60 * LS_NS_PER_MS, NULL, 0},
        {4096, 8000, 50, 0, 256, 1, 1.3, 1.15, 40 * LS_NS_PER_MS, NULL, 0},
        {65536, 100000, 10, 0, 1024, 16, 1.3, 1.15, 40 * LS_NS_PER_MS, NULL, 0},
    };
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        reach(&goals[i], 1);
        if (goals[i].kbit_per_s < 1000) {
            reach(&goals[i], 2);
        }
    }
}

Test(blob_stream, a_link_that_loses_a_fifth_is_used_all_the_same)
{
    static const goal goals[] = {
        {703, 96, 50, 20, 64, 1, 1.7, 1.45, 350 * LS_NS_PER_MS, NULL, 0},
        {703, 192, 50, 20, 64, 1, 1.7, 1.45, 280 * LS_NS_PER_MS, NULL, 0},
        {703, 1000, 50, 20, 64, 1, 1.7, 1.45, 120 * LS_NS_PER_MS, NULL, 0},
    };
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        for (uint64_t seed = 1; seed < 4; seed++) {
            reach(&goals[i], seed);
        }
    }
}

Test(blob_stream, a_large_blob_passes_a_link_that_loses_a_fifth)
{
    static const goal wanted = {65536, 100000, 50, 20, 1024, 16, 1.7, 1.45, 60 * LS_NS_PER_MS,
                                NULL,  0};
    reach(&wanted, 1);
}

/* From the fifth second to the twentieth nothing passes. */
static void cut_for_a_while(transfer *here, uint64_t passed_ns)
{
    ls_link_config link = here->link;
    link.is_cut = passed_ns > 5 * LS_NS_PER_SECOND && passed_ns < 20 * LS_NS_PER_SECOND;
    if (link.is_cut != (here->changed_ns != 0)) {
        here->changed_ns = link.is_cut ? here->now_ns : 0;
        set_links(here, link);
    }
}

/* A tenth and ten times of it, for ten seconds each. */
static void change_rate(transfer *here, uint64_t passed_ns)
{
    if (here->now_ns >= here->changed_ns) {
        bool is_slow = passed_ns / (10 * LS_NS_PER_SECOND) % 2 == 1;
        ls_link_config link = here->link;
        link.rate_bps = is_slow ? link.rate_bps / 10 : link.rate_bps;
        here->changed_ns = here->now_ns + 10 * LS_NS_PER_SECOND;
        set_links(here, link);
    }
}

Test(blob_stream, a_link_that_changes_is_followed)
{
    static const goal goals[] = {
        {703, 192, 50, 0, 64, 1, 1.7, 1.15, 200 * LS_NS_PER_MS, cut_for_a_while, 0},
        /* The packets on their way take 1.4 s when the link becomes slow. */
        {4096, 2000, 50, 0, 64, 1, 1.3, 1.15, 1500 * LS_NS_PER_MS, change_rate, 0.55},
    };
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        reach(&goals[i], 1);
        reach(&goals[i], 2);
    }
}

/* One line of figures: size, what it compresses to, link, highest rate, time, what it cost. */
static uint64_t measure(uint32_t bytes, uint32_t loss_percent, uint32_t mib_per_second)
{
    ls_blob_sender_config config = ls_blob_sender_config_default();
    config.bytes_per_second = mib_per_second * MIB;
    transfer here;
    open_transfer(&here, bytes, &config, 3);
    set_links(&here, link_of(loss_percent));
    here.frame_ns = FRAME_NS;
    uint64_t took_ns = stream(&here);
    expect_all(&here, 3);
    ls_blob_sender_figures figures = ls_blob_sender_figures_of(here.sender);
    fprintf(stderr,
            "%8u KiB, RTT 100 ms, loss %2u %%, at most %u MiB/s: %6.2f s, %7.0f KiB sent, "
            "%4.1f %% repeated, at the end %4.0f KiB/s\n",
            bytes / KIB, loss_percent, mib_per_second, (double)took_ns / LS_NS_PER_SECOND,
            (double)figures.bytes / KIB, 100.0 * figures.repeated / figures.packets,
            (double)figures.bytes_per_second / KIB);
    cr_assert_leq(here.packets_at_once_max, config.burst_packets);
    close_transfer(&here);
    return took_ns;
}

Test(blob_stream, takes_so_long)
{
    static const uint32_t sizes[] = {16 * KIB, MIB, 16 * MIB};
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t loss_percent = 0; loss_percent <= 5; loss_percent += 5) {
            uint64_t took_ns = measure(sizes[i], loss_percent, 1);
            uint64_t least_ns = (uint64_t)sizes[i] / 2 * LS_NS_PER_SECOND / MIB;
            cr_expect_lt(took_ns, 2 * LS_NS_PER_SECOND + 2 * least_ns);
        }
    }
    measure(2 * MIB, 0, 8);
    measure(2 * MIB, 5, 8);
    measure(MIB, 20, 1);
}
