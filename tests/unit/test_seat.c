#include "lockstep/server/seat.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    INPUT_BYTES = 4,
    PACKET_INPUTS_MAX = 600,
};

#define DT_NS (20 * LS_NS_PER_MS)

/* One seat at a server that has closed `next_close` ticks, one every DT_NS. */
typedef struct table {
    ls_seat seat;
    ls_downlink_clock clock;
    uint64_t closed_at_ns[LS_WINDOW_TICKS];
    ls_tick_cursor cursor;
    uint32_t sequence; /* of the next packet */
} table;

static table here;

static void open_table(void)
{
    memset(&here, 0, sizeof here);
    cr_assert_eq(ls_seat_init(&here.seat, INPUT_BYTES, ls_allocator_heap()), LS_OK);
    ls_lag_meter_init(&here.seat.lag, DT_NS);
    here.clock = (ls_downlink_clock){.now_ns = LS_NS_PER_SECOND,
                                     .dt_ns = DT_NS,
                                     .next_close_ns = LS_NS_PER_SECOND + DT_NS,
                                     .closed_at_ns = here.closed_at_ns};
}

static void close_table(void)
{
    ls_seat_deinit(&here.seat);
}

/* Closes ticks up to `tick`, each at its time; counts those with an input of this slot. */
static uint32_t close_to(ls_tick tick)
{
    static const ls_slot_input nothing;
    uint32_t on_time = 0;
    while (here.clock.next_close < tick) {
        bool is_on_time = false;
        here.clock.now_ns = here.clock.next_close_ns;
        here.closed_at_ns[here.clock.next_close % LS_WINDOW_TICKS] = here.clock.now_ns;
        ls_seat_close_input(&here.seat, here.clock.next_close, &nothing, &is_on_time);
        on_time += is_on_time;
        here.clock.next_close++;
        here.clock.next_close_ns += DT_NS;
    }
    return on_time;
}

/* The input that the player makes for a tick. */
static ls_slot_input input_of(ls_tick tick, uint8_t bytes[INPUT_BYTES])
{
    for (uint32_t i = 0; i < INPUT_BYTES; i++) {
        bytes[i] = (uint8_t)(tick * (i + 3));
    }
    return (ls_slot_input){bytes, tick % (INPUT_BYTES + 1), 0};
}

typedef struct packet {
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size;
} packet;

