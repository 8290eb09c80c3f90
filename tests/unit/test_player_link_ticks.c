/* The way out to the player of a seat: closed ticks in TICKS and in parts, what TICKS says
 * besides, and the round trip that is measured by them. The way in is in test_player_link.c.
 */
#include "lockstep/tests/unit/player_link_fixture.h"

enum {
    SLOTS = 2
};

static ls_downlink *const downlink = &here.link.peer.downlink;
static ls_input_buffer *closed;
static packet sent;         /* the newest */
static ls_tick_seal sealed; /* of that one */

/* Codes every other tick, so that both ways to write one are taken. */
static void code_tick(ls_tick tick)
{
    ls_slot_input before[LS_PLAYERS_MAX] = {{0}};
    ls_slot_input inputs[LS_PLAYERS_MAX];
    here.coded[tick % LS_WINDOW_TICKS].bits = 0;
    if (tick % 2 == 0) {
        return;
    }
    cr_assert_eq(ls_input_buffer_tick(closed, tick - 1, before), LS_OK);
    cr_assert_eq(ls_input_buffer_tick(closed, tick, inputs), LS_OK);
    ls_coded_tick_make(&here.coded[tick % LS_WINDOW_TICKS], SLOTS, before, inputs);
}

static void make_closed(ls_tick end, uint32_t size)
{
    static uint8_t bytes[LS_INPUT_BYTES_MAX];
    ls_input_buffer_config config = {
        .slots = SLOTS, .input_bytes_max = LS_INPUT_BYTES_MAX, .window_ticks = LS_WINDOW_TICKS};
    ls_input_buffer_destroy(here.log.closed);
    cr_assert_eq(ls_input_buffer_create(&config, ls_allocator_heap(), &closed), LS_OK);
    for (ls_tick tick = 0; tick < end; tick++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            memset(bytes, (int)(tick + slot), size);
            cr_assert_eq(ls_input_buffer_put(closed, tick, slot, bytes, size,
                                             tick == 0 ? LS_EVENT_JOINED : 0),
                         LS_OK);
        }
        code_tick(tick);
    }
    here.log.closed = closed;
    here.log.players = SLOTS;
    here.log.input_bytes_max = LS_INPUT_BYTES_MAX;
    here.log.next = end;
}

/* Reads TICKS as a client does that has every tick before `next`; returns the tick behind. */
static ls_tick read_ticks(ls_ticks_header *header)
{
    static ls_tick_cursor cursor;
    ls_slot_input inputs[LS_PLAYERS_MAX] = {{0}};
    ls_bit_stream stream = ls_bit_reader(sent.bytes, sent.size);
    ls_ticks_header_bits(&stream, header, downlink->next);
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
    ls_tick_seal_bits(&stream, &sealed);
    cr_assert(ls_bits_is_complete(&stream));
    return tick;
}

/* True when not even the first tick fits. */
static bool write_packet(void)
{
    ls_tick end = here.log.next;
    sent.size = ls_player_link_write_ticks(&here.link, &here.match, &end, sent.bytes);
    return end == downlink->next && end < here.log.next;
}

/* TICKS go out and are read. */
static ls_ticks_header send_ticks(void)
{
    ls_ticks_header header = {0};
    write_packet();
    read_ticks(&header);
    return header;
}

TestSuite(player_link_ticks, .init = open_table, .fini = close_table);

/* ---- TICKS ---- */

Test(player_link_ticks, ticks_carry_everything_not_acknowledged)
{
    ls_ticks_header header = {0};
    make_closed(12, 3);
    cr_assert_not(write_packet());
    cr_assert_eq(read_ticks(&header), 12);
    cr_assert_eq(header.first, 0);
    downlink->next = 9;
    cr_assert_not(write_packet());
    cr_assert_eq(read_ticks(&header), 12);
    cr_assert_eq(header.first, 9);
    downlink->next = 12;
    cr_assert_not(write_packet());
    cr_assert_eq(read_ticks(&header), 12);
}

