#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/transport/transport.h"
#include "lockstep/protocol/transport/transport_memory.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* ---- transport ---- */

/* A transport that only remembers what it was asked for. */
typedef struct test_recorder {
    ls_transport base;
    ls_peer_id peer;
    ls_channel channel;
    uint8_t bytes[8];
    size_t size;
    ls_peer_id disconnected;
} test_recorder;

static void record_send(ls_transport *transport, ls_peer_id peer, ls_channel channel,
                        const uint8_t *bytes, size_t size)
{
    test_recorder *recorder = (struct test_recorder *)transport;
    recorder->peer = peer;
    recorder->channel = channel;
    recorder->size = size;
    memcpy(recorder->bytes, bytes, size);
}

static void record_disconnect(ls_transport *transport, ls_peer_id peer)
{
    ((test_recorder *)transport)->disconnected = peer;
}

Test(transport, a_sink_sends_and_disconnects_through_its_transport)
{
    static const ls_transport_operations operations = {.send = record_send,
                                                       .disconnect = record_disconnect};
    test_recorder recorder = {.base = {&operations}};
    ls_packet_sink sink = ls_transport_sink(&recorder.base);
    sink.send(sink.user, 7, LS_CHANNEL_UNRELIABLE, (const uint8_t *)"abc", 3);
    cr_assert_eq(recorder.peer, 7);
    cr_assert_eq(recorder.channel, LS_CHANNEL_UNRELIABLE);
    cr_assert_eq(recorder.size, 3);
    cr_assert_eq(memcmp(recorder.bytes, "abc", 3), 0);
    cr_assert_eq(recorder.disconnected, 0);
    sink.disconnect(sink.user, 9);
    cr_assert_eq(recorder.disconnected, 9);
}

Test(transport, destroying_nothing_is_allowed)
{
    ls_transport_destroy(NULL);
}

/* ---- transport_memory ---- */

enum {
    CLIENTS_MAX = 3,
    PER_MILLION = 1000000,
};

/* A server and clients, their CONNECTED events taken. */
typedef struct net {
    ls_memory_network *network;
    ls_transport *server;
    ls_transport *clients[CLIENTS_MAX];
    ls_peer_id peers[CLIENTS_MAX]; /* the server's names for them */
    uint64_t now_ns;
} net;

static void move_time(net *here, uint64_t ns)
{
    here->now_ns += ns;
    ls_memory_network_set_time(here->network, here->now_ns);
}

