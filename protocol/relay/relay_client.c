#include "lockstep/protocol/relay/relay_client.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/socket_layer.h"
#include "lockstep/protocol/relay/relay_keys.h"

#include <string.h>

#define MEET_NS (10 * LS_NS_PER_SECOND)
#define REPEAT_MIN_NS (100 * LS_NS_PER_MS)
#define REPEAT_MAX_NS LS_NS_PER_SECOND
#define ASK_NS (4 * LS_NS_PER_SECOND)  /* without a word of the relay */
#define JOIN_NS (3 * LS_NS_PER_SECOND) /* a cookie lives longer */
#define PUNCH_NS (700 * LS_NS_PER_MS)
#define PROVE_NS (3 * LS_NS_PER_SECOND)
#define PUNCH_ON_NS (15 * LS_NS_PER_SECOND) /* while the relay carries already */
#define PUNCH_ON_PERIOD_NS (500 * LS_NS_PER_MS)
#define SILENCE_NS (1500 * LS_NS_PER_MS) /* of a direct way, until the relay carries again */
#define TURN_NS (10 * LS_NS_PER_MS)

enum {
    PER_TURN_MAX = 64,
    UNHEARD_MAX = 16,
    /* Of the server, that are punched: as the relay sees it, as its router leads to it, in its own
     * network, and as it was heard from. */
    PLACES_MAX = 4,
};

typedef enum step {
    STEP_ASK,
    STEP_JOIN,
    STEP_PUNCH,
    STEP_PROVE,
    STEP_DONE,
} step;

struct ls_relay_client {
    ls_socket_layer layer;
    ls_relay_client_config config;
    const ls_allocator *allocator;

    step step;
    ls_relay_refusal refusal;
    bool is_ready; /* has been READY once: from then on nothing is refused */
    ls_relay_packet sent;
    bool has_begun; /* `end_ns` is set */
    uint64_t due_ns, repeat_ns, end_ns;

    uint64_t flow;                  /* 0: none */
    ls_endpoint host;               /* the server, as the relay sees it */
    ls_endpoint places[PLACES_MAX]; /* that are reached from where the relay sees the player */
    uint32_t place_count;
    ls_relay_proof proof;
    bool has_server_key;
    uint8_t server_key[LS_CIPHER_KEY_BYTES];

    ls_endpoint server; /* for the transport */
    bool is_direct;
    ls_endpoint direct;
    uint64_t punch_ns, punch_until_ns; /* while the relay carries: the next one, and the end */
    uint64_t heard_ns;
    uint32_t unheard; /* datagrams that have left directly since then */
};

static ls_relay_client *from_layer(ls_socket_layer *layer)
{
    return (ls_relay_client *)layer;
}

static void send_packet(ls_relay_client *client, const ls_endpoint *to,
                        const ls_relay_packet *packet)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    uint8_t whole[LS_RELAY_CARRY_HEADER_BYTES + LS_RELAY_PACKET_BYTES_MAX];
    size_t size = ls_relay_packet_write(packet, bytes);
    if (packet->kind == LS_RELAY_PROVE) {
        size = ls_relay_write_carry(whole, client->flow, bytes, size);
        ls_socket_layer_send_own(&client->layer, to, whole, size);
    } else {
        ls_socket_layer_send_own(&client->layer, to, bytes, size);
    }
}

static void punch(ls_relay_client *client, const ls_endpoint *to, uint8_t is_answer)
{
    const ls_relay_packet packet = {
        .kind = LS_RELAY_PUNCH, .number = client->flow, .value = is_answer};
    send_packet(client, to, &packet);
}

/* ---- one step after the other ---- */

static void go_to(ls_relay_client *client, step next, uint64_t lasts_ns, uint64_t now_ns)
{
    client->step = next;
    client->due_ns = now_ns;
    client->repeat_ns = REPEAT_MIN_NS;
    client->end_ns = now_ns + lasts_ns;
    client->has_begun = true;
}

