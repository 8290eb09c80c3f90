#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/transport/link_model.h"
#include "lockstep/tests/support/near.h"
#include "lockstep/tools/netcond/settings.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- link_model ---- */

enum {
    PERCENT = 10000, /* in millionths */
    MANY = 200000,
    WIRE_BYTES = 1000,
};

#define MS LS_NS_PER_MS

static const ls_link_start start = {.seed = 1};
static ls_link_config asked; /* by the test that runs */

static void ask_for_default(void)
{
    asked = ls_link_config_default();
}

TestSuite(link_model, .init = ask_for_default);

static ls_link_model make_link(const ls_link_config *config)
{
    ls_link_model link;
    ls_text why = {{0}};
    cr_assert_eq(ls_link_config_check(config, &why), LS_OK, "%s", why.bytes);
    ls_link_model_init(&link, config, &start);
    return link;
}

/* The next packet, sent 10 ms after the one before. */
static ls_link_fate decide(ls_link_model *link, uint32_t index)
{
    return ls_link_model_decide(link, WIRE_BYTES, index * 10 * MS);
}

/* ---- nothing asked, and repeating it ---- */

Test(link_model, a_perfect_link_passes_every_packet_at_once)
{
    const ls_link_config perfect[] = {ls_link_config_default(), {0}};
    for (uint32_t kind = 0; kind < 2; kind++) {
        ls_link_model link = make_link(&perfect[kind]);
        for (uint32_t i = 0; i < 1000; i++) {
            ls_link_fate fate = decide(&link, i);
            cr_assert_eq(fate.loss, LS_LINK_LOSS_NONE);
            cr_assert_eq(fate.due_ns, i * 10 * MS);
            cr_assert(!fate.has_copy && !fate.is_altered);
        }
    }
}

static ls_link_config config_with_everything(void)
{
    ls_link_config config = ls_link_config_default();
    config.delay_ns = 30 * MS;
    config.jitter_ns = 20 * MS;
    config.loss_ppm = 10 * PERCENT;
    config.burst_ppm = 5 * PERCENT;
    config.burst_milli = 4000;
    config.duplicate_ppm = 10 * PERCENT;
    config.reorder_ppm = 10 * PERCENT;
    config.rate_bps = 900000; /* a little more than the packets need */
    config.queue_bytes = 3000;
    config.partition_start_ns = 700 * MS;
    config.partition_length_ns = 300 * MS;
    config.partition_every_ns = 2000 * MS;
    return config;
}

static bool fates_differ(const ls_link_fate *a, const ls_link_fate *b)
{
    return a->loss != b->loss || (a->loss == LS_LINK_LOSS_NONE && a->due_ns != b->due_ns);
}

Test(link_model, the_same_seed_and_stream_decide_the_same_and_others_do_not)
{
    ls_link_config config = config_with_everything();
    static const ls_link_start starts[] = {{.seed = 1}, {.seed = 1}, {.seed = 2}, {1, 1, 0}};
    ls_link_model links[4];
    uint32_t different[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        ls_link_model_init(&links[i], &config, &starts[i]);
    }
    for (uint32_t packet = 0; packet < 1000; packet++) {
        ls_link_fate first = decide(&links[0], packet);
        for (uint32_t i = 1; i < 4; i++) {
            ls_link_fate other = decide(&links[i], packet);
            different[i] += fates_differ(&first, &other) ? 1 : 0;
        }
    }
    cr_assert_eq(different[1], 0);
    cr_assert_gt(different[2], 300);
    cr_assert_gt(different[3], 300);
}

/* The fate of 64 packets by the flip of a coin, one bit each. */
static uint64_t coins(const ls_link_config *config, uint64_t stream)
{
    ls_link_model link;
    uint64_t bits = 0;
    ls_link_model_init(&link, config, &(ls_link_start){.seed = 1, .stream = stream});
    for (uint32_t i = 0; i < 64; i++) {
        ls_link_fate fate = decide(&link, i);
        bool is_heads = fate.loss != LS_LINK_LOSS_NONE || fate.has_copy || fate.is_altered ||
                        fate.due_ns > i * 10 * MS;
        bits = bits << 1 | (is_heads ? 1u : 0u);
    }
    return bits;
}

Test(link_model, no_two_decisions_of_any_streams_share_their_chance)
{
    enum {
        STREAMS = 16,
        KINDS = 5
    };
    ls_link_config kinds[KINDS];
    for (uint32_t i = 0; i < KINDS; i++) {
        kinds[i] = ls_link_config_default();
    }
    kinds[0].loss_ppm = 50 * PERCENT;
    kinds[1].duplicate_ppm = 50 * PERCENT;
    kinds[2].reorder_ppm = 50 * PERCENT;
    kinds[3].burst_ppm = 50 * PERCENT;
    kinds[3].burst_milli = 2000; /* each packet turns it or not */
    kinds[4].corrupt_ppm = 50 * PERCENT;
    uint64_t seen[STREAMS * KINDS];
    for (uint32_t i = 0; i < STREAMS * KINDS; i++) {
        seen[i] = coins(&kinds[i % KINDS], i / KINDS);
        for (uint32_t j = 0; j < i; j++) {
            cr_assert_neq(seen[i], seen[j], "%u and %u", i, j);
        }
    }
}

