#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/crowd.h"
#include "lockstep/tests/lab/bench/light_crowd.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/net_server.h"
#include "lockstep/tests/lab/bench/sections.h"

/* ==== section_net ==== */

enum {
    CROWDS_MAX = 4, /* processes that the clients are spread over */
    PATIENCE_MS = 60000,
    /* IPv4 and UDP, and the header and the tag of a sealed packet. */
    UP_HEADER_BYTES = 28 + LS_SEALED_CLIENT_HEADER_BYTES + LS_SEALED_TAG_BYTES,
    DOWN_HEADER_BYTES = 28 + LS_SEALED_SERVER_HEADER_BYTES + LS_SEALED_TAG_BYTES,
};

#define WARM_NS (LS_NS_PER_SECOND * 3 / 2)
#define WINDOW_NS (3 * LS_NS_PER_SECOND)
#define SMOKE_NS (LS_NS_PER_SECOND / 5)
#define RATE_HZ 60u
#define RATE_HZ_MIN 15u
#define KEPT_UP_MIN 0.85
#define KEPT_UP_MAX 1.25

/* The most that our server may cost against the relay. With four clients a round is some 40 ms of
 * processor time, of which another program on the machine moves more than there is to find: their
 * cost is held in instructions (tests/instructions). With 64 the server wakes 960 times a second,
 * for each of 16 matches by itself, and the relay 60 times: what that costs is the machine's.
 * Sessions take three quarters of two cores, and the server's caches with them; a light crowd
 * leaves it both, so that its figures are held. */
typedef struct crowd_size {
    uint32_t clients;
    uint32_t rounds; /* more where one takes less time, and the figures differ more */
    double budget;   /* 0: none */
    bool is_light;
} crowd_size;

static const crowd_size sizes[] = {{4, 9, 0, false},
                                   {64, 9, 0, true},
                                   {512, 5, 0, false},
                                   {512, 5, 1.3, true},
                                   {1024, 5, 1.3, true}};

/* ---- one server and its clients ---- */

static ls_status start_crowds(bench_child *children, const bench_crowd *all, ls_text *why)
{
    ls_status status = LS_OK;
    uint32_t count = LS_MIN(all->total, CROWDS_MAX);
    for (uint32_t i = 0; status == LS_OK && i < count; i++) {
        bench_crowd crowd = *all;
        crowd.first = all->total * i / count;
        crowd.clients = all->total * (i + 1) / count - crowd.first;
        status = bench_child_start(&children[i], bench_crowd_play, &crowd, why);
    }
    return status;
}

/* All in one process: they are connected in seconds. */
static ls_status start_light_crowd(bench_child *child, const bench_crowd *all,
                                   bench_light_figures *figures, ls_text *why)
{
    if (!figures) {
        return LS_NO_MEMORY;
    }
    const bench_light_crowd crowd = {.port = all->port,
                                     .clients_max = all->total,
                                     .rate_hz = all->rate_hz,
                                     .plays_pad = true,
                                     .figures = figures};
    atomic_store(&figures->wanted, all->total);
    return bench_child_start(child, bench_light_crowd_play, &crowd, why);
}

/* Runs a server beside as many clients as its plan says, who send packets of `up_bytes` or, when
 * that is 0, play. */
static ls_status run_server(bench_child_work serve, const bench_net_plan *plan, uint32_t up_bytes,
                            bench_net_window *window, ls_text *why)
{
    bench_child server = {0};
    bench_child crowds[CROWDS_MAX] = {{.pipe = -1}};
    bench_crowd all = {.total = plan->clients, .rate_hz = plan->rate_hz, .packet_bytes = up_bytes};
    bool is_light = plan->is_light && up_bytes == 0;
    bench_light_figures *figures = is_light ? bench_light_figures_create() : NULL;
    ls_status status = bench_child_start(&server, serve, plan, why);
    if (status == LS_OK) {
        status = bench_child_receive(&server, &all.port, sizeof all.port, PATIENCE_MS, why);
    }
    if (status == LS_OK) {
        status = is_light ? start_light_crowd(&crowds[0], &all, figures, why)
                          : start_crowds(crowds, &all, why);
    }
    if (status == LS_OK) {
        status = bench_child_receive(&server, window, sizeof *window, PATIENCE_MS, why);
    }
    for (uint32_t i = 0; i < CROWDS_MAX; i++) {
        bench_child_stop(&crowds[i]);
    }
    bench_child_stop(&server);
    bench_light_figures_destroy(figures);
    if (status == LS_OK && (!window->is_sound || window->client_ticks == 0)) {
        return ls_fail(LS_DESYNCED, why, "not everybody played on with %u clients", plan->clients);
    }
    return status;
}

/* ---- what comes of it ---- */

typedef struct comparison {
    bench_times ours;
    bench_times relay;
    bench_ratios ratios;
    bench_net_window last_ours;
    bench_net_window last_relay;
} comparison;

static double per_client_tick(const bench_net_window *window, uint64_t value)
{
    return (double)value / (double)window->client_ticks;
}

static uint32_t payload(uint64_t bytes, uint64_t packets, uint32_t header_bytes)
{
    uint64_t mean = packets > 0 ? bytes / packets : 0;
    return mean > header_bytes ? (uint32_t)mean - header_bytes : 1;
}

/* Ours, then the relay with packets of the same sizes; in every second round the other way round,
 * with the sizes of the round before. */