/* INPUTS with the inputs of header.first and on. */
static packet write_inputs(ls_inputs_header header, uint32_t count)
{
    packet made = {.size = 0};
    uint8_t bytes[2][INPUT_BYTES];
    ls_slot_input before = {NULL, 0, 0};
    if (header.has_base) {
        before = input_of(header.first - 1, bytes[1]);
    }
    ls_bit_stream stream = ls_bit_writer(made.bytes, sizeof made.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (uint32_t i = 0; i < count; i++) {
        ls_slot_input input = input_of(header.first + i, bytes[i % 2]);
        cr_assert(ls_inputs_write_tick(&stream, &before, &input));
        before = input;
    }
    ls_tick_packet_write_end(&stream);
    made.size = ls_bits_size_bytes(&stream);
    return made;
}

static ls_status receive(const packet *sent, size_t size)
{
    ls_inputs_header header = {0};
    ls_bit_stream stream = ls_bit_reader(sent->bytes, size);
    ls_inputs_header_bits(&stream, &header, here.seat.downlink.next);
    if (stream.is_failed) {
        return LS_MALFORMED; /* as the match does before it asks the seat */
    }
    return ls_seat_read_inputs(&here.seat, &here.clock, &header, stream, &here.cursor);
}

/* The next packet of the player. */
static ls_status take(ls_inputs_header header, uint32_t count)
{
    header.sequence = here.sequence++;
    packet sent = write_inputs(header, count);
    return receive(&sent, sent.size);
}

static void expect_stored(ls_tick first, ls_tick end)
{
    for (ls_tick tick = first; tick < end; tick++) {
        uint8_t bytes[INPUT_BYTES];
        ls_slot_input expected = input_of(tick, bytes);
        ls_slot_input stored;
        cr_assert_eq(ls_input_buffer_get(here.seat.received, tick, 0, &stored), LS_OK, "%u", tick);
        cr_assert_eq(stored.size, expected.size);
        cr_assert_eq(memcmp(stored.bytes, bytes, stored.size), 0);
    }
}

/* ---- inputs coming in ---- */

Test(seat, stores_inputs_and_wants_the_next, .init = open_table, .fini = close_table)
{
    cr_assert_eq(take((ls_inputs_header){.first = 0}, 5), LS_OK);
    expect_stored(0, 5);
    cr_assert_eq(here.seat.wanted, 5);
    cr_assert_eq(here.seat.newest, 4);
    cr_assert_eq(here.seat.heard_ns, here.clock.now_ns);
    cr_assert_eq(take((ls_inputs_header){.first = 5, .has_base = true}, 3), LS_OK);
    expect_stored(0, 8);
    cr_assert_eq(here.seat.wanted, 8);
}

Test(seat, the_first_input_of_a_tick_counts, .init = open_table, .fini = close_table)
{
    cr_assert_eq(take((ls_inputs_header){.first = 2}, 3), LS_OK);
    uint64_t arrival_ns = here.seat.newest_arrival_ns;
    /* The same ticks with other bytes: as if made by another player. */
    packet other = {.size = 0};
    ls_inputs_header header = {.first = 2};
    ls_slot_input before = {NULL, 0, 0};
    const uint8_t bytes[] = {0xee};
    ls_slot_input input = {bytes, 1, 0};
    ls_bit_stream stream = ls_bit_writer(other.bytes, sizeof other.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (int i = 0; i < 3; i++) {
        cr_assert(ls_inputs_write_tick(&stream, &before, &input));
    }
    ls_tick_packet_write_end(&stream);
    here.clock.now_ns += 5;
    cr_assert_eq(receive(&other, ls_bits_size_bytes(&stream)), LS_OK);
    expect_stored(2, 5);
    cr_assert_eq(here.seat.newest_arrival_ns, arrival_ns, "a repetition is no arrival");
    cr_assert_eq(here.seat.wanted, 0, "0 and 1 are still wanted");
    cr_assert_eq(take((ls_inputs_header){.first = 0}, 2), LS_OK);
    cr_assert_eq(here.seat.wanted, 5);
}

Test(seat, inputs_may_lead_by_256_ticks_and_no_more, .init = open_table, .fini = close_table)
{
    cr_assert_eq(take((ls_inputs_header){.first = 255}, 1), LS_OK);
    cr_assert_eq(take((ls_inputs_header){.first = 256}, 1), LS_FUTURE);
    cr_assert_eq(take((ls_inputs_header){.first = 256}, 0), LS_OK, "none of it is too far ahead");
    cr_assert_eq(take((ls_inputs_header){.first = 257}, 0), LS_FUTURE);
    cr_assert_eq(take((ls_inputs_header){.first = 250}, 7), LS_FUTURE);
    cr_assert_not(ls_input_buffer_has(here.seat.received, 250, 0), "all of a packet or nothing");
    cr_assert_eq(take((ls_inputs_header){.first = INT32_MAX - 5}, 9), LS_FUTURE);
    close_to(10);
    cr_assert_eq(take((ls_inputs_header){.first = 265}, 1), LS_OK);
    cr_assert_eq(take((ls_inputs_header){.first = 266}, 1), LS_FUTURE);
}

Test(seat, a_base_must_be_known, .init = open_table, .fini = close_table)
{
    cr_assert_eq(take((ls_inputs_header){.first = 7, .has_base = true}, 1), LS_STALE);
    /* There is no tick before tick 0. */
    packet sent = write_inputs((ls_inputs_header){.first = 1, .has_base = true}, 0);
    ls_inputs_header header = {.first = 0, .has_base = true};
    ls_bit_stream stream = ls_bit_reader(sent.bytes, sent.size);
    cr_assert_eq(ls_seat_read_inputs(&here.seat, &here.clock, &header, stream, &here.cursor),
                 LS_STALE);
    close_to(600);
    cr_assert_eq(take((ls_inputs_header){.first = 600}, 1), LS_OK);
    cr_assert_eq(take((ls_inputs_header){.first = 601, .has_base = true}, 1), LS_OK);
    close_to(600 + 257);
    cr_assert_eq(take((ls_inputs_header){.first = 602, .has_base = true}, 1), LS_OK);
    close_to(600 + 259);
    cr_assert_eq(take((ls_inputs_header){.first = 603, .has_base = true}, 1), LS_STALE,
                 "it has been forgotten");
}

/* INPUTS of `count` inputs that are as large as their base and have nothing else in common with it.
 */
static packet write_unlike(ls_tick first, bool has_base, uint32_t count)
{
    packet made = {.size = 0};
    const uint8_t base[] = {1, 2, 3, 4};
    ls_slot_input before = {base, has_base ? sizeof base : 0, 0};
    ls_inputs_header header = {.first = first, .has_base = has_base, .sequence = here.sequence++};
    ls_bit_stream stream = ls_bit_writer(made.bytes, sizeof made.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t bytes[] = {(uint8_t)(first + i), 0xff, 0xff, 0xff};
        ls_slot_input input = {bytes, sizeof bytes, 0};
        cr_assert(ls_inputs_write_tick(&stream, &before, &input));
    }
    ls_tick_packet_write_end(&stream);
    made.size = ls_bits_size_bytes(&stream);
    return made;
}

static bool is_base_offered(void)
{
    ls_tick end = 0;
    ls_ticks_header header = {0};
    ls_downlink_ticks none = {.end = 0};
    packet sent;
    sent.size = ls_seat_write_ticks(&here.seat, &here.clock, &none, sent.bytes, &end);
    ls_bit_stream stream = ls_bit_reader(sent.bytes, sent.size);
    ls_ticks_header_bits(&stream, &header, 0);
    cr_assert_eq(header.wanted, here.seat.wanted);
    return header.has_base;
}

/* What the seat holds of tick 0 was altered on its way: one byte instead of four. */
Test(seat, a_base_that_nothing_can_be_read_against_is_given_up, .init = open_table,
     .fini = close_table)
{
    const uint8_t altered = 1;
    ls_input_buffer_put(here.seat.received, 0, 0, &altered, 1, 0);
    packet first = write_unlike(0, false, 1);
    cr_assert_eq(receive(&first, first.size), LS_OK);
    cr_assert(is_base_offered());
    packet coded = write_unlike(1, true, 1);
    cr_assert_eq(receive(&coded, coded.size), LS_MALFORMED);
    cr_assert_not(is_base_offered());
    packet next = write_unlike(1, true, 1);
    cr_assert_eq(receive(&next, next.size), LS_STALE, "its client has not heard of that yet");
    packet bare = write_unlike(1, false, 1);
    cr_assert_eq(receive(&bare, bare.size), LS_OK);
    cr_assert_eq(here.seat.wanted, 2);
    cr_assert(is_base_offered(), "the next one is as good as any");
}

Test(seat, an_acknowledgement_of_what_was_never_closed_is_malformed, .init = open_table,
     .fini = close_table)
{
    close_to(3);
    cr_assert_eq(take((ls_inputs_header){.next = 3, .chain_tick = 3, .first = 3}, 1), LS_OK);
    cr_assert_eq(here.seat.downlink.next, 3);
    cr_assert_eq(take((ls_inputs_header){.next = 4, .chain_tick = 4, .first = 4}, 1), LS_MALFORMED);
    cr_assert_eq(here.seat.downlink.next, 3);
    cr_assert_not(ls_input_buffer_has(here.seat.received, 4, 0));
}

/* One that was altered on its way is mended by the next one. */
Test(seat, the_newest_acknowledgement_counts_and_not_the_highest, .init = open_table,
     .fini = close_table)
{
    close_to(30);
    cr_assert_eq(take((ls_inputs_header){.next = 28, .chain_tick = 20, .first = 30}, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.next, 28);
    cr_assert_eq(take((ls_inputs_header){.next = 12, .chain_tick = 11, .first = 30}, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.next, 12);
}

Test(seat, a_packet_that_was_overtaken_brings_inputs_and_acknowledges_nothing, .init = open_table,
     .fini = close_table)
{
    close_to(30);
    here.sequence = 5;
    cr_assert_eq(take((ls_inputs_header){.next = 20, .chain_tick = 20, .first = 33}, 1), LS_OK);
    here.sequence = 4;
    cr_assert_eq(take((ls_inputs_header){.next = 22, .chain_tick = 20, .first = 30}, 3), LS_OK);
    cr_assert_eq(here.seat.downlink.next, 20);
    cr_assert_eq(here.seat.wanted, 34);
    /* The same again, as if repeated by the network. */
    here.sequence = 5;
    cr_assert_eq(take((ls_inputs_header){.next = 25, .chain_tick = 20, .first = 34}, 1), LS_OK);
    cr_assert_eq(here.seat.downlink.next, 20);
    cr_assert_eq(here.seat.wanted, 35);
    cr_assert_eq(here.seat.downlink.uplink.lost, 0);
}

/* The tick before the first one to send is its base and must be held as well. */
Test(seat, what_is_no_longer_held_cannot_be_asked_for_again, .init = open_table,
     .fini = close_table)
{
    close_to(2000);
    cr_assert_eq(take((ls_inputs_header){.next = 1990, .first = 2000}, 0), LS_OK);
    ls_tick oldest = 2000 - LS_WINDOW_TICKS + 2;
    cr_assert_eq(take((ls_inputs_header){.next = oldest - 1, .first = 2000}, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.next, 1990);
    cr_assert_eq(take((ls_inputs_header){.next = oldest, .first = 2000}, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.next, oldest);
}

Test(seat, the_meter_of_the_uplink_counts_packets_of_inputs, .init = open_table,
     .fini = close_table)
{
    for (here.sequence = 0; here.sequence < 200;) {
        close_to(here.sequence / 2);
        cr_assert_eq(take((ls_inputs_header){.first = here.sequence}, 1), LS_OK);
        here.sequence += here.sequence % 10 == 0; /* one in ten is lost */
    }
    cr_assert_eq(here.seat.downlink.uplink.sent, 200);
    cr_assert_eq(here.seat.downlink.uplink.lost, 19);
}

Test(seat, health_is_kept_until_the_next_one, .init = open_table, .fini = close_table)
{
    ls_inputs_header header = {.has_health = true,
                               .health = {.downlink = {7, 9}, .longest_frame_ms = 30}};
    cr_assert_eq(take(header, 1), LS_OK);
    cr_assert_eq(take((ls_inputs_header){.first = 1}, 1), LS_OK);
    cr_assert_eq(here.seat.downlink.health.downlink.loss, 7);
    cr_assert_eq(here.seat.downlink.health.downlink.jitter, 9);
    cr_assert_eq(here.seat.downlink.health.longest_frame_ms, 30);
}

Test(seat, every_truncation_changes_nothing, .init = open_table, .fini = close_table)
{
    close_to(40);
    cr_assert_eq(take((ls_inputs_header){.next = 30, .chain_tick = 30, .first = 40}, 20), LS_OK);
    here.clock.now_ns += 7;
    packet sent = write_inputs(
        (ls_inputs_header){.next = 35, .chain_tick = 30, .first = 60, .has_base = true}, 100);
    ls_seat before = here.seat;
    for (size_t cut = 0; cut < sent.size; cut++) {
        cr_assert_eq(receive(&sent, cut), LS_MALFORMED, "cut to %zu bytes", cut);
        here.seat.unread = 0; /* nothing, but that its base is not offered again */
        cr_assert_eq(memcmp(&here.seat, &before, sizeof before), 0, "cut to %zu bytes", cut);
        for (ls_tick tick = 60; tick < 160; tick++) {
            cr_assert_not(ls_input_buffer_has(here.seat.received, tick, 0));
        }
    }
    cr_assert_eq(receive(&sent, sent.size), LS_OK);
    expect_stored(40, 160);
    sent.bytes[sent.size] = 0;
    cr_assert_eq(receive(&sent, sent.size + 1), LS_MALFORMED, "a byte too many");
}

Test(seat, very_many_old_inputs_do_no_harm, .init = open_table, .fini = close_table)
{
    close_to(5000);
    cr_assert_eq(take((ls_inputs_header){.next = 0, .first = 0}, 0), LS_OK);
    /* 1,500 ticks of "the same as before": nothing but bits 1 0. */
    packet sent = {.size = 0};
    ls_inputs_header header = {.first = 4600};
    ls_slot_input nothing = {NULL, 0, 0};
    ls_bit_stream stream = ls_bit_writer(sent.bytes, sizeof sent.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    for (int i = 0; i < PACKET_INPUTS_MAX; i++) {
        cr_assert(ls_inputs_write_tick(&stream, &nothing, &nothing));
    }
    ls_tick_packet_write_end(&stream);
    cr_assert_eq(receive(&sent, ls_bits_size_bytes(&stream)), LS_OK);
    cr_assert_not(ls_input_buffer_has(here.seat.received, 4600, 0), "older than 256 ticks");
    cr_assert(ls_input_buffer_has(here.seat.received, 5000, 0));
    cr_assert_eq(here.seat.report.inputs_late, 256);
    cr_assert_eq(here.seat.wanted, 5200);
}

/* ---- closing ---- */

Test(seat, an_input_is_used_on_its_own_tick, .init = open_table, .fini = close_table)
{
    uint8_t bytes[INPUT_BYTES];
    bool is_on_time = false;
    cr_assert_eq(take((ls_inputs_header){.first = 0}, 3), LS_OK);
    ls_slot_input before = {(const uint8_t *)"zz", 2, LS_EVENT_JOINED};
    for (ls_tick tick = 0; tick < 3; tick++) {
        ls_slot_input expected = input_of(tick, bytes);
        ls_slot_input input = ls_seat_close_input(&here.seat, tick, &before, &is_on_time);
        cr_assert(is_on_time);
        cr_assert_eq(input.size, expected.size);
        cr_assert_eq(memcmp(input.bytes, bytes, input.size), 0);
    }
    cr_assert_eq(here.seat.report.inputs_on_time, 3);
    cr_assert_eq(here.seat.report.inputs_substituted, 0);
}

Test(seat, a_missing_input_becomes_the_one_before, .init = open_table, .fini = close_table)
{
    bool is_on_time = true;
    ls_slot_input before = {(const uint8_t *)"zz", 2, 0};
    ls_slot_input input = ls_seat_close_input(&here.seat, 0, &before, &is_on_time);
    cr_assert_not(is_on_time);
    cr_assert(input.size == 2 && memcmp(input.bytes, "zz", 2) == 0);
    cr_assert_eq(here.seat.report.inputs_substituted, 1);
    cr_assert_eq(here.seat.wanted, 1, "what is closed is not wanted any more");
}

Test(seat, a_late_input_is_counted_once_and_never_used, .init = open_table, .fini = close_table)
{
    cr_assert_eq(close_to(5), 0);
    for (int times = 0; times < 3; times++) {
        cr_assert_eq(take((ls_inputs_header){.first = 3}, 4), LS_OK);
    }
    cr_assert_eq(here.seat.report.inputs_late, 2);
    cr_assert_eq(close_to(7), 2);
    cr_assert_eq(here.seat.report.inputs_on_time, 2);
    cr_assert_eq(here.seat.report.inputs_substituted, 5);
}

/* ---- slack and round trip ---- */

Test(seat, slack_is_the_least_time_to_closing_since_the_last_ticks, .init = open_table,
     .fini = close_table)
{
    cr_assert_eq(here.seat.slack, LS_SLACK_NONE);
    close_to(10);
    here.clock.now_ns += 5 * LS_NS_PER_MS;
    /* Tick 10 closes in 15 ms, tick 13 in 75 ms. */
    cr_assert_eq(take((ls_inputs_header){.first = 13}, 1), LS_OK);
    cr_assert_eq(here.seat.slack, 75 * 4);
    cr_assert_eq(take((ls_inputs_header){.first = 10}, 3), LS_OK);
    cr_assert_eq(here.seat.slack, 15 * 4);
    cr_assert_eq(take((ls_inputs_header){.first = 14}, 1), LS_OK);
    cr_assert_eq(here.seat.slack, 15 * 4);
    /* Tick 8 was closed 25 ms ago. */
    cr_assert_eq(take((ls_inputs_header){.first = 8}, 1), LS_OK);
    cr_assert_eq(here.seat.slack, -25 * 4);
    cr_assert_eq(here.seat.report.slack_ns, -25 * (int64_t)LS_NS_PER_MS);
}

Test(seat, the_round_trip_leaves_out_what_the_client_held, .init = open_table, .fini = close_table)
{
    close_to(10);
    here.clock.now_ns += 50 * LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 8, .chain_tick = 10, .first = 10};
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 48 * LS_NS_PER_MS);
    here.clock.now_ns += 8 * LS_NS_PER_MS;
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 49 * LS_NS_PER_MS, "a sample moves it by an eighth");
    header.hold = LS_HOLD_NONE;
    here.clock.now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 49 * LS_NS_PER_MS);
    header.hold = 0;
    here.sequence--;
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 49 * LS_NS_PER_MS, "a repetition says nothing");
}

Test(seat, a_hold_longer_than_the_time_away_is_no_sample, .init = open_table, .fini = close_table)
{
    close_to(10);
    here.clock.now_ns += LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 5, .chain_tick = 10, .first = 10};
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 0);
    cr_assert_eq(take((ls_inputs_header){.next = 0, .hold = 0, .first = 10}, 0), LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 0, "before the first tick there is nothing to measure");
}

