/* Below a transport: links, ENet within datagrams, and servers that are found. */
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/enet/enet_datagram.h"
#include "lockstep/protocol/transport/peer_seats.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/tests/unit/wire_bits.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- peer_seats ---- */

static ls_peer_seats make_seats(uint32_t count)
{
    ls_peer_seats seats;
    cr_assert_eq(ls_peer_seats_init(&seats, count, ls_allocator_heap()), LS_OK);
    return seats;
}

static void leave(ls_peer_seats *seats, ls_peer_seat *seat)
{
    ls_transport_event event;
    ls_peer_seats_end(seats, seat, LS_DISCONNECTED);
    cr_assert(ls_peer_seats_pop_ended(seats, &event));
    ls_peer_seats_retire_reported(seats);
}

Test(peer_seats, no_id_is_given_twice_and_none_is_0)
{
    enum {
        SEATS = 5,
        ROUNDS = 40
    };
    ls_peer_seats seats = make_seats(SEATS);
    bool is_given[SEATS * ROUNDS + 1] = {true};
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < SEATS; i++) {
            ls_peer_seat *seat = &seats.seats[i];
            cr_assert(ls_peer_seats_claim(&seats, seat, LS_PEER_SEAT_OPEN));
            cr_assert_leq(seat->id, SEATS * ROUNDS);
            cr_assert(!is_given[seat->id]);
            is_given[seat->id] = true;
            cr_assert_eq(ls_peer_seats_find(&seats, seat->id), seat);
        }
        for (size_t i = 0; i < SEATS; i++) {
            ls_peer_id id = seats.seats[i].id;
            leave(&seats, &seats.seats[i]);
            cr_assert_null(ls_peer_seats_find(&seats, id));
        }
    }
    cr_assert_null(ls_peer_seats_find(&seats, 0));
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

Test(peer_seats, a_seat_takes_nobody_once_its_ids_are_used_up)
{
    ls_peer_seats seats = make_seats(4);
    ls_peer_seat *last = &seats.seats[3];
    last->generation = (UINT32_MAX - 4) / 4;
    cr_assert(ls_peer_seats_claim(&seats, last, LS_PEER_SEAT_OPEN));
    cr_assert_eq(last->id, UINT32_MAX - 3);
    leave(&seats, last);
    cr_assert_not(ls_peer_seats_claim(&seats, last, LS_PEER_SEAT_OPEN));
    cr_assert_eq(last->id, 0);
    cr_assert_eq(last->state, LS_PEER_SEAT_FREE);
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

Test(peer_seats, an_end_is_told_once_with_its_reason)
{
    ls_peer_seats seats = make_seats(2);
    ls_transport_event event;
    cr_assert_not(ls_peer_seats_pop_ended(&seats, &event));
    ls_peer_seat *seat = &seats.seats[1];
    ls_peer_seats_claim(&seats, seat, LS_PEER_SEAT_OPEN);
    seat->traffic.bytes_sent = 5;
    ls_peer_id id = seat->id;
    ls_peer_seats_end(&seats, seat, LS_TIMED_OUT);
    cr_assert(ls_peer_seats_pop_ended(&seats, &event));
    cr_assert_eq(event.kind, LS_TRANSPORT_DISCONNECTED);
    cr_assert_eq(event.peer, id);
    cr_assert_eq(event.reason, LS_TIMED_OUT);
    cr_assert_eq(ls_peer_seats_find(&seats, id)->traffic.bytes_sent, 5, "readable until retired");
    cr_assert_not(ls_peer_seats_pop_ended(&seats, &event));
    ls_peer_seats_retire_reported(&seats);
    ls_peer_seats_retire_reported(&seats);
    cr_assert_null(ls_peer_seats_find(&seats, id));
    cr_assert_eq(seat->generation, 1);
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

Test(peer_seats, only_what_has_a_deadline_is_overdue_and_only_from_then_on)
{
    ls_peer_seats seats = make_seats(3);
    cr_assert_null(ls_peer_seats_overdue(&seats, UINT64_MAX));
    ls_peer_seat *seat = &seats.seats[2];
    ls_peer_seats_claim(&seats, seat, LS_PEER_SEAT_CONNECTING);
    seat->deadline_ns = 100;
    cr_assert_null(ls_peer_seats_overdue(&seats, 99));
    cr_assert_eq(ls_peer_seats_overdue(&seats, 100), seat);
    ls_peer_seats_set_state(&seats, seat, LS_PEER_SEAT_OPEN);
    cr_assert_null(ls_peer_seats_overdue(&seats, UINT64_MAX));
    ls_peer_seats_set_state(&seats, seat, LS_PEER_SEAT_CLOSING);
    cr_assert_eq(ls_peer_seats_overdue(&seats, 100), seat);
    ls_peer_seats_end(&seats, seat, LS_DISCONNECTED);
    cr_assert_null(ls_peer_seats_overdue(&seats, UINT64_MAX));
    ls_peer_seats_deinit(&seats, ls_allocator_heap());
}

/* ---- link_meter ---- */

#define DT_NS (LS_NS_PER_SECOND / 60)
#define MS LS_NS_PER_MS

/* Packet number n, due n ticks after the first, arrives `delay_ns` later. */
static ls_link_arrival arrive(ls_link_meter *meter, uint32_t n, uint64_t delay_ns)
{
    return ls_link_meter_add(meter, n % (1u << LS_SEQUENCE_BITS), (int64_t)(n * DT_NS),
                             LS_NS_PER_SECOND + n * DT_NS + delay_ns);
}

Test(link_meter, a_perfect_link_loses_nothing_and_delays_evenly)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 2000; n++) {
        cr_assert_eq(arrive(&meter, n, 30 * MS), LS_LINK_NEWER);
    }
    cr_assert_eq(meter.sent, 2000);
    cr_assert_eq(meter.lost, 0);
    cr_assert_eq(ls_link_meter_figures(&meter).loss, 0);
    cr_assert_eq(ls_link_meter_figures(&meter).jitter, 0);
}