static void add_client(net *here, uint32_t index)
{
    ls_transport_event event;
    cr_assert_eq(ls_memory_client_create(here->network, here->server, &here->clients[index]),
                 LS_OK);
    cr_assert(ls_transport_next_event(here->server, &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_CONNECTED);
    here->peers[index] = event.peer;
    cr_assert(ls_transport_next_event(here->clients[index], &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_CONNECTED);
}

static void destroy_network(void *network)
{
    ls_memory_network_destroy(network);
}

static net open_net(uint64_t seed, uint32_t clients)
{
    net here = {0};
    cr_assert_eq(ls_memory_network_create(seed, ls_allocator_heap(), &here.network), LS_OK);
    keep_until_end(here.network, destroy_network);
    cr_assert_eq(ls_memory_server_create(here.network, &here.server), LS_OK);
    for (uint32_t i = 0; i < clients; i++) {
        add_client(&here, i);
    }
    return here;
}

static void set_both(net *here, uint32_t client, ls_link_config link)
{
    ls_memory_client_set_links(here->clients[client], &link, &link);
}

static void send_number(ls_transport *from, ls_peer_id peer, ls_channel channel, uint32_t number)
{
    uint8_t bytes[4];
    memcpy(bytes, &number, sizeof bytes);
    ls_transport_send(from, peer, channel, bytes, sizeof bytes);
}

/* Takes every number that is there; returns how many. */
static uint32_t receive_numbers(ls_transport *at, uint32_t *numbers, uint32_t capacity)
{
    ls_transport_event event;
    uint32_t count = 0;
    while (ls_transport_next_event(at, &event)) {
        cr_assert_eq(event.kind, LS_TRANSPORT_RECEIVED);
        cr_assert_eq(event.size, 4);
        cr_assert_lt(count, capacity);
        memcpy(&numbers[count++], event.bytes, 4);
    }
    return count;
}

/* ---- connecting and leaving ---- */

TestSuite(transport_memory, .fini = destroy_kept);

Test(transport_memory, both_sides_hear_of_a_connection)
{
    net here = open_net(1, 2);
    cr_assert(here.peers[0] != 0 && here.peers[1] != 0);
    cr_assert_neq(here.peers[0], here.peers[1]);
}

Test(transport_memory, both_sides_hear_of_a_disconnection_after_what_was_sent_before)
{
    net here = open_net(1, 1);
    ls_transport_event event;
    set_both(&here, 0, (ls_link_config){.delay_ns = 10, .jitter_ns = 5000});
    for (uint32_t i = 0; i < 20; i++) {
        send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, i);
    }
    ls_transport_disconnect(here.server, here.peers[0]);
    send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, 99);
    move_time(&here, LS_NS_PER_SECOND);
    for (uint32_t i = 0; i < 20; i++) {
        cr_assert(ls_transport_next_event(here.clients[0], &event));
        cr_assert_eq(event.kind, LS_TRANSPORT_RECEIVED);
        cr_assert_eq(event.bytes[0], i);
    }
    cr_assert(ls_transport_next_event(here.clients[0], &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(event.reason, LS_DISCONNECTED);
    cr_assert_not(ls_transport_next_event(here.clients[0], &event), "what came after is not sent");
    send_number(here.clients[0], event.peer, LS_CHANNEL_RELIABLE, 1);
    move_time(&here, LS_NS_PER_SECOND);
    cr_assert_not(ls_transport_next_event(here.server, &event), "the peer is gone");
}

Test(transport_memory, destroying_an_endpoint_ends_its_connections)
{
    net here = open_net(1, 3);
    ls_transport_event event;
    ls_transport_destroy(here.server);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(ls_transport_next_event(here.clients[i], &event));
        cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    }
}

Test(transport_memory, packets_on_their_way_to_an_endpoint_that_is_gone_are_lost)
{
    net here = open_net(1, 2);
    send_number(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, 1);
    send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, 2);
    ls_transport_destroy(here.clients[0]);
    send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, 3);
    move_time(&here, LS_NS_PER_SECOND);
    ls_transport_event event;
    cr_assert_not(ls_transport_next_event(here.clients[0], &event));
    cr_assert(ls_transport_next_event(here.server, &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(ls_memory_network_next_ns(here.network), UINT64_MAX);
}

Test(transport_memory, a_server_that_died_knows_nobody_and_tells_nobody)
{
    net here = open_net(1, 2);
    send_number(here.clients[0], here.peers[0], LS_CHANNEL_RELIABLE, 1);
    ls_memory_server_forget(here.server);
    send_number(here.clients[0], here.peers[0], LS_CHANNEL_RELIABLE, 2);
    send_number(here.server, here.peers[1], LS_CHANNEL_UNRELIABLE, 3);
    move_time(&here, LS_NS_PER_SECOND);
    ls_transport_event event;
    cr_assert_not(ls_transport_next_event(here.server, &event));
    cr_assert_not(ls_transport_next_event(here.clients[0], &event));
    cr_assert_not(ls_transport_next_event(here.clients[1], &event));
    ls_transport *again = NULL;
    cr_assert_eq(ls_memory_client_create(here.network, here.server, &again), LS_OK);
    move_time(&here, LS_NS_PER_SECOND);
    cr_assert(ls_transport_next_event(here.server, &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_CONNECTED);
}

Test(transport_memory, a_peer_that_does_not_exist_is_sent_nothing)
{
    net here = open_net(1, 2);
    send_number(here.server, 0, LS_CHANNEL_RELIABLE, 1);
    send_number(here.server, 77, LS_CHANNEL_RELIABLE, 1);
    /* The other client's connection is none of this client's. */
    send_number(here.clients[0], here.peers[1], LS_CHANNEL_RELIABLE, 1);
    ls_transport_disconnect(here.clients[0], here.peers[1]);
    ls_transport_event event;
    cr_assert_not(ls_transport_next_event(here.server, &event));
    cr_assert_not(ls_transport_next_event(here.clients[1], &event));
    cr_assert_eq(ls_memory_network_counts(here.network).sent, 0);
}

Test(transport_memory, peers_and_channels_are_told_apart)
{
    net here = open_net(1, 3);
    ls_transport_event event;
    send_number(here.server, here.peers[2], LS_CHANNEL_UNRELIABLE, 7);
    cr_assert_not(ls_transport_next_event(here.clients[0], &event));
    cr_assert_not(ls_transport_next_event(here.clients[1], &event));
    cr_assert(ls_transport_next_event(here.clients[2], &event));
    cr_assert_eq(event.channel, LS_CHANNEL_UNRELIABLE);
    send_number(here.clients[1], event.peer, LS_CHANNEL_RELIABLE, 8);
    cr_assert_not(ls_transport_next_event(here.server, &event), "that is another client's name");
    send_number(here.clients[1], here.peers[1], LS_CHANNEL_RELIABLE, 8);
    cr_assert(ls_transport_next_event(here.server, &event));
    cr_assert(event.peer == here.peers[1] && event.channel == LS_CHANNEL_RELIABLE);
}

Test(transport_memory, an_empty_and_the_largest_packet_pass)
{
    net here = open_net(1, 1);
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    memset(bytes, 0x5a, sizeof bytes);
    ls_transport_event event;
    for (int channel = 0; channel < LS_CHANNEL_COUNT; channel++) {
        ls_transport_send(here.server, here.peers[0], (ls_channel)channel, NULL, 0);
        ls_transport_send(here.server, here.peers[0], (ls_channel)channel, bytes, sizeof bytes);
        cr_assert(ls_transport_next_event(here.clients[0], &event));
        cr_assert_eq(event.size, 0);
        cr_assert(ls_transport_next_event(here.clients[0], &event));
        cr_assert_eq(event.size, sizeof bytes);
        cr_assert_arr_eq(event.bytes, bytes, sizeof bytes);
    }
}

Test(transport_memory, a_packet_above_the_limit_is_a_mistake, .signal = SIGABRT)
{
    net here = open_net(1, 1);
    static const uint8_t bytes[LS_PACKET_BYTES_MAX + 1];
    ls_transport_send(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, bytes, sizeof bytes);
}

/* ---- time ---- */

Test(transport_memory, a_packet_arrives_when_its_delay_has_passed)
{
    net here = open_net(1, 1);
    ls_link_config up = {.delay_ns = 5000};
    ls_link_config down = {.delay_ns = 7000};
    ls_memory_client_set_links(here.clients[0], &up, &down);
    uint32_t numbers[4];
    cr_assert_eq(ls_memory_network_next_ns(here.network), UINT64_MAX);
    send_number(here.clients[0], here.peers[0], LS_CHANNEL_UNRELIABLE, 1);
    send_number(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, 2);
    cr_assert_eq(ls_memory_network_next_ns(here.network), 5000);
    move_time(&here, 4999);
    cr_assert_eq(receive_numbers(here.server, numbers, 4), 0);
    move_time(&here, 1);
    cr_assert_eq(receive_numbers(here.server, numbers, 4), 1);
    cr_assert_eq(ls_memory_network_next_ns(here.network), 7000);
    move_time(&here, 1999);
    cr_assert_eq(receive_numbers(here.clients[0], numbers, 4), 0);
    move_time(&here, 1);
    cr_assert_eq(receive_numbers(here.clients[0], numbers, 4), 1);
    cr_assert_eq(ls_memory_network_next_ns(here.network), UINT64_MAX);
}

Test(transport_memory, equal_delays_keep_the_order)
{
    net here = open_net(1, 1);
    uint32_t numbers[500];
    set_both(&here, 0, (ls_link_config){.delay_ns = 1000});
    for (uint32_t i = 0; i < 500; i++) {
        send_number(here.server, here.peers[0], i % 3 ? LS_CHANNEL_UNRELIABLE : LS_CHANNEL_RELIABLE,
                    i);
    }
    move_time(&here, 1000);
    cr_assert_eq(receive_numbers(here.clients[0], numbers, 500), 500);
    for (uint32_t i = 0; i < 500; i++) {
        cr_assert_eq(numbers[i], i);
    }
}

Test(transport_memory, time_never_goes_back, .signal = SIGABRT)
{
    net here = open_net(1, 1);
    move_time(&here, 10);
    ls_memory_network_set_time(here.network, 9);
}

/* ---- faults ---- */

Test(transport_memory, jitter_spreads_and_reorders_within_its_bounds)
{
    net here = open_net(3, 1);
    uint32_t number = 0;
    ls_transport_event event;
    set_both(&here, 0, (ls_link_config){.delay_ns = 20 * LS_NS_PER_MS, .jitter_ns = LS_NS_PER_MS});
    for (uint32_t i = 0; i < 1000; i++) {
        send_number(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, i);
    }
    uint32_t count = 0;
    uint32_t early = 0;
    uint32_t reordered = 0;
    uint32_t newest = 0;
    move_time(&here, 20 * LS_NS_PER_MS - 1);
    cr_assert_not(ls_transport_next_event(here.clients[0], &event), "earlier than the delay");
    for (int step = 0; step < 10; step++) {
        move_time(&here, LS_NS_PER_MS / 10);
        while (ls_transport_next_event(here.clients[0], &event)) {
            memcpy(&number, event.bytes, 4);
            reordered += number < newest;
            newest = number > newest ? number : newest;
            early += step < 5;
            count++;
        }
    }
    move_time(&here, 1);
    while (ls_transport_next_event(here.clients[0], &event)) {
        count++;
    }
    cr_assert_eq(count, 1000, "all within delay + jitter");
    cr_assert(early > 430 && early < 570, "%u of 1000 in the first half of the jitter", early);
    cr_assert_gt(reordered, 400);
    cr_assert_gt(ls_memory_network_counts(here.network).reordered, 400);
}

static uint32_t deliver_thousand(net *here, ls_link_config link, uint32_t *numbers)
{
    set_both(here, 0, link);
    for (uint32_t i = 0; i < 1000; i++) {
        send_number(here->clients[0], here->peers[0], LS_CHANNEL_UNRELIABLE, i);
    }
    move_time(here, LS_NS_PER_SECOND);
    return receive_numbers(here->server, numbers, 2000);
}

Test(transport_memory, loss_loses_its_share_and_counts_it)
{
    net here = open_net(4, 1);
    uint32_t numbers[2000];
    uint32_t count = deliver_thousand(&here, (ls_link_config){.loss_ppm = 200000}, numbers);
    cr_assert(count > 740 && count < 860, "%u of 1000 came", count);
    ls_memory_counts counts = ls_memory_network_counts(here.network);
    cr_assert_eq(counts.sent, 1000);
    cr_assert_eq(counts.delivered, count);
    cr_assert_eq(counts.lost, 1000 - count);
    cr_assert(counts.lost_in_bursts == 0 && counts.lost_in_cuts == 0 && counts.reordered == 0);
    cr_assert(counts.duplicated == 0 && counts.corrupted == 0);
}

Test(transport_memory, what_bursts_and_cuts_take_is_counted_apart)
{
    net here = open_net(4, 1);
    uint32_t numbers[2000];
    const ls_link_config bursts = {
        .burst_ppm = 200000, .burst_milli = 16000, .burst_loss_ppm = PER_MILLION};
    uint32_t count = deliver_thousand(&here, bursts, numbers);
    ls_memory_counts counts = ls_memory_network_counts(here.network);
    cr_assert(counts.lost == 1000 - count && count < 950);
    cr_assert(counts.lost_in_bursts == counts.lost && counts.lost_in_cuts == 0);
    cr_assert_eq(deliver_thousand(&here, (ls_link_config){.is_cut = true}, numbers), 0);
    counts = ls_memory_network_counts(here.network);
    cr_assert(counts.lost == 2000 - count && counts.lost_in_cuts == 1000);
    cr_assert_eq(deliver_thousand(&here, (ls_link_config){0}, numbers), 1000, "perfect again");
}

Test(transport_memory, a_link_that_loses_everything_delivers_nothing)
{
    net here = open_net(4, 1);
    uint32_t numbers[2000];
    cr_assert_eq(deliver_thousand(&here, (ls_link_config){.loss_ppm = PER_MILLION}, numbers), 0);
    cr_assert_eq(deliver_thousand(&here, (ls_link_config){.is_cut = true}, numbers), 0);
    cr_assert_eq(deliver_thousand(&here, (ls_link_config){0}, numbers), 1000);
}

Test(transport_memory, duplicates_come_twice_and_are_counted)
{
    net here = open_net(5, 1);
    uint32_t numbers[2000];
    uint8_t times[1000] = {0};
    uint32_t count = deliver_thousand(&here, (ls_link_config){.duplicate_ppm = 300000}, numbers);
    for (uint32_t i = 0; i < count; i++) {
        times[numbers[i]]++;
    }
    uint32_t twice = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        cr_assert(times[i] == 1 || times[i] == 2);
        twice += times[i] == 2;
    }
    cr_assert(twice > 230 && twice < 370);
    cr_assert_eq(ls_memory_network_counts(here.network).duplicated, twice);
}

Test(transport_memory, a_corrupted_packet_has_one_bit_flipped)
{
    net here = open_net(6, 1);
    ls_transport_event event;
    set_both(&here, 0, (ls_link_config){.corrupt_ppm = 400000});
    const uint8_t zeros[100] = {0};
    uint32_t flipped_packets = 0;
    for (int i = 0; i < 1000; i++) {
        ls_transport_send(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, zeros, sizeof zeros);
        cr_assert(ls_transport_next_event(here.clients[0], &event));
        uint32_t flipped_bits = 0;
        for (size_t at = 0; at < sizeof zeros; at++) {
            for (uint8_t byte = event.bytes[at]; byte != 0; byte &= (uint8_t)(byte - 1)) {
                flipped_bits++;
            }
        }
        cr_assert_leq(flipped_bits, 1);
        flipped_packets += flipped_bits;
    }
    cr_assert(flipped_packets > 330 && flipped_packets < 470);
    cr_assert_eq(ls_memory_network_counts(here.network).corrupted, flipped_packets);
}

Test(transport_memory, the_reliable_channel_keeps_everything_in_order_under_any_fault)
{
    static const ls_link_config links[] = {
        {.delay_ns = LS_NS_PER_MS, .jitter_ns = 50 * LS_NS_PER_MS},
        {.delay_ns = LS_NS_PER_MS, .loss_ppm = 500000},
        {.delay_ns = LS_NS_PER_MS,
         .jitter_ns = 9 * LS_NS_PER_MS,
         .loss_ppm = 300000,
         .duplicate_ppm = 300000,
         .corrupt_ppm = 300000},
    };
    for (size_t link = 0; link < sizeof links / sizeof links[0]; link++) {
        net here = open_net(7 + link, 1);
        uint32_t numbers[1000];
        set_both(&here, 0, links[link]);
        for (uint32_t i = 0; i < 1000; i++) {
            send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, i);
            move_time(&here, LS_NS_PER_MS / 4);
        }
        move_time(&here, 100 * LS_NS_PER_SECOND);
        cr_assert_eq(receive_numbers(here.clients[0], numbers, 1000), 1000);
        for (uint32_t i = 0; i < 1000; i++) {
            cr_assert_eq(numbers[i], i);
        }
    }
}

