/* A player link: the inputs that come in and their acknowledgements, how they are used when ticks
 * are closed, and with how much time to spare they came. Its way out is in
 * test_player_link_ticks.c.
 */
#include "lockstep/tests/support/refused_memory.h"
#include "lockstep/tests/unit/player_link_fixture.h"

enum {
    PACKET_INPUTS_MAX = 600
};

static ls_downlink *const downlink = &here.link.peer.downlink;

TestSuite(player_link, .init = open_table, .fini = close_table);

static void expect_stored(ls_tick first, ls_tick end)
{
    for (ls_tick tick = first; tick < end; tick++) {
        uint8_t bytes[INPUT_BYTES];
        ls_slot_input expected = input_of(tick, bytes);
        ls_slot_input stored;
        cr_assert_eq(ls_input_buffer_get(here.link.received, tick, 0, &stored), LS_OK, "%u", tick);
        cr_assert_eq(stored.size, expected.size);
        cr_assert_eq(memcmp(stored.bytes, bytes, stored.size), 0);
    }
}

/* ---- inputs coming in ---- */

Test(player_link, a_link_stores_inputs_and_wants_the_next)
{
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 5), LS_OK);
    expect_stored(0, 5);
    cr_assert_eq(here.link.wanted, 5);
    cr_assert_eq(here.link.newest, 4);
    cr_assert_eq(here.link.peer.heard_ns, here.match.now_ns);
    cr_assert_eq(deliver((ls_inputs_header){.first = 5, .has_base = true}, 3), LS_OK);
    expect_stored(0, 8);
    cr_assert_eq(here.link.wanted, 8);
}

Test(player_link, a_base_may_lie_further_back_than_right_before_the_first_input)
{
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 5), LS_OK);
    ls_inputs_header header = {.first = 8, .has_base = true, .base_gap = 4};
    cr_assert_eq(deliver(header, 3), LS_OK);
    expect_stored(8, 11);
    cr_assert_eq(here.link.wanted, 5, "what lies between has not come");
    header = (ls_inputs_header){.first = 7, .has_base = true, .base_gap = 0};
    cr_assert_eq(deliver(header, 1), LS_STALE, "nor is it a base");
    header = (ls_inputs_header){.first = 7, .has_base = true, .base_gap = 7};
    cr_assert_eq(deliver(header, 1), LS_STALE, "there is none before tick 0");
}

Test(player_link, the_first_input_of_a_tick_counts)
{
    cr_assert_eq(deliver((ls_inputs_header){.first = 2}, 3), LS_OK);
    uint64_t arrival_ns = here.link.newest_arrival_ns;
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
    here.match.now_ns += 5;
    cr_assert_eq(receive(&other, ls_bits_size_bytes(&stream)), LS_OK);
    expect_stored(2, 5);
    cr_assert_eq(here.link.newest_arrival_ns, arrival_ns, "a repetition is no arrival");
    cr_assert_eq(here.link.wanted, 0, "0 and 1 are still wanted");
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 2), LS_OK);
    cr_assert_eq(here.link.wanted, 5);
}

Test(player_link, inputs_may_lead_by_256_ticks_and_no_more)
{
    cr_assert_eq(deliver((ls_inputs_header){.first = 255}, 1), LS_OK);
    cr_assert_eq(deliver((ls_inputs_header){.first = 256}, 1), LS_FUTURE);
    cr_assert_eq(deliver((ls_inputs_header){.first = 256}, 0), LS_OK,
                 "none of it is too far ahead");
    cr_assert_eq(deliver((ls_inputs_header){.first = 257}, 0), LS_FUTURE);
    cr_assert_eq(deliver((ls_inputs_header){.first = 250}, 7), LS_FUTURE);
    cr_assert_not(ls_input_buffer_has(here.link.received, 250, 0), "all of a packet or nothing");
    cr_assert_eq(deliver((ls_inputs_header){.first = INT32_MAX - 5}, 9), LS_FUTURE);
    close_to(10);
    cr_assert_eq(deliver((ls_inputs_header){.first = 265}, 1), LS_OK);
    cr_assert_eq(deliver((ls_inputs_header){.first = 266}, 1), LS_FUTURE);
}

