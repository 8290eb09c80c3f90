#include "lockstep/client/session/jitter_buffer.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>

#define DT_NS (LS_NS_PER_SECOND / 60)
#define MS LS_NS_PER_MS
#define SPEED_MAX_PPM 50000

/* ---- a client that steps what arrives ---- */

enum {
    ARRIVALS_MAX = 40000,
    WARM_TICKS = 600,
};

/* Tick t comes `arrival_ns[t]` on the server's clock, in order of ticks; the client's runs faster
 * by `drift_ppm`, and draws frames a `frame_ns` apart. */
typedef struct scene {
    uint32_t ticks;
    uint64_t frame_ns;
    int32_t drift_ppm;
    uint64_t arrival_ns[ARRIVALS_MAX];
} scene;

typedef struct outcome {
    uint32_t stalled;    /* ticks after the warm ones */
    uint64_t longest_ns; /* from a tick's arrival to its step */
    uint64_t shortest_ns;
    uint64_t delay_ns; /* as reported, while ticks came */
    uint32_t caught_up;
    int32_t fastest_ppm;
    int32_t slowest_ppm;
    uint32_t most_backlog;
} outcome;

static scene *even_scene(uint32_t ticks, uint64_t frame_ns)
{
    static scene even;
    even = (scene){.ticks = ticks, .frame_ns = frame_ns};
    for (uint32_t tick = 0; tick < ticks; tick++) {
        even.arrival_ns[tick] = LS_NS_PER_SECOND + tick * DT_NS;
    }
    return &even;
}

/* In order: a tick before which another is missing waits for it. */
static void delay_by(scene *played, uint32_t tick, uint64_t ns)
{
    uint64_t before_ns = tick > 0 ? played->arrival_ns[tick - 1] : 0;
    uint64_t at_ns = played->arrival_ns[tick] + ns;
    played->arrival_ns[tick] = at_ns > before_ns ? at_ns : before_ns;
}

static uint64_t local_ns(const scene *played, uint64_t ns)
{
    return (uint64_t)((int64_t)ns + (int64_t)(ns / 1000) * played->drift_ppm / 1000);
}

static void note_step(outcome *seen, const scene *played, uint32_t tick, uint64_t now_ns)
{
    uint64_t waited_ns = now_ns - local_ns(played, played->arrival_ns[tick]);
    if (tick >= WARM_TICKS) {
        seen->longest_ns = waited_ns > seen->longest_ns ? waited_ns : seen->longest_ns;
        seen->shortest_ns = waited_ns < seen->shortest_ns ? waited_ns : seen->shortest_ns;
    }
}

static outcome play(const scene *played)
{
    outcome seen = {.shortest_ns = UINT64_MAX};
    ls_jitter_buffer jitter_buffer;
    ls_jitter_buffer_init(&jitter_buffer, DT_NS);
    uint32_t arrived = 0;
    uint32_t stepped = 0;
    uint64_t position_ns = 0;
    uint64_t frame_ns = LS_NS_PER_SECOND + 3 * MS;
    for (; stepped < played->ticks; frame_ns += played->frame_ns) {
        uint64_t now_ns = local_ns(played, frame_ns);
        for (; arrived < played->ticks && played->arrival_ns[arrived] <= frame_ns; arrived++) {
            uint64_t at_ns = local_ns(played, played->arrival_ns[arrived]);
            ls_jitter_buffer_add_arrival(&jitter_buffer, arrived, at_ns);
        }
        if (arrived == 0) {
            continue;
        }
        uint64_t elapsed_ns = now_ns - local_ns(played, frame_ns - played->frame_ns);
        ls_jitter_buffer_frame frame = {now_ns, elapsed_ns, position_ns, arrived - stepped};
        ls_jitter_buffer_plan plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
        position_ns += plan.play_ns;
        seen.stalled += stepped >= WARM_TICKS && arrived < played->ticks ? plan.stalled_ticks : 0;
        for (; position_ns / DT_NS > stepped; stepped++) {
            cr_assert_lt(stepped, arrived, "a step without its tick");
            note_step(&seen, played, stepped, now_ns);
        }
        frame = (ls_jitter_buffer_frame){now_ns, 0, position_ns, arrived - stepped};
        uint32_t extra = ls_jitter_buffer_catch_up(&jitter_buffer, &frame);
        cr_assert_leq(extra, arrived - stepped);
        seen.caught_up += extra;
        stepped += extra;
        position_ns += extra * DT_NS;
        int32_t speed_ppm = jitter_buffer.speed_ppm;
        seen.fastest_ppm = speed_ppm > seen.fastest_ppm ? speed_ppm : seen.fastest_ppm;
        seen.slowest_ppm = speed_ppm < seen.slowest_ppm ? speed_ppm : seen.slowest_ppm;
        seen.delay_ns =
            arrived < played->ticks ? ls_jitter_buffer_delay_ns(&jitter_buffer) : seen.delay_ns;
        bool is_warm = stepped >= WARM_TICKS;
        uint32_t backlog = arrived - stepped;
        seen.most_backlog = is_warm && backlog > seen.most_backlog ? backlog : seen.most_backlog;
    }
    cr_assert_leq(seen.fastest_ppm, SPEED_MAX_PPM);
    cr_assert_geq(seen.slowest_ppm, -SPEED_MAX_PPM);
    return seen;
}

