#include "lockstep/common/base/clock.h"
#include "lockstep/server/host/host.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/crowd.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- the server: a match of the pad simulation with its spectators, the whole work of a child
 * process. It tells its port (uint16_t), later that all of them are connected (uint16_t again), and
 * in the end what a window of its life cost once all of them watch ---- */

typedef struct watch_plan {
    uint32_t spectators;
    uint32_t delay_ticks;
    bool is_late;       /* they come while the match runs; else all of them are there before it */
    uint64_t coming_ns; /* they come within so long */
    uint64_t window_ns;
} watch_plan;

typedef struct watch_window {
    uint64_t processor_ns;
    uint64_t lasted_ns;
    uint64_t bytes_down; /* to everybody, with every header */

    /* Of the whole match, of the player who had the worst. */
    uint32_t confirm_p50_us;
    uint32_t confirm_p99_us;
    double late_share;
    bool is_sound; /* all played and watched on, states were compared and none differs */
} watch_window;

enum {
    WATCH_PLAYERS = 4,
    WATCH_RATE_HZ = 60,
    STATE_BYTES = 256,
    LOOK_MS = 50, /* how often it is looked at how far the server is */
};

typedef struct watch_host {
    const watch_plan *plan;
    ls_host *host;
    const ls_match *match;
    int pipe;
    uint64_t playing_ns; /* since when the match runs; 0: not yet */
    uint64_t begun_ns;   /* of the window; 0: not yet */
    bool has_told_of_all;
    bool has_ended;
    uint32_t finished; /* players */
    watch_window window;
    ls_match_spectating spectating; /* when the window began */
} watch_host;

/* Everybody has seen a second of the match. */
static bool are_all_watching(const watch_host *server, uint64_t now_ns)
{
    uint64_t shown_ns = server->plan->delay_ticks * LS_NS_PER_SECOND / WATCH_RATE_HZ;
    uint64_t warm_ns = 2 * shown_ns + (server->plan->is_late ? server->plan->coming_ns : 0);
    return server->playing_ns != 0 && now_ns - server->playing_ns >= warm_ns &&
           ls_match_spectating_of(server->match).ever >= server->plan->spectators;
}

static void report_all(watch_host *server)
{
    if (!server->has_told_of_all &&
        ls_match_spectating_of(server->match).now >= server->plan->spectators) {
        uint16_t port = ls_host_port(server->host);
        bench_child_send(server->pipe, &port, sizeof port);
        server->has_told_of_all = true;
    }
}

static void begin(watch_host *server, uint64_t now_ns)
{
    server->begun_ns = now_ns;
    server->window.processor_ns = bench_processor_ns();
    server->window.bytes_down = ls_host_total(server->host).bytes_sent;
    server->spectating = ls_match_spectating_of(server->match);
}

static void end(watch_host *server, uint64_t now_ns)
{
    watch_window *window = &server->window;
    ls_match_spectating now = ls_match_spectating_of(server->match);
    uint64_t compared = now.hashes_compared - server->spectating.hashes_compared;
    window->processor_ns = bench_processor_ns() - window->processor_ns;
    window->bytes_down = ls_host_total(server->host).bytes_sent - window->bytes_down;
    window->lasted_ns = now_ns - server->begun_ns;
    window->is_sound = now.desynced == 0 && now.now == server->plan->spectators &&
                       (server->plan->spectators == 0 || compared > 0);
    server->has_ended = true;
    ls_host_end_matches(server->host);
}

static void look(void *user, uint64_t now_ns)
{
    watch_host *server = user;
    if (server->playing_ns == 0 && ls_match_state_of(server->match) == LS_MATCH_RUNNING) {
        server->playing_ns = now_ns;
    }
    report_all(server);
    if (server->begun_ns == 0 && are_all_watching(server, now_ns)) {
        begin(server, now_ns);
    } else if (server->begun_ns != 0 && !server->has_ended &&
               now_ns - server->begun_ns >= server->plan->window_ns) {
        end(server, now_ns);
    }
}

static void add_player(const ls_match_slot *slot, watch_window *window)
{
    const ls_finished *own = &slot->finished;
    uint64_t inputs = slot->inputs_on_time + slot->inputs_substituted;
    double late = inputs > 0 ? (double)slot->inputs_substituted / (double)inputs : 1;
    window->confirm_p50_us = LS_MAX(own->confirm_latency_p50_us, window->confirm_p50_us);
    window->confirm_p99_us = LS_MAX(own->confirm_latency_p99_us, window->confirm_p99_us);
    window->late_share = LS_MAX(late, window->late_share);
    window->is_sound = window->is_sound && !slot->is_desynced && slot->hashes_compared > 0;
}

