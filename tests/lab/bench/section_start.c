#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include <inttypes.h>

/* How soon a match begins after its players have started to connect, and how far ahead they make
 * inputs in its first second, over the transport of the programs (key exchange, seal, ENet) in
 * virtual time: the same in every run. No player is to be further ahead than a packet takes there
 * and back and four ticks, however much is lost. */

enum {
    PLAYERS = 4,
    RTT_MS = 60,
    LEAD_TICKS_MAX = 4, /* beyond the round trip */
    MATCHES = 50,
    SMOKE_MATCHES = 2,
};

static const uint64_t GLANCE_NS = LS_NS_PER_MS;
static const uint64_t PATIENCE_NS = 30 * LS_NS_PER_SECOND;

typedef struct loss_plan {
    uint32_t percent; /* each way */
    double took_max_ms;
} loss_plan;

static const loss_plan plans[] = {{0, 500}, {5, 1500}, {20, 3000}};

/* Of all matches the slowest, and of all players the one that was furthest ahead. */
typedef struct slowest {
    double took_ms;
    double lead_ms;
    double lead_max_ms; /* that is allowed */
} slowest;

static bool do_all_play(const virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (ls_session_report_of(run->clients[i]->session).state != LS_SESSION_PLAYING) {
            return false;
        }
    }
    return true;
}

static double tick_ms(const virtual_match *run)
{
    return 1000.0 / run->setup.match.sim.tick_rate_hz;
}

/* By how much the player's newest input is ahead of the tick that the server closes next. */
static double lead_ms(const virtual_match *run, const virtual_client *client)
{
    ls_tick next_input = ls_session_report_of(client->session).next_input;
    ls_tick next_close = ls_match_tick(run->match);
    return next_input > next_close ? (next_input - 1 - next_close) * tick_ms(run) : 0;
}

static void watch_first_second(virtual_match *run, slowest *out)
{
    uint64_t end_ns = run->now_ns + LS_NS_PER_SECOND;
    while (run->now_ns < end_ns) {
        virtual_match_run(run, GLANCE_NS);
        for (uint32_t i = 0; i < run->client_count; i++) {
            out->lead_ms = LS_MAX(out->lead_ms, lead_ms(run, run->clients[i]));
        }
    }
}

static ls_status begin_match(const loss_plan *plan, uint64_t seed, slowest *out, ls_text *why)
{
    virtual_setup setup = virtual_setup_default(ls_builtin_simulation_named("arena"), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.seed = seed;
    setup.runs_nothing_again = true;
    setup.link =
        (ls_link_config){.delay_ns = RTT_MS * LS_NS_PER_MS / 2, .loss_ppm = plan->percent * 10000};
    virtual_match *run = virtual_match_create(&setup);
    while (!do_all_play(run) && run->now_ns < PATIENCE_NS) {
        virtual_match_run(run, GLANCE_NS);
    }
    bool has_begun = do_all_play(run);
    out->lead_max_ms = RTT_MS + LEAD_TICKS_MAX * tick_ms(run);
    out->took_ms = LS_MAX(out->took_ms, (double)run->now_ns / 1e6);
    if (has_begun) {
        watch_first_second(run, out);
    }
    virtual_match_destroy(run);
    return has_begun
               ? LS_OK
               : ls_fail(LS_TIMED_OUT, why, "match %" PRIu64 " has not begun after %" PRIu64 " s",
                         seed, PATIENCE_NS / LS_NS_PER_SECOND);
}

static ls_status measure(const loss_plan *plan, uint32_t matches, bench_report *report,
                         ls_text *why)
{
    slowest found = {0};
    ls_status status = LS_OK;
    for (uint64_t seed = 1; status == LS_OK && seed <= matches; seed++) {
        status = begin_match(plan, seed, &found, why);
    }
    if (status == LS_OK) {
        char name[LS_NAME_BYTES_MAX];
        snprintf(name, sizeof name, "%" PRIu32 " %% lost: slowest of %" PRIu32, plan->percent,
                 matches);
        bench_report_number(report, name, "ms", found.took_ms, BENCH_MOST(plan->took_max_ms));
        snprintf(name, sizeof name, "%" PRIu32 " %% lost: largest lead of inputs", plan->percent);
        bench_report_number(report, name, "ms", found.lead_ms, BENCH_MOST(found.lead_max_ms));
    }
    return status;
}

ls_status bench_start(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof plans / sizeof plans[0]; i++) {
        status = measure(&plans[i], plan->is_smoke ? SMOKE_MATCHES : MATCHES, report, why);
    }
    return status;
}
