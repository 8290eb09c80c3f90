#include "lockstep/protocol/relay/relay_server.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket_layer.h"
#include "lockstep/protocol/relay/relay_keys.h"
#include "lockstep/protocol/sealed/address_limits.h"

#include <string.h>

#define KEEP_NS (5 * LS_NS_PER_SECOND)
#define REPEAT_MIN_NS (250 * LS_NS_PER_MS)
#define REPEAT_MAX_NS (4 * LS_NS_PER_SECOND)
#define AGAIN_NS LS_NS_PER_SECOND /* between two registrations that the relay asks for */
#define PUNCH_NS (100 * LS_NS_PER_MS)
#define LIST_NS (10 * LS_NS_PER_SECOND)     /* between two renewals */
#define LIST_SOON_NS (2 * LS_NS_PER_SECOND) /* after the one before, when something is new */
#define LISTED_NS (30 * LS_NS_PER_SECOND)   /* as long as the relay shows one */

enum {
    UNANSWERED_MAX = 3,
    PUNCHES = 5,
};

static const ls_rate_limit PROVE_LIMIT = {4 * LS_NS_PER_SECOND, 8};
static const ls_rate_limit PUNCH_LIMIT = {LS_NS_PER_SECOND / 16, 64};

/* Of the player at the same place. */
typedef struct punching {
    uint64_t due_ns;
    uint32_t left;
} punching;

struct ls_relay_server {
    ls_socket_layer layer; /* without a socket beneath until it is given one, and once closed */
    ls_relay_server_config config;
    const ls_allocator *allocator;
    ls_relay_server_state state;
    ls_relay_code code;
    ls_relay_page page;

    uint8_t nonce[LS_RELAY_NONCE_BYTES]; /* of the registration that is there or is wanted */
    ls_relay_packet sent;                /* ASK or REGISTER, to be repeated; KEEP */
    ls_relay_keys keys;                  /* of `sent` as REGISTER, and afterwards */
    uint64_t due_ns;                     /* when the next packet is */
    uint64_t repeat_ns;                  /* how long to wait for an answer */
    uint64_t asked_ns;                   /* when a registration was begun last */
    uint64_t id;
    uint64_t counter;
    uint32_t unanswered;
    ls_endpoint carrier; /* the relay, when something was sent last */
    ls_endpoint own;     /* as the relay sees it */

    ls_relay_flows *flows; /* shared, or its own: */
    ls_relay_flows own_flows;
    punching punches_due[LS_RELAY_SERVER_PLAYERS_MAX];
    bool has_listing;
    ls_relay_list list;   /* the next LIST, or the one that was sent */
    uint64_t list_due_ns; /* when it is, or is to be repeated */
    uint64_t list_sent_ns;
    uint64_t listed_until_ns; /* unless it is renewed; 0: not listed */
    bool is_list_full;

    ls_rate_use proves;
    ls_rate_use punches;
};

static ls_relay_server *from_layer(ls_socket_layer *layer)
{
    return (ls_relay_server *)layer;
}

static void send_packet(ls_relay_server *server, const ls_endpoint *to,
                        const ls_relay_packet *packet)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    size_t size = ls_relay_packet_write(packet, bytes);
    if (packet->kind == LS_RELAY_REGISTER) {
        if (server->config.has_access_key) {
            ls_relay_packet_sign_access(bytes, server->config.access_key);
        }
        ls_relay_packet_sign(bytes, server->keys.proof);
    } else if (packet->kind == LS_RELAY_KEEP) {
        ls_relay_packet_sign(bytes, server->keys.to_relay);
    }
    ls_socket_layer_send_own(&server->layer, to, bytes, size);
}

/* ---- registering ---- */

static void begin(ls_relay_server *server, uint64_t now_ns)
{
    if (server->state == LS_RELAY_SERVER_REGISTERED) {
        server->state = LS_RELAY_SERVER_SEEKING;
    }
    ls_cipher_random(server->nonce, sizeof server->nonce);
    server->sent = (ls_relay_packet){.kind = LS_RELAY_ASK};
    memcpy(server->sent.nonce, server->nonce, sizeof server->nonce);
    server->asked_ns = now_ns;
    server->due_ns = now_ns;
    server->repeat_ns = REPEAT_MIN_NS;
    server->unanswered = 0;
}