Test(link_meter, random_loss_is_counted_exactly_and_told_nearly)
{
    static const uint32_t losses_percent[] = {1, 5, 20, 50};
    static const int32_t errors_percent[] = {2, 4, 6, 8}; /* three deviations of so many packets */
    for (size_t i = 0; i < sizeof losses_percent / sizeof losses_percent[0]; i++) {
        ls_rng rng = ls_rng_make(7, i);
        ls_link_meter meter = {0};
        arrive(&meter, 0, 0);
        uint64_t lost = 0;
        for (uint32_t n = 1; n < 3000; n++) {
            if (n < 2999 && ls_rng_below(&rng, 100) < losses_percent[i]) {
                lost++;
            } else {
                arrive(&meter, n, 0);
            }
        }
        cr_assert_eq(meter.lost, lost);
        cr_assert_eq(meter.sent, 3000);
        int32_t told_percent = (int32_t)(ls_link_meter_figures(&meter).loss * 100 / 256);
        int32_t error = told_percent - (int32_t)losses_percent[i];
        cr_assert(error >= -errors_percent[i] && error <= errors_percent[i], "%u %%: %d",
                  losses_percent[i], told_percent);
    }
}

Test(link_meter, packets_overtaken_or_repeated_are_not_lost)
{
    ls_link_meter meter = {0};
    arrive(&meter, 0, 0);
    arrive(&meter, 1, 0);
    cr_assert_eq(arrive(&meter, 4, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 2);
    cr_assert_eq(arrive(&meter, 3, 3 * DT_NS), LS_LINK_OLDER);
    cr_assert_eq(arrive(&meter, 3, 3 * DT_NS), LS_LINK_REPEATED);
    cr_assert_eq(arrive(&meter, 4, 3 * DT_NS), LS_LINK_REPEATED);
    cr_assert_eq(meter.lost, 1);
    cr_assert_eq(arrive(&meter, 2, 6 * DT_NS), LS_LINK_OLDER);
    cr_assert_eq(meter.lost, 0);
    cr_assert_eq(meter.sent, 5);
}

/* They are told apart by numbers; the times of two that come together may be measured wrongly. */
Test(link_meter, a_time_of_arrival_before_the_last_is_no_silence)
{
    ls_link_meter meter = {0};
    arrive(&meter, 0, 10 * MS);
    cr_assert_eq(arrive(&meter, 2, 10 * MS), LS_LINK_NEWER);
    cr_assert_eq(arrive(&meter, 1, 10 * MS), LS_LINK_OLDER);
    cr_assert_eq(arrive(&meter, 1, 10 * MS - 1), LS_LINK_REPEATED);
    cr_assert_eq(arrive(&meter, 3, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 0);
    cr_assert_eq(meter.sent, 4);
}

Test(link_meter, a_second_of_silence_is_a_second_of_losses)
{
    ls_link_meter meter = {0};
    arrive(&meter, 0, 0);
    arrive(&meter, 1, 0);
    cr_assert_eq(arrive(&meter, 60, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 58);
    cr_assert_eq(arrive(&meter, 61, 0), LS_LINK_NEWER);
    cr_assert_eq(meter.lost, 58);
}

Test(link_meter, jitter_is_the_mean_change_of_the_delay)
{
    /* Alternately 0 and 8 ms late: each delay differs from the one before by 8 ms. */
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 500; n++) {
        arrive(&meter, n, n % 2 * 8 * MS);
    }
    uint32_t jitter = ls_link_meter_figures(&meter).jitter;
    cr_assert(jitter >= 31 && jitter <= 32, "%u quarters of a millisecond", jitter);
}

Test(link_meter, a_slow_drift_of_the_delay_is_no_jitter)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 2000; n++) {
        arrive(&meter, n, 100 * MS + n * DT_NS / 2000); /* 500 ppm */
    }
    cr_assert_eq(ls_link_meter_figures(&meter).jitter, 0);
}

