/* Two channels in one process, in a time of the test's own, with a network between them that the
 * test decides about. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/protocol/enet/enet_channel.h"

#include <criterion/criterion.h>
#include <string.h>

#define BEGIN_NS (UINT64_C(50000) * LS_NS_PER_SECOND)
#define RTT_NS (100 * LS_NS_PER_MS)

enum {
    ON_WAY_MAX = 256,
    STEP_MS = 4,
};

uint32_t enet_time_get(void); /* ENet's clock, in milliseconds */

typedef struct datagram {
    uint8_t bytes[LS_ENET_DATAGRAM_BYTES_MAX];
    size_t size;
    uint64_t due_ns;
} datagram;

typedef struct side {
    ls_enet_channel *channel;
    datagram on_way[ON_WAY_MAX]; /* from this side to the other */
    uint32_t sent;               /* of which on_way holds the newest */
    uint32_t taken;
    uint32_t refused; /* of the other side's, by this one */
    uint32_t received;
    uint8_t newest[LS_PACKET_BYTES_MAX];
    size_t newest_bytes;
    ls_enet_event_kind end;
} side;

static ls_enet_wire *wire;
static side client, server;
static uint64_t now_ns;
static uint32_t lost_one_in; /* 0: nothing is lost */
static uint32_t random_state;

/* ENet's clock, in place of the library's own: it goes as the test has it. */
#define ENETS __attribute__((visibility("default")))
static uint32_t ahead_ms;

ENETS uint32_t enet_time_get(void);
uint32_t enet_time_get(void)
{
    return (uint32_t)(now_ns / LS_NS_PER_MS) + ahead_ms;
}

ENETS void enet_time_set(uint32_t time_ms);
void enet_time_set(uint32_t time_ms)
{
    ahead_ms = time_ms - (uint32_t)(now_ns / LS_NS_PER_MS);
}

static void on_datagram(void *user, const uint8_t *bytes, size_t size)
{
    side *from = user;
    random_state = random_state * 1664525u + 1013904223u;
    if (lost_one_in != 0 && (random_state >> 16) % lost_one_in == 0) {
        return;
    }
    cr_assert_lt(from->sent - from->taken, ON_WAY_MAX);
    datagram *put = &from->on_way[from->sent++ % ON_WAY_MAX];
    memcpy(put->bytes, bytes, size);
    put->size = size;
    put->due_ns = now_ns + RTT_NS / 2;
}

static void make(side *made, uint64_t rtt_ns)
{
    memset(made, 0, sizeof *made);
    ls_enet_channel_config config = {.rtt_ns = rtt_ns, .on_datagram = on_datagram, .user = made};
    cr_assert_eq(ls_enet_channel_create(wire, &config, now_ns, ls_allocator_heap(), &made->channel),
                 LS_OK);
}

static void connect_both(void)
{
    now_ns = BEGIN_NS;
    lost_one_in = 0;
    random_state = 7;
    cr_assert_eq(ls_enet_wire_create(ls_allocator_heap(), &wire), LS_OK);
    make(&client, RTT_NS);
    make(&server, RTT_NS);
}

static void end_both(void)
{
    ls_enet_channel_destroy(client.channel);
    ls_enet_channel_destroy(server.channel);
    ls_enet_wire_destroy(wire);
}

TestSuite(enet_channel, .init = connect_both, .fini = end_both);

static void receive_events(side *at)
{
    ls_enet_event event;
    while ((event = ls_enet_channel_next_event(at->channel)).kind != LS_ENET_NOTHING) {
        if (event.kind == LS_ENET_RECEIVED) {
            at->received++;
            memcpy(at->newest, event.bytes, event.size);
            at->newest_bytes = event.size;
        } else {
            at->end = event.kind;
        }
    }
}