/* The relay does not know of this registration: it was started anew, or has another address for
 * it. */
static void begin_again(ls_relay_server *server, uint64_t now_ns)
{
    if (server->state == LS_RELAY_SERVER_REGISTERED && now_ns >= server->asked_ns + AGAIN_NS) {
        begin(server, now_ns);
    }
}

static void repeat(ls_relay_server *server, uint64_t now_ns)
{
    server->unanswered++;
    if (server->sent.kind != LS_RELAY_ASK && server->unanswered > UNANSWERED_MAX) {
        uint64_t repeat_ns = server->repeat_ns;
        begin(server, now_ns); /* a cookie does not stay good */
        server->repeat_ns = repeat_ns;
    }
    send_packet(server, &server->config.relay, &server->sent);
    server->due_ns = now_ns + server->repeat_ns;
    server->repeat_ns = LS_MIN(2 * server->repeat_ns, REPEAT_MAX_NS);
}

static void keep(ls_relay_server *server, uint64_t now_ns)
{
    if (server->unanswered++ >= UNANSWERED_MAX) {
        begin(server, now_ns);
        return;
    }
    server->sent = (ls_relay_packet){
        .kind = LS_RELAY_KEEP, .number = server->id, .counter = ++server->counter};
    send_packet(server, &server->config.relay, &server->sent);
    server->due_ns = now_ns + LS_NS_PER_SECOND; /* until KEPT comes */
}

/* The relay answers it with a number, and shows the entry once that is returned. */
static void send_list(ls_relay_server *server, uint64_t now_ns)
{
    uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
    server->list.number = server->id;
    server->list.counter++;
    server->list_sent_ns = now_ns;
    server->list_due_ns = now_ns + LS_NS_PER_SECOND;
    ls_socket_layer_send_own(&server->layer, &server->config.relay, bytes,
                             ls_relay_list_write(&server->list, server->keys.to_relay, bytes));
    server->list.challenge = 0; /* one that does not arrive is asked for anew */
}

static void on_listed(ls_relay_server *server, const ls_relay_packet *listed, uint64_t now_ns)
{
    if (!server->has_listing || server->state != LS_RELAY_SERVER_REGISTERED ||
        listed->number != server->id || listed->counter != server->list.counter) {
        return;
    }
    server->is_list_full = listed->value == LS_RELAY_LIST_FULL;
    if (listed->value == LS_RELAY_TO_BE_PROVEN) {
        server->list.challenge = listed->challenge;
        send_list(server, now_ns);
        return;
    }
    server->list_due_ns = now_ns + LIST_NS;
    server->listed_until_ns = server->is_list_full ? 0 : now_ns + LISTED_NS;
}

static void on_cookie(ls_relay_server *server, const ls_relay_packet *cookie, uint64_t now_ns)
{
    if (server->sent.kind != LS_RELAY_ASK ||
        memcmp(cookie->nonce, server->nonce, sizeof server->nonce) != 0) {
        return;
    }
    const ls_relay_keys_of of = {.own = &server->config.identity,
                                 .server = server->config.identity.public_key,
                                 .relay = cookie->key,
                                 .nonce = server->nonce,
                                 .time_ms = cookie->time_ms};
    if (cookie->value != 0 && !server->config.has_access_key) {
        server->state = LS_RELAY_SERVER_KEY_NEEDED;
    } else if (ls_relay_keys_make(&of, &server->keys)) {
        server->sent.kind = LS_RELAY_REGISTER;
        server->sent.time_ms = cookie->time_ms;
        memcpy(server->sent.cookie, cookie->cookie, sizeof server->sent.cookie);
        memcpy(server->sent.key, server->config.identity.public_key, sizeof server->sent.key);
        server->repeat_ns = REPEAT_MIN_NS;
        server->unanswered = 0;
        repeat(server, now_ns);
    }
}

