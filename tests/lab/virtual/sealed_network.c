#define _POSIX_C_SOURCE 200809L
#include "lockstep/tests/lab/virtual/sealed_network.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/time/time_queue.h"
#include "lockstep/protocol/sealed/sealed_packet.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ADDRESS_ACCOUNTS_MAX 16384u /* a power of two; half of it is used at most */

/* The bytes that a server has received from an address and sent to it, and whether the address has
 * shown that it hears of the server. */
typedef struct address_account {
    ls_endpoint endpoint;
    bool is_used;
    bool is_reached; /* a datagram of the server's has come there */
    bool is_proven;  /* and one has come from there since */
    uint64_t in_bytes;
    uint64_t out_bytes;
} address_account;

typedef struct address_accounts {
    address_account *accounts; /* ADDRESS_ACCOUNTS_MAX of them, the owner's */
    uint32_t used;
} address_accounts;

enum {
    SOCKETS_MAX = 512,
    SERVER_INBOX = 4096,
    CLIENT_INBOX = 512,
    CONNECTIONS_MAX = 256,
    FIRST_CLIENT_PORT = 40000,
};

#define COPY_LEAD_NS (LS_NS_PER_MS / 5)
#define EPOCH_NS (UINT64_C(1000) * LS_NS_PER_SECOND) /* what every clock here shows at 0 */

typedef struct sealed_network sealed_network;

typedef struct datagram {
    ls_endpoint from;
    ls_endpoint to;
    bool is_answer; /* its address had heard of the server when it was sent */
    size_t size;
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
} datagram;

typedef struct virtual_socket {
    ls_datagram_socket base;
    sealed_network *network;
    ls_transport *transport; /* NULL: it is closed */
    uint32_t index;          /* 0: the server's */
    bool is_mute;            /* its process has died: nothing leaves any more */
    bool is_down;            /* the next process has not begun: nothing comes either */
    ls_endpoint endpoint;
    uint32_t moves;
    bool is_cut_off; /* its machine is in another network, and it does not know */
    void *user;
    uint64_t origin;
    bool is_newest;  /* of its user's */
    ls_peer_id peer; /* the server's number for it; 0: it is not connected */
    ls_link_model up;
    ls_link_model down;
    uint64_t newest_up_ns; /* latest arrival */
    uint64_t newest_down_ns;
    ls_time_queue queue;
    ls_time_queue_entry *entries;
    datagram *inbox;
    datagram taken; /* the newest that was received */
} virtual_socket;

struct sealed_network {
    virtual_network base;
    const ls_allocator *allocator;
    ls_allocator server_allocator; /* counts */
    uint64_t server_bytes;
    bool is_servers_turn; /* what ENet takes now is the server's */
    uint64_t seed;
    uint64_t now_ns;
    uint32_t mtu; /* 0: without limit */
    ls_sealed_server_config server;
    uint32_t socket_count;
    virtual_socket *sockets[SOCKETS_MAX];
    ls_memory_counts counts;
    address_accounts accounts;
    sealed_network_reflection reflection;
    uint32_t overheard_count;
    sealed_network_datagram overheard[SEALED_NETWORK_OVERHEARD];
    bool is_overheard_answer[SEALED_NETWORK_OVERHEARD];
    virtual_socket *copied; /* its datagrams come from `copier` as well; NULL: no copies */
    ls_endpoint copier;
    sealed_network_copies copies;
};

/* ---- seeded keys ---- */

/* Every key and cookie of this process follows from a seed, so that a match over sealed datagrams
 * can be played again. Never in a program that serves anybody: its keys can be known. */
static ls_rng key_rng;

static const char *generator_name(void)
{
    return "seeded";
}

static uint32_t draw_key_word(void)
{
    return ls_rng_next(&key_rng);
}

static void fill_key(void *const bytes, const size_t size)
{
    uint8_t *out = bytes;
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)ls_rng_next(&key_rng);
    }
}

static randombytes_implementation seeded_generator = {
    .implementation_name = generator_name, .random = draw_key_word, .buf = fill_key};

static void seeded_keys_begin(uint64_t seed)
{
    key_rng = ls_rng_make(seed, 0x6b6579);
    (void)randombytes_set_implementation(&seeded_generator);
}

/* From now on the system is asked again. */
static void seeded_keys_end(void)
{
    (void)randombytes_set_implementation(&randombytes_sysrandom_implementation);
}