/* Sends TICKS after each of the closed ticks from `from` to before `end`; returns the newest. */
static ls_ticks_header send_each(ls_tick from, ls_tick end)
{
    ls_ticks_header header = {0};
    for (here.log.next = from; here.log.next < end;) {
        here.match.now_ns += DT_NS;
        here.ticks[here.log.next++].closed_ns = here.match.now_ns;
        header = send_ticks();
    }
    return header;
}

Test(player_link_ticks, three_packets_carry_a_tick_until_its_acknowledgement_is_overdue)
{
    make_closed(60, 3);
    cr_assert_eq(send_each(0, 6).first, 0, "the round trip is not known");
    downlink->next = 5;
    downlink->rtt_ns = 8 * DT_NS;
    cr_assert_eq(send_each(6, 7).first, 5, "two have carried tick 5");
    cr_assert_eq(send_each(7, 8).first, 5);
    cr_assert_eq(send_each(8, 9).first, 6);
    cr_assert_eq(send_each(9, 16).first, 13);
    cr_assert_eq(send_ticks().first, 5, "nothing is newer than in the packet before");
    cr_assert_eq(send_each(16, 17).first, 5, "it is overdue");
    downlink->next = 14;
    cr_assert_eq(send_each(17, 18).first, 16);
}

Test(player_link_ticks, four_packets_carry_a_tick_where_some_are_lost_and_all_where_many_are)
{
    make_closed(60, 3);
    downlink->rtt_ns = 20 * DT_NS;
    downlink->loss = LS_SEND_LOSS_MANY;
    cr_assert_eq(send_each(0, 10).first, 0);
    downlink->loss = LS_SEND_LOSS_SOME;
    cr_assert_eq(send_each(10, 11).first, 7);
    downlink->loss = LS_SEND_LOSS_FEW;
    cr_assert_eq(send_each(11, 12).first, 9);
}

Test(player_link_ticks, what_did_not_fit_is_not_left_out)
{
    make_closed(12, 200);
    downlink->rtt_ns = 20 * DT_NS;
    for (here.log.next = 0; here.log.next < 12; here.log.next++) {
        write_packet();
    }
    ls_ticks_header header = {0};
    here.log.next = 12;
    write_packet();
    cr_assert_lt(read_ticks(&header), 12, "they do not all fit");
    cr_assert_eq(header.first, 0);
}

/* Sends TICKS every tick for so long, to a client that acknowledges at once; returns how many of
 * them had a seal. */
static uint32_t count_seals(ls_tick from, ls_tick end)
{
    uint32_t count = 0;
    for (here.log.next = from; here.log.next < end; here.log.next++) {
        here.match.now_ns += DT_NS;
        cr_assert_not(write_packet());
        ls_ticks_header header = {0};
        downlink->next = read_ticks(&header);
        count += sealed.is_there ? 1 : 0;
    }
    return count;
}

Test(player_link_ticks, four_packets_a_second_bear_the_seal_of_their_ticks)
{
    ls_ticks_header header = {0};
    make_closed(300, 3);
    here.match.config.match_id = 7;
    here.ticks[200].chain = 1234;
    here.log.next = 200;
    downlink->next = 190;
    cr_assert_not(write_packet());
    size_t with_seal = sent.size;
    read_ticks(&header);
    cr_assert(sealed.is_there);
    cr_assert_eq(sealed.value, ls_secret_seal(&here.match.config.key, 7, 200, 1234));
    cr_assert_not(write_packet());
    cr_assert_eq(sent.size, with_seal - 4, "none again for the same ticks");
    read_ticks(&header);
    cr_assert_not(sealed.is_there);
    uint32_t seconds = (uint32_t)(90 * DT_NS / LS_NS_PER_SECOND);
    uint32_t seals = count_seals(201, 291);
    cr_assert(seals + 1 >= 4 * seconds && seals <= 4 * (seconds + 1), "%u seals", seals);
}