static void on_event(void *user, const ls_match_table_event *event)
{
    watch_host *server = user;
    server->finished += event->event.kind == LS_MATCH_PLAYER_FINISHED ? 1 : 0;
    if (event->event.kind != LS_MATCH_PLAYER_FINISHED || server->finished < WATCH_PLAYERS) {
        return;
    }
    for (uint32_t slot = 0; slot < WATCH_PLAYERS; slot++) {
        ls_match_slot seat = ls_match_slot_of(server->match, slot);
        add_player(&seat, &server->window);
    }
    bench_child_send(server->pipe, &server->window, sizeof server->window);
    ls_event_loop_stop(ls_host_loop(server->host));
}

/* An bench_child_work; `user` is an watch_plan. */
static void serve(const void *user, int pipe)
{
    watch_host server = {.plan = user, .pipe = pipe};
    ls_text why = {{0}};
    bench_child_stay_on(0); /* with the players, and away from the spectators */
    ls_host_config config = {.table.match = ls_match_config_default(bench_pad_simulation()),
                             .table.matches = 1,
                             .bind_host = "127.0.0.1",
                             .on_event = on_event,
                             .table.user = &server};
    config.table.match.sim = bench_pad_config(STATE_BYTES, WATCH_PLAYERS);
    config.table.match.sim.tick_rate_hz = WATCH_RATE_HZ;
    config.table.match.spectators_max = server.plan->spectators;
    config.table.match.spectator_delay_ticks = server.plan->delay_ticks;
    ls_status status = ls_host_create(&config, ls_allocator_heap(), &server.host, &why);
    ls_loop_handler handler = {look, &server};
    if (status == LS_OK) {
        server.match = ls_match_table_match(ls_host_table(server.host), 0);
        status = ls_event_loop_add_timer(ls_host_loop(server.host), LOOK_MS, handler, NULL);
    }
    if (status != LS_OK) {
        fprintf(stderr, "lockstep-bench: server: %s\n",
                why.bytes[0] ? why.bytes : ls_status_text(status));
        return;
    }
    uint16_t port = ls_host_port(server.host);
    bench_child_send(pipe, &port, sizeof port);
    ls_host_run(server.host);
}

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

static ls_status start_spectators(stage *on, const watch_plan *plan, uint16_t port, ls_text *why)
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

static ls_status play(const watch_plan *plan, watch_window *window, ls_text *why)
{
    stage on = {0};
    bench_crowd players = {.clients = WATCH_PLAYERS,
                           .total = WATCH_PLAYERS,
                           .rate_hz = PLAYER_RATE_HZ,
                           .is_eager = true};
    ls_status status = bench_child_start(&on.server, serve, plan, why);
    if (status == LS_OK) {
        status =
            bench_child_receive(&on.server, &players.port, sizeof players.port, PATIENCE_MS, why);
    }
    if (status == LS_OK && plan->is_late) {
        status = bench_child_start(&on.players, bench_crowd_play, &players, why);
    }
    if (status == LS_OK) {
        status = start_spectators(&on, plan, players.port, why);
    }
    if (status == LS_OK) {
        uint16_t port = 0;
        status = bench_child_receive(&on.server, &port, sizeof port, PATIENCE_MS, why);
    }
    if (status == LS_OK && !plan->is_late) {
        status = bench_child_start(&on.players, bench_crowd_play, &players, why);
    }
    if (status == LS_OK) {
        status = bench_child_receive(&on.server, window, sizeof *window, PATIENCE_MS, why);
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
    watch_window last;
} figures;

static void add(figures *to, const watch_window *window)
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
    watch_plan plan = {.delay_ticks = bench->is_smoke ? SMOKE_DELAY_TICKS : DELAY_TICKS,
                       .window_ns = bench->is_smoke ? SMOKE_NS : WINDOW_NS,
                       .coming_ns = bench->is_smoke ? SMOKE_NS : COMING_NS};
    uint32_t rounds = bench->is_smoke ? 1 : ROUNDS;
    ls_status status = LS_OK;
    for (uint32_t turn = 0; status == LS_OK && turn < CASES * rounds; turn++) {
        watch_window window = {0};
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
