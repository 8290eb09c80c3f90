#include "lockstep/common/base/clock.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <inttypes.h>

/* Joining a running match, in virtual time: the same in every run. At the rate that a match gives a
 * joiner by default half of the state are random bits, which cannot be compressed; at the rate of a
 * link all of them are. */

enum {
    PLAYERS = 4,
    AGES = 2, /* the third and the fourth player come, each at one of them */
    RATE_HZ = 60,
    RTT_MS = 100,
    STEPS_PER_TICK = 8, /* two milliseconds */
    BASELINE_TICKS = 20 * RATE_HZ,
    JOINING_TICKS_MIN = 10 * RATE_HZ, /* even if the joiner plays sooner */
    SETTLING_TICKS = 2 * RATE_HZ,     /* until its states have been compared */
    PATIENCE_TICKS = 120 * RATE_HZ,
};

static const uint32_t state_bytes[] = {16 << 10, 1 << 20, 16 << 20};
static const char *const state_names[] = {"16 KiB", "1 MiB", "16 MiB"};
static const uint32_t loss_percents[] = {0, 5};

/* When they come, ticks into the match. */
static const ls_tick ages[AGES] = {60 * RATE_HZ, 3600 * RATE_HZ};
static const char *const age_names[AGES] = {"1 min", "1 h"};
static const ls_tick smoke_ages[AGES] = {90, 240};

enum {
    STATES = sizeof state_bytes / sizeof state_bytes[0],
    LOSSES = sizeof loss_percents / sizeof loss_percents[0],
    SMOKE_STATES = 1,
    SMOKE_BASELINE_TICKS = 60,
};

/* A join takes four round trips at least, of which two are the handshake's, and what the link takes
 * for the bytes. */
typedef struct link_case {
    uint32_t mib;
    uint32_t mbit_per_s;
    uint32_t rtt_ms;
} link_case;

static const link_case links[] = {
    {1, 8, 20},     {1, 8, 100},    {1, 100, 20},   {1, 100, 100},   {1, 1000, 20},
    {1, 1000, 100}, {64, 100, 100}, {64, 1000, 20}, {64, 1000, 100},
};

enum {
    LINKS = sizeof links / sizeof links[0],
    SMOKE_LINKS = 2,
    LINK_STEPS_PER_TICK = 128,
    LINK_AGE_TICKS = 90,
};

typedef struct joining {
    uint64_t took_ns;
    double p99_before_ms;
    double p99_meanwhile_ms;
} joining;

static double p99_ms(const ls_memory_match *match)
{
    const bench_memory_match_latency *latency = bench_memory_match_latency_of(match);
    return (double)ls_histogram_percentile_ns(&latency->own, 99) / 1e6;
}

/* From connecting until it plays. */
static ls_status let_one_in(ls_memory_match *match, bool is_smoke, joining *out, ls_text *why)
{
    bench_memory_match_forget_latency(match);
    bench_memory_match_run(match, is_smoke ? SMOKE_BASELINE_TICKS : BASELINE_TICKS);
    out->p99_before_ms = p99_ms(match);
    bench_memory_match_forget_latency(match);
    bench_memory_match_let_in(match);
    uint64_t begun_ns = bench_memory_match_now_ns(match);
    uint32_t ticks = 0;
    while (!bench_memory_match_all_play(match) && ticks < PATIENCE_TICKS) {
        bench_memory_match_run(match, 1);
        ticks++;
    }
    out->took_ns = bench_memory_match_now_ns(match) - begun_ns;
    uint32_t least = is_smoke ? SMOKE_BASELINE_TICKS : JOINING_TICKS_MIN;
    bench_memory_match_run(match, ticks + SETTLING_TICKS < least ? least - ticks : SETTLING_TICKS);
    out->p99_meanwhile_ms = p99_ms(match);
    return bench_memory_match_check(match, why);
}

