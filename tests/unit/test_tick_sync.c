#include "lockstep/client/session/quantile_window.h"
#include "lockstep/client/session/tick_sync.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>

/* ---- tick_sync ---- */

#define DT_NS (20 * LS_NS_PER_MS)
#define MS ((int64_t)LS_NS_PER_MS)
#define NOW_NS LS_NS_PER_SECOND

#define MARGIN_NS (2 * MS)

/* Exact: inputs are made when they are due. The first one is due at one second. */
static ls_tick_sync make_sync(uint32_t input_delay_ticks)
{
    ls_tick_sync sync;
    ls_tick_sync_config config = {
        .dt_ns = DT_NS, .input_delay_ticks = input_delay_ticks, .is_exact = true};
    ls_tick_sync_init(&sync, &config);
    ls_tick_sync_start(&sync,
                       LS_NS_PER_SECOND + (uint64_t)MARGIN_NS + (input_delay_ticks + 1) * DT_NS);
    cr_assert_eq(sync.next_due_ns, LS_NS_PER_SECOND);
    return sync;
}

static ls_tick_sync here;

static void make_here(void)
{
    here = make_sync(0);
}

TestSuite(tick_sync, .init = make_here);

/* Makes inputs up to that of `tick`. */
static void make_inputs(ls_tick_sync *sync, ls_tick tick)
{
    while (sync->next_input <= tick) {
        cr_assert(ls_tick_sync_claim_due(sync, sync->next_due_ns));
    }
}

/* How much later inputs are made than at the pace of the first one; negative: earlier. */
static int64_t moved(const ls_tick_sync *sync)
{
    return (int64_t)sync->next_due_ns - (int64_t)(LS_NS_PER_SECOND + sync->next_input * DT_NS);
}

/* Makes the next input `late` after it is due; the server says at once that it comes `slack` early,
 * less what it was made later than at the pace of the first. Returns how much later than dt after
 * the one before it was due. */
static int64_t make_late_and_report(ls_tick_sync *sync, int64_t late_ns, int64_t slack_ns)
{
    int64_t before_ns = moved(sync);
    uint64_t now_ns = sync->next_due_ns + (uint64_t)late_ns;
    cr_assert(ls_tick_sync_claim_due(sync, now_ns));
    int64_t after_ns = moved(sync);
    ls_tick_sync_add_slack(sync, slack_ns - before_ns - late_ns, sync->next_input - 1, now_ns);
    return after_ns - before_ns;
}

static int64_t make_and_report(ls_tick_sync *sync, int64_t slack_ns)
{
    return make_late_and_report(sync, 0, slack_ns);
}

static void make_and_report_many(ls_tick_sync *sync, uint32_t count, int64_t slack_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        make_and_report(sync, slack_ns);
    }
}

/* ---- due inputs ---- */

Test(tick_sync, an_input_is_due_every_tick_from_the_first_on)
{
    cr_assert_not(ls_tick_sync_claim_due(&here, LS_NS_PER_SECOND - 1));
    cr_assert(ls_tick_sync_claim_due(&here, LS_NS_PER_SECOND));
    cr_assert_not(ls_tick_sync_claim_due(&here, LS_NS_PER_SECOND + DT_NS - 1));
    uint32_t taken = 0;
    while (ls_tick_sync_claim_due(&here, LS_NS_PER_SECOND + 10 * DT_NS)) {
        taken++;
    }
    cr_assert_eq(taken, 10, "after a long frame all that became due");
}

/* ---- a match that runs ---- */

/* Tick 1000 is closed at ten seconds: its input is due a tick, for safety, and the margin earlier.
 */
static ls_tick_sync enter(ls_tick first, uint32_t overdue_max, uint64_t now_ns)
{
    ls_tick_sync sync = make_sync(0);
    ls_tick_sync_entry entry = {.tick = 1000,
                                .close_ns = 10 * LS_NS_PER_SECOND + (uint64_t)MARGIN_NS + DT_NS,
                                .first = first,
                                .overdue_max = overdue_max};
    make_inputs(&sync, 300);
    ls_tick_sync_enter(&sync, &entry, now_ns);
    return sync;
}

