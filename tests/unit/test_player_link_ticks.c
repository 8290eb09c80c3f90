/* What goes out to the player of a seat: closed ticks in TICKS and in parts, what TICKS says
 * besides, and the round trip that is measured by them. What comes in: test_player_link.c. */
#include "lockstep/tests/unit/player_link_fixture.h"

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
    ls_ticks_header_bits(&stream, header, here.link.peer.downlink.next);
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
    made->size = ls_player_link_write_ticks(&here.link, &here.clock, &ticks, made->bytes, &end);
    return end == here.link.peer.downlink.next && end < here.clock.next_close;
}

/* ---- TICKS ---- */

Test(player_link_ticks, ticks_carry_everything_not_acknowledged, .init = open_table,
     .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(12, 3);
    cr_assert_not(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 12);
    cr_assert_eq(header.first, 0);
    here.link.peer.downlink.next = 9;
    cr_assert_not(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 12);
    cr_assert_eq(header.first, 9);
    here.link.peer.downlink.next = 12;
    cr_assert_not(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 12);
    ls_input_buffer_destroy(closed);
}

Test(player_link_ticks, ticks_carry_as_many_as_fit_and_go_on_from_there, .init = open_table,
     .fini = close_table)
{
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(40, 100);
    uint32_t packets = 0;
    while (here.link.peer.downlink.next < 40) {
        cr_assert_not(write_packet(closed, &sent));
        cr_assert_leq(sent.size, LS_PACKET_BYTES_MAX);
        ls_tick end = read_ticks(&sent, closed, &header);
        cr_assert_gt(end, here.link.peer.downlink.next);
        here.link.peer.downlink.next = end;
        packets++;
    }
    cr_assert(packets > 5 && packets < 10, "%u packets", packets);
    ls_input_buffer_destroy(closed);
}

Test(player_link_ticks, a_tick_too_large_for_a_packet_asks_for_parts, .init = open_table,
     .fini = close_table)
{
    static uint8_t whole[LS_TICK_BYTES_MAX];
    static ls_tick_cursor cursor;
    packet sent;
    ls_ticks_header header = {0};
    ls_slot_input before[LS_PLAYERS_MAX];
    ls_input_buffer *closed = make_closed(5, 700);
    here.link.peer.downlink.next = 3;
    cr_assert(write_packet(closed, &sent));
    cr_assert_eq(read_ticks(&sent, closed, &header), 3, "TICKS carries none");
    ls_downlink_ticks ticks = ticks_of(closed);
    uint32_t size =
        ls_downlink_write_large_tick(&ticks, here.link.peer.downlink.next, false, whole);
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

Test(player_link_ticks, who_does_not_hold_the_tick_before_is_sent_one_that_stands_alone,
     .init = open_table, .fini = close_table)
{
    static ls_tick_cursor cursor;
    packet sent;
    ls_ticks_header header = {0};
    ls_input_buffer *closed = make_closed(20, 5);
    here.link.peer.downlink.next = 9;
    here.link.peer.downlink.alone = 9;
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

Test(player_link_ticks, ticks_acknowledge_inputs_and_tell_their_slack_once, .init = open_table,
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

Test(player_link_ticks, the_client_is_told_of_its_uplink_once_a_second, .init = open_table,
     .fini = close_table)
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

Test(player_link_ticks, a_gap_before_the_newest_input_hides_its_arrival, .init = open_table,
     .fini = close_table)
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

Test(player_link_ticks, a_closed_tick_without_an_input_is_no_base, .init = open_table,
     .fini = close_table)
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

/* ---- parts ---- */

Test(player_link_ticks, parts_go_out_at_once_and_again_after_a_round_trip, .init = open_table,
     .fini = close_table)
{
    here.clock.now_ns = LS_NS_PER_SECOND;
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5));
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 6),
              "each tick for itself");
    cr_assert_not(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5));
    here.clock.now_ns += 2 * here.clock.dt_ns;
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5));
    here.link.peer.downlink.rtt_ns = 20 * here.clock.dt_ns;
    here.clock.now_ns += 22 * here.clock.dt_ns - 1;
    cr_assert_not(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5));
    here.clock.now_ns += 1;
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5));
    cr_assert(
        ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5 + LS_TICK_PARTS_AHEAD));
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5),
              "the place was another's since");
}