/* ---- what an address has received and sent ---- */

/* Of this address; a new one when it has none yet. */
static address_account *address_account_of(address_accounts *accounts, const ls_endpoint *endpoint)
{
    uint64_t place = ls_hash_bytes(endpoint->address, sizeof endpoint->address, endpoint->port);
    for (;; place++) {
        address_account *at = &accounts->accounts[place % ADDRESS_ACCOUNTS_MAX];
        if (!at->is_used) {
            LS_ASSERT(accounts->used < ADDRESS_ACCOUNTS_MAX / 2);
            accounts->used++;
            at->is_used = true;
            at->endpoint = *endpoint;
            return at;
        }
        if (ls_endpoint_is_equal(&at->endpoint, endpoint)) {
            return at;
        }
    }
}

static sealed_network *from_base(virtual_network *base)
{
    return (sealed_network *)base;
}

static const sealed_network *from_const_base(const virtual_network *base)
{
    return (const sealed_network *)base;
}

/* ---- ENet's clock, in place of the one of its library ---- */

uint32_t enet_time_get(void);
void enet_time_set(uint32_t now_ms);

static sealed_network *present; /* NULL: ENet lives by the system's clock */
static uint32_t shown_ms;       /* by which it was set */

static uint32_t system_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / LS_NS_PER_MS);
}

static uint32_t base_ms(void)
{
    return present ? (uint32_t)((EPOCH_NS + present->now_ns) / LS_NS_PER_MS) : system_ms();
}

__attribute__((visibility("default"))) uint32_t enet_time_get(void)
{
    return base_ms() + shown_ms;
}

__attribute__((visibility("default"))) void enet_time_set(uint32_t now_ms)
{
    shown_ms = now_ms - base_ms();
}

static uint64_t clock_ns(void *user)
{
    return EPOCH_NS + ((const sealed_network *)user)->now_ns;
}

/* ---- what the server's transport holds: by its allocator, and in ENet's memory ---- */

/* Before each piece. */
typedef struct piece_header {
    size_t bytes;
    const sealed_network *owner; /* NULL: it is not counted */
} piece_header;

_Static_assert(sizeof(piece_header) % 16 == 0, "pieces are aligned for anything");

static void *begin_piece(piece_header *header, size_t bytes, sealed_network *owner)
{
    if (!header) {
        return NULL;
    }
    *header = (piece_header){bytes, owner};
    if (owner) {
        owner->server_bytes += bytes;
    }
    return header + 1;
}

static piece_header *end_piece(void *piece)
{
    piece_header *header = (piece_header *)piece - 1;
    if (header->owner && header->owner == present) {
        present->server_bytes -= header->bytes;
    }
    return header;
}

static void *allocate_counted(void *user, size_t bytes)
{
    sealed_network *network = user;
    return begin_piece(ls_allocate(network->allocator, bytes + sizeof(piece_header)), bytes,
                       network);
}

static void release_counted(void *user, void *piece)
{
    const sealed_network *network = user;
    if (piece) {
        ls_release(network->allocator, end_piece(piece));
    }
}

void *enet_malloc(size_t bytes);
void enet_free(void *piece);

__attribute__((visibility("default"))) void *enet_malloc(size_t bytes)
{
    sealed_network *owner = present && present->is_servers_turn ? present : NULL;
    return begin_piece(malloc(bytes + sizeof(piece_header)), bytes, owner);
}

__attribute__((visibility("default"))) void enet_free(void *piece)
{
    if (piece) {
        free(end_piece(piece));
    }
}

static uint64_t server_bytes(const virtual_network *base)
{
    return from_const_base(base)->server_bytes;
}

/* ---- addresses ---- */

static ls_endpoint server_endpoint(void)
{
    return ls_endpoint_from_ipv4(htonl(UINT32_C(0xc0000201)), LS_ENDPOINT_DEFAULT_PORT);
}

void sealed_network_set_mtu(virtual_network *network, uint32_t bytes)
{
    from_base(network)->mtu = bytes;
}

/* No two sockets ever have the same. */
static ls_endpoint client_endpoint(uint32_t index, uint32_t moves)
{
    uint32_t address = UINT32_C(10) << 24 | moves / 2 << 16 | index;
    return ls_endpoint_from_ipv4(htonl(address), (uint16_t)(FIRST_CLIENT_PORT + moves));
}