Test(link_meter, packets_without_a_newer_tick_say_nothing_of_jitter)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 100; n++) {
        ls_link_meter_add(&meter, 2 * n % 64, (int64_t)(n * DT_NS), n * DT_NS);
        ls_link_meter_add(&meter, (2 * n + 1) % 64, (int64_t)(n * DT_NS), n * DT_NS + DT_NS / 2);
    }
    cr_assert_eq(ls_link_meter_figures(&meter).jitter, 0);
    cr_assert_eq(meter.sent, 200);
}

Test(link_meter, figures_stay_within_what_travels)
{
    ls_link_meter meter = {0};
    for (uint32_t n = 0; n < 1000; n++) {
        arrive(&meter, n * 31, n % 2 * 10 * LS_NS_PER_SECOND);
    }
    ls_link_figures figures = ls_link_meter_figures(&meter);
    cr_assert_leq(figures.loss, LS_LOSS_MAX);
    cr_assert_leq(figures.jitter, LS_JITTER_MAX);
}

/* ==== enet_datagram ==== */

/* A datagram under construction. */
typedef struct test_datagram {
    uint8_t bytes[8192];
    size_t size;
} test_datagram;

static void add_u16(test_datagram *datagram, unsigned value)
{
    datagram->bytes[datagram->size++] = (uint8_t)(value >> 8);
    datagram->bytes[datagram->size++] = (uint8_t)value;
}

static test_datagram with_time(void)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0x8000);
    add_u16(&made, 0x1234);
    return made;
}

static test_datagram without_time(void)
{
    test_datagram made = {.size = 0};
    add_u16(&made, 0);
    return made;
}

static void add_command(test_datagram *datagram, uint8_t command, uint8_t channel,
                        unsigned sequence, size_t body_bytes)
{
    datagram->bytes[datagram->size++] = command;
    datagram->bytes[datagram->size++] = channel;
    add_u16(datagram, sequence);
    datagram->size += body_bytes;
}

static void add_reliable(test_datagram *datagram, unsigned sequence, unsigned packet_bytes)
{
    add_command(datagram, 0x86, 0, sequence, 0);
    add_u16(datagram, packet_bytes);
    datagram->size += packet_bytes;
}

static void add_acknowledgement(test_datagram *datagram)
{
    add_command(datagram, 0x01, 0, 1, 4);
}

static ls_datagram_rejection judge(const test_datagram *datagram, uint16_t reliable_received)
{
    /* On the heap in its exact size, so that a sanitizer sees the first byte too far. */
    uint8_t *copy = malloc(datagram->size ? datagram->size : 1);
    memcpy(copy, datagram->bytes, datagram->size);
    ls_datagram_rejection rejection =
        ls_enet_datagram_check(copy, datagram->size, reliable_received);
    free(copy);
    return rejection;
}

Test(enet_datagram, every_command_that_we_send_is_accepted)
{
    static const struct {
        uint8_t command;
        uint8_t channel;
    } commands[] = {{0x01, 0xff}, {0x01, 0}, {0x84, 0xff}, {0x44, 0xff}};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        test_datagram datagram = with_time();
        add_command(&datagram, commands[i].command, commands[i].channel, 1, 4);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED, "%#x", commands[i].command);
        add_reliable(&datagram, 1, LS_PACKET_BYTES_MAX);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED, "%#x", commands[i].command);
    }
    test_datagram datagram = without_time();
    add_acknowledgement(&datagram);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
}

