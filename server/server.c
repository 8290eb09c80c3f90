#include "lockstep/server/server.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/output.h"
#include "lockstep/common/timestep.h"
#include "lockstep/protocol/event_loop.h"
#include "lockstep/protocol/transport_enet.h"
#include "lockstep/server/match_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    GUESTS_MAX = 64, /* connections beside the players, so that they can be told why not */
    PROGRESS_MS = 250,
    PROGRESS_PLAYERS_MAX = 16, /* lines that fit a terminal */
};

/* The timer is armed anew when the match's next tick is this far from where the timer expects it:
 * at the start, after a wait, and when the machine was suspended. */
#define TIMER_TOLERANCE_NS (LS_NS_PER_MS / 10)

typedef struct server {
    const ls_server_config *config;
    ls_console *console;
    ls_event_loop *loop;
    ls_transport *transport;
    ls_match *match;
    ls_loop_source *tick_timer;
    uint64_t timer_next_ns;
    uint64_t dt_ns;
    bool is_stopping; /* a signal has come */
    bool has_desync;
    bool has_failed;
    ls_transport_traffic traffic[LS_PLAYERS_MAX];
} server;

/* ---- news ---- */

static void tell_stall(const server *host, const ls_match_event *event)
{
    ls_text names = {{0}};
    for (uint32_t slot = 0; slot < ls_match_players(host->match); slot++) {
        if (event->slot_mask >> slot & 1u) {
            ls_match_slot player = ls_match_slot_of(host->match, slot);
            ls_text_add(&names, "%s%s (slot %" PRIu32 ")", names.bytes[0] ? ", " : "", player.name,
                        slot);
        }
    }
    ls_log_line(&host->console->log, LS_LOG_WARNING,
                "tick %" PRIu32 " waits for %s since %" PRIu32 " ms", event->tick, names.bytes,
                event->waited_ms);
}

static void tell_desync(server *host, const ls_match_event *event)
{
    ls_match_slot player = ls_match_slot_of(host->match, event->slot);
    host->has_desync = true;
    ls_log_line(&host->console->log, LS_LOG_ERROR,
                "DESYNC: slot %" PRIu32 " (%s) differs from tick %" PRIu32 " on: server %016" PRIx64
                ", client %016" PRIx64,
                event->slot, player.name, event->tick, event->server_root, event->client_root);
}

static void tell_left(const server *host, const ls_match_event *event)
{
    bool is_planned = event->status == LS_DISCONNECTED;
    ls_match_slot player = ls_match_slot_of(host->match, event->slot);
    ls_text who = {{0}};
    ls_text_set(&who, player.name[0] ? "slot %" PRIu32 " (%s)" : "slot %" PRIu32, event->slot,
                player.name);
    ls_log_line(&host->console->log, is_planned ? LS_LOG_INFO : LS_LOG_WARNING,
                "%s left at tick %" PRIu32 ": %s (%s)", who.bytes, event->tick, event->text.bytes,
                ls_status_name(event->status));
}

static void tell(server *host, const ls_match_event *event)
{
    const ls_log *log = &host->console->log;
    switch (event->kind) {
    case LS_MATCH_PLAYER_SEATED:
        ls_log_line(log, LS_LOG_INFO, "slot %" PRIu32 ": %s joined", event->slot,
                    event->text.bytes);
        break;
    case LS_MATCH_PLAYER_READY:
        ls_log_line(log, LS_LOG_DEBUG, "slot %" PRIu32 ": ready", event->slot);
        break;
    case LS_MATCH_PLAYER_LEFT:
        tell_left(host, event);
        break;
    case LS_MATCH_PLAYER_FINISHED:
        ls_log_line(log, LS_LOG_DEBUG, "slot %" PRIu32 ": finished", event->slot);
        break;
    case LS_MATCH_PEER_REFUSED:
        ls_log_line(log, LS_LOG_WARNING, "refused a client: %s (%s)", event->text.bytes,
                    ls_status_name(event->status));
        break;
    case LS_MATCH_STARTED:
        ls_log_line(log, LS_LOG_INFO, "the match starts");
        break;
    case LS_MATCH_STALLED:
        tell_stall(host, event);
        break;
    case LS_MATCH_DESYNC:
        tell_desync(host, event);
        break;
    case LS_MATCH_ENDED:
        ls_log_line(log, LS_LOG_INFO, "the last tick is closed: %" PRIu32, event->tick);
        break;
    case LS_MATCH_FINISHED:
        break;
    }
}