/* ---- datagrams ---- */

static void deliver(virtual_socket *to, const datagram *sent, uint64_t due_ns)
{
    if (!to->transport || to->is_down || to->queue.count == to->queue.capacity) {
        to->network->counts.lost++;
        return;
    }
    to->inbox[ls_time_queue_add(&to->queue, due_ns)] = *sent;
}

/* Through the link; `newest_ns` is the latest arrival so far. Returns when it arrives, if it does:
 * else when it would have if the link had not failed. */
static uint64_t pass(virtual_socket *to, ls_link_model *link, uint64_t *newest_ns, datagram *sent)
{
    sealed_network *network = to->network;
    ls_memory_counts *counts = &network->counts;
    size_t wire_bytes = sent->size + ls_udp_header_bytes(&sent->from);
    if (network->mtu != 0 && wire_bytes > network->mtu) {
        counts->lost++;
        return network->now_ns + link->config.delay_ns;
    }
    ls_link_fate fate = ls_link_model_decide(link, wire_bytes, network->now_ns);
    if (fate.loss != LS_LINK_LOSS_NONE) {
        counts->lost++;
        counts->lost_in_cuts += fate.loss == LS_LINK_LOSS_PARTITION;
        counts->lost_in_bursts += fate.loss == LS_LINK_LOSS_BURST;
        return network->now_ns + link->config.delay_ns;
    }
    if (fate.is_altered) {
        ls_link_fate_alter(&fate, sent->bytes, sent->size);
        counts->corrupted++;
    }
    counts->reordered += fate.due_ns < *newest_ns;
    *newest_ns = LS_MAX(*newest_ns, fate.due_ns);
    deliver(to, sent, fate.due_ns);
    if (fate.has_copy) {
        counts->duplicated++;
        deliver(to, sent, fate.copy_due_ns);
    }
    return fate.due_ns;
}

static void overhear(sealed_network *network, const datagram *sent)
{
    uint32_t place = network->overheard_count++ % SEALED_NETWORK_OVERHEARD;
    network->is_overheard_answer[place] = sent->is_answer;
    sealed_network_datagram *kept = &network->overheard[place];
    kept->from = sent->from;
    kept->size = sent->size;
    memcpy(kept->bytes, sent->bytes, sent->size);
}

/* A copy of an answer that says that it is from the same address proves as much as the answer,
 * which may have been lost. */
static bool is_copied_answer(const sealed_network *network, const ls_endpoint *from,
                             const uint8_t *bytes, size_t size)
{
    for (uint32_t i = 0; i < SEALED_NETWORK_OVERHEARD; i++) {
        const sealed_network_datagram *each = &network->overheard[i];
        if (network->is_overheard_answer[i] && each->size == size &&
            ls_endpoint_is_equal(&each->from, from) && memcmp(each->bytes, bytes, size) == 0) {
            return true;
        }
    }
    return false;
}

/* The copy of a datagram that arrives at `due_ns`. */
static void send_copy(sealed_network *network, const datagram *sent, uint64_t due_ns)
{
    datagram copy = *sent;
    copy.from = network->copier;
    copy.is_answer = address_account_of(&network->accounts, &copy.from)->is_reached;
    deliver(network->sockets[0], &copy, LS_MAX(network->now_ns, due_ns - COPY_LEAD_NS));
    network->copies.copies++;
}

/* The server has sent this to the copier, whose address needs no socket. */
static void forward_challenge(sealed_network *network, datagram *sent)
{
    virtual_socket *client = network->copied;
    ls_sealed_header header;
    address_account_of(&network->accounts, &sent->to)->is_reached = true;
    if (ls_sealed_read_server_header(sent->bytes, sent->size, &header) &&
        header.content == LS_SEALED_PATH_CHALLENGE) {
        sent->to = client->endpoint;
        pass(client, &client->down, &client->newest_down_ns, sent);
        network->copies.challenges++;
    }
}

static virtual_socket *find_at(sealed_network *network, const ls_endpoint *endpoint)
{
    for (uint32_t i = 1; i < network->socket_count; i++) {
        virtual_socket *each = network->sockets[i];
        if (each->transport && ls_endpoint_is_equal(&each->endpoint, endpoint)) {
            return each;
        }
    }
    return NULL;
}

