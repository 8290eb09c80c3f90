#include "lockstep/common/base/clock.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

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

static const cpu_case cpu_cases[] = {{2, 0}, {4, 0}, {16, 0}, {2, 67}, {4, 67}, {16, 67}, {32, 67}};

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
        status = measure_cpu(&cpu_cases[i], plan, report, why);
    }
    for (uint32_t i = 0; status == LS_OK && i < sizeof predict_cases / sizeof predict_cases[0];
         i++) {
        status = measure_prediction(&predict_cases[i], plan, report, why);
    }
    return status;
}