static void ask(ls_relay_client *client, uint64_t now_ns)
{
    client->sent = (ls_relay_packet){.kind = LS_RELAY_ASK};
    ls_cipher_random(client->sent.nonce, sizeof client->sent.nonce);
    go_to(client, STEP_ASK, ASK_NS, now_ns);
}

/* A player who has been at the server tries again instead: a relay may be started anew. */
static void refuse(ls_relay_client *client, ls_relay_refusal refusal, uint64_t now_ns)
{
    if (!client->is_ready) {
        client->refusal = refusal;
        client->step = STEP_DONE;
        return;
    }
    ask(client, now_ns);
    client->due_ns = now_ns + REPEAT_MAX_NS;
}

static void tell_way(ls_relay_client *client)
{
    const ls_relay_packet way = {
        .kind = LS_RELAY_WAY, .number = client->flow, .value = client->is_direct};
    send_packet(client, &client->config.relay, &way);
}

static void finish(ls_relay_client *client, uint64_t now_ns)
{
    client->layer.base.has_moved = client->is_ready;
    if (!client->is_ready) {
        client->is_ready = true;
        client->server = client->is_direct ? client->direct : client->host;
        client->server.via = client->is_direct ? 0 : 1;
    }
    client->step = STEP_DONE;
    client->heard_ns = now_ns;
    client->unheard = 0;
    client->punch_ns = now_ns + PUNCH_ON_PERIOD_NS;
    client->punch_until_ns = now_ns + PUNCH_ON_NS;
    tell_way(client);
}

static void prove(ls_relay_client *client, uint64_t now_ns)
{
    if (client->config.has_server_key || client->has_server_key) {
        finish(client, now_ns);
    } else if (ls_relay_proof_begin(&client->config.code, client->flow, &client->proof)) {
        client->sent = (ls_relay_packet){.kind = LS_RELAY_PROVE};
        memcpy(client->sent.point, client->proof.point, sizeof client->sent.point);
        go_to(client, STEP_PROVE, PROVE_NS, now_ns);
        client->repeat_ns = 5 * REPEAT_MIN_NS; /* the server answers few */
    } else {
        refuse(client, LS_RELAY_REFUSAL_PROOF, now_ns);
    }
}

static void on_cookie(ls_relay_client *client, const ls_relay_packet *cookie, uint64_t now_ns)
{
    client->sent.kind = LS_RELAY_JOIN;
    client->sent.time_ms = cookie->time_ms;
    memcpy(client->sent.cookie, cookie->cookie, sizeof client->sent.cookie);
    memcpy(client->sent.name, client->config.code.name, sizeof client->sent.name);
    go_to(client, STEP_JOIN, JOIN_NS, now_ns);
}

static void add_place(ls_relay_client *client, const ls_endpoint *place, const ls_endpoint *own)
{
    if (place->port != 0 && ls_endpoint_is_ipv4(place) == ls_endpoint_is_ipv4(own)) {
        client->places[client->place_count++] = *place;
    }
}

/* One in the server's own network is of use to its neighbours alone. */
static void note_places(ls_relay_client *client, const ls_relay_packet *joined)
{
    ls_endpoint outside = joined->host;
    outside.port = joined->outside_port;
    client->place_count = 0;
    add_place(client, &joined->host, &joined->player);
    if (outside.port != joined->host.port) {
        add_place(client, &outside, &joined->player);
    }
    if (ls_endpoint_is_same_host(&joined->host, &joined->player) &&
        !ls_endpoint_is_same_host(&joined->host, &joined->local)) {
        add_place(client, &joined->local, &joined->player);
    }
}

static void on_joined(ls_relay_client *client, const ls_relay_packet *joined, uint64_t now_ns)
{
    if (joined->value != LS_RELAY_GOOD) {
        refuse(client,
               joined->value == LS_RELAY_NO_SUCH_CODE ? LS_RELAY_REFUSAL_CODE
                                                      : LS_RELAY_REFUSAL_FULL,
               now_ns);
        return;
    }
    client->flow = joined->number;
    client->host = joined->host;
    note_places(client, joined);
    if (client->is_ready) {
        finish(client, now_ns);
    } else if (client->config.avoids_direct || client->place_count == 0) {
        prove(client, now_ns);
    } else {
        go_to(client, STEP_PUNCH, PUNCH_NS, now_ns);
    }
}

