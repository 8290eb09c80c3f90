#include "lockstep/common/base/limits.h"
#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

enum {
    PLAYERS = 2,
    WARM_TICKS = 300, /* then all recent states are kept that will be */
    ROUND_TICKS = 20,
    SMOKE_TICKS = 5,
    RATE_HZ = 60,
    ROUNDS_MAX = 31, /* of large states */
};

#define TICK_BUDGET_RATIO 1.7
#define TICK_BUDGET_PERCENT 2.0
#define TICK_PERCENT_NS (1e9 / RATE_HZ / 100)

typedef struct causes_case {
    const char *what;
    uint32_t state_bytes;                     /* of the pad simulation */
    const ls_simulation *(*simulation)(void); /* or NULL */
    uint32_t predict_ticks;
    bool is_long; /* a tick: only the time of this thread counts, whatever else runs */
} causes_case;

/* Few words of the pad simulation change in a tick, and most of the units' state does. */
static const causes_case causes_cases[] = {
    {"256 B", 256, NULL, 0, false},
    {"1 MiB", 1 << 20, NULL, 0, true},
    {"1 MiB predicted", 1 << 20, NULL, 8, true},
    {"1.4 MB of units", 0, ls_units_simulation, 0, true},
    {"arena", 0, ls_arena_simulation, 0, true},
};

typedef struct two_matches {
    ls_memory_match *with;
    ls_memory_match *without;
} two_matches;

static ls_memory_match *create_match(const causes_case *one, bool finds_no_causes)
{
    bench_memory_match_config config = {
        .players = PLAYERS,
        .state_bytes = one->state_bytes,
        .predict_ticks = one->predict_ticks,
        .steps_per_tick = 2,
        .seed = 1,
        .simulation = one->simulation ? one->simulation() : NULL,
        .finds_no_causes = finds_no_causes,
        .counts_processor_time = one->is_long,
    };
    return bench_memory_match_create(&config);
}

typedef struct tick_times {
    double server_ns;
    double session_ns;
} tick_times;

static tick_times time_ticks(ls_memory_match *match, uint32_t ticks)
{
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match, ticks);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    double count = (double)(after.ticks - before.ticks);
    return (tick_times){
        .server_ns = (double)(after.server_ns - before.server_ns) / count,
        .session_ns = (double)(after.sessions_ns - before.sessions_ns) / count / PLAYERS,
    };
}

/* Of one side: a tick of each round, and what keeping states adds to it. */
typedef struct side_times {
    bench_series with;
    bench_series without;
    bench_times added;
} side_times;

static void add_round(side_times *side, double with_ns, double without_ns, double slowdown)
{
    bench_series_add(&side->with, with_ns);
    bench_series_add(&side->without, without_ns);
    bench_times_add(&side->added, with_ns - without_ns, slowdown);
}

static void report_side(bench_report *report, const causes_case *one, const char *side,
                        const side_times *times)
{
    const bench_series *with = &times->with, *without = &times->without;
    bench_ratios ratios = {.of_bests = bench_series_min(with) / bench_series_min(without)};
    for (uint32_t i = 0; i < with->count; i++) {
        bench_series_add(&ratios.rounds, with->values[i] / without->values[i]);
    }
    bool has_budget = one->state_bytes == 1 << 20;
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%s: %s, against without", one->what, side);
    bench_report_ratios(report, name, &ratios,
                        has_budget ? BENCH_MOST(TICK_BUDGET_RATIO) : BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s: %s, without", one->what, side);
    bench_report_number(report, name, "ns", bench_series_median(without), BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s: %s, of a tick of 16.7 ms", one->what, side);
    double added_ns = bench_series_median(&times->added.reference_speed_ns);
    bench_report_number(report, name, "%", added_ns / TICK_PERCENT_NS,
                        BENCH_MOST(TICK_BUDGET_PERCENT));
}

static void time_rounds(const causes_case *one, const two_matches *matches, const bench_plan *plan,
                        bench_report *report)
{
    static side_times server, session; /* too big for a stack */
    server = session = (side_times){0};
    uint32_t ticks = plan->is_smoke ? SMOKE_TICKS : ROUND_TICKS;
    uint32_t rounds = LS_MIN(plan->rounds, ROUNDS_MAX);
    (void)time_ticks(matches->with, plan->is_smoke ? SMOKE_TICKS : WARM_TICKS);
    (void)time_ticks(matches->without, plan->is_smoke ? SMOKE_TICKS : WARM_TICKS);
    for (uint32_t round = 0; round < rounds; round++) {
        double slowdown = bench_slowdown();
        tick_times with = time_ticks(matches->with, ticks);
        tick_times without = time_ticks(matches->without, ticks);
        add_round(&server, with.server_ns, without.server_ns, slowdown);
        add_round(&session, with.session_ns, without.session_ns, slowdown);
    }
    report_side(report, one, "match", &server);
    report_side(report, one, "session", &session);
}

static ls_status measure_times(const causes_case *one, const bench_plan *plan, bench_report *report,
                               ls_text *why)
{
    two_matches matches = {create_match(one, false), create_match(one, true)};
    time_rounds(one, &matches, plan, report);
    ls_status status = bench_memory_match_check(matches.with, why);
    bench_memory_match_destroy(matches.with);
    bench_memory_match_destroy(matches.without);
    return status;
}

static void report_memory(bench_report *report)
{
    const struct {
        const char *what;
        size_t state_bytes;
    } sizes[] = {{"256 B", 256},
                 {"16 KiB", 16 << 10},
                 {"108 KB", 108000},
                 {"1 MiB", 1 << 20},
                 {"64 MiB", 64 << 20}};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const ls_replay_needs needs = {sizes[i].state_bytes, RATE_HZ, 1, false};
        ls_replay_window_config config = ls_replay_window_config_default(&needs);
        double bytes = (double)ls_replay_window_bytes(&config, sizes[i].state_bytes);
        char name[LS_NAME_BYTES_MAX];
        snprintf(name, sizeof name, "%s: memory of a window", sizes[i].what);
        double most = 3.5 * (double)sizes[i].state_bytes + (1 << 20);
        bench_report_number(report, name, "B", bytes,
                            sizes[i].state_bytes > LS_REPLAY_SMALL_STATE_BYTES ? BENCH_MOST(most)
                                                                               : BENCH_UNBUDGETED);
    }
}

ls_status bench_causes(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof causes_cases / sizeof causes_cases[0]; i++) {
        status = measure_times(&causes_cases[i], plan, report, why);
    }
    report_memory(report);
    return status;
}