/* Those of handshakes, pings, fragments, sequenced and unsequenced packets and limits, too. */
Test(enet_datagram, every_command_byte_but_ours_is_unsupported)
{
    static const uint8_t ours[] = {0x01, 0x84, 0x44, 0x86};
    for (unsigned command = 0; command < 256; command++) {
        if (memchr(ours, (int)command, sizeof ours)) {
            continue;
        }
        test_datagram datagram = with_time();
        add_command(&datagram, (uint8_t)command, 0xff, 1, 60);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "%#x", command);
    }
}

/* A connection's ENet has one peer: seat 0, and its session is not sent. */
Test(enet_datagram, a_header_that_names_a_seat_a_session_or_compression_is_unsupported)
{
    for (unsigned bit = 0; bit < 15; bit++) {
        test_datagram datagram = {.size = 0};
        add_u16(&datagram, 1u << bit);
        add_acknowledgement(&datagram);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "bit %u", bit);
    }
}

Test(enet_datagram, every_cut_of_a_good_datagram_but_at_a_command_is_malformed)
{
    test_datagram whole = with_time();
    size_t ends[3];
    add_acknowledgement(&whole);
    ends[0] = whole.size;
    add_reliable(&whole, 1, 20);
    ends[1] = whole.size;
    add_command(&whole, 0x84, 0xff, 1, 4);
    ends[2] = whole.size;
    for (size_t size = 0; size <= whole.size; size++) {
        test_datagram cut = whole;
        cut.size = size;
        bool is_whole = size == ends[0] || size == ends[1] || size == ends[2];
        cr_assert_eq(judge(&cut, 0), is_whole ? LS_DATAGRAM_ACCEPTED : LS_DATAGRAM_MALFORMED,
                     "%zu bytes", size);
    }
}

Test(enet_datagram, at_most_32_commands_fit)
{
    test_datagram datagram = with_time();
    for (int i = 0; i < 32; i++) {
        add_acknowledgement(&datagram);
    }
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_ACCEPTED);
    add_acknowledgement(&datagram);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, a_packet_above_the_limit_is_oversize)
{
    test_datagram datagram = with_time();
    add_reliable(&datagram, 1, LS_PACKET_BYTES_MAX + 1);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_OVERSIZE);
    datagram = without_time();
    datagram.size = LS_ENET_DATAGRAM_BYTES_MAX + 1;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, a_packet_longer_than_its_datagram_is_malformed)
{
    test_datagram datagram = with_time();
    add_reliable(&datagram, 1, 100);
    datagram.size--;
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, reliable_packets_stay_within_the_window)
{
    static const struct {
        unsigned sequence;
        uint16_t received;
        ls_datagram_rejection expected;
    } cases[] = {
        {LS_RELIABLE_AHEAD_MAX, 0, LS_DATAGRAM_ACCEPTED},
        {LS_RELIABLE_AHEAD_MAX + 1, 0, LS_DATAGRAM_TOO_FAR_AHEAD},
        {0x7fff, 0, LS_DATAGRAM_TOO_FAR_AHEAD},
        {5, 9, LS_DATAGRAM_ACCEPTED},      /* a repeat */
        {5, 0xfff0, LS_DATAGRAM_ACCEPTED}, /* the numbers went round */
        {0xfff0, 5, LS_DATAGRAM_ACCEPTED}, /* a repeat from before they did */
        {LS_RELIABLE_AHEAD_MAX, 0xffff, LS_DATAGRAM_TOO_FAR_AHEAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_datagram datagram = with_time();
        add_reliable(&datagram, cases[i].sequence, 1);
        cr_assert_eq(judge(&datagram, cases[i].received), cases[i].expected, "case %zu", i);
    }
}

Test(enet_datagram, a_datagram_that_wants_an_answer_carries_a_time)
{
    test_datagram datagram = without_time();
    add_reliable(&datagram, 1, 4);
    cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_MALFORMED);
}