/* I8 of faultsim: an address that has not answered is sent no more than has come from it. */
static void count_answer(sealed_network *network, const datagram *sent)
{
    address_account *account = address_account_of(&network->accounts, &sent->to);
    sealed_network_reflection *reflection = &network->reflection;
    account->out_bytes += sent->size + ls_udp_header_bytes(&sent->to);
    if (account->is_proven) {
        return;
    }
    reflection->answers++;
    if (account->out_bytes > account->in_bytes && reflection->excesses++ == 0) {
        reflection->worst = sent->to;
        reflection->in_bytes = account->in_bytes;
        reflection->out_bytes = account->out_bytes;
    }
}

static void note_received(virtual_socket *at, const datagram *came)
{
    sealed_network *network = at->network;
    network->counts.delivered++;
    if (at->index != 0) {
        address_account_of(&network->accounts, &came->to)->is_reached = true;
        return;
    }
    address_account *account = address_account_of(&network->accounts, &came->from);
    account->in_bytes += came->size + ls_udp_header_bytes(&came->from);
    account->is_proven = account->is_proven || came->is_answer;
}

/* ---- the socket of a transport ---- */

static virtual_socket *socket_of(ls_datagram_socket *base)
{
    return (virtual_socket *)base;
}

static void begin_datagrams(ls_datagram_socket *base, uint64_t now_ns)
{
    (void)base;
    (void)now_ns;
}

static ls_udp_receipt receive(ls_datagram_socket *base, ls_udp_datagram *out)
{
    virtual_socket *at = socket_of(base);
    while (at->queue.count > 0 && ls_time_queue_next_ns(&at->queue) <= at->network->now_ns) {
        ls_time_queue_entry entry = ls_time_queue_pop(&at->queue);
        datagram *came = &at->inbox[entry.item];
        if (at->is_cut_off || !ls_endpoint_is_equal(&came->to, &at->endpoint)) {
            at->network->counts.lost++; /* for the address that it had before */
            continue;
        }
        note_received(at, came);
        at->taken = *came; /* sending may put another one in its place */
        *out = (ls_udp_datagram){.from = came->from,
                                 .bytes = at->taken.bytes,
                                 .size = came->size,
                                 .arrived_ns = EPOCH_NS + entry.due_ns};
        return LS_UDP_RECEIVED;
    }
    return LS_UDP_EMPTY;
}

static void send_datagram(ls_datagram_socket *base, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    virtual_socket *from = socket_of(base);
    sealed_network *network = from->network;
    datagram sent = {.from = from->endpoint, .to = *to, .size = size};
    LS_ASSERT(size <= sizeof sent.bytes);
    if (from->is_mute || from->is_cut_off) {
        return;
    }
    memcpy(sent.bytes, bytes, size);
    network->counts.sent++;
    if (from->index != 0) {
        sent.is_answer = address_account_of(&network->accounts, &sent.from)->is_reached;
        overhear(network, &sent);
        uint64_t due_ns = pass(network->sockets[0], &from->up, &from->newest_up_ns, &sent);
        if (network->copied == from) {
            send_copy(network, &sent, due_ns);
        }
        return;
    }
    count_answer(network, &sent);
    virtual_socket *client = find_at(network, to);
    if (client) {
        pass(client, &client->down, &client->newest_down_ns, &sent);
    } else if (network->copied && ls_endpoint_is_equal(to, &network->copier)) {
        forward_challenge(network, &sent);
    } else {
        network->counts.lost++;
    }
}

static bool has_received(const ls_datagram_socket *base)
{
    (void)base;
    return false;
}

static const uint8_t *coming(const ls_datagram_socket *base, uint32_t others, size_t *size)
{
    (void)base;
    (void)others;
    (void)size;
    return NULL;
}

static ls_udp_sent flush(ls_datagram_socket *base)
{
    (void)base; /* datagrams leave when they are sent */
    return (ls_udp_sent){0};
}

static bool reroute(ls_datagram_socket *base)
{
    virtual_socket *socket = socket_of(base);
    bool is_other = socket->is_cut_off;
    if (is_other) {
        socket->is_cut_off = false;
        socket->endpoint = client_endpoint(socket->index, ++socket->moves);
    }
    return is_other;
}

static int descriptor(const ls_datagram_socket *base)
{
    (void)base;
    return -1;
}