static void deliver(side *from, side *to)
{
    while (from->taken < from->sent && from->on_way[from->taken % ON_WAY_MAX].due_ns <= now_ns) {
        const datagram *taken = &from->on_way[from->taken++ % ON_WAY_MAX];
        to->refused += ls_enet_channel_receive(to->channel, taken->bytes, taken->size, now_ns) ==
                               LS_DATAGRAM_ACCEPTED
                           ? 0
                           : 1;
        receive_events(to);
    }
}

static void run(uint64_t duration_ms)
{
    for (uint64_t end_ns = now_ns + duration_ms * LS_NS_PER_MS; now_ns < end_ns;) {
        now_ns += STEP_MS * LS_NS_PER_MS;
        deliver(&client, &server);
        deliver(&server, &client);
        ls_enet_channel_service(client.channel, now_ns);
        ls_enet_channel_service(server.channel, now_ns);
        receive_events(&client);
        receive_events(&server);
    }
}

static void send_number(side *from, uint32_t number)
{
    cr_assert(ls_enet_channel_send(from->channel, (const uint8_t *)&number, sizeof number));
}

/* No handshake, no pings, no limits: minutes of silence. */
Test(enet_channel, an_idle_channel_sends_nothing)
{
    run(100000);
    cr_assert_eq(client.sent, 0);
    cr_assert_eq(server.sent, 0);
    cr_assert_eq(client.end, LS_ENET_NOTHING);
    cr_assert_eq(server.end, LS_ENET_NOTHING);
}

Test(enet_channel, a_packet_is_one_datagram_and_its_acknowledgement)
{
    send_number(&client, 5);
    cr_assert_gt(ls_enet_channel_backlog(client.channel), 0);
    run(5000);
    cr_assert_eq(server.received, 1);
    cr_assert_eq(server.newest_bytes, sizeof(uint32_t));
    cr_assert_eq(client.sent, 1);
    cr_assert_eq(server.sent, 1);
    cr_assert_eq(ls_enet_channel_backlog(client.channel), 0);
}

Test(enet_channel, the_largest_packet_is_not_cut)
{
    static const uint8_t bytes[LS_PACKET_BYTES_MAX] = {[LS_PACKET_BYTES_MAX - 1] = 7};
    cr_assert(ls_enet_channel_send(server.channel, bytes, sizeof bytes));
    run(1000);
    cr_assert_eq(client.received, 1);
    cr_assert_eq(client.newest_bytes, sizeof bytes);
    cr_assert_arr_eq(client.newest, bytes, sizeof bytes);
    cr_assert_eq(server.sent, 1);
}

/* The first repeat comes by the round trip that the channel was told, not after half a second,
 * which would be 550 ms with the way. */
Test(enet_channel, a_lost_packet_is_repeated_within_two_round_trips)
{
    lost_one_in = 1;
    send_number(&client, 1);
    run(STEP_MS);
    lost_one_in = 0;
    run(2 * RTT_NS / LS_NS_PER_MS + RTT_NS / 2 / LS_NS_PER_MS);
    cr_assert_eq(server.received, 1);
}

/* ENet doubles its wait each time: here it would come to 3 s and more. */
Test(enet_channel, a_packet_lost_many_times_is_still_repeated_often)
{
    lost_one_in = 1;
    send_number(&client, 1);
    run(5000);
    lost_one_in = 0;
    run(250 + RTT_NS / 2 / LS_NS_PER_MS + 2 * STEP_MS);
    cr_assert_eq(server.received, 1);
}

Test(enet_channel, everything_arrives_in_order_where_half_of_it_is_lost)
{
    enum {
        PACKETS = 100
    };
    lost_one_in = 2;
    for (uint32_t i = 1; i <= PACKETS; i++) {
        send_number(&client, i);
        send_number(&server, i);
        run(20);
        uint32_t newest = 0;
        memcpy(&newest, server.newest, sizeof newest);
        cr_assert_eq(newest, server.received, "a packet was overtaken");
    }
    run(20000);
    cr_assert_eq(server.received, PACKETS);
    cr_assert_eq(client.received, PACKETS);
    cr_assert_eq(client.refused + server.refused, 0);
}

