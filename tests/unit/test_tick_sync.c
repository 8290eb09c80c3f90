#include "lockstep/client/tick_sync.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/rng.h"

#include <criterion/criterion.h>

#define DT_NS (20 * LS_NS_PER_MS)
#define MS ((int64_t)LS_NS_PER_MS)

/* A sample that comes when its tick is closed, while `next_input` is the next one to be made. */
static void add_slack(ls_tick_sync *sync, int64_t slack_ns, ls_tick tick, ls_tick next_input)
{
    sync->next_input = next_input;
    ls_tick_sync_add_slack(sync, slack_ns, tick, 2 * LS_NS_PER_SECOND + tick * DT_NS);
}

static ls_tick_sync make_sync(uint32_t input_delay_ticks)
{
    ls_tick_sync sync;
    ls_tick_sync_init(&sync, DT_NS, input_delay_ticks);
    /* Input 0 is due a second from the beginning: a tick and the margin before its tick closes. */
    ls_tick_sync_start(&sync, LS_NS_PER_SECOND + DT_NS + (uint64_t)sync.margin_ns);
    return sync;
}

/* How much later the next input is made than before; negative: earlier. */
static int64_t moved(const ls_tick_sync *sync, const ls_tick_sync *before)
{
    return (int64_t)(sync->next_due_ns - before->next_due_ns);
}

/* ---- due inputs ---- */

Test(tick_sync, an_input_is_due_every_tick_from_the_first_on)
{
    ls_tick_sync sync = make_sync(0);
    cr_assert_not(ls_tick_sync_take_due(&sync, LS_NS_PER_SECOND - 1));
    cr_assert(ls_tick_sync_take_due(&sync, LS_NS_PER_SECOND));
    cr_assert_not(ls_tick_sync_take_due(&sync, LS_NS_PER_SECOND + DT_NS - 1));
    uint32_t taken = 0;
    while (ls_tick_sync_take_due(&sync, LS_NS_PER_SECOND + 10 * DT_NS)) {
        taken++;
    }
    cr_assert_eq(taken, 10, "after a long frame all that became due");
}

/* ---- round trips ---- */

Test(tick_sync, the_first_round_trip_is_taken_as_it_is_and_later_ones_smoothed)
{
    ls_tick_sync sync = make_sync(0);
    cr_assert_eq(sync.rtt_ns, 0);
    ls_tick_sync_add_rtt(&sync, 80000);
    cr_assert_eq(sync.rtt_ns, 80000);
    cr_assert_eq(sync.rtt_deviation_ns, 40000);
    ls_tick_sync_add_rtt(&sync, 160000);
    cr_assert_eq(sync.rtt_ns, 90000, "an eighth of the way");
    cr_assert_eq(sync.rtt_deviation_ns, 50000, "a quarter of the way");
    ls_tick_sync_add_rtt(&sync, 10000);
    cr_assert_eq(sync.rtt_ns, 80000);
    cr_assert_eq(sync.rtt_deviation_ns, 57500);
}

Test(tick_sync, any_round_trip_is_survived)
{
    ls_tick_sync sync = make_sync(0);
    static const uint64_t samples[] = {1, 0, INT64_MAX, 0, 1, INT64_MAX};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        ls_tick_sync_add_rtt(&sync, samples[i]);
        cr_assert_leq(sync.rtt_ns, (uint64_t)INT64_MAX);
    }
}

/* ---- slack ---- */

Test(tick_sync, a_late_input_makes_the_next_ones_earlier_at_once)
{
    static const int64_t slacks[] = {0, -1 * MS, -30 * MS, -511 * MS};
    for (size_t i = 0; i < sizeof slacks / sizeof slacks[0]; i++) {
        ls_tick_sync sync = make_sync(0);
        ls_tick_sync before = sync;
        add_slack(&sync, slacks[i], 10, 13);
        int64_t slack_then = slacks[i] - moved(&sync, &before);
        cr_assert_geq(slack_then, sync.margin_ns);
        cr_assert_leq(slack_then, sync.margin_ns + (int64_t)DT_NS / 2);
    }
}

Test(tick_sync, what_was_made_before_a_move_moves_nothing_again)
{
    ls_tick_sync sync = make_sync(0);
    add_slack(&sync, -30 * MS, 10, 13);
    ls_tick_sync before = sync;
    add_slack(&sync, -30 * MS, 11, 14);
    add_slack(&sync, -30 * MS, 12, 15);
    cr_assert_eq(moved(&sync, &before), 0);
    add_slack(&sync, -5 * MS, 16, 19); /* the first that was not overdue when it was made */
    cr_assert_lt(moved(&sync, &before), -5 * MS);
}

Test(tick_sync, a_move_never_leads_before_the_beginning_of_time)
{
    ls_tick_sync sync = make_sync(0);
    sync.next_due_ns = 5;
    add_slack(&sync, -500 * MS, 0, 1);
    cr_assert_eq(sync.next_due_ns, 0);
}

Test(tick_sync, early_inputs_are_made_later_slowly_and_not_before_two_rounds)
{
    ls_tick_sync sync = make_sync(0);
    ls_tick_sync before = sync;
    ls_tick tick = 0;
    int64_t slack = 100 * MS;
    for (; moved(&sync, &before) == 0; tick++) {
        cr_assert_lt(tick, 1000, "it never moves");
        add_slack(&sync, slack, tick, tick + 1);
    }
    cr_assert_geq(tick, 50, "a second of samples first");
    for (; tick < 3000; tick++) {
        ls_tick_sync last = sync;
        add_slack(&sync, slack - moved(&sync, &before), tick, tick + 1);
        cr_assert_geq(moved(&sync, &last), 0);
        cr_assert_leq(moved(&sync, &last), (int64_t)DT_NS / 20, "no player should feel it");
    }
    int64_t slack_then = slack - moved(&sync, &before);
    cr_assert_geq(slack_then, sync.margin_ns);
    cr_assert_leq(slack_then, sync.margin_ns + (int64_t)DT_NS / 2);
}