Test(player_link_ticks, ticks_carry_as_many_as_fit_and_go_on_from_there)
{
    ls_ticks_header header = {0};
    make_closed(40, 100);
    uint32_t packets = 0;
    while (downlink->next < 40) {
        cr_assert_not(write_packet());
        cr_assert_leq(sent.size, LS_PACKET_BYTES_MAX);
        ls_tick end = read_ticks(&header);
        cr_assert_gt(end, downlink->next);
        downlink->next = end;
        packets++;
    }
    cr_assert(packets > 5 && packets < 10, "%u packets", packets);
}

Test(player_link_ticks, a_tick_too_large_for_a_packet_asks_for_parts)
{
    static ls_tick_cursor cursor;
    ls_ticks_header header = {0};
    ls_slot_input before[LS_PLAYERS_MAX];
    make_closed(5, 700);
    downlink->next = 3;
    cr_assert(write_packet());
    cr_assert_eq(read_ticks(&header), 3, "TICKS carries none");
    const uint8_t *whole = NULL;
    uint32_t size = ls_tick_log_large_tick(&here.log, downlink->next, false, &whole);
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
}

Test(player_link_ticks, a_client_without_the_tick_before_is_sent_a_keyframe)
{
    static ls_tick_cursor cursor;
    ls_ticks_header header = {0};
    make_closed(20, 5);
    downlink->next = 9;
    downlink->alone = 9;
    cr_assert_not(write_packet());
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
}

Test(player_link_ticks, ticks_acknowledge_inputs_and_report_their_slack_once)
{
    make_closed(0, 0);
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 3), LS_OK);
    here.match.now_ns += 2 * LS_NS_PER_MS;
    ls_ticks_header header = send_ticks();
    cr_assert_eq(header.wanted, 3);
    cr_assert(header.has_base);
    cr_assert_eq(header.hold, 8);
    cr_assert_eq(header.slack, 20 * 4);
    header = send_ticks();
    cr_assert_eq(header.wanted, 3);
    cr_assert_eq(header.hold, LS_HOLD_NONE, "already reported");
    cr_assert_eq(header.slack, LS_SLACK_NONE, "none came since");
}

Test(player_link_ticks, the_uplink_is_reported_to_the_client_once_a_second)
{
    ls_ticks_header header = {0};
    make_closed(0, 0);
    uint32_t told = 0;
    for (uint32_t i = 0; i < 100; i++) {
        here.match.now_ns += 50 * LS_NS_PER_MS;
        if (i >= 20) {
            cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 1), LS_OK);
        }
        write_packet();
        read_ticks(&header);
        cr_assert_eq(header.sequence, i % 64);
        cr_assert(i >= 20 || !header.has_uplink, "nothing has come");
        told += header.has_uplink;
    }
    cr_assert_eq(told, 4);
}

Test(player_link_ticks, a_gap_before_the_newest_input_hides_its_arrival)
{
    make_closed(0, 0);
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 1), LS_OK);
    cr_assert_eq(deliver((ls_inputs_header){.first = 2}, 1), LS_OK);
    ls_ticks_header header = send_ticks();
    cr_assert_eq(header.wanted, 1);
    cr_assert_eq(header.hold, LS_HOLD_NONE, "tick 2 is not acknowledged");
    cr_assert_eq(deliver((ls_inputs_header){.first = 1}, 1), LS_OK);
    header = send_ticks();
    cr_assert_eq(header.wanted, 3);
    cr_assert_eq(header.hold, 0);
}

Test(player_link_ticks, a_closed_tick_without_an_input_is_no_base)
{
    ls_ticks_header header = {0};
    close_to(4);
    make_closed(4, 1);
    header = send_ticks();
    cr_assert_eq(header.wanted, 4);
    cr_assert_not(header.has_base);
}

/* ---- parts ---- */