/* The other settings and the clock move nothing that a setting draws. */
Test(link_model, a_packets_losses_depend_on_its_index_alone)
{
    ls_link_config everything = config_with_everything();
    ls_link_config only_loss = ls_link_config_default();
    only_loss.loss_ppm = everything.loss_ppm;
    ls_link_config only_copies = ls_link_config_default();
    only_copies.duplicate_ppm = everything.duplicate_ppm;
    ls_link_model all = make_link(&everything);
    ls_link_model losing = make_link(&only_loss);
    ls_link_model copying = make_link(&only_copies);
    uint32_t lost = 0, copied = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        ls_link_fate fate = decide(&all, i);
        bool is_lost = ls_link_model_decide(&losing, 1, i).loss == LS_LINK_LOSS_RANDOM;
        bool has_copy = ls_link_model_decide(&copying, 1, i * 7 * LS_NS_PER_SECOND).has_copy;
        if (fate.loss != LS_LINK_LOSS_PARTITION) {
            cr_assert_eq(fate.loss == LS_LINK_LOSS_RANDOM, is_lost);
            lost += is_lost ? 1 : 0;
        }
        if (fate.loss == LS_LINK_LOSS_NONE) {
            cr_assert_eq(fate.has_copy, has_copy);
            copied += has_copy ? 1 : 0;
        }
    }
    cr_assert_gt(lost, 100);
    cr_assert_gt(copied, 100);
}

/* ---- loss ---- */

/* Counts runs of lost packets, as a receiver sees them. */
typedef struct loss_runs {
    uint32_t lost;
    uint32_t runs;
    uint32_t of_one;
} loss_runs;

static loss_runs count_losses(const ls_link_config *config, uint32_t packets)
{
    ls_link_model link = make_link(config);
    loss_runs counted = {0};
    uint32_t run = 0;
    for (uint32_t i = 0; i < packets; i++) {
        bool is_lost = decide(&link, i).loss != LS_LINK_LOSS_NONE;
        counted.lost += is_lost ? 1 : 0;
        counted.runs += is_lost && run == 0 ? 1 : 0;
        counted.of_one += !is_lost && run == 1 ? 1 : 0;
        run = is_lost ? run + 1 : 0;
    }
    return counted;
}

Test(link_model, random_loss_comes_to_its_share_and_each_packet_is_lost_for_itself)
{
    static const uint32_t shares[] = {1, 5, 20, 50}; /* per cent */
    for (uint32_t i = 0; i < 4; i++) {
        asked.loss_ppm = shares[i] * PERCENT;
        loss_runs counted = count_losses(&asked, MANY);
        double share = shares[i] / 100.0;
        ASSERT_NEAR(counted.lost, share * MANY, 0.03 * share * MANY);
        /* Without memory a run goes on with the same share: 1 / (1 - share) long on average. */
        double mean_run = (double)counted.lost / counted.runs;
        ASSERT_NEAR(mean_run, 1 / (1 - share), 0.02);
    }
}

Test(link_model, no_loss_and_all_loss_are_exact)
{
    cr_assert_eq(count_losses(&asked, MANY).lost, 0);
    asked.loss_ppm = 100 * PERCENT;
    cr_assert_eq(count_losses(&asked, MANY).lost, MANY);
    asked.loss_ppm = 0;
    asked.burst_ppm = 0;
    asked.burst_milli = 5000;
    cr_assert_eq(count_losses(&asked, MANY).lost, 0);
}

Test(link_model, bursts_come_to_their_share_and_length)
{
    static const struct {
        uint32_t share_ppm, milli;
    } bursts[] = {
        {2 * PERCENT, 5000}, {PERCENT / 2, 3000}, {30 * PERCENT, 20000}, {5 * PERCENT, 1000}};
    for (uint32_t i = 0; i < 4; i++) {
        asked.burst_ppm = bursts[i].share_ppm;
        asked.burst_milli = bursts[i].milli;
        loss_runs counted = count_losses(&asked, 5 * MANY);
        double share = bursts[i].share_ppm / 1e6;
        double length = bursts[i].milli / 1000.0;
        ASSERT_NEAR(counted.lost, share * 5 * MANY, 0.04 * share * 5 * MANY);
        ASSERT_NEAR((double)counted.lost / counted.runs, length, 0.03 * length);
        /* Lengths are geometric: a share of 1 / length ends after one packet. */
        ASSERT_NEAR((double)counted.of_one / counted.runs, 1 / length, 0.03);
    }
}

Test(link_model, in_a_bad_period_only_its_share_is_lost)
{
    asked.burst_ppm = 20 * PERCENT;
    asked.burst_milli = 50000;
    asked.burst_loss_ppm = 25 * PERCENT;
    loss_runs counted = count_losses(&asked, 5 * MANY);
    ASSERT_NEAR(counted.lost, 0.05 * 5 * MANY, 0.05 * 0.05 * 5 * MANY);
    double mean_run = (double)counted.lost / counted.runs;
    ASSERT_NEAR(mean_run, 1 / (1 - 0.25), 0.03);
}