Test(tick_sync, in_a_running_match_inputs_begin_with_the_first_that_can_be_in_time)
{
    here = enter(990, 0, 10 * LS_NS_PER_SECOND);
    cr_assert_eq(here.next_input, 1000);
    cr_assert_eq(here.next_due_ns, 10 * LS_NS_PER_SECOND);
    here = enter(990, 0, 10 * LS_NS_PER_SECOND + 1);
    cr_assert_eq(here.next_input, 1001);
    cr_assert_eq(here.next_due_ns, 10 * LS_NS_PER_SECOND + DT_NS);
    cr_assert_not(ls_tick_sync_claim_due(&here, 10 * LS_NS_PER_SECOND + DT_NS - 1));
    cr_assert(ls_tick_sync_claim_due(&here, 10 * LS_NS_PER_SECOND + DT_NS));
}

Test(tick_sync, in_a_running_match_an_input_of_later_on_is_due_later)
{
    here = enter(1005, 0, 10 * LS_NS_PER_SECOND);
    cr_assert_eq(here.next_input, 1005);
    cr_assert_eq(here.next_due_ns, 10 * LS_NS_PER_SECOND + 5 * DT_NS);
}

Test(tick_sync, a_few_overdue_inputs_are_made_at_once_and_many_are_left_out)
{
    here = enter(997, 3, 10 * LS_NS_PER_SECOND);
    cr_assert_eq(here.next_input, 997);
    for (ls_tick tick = 997; tick <= 1000; tick++) {
        cr_assert(ls_tick_sync_claim_due(&here, 10 * LS_NS_PER_SECOND));
    }
    cr_assert_not(ls_tick_sync_claim_due(&here, 10 * LS_NS_PER_SECOND));
    here = enter(996, 3, 10 * LS_NS_PER_SECOND);
    cr_assert_eq(here.next_input, 1000);
}

Test(tick_sync, no_input_begins_further_ahead_than_the_server_takes)
{
    const uint64_t now_ns = 20 * LS_NS_PER_SECOND;
    here = enter(1000, 0, 10 * LS_NS_PER_SECOND + (LS_LEAD_TICKS_MAX - 1) * DT_NS);
    cr_assert_eq(here.next_input, 1000 + LS_LEAD_TICKS_MAX - 1);
    here = enter(1000, 0, now_ns);
    cr_assert_eq(here.next_input, 1000 + LS_LEAD_TICKS_MAX - 1);
    cr_assert(ls_tick_sync_claim_due(&here, now_ns));
    cr_assert_not(ls_tick_sync_claim_due(&here, now_ns), "and they do not come all at once");
}

Test(tick_sync, slack_measured_before_a_join_moves_nothing_after_it)
{
    here = enter(1000, 0, 10 * LS_NS_PER_SECOND);
    cr_assert(ls_tick_sync_claim_due(&here, 10 * LS_NS_PER_SECOND));
    ls_tick_sync_add_slack(&here, -50 * MS, 300, 10 * LS_NS_PER_SECOND);
    cr_assert_eq(here.next_due_ns, 10 * LS_NS_PER_SECOND + DT_NS);
    ls_tick_sync_add_slack(&here, -50 * MS, 1000, 10 * LS_NS_PER_SECOND);
    cr_assert_lt(here.next_due_ns, 10 * LS_NS_PER_SECOND + DT_NS);
}

/* ---- round trips ---- */

Test(tick_sync, the_first_round_trip_is_taken_as_it_is_and_later_ones_smoothed)
{
    cr_assert_eq(here.rtt_ns, 0);
    ls_tick_sync_add_rtt(&here, 80000);
    cr_assert_eq(here.rtt_ns, 80000);
    ls_tick_sync_add_rtt(&here, 160000);
    cr_assert_eq(here.rtt_ns, 90000, "an eighth of the way");
    ls_tick_sync_add_rtt(&here, 10000);
    cr_assert_eq(here.rtt_ns, 80000);
}

