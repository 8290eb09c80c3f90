/* Latency: how long after it is made an input is confirmed on all clients, beyond the path, and how
 * many inputs are too late, on networks that lose much. The budgets of the design. */
#include "lockstep/common/base/histogram.h"
#include "lockstep/tests/match/match_test.h"

enum {
    PLAYERS = 4,
    WARM_TICKS = 600,
    TICKS = 3600,
};

static const uint64_t GLANCE_NS = MS / 2;

typedef struct network {
    uint64_t rtt_ns;
    uint32_t loss_ppm;
    uint64_t p50_max_ns; /* beyond the path; 0: any */
    uint64_t p99_max_ns;
    uint32_t late_max; /* of ten thousand */
} network;

static ls_tick confirmed_by_all(const virtual_match *run)
{
    ls_tick least = UINT32_MAX;
    for (uint32_t i = 0; i < PLAYERS; i++) {
        ls_tick confirmed = report_of(run->clients[i]).confirmed;
        least = confirmed < least ? confirmed : least;
    }
    return least;
}

static void watch(virtual_match *run, ls_histogram *latency)
{
    ls_tick seen = confirmed_by_all(run);
    ls_tick end = ls_match_tick(run->match) + TICKS;
    while (ls_match_tick(run->match) < end) {
        virtual_match_run(run, GLANCE_NS);
        for (ls_tick all = confirmed_by_all(run); seen < all; seen++) {
            for (uint32_t i = 0; i < PLAYERS; i++) {
                uint64_t made_ns = client_check_of(run->clients[i])->made_at[seen];
                if (made_ns != 0) {
                    ls_histogram_add(latency, run->now_ns - made_ns);
                }
            }
        }
    }
}

static void check_network(const network *one)
{
    static ls_histogram latency;
    latency = (ls_histogram){0};
    virtual_setup setup = virtual_setup_default(test_simulation(), PLAYERS, 0);
    setup.link = (ls_link_config){.delay_ns = one->rtt_ns / 2, .loss_ppm = one->loss_ppm};
    virtual_match *run = match_at(&setup, WARM_TICKS);
    uint64_t late = substituted(run);
    watch(run, &latency);
    late = substituted(run) - late;
    uint64_t p50_ns = ls_histogram_percentile_ns(&latency, 50) - one->rtt_ns;
    uint64_t p99_ns = ls_histogram_percentile_ns(&latency, 99) - one->rtt_ns;
    cr_assert_geq(latency.count, PLAYERS * TICKS * 9 / 10);
    cr_assert(one->p50_max_ns == 0 || p50_ns <= one->p50_max_ns, "%u ppm: p50 %lu us",
              one->loss_ppm, (unsigned long)(p50_ns / 1000));
    cr_assert_leq(p99_ns, one->p99_max_ns, "%u ppm: p99 %lu us", one->loss_ppm,
                  (unsigned long)(p99_ns / 1000));
    cr_assert_leq(late * 10000, one->late_max * PLAYERS * TICKS, "%u ppm: %lu late", one->loss_ppm,
                  (unsigned long)late);
    close_run(run);
}

Test(latency, a_loss_costs_as_many_ticks_as_it_may)
{
    static const network networks[] = {
        {.p99_max_ns = 3 * MS},
        {.loss_ppm = 50000, .p50_max_ns = DT_NS, .p99_max_ns = 2 * DT_NS, .late_max = 50},
        {.loss_ppm = 200000, .p50_max_ns = 2 * DT_NS, .p99_max_ns = 3 * DT_NS, .late_max = 110},
    };
    static const uint64_t rtts_ms[] = {67, 100};
    for (size_t i = 0; i < 2 * sizeof networks / sizeof networks[0]; i++) {
        network one = networks[i / 2];
        one.rtt_ns = rtts_ms[i % 2] * MS;
        check_network(&one);
    }
}