Test(link_model, random_and_burst_loss_are_told_apart)
{
    asked.loss_ppm = 10 * PERCENT;
    asked.burst_ppm = 10 * PERCENT;
    asked.burst_milli = 5000;
    ls_link_model link = make_link(&asked);
    uint32_t by_cause[LS_LINK_LOSS_COUNT] = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        by_cause[decide(&link, i).loss]++;
    }
    ASSERT_NEAR(by_cause[LS_LINK_LOSS_RANDOM], 0.10 * MANY, 0.004 * MANY);
    ASSERT_NEAR(by_cause[LS_LINK_LOSS_BURST], 0.09 * MANY, 0.004 * MANY); /* of what is left */
    ASSERT_NEAR(by_cause[LS_LINK_LOSS_NONE], 0.81 * MANY, 0.006 * MANY);
}

/* ---- delay, jitter, order ---- */

/* The delays of MANY packets, `interval_ns` apart. */
static const uint64_t *delays_of(const ls_link_config *config, uint64_t interval_ns)
{
    static uint64_t delays[MANY];
    ls_link_model link = make_link(config);
    for (uint32_t i = 0; i < MANY; i++) {
        delays[i] = ls_link_model_decide(&link, 1, i * interval_ns).due_ns - i * interval_ns;
    }
    return delays;
}

static double mean_ms(const uint64_t *delays)
{
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        sum_ns += delays[i];
    }
    return (double)sum_ns / MANY / 1e6;
}

/* The share of the delays that are at most so long. */
static double share_within(const uint64_t *delays, uint64_t ns)
{
    uint32_t within = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        within += delays[i] <= ns ? 1 : 0;
    }
    return (double)within / MANY;
}

Test(link_model, delay_alone_is_exact)
{
    asked.delay_ns = 33333333;
    const uint64_t *delays = delays_of(&asked, 1000);
    for (uint32_t i = 0; i < MANY; i++) {
        cr_assert_eq(delays[i], 33333333);
    }
}

static void assert_uniform(const uint64_t *delays, const ls_link_config *config)
{
    double delay_ms = (double)config->delay_ns / 1e6;
    double jitter_ms = (double)config->jitter_ns / 1e6;
    ASSERT_NEAR(mean_ms(delays), delay_ms + jitter_ms / 2, 0.01 * jitter_ms);
    for (uint32_t percent = 0; percent <= 100; percent += 5) {
        uint64_t within_ns = config->delay_ns + config->jitter_ns * percent / 100;
        ASSERT_NEAR(share_within(delays, within_ns), percent / 100.0, 0.005);
    }
    cr_assert_eq(share_within(delays, config->delay_ns + config->jitter_ns), 1);
    cr_assert(config->delay_ns == 0 || share_within(delays, config->delay_ns - 1) == 0);
}

Test(link_model, jitter_is_uniform_above_the_delay)
{
    asked.delay_ns = 40 * MS;
    asked.jitter_ns = 20 * MS;
    assert_uniform(delays_of(&asked, 20 * MS), &asked);
    asked.delay_ns = 0;
    asked.jitter_ns = LS_LINK_JITTER_MS_MAX * MS;
    assert_uniform(delays_of(&asked, asked.jitter_ns), &asked);
}

Test(link_model, packets_that_may_overtake_have_uniform_jitter_at_any_rate)
{
    asked.delay_ns = 40 * MS;
    asked.jitter_ns = 20 * MS;
    asked.keeps_order = false;
    assert_uniform(delays_of(&asked, 1 * MS), &asked);
}

/* A queue: a packet that would be earlier than those before it comes with the last of them. */
Test(link_model, without_overtaking_a_packet_waits_for_those_before_it)
{
    asked.delay_ns = 10 * MS;
    asked.jitter_ns = 50 * MS;
    ls_link_model in_order = make_link(&asked);
    asked.keeps_order = false;
    ls_link_model overtaking = make_link(&asked);
    uint64_t latest_ns = 0;
    uint32_t waited = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t due_ns = decide(&in_order, i).due_ns;
        uint64_t own_ns = decide(&overtaking, i).due_ns;
        latest_ns = own_ns > latest_ns ? own_ns : latest_ns;
        cr_assert_eq(due_ns, latest_ns);
        waited += due_ns > own_ns ? 1 : 0;
    }
    cr_assert_gt(waited, MANY / 3);
}

Test(link_model, a_reordered_packet_is_held_back_and_nobody_waits_for_it)
{
    asked.delay_ns = 10 * MS;
    asked.reorder_ppm = 2 * PERCENT;
    asked.reorder_ns = 25 * MS;
    ls_link_model link = make_link(&asked);
    uint32_t held_back = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t delay_ns = decide(&link, i).due_ns - i * 10 * MS;
        cr_assert(delay_ns == 10 * MS || delay_ns == 35 * MS);
        held_back += delay_ns == 35 * MS ? 1 : 0;
    }
    ASSERT_NEAR(held_back, 0.02 * MANY, 0.05 * 0.02 * MANY);
}