Test(tick_sync, a_round_trip_is_no_longer_than_any_answer_has_taken)
{
    ls_tick_sync_limit_rtt(&here, 50000);
    cr_assert_eq(here.rtt_ns, 0, "it is no sample");
    ls_tick_sync_add_rtt(&here, 80000);
    ls_tick_sync_limit_rtt(&here, 90000);
    cr_assert_eq(here.rtt_ns, 80000);
    ls_tick_sync_limit_rtt(&here, 10000);
    cr_assert_eq(here.rtt_ns, 10000);
}

Test(tick_sync, any_round_trip_is_survived)
{
    static const uint64_t samples[] = {1, 0, INT64_MAX, 0, 1, INT64_MAX};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        ls_tick_sync_add_rtt(&here, samples[i]);
        cr_assert_leq(here.rtt_ns, (uint64_t)INT64_MAX);
    }
}

/* ---- slack ---- */

Test(tick_sync, a_late_input_makes_the_next_ones_earlier_at_once)
{
    static const int64_t slacks[] = {0, -1 * MS, -30 * MS, -511 * MS};
    for (size_t i = 0; i < sizeof slacks / sizeof slacks[0]; i++) {
        ls_tick_sync sync = make_sync(0);
        make_inputs(&sync, 30);
        ls_tick_sync_add_slack(&sync, slacks[i], 30, NOW_NS);
        cr_assert_eq(slacks[i] - moved(&sync), MARGIN_NS);
    }
}

Test(tick_sync, an_input_made_before_a_move_moves_nothing_again)
{
    make_inputs(&here, 12);
    ls_tick_sync_add_slack(&here, -30 * MS, 10, NOW_NS);
    cr_assert_eq(moved(&here), -30 * MS - MARGIN_NS);
    ls_tick_sync_add_slack(&here, -30 * MS, 11, NOW_NS);
    ls_tick_sync_add_slack(&here, -30 * MS, 12, NOW_NS);
    cr_assert_eq(moved(&here), -30 * MS - MARGIN_NS);
    /* Two more fell due by the move itself: they are made at once, and so too late. */
    uint64_t now_ns = LS_NS_PER_SECOND + 13 * DT_NS;
    while (ls_tick_sync_claim_due(&here, now_ns)) {
    }
    cr_assert_eq(here.next_input, 15);
    ls_tick_sync_add_slack(&here, -30 * MS, 14, NOW_NS);
    cr_assert_eq(moved(&here), -30 * MS - MARGIN_NS);
    /* Inputs made as planned after it say that it was not enough. */
    make_inputs(&here, 20);
    ls_tick_sync_add_slack(&here, -5 * MS, 20, NOW_NS);
    cr_assert_eq(moved(&here), -37 * MS - MARGIN_NS);
}

Test(tick_sync, a_move_never_leads_before_the_beginning_of_time)
{
    ls_tick_sync_start(&here, 5);
    cr_assert_eq(here.next_due_ns, 0);
    cr_assert(ls_tick_sync_claim_due(&here, 5));
    ls_tick_sync_add_slack(&here, -500 * MS, 0, NOW_NS);
    cr_assert_eq(here.next_due_ns, 0);
}

Test(tick_sync, the_guess_of_the_start_is_corrected_after_a_second)
{
    while (moved(&here) == 0) {
        cr_assert_lt(here.next_input, 1000, "it never moves");
        make_and_report(&here, 90 * MS);
    }
    cr_assert_geq(here.next_input * DT_NS, LS_NS_PER_SECOND, "a second of samples first");
    cr_assert_eq(90 * MS - moved(&here), MARGIN_NS);
}

Test(tick_sync, early_inputs_are_made_later_slowly)
{
    make_and_report_many(&here, 200, MARGIN_NS);
    for (uint32_t i = 0; i < 300; i++) {
        int64_t later_ns = make_and_report(&here, 90 * MS);
        cr_assert_geq(later_ns, 0);
        cr_assert_leq(later_ns, (int64_t)DT_NS / 20, "no player should feel it");
    }
    cr_assert_eq(90 * MS - moved(&here), MARGIN_NS);
}