/* ---- closed ticks going out ---- */

enum {
    SLOTS = 2
};

static ls_coded_tick coded_ticks[LS_WINDOW_TICKS];

/* Codes every other tick, so that both ways to write one are taken. */
static void code_tick(const ls_input_buffer *closed, ls_tick tick)
{
    ls_slot_input before[LS_PLAYERS_MAX] = {{0}};
    ls_slot_input inputs[LS_PLAYERS_MAX];
    coded_ticks[tick % LS_WINDOW_TICKS].bits = 0;
    if (tick % 2 == 0) {
        return;
    }
    cr_assert_eq(ls_input_buffer_tick(closed, tick - 1, before), LS_OK);
    cr_assert_eq(ls_input_buffer_tick(closed, tick, inputs), LS_OK);
    ls_coded_tick_make(&coded_ticks[tick % LS_WINDOW_TICKS], SLOTS, before, inputs);
}

static ls_input_buffer *make_closed(ls_tick end, uint32_t size)
{
    static uint8_t bytes[LS_INPUT_BYTES_MAX];
    ls_input_buffer *closed = NULL;
    ls_input_buffer_config config = {
        .slots = SLOTS, .input_bytes_max = LS_INPUT_BYTES_MAX, .window_ticks = LS_WINDOW_TICKS};
    cr_assert_eq(ls_input_buffer_create(&config, ls_allocator_heap(), &closed), LS_OK);
    for (ls_tick tick = 0; tick < end; tick++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            memset(bytes, (int)(tick + slot), size);
            cr_assert_eq(ls_input_buffer_put(closed, tick, slot, bytes, size,
                                             tick == 0 ? LS_EVENT_JOINED : 0),
                         LS_OK);
        }
        code_tick(closed, tick);
    }
    here.clock.next_close = end;
    return closed;
}