Test(transport_memory, a_lost_reliable_packet_delays_what_comes_after_it)
{
    net here = open_net(8, 1);
    ls_transport_event event;
    set_both(&here, 0, (ls_link_config){.delay_ns = 10 * LS_NS_PER_MS, .loss_ppm = 900000});
    send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, 1);
    uint64_t first_ns = ls_memory_network_next_ns(here.network);
    cr_assert_geq(first_ns, 30 * LS_NS_PER_MS, "sent again after a round trip");
    set_both(&here, 0, (ls_link_config){.delay_ns = 10 * LS_NS_PER_MS});
    send_number(here.server, here.peers[0], LS_CHANNEL_RELIABLE, 2);
    move_time(&here, first_ns - 1);
    cr_assert_not(ls_transport_next_event(here.clients[0], &event));
    move_time(&here, 1);
    uint32_t numbers[2];
    cr_assert_eq(receive_numbers(here.clients[0], numbers, 2), 2);
    cr_assert(numbers[0] == 1 && numbers[1] == 2);
}

/* When a packet arrives that is sent reliably over such a link. */
static uint64_t reliable_arrival_ns(net *here, ls_link_config link)
{
    set_both(here, 0, link);
    send_number(here->server, here->peers[0], LS_CHANNEL_RELIABLE, 1);
    return ls_memory_network_next_ns(here->network);
}