static uint16_t port(const ls_datagram_socket *base)
{
    return ((const virtual_socket *)base)->endpoint.port;
}

static void close_socket(ls_datagram_socket *base)
{
    virtual_socket *closed = socket_of(base);
    closed->transport = NULL;
    closed->is_newest = false;
    ls_time_queue_clear(&closed->queue);
}

static const ls_datagram_socket_operations socket_operations = {
    .begin_turn = begin_datagrams,
    .receive = receive,
    .has_received = has_received,
    .coming = coming,
    .send = send_datagram,
    .flush = flush,
    .reroute = reroute,
    .descriptor = descriptor,
    .port = port,
    .close = close_socket,
};

static virtual_socket *make_socket(sealed_network *network, uint32_t capacity)
{
    LS_ASSERT(network->socket_count < SOCKETS_MAX);
    const ls_allocator *allocator = network->allocator;
    virtual_socket *made = ls_allocate(allocator, sizeof *made);
    LS_ASSERT(made != NULL);
    made->inbox = ls_allocate_array(allocator, capacity, sizeof *made->inbox);
    made->entries = ls_allocate_array(allocator, capacity, sizeof *made->entries);
    LS_ASSERT(made->inbox != NULL && made->entries != NULL);
    ls_time_queue_init(&made->queue, made->entries, capacity);
    made->base.operations = &socket_operations;
    made->network = network;
    made->index = network->socket_count;
    network->sockets[network->socket_count++] = made;
    return made;
}

static ls_transport_udp_ground ground_of(virtual_socket *socket)
{
    return (ls_transport_udp_ground){&socket->base, {clock_ns, socket->network}};
}

/* ---- the server ---- */

static void open_server(sealed_network *network)
{
    virtual_socket *socket = network->sockets[0];
    const ls_transport_udp_ground ground = ground_of(socket);
    bool was_servers_turn = network->is_servers_turn;
    network->is_servers_turn = true;
    ls_status status = ls_transport_udp_listen_on(&ground, &network->server,
                                                  &network->server_allocator, &socket->transport);
    network->is_servers_turn = was_servers_turn;
    LS_ASSERT(status == LS_OK);
    socket->is_mute = false;
    network->base.server = socket->transport;
}

static void forget_server(virtual_network *base)
{
    sealed_network *network = from_base(base);
    virtual_socket *socket = network->sockets[0];
    for (uint32_t i = 1; i < network->socket_count; i++) {
        network->sockets[i]->peer = 0;
    }
    socket->is_mute = true;
    ls_transport_destroy(socket->transport);
    open_server(network);
    socket->is_down = true; /* until its first turn */
}

/* ---- clients ---- */

static virtual_socket *find_socket(const sealed_network *network, const ls_transport *transport)
{
    for (uint32_t i = network->socket_count; i-- > 0;) {
        if (network->sockets[i]->transport == transport) {
            return network->sockets[i];
        }
    }
    LS_ASSERT(false);
    return NULL;
}

static void forget_older(sealed_network *network, const void *user)
{
    for (uint32_t i = 1; i < network->socket_count; i++) {
        virtual_socket *each = network->sockets[i];
        each->is_newest = each->is_newest && each->user != user;
    }
}

static void open_client(virtual_socket *socket, uint64_t timeout_ns)
{
    const sealed_network *network = socket->network;
    const ls_transport_udp_ground ground = ground_of(socket);
    const ls_endpoint server = server_endpoint();
    ls_transport_udp_client_config config = ls_transport_udp_client_config_default();
    config.connect_timeout_ns = timeout_ns;
    config.sealed.has_server_key = true;
    config.sealed.has_secret = true;
    memcpy(config.sealed.server_key, network->server.identity.public_key,
           sizeof config.sealed.server_key);
    memcpy(config.sealed.secret, network->server.secret, sizeof config.sealed.secret);
    ls_status status = ls_transport_udp_connect_on(&ground, &server, &config, network->allocator,
                                                   &socket->transport);
    LS_ASSERT(status == LS_OK);
}