static void draw_player(const server *host, uint32_t slot)
{
    ls_match_slot player = ls_match_slot_of(host->match, slot);
    if (player.peer == 0) {
        ls_console_line(host->console, "  %2" PRIu32 "  %-16s %s", slot, player.name,
                        player.has_played ? ls_status_text(player.left_status) : "free");
        return;
    }
    ls_console_line(host->console,
                    "  %2" PRIu32 "  %-16s rtt %6.1f ms  slack %6.1f ms  behind %3" PRIu32
                    "  late %" PRIu64 "  %s %" PRIu32,
                    slot, player.name, (double)player.rtt_ns / 1e6, (double)player.slack_ns / 1e6,
                    player.ticks_behind, player.inputs_late,
                    player.is_desynced ? "DESYNC at" : "agrees to",
                    player.is_desynced ? player.desync_tick : player.agreed_tick);
}

static void draw_progress(void *user, uint64_t now_ns)
{
    server *host = user;
    (void)now_ns;
    uint32_t players = ls_match_players(host->match);
    static const char *const states[] = {"waiting for players", "running", "ending", "over"};
    ls_console_begin(host->console);
    ls_console_line(host->console, "tick %" PRIu32 "  %s", ls_match_tick(host->match),
                    states[ls_match_state_of(host->match)]);
    for (uint32_t slot = 0; slot < players && slot < PROGRESS_PLAYERS_MAX; slot++) {
        draw_player(host, slot);
    }
    ls_console_end(host->console);
}

/* ---- the loop ---- */

static void keep_traffic(server *host, ls_peer_id peer)
{
    for (uint32_t slot = 0; slot < ls_match_players(host->match); slot++) {
        if (peer != 0 && ls_match_slot_of(host->match, slot).peer == peer) {
            host->traffic[slot] = ls_transport_traffic_of(host->transport, peer);
        }
    }
}

static void keep_all_traffic(server *host)
{
    for (uint32_t slot = 0; slot < ls_match_players(host->match); slot++) {
        keep_traffic(host, ls_match_slot_of(host->match, slot).peer);
    }
}

static void on_tick(void *user, uint64_t now_ns);

static void arm_timer(server *host, uint64_t first_ns)
{
    ls_loop_source_remove(host->tick_timer);
    host->tick_timer = NULL;
    ls_tick_timer_config config = {.first_ns = first_ns, .period_ns = host->dt_ns};
    ls_loop_handler handler = {on_tick, host};
    if (ls_event_loop_add_tick_timer(host->loop, &config, handler, &host->tick_timer) != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_ERROR, "the system has no timer left");
        host->has_failed = true;
        ls_event_loop_stop(host->loop);
    }
    host->timer_next_ns = first_ns;
}

static void keep_timer_in_phase(server *host, uint64_t now_ns)
{
    while (host->timer_next_ns <= now_ns) {
        host->timer_next_ns += host->dt_ns;
    }
    uint64_t wanted_ns = ls_match_next_ns(host->match);
    bool is_next_tick = wanted_ns > now_ns && wanted_ns - now_ns <= host->dt_ns;
    if (ls_match_state_of(host->match) != LS_MATCH_RUNNING || !is_next_tick) {
        return; /* nothing is due, or a tick waits for somebody's input */
    }
    uint64_t phase_ns = (wanted_ns > host->timer_next_ns ? wanted_ns - host->timer_next_ns
                                                         : host->timer_next_ns - wanted_ns) %
                        host->dt_ns;
    bool is_far = phase_ns > TIMER_TOLERANCE_NS && host->dt_ns - phase_ns > TIMER_TOLERANCE_NS;
    if (is_far) {
        arm_timer(host, wanted_ns);
    }
}

static void after_turn(server *host, uint64_t now_ns)
{
    ls_match_event event;
    while (ls_match_next_event(host->match, &event)) {
        tell(host, &event);
    }
    ls_transport_flush(host->transport);
    if (ls_match_state_of(host->match) == LS_MATCH_OVER) {
        ls_event_loop_stop(host->loop);
        return;
    }
    keep_timer_in_phase(host, now_ns);
}

static void take_packets(server *host, uint64_t now_ns)
{
    ls_transport_event event;
    while (ls_transport_next_event(host->transport, &event)) {
        switch (event.kind) {
        case LS_TRANSPORT_CONNECTED:
            ls_match_peer_connected(host->match, event.peer, now_ns);
            break;
        case LS_TRANSPORT_DISCONNECTED:
            keep_traffic(host, event.peer);
            ls_match_peer_disconnected(host->match, event.peer, event.reason, now_ns);
            break;
        case LS_TRANSPORT_RECEIVED:
            ls_match_receive(host->match, event.peer, event.lane, event.bytes, event.size, now_ns);
            break;
        }
    }
}