static void on_registered(ls_relay_server *server, const ls_relay_packet *registered,
                          uint64_t now_ns)
{
    if (server->sent.kind != LS_RELAY_REGISTER) {
        return;
    }
    if (registered->value != LS_RELAY_GOOD) {
        server->state =
            registered->value == LS_RELAY_FULL ? LS_RELAY_SERVER_FULL : LS_RELAY_SERVER_KEY_NEEDED;
        server->sent.kind = LS_RELAY_ASK; /* later it may be otherwise */
        server->due_ns = now_ns + REPEAT_MAX_NS;
        server->repeat_ns = REPEAT_MAX_NS;
        return;
    }
    server->state = LS_RELAY_SERVER_REGISTERED;
    server->id = registered->number;
    server->own = registered->host;
    server->counter = 0;
    server->unanswered = 0;
    server->list.counter = 0;
    server->list.challenge = 0;
    server->list_due_ns = now_ns;
    server->sent.kind = LS_RELAY_KEEP;
    server->due_ns = now_ns + KEEP_NS;
    memcpy(server->code.name, registered->name, sizeof server->code.name);
    server->page = registered->page;
}

static void on_kept(ls_relay_server *server, const ls_relay_packet *kept, uint64_t now_ns)
{
    if (server->state == LS_RELAY_SERVER_REGISTERED && kept->number == server->id &&
        kept->counter == server->counter) {
        server->unanswered = 0;
        server->due_ns = now_ns + KEEP_NS;
    }
}

/* ---- players ---- */