Test(player_link, a_base_must_be_known)
{
    cr_assert_eq(deliver((ls_inputs_header){.first = 7, .has_base = true}, 1), LS_STALE);
    /* There is no tick before tick 0. */
    packet sent = write_inputs((ls_inputs_header){.first = 1, .has_base = true}, 0);
    ls_inputs_header header = {.first = 0, .has_base = true};
    ls_bit_stream stream = ls_bit_reader(sent.bytes, sent.size);
    cr_assert_eq(
        ls_player_link_read_inputs(&here.link, &here.match, &header, &stream, &here.cursor),
        LS_STALE);
    close_to(600);
    cr_assert_eq(deliver((ls_inputs_header){.first = 600}, 1), LS_OK);
    cr_assert_eq(deliver((ls_inputs_header){.first = 601, .has_base = true}, 1), LS_OK);
    close_to(600 + 257);
    cr_assert_eq(deliver((ls_inputs_header){.first = 602, .has_base = true}, 1), LS_OK);
    close_to(600 + 259);
    cr_assert_eq(deliver((ls_inputs_header){.first = 603, .has_base = true}, 1), LS_STALE,
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
    packet sent;
    sent.size = ls_player_link_write_ticks(&here.link, &here.match, &end, sent.bytes);
    ls_bit_stream stream = ls_bit_reader(sent.bytes, sent.size);
    ls_ticks_header_bits(&stream, &header, 0);
    cr_assert_eq(header.wanted, here.link.wanted);
    return header.has_base;
}

/* The link's copy of tick 0 was altered on its way: one byte instead of four. */
Test(player_link, a_base_that_nothing_can_be_read_against_is_given_up)
{
    const uint8_t altered = 1;
    ls_input_buffer_put(here.link.received, 0, 0, &altered, 1, 0);
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
    cr_assert_eq(here.link.wanted, 2);
    cr_assert(is_base_offered(), "the next one is as good as any");
}

Test(player_link, an_acknowledgement_of_what_was_never_closed_is_malformed)
{
    close_to(3);
    cr_assert_eq(deliver((ls_inputs_header){.next = 3, .chain_tick = 3, .first = 3}, 1), LS_OK);
    cr_assert_eq(downlink->next, 3);
    cr_assert_eq(deliver((ls_inputs_header){.next = 4, .chain_tick = 4, .first = 4}, 1),
                 LS_MALFORMED);
    cr_assert_eq(downlink->next, 3);
    cr_assert_not(ls_input_buffer_has(here.link.received, 4, 0));
}

/* One that was altered on its way is mended by the next one. */
Test(player_link, the_newest_acknowledgement_counts_and_not_the_highest)
{
    close_to(30);
    cr_assert_eq(deliver((ls_inputs_header){.next = 28, .chain_tick = 20, .first = 30}, 0), LS_OK);
    cr_assert_eq(downlink->next, 28);
    cr_assert_eq(deliver((ls_inputs_header){.next = 12, .chain_tick = 11, .first = 30}, 0), LS_OK);
    cr_assert_eq(downlink->next, 12);
}

Test(player_link, a_packet_that_was_overtaken_brings_inputs_and_acknowledges_nothing)
{
    close_to(30);
    here.sequence = 5;
    cr_assert_eq(deliver((ls_inputs_header){.next = 20, .chain_tick = 20, .first = 33}, 1), LS_OK);
    here.sequence = 4;
    cr_assert_eq(deliver((ls_inputs_header){.next = 22, .chain_tick = 20, .first = 30}, 3), LS_OK);
    cr_assert_eq(downlink->next, 20);
    cr_assert_eq(here.link.wanted, 34);
    /* The same again, as if repeated by the network. */
    here.sequence = 5;
    cr_assert_eq(deliver((ls_inputs_header){.next = 25, .chain_tick = 20, .first = 34}, 1), LS_OK);
    cr_assert_eq(downlink->next, 20);
    cr_assert_eq(here.link.wanted, 35);
    cr_assert_eq(downlink->uplink.lost, 0);
}

/* The tick before the first one to send is its base and must be held as well. */
Test(player_link, a_tick_no_longer_held_cannot_be_asked_for_again)
{
    close_to(2000);
    cr_assert_eq(deliver((ls_inputs_header){.next = 1990, .first = 2000}, 0), LS_OK);
    ls_tick oldest = 2000 - LS_WINDOW_TICKS + 2;
    cr_assert_eq(deliver((ls_inputs_header){.next = oldest - 1, .first = 2000}, 0), LS_OK);
    cr_assert_eq(downlink->next, 1990);
    cr_assert_eq(deliver((ls_inputs_header){.next = oldest, .first = 2000}, 0), LS_OK);
    cr_assert_eq(downlink->next, oldest);
}

Test(player_link, the_meter_of_the_uplink_counts_packets_of_inputs)
{
    for (here.sequence = 0; here.sequence < 200;) {
        close_to(here.sequence / 2);
        cr_assert_eq(deliver((ls_inputs_header){.first = here.sequence}, 1), LS_OK);
        here.sequence += here.sequence % 10 == 0; /* one in ten is lost */
    }
    cr_assert_eq(downlink->uplink.sent, 200);
    cr_assert_eq(downlink->uplink.lost, 19);
}

Test(player_link, health_is_kept_until_the_next_one)
{
    ls_inputs_header header = {
        .has_health = true, .health = {.downlink = {7, 9}, .has_lag = true, .lag.late_inputs = 30}};
    cr_assert_eq(deliver(header, 1), LS_OK);
    cr_assert_eq(deliver((ls_inputs_header){.first = 1}, 1), LS_OK);
    cr_assert_eq(downlink->health.downlink.loss, 7);
    cr_assert_eq(downlink->health.downlink.jitter, 9);
    cr_assert_eq(downlink->health.lag.late_inputs, 30);
}

Test(player_link, every_truncation_changes_nothing)
{
    close_to(40);
    cr_assert_eq(deliver((ls_inputs_header){.next = 30, .chain_tick = 30, .first = 40}, 20), LS_OK);
    here.match.now_ns += 7;
    packet sent = write_inputs(
        (ls_inputs_header){.next = 35, .chain_tick = 30, .first = 60, .has_base = true}, 100);
    ls_player_link before = here.link;
    for (size_t cut = 0; cut < sent.size; cut++) {
        cr_assert_eq(receive(&sent, cut), LS_MALFORMED, "cut to %zu bytes", cut);
        here.link.unread = 0; /* nothing, but that its base is not offered again */
        cr_assert_eq(memcmp(&here.link, &before, sizeof before), 0, "cut to %zu bytes", cut);
        for (ls_tick tick = 60; tick < 160; tick++) {
            cr_assert_not(ls_input_buffer_has(here.link.received, tick, 0));
        }
    }
    cr_assert_eq(receive(&sent, sent.size), LS_OK);
    expect_stored(40, 160);
    sent.bytes[sent.size] = 0;
    cr_assert_eq(receive(&sent, sent.size + 1), LS_MALFORMED, "a byte too many");
}

Test(player_link, very_many_old_inputs_do_no_harm)
{
    close_to(5000);
    cr_assert_eq(deliver((ls_inputs_header){.next = 0, .first = 0}, 0), LS_OK);
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
    cr_assert_not(ls_input_buffer_has(here.link.received, 4600, 0), "older than 256 ticks");
    cr_assert(ls_input_buffer_has(here.link.received, 5000, 0));
    cr_assert_eq(here.link.figures.inputs_late, 0, "closed with the same");
    cr_assert_eq(here.link.figures.inputs_on_time, 256);
    cr_assert_eq(here.link.wanted, 5200);
}

/* ---- closing ---- */

Test(player_link, an_input_is_used_on_its_own_tick)
{
    uint8_t bytes[INPUT_BYTES];
    bool is_on_time = false;
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 3), LS_OK);
    ls_slot_input before = {(const uint8_t *)"zz", 2, LS_EVENT_JOINED};
    for (ls_tick tick = 0; tick < 3; tick++) {
        ls_slot_input expected = input_of(tick, bytes);
        ls_slot_input input = ls_player_link_close_input(&here.link, tick, &before, &is_on_time);
        cr_assert(is_on_time);
        cr_assert_eq(input.size, expected.size);
        cr_assert_eq(memcmp(input.bytes, bytes, input.size), 0);
    }
    cr_assert_eq(here.link.figures.inputs_on_time, 3);
    cr_assert_eq(here.link.figures.inputs_substituted, 0);
}