Test(link_model, copies_come_to_their_share_with_a_jitter_of_their_own)
{
    asked.delay_ns = 10 * MS;
    asked.jitter_ns = 10 * MS;
    asked.duplicate_ppm = 3 * PERCENT;
    ls_link_model link = make_link(&asked);
    uint32_t copies = 0, later = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        ls_link_fate fate = decide(&link, i);
        if (fate.has_copy) {
            copies++;
            later += fate.copy_due_ns > fate.due_ns ? 1 : 0;
            cr_assert_geq(fate.copy_due_ns, fate.due_ns);
            cr_assert_leq(fate.copy_due_ns, i * 10 * MS + 20 * MS);
        }
    }
    ASSERT_NEAR(copies, 0.03 * MANY, 0.04 * 0.03 * MANY);
    ASSERT_NEAR((double)later / copies, 0.5, 0.03);
}

Test(link_model, an_altered_packet_has_one_bit_flipped_anywhere)
{
    enum {
        BYTES = 20
    };
    ls_link_config config = {.corrupt_ppm = 3 * PERCENT};
    ls_link_model link = make_link(&config);
    uint32_t altered = 0;
    uint8_t flipped[BYTES] = {0};
    for (uint32_t i = 0; i < MANY; i++) {
        ls_link_fate fate = decide(&link, i);
        uint8_t bytes[BYTES] = {0};
        uint32_t bits = 0;
        if (fate.is_altered) {
            ls_link_fate_alter(&fate, bytes, BYTES);
            for (uint32_t at = 0; at < BYTES * 8; at++) {
                bits += bytes[at / 8] >> at % 8 & 1u;
                flipped[at / 8] |= bytes[at / 8];
            }
            cr_assert_eq(bits, 1);
            altered++;
        }
    }
    ASSERT_NEAR(altered, 0.03 * MANY, 0.04 * 0.03 * MANY);
    for (uint32_t i = 0; i < BYTES; i++) {
        cr_assert_eq(flipped[i], 0xff);
    }
}

/* ---- rate ---- */

/* 1,000 bytes on the wire take 8 ms. */
static ls_link_config config_of_a_megabit(uint64_t bucket_bytes, uint64_t queue_bytes)
{
    ls_link_config config = ls_link_config_default();
    config.rate_bps = 1000000;
    config.bucket_bytes = bucket_bytes;
    config.queue_bytes = queue_bytes;
    return config;
}

Test(link_model, the_rate_spaces_packets_by_what_they_take)
{
    ls_link_config config = config_of_a_megabit(0, 1000000);
    ls_link_model link = make_link(&config);
    for (uint32_t i = 0; i < 1000; i++) {
        ls_link_fate fate = ls_link_model_decide(&link, WIRE_BYTES, 5);
        cr_assert_eq(fate.loss, LS_LINK_LOSS_NONE);
        cr_assert_eq(fate.due_ns, 5 + (i + 1) * 8 * MS);
    }
    cr_assert_eq(ls_link_model_decide(&link, WIRE_BYTES, 5).loss, LS_LINK_LOSS_QUEUE);
}

Test(link_model, a_bucket_passes_at_once_what_was_saved_up)
{
    ls_link_config config = config_of_a_megabit(3000, 1000000);
    ls_link_model link = make_link(&config);
    for (uint32_t i = 0; i < 10; i++) {
        uint64_t wait_ns = ls_link_model_decide(&link, WIRE_BYTES, 0).due_ns;
        cr_assert_eq(wait_ns, i < 3 ? 0 : (i - 2) * 8 * MS);
    }
    /* The tenth left at 56 ms with an empty bucket; at 80 ms it is full, and holds no more after.
     */
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t wait_ns = ls_link_model_decide(&link, WIRE_BYTES, 84 * MS).due_ns - 84 * MS;
        cr_assert_eq(wait_ns, i < 3 ? 0 : (i - 2) * 8 * MS);
    }
    /* The fifth leaves at 100 ms; 4 ms later there is half a packet in the bucket. */
    cr_assert_eq(ls_link_model_decide(&link, WIRE_BYTES, 104 * MS).due_ns, 108 * MS);
}

Test(link_model, a_full_queue_loses_the_packet_beyond_it_and_takes_packets_again_when_it_has_room)
{
    ls_link_config config = config_of_a_megabit(0, 10000);
    ls_link_model link = make_link(&config);
    for (uint32_t i = 0; i < 20; i++) {
        ls_link_fate fate = ls_link_model_decide(&link, WIRE_BYTES, 0);
        cr_assert_eq(fate.loss, i < 10 ? LS_LINK_LOSS_NONE : LS_LINK_LOSS_QUEUE);
    }
    cr_assert_eq(ls_link_model_decide(&link, WIRE_BYTES, 8 * MS - 1).loss, LS_LINK_LOSS_QUEUE);
    ls_link_fate fate = ls_link_model_decide(&link, WIRE_BYTES, 8 * MS);
    cr_assert_eq(fate.loss, LS_LINK_LOSS_NONE);
    cr_assert_eq(fate.due_ns, 88 * MS);
}