static void on_packets(void *user, uint64_t now_ns)
{
    server *host = user;
    take_packets(host, now_ns);
    after_turn(host, now_ns);
}

static void on_tick(void *user, uint64_t now_ns)
{
    server *host = user;
    take_packets(host, now_ns); /* what is already there must not be late */
    keep_all_traffic(host);
    ls_match_advance(host->match, now_ns);
    after_turn(host, now_ns);
}

static void on_signal(void *user, uint64_t now_ns)
{
    server *host = user;
    if (host->is_stopping) {
        ls_event_loop_stop(host->loop);
        return;
    }
    host->is_stopping = true;
    ls_log_line(&host->console->log, LS_LOG_INFO,
                "stopping; once more to stop without waiting for the clients");
    keep_all_traffic(host);
    ls_match_stop(host->match, now_ns);
    after_turn(host, now_ns);
}

/* ---- the end ---- */

static ls_exit_code finish(server *host)
{
    static ls_summary summary;
    ls_text why = {{0}};
    ls_exit_code code = host->has_desync   ? LS_EXIT_DESYNC
                        : host->has_failed ? LS_EXIT_ENVIRONMENT
                                           : LS_EXIT_CLEAN;
    ls_match_summarize(host->match, &host->config->match, host->traffic, &summary);
    ls_console_clear(host->console);
    ls_match_summary_log(&summary, &host->console->log);
    if (host->config->json_path &&
        ls_summary_write(&summary, host->config->json_path, &why) != LS_OK) {
        ls_log_line(&host->console->log, LS_LOG_ERROR, "%s", why.bytes);
        code = code == LS_EXIT_CLEAN ? LS_EXIT_ENVIRONMENT : code;
    }
    return code;
}

/* ---- building it ---- */

static ls_status open_network(server *host, ls_text *why)
{
    const ls_server_config *config = host->config;
    ls_transport_enet_server_config network = ls_transport_enet_server_config_default();
    network.bind_host = config->bind_host;
    network.port = config->port;
    network.peers_max = config->match.sim.players + GUESTS_MAX;
    network.peers_per_address_max = network.peers_max;
    ls_status status = ls_event_loop_create(ls_allocator_heap(), &host->loop);
    if (status == LS_OK) {
        status = ls_transport_enet_listen(&network, ls_allocator_heap(), &host->transport, why);
    }
    if (status == LS_OK) {
        ls_loop_handler on_ready = {on_packets, host};
        status = ls_transport_enet_attach(host->transport, host->loop, on_ready);
    }
    return status;
}

static ls_status write_port_file(const server *host, ls_text *why)
{
    const char *path = host->config->port_file;
    return path ? ls_output_write_port(path, ls_transport_enet_port(host->transport), why) : LS_OK;
}

static ls_status add_handlers(server *host)
{
    ls_loop_handler signal_handler = {on_signal, host};
    ls_status status = ls_event_loop_add_stop_signals(host->loop, signal_handler);
    if (status == LS_OK && host->console->is_live) {
        ls_loop_handler progress = {draw_progress, host};
        status = ls_event_loop_add_timer(host->loop, PROGRESS_MS, progress, NULL);
    }
    return status;
}

static ls_status build(server *host, ls_text *why)
{
    const char *json_path = host->config->json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    if (status == LS_OK) {
        status = open_network(host, why);
    }
    if (status != LS_OK) {
        return status;
    }
    ls_packet_sink sink = ls_transport_sink(host->transport);
    status = ls_match_create(&host->config->match, &sink, ls_allocator_heap(), &host->match, why);
    if (status != LS_OK) {
        return status;
    }
    host->dt_ns = ls_timestep_config_default(host->config->match.sim.tick_rate_hz).dt_ns;
    arm_timer(host, ls_event_loop_now_ns(host->loop));
    status = add_handlers(host);
    return status == LS_OK ? write_port_file(host, why) : status;
}

ls_exit_code ls_server_run(const ls_server_config *config, ls_console *console)
{
    server host = {.config = config, .console = console};
    ls_text why = {{0}};
    ls_status status = build(&host, &why);
    ls_exit_code code = ls_exit_code_of(status);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        ls_log_line(&console->log, LS_LOG_INFO, "listening on %s:%u, %s for %" PRIu32 " players",
                    config->bind_host, ls_transport_enet_port(host.transport),
                    config->match.simulation->name, config->match.sim.players);
        ls_event_loop_run(host.loop);
        code = finish(&host);
    }
    ls_match_destroy(host.match);
    ls_transport_destroy(host.transport);
    ls_event_loop_destroy(host.loop);
    return code;
}
