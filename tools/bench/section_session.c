#include "lockstep/common/base/clock.h"
#include "lockstep/tools/bench/memory_match.h"
#include "lockstep/tools/bench/sections.h"

enum {
    STATE_BYTES = 256,
    WARM_TICKS = 180,         /* the handshake, and until the round trip is known */
    ROUND_CLIENT_TICKS = 800, /* half a millisecond or so */
    CPU_STEPS_PER_TICK = 4,
    SMOKE_TICKS = 20,
};

#define SESSION_BUDGET_NS 1200

/* ---- time in the cores ---- */

typedef struct cpu_case {
    uint32_t players;
    uint32_t rtt_ms;
} cpu_case;

static const cpu_case cpu_cases[] = {{2, 0}, {4, 0}, {16, 0}, {2, 67}, {4, 67}, {16, 67}};

static ls_status measure_cpu(const cpu_case *one, const ls_bench_plan *plan,
                             ls_bench_report *report, ls_text *why)
{
    ls_memory_match_config config = {.players = one->players,
                                     .state_bytes = STATE_BYTES,
                                     .delay_ns = one->rtt_ms * LS_NS_PER_MS / 2,
                                     .steps_per_tick = CPU_STEPS_PER_TICK,
                                     .seed = 1};
    ls_memory_match *match = NULL;
    ls_status status = ls_memory_match_create(&config, &match, why);
    if (status != LS_OK) {
        return status;
    }
    ls_bench_times session = {{0}, {0}};
    ls_bench_times server = {{0}, {0}};
    ls_memory_match_run(match, WARM_TICKS);
    for (uint32_t round = 0; round < plan->rounds; round++) {
        double slowdown = ls_bench_slowdown();
        ls_memory_match_totals before = ls_memory_match_totals_of(match);
        ls_memory_match_run(match,
                            plan->is_smoke ? SMOKE_TICKS : ROUND_CLIENT_TICKS / one->players);
        ls_memory_match_totals after = ls_memory_match_totals_of(match);
        double client_ticks = (double)(after.ticks - before.ticks) * one->players;
        ls_bench_times_add(
            &session, (double)(after.sessions_ns - before.sessions_ns) / client_ticks, slowdown);
        ls_bench_times_add(&server, (double)(after.server_ns - before.server_ns) / client_ticks,
                           slowdown);
    }
    status = ls_memory_match_check(match, why);
    ls_memory_match_destroy(match);
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%u players, %u ms: session, a tick", one->players, one->rtt_ms);
    ls_bench_report_times(report, name, "ns", 1, &session, LS_BENCH_MOST(SESSION_BUDGET_NS));
    snprintf(name, sizeof name, "%u players, %u ms: match, a client and tick", one->players,
             one->rtt_ms);
    ls_bench_report_times(report, name, "ns", 1, &server, LS_BENCH_UNBUDGETED);
    return status;
}

ls_status ls_bench_session(const ls_bench_plan *plan, ls_bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof cpu_cases / sizeof cpu_cases[0]; i++) {
        status = measure_cpu(&cpu_cases[i], plan, report, why);
    }
    return status;
}