/* Reads TICKS as a client does that has every tick before `next`; returns the tick behind. */
static ls_tick read_ticks(const packet *sent, const ls_input_buffer *closed,
                          ls_ticks_header *header)
{
    static ls_tick_cursor cursor;
    ls_slot_input inputs[LS_PLAYERS_MAX] = {{0}};
    ls_bit_stream stream = ls_bit_reader(sent->bytes, sent->size);
    ls_ticks_header_bits(&stream, header, here.seat.downlink.next);
    ls_tick tick = header->first;
    if (tick > 0) {
        cr_assert_eq(ls_input_buffer_tick(closed, tick - 1, inputs), LS_OK);
    }
    ls_tick_cursor_start(&cursor, SLOTS, LS_INPUT_BYTES_MAX, inputs);
    for (; ls_ticks_read_tick(&stream, &cursor); tick++) {
        cr_assert_eq(ls_input_buffer_tick(closed, tick, inputs), LS_OK);
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            cr_assert_eq(cursor.sizes[slot], inputs[slot].size);
            cr_assert_eq(memcmp(cursor.bytes[slot], inputs[slot].bytes, inputs[slot].size), 0);
            cr_assert_eq(cursor.events[slot], inputs[slot].events);
        }
    }
    cr_assert(ls_bits_is_complete(&stream));
    return tick;
}