static ls_transport *connect_client(virtual_network *base, const virtual_dialer *dialer)
{
    sealed_network *network = from_base(base);
    virtual_socket *made = make_socket(network, CLIENT_INBOX);
    const uint64_t stream = 2 * (uint64_t)made->index;
    ls_link_model_init(&made->up, &dialer->up, &(ls_link_start){network->seed, stream, 0});
    ls_link_model_init(&made->down, &dialer->down, &(ls_link_start){network->seed, stream + 1, 0});
    if (dialer->user) {
        forget_older(network, dialer->user);
    }
    made->user = dialer->user;
    made->origin = dialer->origin;
    made->is_newest = true;
    made->endpoint = client_endpoint(made->index, 0);
    open_client(made, dialer->timeout_ns);
    return made->transport;
}

static void set_links(virtual_network *base, ls_transport *client, const ls_link_config *up,
                      const ls_link_config *down)
{
    virtual_socket *socket = find_socket(from_base(base), client);
    ls_link_model_set_config(&socket->up, up);
    ls_link_model_set_config(&socket->down, down);
}

/* It is at this address, or was there before it moved. */
static bool was_at(const virtual_socket *socket, const char *address)
{
    char text[LS_ENDPOINT_NUMERIC_BYTES];
    for (uint32_t moves = 0; moves <= socket->moves; moves++) {
        const ls_endpoint endpoint = client_endpoint(socket->index, moves);
        ls_endpoint_format(&endpoint, text);
        if (strcmp(text, address) == 0) {
            return true;
        }
    }
    return false;
}

/* A copy of the client's packet that a hostile host sent may be what opened the connection. */
static void note_connected(virtual_network *base, ls_peer_id peer)
{
    sealed_network *network = from_base(base);
    char address[LS_TRANSPORT_UDP_ADDRESS_BYTES];
    if (ls_transport_udp_address(base->server, peer, address) != LS_OK) {
        return;
    }
    for (uint32_t i = network->socket_count; i-- > 1;) {
        if (was_at(network->sockets[i], address)) {
            network->sockets[i]->peer = peer;
            return;
        }
    }
}

static void *client_of(const virtual_network *base, ls_peer_id peer)
{
    const sealed_network *network = from_const_base(base);
    for (uint32_t i = 1; peer != 0 && i < network->socket_count; i++) {
        const virtual_socket *each = network->sockets[i];
        if (each->peer == peer && each->is_newest) {
            return each->user;
        }
    }
    return NULL;
}

static uint64_t origin_of(const virtual_network *base, ls_peer_id peer)
{
    const sealed_network *network = from_const_base(base);
    for (uint32_t i = network->socket_count; peer != 0 && i-- > 1;) {
        if (network->sockets[i]->peer == peer) {
            return network->sockets[i]->origin;
        }
    }
    return 0;
}

/* ---- time ---- */

static void set_time(virtual_network *base, uint64_t now_ns)
{
    sealed_network *network = from_base(base);
    LS_ASSERT(now_ns >= network->now_ns);
    network->now_ns = now_ns;
}

static uint64_t socket_next_ns(const virtual_socket *socket)
{
    if (!socket->transport || socket->is_down) {
        return UINT64_MAX;
    }
    uint64_t repeat_ns = ls_transport_udp_next_ns(socket->transport);
    repeat_ns = repeat_ns == UINT64_MAX ? UINT64_MAX : repeat_ns - EPOCH_NS;
    return LS_MIN(repeat_ns, ls_time_queue_next_ns(&socket->queue));
}

static uint64_t next_ns(const virtual_network *base)
{
    const sealed_network *network = from_const_base(base);
    uint64_t next = UINT64_MAX;
    for (uint32_t i = 0; i < network->socket_count; i++) {
        next = LS_MIN(next, socket_next_ns(network->sockets[i]));
    }
    return next;
}

static void begin_turn(virtual_network *base, ls_transport *transport)
{
    sealed_network *network = from_base(base);
    virtual_socket *socket = find_socket(network, transport);
    socket->is_down = false;
    network->is_servers_turn = socket->index == 0;
    if (socket_next_ns(socket) <= network->now_ns) {
        ls_transport_udp_service(transport);
    }
}

static void end_turn(virtual_network *base, ls_transport *transport)
{
    ls_transport_flush(transport);
    from_base(base)->is_servers_turn = false;
}

/* ---- the network ---- */

static ls_memory_counts counts(const virtual_network *base)
{
    return from_const_base(base)->counts;
}

