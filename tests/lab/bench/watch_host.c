#include "lockstep/tests/lab/bench/watch_host.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/server/host/host.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <stdio.h>

enum {
    STATE_BYTES = 256,
    LOOK_MS = 50, /* how often it is looked at how far the server is */
};

typedef struct watch_host {
    const bench_watch_plan *plan;
    ls_host *host;
    const ls_match *match;
    int pipe;
    uint64_t playing_ns; /* since when the match runs; 0: not yet */
    uint64_t begun_ns;   /* of the window; 0: not yet */
    bool has_told_of_all;
    bool has_ended;
    uint32_t finished; /* players */
    bench_watch_window window;
    ls_match_spectating spectating; /* when the window began */
} watch_host;

/* Everybody has seen a second of the match. */
static bool are_all_watching(const watch_host *server, uint64_t now_ns)
{
    uint64_t shown_ns = server->plan->delay_ticks * LS_NS_PER_SECOND / BENCH_WATCH_RATE_HZ;
    uint64_t warm_ns = 2 * shown_ns + (server->plan->is_late ? server->plan->coming_ns : 0);
    return server->playing_ns != 0 && now_ns - server->playing_ns >= warm_ns &&
           ls_match_spectating_of(server->match).ever >= server->plan->spectators;
}

static void tell_of_all(watch_host *server)
{
    if (!server->has_told_of_all &&
        ls_match_spectating_of(server->match).now >= server->plan->spectators) {
        uint16_t port = ls_host_port(server->host);
        bench_child_tell(server->pipe, &port, sizeof port);
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
    bench_watch_window *window = &server->window;
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
    tell_of_all(server);
    if (server->begun_ns == 0 && are_all_watching(server, now_ns)) {
        begin(server, now_ns);
    } else if (server->begun_ns != 0 && !server->has_ended &&
               now_ns - server->begun_ns >= server->plan->window_ns) {
        end(server, now_ns);
    }
}

static void add_player(const ls_match_slot *slot, bench_watch_window *window)
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
    if (event->event.kind != LS_MATCH_PLAYER_FINISHED || server->finished < BENCH_WATCH_PLAYERS) {
        return;
    }
    for (uint32_t slot = 0; slot < BENCH_WATCH_PLAYERS; slot++) {
        ls_match_slot seat = ls_match_slot_of(server->match, slot);
        add_player(&seat, &server->window);
    }
    bench_child_tell(server->pipe, &server->window, sizeof server->window);
    ls_event_loop_stop(ls_host_loop(server->host));
}

void bench_watch_host_serve(const void *user, int pipe)
{
    watch_host server = {.plan = user, .pipe = pipe};
    ls_text why = {{0}};
    bench_child_stay_on(0); /* with the players, and away from the spectators */
    ls_host_config config = {.match = ls_match_config_default(bench_pad_simulation()),
                             .matches = 1,
                             .bind_host = "127.0.0.1",
                             .on_event = on_event,
                             .user = &server};
    config.match.sim = bench_pad_config(STATE_BYTES, BENCH_WATCH_PLAYERS);
    config.match.sim.tick_rate_hz = BENCH_WATCH_RATE_HZ;
    config.match.spectators_max = server.plan->spectators;
    config.match.spectator_delay_ticks = server.plan->delay_ticks;
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
    bench_child_tell(pipe, &port, sizeof port);
    ls_host_run(server.host);
}
