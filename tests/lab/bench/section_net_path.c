#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

enum {
    STATE_BYTES = 256,
    WARM_TICKS = 180,    /* the handshake, and until the round trip is known */
    STEPS_PER_TICK = 64, /* a quarter of a millisecond */
    PLAYERS = 4,
    TICKS = 3600, /* a minute */
    SMOKE_TICKS = 20,
    THIN_TICK_RATE_HZ = 30,
    THIN_RTT_MS = 67,
    MANY_PLAYERS = 128,
    MANY_STILL = 100,
};

/* The memory network counts IPv4, UDP and 10 bytes before each unreliable packet; on the wire the
 * header and the tag of a sealed packet stand in their place (protocol/SEALED.md). While a match
 * runs nothing else is sent. */
enum {
    COUNTED_BYTES = 10,
    UPLINK_SEAL_BYTES = LS_SEALED_CLIENT_HEADER_BYTES + LS_SEALED_TAG_BYTES,
    DOWNLINK_SEAL_BYTES = LS_SEALED_SERVER_HEADER_BYTES + LS_SEALED_TAG_BYTES,
};

#define TICK_NS (1e9 / 60.0)
#define UPLINK_BUDGET 3800 /* bytes a second, with every header, while nothing is lost */
#define DOWNLINK_BUDGET 3800
#define MANY_DOWNLINK_BUDGET 10000
#define LOSSY_UPLINK_BUDGET 4400   /* at any loss, while few inputs change */
#define LOSSY_DOWNLINK_BUDGET 4800 /* at 5 %; a packet a tick without content takes 2,820 */

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

static uint64_t sealed_bytes(uint64_t counted, uint64_t packets, uint32_t seal_bytes)
{
    return counted + packets * (seal_bytes - COUNTED_BYTES);
}

static void report_traffic(const traffic_case *one, const bench_memory_match_totals *before,
                           const bench_memory_match_totals *after, bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    double client_ticks = (double)(after->ticks - before->ticks) * PLAYERS;
    double client_seconds = client_ticks * TICK_NS / 1e9;
    double substituted = (double)(after->inputs_substituted - before->inputs_substituted);
    snprintf(name, sizeof name, "%u ms, %u %% lost: a client up", one->rtt_ms, one->loss_percent);
    uint64_t up = sealed_bytes(after->bytes_up - before->bytes_up,
                               after->packets_up - before->packets_up, UPLINK_SEAL_BYTES);
    bench_report_number(report, name, "B/s", (double)up / client_seconds,
                        at_most(one->loss_percent == 0 ? UPLINK_BUDGET : LOSSY_UPLINK_BUDGET));
    snprintf(name, sizeof name, "%u ms, %u %% lost: a client down", one->rtt_ms, one->loss_percent);
    uint64_t down = sealed_bytes(after->bytes_down - before->bytes_down,
                                 after->packets_down - before->packets_down, DOWNLINK_SEAL_BYTES);
    bench_report_number(report, name, "B/s", (double)down / client_seconds,
                        at_most(one->loss_percent == 0   ? DOWNLINK_BUDGET
                                : one->loss_percent <= 5 ? LOSSY_DOWNLINK_BUDGET
                                                         : 0));
    snprintf(name, sizeof name, "%u ms, %u %% lost: packets down", one->rtt_ms, one->loss_percent);
    bench_report_number(report, name, "/s",
                        (double)(after->packets_down - before->packets_down) / client_seconds,
                        BENCH_UNBUDGETED);
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
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_memory_match_run(match, WARM_TICKS);
    bench_memory_match_forget_latency(match);
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match, plan->is_smoke ? SMOKE_TICKS : TICKS);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    report_traffic(one, &before, &after, report);
    report_latency(one, bench_memory_match_latency_of(match), report);
    ls_status status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    return status;
}

/* The fewest packets that a match sends: units at the rate `half`. Each takes 28 bytes below the
 * seal, and the seal: 720 and 705 B/s without content. */
static ls_status measure_thin(const bench_plan *plan, bench_report *report, ls_text *why)
{
    bench_memory_match_config config = {.players = PLAYERS,
                                        .simulation = ls_units_simulation(),
                                        .send_rate = LS_SEND_HALF,
                                        .delay_ns = THIN_RTT_MS * LS_NS_PER_MS / 2,
                                        .steps_per_tick = STEPS_PER_TICK,
                                        .seed = 1};
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_memory_match_run(match, WARM_TICKS);
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match, plan->is_smoke ? SMOKE_TICKS : TICKS / 2);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    double seconds = (double)(after.ticks - before.ticks) * PLAYERS / THIN_TICK_RATE_HZ;
    uint64_t packets_up = after.packets_up - before.packets_up;
    uint64_t packets_down = after.packets_down - before.packets_down;
    uint64_t up = sealed_bytes(after.bytes_up - before.bytes_up, packets_up, UPLINK_SEAL_BYTES);
    uint64_t down =
        sealed_bytes(after.bytes_down - before.bytes_down, packets_down, DOWNLINK_SEAL_BYTES);
    bench_report_number(report, "units, half: packets up", "/s", (double)packets_up / seconds,
                        BENCH_UNBUDGETED);
    bench_report_number(report, "units, half: a client up", "B/s", (double)up / seconds,
                        BENCH_UNBUDGETED);
    bench_report_number(report, "units, half: packets down", "/s", (double)packets_down / seconds,
                        BENCH_UNBUDGETED);
    bench_report_number(report, "units, half: a client down", "B/s", (double)down / seconds,
                        BENCH_UNBUDGETED);
    ls_status status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    return status;
}

/* As many players as there may be, of whom most hold still: tests/match/test_many.c plays such. */
static ls_status measure_many(bench_report *report, ls_text *why)
{
    bench_memory_match_config config = {.players = MANY_PLAYERS,
                                        .still_players = MANY_STILL,
                                        .state_bytes = STATE_BYTES,
                                        .delay_ns = THIN_RTT_MS * LS_NS_PER_MS / 2,
                                        .steps_per_tick = 8,
                                        .seed = 1};
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_memory_match_run(match, WARM_TICKS);
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match, TICKS / 8);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    double client_seconds = (double)(after.ticks - before.ticks) * MANY_PLAYERS * TICK_NS / 1e9;
    uint64_t down = sealed_bytes(after.bytes_down - before.bytes_down,
                                 after.packets_down - before.packets_down, DOWNLINK_SEAL_BYTES);
    bench_report_number(report, "128 players, 100 still: a client down", "B/s",
                        (double)down / client_seconds, BENCH_MOST(MANY_DOWNLINK_BUDGET));
    ls_status status = bench_memory_match_check(match, why);
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
    status = status == LS_OK ? measure_thin(plan, report, why) : status;
    return status == LS_OK && !plan->is_smoke ? measure_many(report, why) : status;
}