static void report_joining(bench_report *report, const char *of, const joining *one)
{
    const struct {
        const char *what;
        double value;
        bench_budget budget;
    } rows[] = {
        {"joins in", (double)one->took_ns / 1e6, BENCH_UNBUDGETED},
        {"players' p99 before", one->p99_before_ms, BENCH_UNBUDGETED},
        {"players' p99 meanwhile", one->p99_meanwhile_ms,
         BENCH_MOST(one->p99_before_ms + 1000.0 / RATE_HZ)},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[LS_NAME_BYTES_MAX];
        snprintf(name, sizeof name, "%s: %s", of, rows[i].what);
        bench_report_number(report, name, "ms", rows[i].value, rows[i].budget);
    }
}

static ls_status measure(uint32_t state, uint32_t loss, const bench_plan *plan,
                         bench_report *report, ls_text *why)
{
    bench_memory_match_config config = {.players = PLAYERS,
                                        .late_players = AGES,
                                        .state_bytes = state_bytes[state],
                                        .delay_ns = RTT_MS * LS_NS_PER_MS / 2,
                                        .loss_ppm = loss_percents[loss] * 10000,
                                        .steps_per_tick = STEPS_PER_TICK,
                                        .hash_interval_ticks = plan->is_smoke ? 1 : RATE_HZ,
                                        .finds_no_causes =
                                            true, /* else the states fill the caches */
                                        .watches_latency = true,
                                        .seed = 1};
    ls_memory_match *match = bench_memory_match_create(&config);
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < AGES; i++) {
        ls_tick baseline = plan->is_smoke ? SMOKE_BASELINE_TICKS : BASELINE_TICKS;
        ls_tick age = (plan->is_smoke ? smoke_ages : ages)[i] - baseline;
        ls_tick now = ls_match_tick(bench_memory_match_host(match));
        bench_memory_match_run(match, age > now ? age - now : 0);
        joining one = {0};
        status = let_one_in(match, plan->is_smoke, &one, why);
        char name[32];
        snprintf(name, sizeof name, "%s, %s, %" PRIu32 " %% lost", state_names[state], age_names[i],
                 loss_percents[loss]);
        if (status == LS_OK) {
            report_joining(report, name, &one);
        }
    }
    bench_memory_match_destroy(match);
    return status;
}

static ls_status measure_link(const link_case *given, bench_report *report, ls_text *why)
{
    bench_memory_match_config config = {.players = PLAYERS,
                                        .late_players = 1,
                                        .state_bytes = given->mib << 20,
                                        .is_noise = true,
                                        .delay_ns = given->rtt_ms * LS_NS_PER_MS / 2,
                                        .late_mbit_per_s = given->mbit_per_s,
                                        .steps_per_tick = LINK_STEPS_PER_TICK,
                                        .hash_interval_ticks = RATE_HZ,
                                        .finds_no_causes = true,
                                        .watches_latency = true,
                                        .seed = 1};
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_memory_match_run(match, LINK_AGE_TICKS);
    joining one = {0};
    ls_status status = let_one_in(match, true, &one, why);
    bench_memory_match_destroy(match);
    double sent_ms = (given->mib << 20) / (given->mbit_per_s * 125.0);
    double least_ms = sent_ms + 4.0 * given->rtt_ms;
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%" PRIu32 " MiB, %" PRIu32 " Mbit/s, RTT %" PRIu32 " ms: floor",
             given->mib, given->mbit_per_s, given->rtt_ms);
    bench_report_number(report, name, "ms", least_ms, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%" PRIu32 " MiB, %" PRIu32 " Mbit/s, RTT %" PRIu32 " ms: joins in",
             given->mib, given->mbit_per_s, given->rtt_ms);
    bench_report_number(report, name, "ms", (double)one.took_ns / 1e6,
                        BENCH_MOST(least_ms + 0.2 * sent_ms + 2000.0 / RATE_HZ));
    return status;
}

ls_status bench_join(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    uint32_t states = plan->is_smoke ? SMOKE_STATES : STATES;
    for (uint32_t i = 0; status == LS_OK && i < states * LOSSES; i++) {
        status = measure(i / LOSSES, i % LOSSES, plan, report, why);
    }
    for (uint32_t i = 0; status == LS_OK && i < (plan->is_smoke ? SMOKE_LINKS : LINKS); i++) {
        status = measure_link(&links[i], report, why);
    }
    return status;
}