/* Divisions leave a rest each time; over a million packets it must not add up. */
Test(link_model, the_rate_is_exact_in_the_long_run)
{
    asked.rate_bps = 7777000;
    asked.bucket_bytes = 0;
    ls_link_model link = make_link(&asked);
    uint64_t due_ns = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        due_ns =
            ls_link_model_decide(&link, 29, due_ns).due_ns; /* as one leaves the next one comes */
    }
    ls_link_model busy = make_link(&asked);
    uint64_t busy_ns = 0;
    for (uint32_t i = 0; i < 1000000; i++) {
        /* The queue never empties: the rest is carried. */
        busy_ns = ls_link_model_decide(&busy, 29, i == 0 ? 0 : busy_ns - 1).due_ns;
    }
    uint64_t exact_ns = UINT64_C(1000000) * 29 * 8 * LS_NS_PER_SECOND / 7777000;
    cr_assert_eq(busy_ns, exact_ns);
    cr_assert_leq(due_ns, exact_ns);
    cr_assert_geq(due_ns, exact_ns - 1000000);
}

Test(link_model, lost_packets_take_nothing_of_the_rate)
{
    ls_link_config config = config_of_a_megabit(0, 3000);
    config.loss_ppm = 50 * PERCENT;
    ls_link_model link = make_link(&config);
    uint32_t passed = 0;
    for (uint32_t i = 0; passed < 3; i++) {
        ls_link_fate fate = ls_link_model_decide(&link, WIRE_BYTES, 0);
        cr_assert_neq(fate.loss, LS_LINK_LOSS_QUEUE);
        passed += fate.loss == LS_LINK_LOSS_NONE ? 1 : 0;
        cr_assert(fate.loss != LS_LINK_LOSS_NONE || fate.due_ns == passed * 8 * MS);
        cr_assert_lt(i, 100);
    }
}

/* ---- partitions ---- */

static void assert_passes(ls_link_model *link, uint64_t now_ns, bool passes)
{
    cr_assert_eq(ls_link_model_opens_ns(link, now_ns) == now_ns, passes);
    ls_link_fate fate = ls_link_model_decide(link, 1, now_ns);
    cr_assert_eq(fate.loss, passes ? LS_LINK_LOSS_NONE : LS_LINK_LOSS_PARTITION, "at %lu",
                 (unsigned long)now_ns);
}

Test(link_model, a_partition_lets_nothing_pass_from_its_first_moment_to_its_last)
{
    asked.partition_start_ns = 100;
    asked.partition_length_ns = 50;
    ls_link_model link;
    ls_link_model_init(&link, &asked, &(ls_link_start){.origin_ns = 1000});
    assert_passes(&link, 0, true);
    assert_passes(&link, 1099, true);
    assert_passes(&link, 1100, false);
    assert_passes(&link, 1149, false);
    assert_passes(&link, 1150, true);
    assert_passes(&link, 100000, true);
}

Test(link_model, a_partition_comes_again)
{
    asked.partition_start_ns = 100;
    asked.partition_length_ns = 50;
    asked.partition_every_ns = 1000;
    ls_link_model link = make_link(&asked);
    for (uint64_t round_ns = 0; round_ns < 5000; round_ns += 1000) {
        assert_passes(&link, round_ns + 99, true);
        assert_passes(&link, round_ns + 100, false);
        assert_passes(&link, round_ns + 149, false);
        assert_passes(&link, round_ns + 150, true);
    }
}

Test(link_model, it_says_when_a_partition_is_over)
{
    ls_link_config config = {.partition_start_ns = 100, .partition_length_ns = 50};
    ls_link_model link = make_link(&config);
    cr_assert_eq(ls_link_model_opens_ns(&link, 100), 150);
    cr_assert_eq(ls_link_model_opens_ns(&link, 149), 150);
    config.partition_every_ns = 1000;
    ls_link_model_set_config(&link, &config);
    cr_assert_eq(ls_link_model_opens_ns(&link, 7120), 7150);
}

Test(link_model, nothing_passes_a_cut_until_the_link_is_set_anew)
{
    ls_link_config config = {.is_cut = true};
    ls_link_model link = make_link(&config);
    assert_passes(&link, 0, false);
    assert_passes(&link, UINT64_C(1) << 62, false);
    cr_assert_eq(ls_link_model_opens_ns(&link, 0), UINT64_MAX);
    config.is_cut = false;
    ls_link_model_set_config(&link, &config);
    assert_passes(&link, UINT64_C(1) << 62, true);
}

Test(link_model, a_burst_ends_when_it_is_ended_or_no_longer_asked)
{
    ls_link_config config = {.burst_ppm = 50 * PERCENT,
                             .burst_milli = LS_LINK_BURST_PACKETS_MAX * 1000,
                             .burst_loss_ppm = 100 * PERCENT};
    ls_link_model link = make_link(&config);
    uint32_t packet = 0;
    for (uint32_t bursts = 0; bursts < 2; bursts++) {
        while (decide(&link, packet++).loss != LS_LINK_LOSS_BURST) {
        }
        ls_link_model_end_burst(&link);
        cr_assert_eq(decide(&link, packet++).loss, LS_LINK_LOSS_NONE);
    }
    while (decide(&link, packet++).loss != LS_LINK_LOSS_BURST) {
    }
    config.burst_ppm = 0;
    ls_link_model_set_config(&link, &config);
    cr_assert_eq(decide(&link, packet++).loss, LS_LINK_LOSS_NONE);
}

/* ---- configs ---- */

static void assert_refused(const ls_link_config *config, const char *word)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_link_config_check(config, &why), LS_BAD_ARGUMENT, "%s", word);
    cr_assert(strstr(why.bytes, word), "'%s' does not name %s", why.bytes, word);
}