Test(tick_sync, one_unpunctual_input_in_a_second_keeps_the_others_early)
{
    ls_tick_sync sync = make_sync(0);
    ls_tick_sync before = sync;
    for (ls_tick tick = 0; tick < 1000; tick++) {
        int64_t slack = tick % 25 == 0 ? sync.margin_ns : 60 * MS;
        add_slack(&sync, slack, tick, tick + 1);
    }
    cr_assert_eq(moved(&sync, &before), 0);
}

Test(tick_sync, input_delay_is_slack_that_is_kept)
{
    ls_tick_sync sync = make_sync(3);
    ls_tick_sync none = make_sync(0);
    cr_assert_eq(sync.margin_ns - none.margin_ns, 3 * (int64_t)DT_NS);
    ls_tick_sync before = sync;
    add_slack(&sync, 20 * MS, 0, 1);
    cr_assert_leq(moved(&sync, &before), -40 * MS);
}

Test(tick_sync, skipped_inputs_void_what_was_measured)
{
    ls_tick_sync sync = make_sync(0);
    for (ls_tick tick = 0; tick < 100; tick++) {
        add_slack(&sync, 100 * MS, tick, tick + 1);
    }
    ls_tick_sync_skip_to(&sync, 500, 12 * LS_NS_PER_SECOND);
    ls_tick_sync before = sync;
    add_slack(&sync, -400 * MS, 499, 501);
    add_slack(&sync, 100 * MS, 500, 501);
    cr_assert_eq(moved(&sync, &before), 0);
}

/* ---- both ends together ---- */

/* A server that closes tick t at (t + 1) * DT and answers each tick with the least slack; the way
 * takes `delay_ns` and up to `jitter_ns` more, up as down. Inputs that came late after `settled`.
 */
typedef struct path {
    int64_t delay_ns;
    int64_t jitter_ns;
    ls_tick settled;
} path;

enum {
    PATH_TICKS = 4000,
    STEP_PER_TICK = 20,
};

static uint32_t count_late(path along, ls_rng *rng, int64_t *least_slack, int64_t *most_slack)
{
    static int64_t arrival_ns[PATH_TICKS + 1000];
    ls_tick_sync sync;
    ls_tick_sync_init(&sync, DT_NS, 0);
    ls_tick_sync_start(&sync, 0);
    ls_tick next_input = 0;
    uint32_t late = 0;
    *least_slack = INT64_MAX;
    *most_slack = INT64_MIN;
    for (ls_tick tick = 0; tick < PATH_TICKS; tick++) {
        int64_t close_ns = (int64_t)((tick + 1) * DT_NS);
        /* What the server could say by now, as old as the way down is long. */
        int64_t seen_ns = close_ns - along.delay_ns;
        for (ls_tick of = tick > 200 ? tick - 200 : 0; of < next_input; of++) {
            if (arrival_ns[of] < seen_ns && arrival_ns[of] >= seen_ns - (int64_t)DT_NS) {
                int64_t slack = (int64_t)((of + 1) * DT_NS) - arrival_ns[of];
                add_slack(&sync, slack, of, next_input);
            }
        }
        for (int step = 0; step < STEP_PER_TICK; step++) {
            uint64_t now_ns = (uint64_t)close_ns + (uint64_t)step * DT_NS / STEP_PER_TICK;
            while (next_input < PATH_TICKS && ls_tick_sync_take_due(&sync, now_ns)) {
                uint32_t share = ls_rng_below(rng, 1000);
                int64_t way_ns = along.delay_ns + along.jitter_ns * (int64_t)share / 1000;
                arrival_ns[next_input] = (int64_t)now_ns + way_ns;
                int64_t slack = (int64_t)((next_input + 1) * DT_NS) - arrival_ns[next_input];
                if (next_input >= along.settled) {
                    late += slack < 0;
                    *least_slack = slack < *least_slack ? slack : *least_slack;
                    *most_slack = slack > *most_slack ? slack : *most_slack;
                }
                next_input++;
            }
        }
    }
    return late;
}

Test(tick_sync, inputs_settle_just_before_their_closing)
{
    ls_rng rng = ls_rng_make(1, 1);
    static const int64_t delays[] = {0, 5 * MS, 33 * MS, 150 * MS};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        int64_t least = 0;
        int64_t most = 0;
        path along = {.delay_ns = delays[i], .settled = 1000};
        cr_assert_eq(count_late(along, &rng, &least, &most), 0);
        cr_assert_leq(most, 12 * MS, "%ld ms of needless latency", (long)(most / MS));
    }
}

Test(tick_sync, jitter_costs_its_width_and_few_late_inputs)
{
    ls_rng rng = ls_rng_make(2, 2);
    int64_t least = 0;
    int64_t most = 0;
    path along = {.delay_ns = 30 * MS, .jitter_ns = 20 * MS, .settled = 500};
    uint32_t late = count_late(along, &rng, &least, &most);
    cr_assert_leq(late, (PATH_TICKS - 500) / 100, "%u of 3,500 late", late);
    cr_assert_leq(most, 20 * MS + 15 * MS);
}
