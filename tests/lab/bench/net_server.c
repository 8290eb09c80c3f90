#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/lab/bench/net_server.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/server/host/host.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <enet/enet.h>
#include <stdio.h>
#include <time.h>

/* ==== net_host ==== */

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

/* ==== net_relay ==== */

/* The yardstick: what ENet costs with nothing around it. Once a tick it takes in what has come,
 * gives every peer a packet, and flushes. */

enum {
    SOCKET_RECEIVE_BYTES = 4 << 20,
    TIMEOUT_MIN_MS = 60000,
    TIMEOUT_MAX_MS = 120000,
    TIMEOUT_LIMIT = 1024,
    PING_INTERVAL_MS = 2000, /* as ours, or it would send more packets */
};

typedef struct net_relay {
    const bench_net_plan *plan;
    ENetHost *host;
    uint64_t ticks;
} net_relay;

static void drain(const net_relay *relay)
{
    ENetEvent event;
    while (enet_host_service(relay->host, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            enet_packet_destroy(event.packet);
        } else if (event.type == ENET_EVENT_TYPE_CONNECT) {
            enet_peer_timeout(event.peer, TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
            enet_peer_ping_interval(event.peer, PING_INTERVAL_MS);
        }
    }
}

static void send_to_all(const net_relay *relay)
{
    static const uint8_t zeros[LS_PACKET_BYTES_MAX];
    for (size_t i = 0; i < relay->host->peerCount; i++) {
        ENetPeer *peer = &relay->host->peers[i];
        if (peer->state != ENET_PEER_STATE_CONNECTED) {
            continue;
        }
        ENetPacket *packet =
            enet_packet_create(zeros, relay->plan->down_bytes, ENET_PACKET_FLAG_UNSEQUENCED);
        if (packet && enet_peer_send(peer, 0, packet) != 0) {
            enet_packet_destroy(packet);
        }
    }
    enet_host_flush(relay->host);
}

/* Ticks on until a moment of the monotonic clock. */
static void tick_until(net_relay *relay, uint64_t *next_ns, uint64_t end_ns)
{
    while (*next_ns < end_ns) {
        *next_ns += LS_NS_PER_SECOND / relay->plan->rate_hz;
        struct timespec due = {.tv_sec = (time_t)(*next_ns / LS_NS_PER_SECOND),
                               .tv_nsec = (long)(*next_ns % LS_NS_PER_SECOND)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        drain(relay);
        send_to_all(relay);
        relay->ticks++;
    }
}

static bench_net_window relay_count(const net_relay *relay)
{
    return (bench_net_window){.processor_ns = bench_processor_ns(),
                              .client_ticks = relay->ticks * relay->plan->clients,
                              .packets_up = relay->host->totalReceivedPackets,
                              .packets_down = relay->host->totalSentPackets};
}

static void measure(net_relay *relay, int pipe)
{
    uint64_t next_ns = bench_now_ns();
    while (relay->host->connectedPeers < relay->plan->clients) {
        tick_until(relay, &next_ns, next_ns + 1);
    }
    tick_until(relay, &next_ns, next_ns + relay->plan->warm_ns);
    bench_net_window before = relay_count(relay);
    bench_net_send_begin(relay->plan, pipe);
    tick_until(relay, &next_ns, next_ns + relay->plan->window_ns);
    bench_net_window now = relay_count(relay);
    bench_net_window window = {
        .processor_ns = now.processor_ns - before.processor_ns,
        .client_ticks = now.client_ticks - before.client_ticks,
        .packets_up = (uint32_t)now.packets_up - (uint32_t)before.packets_up,
        .packets_down = (uint32_t)now.packets_down - (uint32_t)before.packets_down,
        .is_sound = relay->host->connectedPeers == relay->plan->clients,
    };
    bench_child_send(pipe, &window, sizeof window);
}

void bench_net_relay_serve(const void *user, int pipe)
{
    net_relay relay = {.plan = user};
    ENetAddress address = {.port = 0};
    enet_address_set_host_ip(&address, "127.0.0.1");
    relay.host = enet_host_create(&address, relay.plan->clients, 1, 0, 0);
    if (!relay.host) {
        return;
    }
    relay.host->duplicatePeers = relay.plan->clients;
    enet_socket_set_option(relay.host->socket, ENET_SOCKOPT_RCVBUF, SOCKET_RECEIVE_BYTES);
    bench_child_send(pipe, &relay.host->address.port, sizeof relay.host->address.port);
    measure(&relay, pipe);
}

/* ---- its client ---- */

struct bench_plain_client {
    ENetHost *host;
    ENetPeer *peer;
};

bench_plain_client *bench_plain_client_connect(uint16_t port)
{
    bench_plain_client *client = ls_allocate(ls_allocator_heap(), sizeof *client);
    ENetAddress address = {.port = port};
    enet_address_set_host_ip(&address, "127.0.0.1");
    if (!client) {
        return NULL;
    }
    client->host = enet_host_create(NULL, 1, 1, 0, 0);
    client->peer = client->host ? enet_host_connect(client->host, &address, 1, 0) : NULL;
    if (!client->peer) {
        ls_release(ls_allocator_heap(), client);
        return NULL;
    }
    enet_peer_timeout(client->peer, TIMEOUT_LIMIT, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS);
    enet_peer_ping_interval(client->peer, PING_INTERVAL_MS);
    enet_host_flush(client->host);
    return client;
}

void bench_plain_client_turn(bench_plain_client *client, uint32_t packet_bytes)
{
    static const uint8_t zeros[LS_PACKET_BYTES_MAX];
    ENetEvent event;
    while (enet_host_service(client->host, &event, 0) > 0) {
        if (event.type == ENET_EVENT_TYPE_RECEIVE) {
            enet_packet_destroy(event.packet);
        }
    }
    if (client->peer->state == ENET_PEER_STATE_CONNECTED) {
        ENetPacket *packet = enet_packet_create(zeros, packet_bytes, ENET_PACKET_FLAG_UNSEQUENCED);
        if (packet && enet_peer_send(client->peer, 0, packet) != 0) {
            enet_packet_destroy(packet);
        }
        enet_host_flush(client->host);
    }
}