/* At its limit a field is taken, one past it is refused by name. */
#define ASSERT_LIMIT(field, limit)                                                                 \
    do {                                                                                           \
        ls_link_config config = ls_link_config_default();                                          \
        config.field = (limit);                                                                    \
        cr_assert_eq(ls_link_config_check(&config, NULL), LS_OK, #field);                          \
        config.field++;                                                                            \
        assert_refused(&config, #field);                                                           \
    } while (0)

Test(link_model, a_field_beyond_its_limit_is_refused_by_name)
{
    ASSERT_LIMIT(delay_ns, LS_LINK_DELAY_MS_MAX * MS);
    ASSERT_LIMIT(jitter_ns, LS_LINK_JITTER_MS_MAX * MS);
    ASSERT_LIMIT(loss_ppm, 100 * PERCENT);
    ASSERT_LIMIT(burst_milli, LS_LINK_BURST_PACKETS_MAX * 1000);
    ASSERT_LIMIT(burst_loss_ppm, 100 * PERCENT);
    ASSERT_LIMIT(duplicate_ppm, 100 * PERCENT);
    ASSERT_LIMIT(corrupt_ppm, 100 * PERCENT);
    ASSERT_LIMIT(reorder_ppm, 100 * PERCENT);
    ASSERT_LIMIT(reorder_ns, LS_LINK_DELAY_MS_MAX * MS);
    ASSERT_LIMIT(rate_bps, LS_LINK_RATE_KBIT_MAX * UINT64_C(1000));
    ASSERT_LIMIT(bucket_bytes, LS_LINK_QUEUE_KB_MAX * UINT64_C(1000));
    ASSERT_LIMIT(queue_bytes, LS_LINK_QUEUE_KB_MAX * UINT64_C(1000));
    ASSERT_LIMIT(partition_start_ns, LS_LINK_PARTITION_MS_MAX * MS);
    ASSERT_LIMIT(partition_length_ns, LS_LINK_PARTITION_MS_MAX * MS);
    ASSERT_LIMIT(partition_every_ns, LS_LINK_PARTITION_MS_MAX * MS);
}

Test(link_model, fields_that_do_not_go_together_are_refused)
{
    asked.rate_bps = 1000;
    asked.queue_bytes = LS_LINK_WIRE_BYTES_MAX - 1;
    assert_refused(&asked, "queue_bytes");
    asked = ls_link_config_default();
    asked.burst_ppm = 1;
    asked.burst_milli = 999;
    assert_refused(&asked, "burst_milli");
    asked.burst_milli = 1000;
    asked.burst_ppm = 50 * PERCENT; /* every second packet: just possible */
    cr_assert_eq(ls_link_config_check(&asked, NULL), LS_OK);
    asked.burst_ppm++;
    assert_refused(&asked, "too short");
    asked.burst_milli = 9000;
    asked.burst_ppm = LS_LINK_BURST_PERCENT_MAX * PERCENT;
    cr_assert_eq(ls_link_config_check(&asked, NULL), LS_OK);
    asked.burst_ppm++;
    assert_refused(&asked, "burst_ppm");
    asked = ls_link_config_default();
    asked.partition_length_ns = 10;
    asked.partition_every_ns = 10;
    assert_refused(&asked, "nothing ever passes");
    asked.partition_every_ns = 11;
    cr_assert_eq(ls_link_config_check(&asked, NULL), LS_OK);
}

Test(link_model, an_unchecked_config_is_a_programmers_mistake, .signal = SIGABRT)
{
    asked.loss_ppm = 100 * PERCENT + 1;
    ls_link_model link;
    ls_link_model_init(&link, &asked, &start);
}

/* All at their largest: no sum or product may wrap. */
Test(link_model, the_largest_settings_do_not_overflow)
{
    asked.delay_ns = LS_LINK_DELAY_MS_MAX * MS;
    asked.jitter_ns = LS_LINK_JITTER_MS_MAX * MS;
    asked.reorder_ppm = 100 * PERCENT;
    asked.reorder_ns = LS_LINK_DELAY_MS_MAX * MS;
    asked.rate_bps = 1000;
    asked.bucket_bytes = LS_LINK_QUEUE_KB_MAX * UINT64_C(1000);
    asked.queue_bytes = LS_LINK_QUEUE_KB_MAX * UINT64_C(1000);
    ls_link_model link = make_link(&asked);
    uint64_t now_ns = UINT64_C(1) << 62; /* 146 years after the start */
    uint64_t latest_ns = 0, passed = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        ls_link_fate fate = ls_link_model_decide(&link, LS_LINK_WIRE_BYTES_MAX, now_ns);
        if (fate.loss == LS_LINK_LOSS_NONE) {
            cr_assert_geq(fate.due_ns, now_ns + asked.delay_ns + asked.reorder_ns);
            latest_ns = fate.due_ns > latest_ns ? fate.due_ns : latest_ns;
            passed++;
        }
    }
    /* Bucket and queue together hold 131 MB of packets of 2,076 bytes. */
    cr_assert_eq(passed, 2 * LS_LINK_QUEUE_KB_MAX * UINT64_C(1000) / 2076);
    cr_assert_leq(latest_ns - now_ns, asked.queue_bytes * 8 * MS + 24 * LS_NS_PER_SECOND);
}

/* ---- netcond_settings ---- */

#define NETCOND_SETTINGS_MS LS_NS_PER_MS

static const ls_link_config *resolve(const netcond_settings *settings)
{
    static ls_link_config links[NETCOND_DIRECTION_COUNT];
    ls_text why = {{0}};
    cr_assert_eq(netcond_settings_resolve(settings, links, &why), LS_OK, "%s", why.bytes);
    return links;
}

/* One setting of both directions. */
static ls_link_config resolve_one(netcond_setting setting, const char *value)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][setting] = value;
    const ls_link_config *links = resolve(&settings);
    return links[NETCOND_DIRECTION_UP];
}

