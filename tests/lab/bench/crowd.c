#include "lockstep/tests/lab/bench/crowd.h"

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/net_server.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"

#include <stdio.h>
#include <string.h>

#define TOGETHER_NS (LS_NS_PER_MS / 5) /* clients due within so short a time are served at once */

/* The server and who plays share the first core. */
#define PLAYING_CORE 0u
#define WATCHING_CORE 1u

#define CONNECT_NS (30 * LS_NS_PER_SECOND)

struct crowd_loop;

typedef struct crowd_client {
    struct crowd_loop *owner;
    bench_plain_client *plain; /* or a session on a transport */
    ls_transport *transport;
    ls_session *session;
    bench_pad_player pad;
    uint64_t due_ns; /* when it wakes next */
} crowd_client;

typedef struct crowd_loop {
    const bench_crowd *crowd;
    ls_event_loop *loop;
    ls_loop_source *alarm;
    crowd_client *clients;
    uint32_t count; /* that have been made */
    uint64_t begun_ns;
} crowd_loop;

static uint64_t frame_ns(const crowd_loop *owner)
{
    return LS_NS_PER_SECOND / owner->crowd->rate_hz;
}

/* ---- what the sessions ask for ---- */

static const ls_simulation *find_simulation(void *user, const char *name)
{
    (void)user;
    return strcmp(name, bench_pad_simulation()->name) == 0 ? bench_pad_simulation() : NULL;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    crowd_client *client = user;
    (void)instance;
    (void)slot;
    (void)tick;
    return bench_pad_player_input(&client->pad, bytes);
}

/* ---- its transport ---- */

static void send_packet(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                        size_t size)
{
    const crowd_client *client = user;
    ls_transport_send(client->transport, peer, channel, bytes, size);
}

static void disconnect(void *user, ls_peer_id peer)
{
    const crowd_client *client = user;
    ls_transport_disconnect(client->transport, peer);
}

static ls_status open_transport(crowd_client *client, ls_text *why)
{
    char server[32];
    snprintf(server, sizeof server, "127.0.0.1:%u", (unsigned)client->owner->crowd->port);
    ls_transport_udp_client_config network = ls_transport_udp_client_config_default();
    network.server = server;
    network.connect_timeout_ns = CONNECT_NS; /* hundreds come at once */
    return ls_transport_udp_connect(&network, ls_allocator_heap(), &client->transport, why);
}

/* ---- one client ---- */

static void receive_packets(crowd_client *client, uint64_t now_ns)
{
    ls_transport_event event;
    ls_transport_udp_service(client->transport);
    while (ls_transport_next_event(client->transport, &event)) {
        ls_session_receive_event(client->session, &event, now_ns);
    }
}

static void play(crowd_client *client, uint64_t now_ns)
{
    ls_session_event event;
    ls_session_frame(client->session, now_ns);
    while (ls_session_next_event(client->session, &event)) {
        if (event.kind == LS_SESSION_EVENT_OVER && event.status != LS_OK) {
            fprintf(stderr, "lockstep-bench: a client has left: %s\n", event.text.bytes);
        }
    }
}

/* Once a tick: when its next input is due, or else after a frame's time. */
static void wake(crowd_client *client, uint64_t now_ns)
{
    while (client->due_ns <= now_ns + TOGETHER_NS) {
        client->due_ns += frame_ns(client->owner);
    }
    if (client->plain) {
        bench_plain_client_turn(client->plain, client->owner->crowd->packet_bytes);
        return;
    }
    receive_packets(client, now_ns);
    play(client, now_ns);
    uint64_t input_ns = ls_session_next_ns(client->session);
    bool is_later = client->owner->crowd->is_eager && input_ns > client->due_ns;
    client->due_ns = input_ns == UINT64_MAX || is_later ? client->due_ns : input_ns;
    ls_transport_flush(client->transport);
}

/* ---- making them ---- */

static ls_status create_session(crowd_client *client, ls_text *why)
{
    ls_session_config config = ls_session_config_default();
    config.find_simulation = find_simulation;
    config.make_input = make_input;
    config.user = client;
    config.makes_inputs_between_frames = true;
    config.is_spectator = client->owner->crowd->is_spectator;
    const ls_packet_sink sink = {.send = send_packet, .disconnect = disconnect, .user = client};
    return ls_session_create(&config, &sink, ls_allocator_heap(), &client->session, why);
}

static ls_status create_client(crowd_loop *owner, uint32_t index, ls_text *why)
{
    crowd_client *client = &owner->clients[index];
    const bench_crowd *crowd = owner->crowd;
    uint32_t number = crowd->first + index;
    client->owner = owner;
    client->pad = bench_pad_player_make(1, number + 1);
    client->due_ns = ls_event_loop_now_ns(owner->loop) + number * frame_ns(owner) / crowd->total;
    if (crowd->packet_bytes > 0) {
        client->plain = bench_plain_client_connect(crowd->port);
        return client->plain ? LS_OK : LS_NO_MEMORY;
    }
    ls_status status = open_transport(client, why);
    return status == LS_OK ? create_session(client, why) : status;
}

/* Makes those whose time to connect has come; when it is the next one's. */
static uint64_t create_due(crowd_loop *owner, uint64_t now_ns)
{
    while (owner->count < owner->crowd->clients) {
        uint64_t due_ns = owner->begun_ns + owner->count * owner->crowd->pause_ns;
        ls_text why = {{0}};
        if (due_ns > now_ns) {
            return due_ns;
        }
        if (create_client(owner, owner->count, &why) != LS_OK) {
            fprintf(stderr, "lockstep-bench: clients: %s\n", why.bytes);
            ls_event_loop_stop(owner->loop);
            return UINT64_MAX;
        }
        owner->count++;
    }
    return UINT64_MAX;
}

/* ---- all of them ---- */

static void on_alarm(void *user, uint64_t now_ns)
{
    crowd_loop *owner = user;
    uint64_t next_ns = create_due(owner, now_ns);
    for (uint32_t i = 0; i < owner->count; i++) {
        crowd_client *client = &owner->clients[i];
        if (client->due_ns <= now_ns + TOGETHER_NS) {
            wake(client, now_ns);
        }
        next_ns = LS_MIN(client->due_ns, next_ns);
    }
    ls_loop_alarm_set(owner->alarm, next_ns);
}

void bench_crowd_play(const void *user, int pipe)
{
    crowd_loop owner = {.crowd = user};
    ls_text why = {{0}};
    (void)pipe;
    if (owner.crowd->is_eager) {
        bench_child_stay_on(PLAYING_CORE);
    }
    if (owner.crowd->is_spectator) {
        bench_child_stay_on(WATCHING_CORE);
    }
    owner.clients =
        ls_allocate_array(ls_allocator_heap(), owner.crowd->clients, sizeof *owner.clients);
    ls_status status =
        owner.clients ? ls_event_loop_create(ls_allocator_heap(), &owner.loop) : LS_NO_MEMORY;
    ls_loop_handler handler = {on_alarm, &owner};
    if (status == LS_OK) {
        status = ls_event_loop_add_alarm(owner.loop, handler, &owner.alarm);
    }
    if (status != LS_OK) {
        fprintf(stderr, "lockstep-bench: clients: %s\n",
                why.bytes[0] ? why.bytes : ls_status_text(status));
        return;
    }
    owner.begun_ns = ls_event_loop_now_ns(owner.loop);
    ls_loop_alarm_set(owner.alarm, owner.begun_ns);
    ls_event_loop_run(owner.loop);
}