static void on_proven(ls_relay_client *client, const ls_relay_packet *proven, uint64_t now_ns)
{
    if (!ls_relay_proof_is_good(&client->proof, client->flow, proven)) {
        refuse(client, LS_RELAY_REFUSAL_PROOF, now_ns);
        return;
    }
    client->has_server_key = true;
    memcpy(client->server_key, proven->key, sizeof client->server_key);
    ls_cipher_wipe(&client->proof, sizeof client->proof);
    finish(client, now_ns);
}

/* The server sends from another port to here than to the relay: it is punched there as well. */
static void note_place(ls_relay_client *client, const ls_endpoint *from)
{
    if (client->is_direct) {
        return;
    }
    for (uint32_t i = 0; i < client->place_count; i++) {
        if (ls_endpoint_is_equal(&client->places[i], from)) {
            return;
        }
    }
    client->place_count = LS_MIN(client->place_count + 1, PLACES_MAX);
    client->places[client->place_count - 1] = *from;
    punch(client, from, 0);
}

static void on_punch(ls_relay_client *client, const ls_endpoint *from,
                     const ls_relay_packet *packet, uint64_t now_ns)
{
    if (client->flow == 0 || packet->number != client->flow || client->config.avoids_direct) {
        return;
    }
    if (client->step == STEP_PUNCH && packet->value == 1) {
        client->is_direct = true;
        client->direct = *from;
        prove(client, now_ns);
    } else if (client->step == STEP_DONE && client->is_ready && packet->value == 1 &&
               !client->is_direct) {
        client->is_direct = true;
        client->direct = *from;
        finish(client, now_ns);
    } else if (packet->value == 0) {
        punch(client, from, 1);
        note_place(client, from);
    }
}

/* ---- what is due ---- */

static void punch_all(ls_relay_client *client)
{
    for (uint32_t i = 0; i < client->place_count; i++) {
        punch(client, &client->places[i], 0);
    }
}

static void send_due(ls_relay_client *client)
{
    switch (client->step) {
    case STEP_PUNCH:
        punch_all(client);
        break;
    case STEP_ASK:
    case STEP_JOIN:
    case STEP_PROVE:
        send_packet(client, &client->config.relay, &client->sent);
        break;
    case STEP_DONE:
        break;
    }
}

static void end_step(ls_relay_client *client, uint64_t now_ns)
{
    switch (client->step) {
    case STEP_ASK:
        refuse(client, LS_RELAY_REFUSAL_SILENCE, now_ns);
        break;
    case STEP_JOIN:
        refuse(client, LS_RELAY_REFUSAL_SERVER, now_ns);
        break;
    case STEP_PUNCH:
        prove(client, now_ns);
        break;
    case STEP_PROVE:
        refuse(client, LS_RELAY_REFUSAL_SERVER, now_ns);
        break;
    case STEP_DONE:
        break;
    }
}

void ls_relay_client_advance(ls_relay_client *client, uint64_t now_ns)
{
    if (!client->has_begun) {
        ask(client, now_ns);
    }
    bool may_punch = client->step == STEP_DONE && client->is_ready && !client->is_direct &&
                     !client->config.avoids_direct;
    if (may_punch && now_ns >= client->punch_ns && now_ns < client->punch_until_ns) {
        client->punch_ns = now_ns + PUNCH_ON_PERIOD_NS;
        punch_all(client);
    }
    if (client->step == STEP_DONE && client->is_direct && client->layer.waiting == 0 &&
        client->unheard > UNHEARD_MAX && now_ns > client->heard_ns + SILENCE_NS) {
        client->is_direct = false;
        ask(client, now_ns);
    }
    if (client->step != STEP_DONE && now_ns >= client->end_ns) {
        end_step(client, now_ns);
    }
    if (client->step != STEP_DONE && now_ns >= client->due_ns) {
        send_due(client);
        client->due_ns = now_ns + client->repeat_ns;
        client->repeat_ns = LS_MIN(2 * client->repeat_ns, REPEAT_MAX_NS);
    }
}

