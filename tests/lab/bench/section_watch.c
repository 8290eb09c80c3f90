#include "lockstep/common/base/clock.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/crowd.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/bench/watch_host.h"

enum {
    ROUNDS = 3,
    CROWDS_MAX = 2, /* processes that the spectators are spread over */
    SPECTATORS = 1000,
    SMOKE_SPECTATORS = 20,
    SPECTATOR_RATE_HZ = 10, /* of frames */
    PLAYER_RATE_HZ = 500,   /* of looking for packets: how exactly latency is measured */
    DELAY_TICKS = 60,
    SMOKE_DELAY_TICKS = 2,
    PATIENCE_MS = 90000,
};

#define WINDOW_NS (3 * LS_NS_PER_SECOND)
#define SMOKE_NS (LS_NS_PER_SECOND * 4 / 5)
#define COMING_NS (3 * LS_NS_PER_SECOND) /* until all spectators have connected */

/* One server, four players, and spectators. */
typedef struct stage {
    bench_child server;
    bench_child players;
    bench_child crowds[CROWDS_MAX];
} stage;

static ls_status start_spectators(stage *on, const bench_watch_plan *plan, uint16_t port,
                                  ls_text *why)
{
    ls_status status = LS_OK;
    uint32_t count = plan->spectators == 0 ? 0 : CROWDS_MAX;
    for (uint32_t i = 0; status == LS_OK && i < count; i++) {
        bench_crowd crowd = {.port = port,
                             .first = plan->spectators * i / count,
                             .total = plan->spectators,
                             .rate_hz = SPECTATOR_RATE_HZ,
                             .is_spectator = true,
                             .pause_ns = plan->coming_ns * count / plan->spectators};
        crowd.clients = plan->spectators * (i + 1) / count - crowd.first;
        status = bench_child_start(&on->crowds[i], bench_crowd_play, &crowd, why);
    }
    return status;
}

static void clear(stage *on)
{
    for (uint32_t i = 0; i < CROWDS_MAX; i++) {
        bench_child_stop(&on->crowds[i]);
    }
    bench_child_stop(&on->players);
    bench_child_stop(&on->server);
}

static ls_status play(const bench_watch_plan *plan, bench_watch_window *window, ls_text *why)
{
    stage on = {0};
    bench_crowd players = {.clients = BENCH_WATCH_PLAYERS,
                           .total = BENCH_WATCH_PLAYERS,
                           .rate_hz = PLAYER_RATE_HZ,
                           .is_eager = true};
    ls_status status = bench_child_start(&on.server, bench_watch_host_serve, plan, why);
    if (status == LS_OK) {
        status = bench_child_hear(&on.server, &players.port, sizeof players.port, PATIENCE_MS, why);
    }
    if (status == LS_OK && plan->is_late) {
        status = bench_child_start(&on.players, bench_crowd_play, &players, why);
    }
    if (status == LS_OK) {
        status = start_spectators(&on, plan, players.port, why);
    }
    if (status == LS_OK) {
        uint16_t port = 0;
        status = bench_child_hear(&on.server, &port, sizeof port, PATIENCE_MS, why);
    }
    if (status == LS_OK && !plan->is_late) {
        status = bench_child_start(&on.players, bench_crowd_play, &players, why);
    }
    if (status == LS_OK) {
        status = bench_child_hear(&on.server, window, sizeof *window, PATIENCE_MS, why);
    }
    clear(&on);
    if (status == LS_OK && !window->is_sound) {
        return ls_fail(LS_DESYNCED, why, "not everybody played and watched on with %u spectators",
                       plan->spectators);
    }
    return status;
}

/* ---- what comes of it ---- */

typedef struct figures {
    bench_series core_percent;
    bench_series p50_ms;
    bench_series p99_ms;
    bench_series late_percent;
    bench_watch_window last;
} figures;

static void add(figures *to, const bench_watch_window *window)
{
    to->last = *window;
    bench_series_add(&to->core_percent,
                     100 * (double)window->processor_ns / (double)window->lasted_ns);
    bench_series_add(&to->p50_ms, window->confirm_p50_us / 1e3);
    bench_series_add(&to->p99_ms, window->confirm_p99_us / 1e3);
    bench_series_add(&to->late_percent, 100 * window->late_share);
}

static void report_figures(bench_report *report, const char *whom, const figures *of)
{
    const struct {
        const char *what;
        const char *unit;
        double value;
    } rows[] = {
        {"server, of a core", "%", bench_series_median(&of->core_percent)},
        {"confirm latency p50", "ms", bench_series_median(&of->p50_ms)},
        {"confirm latency p99", "ms", bench_series_median(&of->p99_ms)},
        {"inputs too late", "%", bench_series_median(&of->late_percent)},
        {"sent in all", "kB/s", (double)of->last.bytes_down * 1e6 / (double)of->last.lasted_ns},
    };
    char name[LS_NAME_BYTES_MAX];
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(name, sizeof name, "%s: %s", whom, rows[i].what);
        bench_report_number(report, name, rows[i].unit, rows[i].value, BENCH_UNBUDGETED);
    }
}

/* No spectators; all from the start; all arriving while the match runs. */
enum {
    ALONE,
    WATCHED,
    WATCHED_LATE,
    CASES,
};

static ls_status play_rounds(const bench_plan *bench, figures of[CASES], ls_text *why)
{
    bench_watch_plan plan = {.delay_ticks = bench->is_smoke ? SMOKE_DELAY_TICKS : DELAY_TICKS,
                             .window_ns = bench->is_smoke ? SMOKE_NS : WINDOW_NS,
                             .coming_ns = bench->is_smoke ? SMOKE_NS : COMING_NS};
    uint32_t rounds = bench->is_smoke ? 1 : ROUNDS;
    ls_status status = LS_OK;
    for (uint32_t turn = 0; status == LS_OK && turn < CASES * rounds; turn++) {
        bench_watch_window window = {0};
        plan.spectators = bench->is_smoke ? SMOKE_SPECTATORS : SPECTATORS;
        plan.spectators = turn % CASES == ALONE ? 0 : plan.spectators;
        plan.is_late = turn % CASES == WATCHED_LATE;
        status = play(&plan, &window, why);
        if (status == LS_OK) {
            add(&of[turn % CASES], &window);
        }
    }
    return status;
}

ls_status bench_watch(const bench_plan *bench, bench_report *report, ls_text *why)
{
    static const char *const names[CASES] = {"nobody watches", "1000 watch", "1000 come"};
    static const char *const smoke_names[CASES] = {"nobody watches", "20 watch", "20 come"};
    static figures of[CASES];
    ls_status status = play_rounds(bench, of, why);
    for (uint32_t i = 0; status == LS_OK && i < CASES; i++) {
        report_figures(report, bench->is_smoke ? smoke_names[i] : names[i], &of[i]);
    }
    return status;
}