Test(enet_datagram, commands_belong_to_their_channel)
{
    static const struct {
        uint8_t command;
        uint8_t channel;
    } strays[] = {{0x84, 0}, {0x44, 0}, {0x86, 1}, {0x86, 0xff}, {0x01, 1}};
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
        test_datagram datagram = with_time();
        add_command(&datagram, strays[i].command, strays[i].channel, 1, 4);
        cr_assert_eq(judge(&datagram, 0), LS_DATAGRAM_UNSUPPORTED, "case %zu", i);
    }
}

/* ---- discovery ---- */

/* Holds the two datagrams against protocol/PROTOCOL.md, Finding servers. */

static ls_discovery_answer answer_of_all(void)
{
    ls_discovery_answer answer;
    memset(&answer, 0, sizeof answer);
    answer.nonce = UINT64_C(0x0123456789abcdef);
    answer.server = UINT64_C(0xfedcba9876543210);
    answer.port = 7300;
    answer.protocol = 6;
    memcpy(answer.simulation, "units", 6);
    answer.version = 3;
    answer.state = LS_DISCOVERY_RUNNING;
    answer.tick = 123456789;
    answer.matches = 4;
    answer.players = 7;
    answer.seats = 8;
    answer.spectators = 2;
    answer.spectators_max = 16;
    return answer;
}

static wire_bits wire_of_all(void)
{
    return WIRE(U(0x3141534c, 32), U(UINT64_C(0x0123456789abcdef), 64),
                U(UINT64_C(0xfedcba9876543210), 64), U(7300, 16), U(6, 16), TEXT("units"), U(3, 32),
                UVAR(1), U(123456789, 32), UVAR(4), UVAR(7), UVAR(8), UVAR(2), UVAR(16));
}

Test(discovery, query_has_the_layout_of_the_page)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    uint64_t nonce = 0;
    ls_discovery_write_query(bytes, UINT64_C(0x1122334455667788));
    const uint8_t head[] = {'L', 'S', 'Q', '1', 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    cr_assert_arr_eq(bytes, head, sizeof head);
    for (size_t i = sizeof head; i < sizeof bytes; i++) {
        cr_assert_eq(bytes[i], 0);
    }
    cr_assert(ls_discovery_read_query(bytes, sizeof bytes, &nonce));
    cr_assert_eq(nonce, UINT64_C(0x1122334455667788));
}

/* A short query could be made to send more than was sent. */
Test(discovery, a_query_of_another_size_or_content_is_none)
{
    uint8_t bytes[LS_DISCOVERY_BYTES + 1] = {0};
    uint64_t nonce = 9;
    ls_discovery_write_query(bytes, 1);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        cr_assert_eq(ls_discovery_read_query(bytes, size, &nonce), size == LS_DISCOVERY_BYTES);
    }
    nonce = 9;
    for (size_t i = 0; i < LS_DISCOVERY_BYTES; i++) {
        bytes[i] ^= 0x10;
        cr_assert_eq(ls_discovery_read_query(bytes, LS_DISCOVERY_BYTES, &nonce), i >= 4 && i < 12);
        bytes[i] ^= 0x10;
    }
}

Test(discovery, answer_has_the_layout_of_the_page)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    const ls_discovery_answer answer = answer_of_all();
    wire_bits wire = wire_of_all();
    memset(bytes, 0xff, sizeof bytes);
    size_t size = ls_discovery_write_answer(bytes, &answer);
    cr_assert_eq(size, wire_size(&wire));
    cr_assert_arr_eq(bytes, wire.bytes, size);
    ls_discovery_answer read;
    memset(&read, 0, sizeof read);
    cr_assert(ls_discovery_read_answer(bytes, size, &read));
    cr_assert_eq(read.nonce, answer.nonce);
    cr_assert_eq(read.server, answer.server);
    cr_assert_str_eq(read.simulation, "units");
    cr_assert_eq(read.spectators_max, 16);
}

Test(discovery, a_cut_or_longer_answer_is_none_and_changes_nothing)
{
    wire_bits wire = wire_of_all();
    size_t size = wire_size(&wire);
    ls_discovery_answer read = {.port = 1};
    for (size_t cut = 0; cut < size; cut++) {
        cr_assert_not(ls_discovery_read_answer(wire.bytes, cut, &read));
    }
    cr_assert_not(ls_discovery_read_answer(wire.bytes, size + 1, &read));
    uint8_t zeros[LS_DISCOVERY_BYTES + 1] = {0};
    memcpy(zeros, wire.bytes, size);
    cr_assert_not(ls_discovery_read_answer(zeros, sizeof zeros, &read));
    cr_assert_eq(read.port, 1);
    cr_assert_eq(read.nonce, 0);
}