Test(player_link, a_missing_input_becomes_the_one_before)
{
    bool is_on_time = true;
    ls_slot_input before = {(const uint8_t *)"zz", 2, 0};
    ls_slot_input input = ls_player_link_close_input(&here.link, 0, &before, &is_on_time);
    cr_assert_not(is_on_time);
    cr_assert(input.size == 2 && memcmp(input.bytes, "zz", 2) == 0);
    cr_assert_eq(here.link.figures.inputs_substituted, 1);
    cr_assert_eq(here.link.wanted, 1, "what is closed is not wanted any more");
}

Test(player_link, a_late_input_is_counted_once_and_never_used)
{
    cr_assert_eq(close_to(5), 0);
    for (int times = 0; times < 3; times++) {
        cr_assert_eq(deliver((ls_inputs_header){.first = 3}, 4), LS_OK);
    }
    cr_assert_eq(here.link.figures.inputs_late, 2);
    cr_assert_eq(close_to(7), 2);
    cr_assert_eq(here.link.figures.inputs_on_time, 2);
    cr_assert_eq(here.link.figures.inputs_substituted, 5);
}

Test(player_link, a_late_input_that_was_repeated_rightly_is_none)
{
    /* Ticks 0 to 4 are closed with nothing; what the player made for 0 and 4 is nothing as well. */
    cr_assert_eq(close_to(5), 0);
    cr_assert_eq(here.link.figures.inputs_substituted, 5);
    for (int times = 0; times < 2; times++) {
        cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 5), LS_OK);
        uint32_t same = 0;
        for (ls_tick tick = 0; tick < 5; tick++) {
            same += tick % (INPUT_BYTES + 1) == 0;
        }
        cr_assert_gt(same, 0);
        cr_assert_eq(here.link.figures.inputs_on_time, same);
        cr_assert_eq(here.link.figures.inputs_substituted, 5 - same);
        cr_assert_eq(here.link.figures.inputs_late, 5 - same);
    }
}