static ls_downlink_ticks ticks_of(const ls_input_buffer *closed)
{
    return (ls_downlink_ticks){
        .closed = closed, .coded = coded_ticks, .slot_count = SLOTS, .end = here.clock.next_close};
}

/* True when not even the first tick fits. */
static bool write_packet(const ls_input_buffer *closed, packet *made)
{
    ls_tick end = 0;
    ls_downlink_ticks ticks = ticks_of(closed);
    made->size = ls_seat_write_ticks(&here.seat, &here.clock, &ticks, made->bytes, &end);
    return end == here.seat.downlink.next && end < here.clock.next_close;
}

Test(seat, ticks_carry_everything_not_acknowledged, .init = open_table, .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(12, 3);
    cr_assert_not(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 12);
    cr_assert_eq(header.first, 0);
    here.seat.downlink.next = 9;
    cr_assert_not(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 12);
    cr_assert_eq(header.first, 9);
    here.seat.downlink.next = 12;
    cr_assert_not(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 12);
    ls_input_buffer_destroy(closed);
}

Test(seat, ticks_carry_as_many_as_fit_and_go_on_from_there, .init = open_table, .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(40, 100);
    uint32_t packets = 0;
    while (here.seat.downlink.next < 40) {
        cr_assert_not(write_packet(closed, &sent));
        cr_assert_leq(sent.size, LS_PACKET_BYTES_MAX);
        ls_tick end = read_ticks(&sent, closed, &header);
        cr_assert_gt(end, here.seat.downlink.next);
        here.seat.downlink.next = end;
        packets++;
    }
    cr_assert(packets > 5 && packets < 10, "%u packets", packets);
    ls_input_buffer_destroy(closed);
}