/* ---- arrivals of all kinds ---- */

Test(jitter_buffer, punctual_ticks_are_stepped_within_a_frame_and_two_milliseconds)
{
    static const uint32_t frame_rates_hz[] = {30, 59, 60, 61, 75, 144, 240, 1000};
    for (size_t i = 0; i < sizeof frame_rates_hz / sizeof frame_rates_hz[0]; i++) {
        uint64_t frame_ns = LS_NS_PER_SECOND / frame_rates_hz[i];
        outcome seen = play(even_scene(6000, frame_ns));
        cr_assert_leq(seen.longest_ns, frame_ns + 2 * MS, "%u fps: %lu us", frame_rates_hz[i],
                      (unsigned long)(seen.longest_ns / 1000));
        cr_assert_eq(seen.stalled, 0, "%u fps: %u", frame_rates_hz[i], seen.stalled);
        cr_assert_leq(seen.delay_ns, 2 * MS, "%u fps: %lu us", frame_rates_hz[i],
                      (unsigned long)(seen.delay_ns / 1000));
    }
}

Test(jitter_buffer, jitter_costs_its_width_and_fewer_stalls_than_one_tick_in_a_hundred)
{
    static const uint64_t widths_ms[] = {2, 10, 30, 80};
    for (size_t i = 0; i < sizeof widths_ms / sizeof widths_ms[0]; i++) {
        ls_rng rng = ls_rng_make(i, 1);
        uint64_t width_ns = widths_ms[i] * MS;
        scene *played = even_scene(12000, LS_NS_PER_SECOND / 144);
        for (uint32_t tick = 0; tick < played->ticks; tick++) {
            delay_by(played, tick, ls_rng_below(&rng, (uint32_t)width_ns));
        }
        outcome seen = play(played);
        cr_assert_lt(seen.stalled, (12000 - WARM_TICKS) / 100, "%lu ms: %u stalls",
                     (unsigned long)widths_ms[i], seen.stalled);
        cr_assert_leq(seen.delay_ns, width_ns + 3 * MS, "%lu ms: buffer of %lu us",
                      (unsigned long)widths_ms[i], (unsigned long)(seen.delay_ns / 1000));
        cr_assert_geq(seen.delay_ns, width_ns * 3 / 4);
        cr_assert_eq(seen.caught_up, 0);
    }
}

Test(jitter_buffer, a_packet_lost_in_twenty_costs_a_tick_and_few_stalls)
{
    ls_rng rng = ls_rng_make(3, 1);
    scene *played = even_scene(12000, LS_NS_PER_SECOND / 60);
    uint64_t arrival_ns = 0;
    for (uint32_t tick = played->ticks; tick-- > 0;) {
        bool is_lost = arrival_ns != 0 && ls_rng_below(&rng, 20) == 0;
        arrival_ns = is_lost ? arrival_ns : played->arrival_ns[tick];
        played->arrival_ns[tick] = arrival_ns;
    }
    outcome seen = play(played);
    cr_assert_lt(seen.stalled, (12000 - WARM_TICKS) / 100, "%u stalls", seen.stalled);
    cr_assert_leq(seen.delay_ns, 2 * DT_NS + 3 * MS);
    cr_assert_geq(seen.delay_ns, DT_NS);
}

Test(jitter_buffer, clocks_that_drift_stall_nothing_and_gather_nothing_in_ten_minutes)
{
    static const int32_t drifts_ppm[] = {-500, 500};
    for (size_t i = 0; i < 2; i++) {
        scene *played = even_scene(36000, LS_NS_PER_SECOND / 60);
        played->drift_ppm = drifts_ppm[i];
        outcome seen = play(played);
        cr_assert_eq(seen.stalled, 0, "%d ppm: %u", drifts_ppm[i], seen.stalled);
        cr_assert_leq(seen.most_backlog, 1);
        cr_assert_leq(seen.longest_ns, played->frame_ns + 7 * MS, "%d ppm: %lu us", drifts_ppm[i],
                      (unsigned long)(seen.longest_ns / 1000));
    }
}

/* ---- what breaks the pace ---- */

Test(jitter_buffer, a_way_that_gets_longer_is_followed_at_five_percent)
{
    scene *played = even_scene(3000, LS_NS_PER_SECOND / 60);
    for (uint32_t tick = 1500; tick < 3000; tick++) {
        delay_by(played, tick, 60 * MS);
    }
    outcome seen = play(played);
    cr_assert_geq(seen.stalled, 3, "the time that was lost");
    cr_assert_leq(seen.stalled, 12);
    cr_assert_leq(seen.delay_ns, 2 * MS);
    cr_assert_eq(seen.caught_up, 0);
}