Test(player_link_ticks, parts_go_out_at_once_and_again_after_a_round_trip)
{
    here.match.now_ns = LS_NS_PER_SECOND;
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 5));
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 6), "each tick for itself");
    cr_assert_not(ls_downlink_claim_parts_due(downlink, &here.match, 5));
    here.match.now_ns += 2 * here.match.dt_ns;
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 5));
    downlink->rtt_ns = 20 * here.match.dt_ns;
    here.match.now_ns += 22 * here.match.dt_ns - 1;
    cr_assert_not(ls_downlink_claim_parts_due(downlink, &here.match, 5));
    here.match.now_ns += 1;
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 5));
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 5 + LS_TICK_PARTS_AHEAD));
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 5),
              "the place was another's since");
}

Test(player_link_ticks, parts_go_on_behind_ticks_while_the_client_gets_on)
{
    downlink->next = 100;
    cr_assert_eq(ls_downlink_advance_parts_end(downlink, 140), 140 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_advance_parts_end(downlink, 140), 100 + LS_TICK_PARTS_AHEAD,
                 "it has acknowledged nothing since");
    downlink->next = 101;
    cr_assert_eq(ls_downlink_advance_parts_end(downlink, 141), 141 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_advance_parts_end(downlink, 101), 101 + LS_TICK_PARTS_AHEAD,
                 "where no tick fits into TICKS it is the same");
}

/* ---- round trips ---- */

Test(player_link_ticks, the_round_trip_leaves_out_what_the_client_held)
{
    close_to(10);
    here.match.now_ns += 50 * LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 8, .chain_tick = 10, .first = 10};
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(downlink->rtt_ns, 48 * LS_NS_PER_MS);
    here.match.now_ns += 8 * LS_NS_PER_MS;
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(downlink->rtt_ns, 49 * LS_NS_PER_MS, "a sample moves it by an eighth");
    header.hold = LS_HOLD_NONE;
    here.match.now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(downlink->rtt_ns, 49 * LS_NS_PER_MS);
    header.hold = 0;
    here.sequence--;
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(downlink->rtt_ns, 49 * LS_NS_PER_MS, "a repetition says nothing");
}

Test(player_link_ticks, a_hold_longer_than_the_time_away_is_no_sample)
{
    close_to(10);
    here.match.now_ns += LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 5, .chain_tick = 10, .first = 10};
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(downlink->rtt_ns, 0);
    cr_assert_eq(deliver((ls_inputs_header){.next = 0, .hold = 0, .first = 10}, 0), LS_OK);
    cr_assert_eq(downlink->rtt_ns, 0, "before the first tick there is nothing to measure");
}

/* Ten ticks have been closed while nothing came of the client, one fits into a TICKS: when the
 * others were closed says nothing about when they went out. */
Test(player_link_ticks, the_round_trip_of_a_tick_that_did_not_fit_begins_when_it_goes_out)
{
    close_to(10);
    make_closed(10, 500);
    cr_assert_not(write_packet());
    here.match.now_ns += 20 * DT_NS;
    cr_assert_eq(deliver((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(downlink->rtt_ns, 0, "nor does it for the one that did, by now");
    cr_assert_not(write_packet());
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 5));
    here.match.now_ns += 2 * DT_NS;
    cr_assert_eq(deliver((ls_inputs_header){.next = 5, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(downlink->rtt_ns, 0, "this one was sent in no way that is known");
    cr_assert_eq(deliver((ls_inputs_header){.next = 6, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(downlink->rtt_ns, 2 * DT_NS);
}

Test(player_link_ticks, a_tick_that_was_in_a_packet_before_it_went_out_in_parts_says_nothing)
{
    close_to(10);
    make_closed(10, 500);
    cr_assert_not(write_packet());
    cr_assert(ls_downlink_claim_parts_due(downlink, &here.match, 0));
    here.match.now_ns += DT_NS;
    cr_assert_eq(deliver((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(downlink->rtt_ns, 0);
}