/* ---- packets in ---- */

static void on_relay(ls_relay_client *client, const ls_relay_packet *packet, uint64_t now_ns)
{
    bool answers = memcmp(packet->nonce, client->sent.nonce, sizeof packet->nonce) == 0;
    if (packet->kind == LS_RELAY_COOKIE && client->step == STEP_ASK && answers) {
        on_cookie(client, packet, now_ns);
    } else if (packet->kind == LS_RELAY_JOINED && client->step == STEP_JOIN && answers) {
        on_joined(client, packet, now_ns);
    } else if (packet->kind == LS_RELAY_PROVEN && client->step == STEP_PROVE) {
        on_proven(client, packet, now_ns);
    } else if (packet->kind == LS_RELAY_GONE && client->step == STEP_DONE && client->is_ready &&
               !client->is_direct && packet->number == client->flow) {
        ask(client, now_ns);
    }
}

/* Whether it is for the transport, as which it is made. */
static bool receive(ls_socket_layer *layer, ls_udp_datagram *came)
{
    ls_relay_client *client = from_layer(layer);
    ls_relay_packet packet;
    uint64_t flow = 0;
    bool is_of_relay = ls_endpoint_is_equal(&came->from, &client->config.relay);
    if (is_of_relay && ls_relay_read_carry(came->bytes, came->size, &flow)) {
        if (flow == 0 || flow != client->flow) {
            return false;
        }
        came->bytes += LS_RELAY_CARRY_HEADER_BYTES;
        came->size -= LS_RELAY_CARRY_HEADER_BYTES;
        if (!ls_relay_is_meant(came->bytes, came->size)) {
            came->from = client->server;
            return client->is_ready;
        }
    }
    if (ls_relay_is_meant(came->bytes, came->size)) {
        if (!ls_relay_packet_read(came->bytes, came->size, &packet)) {
            return false;
        }
        if (packet.kind == LS_RELAY_PUNCH) {
            on_punch(client, &came->from, &packet, came->arrived_ns);
        } else if (is_of_relay) {
            on_relay(client, &packet, came->arrived_ns);
        }
        return false;
    }
    bool is_of_server = client->is_ready && client->direct.port != 0 &&
                        ls_endpoint_is_equal(&came->from, &client->direct);
    if (is_of_server) {
        client->heard_ns = came->arrived_ns;
        client->unheard = 0;
        if (client->step != STEP_DONE) { /* the direct way has come back before the relay did */
            client->is_direct = true;
            client->step = STEP_DONE;
        }
        came->from = client->server;
    }
    return is_of_server;
}

/* ---- packets out ---- */

static ls_layer_fate send_datagram(ls_socket_layer *layer, ls_outgoing_datagram *going)
{
    ls_relay_client *client = from_layer(layer);
    if (client->is_direct) {
        client->unheard++;
        going->to = &client->direct;
    } else {
        going->to = &client->config.relay;
        going->size = ls_relay_write_carry(going->room, client->flow, going->bytes, going->size);
        going->bytes = going->room;
    }
    return LS_LAYER_FORWARDED;
}

/* ---- the socket ---- */

/* The relay knows a player by where it is: one that is elsewhere, as a page that goes on by another
 * pipe, joins anew. */
static void begin_turn(ls_socket_layer *layer, uint64_t now_ns)
{
    ls_relay_client *client = from_layer(layer);
    if (layer->inner->has_moved) {
        layer->inner->has_moved = false;
        if (client->refusal == LS_RELAY_REFUSAL_NONE && !client->is_direct) {
            ask(client, now_ns);
        }
    }
    ls_relay_client_advance(client, now_ns);
}

static void on_closed(ls_socket_layer *layer)
{
    ls_relay_client *client = from_layer(layer);
    const ls_allocator *allocator = client->allocator;
    ls_cipher_wipe(client, sizeof *client);
    ls_release(allocator, client);
}

