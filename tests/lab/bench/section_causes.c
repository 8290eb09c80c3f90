#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <unistd.h>

enum {
    PLAYERS = 2,
    WARM_TICKS = 300, /* then all recent states are kept that will be */
    ROUND_TICKS = 20,
    SMOKE_TICKS = 5,
    RATE_HZ = 60,
    ROUNDS_MAX = 31, /* of large states */
    LARGE_BYTES = 64 << 20,
    LARGE_SMOKE_BYTES = 1 << 20,
    SMALL_BYTES = 4096,
    LARGE_WORDS = 164, /* that change in a tick, in 1 % of its chunks */
    LARGE_TICKS = 60,
    PATIENCE_MS = 300000,
    SEPARATE_BYTES = 1 << 20, /* larger blocks are no parts of a heap that was written to before */
};

#define TICK_BUDGET_RATIO 1.7
#define TICK_BUDGET_PERCENT 2.0
#define LARGE_MEMORY_BUDGET 1.5
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

/* ---- a large state: a match and two sessions in a process of their own ---- */

typedef struct large_plan {
    uint32_t state_bytes;
    bool finds_no_causes;
} large_plan;

typedef struct large_figures {
    double resident_kb;
    double hash_ns; /* of the state by itself */
    tick_times tick;
} large_figures;

static double time_hash(size_t bytes)
{
    uint8_t *state = ls_allocate(ls_allocator_heap(), bytes);
    bench_series runs = {0};
    for (uint32_t i = 0; state && i < LARGE_TICKS / 4; i++) {
        uint64_t begun_ns = bench_processor_ns();
        bench_keep(ls_hash_bytes(state, bytes, i));
        bench_series_add(&runs, (double)(bench_processor_ns() - begun_ns));
    }
    ls_release(ls_allocator_heap(), state);
    return bench_series_median(&runs);
}

static void play_large(const void *user, int pipe)
{
    const large_plan *plan = user;
    const bench_memory_match_config config = {.players = PLAYERS,
                                              .state_bytes = plan->state_bytes,
                                              .changed_words = LARGE_WORDS,
                                              .steps_per_tick = 2,
                                              .seed = 1,
                                              .finds_no_causes = plan->finds_no_causes,
                                              .has_no_spectators = true,
                                              .counts_processor_time = true};
    ls_memory_match *match = bench_memory_match_create(&config);
    ls_text why = {{0}};
    (void)time_ticks(match, LARGE_TICKS);
    large_figures figures = {.tick = time_ticks(match, LARGE_TICKS)};
    if (bench_memory_match_check(match, &why) == LS_OK) {
        /* Each page once, however often it is mapped; what the parent holds as well, in part. */
        figures.resident_kb = bench_process_number(getpid(), "smaps_rollup", "Pss:");
        figures.hash_ns = time_hash(plan->state_bytes);
        bench_child_send(pipe, &figures, sizeof figures);
    }
}

static ls_status measure_large(const large_plan *plan, large_figures *out, ls_text *why)
{
    bench_child child = {.pipe = -1};
    ls_status status = bench_child_start(&child, play_large, plan, why);
    if (status == LS_OK) {
        status = bench_child_receive(&child, out, sizeof *out, PATIENCE_MS, why);
    }
    bench_child_stop(&child);
    return status;
}

static ls_status compare_large(const bench_plan *plan, bench_report *report, ls_text *why)
{
    const uint32_t bytes = plan->is_smoke ? LARGE_SMOKE_BYTES : LARGE_BYTES;
    large_figures with = {0};
    large_figures without = {0};
    large_figures small = {0}; /* all that is not the state, and the driver with its network */
    ls_status status = measure_large(&(large_plan){bytes, false}, &with, why);
    status = status == LS_OK ? measure_large(&(large_plan){bytes, true}, &without, why) : status;
    status =
        status == LS_OK ? measure_large(&(large_plan){SMALL_BYTES, true}, &small, why) : status;
    if (status != LS_OK) {
        return status;
    }
    const double mb = 1e6 / 1024; /* in the KB of the system */
    with.resident_kb -= small.resident_kb;
    without.resident_kb -= small.resident_kb;
    bench_report_number(report, "64 MiB, match and two sessions: memory", "MB",
                        with.resident_kb / mb, BENCH_UNBUDGETED);
    bench_report_number(report, "64 MiB, without causes", "MB", without.resident_kb / mb,
                        BENCH_UNBUDGETED);
    bench_report_number(report, "floor of that: three states", "MB",
                        (PLAYERS + 1) * (double)bytes / 1e6, BENCH_UNBUDGETED);
    bench_report_number(report, "64 MiB: memory with causes against without", "",
                        with.resident_kb / without.resident_kb,
                        plan->is_smoke ? BENCH_UNBUDGETED : BENCH_MOST(LARGE_MEMORY_BUDGET));
    bench_report_number(report, "64 MiB, 1 % changes: match, a tick", "ms",
                        with.tick.server_ns / 1e6, BENCH_UNBUDGETED);
    bench_report_number(report, "64 MiB, 1 % changes: session, a tick", "ms",
                        with.tick.session_ns / 1e6, BENCH_UNBUDGETED);
    bench_report_number(report, "floor of both: XXH3 over the state", "ms", with.hash_ns / 1e6,
                        BENCH_UNBUDGETED);
    return LS_OK;
}

ls_status bench_causes(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_heap_return(SEPARATE_BYTES);
    ls_status status = compare_large(plan, report, why);
    for (uint32_t i = 0; status == LS_OK && i < sizeof causes_cases / sizeof causes_cases[0]; i++) {
        status = measure_times(&causes_cases[i], plan, report, why);
    }
    report_memory(report);
    return status;
}
