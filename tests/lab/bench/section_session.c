#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <inttypes.h>

/* ==== section_session ==== */

enum {
    STATE_BYTES = 256,
    WARM_TICKS = 600,         /* the handshake, and until the round trip is known */
    ROUND_CLIENT_TICKS = 800, /* half a millisecond or so */
    CPU_STEPS_PER_TICK = 4,
    PREDICT_PLAYERS = 4,
    PREDICT_TICKS = 16,
    PREDICT_ROUND_TICKS = 200,
    SMOKE_TICKS = 20,
};

#define SESSION_BUDGET_NS 1200
#define TICK_NS (1e9 / 60.0)

/* ---- time in the cores ---- */

typedef struct cpu_case {
    uint32_t players;
    uint32_t rtt_ms;
} cpu_case;

enum {
    SMOKE_PLAYERS_MAX = 32, /* more are what tests/match/test_many.c plays */
};

static const cpu_case cpu_cases[] = {{2, 0},  {4, 0},   {16, 0},  {2, 67},
                                     {4, 67}, {16, 67}, {32, 67}, {128, 67}};

static ls_status measure_cpu(const cpu_case *one, const bench_plan *plan, bench_report *report,
                             ls_text *why)
{
    bench_memory_match_config config = {.players = one->players,
                                        .state_bytes = STATE_BYTES,
                                        .delay_ns = one->rtt_ms * LS_NS_PER_MS / 2,
                                        .steps_per_tick = CPU_STEPS_PER_TICK,
                                        .seed = 1};
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_times session = {{0}, {0}};
    bench_times server = {{0}, {0}};
    bench_memory_match_run(match, WARM_TICKS);
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double slowdown = bench_slowdown();
        bench_memory_match_totals before = bench_memory_match_totals_of(match);
        bench_memory_match_run(
            match, plan->is_smoke ? SMOKE_TICKS : LS_MAX(ROUND_CLIENT_TICKS / one->players, 8));
        bench_memory_match_totals after = bench_memory_match_totals_of(match);
        double client_ticks = (double)(after.ticks - before.ticks) * one->players;
        bench_times_add(&session, (double)(after.sessions_ns - before.sessions_ns) / client_ticks,
                        slowdown);
        bench_times_add(&server, (double)(after.server_ns - before.server_ns) / client_ticks,
                        slowdown);
    }
    ls_status status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%u players, %u ms: session, a tick", one->players, one->rtt_ms);
    bench_report_times(report, name, "ns", 1, &session,
                       one->players <= 16 ? BENCH_MOST(SESSION_BUDGET_NS) : BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%u players, %u ms: match, a client and tick", one->players,
             one->rtt_ms);
    bench_report_times(report, name, "ns", 1, &server, BENCH_UNBUDGETED);
    return status;
}

/* ---- time with prediction ---- */

typedef struct predict_case {
    uint32_t rtt_ms;
    uint32_t state_bytes;
    const char *state;
} predict_case;

static const predict_case predict_cases[] = {
    {67, STATE_BYTES, "256 B"}, {100, STATE_BYTES, "256 B"}, {100, 1 << 20, "1 MiB"}};