Test(tick_sync, a_lead_of_more_than_a_tenth_of_a_second_is_given_up_at_once)
{
    make_and_report_many(&here, 200, MARGIN_NS);
    make_and_report_many(&here, 120, 2000 * MS);
    cr_assert_eq(2000 * MS - moved(&here), MARGIN_NS);
}

/* ---- how many may be late ---- */

/* One in so many inputs would come 100 ms later than the others; returns how early those come then.
 */
static int64_t slack_with_late_ones(uint32_t late_one_in, uint32_t loss)
{
    ls_tick_sync sync = make_sync(0);
    ls_tick_sync_set_loss(&sync, loss);
    for (uint32_t i = 1; i <= 2000; i++) {
        make_and_report(&sync, i % late_one_in == 0 ? -40 * MS : 60 * MS);
    }
    return 60 * MS - moved(&sync);
}

Test(tick_sync, one_late_input_in_a_hundred_is_kept_clear_of)
{
    cr_assert_eq(slack_with_late_ones(100, 0), 100 * MS + MARGIN_NS);
}

Test(tick_sync, one_late_input_in_four_hundred_is_left_to_be_late)
{
    cr_assert_eq(slack_with_late_ones(400, 0), MARGIN_NS);
}

Test(tick_sync, where_packets_are_lost_more_inputs_are_left_to_be_late)
{
    uint32_t five_percent = 13;
    uint32_t twenty_percent = 51;
    cr_assert_eq(slack_with_late_ones(400, five_percent), MARGIN_NS);
    cr_assert_eq(slack_with_late_ones(25, five_percent), 100 * MS + MARGIN_NS);
    cr_assert_eq(slack_with_late_ones(100, twenty_percent), MARGIN_NS);
    cr_assert_eq(slack_with_late_ones(25, twenty_percent), 100 * MS + MARGIN_NS);
    cr_assert_eq(slack_with_late_ones(2, 256), 100 * MS + MARGIN_NS, "never half of them");
}

Test(tick_sync, one_late_input_among_few_is_no_sign_of_more_where_packets_are_lost)
{
    ls_tick_sync_set_loss(&here, 13);
    make_and_report_many(&here, 20, MARGIN_NS);
    make_and_report(&here, -40 * MS);
    cr_assert_eq(moved(&here), 0);
    make_and_report(&here, MARGIN_NS);
    make_and_report(&here, -40 * MS);
    cr_assert_eq(moved(&here), -40 * MS - MARGIN_NS, "two are");
}

Test(tick_sync, a_network_that_became_slower_is_followed_after_three_late_reports)
{
    make_and_report_many(&here, 600, MARGIN_NS);
    cr_assert_eq(moved(&here), 0);
    make_and_report_many(&here, 2, -50 * MS);
    cr_assert_eq(moved(&here), 0, "so far it may be chance");
    make_and_report(&here, -50 * MS);
    cr_assert_eq(moved(&here), -50 * MS - MARGIN_NS);
}

Test(tick_sync, a_network_that_became_faster_is_followed_within_two_seconds)
{
    make_and_report_many(&here, 600, MARGIN_NS);
    make_and_report_many(&here, 100, 40 * MS);
    cr_assert_gt(moved(&here), 0);
    make_and_report_many(&here, 50, 40 * MS);
    cr_assert_eq(moved(&here), 40 * MS - MARGIN_NS);
}

/* ---- input delay ---- */

Test(tick_sync, input_delay_is_slack_that_is_kept)
{
    here = make_sync(3);
    make_and_report_many(&here, 400, 20 * MS);
    cr_assert_eq(20 * MS - moved(&here), 3 * (int64_t)DT_NS + MARGIN_NS);
}