Test(transport_memory, resends_can_double_their_timeout_as_in_enet)
{
    uint64_t at_once = 0, others = 0;
    for (uint64_t seed = 0; seed < 64; seed++) {
        net here = open_net(seed, 1);
        ls_memory_network_set_resend(here.network, LS_NS_PER_SECOND / 2);
        uint64_t first_ns = reliable_arrival_ns(
            &here, (ls_link_config){.delay_ns = LS_NS_PER_MS, .loss_ppm = 500000});
        uint64_t halves = (first_ns - LS_NS_PER_MS) / (LS_NS_PER_SECOND / 2) + 1;
        cr_assert_eq((first_ns - LS_NS_PER_MS) % (LS_NS_PER_SECOND / 2), 0);
        cr_assert_eq(halves & (halves - 1), 0, "0, 0.5, 1.5, 3.5, ... s");
        at_once += halves == 1;
        others += halves > 4;
    }
    cr_assert(at_once > 18 && at_once < 46, "%u of 64", (unsigned)at_once);
    cr_assert(others > 1 && others < 18, "%u of 64", (unsigned)others);
}

Test(transport_memory, what_is_reliable_waits_for_a_partition_or_a_full_queue)
{
    net here = open_net(1, 1);
    const ls_link_config parted = {.delay_ns = 5, .partition_length_ns = 1000};
    cr_assert_eq(reliable_arrival_ns(&here, parted), 1005);
    here = open_net(1, 1);
    const ls_link_config slow = {
        .delay_ns = 10 * LS_NS_PER_MS, .rate_bps = 1000, .queue_bytes = LS_LINK_WIRE_BYTES_MAX};
    set_both(&here, 0, slow);
    static const uint8_t bytes[LS_PACKET_BYTES_MAX];
    for (uint32_t i = 0; i < 2; i++) {
        ls_transport_send(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, bytes, sizeof bytes);
    }
    cr_assert_eq(ls_memory_network_counts(here.network).lost, 1, "the queue is full");
    ls_transport_send(here.server, here.peers[0], LS_CHANNEL_RELIABLE, bytes, sizeof bytes);
    cr_assert_eq(ls_memory_network_next_ns(here.network), 30 * LS_NS_PER_MS, "a round trip later");
}

