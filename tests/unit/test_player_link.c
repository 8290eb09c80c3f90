#include "lockstep/tests/support/refused_memory.h"
#include "lockstep/tests/unit/player_link_fixture.h"

/* ---- player_link ---- */

/* A player link: the inputs that come in and their acknowledgements, how they are used when ticks
 * are closed, and with how much time to spare they came. Its way out is in
 * test_player_link_ticks.c.
 */

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

/* ---- player_link_ticks ---- */

/* The way out to the player of a seat: closed ticks in TICKS and in parts, what TICKS says
 * besides, and the round trip that is measured by them. The way in is in test_player_link.c.
 */

enum {
    SLOTS = 2
};

static ls_downlink *const player_link_ticks_downlink = &here.link.peer.downlink;
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
    ls_ticks_header_bits(&stream, header, player_link_ticks_downlink->next);
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
    return end == player_link_ticks_downlink->next && end < here.log.next;
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
    player_link_ticks_downlink->next = 9;
    cr_assert_not(write_packet());
    cr_assert_eq(read_ticks(&header), 12);
    cr_assert_eq(header.first, 9);
    player_link_ticks_downlink->next = 12;
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
    player_link_ticks_downlink->next = 5;
    player_link_ticks_downlink->rtt_ns = 8 * DT_NS;
    cr_assert_eq(send_each(6, 7).first, 5, "two have carried tick 5");
    cr_assert_eq(send_each(7, 8).first, 5);
    cr_assert_eq(send_each(8, 9).first, 6);
    cr_assert_eq(send_each(9, 16).first, 13);
    cr_assert_eq(send_ticks().first, 5, "nothing is newer than in the packet before");
    cr_assert_eq(send_each(16, 17).first, 5, "it is overdue");
    player_link_ticks_downlink->next = 14;
    cr_assert_eq(send_each(17, 18).first, 16);
}

Test(player_link_ticks, four_packets_carry_a_tick_where_some_are_lost_and_all_where_many_are)
{
    make_closed(60, 3);
    player_link_ticks_downlink->rtt_ns = 20 * DT_NS;
    player_link_ticks_downlink->loss = LS_SEND_LOSS_MANY;
    cr_assert_eq(send_each(0, 10).first, 0);
    player_link_ticks_downlink->loss = LS_SEND_LOSS_SOME;
    cr_assert_eq(send_each(10, 11).first, 7);
    player_link_ticks_downlink->loss = LS_SEND_LOSS_FEW;
    cr_assert_eq(send_each(11, 12).first, 9);
}

Test(player_link_ticks, what_did_not_fit_is_not_left_out)
{
    make_closed(12, 200);
    player_link_ticks_downlink->rtt_ns = 20 * DT_NS;
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
        player_link_ticks_downlink->next = read_ticks(&header);
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
    player_link_ticks_downlink->next = 190;
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
    while (player_link_ticks_downlink->next < 40) {
        cr_assert_not(write_packet());
        cr_assert_leq(sent.size, LS_PACKET_BYTES_MAX);
        ls_tick end = read_ticks(&header);
        cr_assert_gt(end, player_link_ticks_downlink->next);
        player_link_ticks_downlink->next = end;
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
    player_link_ticks_downlink->next = 3;
    cr_assert(write_packet());
    cr_assert_eq(read_ticks(&header), 3, "TICKS carries none");
    const uint8_t *whole = NULL;
    uint32_t size =
        ls_tick_log_large_tick(&here.log, player_link_ticks_downlink->next, false, &whole);
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
    player_link_ticks_downlink->next = 9;
    player_link_ticks_downlink->alone = 9;
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
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5));
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 6),
              "each tick for itself");
    cr_assert_not(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5));
    here.match.now_ns += 2 * here.match.dt_ns;
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5));
    player_link_ticks_downlink->rtt_ns = 20 * here.match.dt_ns;
    here.match.now_ns += 22 * here.match.dt_ns - 1;
    cr_assert_not(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5));
    here.match.now_ns += 1;
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5));
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match,
                                          5 + LS_TICK_PARTS_AHEAD));
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5),
              "the place was another's since");
}

Test(player_link_ticks, parts_go_on_behind_ticks_while_the_client_gets_on)
{
    player_link_ticks_downlink->next = 100;
    cr_assert_eq(ls_downlink_advance_parts_end(player_link_ticks_downlink, 140),
                 140 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_advance_parts_end(player_link_ticks_downlink, 140),
                 100 + LS_TICK_PARTS_AHEAD, "it has acknowledged nothing since");
    player_link_ticks_downlink->next = 101;
    cr_assert_eq(ls_downlink_advance_parts_end(player_link_ticks_downlink, 141),
                 141 + LS_TICK_PARTS_AHEAD);
    cr_assert_eq(ls_downlink_advance_parts_end(player_link_ticks_downlink, 101),
                 101 + LS_TICK_PARTS_AHEAD, "where no tick fits into TICKS it is the same");
}

/* ---- round trips ---- */

Test(player_link_ticks, the_round_trip_leaves_out_what_the_client_held)
{
    close_to(10);
    here.match.now_ns += 50 * LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 8, .chain_tick = 10, .first = 10};
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 48 * LS_NS_PER_MS);
    here.match.now_ns += 8 * LS_NS_PER_MS;
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 49 * LS_NS_PER_MS,
                 "a sample moves it by an eighth");
    header.hold = LS_HOLD_NONE;
    here.match.now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 49 * LS_NS_PER_MS);
    header.hold = 0;
    here.sequence--;
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 49 * LS_NS_PER_MS,
                 "a repetition says nothing");
}

Test(player_link_ticks, a_hold_longer_than_the_time_away_is_no_sample)
{
    close_to(10);
    here.match.now_ns += LS_NS_PER_MS;
    ls_inputs_header header = {.next = 10, .hold = 5, .chain_tick = 10, .first = 10};
    cr_assert_eq(deliver(header, 0), LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 0);
    cr_assert_eq(deliver((ls_inputs_header){.next = 0, .hold = 0, .first = 10}, 0), LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 0,
                 "before the first tick there is nothing to measure");
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
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 0, "nor does it for the one that did, by now");
    cr_assert_not(write_packet());
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 5));
    here.match.now_ns += 2 * DT_NS;
    cr_assert_eq(deliver((ls_inputs_header){.next = 5, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 0,
                 "this one was sent in no way that is known");
    cr_assert_eq(deliver((ls_inputs_header){.next = 6, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 2 * DT_NS);
}

Test(player_link_ticks, a_tick_that_was_in_a_packet_before_it_went_out_in_parts_says_nothing)
{
    close_to(10);
    make_closed(10, 500);
    cr_assert_not(write_packet());
    cr_assert(ls_downlink_claim_parts_due(player_link_ticks_downlink, &here.match, 0));
    here.match.now_ns += DT_NS;
    cr_assert_eq(deliver((ls_inputs_header){.next = 1, .chain_tick = 1, .hold = 0, .first = 10}, 0),
                 LS_OK);
    cr_assert_eq(player_link_ticks_downlink->rtt_ns, 0);
}