Test(tick_sync, input_delay_is_used_up_before_anything_jumps)
{
    here = make_sync(3);
    int64_t slack_ns = 3 * (int64_t)DT_NS + MARGIN_NS;
    make_and_report_many(&here, 400, slack_ns);
    for (uint32_t i = 0; i < 100; i++) {
        int64_t later_ns = make_and_report(&here, slack_ns - 50 * MS);
        cr_assert_geq(later_ns, -(int64_t)DT_NS / 20);
    }
    cr_assert_eq(moved(&here), -50 * MS, "and is filled up again");
}

Test(tick_sync, input_delay_that_changes_moves_no_input_by_more_than_a_twentieth)
{
    static const uint32_t delays[] = {6, 1, 64, 0};
    make_and_report_many(&here, 200, MARGIN_NS);
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        ls_tick_sync_set_input_delay(&here, delays[i]);
        for (uint32_t tick = 0; tick < 20 * 64; tick++) {
            int64_t later_ns = make_and_report(&here, MARGIN_NS);
            cr_assert_leq(later_ns, (int64_t)DT_NS / 20);
            cr_assert_geq(later_ns, -(int64_t)DT_NS / 20);
        }
        cr_assert_eq(moved(&here), -(int64_t)(delays[i] * DT_NS));
    }
}

/* ---- time that was lost ---- */

Test(tick_sync, overdue_inputs_are_skipped_with_their_time)
{
    ls_tick_sync_add_rtt(&here, 40 * LS_NS_PER_MS);
    make_inputs(&here, 99);
    uint64_t late_ns = here.next_due_ns + 50 * DT_NS; /* nothing was made for 50 ticks */
    ls_tick_sync_skip_to(&here, 147, late_ns);
    cr_assert_eq(here.next_input, 147);
    cr_assert_eq(here.next_due_ns, late_ns - 3 * DT_NS, "as far ahead as before");
}

Test(tick_sync, a_player_that_was_late_all_along_starts_a_round_trip_earlier)
{
    ls_tick_sync_add_rtt(&here, 40 * LS_NS_PER_MS);
    make_inputs(&here, 99);
    uint64_t now_ns = here.next_due_ns - DT_NS / 2;
    ls_tick_sync_skip_to(&here, 110, now_ns);
    cr_assert_eq(here.next_due_ns, now_ns + DT_NS - 40 * LS_NS_PER_MS - (uint64_t)MARGIN_NS);
}

Test(tick_sync, reports_of_skipped_inputs_change_nothing)
{
    make_and_report_many(&here, 40, 60 * MS);
    ls_tick_sync_skip_to(&here, 500, here.next_due_ns);
    uint64_t before_ns = here.next_due_ns;
    ls_tick_sync_add_slack(&here, -400 * MS, 499, NOW_NS);
    ls_tick_sync_add_slack(&here, -400 * MS, 600, NOW_NS);
    cr_assert_eq(here.next_due_ns, before_ns);
}

Test(tick_sync, one_long_frame_moves_nothing)
{
    make_and_report_many(&here, 100, MARGIN_NS);
    uint64_t late_ns = here.next_due_ns + 290 * LS_NS_PER_MS;
    while (ls_tick_sync_claim_due(&here, late_ns)) {
    }
    uint64_t before_ns = here.next_due_ns;
    ls_tick_sync_add_slack(&here, MARGIN_NS - 290 * MS, here.next_input - 1, late_ns);
    cr_assert_eq(here.next_due_ns, before_ns);
    make_and_report_many(&here, 3, -MARGIN_NS);
    cr_assert_lt(moved(&here), 0, "but what goes on is not the frame's fault");
}

/* Beside other programs, every tenth input waits for a processor. */
Test(tick_sync, a_busy_machine_makes_its_inputs_earlier_and_a_quiet_one_does_not)
{
    make_and_report_many(&here, 600, MARGIN_NS);
    cr_assert_eq(moved(&here), 0);
    for (uint32_t i = 0; i < 100; i++) {
        make_late_and_report(&here, i % 10 == 0 ? 15 * MS : 0, MARGIN_NS);
    }
    cr_expect_eq(moved(&here), -15 * MS, "after two seconds none of them is late");
    make_and_report_many(&here, 500, MARGIN_NS);
    cr_expect_eq(moved(&here), 0, "after ten seconds without, nothing is left of it");
}