/* ---- the same seed ---- */

/* Everything that two endpoints see of a faulty exchange, folded into one number. */
static uint64_t history_of(uint64_t seed)
{
    net here = open_net(seed, 2);
    uint64_t history = 14695981039346656037u;
    for (uint32_t client = 0; client < 2; client++) {
        set_both(&here, client,
                 (ls_link_config){.delay_ns = 3 * LS_NS_PER_MS,
                                  .jitter_ns = 4 * LS_NS_PER_MS,
                                  .loss_ppm = 100000,
                                  .duplicate_ppm = 100000,
                                  .corrupt_ppm = 100000});
    }
    for (uint32_t i = 0; i < 400; i++) {
        send_number(here.clients[i % 2], here.peers[i % 2], (ls_channel)(i / 2 % 2), i);
        move_time(&here, LS_NS_PER_MS / 2);
        ls_transport_event event;
        while (ls_transport_next_event(here.server, &event)) {
            uint32_t number = 0;
            memcpy(&number, event.bytes, 4);
            history = (history ^ number ^ i << 16 ^ event.peer) * 1099511628211u;
        }
    }
    return history;
}

Test(transport_memory, reliable_packets_outlast_a_cut_in_their_order)
{
    net here = open_net(7, 2);
    uint32_t numbers[8];
    ls_link_config cut = {.is_cut = true};
    send_number(here.clients[0], 1, LS_CHANNEL_RELIABLE, 1);
    set_both(&here, 0, cut);
    send_number(here.clients[0], 1, LS_CHANNEL_RELIABLE, 2);
    send_number(here.clients[0], 1, LS_CHANNEL_UNRELIABLE, 3);
    send_number(here.clients[1], 2, LS_CHANNEL_RELIABLE, 4);
    ls_transport_disconnect(here.server, here.peers[0]);
    move_time(&here, LS_NS_PER_SECOND);
    cr_assert_eq(receive_numbers(here.server, numbers, 8), 2);
    cr_assert(numbers[0] == 1 && numbers[1] == 4);
    ls_transport_event event;
    cr_assert_not(ls_transport_next_event(here.clients[0], &event));
    cr_assert_eq(ls_memory_network_next_ns(here.network), UINT64_MAX);

    set_both(&here, 0, (ls_link_config){.delay_ns = 5});
    cr_assert_eq(ls_memory_network_next_ns(here.network), LS_NS_PER_SECOND + 5);
    cr_assert_eq(receive_numbers(here.server, numbers, 8), 0);
    move_time(&here, 5);
    cr_assert_eq(receive_numbers(here.server, numbers, 8), 1);
    cr_assert_eq(numbers[0], 2);
    cr_assert(ls_transport_next_event(here.clients[0], &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(ls_memory_network_counts(here.network).lost, 1);
}

Test(transport_memory, the_same_seed_gives_the_same_deliveries)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        cr_assert_eq(history_of(seed), history_of(seed));
        cr_assert_neq(history_of(seed), history_of(seed + 1));
    }
}