Test(netcond_settings, nothing_said_is_a_perfect_link)
{
    netcond_settings settings = {{{0}}};
    const ls_link_config *links = resolve(&settings);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        cr_assert_eq(links[i].delay_ns, 0);
        cr_assert_eq(links[i].loss_ppm, 0);
        cr_assert_eq(links[i].rate_bps, 0);
        cr_assert_eq(links[i].partition_length_ns, 0);
    }
}

Test(netcond_settings, each_value_becomes_its_field_in_its_unit)
{
    cr_assert_eq(resolve_one(NETCOND_SETTING_DELAY, "33.5").delay_ns, 33500 * LS_NS_PER_US);
    cr_assert_eq(resolve_one(NETCOND_SETTING_JITTER, "0.001").jitter_ns, LS_NS_PER_US);
    cr_assert_not(resolve_one(NETCOND_SETTING_OVERTAKE, "").keeps_order);
    cr_assert_eq(resolve_one(NETCOND_SETTING_LOSS, "2.5").loss_ppm, 25000);
    cr_assert_eq(resolve_one(NETCOND_SETTING_DUPLICATE, "0.0001").duplicate_ppm, 1);
    cr_assert_eq(resolve_one(NETCOND_SETTING_RATE, "512").rate_bps, 512000);
    cr_assert_eq(resolve_one(NETCOND_SETTING_BUCKET, "1.5").bucket_bytes, 1500);
    cr_assert_eq(resolve_one(NETCOND_SETTING_QUEUE, "16").queue_bytes, 16000);
    ls_link_config burst = resolve_one(NETCOND_SETTING_BURST, "2:5.5:80");
    cr_assert_eq(burst.burst_ppm, 20000);
    cr_assert_eq(burst.burst_milli, 5500);
    cr_assert_eq(burst.burst_loss_ppm, 800000);
    ls_link_config reorder = resolve_one(NETCOND_SETTING_REORDER, "3:40");
    cr_assert_eq(reorder.reorder_ppm, 30000);
    cr_assert_eq(reorder.reorder_ns, 40 * NETCOND_SETTINGS_MS);
    ls_link_config partition = resolve_one(NETCOND_SETTING_PARTITION, "1000:200:5000");
    cr_assert_eq(partition.partition_start_ns, 1000 * NETCOND_SETTINGS_MS);
    cr_assert_eq(partition.partition_length_ns, 200 * NETCOND_SETTINGS_MS);
    cr_assert_eq(partition.partition_every_ns, 5000 * NETCOND_SETTINGS_MS);
}

Test(netcond_settings, a_setting_of_both_directions_is_one_of_each)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_DELAY] = "8";
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_OVERTAKE] = "";
    const ls_link_config *links = resolve(&settings);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        cr_assert_eq(links[i].delay_ns, 8 * NETCOND_SETTINGS_MS);
        cr_assert_not(links[i].keeps_order);
    }
}

Test(netcond_settings, a_part_left_out_has_its_default)
{
    cr_assert_eq(resolve_one(NETCOND_SETTING_BURST, "2:5").burst_loss_ppm, 1000000);
    cr_assert_eq(resolve_one(NETCOND_SETTING_REORDER, "3").reorder_ns, 25 * NETCOND_SETTINGS_MS);
    cr_assert_eq(resolve_one(NETCOND_SETTING_PARTITION, "1:2").partition_every_ns, 0);
}

Test(netcond_settings, one_direction_counts_more_than_both_and_both_more_than_a_profile)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_PROFILE] = "bad";
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_DELAY] = "7";
    settings.values[NETCOND_SCOPE_DOWN][NETCOND_SETTING_DELAY] = "9";
    settings.values[NETCOND_SCOPE_UP][NETCOND_SETTING_LOSS] = "0";
    const ls_link_config *links = resolve(&settings);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].delay_ns, 7 * NETCOND_SETTINGS_MS);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].delay_ns, 9 * NETCOND_SETTINGS_MS);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].loss_ppm, 0);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].loss_ppm, 50000);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].jitter_ns, 40 * NETCOND_SETTINGS_MS);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].rate_bps, 512000);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].rate_bps, 1024000);
}

Test(netcond_settings, each_direction_may_have_a_profile_of_its_own)
{
    netcond_settings settings = {{{0}}};
    settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_PROFILE] = "lan";
    settings.values[NETCOND_SCOPE_DOWN][NETCOND_SETTING_PROFILE] = "satellite";
    const ls_link_config *links = resolve(&settings);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].delay_ns, 200 * LS_NS_PER_US);
    cr_assert_eq(links[NETCOND_DIRECTION_DOWN].delay_ns, 280 * NETCOND_SETTINGS_MS);
    cr_assert_eq(links[NETCOND_DIRECTION_UP].loss_ppm, 0);
}