Test(tick_sync, inputs_made_in_frames_are_due_a_frame_earlier)
{
    ls_tick_sync sync;
    ls_tick_sync_config config = {.dt_ns = DT_NS};
    ls_tick_sync_init(&sync, &config);
    ls_tick_sync_add_frame(&sync, 8 * LS_NS_PER_MS);
    ls_tick_sync_start(&sync, LS_NS_PER_SECOND);
    cr_assert_eq(sync.next_due_ns, LS_NS_PER_SECOND - DT_NS - 8 * LS_NS_PER_MS - 2 * MS);
    /* However long an input waited in its frame, the next one may wait for all of it. */
    cr_assert(ls_tick_sync_claim_due(&sync, sync.next_due_ns + 5 * LS_NS_PER_MS));
    uint64_t before_ns = sync.next_due_ns;
    ls_tick_sync_add_slack(&sync, 1 * MS, 0, NOW_NS);
    cr_assert_eq(before_ns - sync.next_due_ns, 4 * MS);
}

Test(tick_sync, inputs_held_back_are_not_made_up_for)
{
    ls_tick_sync_hold(&here, LS_NS_PER_SECOND - 1);
    cr_assert_eq(here.next_due_ns, LS_NS_PER_SECOND);
    ls_tick_sync_hold(&here, 3 * LS_NS_PER_SECOND);
    cr_assert(ls_tick_sync_claim_due(&here, 3 * LS_NS_PER_SECOND));
    cr_assert_not(ls_tick_sync_claim_due(&here, 3 * LS_NS_PER_SECOND));
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
    ls_tick_sync_config config = {.dt_ns = DT_NS, .is_exact = true};
    ls_tick_sync_init(&sync, &config);
    ls_tick_sync_start(&sync, 0);
    uint32_t late = 0;
    *least_slack = INT64_MAX;
    *most_slack = INT64_MIN;
    for (ls_tick tick = 0; tick < PATH_TICKS; tick++) {
        int64_t close_ns = (int64_t)((tick + 1) * DT_NS);
        /* The server's knowledge by now, as old as the way down is long. */
        int64_t seen_ns = close_ns - along.delay_ns;
        for (ls_tick of = tick > 200 ? tick - 200 : 0; of < sync.next_input; of++) {
            if (arrival_ns[of] < seen_ns && arrival_ns[of] >= seen_ns - (int64_t)DT_NS) {
                int64_t slack = (int64_t)((of + 1) * DT_NS) - arrival_ns[of];
                ls_tick_sync_add_slack(&sync, slack, of, (uint64_t)close_ns);
            }
        }
        for (int step = 0; step < STEP_PER_TICK; step++) {
            uint64_t now_ns = (uint64_t)close_ns + (uint64_t)step * DT_NS / STEP_PER_TICK;
            while (sync.next_input < PATH_TICKS && ls_tick_sync_claim_due(&sync, now_ns)) {
                ls_tick made = sync.next_input - 1;
                uint32_t share = ls_rng_below(rng, 1000);
                int64_t way_ns = along.delay_ns + along.jitter_ns * (int64_t)share / 1000;
                arrival_ns[made] = (int64_t)now_ns + way_ns;
                int64_t slack = (int64_t)((made + 1) * DT_NS) - arrival_ns[made];
                if (made >= along.settled) {
                    late += slack < 0;
                    *least_slack = slack < *least_slack ? slack : *least_slack;
                    *most_slack = slack > *most_slack ? slack : *most_slack;
                }
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

/* ---- quantile_window ---- */

#define TICK_NS (LS_NS_PER_SECOND / 60)
#define QUANTILE_WINDOW_MS ((int64_t)LS_NS_PER_MS)

enum {
    ONE_IN = 100
};

static ls_quantile_window window;
static uint64_t now_ns;

static void make(void)
{
    now_ns = 0;
    ls_quantile_window_init(&window, ONE_IN);
}

TestSuite(quantile_window, .init = make);

/* Adds so many samples, a tick apart. */
static void add(uint32_t count, int64_t sample_ns)
{
    for (uint32_t i = 0; i < count; i++, now_ns += TICK_NS) {
        ls_quantile_window_add(&window, sample_ns, now_ns);
    }
}

Test(quantile_window, a_few_samples_all_stay_within_its_value)
{
    cr_assert_not(ls_quantile_window_has_samples(&window));
    static const int64_t samples[] = {-7 * QUANTILE_WINDOW_MS, -9 * QUANTILE_WINDOW_MS,
                                      3 * QUANTILE_WINDOW_MS, 0};
    static const int64_t values[] = {-7 * QUANTILE_WINDOW_MS, -7 * QUANTILE_WINDOW_MS,
                                     3 * QUANTILE_WINDOW_MS, 3 * QUANTILE_WINDOW_MS};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        add(1, samples[i]);
        cr_assert(ls_quantile_window_has_samples(&window));
        cr_assert_eq(ls_quantile_window_value(&window), values[i]);
    }
}

Test(quantile_window, a_spared_sample_is_left_out_however_few_there_are)
{
    window.spared = 1;
    static const int64_t samples[] = {5 * QUANTILE_WINDOW_MS, 9 * QUANTILE_WINDOW_MS,
                                      3 * QUANTILE_WINDOW_MS, 9 * QUANTILE_WINDOW_MS};
    static const int64_t values[] = {5 * QUANTILE_WINDOW_MS, 5 * QUANTILE_WINDOW_MS,
                                     5 * QUANTILE_WINDOW_MS, 9 * QUANTILE_WINDOW_MS};
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        add(1, samples[i]);
        cr_assert_eq(ls_quantile_window_value(&window), values[i]);
    }
    ls_quantile_window_forget(&window);
    cr_assert_not(ls_quantile_window_has_samples(&window));
    add(1, 2 * QUANTILE_WINDOW_MS);
    add(1, 8 * QUANTILE_WINDOW_MS);
    cr_assert_eq(ls_quantile_window_value(&window), 2 * QUANTILE_WINDOW_MS,
                 "it forgets samples alone");
}

Test(quantile_window, of_many_samples_one_in_so_many_is_larger)
{
    ls_rng rng = ls_rng_make(1, 1);
    uint32_t larger = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        int64_t sample_ns = ls_rng_below(&rng, 1000000);
        larger += i >= 1000 && sample_ns > ls_quantile_window_value(&window);
        add(1, sample_ns);
    }
    cr_assert_geq(larger, 19000 / ONE_IN / 2, "%u", larger);
    cr_assert_leq(larger, 19000 / ONE_IN * 2, "%u", larger);
}

Test(quantile_window, a_lasting_change_is_seen_after_a_handful_of_samples)
{
    add(2000, 10 * QUANTILE_WINDOW_MS);
    uint32_t samples = 0;
    for (; ls_quantile_window_value(&window) < 30 * QUANTILE_WINDOW_MS; samples++) {
        cr_assert_lt(samples, LS_TAIL_KEPT);
        add(1, 30 * QUANTILE_WINDOW_MS);
    }
    cr_assert_geq(samples, 4, "few are chance");
}

Test(quantile_window, a_past_change_is_forgotten_with_its_rounds)
{
    for (uint32_t i = 0; i < 64; i++) {
        add(1, i % 2 == 0 ? 0 : 50 * QUANTILE_WINDOW_MS);
    }
    cr_assert_eq(ls_quantile_window_value(&window), 50 * QUANTILE_WINDOW_MS);
    add(60, 0);
    cr_assert_eq(ls_quantile_window_value(&window), 50 * QUANTILE_WINDOW_MS, "it may come again");
    add(LS_TAIL_ROUNDS * 33, 0);
    cr_assert_eq(ls_quantile_window_value(&window), 0);
}

Test(quantile_window, a_wholly_better_network_ends_the_memory_of_the_old_one)
{
    add(2010, 50 * QUANTILE_WINDOW_MS);
    cr_assert(ls_quantile_window_is_settled(&window));
    uint64_t better_ns = now_ns;
    while (ls_quantile_window_value(&window) > 10 * QUANTILE_WINDOW_MS) {
        cr_assert_lt(now_ns - better_ns, 3 * LS_NS_PER_SECOND / 2);
        add(1, 10 * QUANTILE_WINDOW_MS);
    }
    cr_assert_not(ls_quantile_window_is_settled(&window), "little is known of the new network");
    add(34, 10 * QUANTILE_WINDOW_MS);
    cr_assert(ls_quantile_window_is_settled(&window));
}

Test(quantile_window, a_window_is_settled_after_a_second_at_any_rate)
{
    static const uint32_t rates_hz[] = {20, 60, 240, 1000};
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        uint64_t period_ns = LS_NS_PER_SECOND / rates_hz[i];
        make();
        while (!ls_quantile_window_is_settled(&window)) {
            ls_quantile_window_add(&window, 0, now_ns);
            now_ns += period_ns;
        }
        cr_assert_geq(now_ns, LS_NS_PER_SECOND, "%u Hz", rates_hz[i]);
        cr_assert_leq(now_ns, LS_NS_PER_SECOND + 80 * period_ns, "%u Hz", rates_hz[i]);
    }
}