/* ---- limits ---- */

Test(transport_memory, an_inbox_that_is_full_loses_what_is_unreliable)
{
    net here = open_net(1, 1);
    static uint32_t numbers[LS_MEMORY_INBOX_PACKETS_MAX];
    for (uint32_t i = 0; i < LS_MEMORY_INBOX_PACKETS_MAX + 100; i++) {
        send_number(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, i);
    }
    cr_assert_eq(ls_memory_network_counts(here.network).lost, 100);
    cr_assert_eq(receive_numbers(here.clients[0], numbers, LS_MEMORY_INBOX_PACKETS_MAX),
                 LS_MEMORY_INBOX_PACKETS_MAX);
    for (uint32_t i = 0; i < LS_MEMORY_INBOX_PACKETS_MAX; i++) {
        cr_assert_eq(numbers[i], i);
    }
    send_number(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, 7);
    cr_assert_eq(receive_numbers(here.clients[0], numbers, 1), 1, "there is room again");
}

Test(transport_memory, an_inbox_that_is_full_ends_a_connection_rather_than_its_order)
{
    net here = open_net(1, 2);
    ls_transport_event event;
    for (uint32_t i = 0; i < LS_MEMORY_INBOX_PACKETS_MAX; i++) {
        send_number(here.clients[0], here.peers[0], LS_CHANNEL_UNRELIABLE, i);
    }
    send_number(here.clients[1], here.peers[1], LS_CHANNEL_RELIABLE, 1);
    send_number(here.clients[1], here.peers[1], LS_CHANNEL_RELIABLE, 2);
    cr_assert(ls_transport_next_event(here.clients[1], &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(event.reason, LS_TIMED_OUT);
    uint32_t received = 0;
    while (ls_transport_next_event(here.server, &event) && event.kind == LS_TRANSPORT_RECEIVED) {
        cr_assert_eq(event.peer, here.peers[0]);
        received++;
    }
    cr_assert_eq(received, LS_MEMORY_INBOX_PACKETS_MAX);
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(event.peer, here.peers[1]);
    cr_assert_eq(event.reason, LS_TIMED_OUT);
    cr_assert_not(ls_transport_next_event(here.server, &event));
    cr_assert_not(ls_transport_next_event(here.clients[0], &event));
}

Test(transport_memory, endpoints_have_a_maximum)
{
    net here = open_net(1, 0);
    ls_transport *transport = NULL;
    for (uint32_t i = 1; i < LS_MEMORY_ENDPOINTS_MAX; i++) {
        cr_assert_eq(ls_memory_client_create(here.network, here.server, &transport), LS_OK);
    }
    ls_transport *untouched = transport;
    cr_assert_eq(ls_memory_client_create(here.network, here.server, &transport), LS_FULL);
    cr_assert_eq(ls_memory_server_create(here.network, &transport), LS_FULL);
    cr_assert_eq(transport, untouched);
}

Test(transport_memory, traffic_counts_packets_with_their_headers)
{
    net here = open_net(1, 1);
    uint32_t numbers[4];
    send_number(here.clients[0], here.peers[0], LS_CHANNEL_UNRELIABLE, 1);
    send_number(here.clients[0], here.peers[0], LS_CHANNEL_RELIABLE, 1);
    send_number(here.server, here.peers[0], LS_CHANNEL_UNRELIABLE, 1);
    cr_assert_eq(receive_numbers(here.server, numbers, 4), 2);
    ls_transport_traffic client = ls_transport_traffic_of(here.clients[0], here.peers[0]);
    ls_transport_traffic server = ls_transport_traffic_of(here.server, here.peers[0]);
    cr_assert_eq(client.packets_sent, 2);
    cr_assert_eq(client.bytes_sent, 4 + 38 + 4 + 36);
    cr_assert(client.packets_received == 0 && client.bytes_received == 0);
    cr_assert_eq(server.packets_received, 2);
    cr_assert_eq(server.bytes_received, client.bytes_sent);
    cr_assert_eq(server.packets_sent, 1);
    cr_assert_eq(ls_transport_traffic_of(here.server, 99).packets_sent, 0);
}

Test(transport_memory, survives_every_failed_allocation_and_gives_all_back)
{
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_memory_network *network = NULL;
        ls_transport *server = NULL;
        ls_transport *client = NULL;
        refused.status = ls_memory_network_create(1, &refused.counting.allocator, &network);
        refused.status =
            refused.status == LS_OK ? ls_memory_server_create(network, &server) : refused.status;
        refused.status = refused.status == LS_OK ? ls_memory_client_create(network, server, &client)
                                                 : refused.status;
        ls_memory_network_destroy(network);
    }
}

Test(transport_memory, allocates_nothing_while_it_runs)
{
    net here = open_net(1, 1);
    uint32_t numbers[8];
    uint64_t calls = heap_calls();
    for (uint32_t i = 0; i < 1000; i++) {
        send_number(here.server, here.peers[0], (ls_channel)(i % 2), i);
        receive_numbers(here.clients[0], numbers, 8);
    }
    cr_assert_eq(heap_calls(), calls);
}

Test(transport_memory, the_sink_sends_and_disconnects)
{
    net here = open_net(1, 1);
    ls_packet_sink sink = ls_transport_sink(here.server);
    ls_transport_event event;
    const uint8_t bytes[] = {5};
    sink.send(sink.user, here.peers[0], LS_CHANNEL_RELIABLE, bytes, 1);
    sink.disconnect(sink.user, here.peers[0]);
    cr_assert(ls_transport_next_event(here.clients[0], &event));
    cr_assert(event.kind == LS_TRANSPORT_RECEIVED && event.bytes[0] == 5);
    cr_assert(ls_transport_next_event(here.clients[0], &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
}