static void destroy(virtual_network *base)
{
    sealed_network *network = from_base(base);
    for (uint32_t i = network->socket_count; i-- > 0;) {
        virtual_socket *each = network->sockets[i];
        each->is_mute = true;
        ls_transport_destroy(each->transport);
        ls_release(network->allocator, each->inbox);
        ls_release(network->allocator, each->entries);
        ls_release(network->allocator, each);
    }
    ls_release(network->allocator, network->accounts.accounts);
    ls_release(network->allocator, network);
    present = NULL;
    seeded_keys_end();
}

static const virtual_network_operations operations = {
    .set_time = set_time,
    .next_ns = next_ns,
    .begin_turn = begin_turn,
    .end_turn = end_turn,
    .connect = connect_client,
    .set_links = set_links,
    .note_connected = note_connected,
    .client_of = client_of,
    .origin_of = origin_of,
    .forget_server = forget_server,
    .server_bytes = server_bytes,
    .counts = counts,
    .destroy = destroy,
};

static void draw_server(ls_sealed_server_config *config)
{
    config->connections_max = CONNECTIONS_MAX;
    config->per_address_max = CONNECTIONS_MAX / 4;
    config->needs_secret = true;
    ls_key_pair_random(&config->identity);
    ls_cipher_random(config->secret, sizeof config->secret);
}

virtual_network *virtual_network_of_datagrams(const virtual_network_setup *setup)
{
    LS_ASSERT(present == NULL);
    sealed_network *network = ls_allocate(setup->allocator, sizeof *network);
    ls_status status = network ? ls_cipher_init() : LS_NO_MEMORY;
    LS_ASSERT(status == LS_OK);
    seeded_keys_begin(setup->seed);
    present = network;
    network->base.operations = &operations;
    network->allocator = setup->allocator;
    network->server_allocator = (ls_allocator){allocate_counted, release_counted, network, NULL};
    network->seed = setup->seed;
    network->accounts.accounts = ls_allocate_array(setup->allocator, ADDRESS_ACCOUNTS_MAX,
                                                   sizeof *network->accounts.accounts);
    LS_ASSERT(network->accounts.accounts != NULL);
    draw_server(&network->server);
    make_socket(network, SERVER_INBOX)->endpoint = server_endpoint();
    open_server(network);
    return &network->base;
}

/* ---- what happens to it ---- */

void sealed_network_move(virtual_network *base, ls_transport *client)
{
    virtual_socket *moved = find_socket(from_base(base), client);
    moved->endpoint = client_endpoint(moved->index, ++moved->moves);
}

void sealed_network_switch(virtual_network *base, ls_transport *client)
{
    find_socket(from_base(base), client)->is_cut_off = true;
}

bool sealed_network_is_reached(const virtual_network *base, const ls_transport *client)
{
    const virtual_socket *socket = find_socket(from_const_base(base), client);
    char own[LS_ENDPOINT_NUMERIC_BYTES], known[LS_TRANSPORT_UDP_ADDRESS_BYTES];
    ls_endpoint_format(&socket->endpoint, own);
    return ls_transport_udp_address(base->server, socket->peer, known) == LS_OK &&
           strcmp(own, known) == 0;
}

void sealed_network_copy(virtual_network *base, const ls_transport *client, const ls_endpoint *from)
{
    sealed_network *network = from_base(base);
    network->copied = find_socket(network, client);
    network->copier = *from;
}

sealed_network_copies sealed_network_copied(const virtual_network *base)
{
    return from_const_base(base)->copies;
}

const sealed_network_datagram *sealed_network_overhear(const virtual_network *base, uint32_t number)
{
    const sealed_network *network = from_const_base(base);
    uint32_t place = network->overheard_count - 1 - number;
    return &network->overheard[place % SEALED_NETWORK_OVERHEARD];
}

void sealed_network_inject(virtual_network *base, const ls_endpoint *from, const uint8_t *bytes,
                           size_t size)
{
    sealed_network *network = from_base(base);
    datagram sent = {.from = *from,
                     .to = network->sockets[0]->endpoint,
                     .size = size,
                     .is_answer = is_copied_answer(network, from, bytes, size)};
    LS_ASSERT(size <= sizeof sent.bytes);
    memcpy(sent.bytes, bytes, size);
    network->counts.sent++;
    deliver(network->sockets[0], &sent, network->now_ns);
}

sealed_network_reflection sealed_network_reflected(const virtual_network *base)
{
    return from_const_base(base)->reflection;
}
