#include "lockstep/common/base/clock.h"
#include "lockstep/tools/bench/memory_match.h"
#include "lockstep/tools/bench/sections.h"

enum {
    STATE_BYTES = 256,
    WARM_TICKS = 180,    /* the handshake, and until the round trip is known */
    STEPS_PER_TICK = 64, /* a quarter of a millisecond */
    PLAYERS = 4,
    TICKS = 3600, /* a minute */
    SMOKE_TICKS = 20,
};

/* ENet's pings and their answers, each way, which the memory network does not have: a ping of 36
 * bytes and an answer of 38 in two seconds (protocol/udp/transport_udp.c). */
#define KEEPALIVE_BYTES_PER_SECOND 37

#define TICK_NS (1e9 / 60.0)
#define UPLINK_BUDGET 3200 /* bytes a second, with every header, while nothing is lost */
#define DOWNLINK_BUDGET 3800

/* ---- bytes and latency: virtual time, the same in every run ---- */

typedef struct traffic_case {
    uint32_t rtt_ms;
    uint32_t loss_percent;
    double p50_budget_ticks; /* beyond the path; 0: none */
    double p99_budget_ticks;
} traffic_case;

static const traffic_case traffic_cases[] = {
    {67, 0, 1, 0}, {67, 5, 1, 2}, {67, 20, 0, 3}, {100, 0, 1, 0}, {100, 5, 1, 2}, {100, 20, 0, 3},
};

static bench_budget at_most(double value)
{
    return value > 0 ? BENCH_MOST(value) : BENCH_UNBUDGETED;
}

static void report_latency(const traffic_case *one, const bench_memory_match_latency *latency,
                           bench_report *report)
{
    const struct {
        const char *whom;
        const ls_histogram *histogram;
        uint32_t percent;
        double budget_ticks;
    } rows[] = {
        {"own client", &latency->own, 50, 0},
        {"own client", &latency->own, 99, 0},
        {"all clients", &latency->all, 50, one->p50_budget_ticks},
        {"all clients", &latency->all, 99, one->p99_budget_ticks},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[LS_NAME_BYTES_MAX];
        double beyond_ns = (double)ls_histogram_percentile_ns(rows[i].histogram, rows[i].percent) -
                           (double)(one->rtt_ms * LS_NS_PER_MS);
        snprintf(name, sizeof name, "%u ms, %u %% lost: beyond path, p%u, %s", one->rtt_ms,
                 one->loss_percent, rows[i].percent, rows[i].whom);
        bench_report_number(report, name, "ticks", beyond_ns / TICK_NS,
                            at_most(rows[i].budget_ticks));
    }
}

static void report_traffic(const traffic_case *one, const bench_memory_match_totals *before,
                           const bench_memory_match_totals *after, bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    double client_ticks = (double)(after->ticks - before->ticks) * PLAYERS;
    double client_seconds = client_ticks * TICK_NS / 1e9;
    double substituted = (double)(after->inputs_substituted - before->inputs_substituted);
    snprintf(name, sizeof name, "%u ms, %u %% lost: a client up", one->rtt_ms, one->loss_percent);
    double up = (double)(after->bytes_up - before->bytes_up) / client_seconds;
    bench_report_number(report, name, "B/s", up + KEEPALIVE_BYTES_PER_SECOND,
                        at_most(one->loss_percent == 0 ? UPLINK_BUDGET : 0));
    snprintf(name, sizeof name, "%u ms, %u %% lost: a client down", one->rtt_ms, one->loss_percent);
    double down = (double)(after->bytes_down - before->bytes_down) / client_seconds;
    bench_report_number(report, name, "B/s", down + KEEPALIVE_BYTES_PER_SECOND,
                        at_most(one->loss_percent == 0 ? DOWNLINK_BUDGET : 0));
    snprintf(name, sizeof name, "%u ms, %u %% lost: inputs too late", one->rtt_ms,
             one->loss_percent);
    bench_report_number(report, name, "%", 100 * substituted / client_ticks, BENCH_UNBUDGETED);
}

static ls_status measure_traffic(const traffic_case *one, const bench_plan *plan,
                                 bench_report *report, ls_text *why)
{
    bench_memory_match_config config = {.players = PLAYERS,
                                        .state_bytes = STATE_BYTES,
                                        .delay_ns = one->rtt_ms * LS_NS_PER_MS / 2,
                                        .loss_ppm = one->loss_percent * 10000,
                                        .steps_per_tick = STEPS_PER_TICK,
                                        .watches_latency = true,
                                        .seed = 1};
    ls_memory_match *match = NULL;
    ls_status status = bench_memory_match_create(&config, &match, why);
    if (status != LS_OK) {
        return status;
    }
    bench_memory_match_run(match, WARM_TICKS);
    bench_memory_match_forget_latency(match);
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match, plan->is_smoke ? SMOKE_TICKS : TICKS);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    report_traffic(one, &before, &after, report);
    report_latency(one, bench_memory_match_latency_of(match), report);
    status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    return status;
}

ls_status bench_net_path(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof traffic_cases / sizeof traffic_cases[0];
         i++) {
        status = measure_traffic(&traffic_cases[i], plan, report, why);
    }
    return status;
}