Test(player_link, a_late_input_of_a_tick_that_passed_without_the_player_is_late)
{
    here.log.next = 1;
    ls_player_link_pass_tick(&here.link, 0);
    ls_input_buffer_put(here.log.closed, 0, 0, NULL, 0, 0);
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 1), LS_OK);
    cr_assert_eq(here.link.figures.inputs_late, 1);
    cr_assert_eq(here.link.figures.inputs_on_time, 0);
}

/* ---- slack ---- */

Test(player_link, where_changes_alone_go_twice_what_is_repeated_unchanged_may_be_late)
{
    static const uint8_t byte = 7;
    const ls_slot_input nothing = {NULL, 0, 0};
    const ls_slot_input pressed = {&byte, 1, 0};
    const ls_slot_input made[3][2] = {{nothing, nothing}, {pressed, nothing}, {nothing, pressed}};
    /* Ticks 8 and 9 were closed 25 and 5 ms ago. A packet brings 8 to 10, of which 8 was lost. */
    const int32_t slacks[3] = {15 * 4, -25 * 4, -5 * 4};
    for (int i = 0; i < 3; i++) {
        close_table();
        open_table();
        here.match.config.late_rule = LS_LATE_REPEAT;
        here.link.loss = LS_SEND_LOSS_SOME;
        close_to(10);
        here.match.now_ns += 5 * LS_NS_PER_MS;
        packet sent = {.size = 0};
        ls_inputs_header header = {.first = 8};
        ls_bit_stream stream = ls_bit_writer(sent.bytes, sizeof sent.bytes);
        ls_inputs_header_bits(&stream, &header, 0);
        ls_slot_input before = nothing;
        for (ls_tick tick = 8; tick < 11; tick++) {
            const ls_slot_input *input = tick < 10 ? &made[i][tick - 8] : &before;
            cr_assert(ls_inputs_write_tick(&stream, &before, input));
            before = *input;
        }
        ls_tick_packet_write_end(&stream);
        cr_assert_eq(receive(&sent, ls_bits_size_bytes(&stream)), LS_OK);
        cr_assert_eq(here.link.slack, slacks[i], "%d: %d", i, here.link.slack);
    }
}

/* Where packets in a row are lost the client has no base to code the next input against, and each
 * input that is not empty looks like a change. */