Test(seat, a_tick_too_large_for_a_packet_asks_for_parts, .init = open_table, .fini = close_table)
{
    static uint8_t whole[LS_TICK_BYTES_MAX];
    static ls_tick_cursor cursor;
    packet sent;
    ls_ticks_header header = {0};
    ls_slot_input before[LS_PLAYERS_MAX];
    ls_input_buffer *closed = make_closed(5, 700);
    here.seat.downlink.next = 3;
    cr_assert(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 3, "TICKS carries none");
    ls_downlink_ticks ticks = ticks_of(closed);
    uint32_t size = ls_downlink_write_large_tick(&ticks, here.seat.downlink.next, false, whole);
    cr_assert_gt(size, LS_PACKET_BYTES_MAX);
    ls_bit_stream stream = ls_bit_reader(whole, size);
    cr_assert_eq(ls_input_buffer_tick(closed, 2, before), LS_OK);
    ls_tick_cursor_start(&cursor, SLOTS, LS_INPUT_BYTES_MAX, before);
    cr_assert(ls_ticks_read_tick(&stream, &cursor));
    cr_assert(ls_bits_is_complete(&stream));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        cr_assert_eq(cursor.sizes[slot], 700);
        cr_assert_eq(cursor.bytes[slot][699], 3 + slot);
    }
    ls_input_buffer_destroy(closed);
}