static ls_status measure_prediction(const predict_case *one, const bench_plan *plan,
                                    bench_report *report, ls_text *why)
{
    bench_memory_match_config config = {.players = PREDICT_PLAYERS,
                                        .state_bytes = one->state_bytes,
                                        .delay_ns = one->rtt_ms * LS_NS_PER_MS / 2,
                                        .predict_ticks = PREDICT_TICKS,
                                        .steps_per_tick = CPU_STEPS_PER_TICK,
                                        .seed = 1};
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_times session = {{0}, {0}};
    bench_memory_match_run(match, WARM_TICKS);
    bench_memory_match_totals first = bench_memory_match_totals_of(match);
    bench_memory_match_totals last = first;
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double slowdown = bench_slowdown();
        bench_memory_match_totals before = last;
        bench_memory_match_run(match, plan->is_smoke ? SMOKE_TICKS : PREDICT_ROUND_TICKS);
        last = bench_memory_match_totals_of(match);
        double client_ticks = (double)(last.ticks - before.ticks) * PREDICT_PLAYERS;
        bench_times_add(&session, (double)(last.sessions_ns - before.sessions_ns) / client_ticks,
                        slowdown);
    }
    ls_status status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    char name[LS_NAME_BYTES_MAX];
    double client_ticks = (double)(last.ticks - first.ticks) * PREDICT_PLAYERS;
    snprintf(name, sizeof name, "predicted, %u ms, %s: session, a tick", one->rtt_ms, one->state);
    bench_report_times(report, name, "ns", 1, &session, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "predicted, %u ms, %s: steps a tick", one->rtt_ms, one->state);
    bench_report_number(report, name, "", (double)(last.steps - first.steps) / client_ticks,
                        BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "predicted, %u ms, %s: rollbacks", one->rtt_ms, one->state);
    bench_report_number(report, name, "/s",
                        (double)(last.rollbacks - first.rollbacks) / (client_ticks * TICK_NS) * 1e9,
                        BENCH_UNBUDGETED);
    return status;
}

ls_status bench_session(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof cpu_cases / sizeof cpu_cases[0]; i++) {
        if (!plan->is_smoke || cpu_cases[i].players <= SMOKE_PLAYERS_MAX) {
            status = measure_cpu(&cpu_cases[i], plan, report, why);
        }
    }
    for (uint32_t i = 0; status == LS_OK && i < sizeof predict_cases / sizeof predict_cases[0];
         i++) {
        status = measure_prediction(&predict_cases[i], plan, report, why);
    }
    return status;
}

/* ==== section_join ==== */

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

/* ==== section_growth ==== */

enum {
    GROWTH_STATE_BYTES = 256,
    GROWTH_RATE_HZ = 60,
    WARM_S = 4,
    SECONDS = 20,
    GROWTH_STEPS_PER_TICK = 8,
    DELAY_MS = 33,
    /* In place of what the memory network counts before each packet: as in section_net.c. */
    COUNTED_BYTES = 10,
    UP_SEAL_BYTES = LS_SEALED_CLIENT_HEADER_BYTES + LS_SEALED_TAG_BYTES - COUNTED_BYTES,
    DOWN_SEAL_BYTES = LS_SEALED_SERVER_HEADER_BYTES + LS_SEALED_TAG_BYTES - COUNTED_BYTES,
    HEADER_BYTES = 20 + 8 + COUNTED_BYTES, /* below what is sealed, but for what the seal adds */
};

#define LOSSY_BUDGET 4800

/* The bytes of a client in virtual time, the same in every run on every machine. Each
 * player's pad changes in one tick of eight. */
typedef struct growth_case {
    const char *name;
    uint32_t players;
    uint32_t tick_rate_hz;
    uint32_t loss_percent;
    uint32_t input_delay_ticks; /* with the send rate `saving`; 0: auto */
    double budget;              /* of either direction, bytes a second; 0: none */
} growth_case;