Test(player_link, an_input_that_was_replaced_with_itself_may_be_late_without_a_base)
{
    static const uint8_t held = 7;
    const ls_slot_input input = {&held, 1, 0};
    const ls_slot_input nothing = {NULL, 0, 0};
    here.match.config.late_rule = LS_LATE_REPEAT;
    here.link.loss = LS_SEND_LOSS_SOME;
    here.held = input;
    close_to(10);
    here.match.now_ns += 5 * LS_NS_PER_MS;
    packet sent = {.size = 0};
    ls_inputs_header header = {.first = 9};
    ls_bit_stream stream = ls_bit_writer(sent.bytes, sizeof sent.bytes);
    ls_inputs_header_bits(&stream, &header, 0);
    cr_assert(ls_inputs_write_tick(&stream, &nothing, &input));
    cr_assert(ls_inputs_write_tick(&stream, &input, &input));
    ls_tick_packet_write_end(&stream);
    cr_assert_eq(receive(&sent, ls_bits_size_bytes(&stream)), LS_OK);
    cr_assert_eq(here.link.slack, 15 * 4, "%d", here.link.slack);
}

Test(player_link, slack_is_the_least_time_to_closing_since_the_last_ticks)
{
    cr_assert_eq(here.link.slack, LS_SLACK_NONE);
    close_to(10);
    here.match.now_ns += 5 * LS_NS_PER_MS;
    /* Tick 10 closes in 15 ms, tick 13 in 75 ms. */
    cr_assert_eq(deliver((ls_inputs_header){.first = 13}, 1), LS_OK);
    cr_assert_eq(here.link.slack, 75 * 4);
    cr_assert_eq(deliver((ls_inputs_header){.first = 10}, 3), LS_OK);
    cr_assert_eq(here.link.slack, 15 * 4);
    cr_assert_eq(deliver((ls_inputs_header){.first = 14}, 1), LS_OK);
    cr_assert_eq(here.link.slack, 15 * 4);
    /* Tick 8 was closed 25 ms ago. */
    cr_assert_eq(deliver((ls_inputs_header){.first = 8}, 1), LS_OK);
    cr_assert_eq(here.link.slack, -25 * 4);
    cr_assert_eq(here.link.figures.slack_ns, -25 * (int64_t)LS_NS_PER_MS);
}

/* ---- life ---- */

Test(player_link, a_cleared_link_is_as_new)
{
    memset(&here.link.figures.lag.meter, 0, sizeof here.link.figures.lag.meter);
    ls_player_link fresh = here.link;
    here.link.wanted = 4;
    here.link.peer.malformed = 7;
    here.link.figures.inputs_late = 3;
    ls_player_link_change(&here.link, LS_PLAYER_CLEARED);
    cr_assert_eq(memcmp(&here.link, &fresh, sizeof fresh), 0);
}

Test(player_link, a_newcomer_that_leaves_early_leaves_the_figures_of_the_player_before)
{
    here.link.wanted = 4;
    here.link.figures.inputs_late = 3;
    here.link.figures.lag.said.said_ns = 5;
    ls_player_link_change(&here.link, LS_PLAYER_NEWCOMER);
    cr_assert_eq(here.link.figures.inputs_late, 0);
    cr_assert_eq(here.link.wanted, 0);
    here.link.figures.inputs_late = 8;
    ls_player_link_change(&here.link, LS_PLAYER_TAKEN_BACK);
    cr_assert_eq(here.link.figures.inputs_late, 3);
    cr_assert_eq(here.link.figures.lag.said.said_ns, 0, "that was said to another connection");
}

Test(player_link, a_player_on_another_connection_keeps_its_figures)
{
    cr_assert_eq(deliver((ls_inputs_header){.first = 0}, 5), LS_OK);
    here.link.figures.inputs_late = 3;
    ls_player_link_change(&here.link, LS_PLAYER_SAME);
    cr_assert_eq(here.link.wanted, 5);
    ls_player_link_change(&here.link, LS_PLAYER_RETURNED);
    cr_assert_eq(here.link.figures.inputs_late, 3);
    cr_assert_eq(here.link.wanted, 0);
    cr_assert_not(ls_input_buffer_has(here.link.received, 0, 0));
}

Test(player_link, survives_every_failed_allocation_and_gives_all_back)
{
    ls_player_link_close(&here.link);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_player_link_init(&here.link, 0, INPUT_BYTES);
        refused.status = ls_player_link_open(&here.link, &refused.counting.allocator);
        ls_player_link_close(&here.link);
    }
}