Test(discovery, the_largest_answer_is_no_larger_than_a_query)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_answer answer = {.nonce = UINT64_MAX,
                                  .server = UINT64_MAX,
                                  .port = UINT16_MAX,
                                  .protocol = UINT16_MAX,
                                  .version = UINT32_MAX,
                                  .state = LS_DISCOVERY_STATE_COUNT - 1,
                                  .tick = UINT32_MAX,
                                  .matches = LS_DISCOVERY_COUNT_MAX,
                                  .players = LS_DISCOVERY_COUNT_MAX,
                                  .seats = LS_DISCOVERY_COUNT_MAX,
                                  .spectators = LS_DISCOVERY_COUNT_MAX,
                                  .spectators_max = LS_DISCOVERY_COUNT_MAX};
    memset(answer.simulation, 'x', sizeof answer.simulation - 1);
    cr_assert_eq(ls_discovery_write_answer(bytes, &answer), 110);
}

Test(discovery, what_cannot_be_seen_does_not_reach_a_terminal)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_answer answer = answer_of_all();
    memcpy(answer.simulation, "a\033[2J\n\xff", 8);
    size_t size = ls_discovery_write_answer(bytes, &answer);
    cr_assert(ls_discovery_read_answer(bytes, size, &answer));
    cr_assert_str_eq(answer.simulation, "a?[2J??");
}

Test(discovery, values_out_of_range_are_no_answer)
{
    wire_bits no_match =
        WIRE(U(0x3141534c, 32), U(0, 64), U(0, 64), U(7300, 16), U(6, 16), TEXT("units"), U(3, 32),
             UVAR(1), U(0, 32), UVAR(0), UVAR(0), UVAR(0), UVAR(0), UVAR(0));
    wire_bits no_state =
        WIRE(U(0x3141534c, 32), U(0, 64), U(0, 64), U(7300, 16), U(6, 16), TEXT("units"), U(3, 32),
             UVAR(3), U(0, 32), UVAR(1), UVAR(0), UVAR(0), UVAR(0), UVAR(0));
    wire_bits no_port =
        WIRE(U(0x3141534c, 32), U(0, 64), U(0, 64), U(0, 16), U(6, 16), TEXT("units"), U(3, 32),
             UVAR(1), U(0, 32), UVAR(1), UVAR(0), UVAR(0), UVAR(0), UVAR(0));
    ls_discovery_answer read;
    cr_assert_not(ls_discovery_read_answer(no_match.bytes, wire_size(&no_match), &read));
    cr_assert_not(ls_discovery_read_answer(no_state.bytes, wire_size(&no_state), &read));
    cr_assert_not(ls_discovery_read_answer(no_port.bytes, wire_size(&no_port), &read));
}

Test(discovery, a_flood_gets_32_answers_at_once_and_64_a_second)
{
    ls_discovery_budget budget = {0};
    uint64_t start_ns = 5 * LS_NS_PER_SECOND;
    uint32_t given = 0;
    for (int i = 0; i < 1000; i++) {
        given += ls_discovery_budget_spend(&budget, start_ns);
    }
    cr_assert_eq(given, 32);
    for (uint64_t ms = 1; ms <= 10000; ms++) {
        given += ls_discovery_budget_spend(&budget, start_ns + ms * LS_NS_PER_MS);
    }
    cr_assert_geq(given, 32 + 640 - 2);
    cr_assert_leq(given, 32 + 640);
}

/* ---- discovery_search ---- */

#define LOOPBACK 0x7f000001u
#define FIRST 0xc0000201u  /* 192.0.2.1 */
#define SECOND 0xc0000202u /* 192.0.2.2 */

/* The search's memory is large for a stack. */
static ls_discovery_search search;

static void ask(uint64_t nonce, uint64_t now_ms)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_search_query(&search, nonce, now_ms * LS_NS_PER_MS, bytes);
}

static void on_answer(uint64_t nonce, uint64_t server, uint32_t address, uint16_t port,
                      uint64_t now_ms)
{
    uint8_t bytes[LS_DISCOVERY_BYTES];
    const ls_discovery_answer answer = {
        .nonce = nonce, .server = server, .port = port, .simulation = "units", .matches = 1};
    size_t size = ls_discovery_write_answer(bytes, &answer);
    const ls_endpoint from = ls_endpoint_from_ipv4(htonl(address), LS_DISCOVERY_PORT);
    ls_discovery_search_receive(&search, bytes, size, &from, now_ms * LS_NS_PER_MS);
}

