#include "lockstep/protocol/blob/blob_sender.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"

#include <criterion/criterion.h>
#include <string.h>

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