static const ls_socket_layer_kind layer_kind = {
    .begin_turn = begin_turn, .receive = receive, .send = send_datagram, .closed = on_closed};

/* ---- the whole ---- */

ls_status ls_relay_client_create(const ls_relay_client_config *config, ls_datagram_socket *inner,
                                 const ls_allocator *allocator, ls_relay_client **out)
{
    ls_relay_client *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        ls_datagram_socket_close(inner);
        return LS_NO_MEMORY;
    }
    ls_socket_layer_init(&made->layer, &layer_kind, inner);
    made->config = *config;
    made->allocator = allocator;
    *out = made;
    return LS_OK;
}

ls_datagram_socket *ls_relay_client_socket(ls_relay_client *client)
{
    return &client->layer.base;
}

void ls_relay_client_turn(ls_relay_client *client, uint64_t now_ns)
{
    ls_udp_datagram came;
    ls_udp_receipt receipt = LS_UDP_RECEIVED;
    ls_datagram_socket_begin_turn(&client->layer.base, now_ns);
    for (uint32_t i = 0; i < PER_TURN_MAX && receipt != LS_UDP_EMPTY; i++) {
        receipt = ls_datagram_socket_receive(&client->layer.base, &came);
    }
    ls_relay_client_advance(client, now_ns);
}

ls_relay_client_state ls_relay_client_state_of(const ls_relay_client *client)
{
    if (client->refusal != LS_RELAY_REFUSAL_NONE) {
        return LS_RELAY_CLIENT_REFUSED;
    }
    return client->is_ready ? LS_RELAY_CLIENT_READY : LS_RELAY_CLIENT_MEETING;
}

ls_relay_refusal ls_relay_client_refusal_of(const ls_relay_client *client)
{
    return client->refusal;
}

static const char *refusal_text(ls_relay_refusal refusal)
{
    switch (refusal) {
    case LS_RELAY_REFUSAL_SILENCE:
        return "no relay answers there: check its address and the network";
    case LS_RELAY_REFUSAL_CODE:
        return "the relay has no server of this code: check it, or ask for the server's new one";
    case LS_RELAY_REFUSAL_FULL:
        return "the relay has no room for another player";
    case LS_RELAY_REFUSAL_SERVER:
        return "the server of this code does not answer, or is asked by too many at a time";
    case LS_RELAY_REFUSAL_PROOF:
        return "the server does not prove that it knows the end of the code: check it, or ask for "
               "the server's invite";
    case LS_RELAY_REFUSAL_NONE:
        break;
    }
    return "the server was not reached in time";
}

ls_status ls_relay_client_outcome(const ls_relay_client *client, ls_text *why)
{
    bool is_silence =
        client->refusal == LS_RELAY_REFUSAL_SILENCE || client->refusal == LS_RELAY_REFUSAL_SERVER;
    return client->is_ready ? LS_OK
                            : ls_fail(is_silence ? LS_TIMED_OUT : LS_REFUSED, why, "%s",
                                      refusal_text(client->refusal));
}

ls_status ls_relay_client_meet(ls_relay_client *client, const ls_clock *clock, ls_text *why)
{
    uint64_t until_ns = ls_clock_now_ns(clock) + MEET_NS;
    uint64_t now_ns = 0;
    do {
        now_ns = ls_clock_now_ns(clock);
        ls_relay_client_turn(client, now_ns);
        if (ls_relay_client_state_of(client) == LS_RELAY_CLIENT_MEETING) {
            (void)ls_socket_await(ls_datagram_socket_descriptor(&client->layer.base), TURN_NS);
        }
    } while (ls_relay_client_state_of(client) == LS_RELAY_CLIENT_MEETING && now_ns < until_ns);
    return ls_relay_client_outcome(client, why);
}

const ls_endpoint *ls_relay_client_server(const ls_relay_client *client)
{
    return &client->server;
}

bool ls_relay_client_is_direct(const ls_relay_client *client)
{
    return client->is_direct;
}

const uint8_t *ls_relay_client_server_key(const ls_relay_client *client)
{
    return client->has_server_key ? client->server_key : NULL;
}
