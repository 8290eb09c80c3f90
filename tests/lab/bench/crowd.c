#include "lockstep/tests/lab/bench/crowd.h"

#include "lockstep/client/session/session.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/net_server.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"

#include <stdio.h>
#include <string.h>

/* ---- the arena for clients that stand for as many machines and run in one process. Equal steps
 * out of equal states, of all matches alike, are simulated once and then copied: so hundreds of
 * players of matches that go the same way leave the server its share of the machine. For one
 * thread ---- */

enum {
    RESULTS = 1024,
    PASSES_MAX = 16,
};

typedef struct shared_result {
    uint64_t key; /* of the step; 0: none */
    size_t capacity;
    uint8_t *state; /* [capacity] */
} shared_result;

static struct {
    ls_simulation simulation;
    ls_pass passes[PASSES_MAX];
    shared_result results[RESULTS]; /* by their key */
    uint64_t key;                   /* of the step that is being simulated */
    bool is_copied;                 /* it need not be */
} shared;

static uint64_t key_of(const ls_step *step, size_t state_bytes)
{
    uint64_t key = ls_hash_bytes(step->state, state_bytes, step->inputs->tick);
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        key = ls_hash_pair(key, ls_hash_bytes(input->bytes, input->size, input->events));
    }
    return key != 0 ? key : 1;
}

static void begin(const ls_step *step)
{
    size_t state_bytes = shared.simulation.state_bytes(step->config);
    shared.key = key_of(step, state_bytes);
    const shared_result *known = &shared.results[shared.key % RESULTS];
    shared.is_copied = known->key == shared.key && known->capacity >= state_bytes;
    if (shared.is_copied) {
        memcpy(step->state, known->state, state_bytes);
    }
}

static void keep(const ls_step *step)
{
    size_t state_bytes = shared.simulation.state_bytes(step->config);
    shared_result *kept = &shared.results[shared.key % RESULTS];
    kept->key = 0;
    if (kept->capacity < state_bytes) {
        ls_release(ls_allocator_heap(), kept->state);
        kept->state = ls_allocate(ls_allocator_heap(), state_bytes);
        kept->capacity = kept->state ? state_bytes : 0;
    }
    if (kept->state) {
        memcpy(kept->state, step->state, state_bytes);
        kept->key = shared.key;
    }
}

static void run(const ls_step *step, uint32_t pass)
{
    const ls_simulation *arena = ls_arena_simulation();
    if (pass == 0) {
        begin(step);
    }
    if (!shared.is_copied) {
        arena->passes[pass].run(step);
    }
    if (!shared.is_copied && pass + 1 == arena->pass_count) {
        keep(step);
    }
}

/* A pass is not told which one it is. */
#define PASSES(X)                                                                                  \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define RUN_PASS(index)                                                                            \
    static void run_pass_##index(const ls_step *step)                                              \
    {                                                                                              \
        run(step, index);                                                                          \
    }
PASSES(RUN_PASS)

#define PASS_AT(index) run_pass_##index,
static void (*const runs[PASSES_MAX])(const ls_step *step) = {PASSES(PASS_AT)};

/* The arena with its results shared; NULL without memory. Good until the process ends. */
static const ls_simulation *shared_arena(void)
{
    const ls_simulation *arena = ls_arena_simulation();
    if (arena->pass_count > PASSES_MAX) {
        return NULL;
    }
    if (!shared.simulation.name) {
        shared.simulation = *arena;
        shared.simulation.passes = shared.passes;
        for (uint32_t i = 0; i < arena->pass_count; i++) {
            shared.passes[i] = (ls_pass){arena->passes[i].name, runs[i]};
        }
    }
    return &shared.simulation;
}

#define TOGETHER_NS (LS_NS_PER_MS / 5) /* clients due within so short a time are served at once */

/* The server and who plays share the first core. */
#define PLAYING_CORE 0u
#define WATCHING_CORE 1u

#define ARENA_FIRST_TICKS 240u
#define ARENA_INPUT_TICKS 64u /* that a pad is held */
#define CONNECT_NS (30 * LS_NS_PER_SECOND)
#define AGAIN_NS LS_NS_PER_SECOND /* from when there was no seat */

struct crowd_loop;

typedef struct crowd_client {
    struct crowd_loop *owner;
    bench_plain_client *plain; /* or a session on a transport */
    ls_transport *transport;
    ls_session *session;
    bench_pad_player pad;
    ls_peer_id server;
    uint64_t due_ns;   /* when it wakes next */
    uint64_t again_ns; /* when it asks for a seat once more, on another socket; 0: it has one */
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
    const crowd_client *client = user;
    const ls_simulation *played =
        client->owner->crowd->is_arena ? shared_arena() : bench_pad_simulation();
    return strcmp(name, played->name) == 0 ? played : NULL;
}

/* In the arena a slot does the same in every match, and nothing at first, when inputs may come
 * late: so all matches go the same way. */
static uint32_t make_arena_input(uint32_t slot, ls_tick tick, uint8_t *bytes)
{
    if (tick < ARENA_FIRST_TICKS) {
        return 0;
    }
    ls_rng rng = ls_rng_make(slot + 1, tick / ARENA_INPUT_TICKS + 1);
    ls_store_u16(bytes, (uint16_t)ls_rng_next(&rng));
    return LS_ARENA_PAD_BYTES;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    crowd_client *client = user;
    (void)instance;
    return client->owner->crowd->is_arena ? make_arena_input(slot, tick, bytes)
                                          : bench_pad_player_input(&client->pad, bytes);
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

/* A worker that has no seat sends newcomers away; the next socket may lead to another one. */
static void ask_again(crowd_client *client)
{
    ls_text why = {{0}};
    client->again_ns = 0;
    ls_transport_destroy(client->transport);
    client->transport = NULL;
    if (open_transport(client, &why) != LS_OK) {
        fprintf(stderr, "lockstep-bench: clients: %s\n", why.bytes);
        ls_event_loop_stop(client->owner->loop);
    }
}

/* ---- one client ---- */

static void receive_event(crowd_client *client, const ls_transport_event *event, uint64_t now_ns)
{
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        client->server = event->peer;
    } else if (event->kind == LS_TRANSPORT_DISCONNECTED) {
        client->server = 0;
        if (ls_session_state_of(client->session) == LS_SESSION_CONNECTING) {
            client->again_ns = now_ns + AGAIN_NS;
            return;
        }
    }
    ls_session_receive_event(client->session, event, now_ns);
}

static void receive_packets(crowd_client *client, uint64_t now_ns)
{
    ls_transport_event event;
    ls_transport_udp_service(client->transport);
    while (ls_transport_next_event(client->transport, &event)) {
        receive_event(client, &event, now_ns);
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
    if (client->again_ns != 0 && client->again_ns <= now_ns) {
        ask_again(client);
    }
    if (!client->transport) {
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
    config.finds_causes = !client->owner->crowd->is_arena;
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