static ls_status run_round(comparison *both, bench_net_plan *plan, uint32_t round, ls_text *why)
{
    bench_net_window *ours = &both->last_ours;
    bench_net_window *relay = &both->last_relay;
    bool is_relay_first = round % 2 == 1;
    ls_status status = LS_OK;
    for (uint32_t turn = 0; status == LS_OK && turn < 2; turn++) {
        double slowdown = bench_slowdown();
        if ((turn == 0) == is_relay_first) {
            plan->down_bytes = payload(ours->bytes_down, ours->packets_down, DOWN_HEADER_BYTES);
            status =
                run_server(bench_net_relay_serve, plan,
                           payload(ours->bytes_up, ours->packets_up, UP_HEADER_BYTES), relay, why);
            if (status == LS_OK) {
                bench_times_add(&both->relay, per_client_tick(relay, relay->processor_ns),
                                slowdown);
            }
        } else {
            status = run_server(bench_net_host_serve, plan, 0, ours, why);
            if (status == LS_OK) {
                bench_times_add(&both->ours, per_client_tick(ours, ours->processor_ns), slowdown);
            }
        }
    }
    if (status == LS_OK) {
        bench_series_add(&both->ratios.rounds, per_client_tick(ours, ours->processor_ns) /
                                                   per_client_tick(relay, relay->processor_ns));
    }
    return status;
}

/* A packet each way and tick, or nearly: a server or clients that the machine has no time for do
 * several ticks' work at once, which costs less. */
static bool is_kept_up(const bench_net_window *window)
{
    double up = per_client_tick(window, window->packets_up);
    double down = per_client_tick(window, window->packets_down);
    return up > KEPT_UP_MIN && up < KEPT_UP_MAX && down > KEPT_UP_MIN && down < KEPT_UP_MAX;
}

static void report_comparison(const comparison *both, const bench_net_plan *plan, double budget,
                              bench_report *report)
{
    const struct {
        const char *what;
        const bench_net_window *window;
        uint64_t value;
    } rows[] = {
        {"packets up a tick, ours", &both->last_ours, both->last_ours.packets_up},
        {"packets up a tick, relay", &both->last_relay, both->last_relay.packets_up},
        {"packets down a tick, ours", &both->last_ours, both->last_ours.packets_down},
        {"packets down a tick, relay", &both->last_relay, both->last_relay.packets_down},
    };
    char name[LS_NAME_BYTES_MAX];
    char whom[32];
    snprintf(whom, sizeof whom, plan->rate_hz == RATE_HZ ? "%u %sclients" : "%u %sat %u Hz",
             plan->clients, plan->is_light ? "light " : "", plan->rate_hz);
    snprintf(name, sizeof name, "%s: server, a client and tick", whom);
    bench_report_times(report, name, "us", 1000, &both->ours, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s: relay, a client and tick", whom);
    bench_report_times(report, name, "us", 1000, &both->relay, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s: server against relay", whom);
    bool is_measured = both->ratios.of_bests > 0;
    bench_report_ratios(report, name, &both->ratios,
                        is_measured && budget > 0 ? BENCH_MOST(budget) : BENCH_UNBUDGETED);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(name, sizeof name, "%s: %s", whom, rows[i].what);
        bench_report_number(report, name, "", per_client_tick(rows[i].window, rows[i].value),
                            BENCH_UNBUDGETED);
    }
    snprintf(name, sizeof name, "%s: inputs too late", whom);
    bench_report_number(report, name, "%",
                        100 * per_client_tick(&both->last_ours, both->last_ours.inputs_substituted),
                        BENCH_UNBUDGETED);
}

static ls_status run_rounds(comparison *both, bench_net_plan *plan, uint32_t rounds, ls_text *why)
{
    ls_status status = LS_OK;
    *both = (comparison){.ratios = {.of_bests = 0}};
    for (uint32_t round = 0; status == LS_OK && round < rounds; round++) {
        status = run_round(both, plan, round, why);
        if (!is_kept_up(&both->last_ours) || !is_kept_up(&both->last_relay)) {
            return status;
        }
    }
    both->ratios.of_bests = bench_series_min(&both->ours.ns) / bench_series_min(&both->relay.ns);
    return status;
}

/* On a machine that cannot keep 60 ticks a second, because it is small or others work on it as
 * well, at the highest rate that it can. */
static ls_status compare(const crowd_size *size, const bench_plan *bench, bench_report *report,
                         ls_text *why)
{
    static comparison both;
    bench_net_plan plan = {.clients = size->clients,
                           .players = BENCH_NET_PLAYERS,
                           .rate_hz = RATE_HZ,
                           .is_light = size->is_light,
                           .warm_ns = bench->is_smoke ? SMOKE_NS : WARM_NS,
                           .window_ns = bench->is_smoke ? SMOKE_NS : WINDOW_NS};
    ls_status status = run_rounds(&both, &plan, bench->is_smoke ? 1 : size->rounds, why);
    while (status == LS_OK && both.ratios.of_bests == 0 && plan.rate_hz / 2 >= RATE_HZ_MIN &&
           !bench->is_smoke) {
        plan.rate_hz /= 2;
        status = run_rounds(&both, &plan, size->rounds, why);
    }
    if (status == LS_OK) {
        report_comparison(&both, &plan, size->budget, report);
    }
    return status;
}

ls_status bench_net(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    uint32_t count = plan->is_smoke ? 1 : sizeof sizes / sizeof sizes[0];
    for (uint32_t i = 0; status == LS_OK && i < count; i++) {
        status = compare(&sizes[i], plan, report, why);
    }
    return status == LS_OK ? bench_net_path(plan, report, why) : status;
}

/* ==== section_net_path ==== */

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
