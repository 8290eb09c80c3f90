#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/server/host/host.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/net_server.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <stdio.h>

enum {
    STATE_BYTES = 256,
};

#define ARENA_BODIES "20" /* a step of a few microseconds: what is measured is around it */
#define LOOK_NS (LS_NS_PER_SECOND / 4) /* between two looks at how far the server is */

typedef struct net_host {
    const bench_net_plan *plan;
    ls_host *host;
    ls_loop_source *alarm; /* as rare as can be: each look is counted as the server's work */
    int pipe;
    uint64_t playing_ns; /* since when everybody plays; 0: not yet */
    uint64_t begun_ns;   /* of the window; 0: not yet */
    bench_net_window before;
} net_host;

static bool is_everybody_playing(const net_host *server)
{
    const ls_match_table *table = ls_host_table(server->host);
    for (uint32_t i = 0; i < ls_match_table_count(table); i++) {
        if (ls_match_state_of(ls_match_table_match(table, i)) != LS_MATCH_RUNNING) {
            return false;
        }
    }
    return true;
}

static void add_slot(const ls_match_slot *slot, bench_net_window *window)
{
    window->inputs_substituted += slot->inputs_substituted;
    bool is_fine = slot->is_playing && !slot->is_desynced && slot->hashes_compared > 0;
    window->is_sound = window->is_sound && is_fine;
}

static bench_net_window count(const net_host *server)
{
    const ls_match_table *table = ls_host_table(server->host);
    ls_transport_traffic total = ls_host_total(server->host);
    bench_net_window window = {.processor_ns = bench_processor_ns(),
                               .packets_up = total.packets_received,
                               .packets_down = total.packets_sent,
                               .bytes_up = total.bytes_received,
                               .bytes_down = total.bytes_sent,
                               .is_sound = true};
    for (uint32_t i = 0; i < ls_match_table_count(table); i++) {
        const ls_match *match = ls_match_table_match(table, i);
        window.client_ticks += (uint64_t)ls_match_tick(match) * server->plan->players;
        for (uint32_t slot = 0; slot < server->plan->players; slot++) {
            ls_match_slot seat = ls_match_slot_of(match, slot);
            add_slot(&seat, &window);
        }
    }
    return window;
}

static void report_window(const net_host *server)
{
    bench_net_window now = count(server);
    const bench_net_window *before = &server->before;
    bench_net_window window = {.processor_ns = now.processor_ns - before->processor_ns,
                               .client_ticks = now.client_ticks - before->client_ticks,
                               .packets_up = now.packets_up - before->packets_up,
                               .packets_down = now.packets_down - before->packets_down,
                               .bytes_up = now.bytes_up - before->bytes_up,
                               .bytes_down = now.bytes_down - before->bytes_down,
                               .inputs_substituted =
                                   now.inputs_substituted - before->inputs_substituted,
                               .is_sound = now.is_sound};
    bench_child_send(server->pipe, &window, sizeof window);
}

static void look(void *user, uint64_t now_ns)
{
    net_host *server = user;
    ls_loop_alarm_set(server->alarm, now_ns + LOOK_NS);
    if (server->playing_ns == 0) {
        server->playing_ns = is_everybody_playing(server) ? now_ns : 0;
    } else if (server->begun_ns == 0 && now_ns - server->playing_ns >= server->plan->warm_ns) {
        server->begun_ns = now_ns;
        server->before = count(server);
        bench_net_send_begin(server->plan, server->pipe);
    } else if (server->begun_ns != 0 && now_ns - server->begun_ns >= server->plan->window_ns) {
        report_window(server);
        ls_event_loop_stop(ls_host_loop(server->host));
    }
}

static ls_match_config match_of(const bench_net_plan *plan)
{
    ls_match_config config = ls_match_config_default(
        plan->is_arena ? ls_builtin_simulation_named("arena") : bench_pad_simulation());
    if (plan->is_arena) {
        ls_status status =
            ls_sim_config_set(config.simulation, &config.sim, "bodies=" ARENA_BODIES, NULL);
        LS_ASSERT(status == LS_OK);
    } else {
        config.sim = bench_pad_config(STATE_BYTES, plan->players);
    }
    config.sim.players = plan->players;
    config.sim.tick_rate_hz = plan->rate_hz;
    return config;
}

void bench_net_host_serve(const void *user, int pipe)
{
    net_host server = {.plan = user, .pipe = pipe};
    ls_text why = {{0}};
    ls_host_config config = {.table.match = match_of(server.plan),
                             .table.matches = server.plan->clients / server.plan->players,
                             .bind_host = "127.0.0.1"};
    ls_status status = ls_host_create(&config, ls_allocator_heap(), &server.host, &why);
    ls_loop_handler handler = {look, &server};
    if (status == LS_OK) {
        status = ls_event_loop_add_alarm(ls_host_loop(server.host), handler, &server.alarm);
    }
    if (status != LS_OK) {
        fprintf(stderr, "lockstep-bench: server: %s\n",
                why.bytes[0] ? why.bytes : ls_status_text(status));
        return;
    }
    uint16_t port = ls_host_port(server.host);
    bench_child_send(pipe, &port, sizeof port);
    ls_loop_alarm_set(server.alarm, 0);
    ls_host_run(server.host);
}