Test(jitter_buffer, a_way_that_gets_shorter_is_used_within_five_seconds)
{
    scene *played = even_scene(WARM_TICKS + 300, LS_NS_PER_SECOND / 60);
    for (uint32_t tick = 0; tick < WARM_TICKS; tick++) {
        delay_by(played, tick, 60 * MS);
    }
    outcome seen = play(played);
    cr_assert_leq(seen.delay_ns, 2 * MS, "%lu us", (unsigned long)(seen.delay_ns / 1000));
    cr_assert_eq(seen.stalled, 0);
    cr_assert_eq(seen.caught_up, 0);
}

Test(jitter_buffer, a_large_backlog_is_stepped_at_once)
{
    scene *played = even_scene(3000, LS_NS_PER_SECOND / 60);
    for (uint32_t tick = 1500; tick < 1560; tick++) {
        delay_by(played, tick, (1560 - tick) * DT_NS);
    }
    outcome seen = play(played);
    cr_assert_geq(seen.stalled, 58);
    cr_assert_leq(seen.stalled, 62, "a tick for each dt: %u", seen.stalled);
    cr_assert_geq(seen.caught_up, 40);
    cr_assert_leq(seen.delay_ns, 2 * MS);
}

/* Ticks that an outage kept back come in as many bursts as the way takes round trips. */
static void cut(scene *played, uint32_t from, uint32_t to, uint32_t bursts, uint64_t apart_ns)
{
    for (uint32_t tick = from; tick < to; tick++) {
        uint64_t burst = (uint64_t)(tick - from) * bursts / (to - from);
        uint64_t at_ns = LS_NS_PER_SECOND + to * DT_NS + burst * apart_ns;
        played->arrival_ns[tick] =
            at_ns > played->arrival_ns[tick] ? at_ns : played->arrival_ns[tick];
    }
    for (uint32_t tick = to; tick < played->ticks; tick++) {
        delay_by(played, tick, 0);
    }
}

Test(jitter_buffer, an_outage_leaves_no_delay_behind)
{
    static const uint32_t outages[][2] = {{0, 120}, {700, 850}, {1000, 1020}};
    for (size_t i = 0; i < sizeof outages / sizeof outages[0]; i++) {
        uint32_t end = outages[i][1];
        scene *played = even_scene(end + 180, LS_NS_PER_SECOND / 60);
        cut(played, outages[i][0], end, 8, 20 * MS);
        outcome seen = play(played);
        cr_assert_leq(seen.delay_ns, 500 * MS, "%u ticks: %lu ms three seconds later",
                      end - outages[i][0], (unsigned long)(seen.delay_ns / MS));
    }
}

Test(jitter_buffer, a_stall_holds_the_edge_of_the_tick_that_is_missing)
{
    ls_jitter_buffer jitter_buffer;
    ls_jitter_buffer_init(&jitter_buffer, DT_NS);
    ls_jitter_buffer_add_arrival(&jitter_buffer, 0, 5 * DT_NS);
    ls_jitter_buffer_frame frame = {5 * DT_NS, DT_NS, 0, 1};
    uint64_t position_ns = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame).play_ns;
    cr_assert_eq(position_ns, DT_NS - MS, "its first tick is due soon");
    frame = (ls_jitter_buffer_frame){6 * DT_NS, DT_NS, position_ns, 1};
    ls_jitter_buffer_plan plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    position_ns += plan.play_ns;
    cr_assert_not(plan.is_stalled);
    cr_assert_eq(position_ns, 2 * DT_NS - MS);
    frame = (ls_jitter_buffer_frame){7 * DT_NS, DT_NS, position_ns, 0};
    plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    position_ns += plan.play_ns;
    cr_assert(plan.is_stalled);
    cr_assert_eq(plan.stalled_ticks, 1);
    cr_assert_eq(position_ns, 2 * DT_NS - 1);
    frame = (ls_jitter_buffer_frame){7 * DT_NS + MS / 2, MS / 2, position_ns, 0};
    plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    cr_assert(plan.is_stalled);
    cr_assert_eq(plan.stalled_ticks, 0, "the same tick counts once");
    cr_assert_eq(plan.play_ns, 0);
    ls_jitter_buffer_add_arrival(&jitter_buffer, 1, 7 * DT_NS + 2 * MS);
    frame = (ls_jitter_buffer_frame){7 * DT_NS + 2 * MS, MS, position_ns, 1};
    plan = ls_jitter_buffer_plan_frame(&jitter_buffer, &frame);
    cr_assert_not(plan.is_stalled);
    cr_assert_geq(position_ns + plan.play_ns, 2 * DT_NS, "it is stepped in the next frame");
}