Test(enet_channel, closing_lets_what_was_sent_arrive_first)
{
    lost_one_in = 1;
    send_number(&client, 1);
    ls_enet_channel_close(client.channel);
    run(STEP_MS);
    lost_one_in = 0;
    run(5000);
    cr_assert_eq(server.received, 1);
    cr_assert_eq(server.end, LS_ENET_CLOSED);
    cr_assert_eq(client.end, LS_ENET_CLOSED, "%d", (int)client.end);
}

Test(enet_channel, aborting_tells_the_other_side_once)
{
    ls_enet_channel_abort(server.channel, now_ns);
    cr_assert_eq(server.sent, 1);
    run(1000);
    cr_assert_eq(client.end, LS_ENET_CLOSED);
    cr_assert_eq(client.sent, 0);
}

Test(enet_channel, a_silent_other_side_is_lost_after_a_minute_or_two)
{
    lost_one_in = 1;
    send_number(&client, 1);
    run(50000);
    cr_assert_eq(client.end, LS_ENET_NOTHING);
    run(200000);
    cr_assert_eq(client.end, LS_ENET_LOST);
}

/* A loss waits until it is asked for, and leaves nothing to be delivered. */
Test(enet_channel, a_loss_waits_to_be_told)
{
    lost_one_in = 1;
    send_number(&client, 1);
    while (!ls_enet_channel_has_event(client.channel)) {
        now_ns += STEP_MS * LS_NS_PER_MS;
        cr_assert_lt(now_ns, BEGIN_NS + 400 * LS_NS_PER_SECOND);
        ls_enet_channel_service(client.channel, now_ns);
    }
    cr_assert_eq(ls_enet_channel_next_event(client.channel).kind, LS_ENET_LOST);
    cr_assert_eq(ls_enet_channel_backlog(client.channel), 0);
    cr_assert_not(ls_enet_channel_has_event(client.channel));
}

static void replace(side *at, uint64_t rtt_ns)
{
    ls_enet_channel_destroy(at->channel);
    make(at, rtt_ns);
}

/* ENet counts milliseconds in 32 bits, and begins in a time before the channel's: both may lie on
 * either side of where it begins anew. Nothing that ENet sends to a new peer may come later. */
Test(enet_channel, begins_in_good_order_at_any_time)
{
    static const uint64_t begins_ms[] = {0, 700, 2300, 5000, UINT64_C(1) << 32};
    static const uint64_t rtts_ms[] = {0, 1, 100, 30000};
    for (size_t i = 0; i < 5 * 4; i++) {
        now_ns = begins_ms[i / 4] * LS_NS_PER_MS;
        replace(&client, rtts_ms[i % 4] * LS_NS_PER_MS);
        replace(&server, rtts_ms[i % 4] * LS_NS_PER_MS);
        run(4000);
        cr_assert_eq(client.sent + server.sent, 0, "at %u", (unsigned)i);
        send_number(&client, 1);
        send_number(&server, 1);
        run(2000);
        cr_assert_eq(client.received, 1, "at %u", (unsigned)i);
        cr_assert_eq(server.received, 1, "at %u", (unsigned)i);
        cr_assert_eq(ls_enet_channel_backlog(client.channel), 0, "at %u", (unsigned)i);
    }
}

/* A game may have an ENet of its own, which has the same clock. */
Test(enet_channel, creating_one_leaves_the_clock_of_enet_where_it_was)
{
    uint32_t before_ms = enet_time_get();
    replace(&client, RTT_NS);
    cr_assert_eq(enet_time_get(), before_ms);
}

/* ENet's own handshake, which would make another connection of this one. */
Test(enet_channel, a_handshake_is_refused)
{
    static const uint8_t connect[52] = {0x8f, 0xff, 0, 0, 0x82, 0xff, 0, 1};
    cr_assert_eq(ls_enet_channel_receive(server.channel, connect, sizeof connect, now_ns),
                 LS_DATAGRAM_UNSUPPORTED);
    send_number(&client, 1);
    run(1000);
    cr_assert_eq(server.received, 1);
}