Test(seat, who_does_not_hold_the_tick_before_is_sent_one_that_stands_alone, .init = open_table,
     .fini = close_table)
{
    static ls_tick_cursor cursor;
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(20, 5);
    here.seat.downlink.next = 9;
    here.seat.downlink.alone = 9;
    cr_assert_not(write_packet(closed, &sent));
    ls_bit_stream stream = ls_bit_reader(sent.bytes, sent.size);
    ls_ticks_header_bits(&stream, &header, 9);
    ls_tick_cursor_start(&cursor, SLOTS, LS_INPUT_BYTES_MAX, NULL);
    for (ls_tick tick = 9; tick < 12; tick++) {
        ls_slot_input expected[LS_PLAYERS_MAX];
        cr_assert_eq(ls_input_buffer_tick(closed, tick, expected), LS_OK);
        cr_assert(ls_ticks_read_tick(&stream, &cursor));
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            cr_assert_eq(cursor.sizes[slot], expected[slot].size);
            cr_assert_eq(memcmp(cursor.bytes[slot], expected[slot].bytes, cursor.sizes[slot]), 0,
                         "tick %u, slot %u", tick, slot);
        }
    }
    ls_input_buffer_destroy(closed);
}

Test(seat, ticks_acknowledge_inputs_and_tell_their_slack_once, .init = open_table,
     .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(0, 0);
    cr_assert_eq(take((ls_inputs_header){.first = 0}, 3), LS_OK);
    here.clock.now_ns += 2 * LS_NS_PER_MS;
    write_packet(closed, &sent);
    read_ticks(&sent, closed, &header);
    cr_assert_eq(header.wanted, 3);
    cr_assert(header.has_base);
    cr_assert_eq(header.hold, 8);
    cr_assert_eq(header.slack, 20 * 4);
    write_packet(closed, &sent);
    read_ticks(&sent, closed, &header);
    cr_assert_eq(header.wanted, 3);
    cr_assert_eq(header.hold, LS_HOLD_NONE, "already reported");
    cr_assert_eq(header.slack, LS_SLACK_NONE, "none came since");
    ls_input_buffer_destroy(closed);
}

Test(seat, the_client_is_told_of_its_uplink_once_a_second, .init = open_table, .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(0, 0);
    uint32_t told = 0;
    for (uint32_t i = 0; i < 100; i++) {
        here.clock.now_ns += 50 * LS_NS_PER_MS;
        if (i >= 20) {
            cr_assert_eq(take((ls_inputs_header){.first = 0}, 1), LS_OK);
        }
        write_packet(closed, &sent);
        read_ticks(&sent, closed, &header);
        cr_assert_eq(header.sequence, i % 64);
        cr_assert(i >= 20 || !header.has_uplink, "nothing has come");
        told += header.has_uplink;
    }
    cr_assert_eq(told, 4);
    ls_input_buffer_destroy(closed);
}

Test(seat, a_gap_before_the_newest_input_hides_its_arrival, .init = open_table, .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(0, 0);
    cr_assert_eq(take((ls_inputs_header){.first = 0}, 1), LS_OK);
    cr_assert_eq(take((ls_inputs_header){.first = 2}, 1), LS_OK);
    write_packet(closed, &sent);
    read_ticks(&sent, closed, &header);
    cr_assert_eq(header.wanted, 1);
    cr_assert_eq(header.hold, LS_HOLD_NONE, "tick 2 is not acknowledged");
    cr_assert_eq(take((ls_inputs_header){.first = 1}, 1), LS_OK);
    write_packet(closed, &sent);
    read_ticks(&sent, closed, &header);
    cr_assert_eq(header.wanted, 3);
    cr_assert_eq(header.hold, 0);
    ls_input_buffer_destroy(closed);
}