static const growth_case cases[] = {
    {"2 players", 2, GROWTH_RATE_HZ, 0, 0, 0},
    {"4 players", 4, GROWTH_RATE_HZ, 0, 0, 0},
    {"8 players", 8, GROWTH_RATE_HZ, 0, 0, 0},
    {"16 players", 16, GROWTH_RATE_HZ, 0, 0, 0},
    {"32 players", 32, GROWTH_RATE_HZ, 0, 0, 0},
    {"64 players", 64, GROWTH_RATE_HZ, 0, 0, 0},
    {"128 players", 128, GROWTH_RATE_HZ, 0, 0, 0},
    {"2 players, 30 Hz", 2, 30, 0, 0, 0},
    {"4 players, 30 Hz", 4, 30, 0, 0, 0},
    {"8 players, 30 Hz", 8, 30, 0, 0, 0},
    {"16 players, 30 Hz", 16, 30, 0, 0, 0},
    {"32 players, 30 Hz", 32, 30, 0, 0, 0},
    {"64 players, 30 Hz", 64, 30, 0, 0, 0},
    {"128 players, 30 Hz", 128, 30, 0, 0, 0},
    {"4 players, 5 % lost", 4, GROWTH_RATE_HZ, 5, 0, LOSSY_BUDGET},
    {"8 players, 5 % lost", 8, GROWTH_RATE_HZ, 5, 0, LOSSY_BUDGET},
    {"32 players, 5 % lost", 32, GROWTH_RATE_HZ, 5, 0, LOSSY_BUDGET},
    {"2 players, 15 packets", 2, GROWTH_RATE_HZ, 0, 3, 0},
    {"2 players, 20 packets", 2, GROWTH_RATE_HZ, 0, 2, 0},
    {"4 players, 20 packets", 4, GROWTH_RATE_HZ, 0, 2, 0},
};

typedef struct growth_way {
    const char *name;
    uint64_t bytes;
    uint64_t packets;
    uint32_t packet_bytes; /* without content */
} growth_way;

static void report_ways(const growth_case *one, const growth_way ways[2], double client_seconds,
                        bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    for (uint32_t i = 0; i < 2; i++) {
        double packets = (double)ways[i].packets / client_seconds;
        snprintf(name, sizeof name, "%s: a client %s", one->name, ways[i].name);
        bench_report_number(report, name, "B/s", (double)ways[i].bytes / client_seconds,
                            one->budget > 0 ? BENCH_MOST(one->budget) : BENCH_UNBUDGETED);
        snprintf(name, sizeof name, "%s: headers alone, %s", one->name, ways[i].name);
        bench_report_number(report, name, "B/s", packets * ways[i].packet_bytes, BENCH_UNBUDGETED);
    }
}

static ls_status growth_measure(const growth_case *one, const bench_plan *plan,
                                bench_report *report, ls_text *why)
{
    const bench_memory_match_config config = {
        .players = one->players,
        .state_bytes = GROWTH_STATE_BYTES,
        .tick_rate_hz = one->tick_rate_hz,
        .input_delay_ticks = one->input_delay_ticks,
        .send_rate = one->input_delay_ticks > 0 ? LS_SEND_SAVING : LS_SEND_AUTO,
        .delay_ns = DELAY_MS * LS_NS_PER_MS,
        .loss_ppm = one->loss_percent * 10000,
        .steps_per_tick = GROWTH_STEPS_PER_TICK,
        .seed = 1};
    uint32_t seconds = one->players > 32 ? SECONDS / 10 : SECONDS;
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_memory_match_run(match, (one->loss_percent > 0 ? 3 : 1) * WARM_S * one->tick_rate_hz);
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match,
                           plan->is_smoke ? GROWTH_STEPS_PER_TICK : seconds * one->tick_rate_hz);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    uint64_t up = after.packets_up - before.packets_up;
    uint64_t down = after.packets_down - before.packets_down;
    const growth_way ways[2] = {{"down",
                                 after.bytes_down - before.bytes_down + down * DOWN_SEAL_BYTES,
                                 down, HEADER_BYTES + DOWN_SEAL_BYTES},
                                {"up", after.bytes_up - before.bytes_up + up * UP_SEAL_BYTES, up,
                                 HEADER_BYTES + UP_SEAL_BYTES}};
    report_ways(one, ways, (double)(after.ticks - before.ticks) * one->players / one->tick_rate_hz,
                report);
    ls_status status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    return status;
}

ls_status bench_growth(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof cases / sizeof cases[0]; i++) {
        if (!plan->is_smoke || cases[i].players <= 4) {
            status = growth_measure(&cases[i], plan, report, why);
        }
    }
    return status;
}