Test(player_link_ticks, parts_go_on_behind_ticks_while_the_client_gets_on, .init = open_table,
     .fini = close_table)
{
    ls_downlink *link = &here.link.peer.downlink;
    link->next = 100;
    cr_assert_eq(ls_downlink_take_parts_end(link, 140), 140 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_take_parts_end(link, 140), 100 + LS_TICK_PARTS_AHEAD,
                 "it has acknowledged nothing since");
    link->next = 101;
    cr_assert_eq(ls_downlink_take_parts_end(link, 141), 141 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_take_parts_end(link, 101), 101 + LS_TICK_PARTS_AHEAD,
                 "where no tick fits into TICKS it is the same");
}

/* ---- round trips ---- */

Test(player_link_ticks, the_round_trip_leaves_out_what_the_client_held, .init = open_table,
     .fini = close_table)
{
    close_to(10);
    here.clock.now_ns += 50 * LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 8, .chain_tick = 10, .first = 10};
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 48 * LS_NS_PER_MS);
    here.clock.now_ns += 8 * LS_NS_PER_MS;
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 49 * LS_NS_PER_MS,
                 "a sample moves it by an eighth");
    header.hold = LS_HOLD_NONE;
    here.clock.now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 49 * LS_NS_PER_MS);
    header.hold = 0;
    here.sequence--;
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 49 * LS_NS_PER_MS, "a repetition says nothing");
}

Test(player_link_ticks, a_hold_longer_than_the_time_away_is_no_sample, .init = open_table,
     .fini = close_table)
{
    close_to(10);
    here.clock.now_ns += LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 5, .chain_tick = 10, .first = 10};
    cr_assert_eq(take(header, 0), LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 0);
    cr_assert_eq(take((ls_inputs_header){.next = 0, .hold = 0, .first = 10}, 0), LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 0,
                 "before the first tick there is nothing to measure");
}

/* Ten ticks have been closed while nothing came of the client, one fits into a TICKS: when the
 * others were closed says nothing about when they went out. */
Test(player_link_ticks, the_round_trip_of_a_tick_that_did_not_fit_begins_when_it_goes_out,
     .init = open_table, .fini = close_table)
{
    packet sent;
    close_to(10);
    ls_input_buffer *closed = make_closed(10, 500);
    cr_assert_not(write_packet(closed, &sent));
    here.clock.now_ns += 20 * DT_NS;
    cr_assert_eq(take((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 0, "nor does it for the one that did, by now");
    cr_assert_not(write_packet(closed, &sent));
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 5));
    here.clock.now_ns += 2 * DT_NS;
    cr_assert_eq(take((ls_inputs_header){.next = 5, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 0, "this one was sent in no way that is known");
    cr_assert_eq(take((ls_inputs_header){.next = 6, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 2 * DT_NS);
    ls_input_buffer_destroy(closed);
}

Test(player_link_ticks, a_tick_that_was_in_a_packet_before_it_went_out_in_parts_says_nothing,
     .init = open_table, .fini = close_table)
{
    packet sent;
    close_to(10);
    ls_input_buffer *closed = make_closed(10, 500);
    cr_assert_not(write_packet(closed, &sent));
    cr_assert(ls_downlink_take_parts_due(&here.link.peer.downlink, &here.clock, 0));
    here.clock.now_ns += DT_NS;
    cr_assert_eq(take((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(here.link.peer.downlink.rtt_ns, 0);
    ls_input_buffer_destroy(closed);
}