Test(netcond_settings, every_profile_is_a_valid_link_of_its_name)
{
    static const char *const names[] = {"lan", "wifi", "4g", "bad", "satellite"};
    uint64_t delay_ns = 0;
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_str_eq(netcond_profile_at(i)->name, names[i]);
        ls_link_config link;
        netcond_settings settings = {{{0}}};
        settings.values[NETCOND_SCOPE_BOTH][NETCOND_SETTING_PROFILE] = names[i];
        link = resolve(&settings)[NETCOND_DIRECTION_UP];
        cr_assert_gt(link.delay_ns, delay_ns, "%s", names[i]); /* each farther than the last */
        delay_ns = link.delay_ns;
    }
    cr_assert_null(netcond_profile_at(sizeof names / sizeof names[0]));
}

static void netcond_settings_assert_refused(netcond_setting_scope scope, netcond_setting setting,
                                            const char *value, const char *sentence)
{
    ls_link_config links[NETCOND_DIRECTION_COUNT];
    memset(links, 0x5a, sizeof links);
    netcond_settings settings = {{{0}}};
    settings.values[scope][setting] = value;
    ls_text why = {{0}};
    cr_assert_eq(netcond_settings_resolve(&settings, links, &why), LS_BAD_ARGUMENT, "'%s'", value);
    cr_assert_str_eq(why.bytes, sentence);
    for (size_t i = 0; i < sizeof links; i++) {
        cr_assert_eq(((const uint8_t *)links)[i], 0x5a, "a failure left something behind");
    }
}

Test(netcond_settings, an_impossible_value_is_refused_with_the_possible_ones)
{
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_DELAY, "10000.001",
        "--delay takes a number from 0 to 10000 with up to 3 decimals, not '10000.001'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_UP, NETCOND_SETTING_LOSS, "-1",
        "--up-loss takes a number from 0 to 100 with up to 4 decimals, not '-1'");
    netcond_settings_assert_refused(NETCOND_SCOPE_DOWN, NETCOND_SETTING_RATE, "1.5",
                                    "--down-rate takes a number from 0 to 10000000, not '1.5'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_QUEUE, "2.999",
        "--queue takes a number from 3 to 65536 with up to 3 decimals, not '2.999'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_PROFILE, "5g",
        "--profile takes lan or wifi or 4g or bad or satellite, not '5g'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_DOWN, NETCOND_SETTING_PROFILE, "",
        "--down-profile takes lan or wifi or 4g or bad or satellite, not ''");
}

Test(netcond_settings, values_of_several_parts_are_checked_part_by_part)
{
    static const char *const shapes[] = {"", "2", "2:5:80:1",
                                         ":::", "2:55555555555555555555555555555555"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char sentence[120];
        snprintf(sentence, sizeof sentence, "--burst takes PCT:LENGTH[:LOSS], not '%s'", shapes[i]);
        netcond_settings_assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, shapes[i],
                                        sentence);
    }
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, "2:0.999",
        "--burst LENGTH takes a number from 1 to 10000 with up to 3 decimals, not "
        "'0.999'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, "91:500",
        "--burst PCT takes a number from 0 to 90 with up to 4 decimals, not '91'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_UP, NETCOND_SETTING_BURST,
        "2:5:", "--up-burst LOSS takes a number from 0 to 100 with up to 4 decimals, not ''");
    netcond_settings_assert_refused(NETCOND_SCOPE_BOTH, NETCOND_SETTING_REORDER, "5:0",
                                    "--reorder MS takes a number from 1 to 10000 "
                                    "with up to 3 decimals, not '0'");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_PARTITION, "1:86400001",
        "--partition LENGTH takes a number from 0 to 86400000, not '86400001'");
}

Test(netcond_settings, numbers_that_do_not_go_together_are_refused)
{
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_BURST, "60:1.25",
        "burst: periods of 1.250 packets are too short to meet 60.0000 % of the "
        "packets");
    netcond_settings_assert_refused(
        NETCOND_SCOPE_BOTH, NETCOND_SETTING_PARTITION, "0:500:500",
        "partition: it comes again before it has ended, so nothing ever passes");
}

/* Overridden is not unchecked. */
Test(netcond_settings, a_wrong_value_is_refused_even_where_another_counts_more)
{
    ls_link_config links[NETCOND_DIRECTION_COUNT];
    for (uint32_t i = 0; i < 2; i++) {
        netcond_setting setting = i == 0 ? NETCOND_SETTING_DELAY : NETCOND_SETTING_PROFILE;
        netcond_settings settings = {{{0}}};
        settings.values[NETCOND_SCOPE_BOTH][setting] = "x";
        settings.values[NETCOND_SCOPE_UP][setting] = i == 0 ? "1" : "bad";
        settings.values[NETCOND_SCOPE_DOWN][setting] = i == 0 ? "1" : "bad";
        cr_assert_eq(netcond_settings_resolve(&settings, links, NULL), LS_BAD_ARGUMENT);
    }
}