/* One worker writes what others read at the same time. */
static void write_flow(ls_relay_flow *to, uint64_t flow, const ls_endpoint *endpoint)
{
    uint64_t words[2];
    memcpy(words, endpoint->address, sizeof words);
    atomic_store_explicit(&to->flow, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&to->place[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&to->place[1], words[1], memory_order_relaxed);
    atomic_store_explicit(&to->place[2], endpoint->port, memory_order_relaxed);
    atomic_store_explicit(&to->flow, flow, memory_order_release);
}

/* The flow, or 0: a free place. */
static uint64_t read_flow(const ls_relay_flow *from, ls_endpoint *endpoint)
{
    uint64_t words[2];
    uint64_t flow = atomic_load_explicit(&from->flow, memory_order_acquire);
    words[0] = atomic_load_explicit(&from->place[0], memory_order_relaxed);
    words[1] = atomic_load_explicit(&from->place[1], memory_order_relaxed);
    uint64_t port = atomic_load_explicit(&from->place[2], memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    *endpoint = (ls_endpoint){.port = (uint16_t)port};
    memcpy(endpoint->address, words, sizeof words);
    return atomic_load_explicit(&from->flow, memory_order_relaxed) == flow ? flow : 0;
}

static uint64_t flow_of(const ls_relay_flow *of)
{
    return atomic_load_explicit(&of->flow, memory_order_relaxed);
}

static uint64_t heard_of(const ls_relay_flow *of)
{
    return atomic_load_explicit(&of->heard_ns, memory_order_relaxed);
}

static void note_heard(ls_relay_flow *of, uint64_t now_ns)
{
    atomic_store_explicit(&of->heard_ns, now_ns, memory_order_relaxed);
}

static ls_endpoint relay_of(const ls_relay_server *server)
{
    ls_endpoint relay = server->config.relay;
    if (server->config.is_follower) {
        (void)read_flow(&server->flows->relay, &relay);
    }
    return relay;
}

/* Its endpoint has its place + 1 as the `via`; NULL: there is none. */
static ls_relay_flow *find_player(const ls_relay_server *server, uint64_t flow,
                                  ls_endpoint *endpoint)
{
    for (uint32_t i = 0; flow != 0 && i < LS_RELAY_SERVER_PLAYERS_MAX; i++) {
        ls_relay_flow *each = &server->flows->players[i];
        if (flow_of(each) == flow && read_flow(each, endpoint) == flow) {
            endpoint->via = (uint16_t)(i + 1);
            return each;
        }
    }
    return NULL;
}

static bool has_player(const ls_relay_server *server, uint64_t flow)
{
    ls_endpoint endpoint;
    return find_player(server, flow, &endpoint) != NULL;
}

static bool is_same_place(const ls_endpoint *a, const ls_endpoint *b)
{
    return a->port == b->port && ls_endpoint_is_same_host(a, b);
}

/* One that comes again has the number that it had, so that its connection knows it. */
static uint32_t place_for(const ls_relay_server *server, const ls_endpoint *endpoint)
{
    const ls_relay_flow *players = server->flows->players;
    uint32_t oldest = 0;
    for (uint32_t i = 0; i < LS_RELAY_SERVER_PLAYERS_MAX; i++) {
        ls_endpoint there;
        bool is_free = read_flow(&players[i], &there) == 0;
        if (!is_free && is_same_place(&there, endpoint)) {
            return i;
        }
        bool is_oldest_free = flow_of(&players[oldest]) == 0;
        if (is_free ? !is_oldest_free
                    : !is_oldest_free && heard_of(&players[i]) < heard_of(&players[oldest])) {
            oldest = i;
        }
    }
    return oldest;
}

static void punch(ls_relay_server *server, uint32_t place, uint64_t now_ns)
{
    ls_endpoint directly;
    uint64_t flow = read_flow(&server->flows->players[place], &directly);
    server->punches_due[place].left--;
    server->punches_due[place].due_ns = now_ns + PUNCH_NS;
    send_packet(server, &directly, &(ls_relay_packet){.kind = LS_RELAY_PUNCH, .number = flow});
}

/* A relay elsewhere that says a player is on this machine would have the player trusted. */
static bool may_be(const ls_relay_server *server, const ls_endpoint *endpoint)
{
    return endpoint->port != 0 && !ls_endpoint_is_any(endpoint) &&
           (!ls_endpoint_is_loopback(endpoint) || ls_endpoint_is_loopback(&server->config.relay));
}

/* With the places where a player may try to reach this server. The router's is of use where the
 * relay sees the server at the router's own address: else another router stands between. */
static void send_opened(ls_relay_server *server, uint64_t flow)
{
    ls_relay_packet opened = {
        .kind = LS_RELAY_OPENED, .number = flow, .local = server->config.local};
    opened.local.port =
        ls_endpoint_is_any(&opened.local) ? 0 : ls_datagram_socket_port(&server->layer.base);
    ls_endpoint outside;
    if (read_flow(&server->flows->outside, &outside) != 0 &&
        ls_endpoint_is_same_host(&outside, &server->own)) {
        opened.outside_port = outside.port;
    }
    send_packet(server, &server->config.relay, &opened);
}

static void on_open(ls_relay_server *server, const ls_relay_packet *open, uint64_t now_ns)
{
    if (open->number == 0 || !may_be(server, &open->player)) {
        return;
    }
    if (!has_player(server, open->number)) {
        uint32_t place = place_for(server, &open->player);
        write_flow(&server->flows->players[place], open->number, &open->player);
        note_heard(&server->flows->players[place], now_ns);
        server->punches_due[place] = (punching){.left = 0};
        bool is_reached = ls_endpoint_is_ipv4(&server->own) == ls_endpoint_is_ipv4(&open->player);
        if (is_reached && ls_rate_use_spend(&server->punches, &PUNCH_LIMIT, now_ns)) {
            server->punches_due[place].left = PUNCHES;
            punch(server, place, now_ns);
        }
    }
    send_opened(server, open->number);
}

/* A player whose router let this in is answered where it is, which need not be where the relay sees
 * it. */
static void on_punch(ls_relay_server *server, const ls_endpoint *from, const ls_relay_packet *came)
{
    if (came->value == 0 && has_player(server, came->number)) {
        const ls_relay_packet answer = {.kind = LS_RELAY_PUNCH, .number = came->number, .value = 1};
        send_packet(server, from, &answer);
    }
}

static void on_prove(ls_relay_server *server, uint64_t flow, const uint8_t *bytes, size_t size,
                     uint64_t now_ns)
{
    ls_relay_packet prove, proven;
    uint8_t answer[LS_RELAY_PACKET_BYTES_MAX];
    uint8_t whole[LS_RELAY_CARRY_HEADER_BYTES + LS_RELAY_PACKET_BYTES_MAX];
    if (!ls_relay_packet_read(bytes, size, &prove) || prove.kind != LS_RELAY_PROVE ||
        !ls_rate_use_spend(&server->proves, &PROVE_LIMIT, now_ns) ||
        !ls_relay_proof_answer(&server->code, flow, &prove, server->config.identity.public_key,
                               &proven)) {
        return;
    }
    ls_socket_layer_send_own(
        &server->layer, &server->config.relay, whole,
        ls_relay_write_carry(whole, flow, answer, ls_relay_packet_write(&proven, answer)));
}

/* ---- packets in ---- */

static void on_relay(ls_relay_server *server, const ls_udp_datagram *came, uint64_t now_ns)
{
    ls_relay_packet packet;
    if (!ls_relay_packet_read(came->bytes, came->size, &packet)) {
        return;
    }
    const uint8_t *key = server->keys.to_server;
    switch (packet.kind) {
    case LS_RELAY_COOKIE:
        on_cookie(server, &packet, now_ns);
        break;
    case LS_RELAY_REGISTERED:
        if (ls_relay_packet_is_signed(came->bytes, key)) {
            on_registered(server, &packet, now_ns);
        }
        break;
    case LS_RELAY_KEPT:
        if (ls_relay_packet_is_signed(came->bytes, key)) {
            on_kept(server, &packet, now_ns);
        }
        break;
    case LS_RELAY_LISTED:
        if (ls_relay_packet_is_signed(came->bytes, key)) {
            on_listed(server, &packet, now_ns);
        }
        break;
    case LS_RELAY_OPEN:
        if (ls_relay_packet_is_signed(came->bytes, key)) {
            on_open(server, &packet, now_ns);
        }
        break;
    case LS_RELAY_GONE:
        if (packet.number == server->id || has_player(server, packet.number)) {
            begin_again(server, now_ns);
        }
        break;
    default:
        break;
    }
}

/* Whether it is for the transport, as which it is made. */
static bool receive(ls_socket_layer *layer, ls_udp_datagram *came)
{
    ls_relay_server *server = from_layer(layer);
    uint64_t flow = 0;
    if (!ls_relay_is_meant(came->bytes, came->size)) {
        return true;
    }
    const ls_endpoint relay = relay_of(server);
    bool is_of_relay = ls_endpoint_is_equal(&came->from, &relay);
    if (!is_of_relay || !ls_relay_read_carry(came->bytes, came->size, &flow)) {
        ls_relay_packet packet;
        if (server->config.is_follower) {
            return false;
        }
        if (is_of_relay) {
            on_relay(server, came, came->arrived_ns);
        } else if (ls_relay_packet_read(came->bytes, came->size, &packet) &&
                   packet.kind == LS_RELAY_PUNCH) {
            on_punch(server, &came->from, &packet);
        }
        return false;
    }
    ls_endpoint endpoint;
    ls_relay_flow *from = find_player(server, flow, &endpoint);
    came->bytes += LS_RELAY_CARRY_HEADER_BYTES;
    came->size -= LS_RELAY_CARRY_HEADER_BYTES;
    if (!from) { /* it made room for another player: the relay names it again */
        const ls_relay_packet gone = {.kind = LS_RELAY_GONE, .number = flow};
        send_packet(server, &relay, &gone);
        return false;
    }
    note_heard(from, came->arrived_ns);
    if (ls_relay_is_meant(came->bytes, came->size)) {
        if (!server->config.is_follower) {
            on_prove(server, flow, came->bytes, came->size, came->arrived_ns);
        }
        return false;
    }
    came->from = endpoint;
    return true;
}

static const uint8_t *peek(const uint8_t *bytes, size_t *size)
{
    uint64_t flow = 0;
    if (ls_relay_read_carry(bytes, *size, &flow)) {
        *size -= LS_RELAY_CARRY_HEADER_BYTES;
        bytes += LS_RELAY_CARRY_HEADER_BYTES;
    }
    return bytes;
}

/* ---- packets out ---- */

static ls_layer_fate send_datagram(ls_socket_layer *layer, ls_outgoing_datagram *going)
{
    ls_relay_server *server = from_layer(layer);
    if (going->to->via == 0 || going->to->via > LS_RELAY_SERVER_PLAYERS_MAX) { /* no relay's */
        return LS_LAYER_FORWARDED;
    }
    ls_endpoint there;
    uint64_t flow = read_flow(&server->flows->players[going->to->via - 1u], &there);
    there.via = going->to->via;
    if (flow == 0 || !ls_endpoint_is_equal(&there, going->to)) {
        return LS_LAYER_LOST;
    }
    server->carrier = relay_of(server);
    going->to = &server->carrier;
    going->size = ls_relay_write_carry(going->room, flow, going->bytes, going->size);
    going->bytes = going->room;
    return LS_LAYER_FORWARDED;
}

static const ls_socket_layer_kind layer_kind = {
    .receive = receive, .peek = peek, .send = send_datagram};

/* ---- the whole ---- */

ls_status ls_relay_server_create(const ls_relay_server_config *config,
                                 const ls_allocator *allocator, ls_relay_server **out)
{
    ls_relay_server *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->config = *config;
    made->allocator = allocator;
    ls_relay_code_secret(config->identity.private_key, made->code.secret);
    made->flows = config->flows ? config->flows : &made->own_flows;
    if (!config->is_follower) {
        write_flow(&made->flows->relay, 1, &config->relay);
    }
    begin(made, 0);
    *out = made;
    return LS_OK;
}

void ls_relay_server_destroy(ls_relay_server *server)
{
    if (server) {
        LS_ASSERT(!server->layer.inner);
        const ls_allocator *allocator = server->allocator;
        ls_cipher_wipe(server, sizeof *server);
        ls_release(allocator, server);
    }
}

ls_datagram_socket *ls_relay_server_socket(ls_relay_server *server, ls_datagram_socket *inner)
{
    LS_ASSERT(!server->layer.inner);
    ls_socket_layer_init(&server->layer, &layer_kind, inner);
    return &server->layer.base;
}

void ls_relay_server_advance(ls_relay_server *server, uint64_t now_ns)
{
    if (!server->layer.inner || server->config.is_follower) {
        return;
    }
    if (now_ns >= server->due_ns) {
        if (server->state == LS_RELAY_SERVER_REGISTERED) {
            keep(server, now_ns);
        } else {
            repeat(server, now_ns);
        }
    }
    if (server->has_listing && server->state == LS_RELAY_SERVER_REGISTERED &&
        now_ns >= server->list_due_ns) {
        send_list(server, now_ns);
    }
    for (uint32_t i = 0; i < LS_RELAY_SERVER_PLAYERS_MAX; i++) {
        if (server->punches_due[i].left > 0 && now_ns >= server->punches_due[i].due_ns) {
            punch(server, i, now_ns);
        }
    }
}

void ls_relay_flows_set_outside(ls_relay_flows *flows, const ls_endpoint *outside)
{
    write_flow(&flows->outside, outside->port != 0 ? 1 : 0, outside);
}

void ls_relay_server_set_outside(ls_relay_server *server, const ls_endpoint *outside)
{
    ls_relay_flows_set_outside(server->flows, outside);
}

void ls_relay_server_set_listing(ls_relay_server *server, const ls_relay_listing *listing)
{
    ls_relay_listing own = *listing;
    memcpy(own.secret, server->code.secret, sizeof own.secret);
    if (memcmp(&own, &server->list.listing, sizeof own) != 0) {
        server->list_due_ns = LS_MIN(server->list_due_ns, server->list_sent_ns + LIST_SOON_NS);
    }
    server->has_listing = true;
    server->list.listing = own;
}

void ls_relay_server_withdraw(ls_relay_server *server)
{
    if (server->layer.inner && server->listed_until_ns != 0 &&
        server->state == LS_RELAY_SERVER_REGISTERED) {
        server->list.challenge = LS_RELAY_LIST_OVER;
        send_list(server, server->list_sent_ns);
    }
    server->has_listing = false;
}

ls_relay_server_listed ls_relay_server_listed_of(const ls_relay_server *server, uint64_t now_ns)
{
    if (now_ns < server->listed_until_ns) {
        return LS_RELAY_SERVER_LISTED;
    }
    return server->is_list_full ? LS_RELAY_SERVER_LIST_FULL : LS_RELAY_SERVER_UNLISTED;
}

ls_relay_server_state ls_relay_server_state_of(const ls_relay_server *server)
{
    return server->state;
}

const ls_relay_code *ls_relay_server_code(const ls_relay_server *server)
{
    return &server->code;
}

ls_relay_page ls_relay_server_page(const ls_relay_server *server)
{
    return server->page;
}
