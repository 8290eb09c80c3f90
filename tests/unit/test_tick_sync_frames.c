#include "lockstep/client/tick_sync.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <criterion/criterion.h>

enum {
    SECONDS = 30,
    SETTLED_SECONDS = 3, /* by then the round trip is known */
};

static const uint64_t DT_NS = LS_NS_PER_SECOND / 60;
static const uint64_t DELAY_NS = 33 * LS_NS_PER_MS;     /* one way, always the same */
static const uint64_t START_NS = 10 * LS_NS_PER_SECOND; /* when tick 0 closes */

/* A client that makes inputs in its frames, and the slack that the server reports of them. */
typedef struct client_rig {
    ls_tick_sync sync;
    ls_tick next_report;
    int64_t slack_ns[LS_WINDOW_TICKS];
    uint32_t late;
    int64_t most_slack_ns;
} client_rig;

static uint64_t close_ns(ls_tick tick)
{
    return START_NS + tick * DT_NS;
}

static void make_due(client_rig *rig, uint64_t now_ns)
{
    while (ls_tick_sync_take_due(&rig->sync, now_ns)) {
        ls_tick made = rig->sync.next_input - 1;
        int64_t slack_ns = (int64_t)(close_ns(made) - (now_ns + DELAY_NS));
        rig->slack_ns[made % LS_WINDOW_TICKS] = slack_ns;
        if (now_ns < START_NS + SETTLED_SECONDS * LS_NS_PER_SECOND) {
            continue;
        }
        rig->late += slack_ns < 0 ? 1 : 0;
        rig->most_slack_ns = slack_ns > rig->most_slack_ns ? slack_ns : rig->most_slack_ns;
    }
}

/* Ticks are reported when they are closed. */
static void report_slack(client_rig *rig, uint64_t now_ns)
{
    for (; rig->next_report < rig->sync.next_input; rig->next_report++) {
        if (close_ns(rig->next_report) + DELAY_NS > now_ns) {
            return;
        }
        ls_tick_sync_add_slack(&rig->sync, rig->slack_ns[rig->next_report % LS_WINDOW_TICKS],
                               rig->next_report, now_ns);
    }
}

static void play(client_rig *rig, uint64_t gap_ns, uint64_t phase_ns)
{
    *rig = (client_rig){0};
    ls_tick_sync_init(&rig->sync, DT_NS, 0);
    ls_tick_sync_add_rtt(&rig->sync, 2 * DELAY_NS);
    ls_tick_sync_start(&rig->sync, START_NS - DT_NS);
    uint64_t first_ns = START_NS - LS_NS_PER_SECOND + phase_ns;
    for (uint64_t now_ns = first_ns; now_ns < START_NS + SECONDS * LS_NS_PER_SECOND;
         now_ns += gap_ns) {
        report_slack(rig, now_ns);
        ls_tick_sync_add_frame(&rig->sync, gap_ns);
        make_due(rig, now_ns);
    }
}

/* Wherever in a tick the frames of a client fall. */
static void expect_punctual(uint64_t gap_ns)
{
    for (uint64_t phase_ns = 0; phase_ns < gap_ns; phase_ns += LS_NS_PER_MS / 2) {
        client_rig rig;
        play(&rig, gap_ns, phase_ns);
        cr_assert_gt(rig.sync.next_input, (SECONDS - 1) * 60);
        cr_assert_eq(rig.late, 0, "frames every %llu us, phase %llu us: %u inputs too late",
                     (unsigned long long)(gap_ns / LS_NS_PER_US),
                     (unsigned long long)(phase_ns / LS_NS_PER_US), rig.late);
        /* A frame makes the inputs of all ticks since the last one: the last is that much early. */
        cr_assert_leq(rig.most_slack_ns, (int64_t)(2 * gap_ns + DT_NS),
                      "frames every %llu us, phase %llu us: %lld us early",
                      (unsigned long long)(gap_ns / LS_NS_PER_US),
                      (unsigned long long)(phase_ns / LS_NS_PER_US),
                      (long long)(rig.most_slack_ns / (int64_t)LS_NS_PER_US));
    }
}

Test(tick_sync_frames, a_client_at_the_tick_rate_is_always_punctual_on_a_steady_link)
{
    expect_punctual(DT_NS);
}

Test(tick_sync_frames, a_client_at_240_frames_a_second_is_always_punctual_on_a_steady_link)
{
    expect_punctual(LS_NS_PER_SECOND / 240);
}

Test(tick_sync_frames, a_client_at_20_frames_a_second_is_always_punctual_on_a_steady_link)
{
    expect_punctual(LS_NS_PER_SECOND / 20);
}