static void start(void)
{
    memset(&search, 0, sizeof search);
    ask(11, 1000);
    ask(22, 1250);
}

TestSuite(discovery_search, .init = start);

Test(discovery_search, servers_are_kept_once_by_address_with_their_shortest_round_trip)
{
    on_answer(11, 1, SECOND, 7300, 1009);
    on_answer(11, 2, FIRST, 7301, 1005);
    on_answer(11, 3, FIRST, 7300, 1006);
    on_answer(22, 1, SECOND, 7300, 1253);
    on_answer(22, 3, FIRST, 7300, 1260);
    cr_assert_eq(search.server_count, 3);
    cr_assert_eq(search.ignored, 0);
    cr_assert_eq(search.servers[0].answer.server, 3);
    cr_assert_eq(search.servers[0].rtt_ns, 6 * LS_NS_PER_MS);
    cr_assert_eq(search.servers[1].answer.server, 2);
    cr_assert_eq(search.servers[2].answer.server, 1);
    cr_assert_eq(search.servers[2].rtt_ns, 3 * LS_NS_PER_MS);
    cr_assert_eq(search.servers[2].endpoint.port, 7300);
}

Test(discovery_search, answers_to_nobodys_query_are_ignored)
{
    on_answer(33, 1, FIRST, 7300, 1005);
    on_answer(0, 1, FIRST, 7300, 1005);
    on_answer(22, 1, FIRST, 7300, 1100); /* before it was asked */
    const ls_endpoint from = ls_endpoint_from_ipv4(htonl(FIRST), 1);
    uint8_t bytes[LS_DISCOVERY_BYTES];
    ls_discovery_write_query(bytes, 11);
    ls_discovery_search_receive(&search, bytes, sizeof bytes, &from, 1300 * LS_NS_PER_MS);
    ls_discovery_search_receive(&search, bytes, 0, &from, 1300 * LS_NS_PER_MS);
    cr_assert_eq(search.server_count, 0);
    cr_assert_eq(search.ignored, 5);
}

Test(discovery_search, an_address_that_others_can_use_goes_before_the_loopback)
{
    on_answer(11, 1, LOOPBACK, 7300, 1001);
    on_answer(11, 1, FIRST, 7300, 1002);
    cr_assert_eq(ls_endpoint_ipv4(&search.servers[0].endpoint), htonl(FIRST));
    on_answer(22, 1, LOOPBACK, 7300, 1251);
    on_answer(22, 1, SECOND, 7300, 1252);
    cr_assert_eq(ls_endpoint_ipv4(&search.servers[0].endpoint), htonl(FIRST));
    cr_assert_eq(search.server_count, 1);
    on_answer(22, 2, LOOPBACK, 7301, 1253);
    cr_assert_eq(search.server_count, 2);
    cr_assert_eq(search.servers[0].answer.server, 2);
}

/* Somebody else answers with a server's number. */
Test(discovery_search, an_answer_with_another_port_is_of_another_server)
{
    on_answer(11, 1, FIRST, 7300, 1002);
    on_answer(11, 1, SECOND, 7301, 1003);
    cr_assert_eq(search.server_count, 2);
    cr_assert_eq(search.servers[0].endpoint.port, 7300);
    cr_assert_eq(search.servers[1].endpoint.port, 7301);
}

Test(discovery_search, a_crowd_is_kept_up_to_the_room_there_is)
{
    for (uint32_t i = 0; i < LS_DISCOVERY_SERVERS_MAX + 9; i++) {
        on_answer(11, 1000 + i, FIRST + (i * 7) % 1000, 7300, 1005);
    }
    cr_assert_eq(search.server_count, LS_DISCOVERY_SERVERS_MAX);
    cr_assert_eq(search.ignored, 9);
    on_answer(22, 1000, FIRST, 7300, 1251);
    cr_assert_eq(search.ignored, 9);
    for (uint32_t i = 1; i < search.server_count; i++) {
        cr_assert_lt(ntohl(ls_endpoint_ipv4(&search.servers[i - 1].endpoint)),
                     ntohl(ls_endpoint_ipv4(&search.servers[i].endpoint)));
    }
}