Test(quantile_window, samples_of_one_moment_count_once_by_their_largest)
{
    for (uint32_t i = 0; i < 2000; i++, now_ns += 50 * LS_NS_PER_MS) {
        ls_quantile_window_add(&window, 0, now_ns);
    }
    for (uint32_t i = 0; i < 100; i++) {
        ls_quantile_window_add(&window, i, now_ns + i);
    }
    cr_assert_eq(ls_quantile_window_value(&window), 0, "a hundred samples, but one event");
    ls_quantile_window few;
    ls_quantile_window_init(&few, ONE_IN);
    ls_quantile_window_add(&few, 1 * QUANTILE_WINDOW_MS, 0);
    ls_quantile_window_add(&few, 7 * QUANTILE_WINDOW_MS, 1);
    ls_quantile_window_add(&few, 3 * QUANTILE_WINDOW_MS, 2);
    cr_assert_eq(ls_quantile_window_value(&few), 7 * QUANTILE_WINDOW_MS);
}

Test(quantile_window, an_outage_is_passed_over)
{
    add(200, 5 * QUANTILE_WINDOW_MS);
    add(30, 2000 * QUANTILE_WINDOW_MS);
    cr_assert_eq(ls_quantile_window_value(&window), 5 * QUANTILE_WINDOW_MS);
    for (uint32_t i = 0; i < 100; i++) {
        ls_quantile_window_add(&window, 3000 * QUANTILE_WINDOW_MS, now_ns);
    }
    cr_assert_eq(ls_quantile_window_value(&window), 5 * QUANTILE_WINDOW_MS,
                 "all at once they are one");
    add(1, 5 * QUANTILE_WINDOW_MS);
    add(31, 2000 * QUANTILE_WINDOW_MS);
    cr_assert_eq(ls_quantile_window_value(&window), 5 * QUANTILE_WINDOW_MS);
}

Test(quantile_window, a_long_change_is_no_outage)
{
    add(200, 5 * QUANTILE_WINDOW_MS);
    add(40, 2000 * QUANTILE_WINDOW_MS);
    cr_assert_eq(ls_quantile_window_value(&window), 2000 * QUANTILE_WINDOW_MS);
    cr_assert_eq(ls_quantile_window_least(&window), 2000 * QUANTILE_WINDOW_MS,
                 "and what was before is forgotten");
}

Test(quantile_window, an_outage_at_the_beginning_is_forgotten_when_it_ends)
{
    add(20, 2000 * QUANTILE_WINDOW_MS);
    add(1, 5 * QUANTILE_WINDOW_MS);
    cr_assert_eq(ls_quantile_window_value(&window), 5 * QUANTILE_WINDOW_MS);
}