Test(seat, a_closed_tick_without_an_input_is_no_base, .init = open_table, .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    close_to(4);
    ls_input_buffer *closed = make_closed(4, 1);
    write_packet(closed, &sent);
    read_ticks(&sent, closed, &header);
    cr_assert_eq(header.wanted, 4);
    cr_assert_not(header.has_base);
    ls_input_buffer_destroy(closed);
}

/* Ten ticks have been closed while nothing came of the client, one fits into a TICKS: when the
 * others were closed says nothing about when they went out. */
Test(seat, the_round_trip_of_a_tick_that_did_not_fit_begins_when_it_goes_out, .init = open_table,
     .fini = close_table)
{
    packet sent;
    close_to(10);
    ls_input_buffer *closed = make_closed(10, 500);
    cr_assert_not(write_packet(closed, &sent));
    here.clock.now_ns += 20 * DT_NS;
    cr_assert_eq(take((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 0, "nor does it for the one that did, by now");
    cr_assert_not(write_packet(closed, &sent));
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5));
    here.clock.now_ns += 2 * DT_NS;
    cr_assert_eq(take((ls_inputs_header){.next = 5, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 0, "this one was sent in no way that is known");
    cr_assert_eq(take((ls_inputs_header){.next = 6, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 2 * DT_NS);
    ls_input_buffer_destroy(closed);
}

Test(seat, a_tick_that_was_in_a_packet_before_it_went_out_in_parts_says_nothing, .init = open_table,
     .fini = close_table)
{
    packet sent;
    close_to(10);
    ls_input_buffer *closed = make_closed(10, 500);
    cr_assert_not(write_packet(closed, &sent));
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 0));
    here.clock.now_ns += DT_NS;
    cr_assert_eq(take((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.seat.downlink.rtt_ns, 0);
    ls_input_buffer_destroy(closed);
}

/* ---- life ---- */

Test(seat, a_reset_seat_is_as_new, .init = open_table, .fini = close_table)
{
    memset(&here.seat.lag, 0, sizeof here.seat.lag);
    ls_seat fresh = here.seat;
    here.seat.state = LS_SEAT_READY;
    here.seat.malformed = 7;
    here.seat.report.peer = 3;
    ls_seat_reset(&here.seat);
    cr_assert_eq(memcmp(&here.seat, &fresh, sizeof fresh), 0);
}

Test(seat, survives_every_failed_allocation_and_gives_all_back)
{
    for (uint64_t allowed = 0; allowed < 5; allowed++) {
        counting_allocator counting;
        counting_allocator_init(&counting);
        counting.allowed = allowed;
        ls_status status = ls_seat_init(&here.seat, INPUT_BYTES, &counting.allocator);
        cr_assert_eq(status, allowed >= 2 ? LS_OK : LS_NO_MEMORY);
        ls_seat_deinit(&here.seat);
        cr_assert_eq(counting.live_blocks, 0);
    }
}

Test(seat, parts_go_out_at_once_and_again_after_a_round_trip, .init = open_table,
     .fini = close_table)
{
    here.clock.now_ns = LS_NS_PER_SECOND;
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5));
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 6),
              "each tick for itself");
    cr_assert_not(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5));
    here.clock.now_ns += 2 * here.clock.dt_ns;
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5));
    here.seat.downlink.rtt_ns = 20 * here.clock.dt_ns;
    here.clock.now_ns += 22 * here.clock.dt_ns - 1;
    cr_assert_not(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5));
    here.clock.now_ns += 1;
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5));
    cr_assert(
        ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5 + LS_TICK_PARTS_AHEAD));
    cr_assert(ls_downlink_take_parts_due(&here.seat.downlink, &here.clock, 5),
              "the place was another's since");
}

Test(seat, parts_go_on_behind_ticks_while_the_client_gets_on, .init = open_table,
     .fini = close_table)
{
    ls_downlink *link = &here.seat.downlink;
    link->next = 100;
    cr_assert_eq(ls_downlink_take_parts_end(link, 140), 140 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_take_parts_end(link, 140), 100 + LS_TICK_PARTS_AHEAD,
                 "it has acknowledged nothing since");
    link->next = 101;
    cr_assert_eq(ls_downlink_take_parts_end(link, 141), 141 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_take_parts_end(link, 101), 101 + LS_TICK_PARTS_AHEAD,
                 "where no tick fits into TICKS it is the same");
}
