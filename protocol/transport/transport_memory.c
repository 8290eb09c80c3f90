#include "lockstep/protocol/transport/transport_memory.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/time/time_queue.h"

#include <string.h>

enum {
    HEADER_BYTES_UNRELIABLE = 38, /* IP 20, UDP 8, ENet 10: a seal makes it 9 or 10 more */
    HEADER_BYTES_RELIABLE = 36,
    RESENDS_MAX = 32,
    /* Beyond its packets, an inbox holds every connection's beginning and end. */
    INBOX_CAPACITY = LS_MEMORY_INBOX_PACKETS_MAX + 2 * LS_MEMORY_ENDPOINTS_MAX,
};

#define NEVER_NS UINT64_MAX

typedef struct packet {
    ls_transport_event_kind kind;
    ls_channel channel;
    ls_status reason; /* DISCONNECTED */
    uint32_t connection;
    uint32_t size;
    uint8_t bytes[LS_PACKET_BYTES_MAX];
} packet;

typedef struct endpoint {
    ls_transport transport;
    ls_memory_network *network;
    packet *packets;     /* INBOX_CAPACITY */
    ls_time_queue queue; /* of indices of packets */
    bool is_gone;        /* it takes nothing that arrives */
} endpoint;

typedef struct direction {
    ls_link_model link;
    uint64_t reliable_ns; /* arrival of the newest reliable packet: keeps them in order */
    uint64_t newest_ns;   /* latest arrival of an unreliable one */
} direction;

typedef struct connection {
    endpoint *client;
    endpoint *server;
    direction up;
    direction down;
    bool is_open;
    ls_status reason; /* why it ends */
    ls_transport_traffic traffic_client;
    ls_transport_traffic traffic_server;
} connection;

struct ls_memory_network {
    const ls_allocator *allocator;
    uint64_t seed;
    uint64_t now_ns;
    uint64_t resend_ns; /* 0: a round trip */
    uint32_t endpoint_count;
    uint32_t connection_count;
    ls_memory_counts counts;
    endpoint *endpoints[LS_MEMORY_ENDPOINTS_MAX];
    connection connections[LS_MEMORY_ENDPOINTS_MAX];
};

static uint64_t header_bytes(ls_channel channel)
{
    return channel == LS_CHANNEL_RELIABLE ? HEADER_BYTES_RELIABLE : HEADER_BYTES_UNRELIABLE;
}

/* False when the inbox is full: the packet is lost. It may take the place of the packet lent to the
 * inbox's owner, who has looked at that by the time that anything is sent. */
static bool deliver(ls_memory_network *network, endpoint *to, uint32_t connection_index,
                    ls_transport_event_kind kind, ls_channel channel, uint64_t arrival_ns,
                    const uint8_t *bytes, size_t size)
{
    if (to->is_gone) {
        return true;
    }
    bool is_packet = kind == LS_TRANSPORT_RECEIVED;
    if (to->queue.count >= (is_packet ? LS_MEMORY_INBOX_PACKETS_MAX : INBOX_CAPACITY)) {
        network->counts.lost++;
        return false;
    }
    packet *sent = &to->packets[ls_time_queue_add(&to->queue, arrival_ns)];
    sent->kind = kind;
    sent->channel = channel;
    sent->reason = network->connections[connection_index].reason;
    sent->connection = connection_index;
    sent->size = (uint32_t)size;
    if (size > 0) {
        memcpy(sent->bytes, bytes, size);
    }
    return true;
}

/* Sends one copy on its way. */
static void send_copy(ls_memory_network *network, direction *way, uint32_t connection_index,
                      endpoint *to, uint64_t arrival_ns, const uint8_t *bytes, size_t size)
{
    network->counts.reordered += arrival_ns < way->newest_ns;
    way->newest_ns = LS_MAX(way->newest_ns, arrival_ns);
    deliver(network, to, connection_index, LS_TRANSPORT_RECEIVED, LS_CHANNEL_UNRELIABLE, arrival_ns,
            bytes, size);
}

static void send_unreliable(ls_memory_network *network, uint32_t connection_index, bool is_up,
                            const uint8_t *bytes, size_t size)
{
    connection *between = &network->connections[connection_index];
    direction *way = is_up ? &between->up : &between->down;
    endpoint *to = is_up ? between->server : between->client;
    ls_link_fate fate =
        ls_link_model_decide(&way->link, size + HEADER_BYTES_UNRELIABLE, network->now_ns);
    if (fate.loss != LS_LINK_LOSS_NONE) {
        network->counts.lost++;
        network->counts.lost_in_cuts += fate.loss == LS_LINK_LOSS_PARTITION;
        network->counts.lost_in_bursts += fate.loss == LS_LINK_LOSS_BURST;
        return;
    }
    uint8_t altered[LS_PACKET_BYTES_MAX];
    if (size > 0 && fate.is_altered) {
        memcpy(altered, bytes, size);
        ls_link_fate_alter(&fate, altered, size);
        bytes = altered;
        network->counts.corrupted++;
    }
    send_copy(network, way, connection_index, to, fate.due_ns, bytes, size);
    if (fate.has_copy) {
        network->counts.duplicated++;
        send_copy(network, way, connection_index, to, fate.copy_due_ns, bytes, size);
    }
}

/* A reliable packet may not be lost while the connection lasts: so the connection ends, for both
 * sides. */
static void break_connection(ls_memory_network *network, uint32_t connection_index)
{
    connection *between = &network->connections[connection_index];
    uint64_t up_ns = LS_MAX(network->now_ns, between->up.reliable_ns);
    uint64_t down_ns = LS_MAX(network->now_ns, between->down.reliable_ns);
    between->is_open = false;
    between->reason = LS_TIMED_OUT;
    deliver(network, between->server, connection_index, LS_TRANSPORT_DISCONNECTED,
            LS_CHANNEL_RELIABLE, up_ns, NULL, 0);
    deliver(network, between->client, connection_index, LS_TRANSPORT_DISCONNECTED,
            LS_CHANNEL_RELIABLE, down_ns, NULL, 0);
}

/* When a reliable packet arrives that is sent now. A lost one is sent again, as often as it takes;
 * where nothing passes it waits until something does. */
static uint64_t reliable_arrival_ns(ls_memory_network *network, connection *between,
                                    ls_link_model *link, size_t size)
{
    uint64_t sent_ns = ls_link_model_opens_ns(link, network->now_ns);
    if (sent_ns == NEVER_NS) {
        return NEVER_NS;
    }
    uint64_t resend_ns = network->resend_ns;
    if (resend_ns == 0) {
        resend_ns = between->up.link.config.delay_ns + between->down.link.config.delay_ns +
                    link->config.jitter_ns;
    }
    uint64_t waited_ns = 0;
    ls_link_fate fate = ls_link_model_decide(link, size + HEADER_BYTES_RELIABLE, sent_ns);
    for (int tries = 0; tries < RESENDS_MAX && fate.loss != LS_LINK_LOSS_NONE; tries++) {
        waited_ns += resend_ns;
        if (fate.loss == LS_LINK_LOSS_QUEUE) {
            break; /* the queue has room by the time of the next try */
        }
        resend_ns *= network->resend_ns > 0 ? 2 : 1;
        ls_link_model_end_burst(link); /* it is over by then, too */
        fate = ls_link_model_decide(link, size + HEADER_BYTES_RELIABLE, sent_ns);
    }
    bool has_passed = fate.loss == LS_LINK_LOSS_NONE;
    return waited_ns + (has_passed ? fate.due_ns : sent_ns + link->config.delay_ns);
}

static void send_reliable(ls_memory_network *network, uint32_t connection_index, bool is_up,
                          ls_transport_event_kind kind, const uint8_t *bytes, size_t size)
{
    connection *between = &network->connections[connection_index];
    direction *way = is_up ? &between->up : &between->down;
    uint64_t arrival_ns = reliable_arrival_ns(network, between, &way->link, size);
    way->reliable_ns = LS_MAX(arrival_ns, way->reliable_ns);
    if (!deliver(network, is_up ? between->server : between->client, connection_index, kind,
                 LS_CHANNEL_RELIABLE, way->reliable_ns, bytes, size)) {
        break_connection(network, connection_index);
    }
}

/* The peer id is the connection's index + 1 on both sides, and connections are never reused. */
static connection *connection_of(const endpoint *owner, ls_peer_id peer)
{
    ls_memory_network *network = owner->network;
    if (peer == 0 || peer > network->connection_count) {
        return NULL;
    }
    connection *between = &network->connections[peer - 1];
    return between->client == owner || between->server == owner ? between : NULL;
}

static void count_sent(ls_transport_traffic *traffic, ls_channel channel, size_t size)
{
    traffic->packets_sent++;
    traffic->bytes_sent += size + header_bytes(channel);
}

static void endpoint_send(ls_transport *transport, ls_peer_id peer, ls_channel channel,
                          const uint8_t *bytes, size_t size)
{
    endpoint *owner = (endpoint *)transport;
    LS_ASSERT(size <= LS_PACKET_BYTES_MAX);
    connection *between = connection_of(owner, peer);
    if (!between || !between->is_open || channel == LS_CHANNEL_CANDIDATE_PATH) {
        return; /* no peer of this transport has another address */
    }
    bool is_up = between->client == owner;
    owner->network->counts.sent++;
    count_sent(is_up ? &between->traffic_client : &between->traffic_server, channel, size);
    if (channel == LS_CHANNEL_RELIABLE) {
        send_reliable(owner->network, peer - 1, is_up, LS_TRANSPORT_RECEIVED, bytes, size);
    } else {
        send_unreliable(owner->network, peer - 1, is_up, bytes, size);
    }
}

static void endpoint_disconnect(ls_transport *transport, ls_peer_id peer)
{
    endpoint *owner = (endpoint *)transport;
    connection *between = connection_of(owner, peer);
    if (!between || !between->is_open) {
        return;
    }
    between->is_open = false;
    send_reliable(owner->network, peer - 1, between->client == owner, LS_TRANSPORT_DISCONNECTED,
                  NULL, 0);
}

static int endpoint_next_event(ls_transport *transport, ls_transport_event *event)
{
    endpoint *owner = (endpoint *)transport;
    ls_memory_network *network = owner->network;
    uint64_t arrival_ns = ls_time_queue_next_ns(&owner->queue);
    if (owner->queue.count == 0 || arrival_ns > network->now_ns) {
        return 0;
    }
    const packet *first = &owner->packets[ls_time_queue_pop(&owner->queue).item];
    connection *between = &network->connections[first->connection];
    *event = (ls_transport_event){.kind = first->kind,
                                  .peer = first->connection + 1,
                                  .channel = first->channel,
                                  .bytes = first->bytes,
                                  .size = first->size,
                                  .arrived_ns = arrival_ns,
                                  .reason = first->reason};
    if (first->kind == LS_TRANSPORT_RECEIVED) {
        ls_transport_traffic *traffic =
            between->client == owner ? &between->traffic_client : &between->traffic_server;
        traffic->packets_received++;
        traffic->bytes_received += first->size + header_bytes(first->channel);
        network->counts.delivered++;
    }
    return 1;
}

static void endpoint_flush(ls_transport *transport)
{
    (void)transport; /* Packets leave when they are sent. */
}

static ls_transport_traffic endpoint_traffic(const ls_transport *transport, ls_peer_id peer)
{
    const endpoint *owner = (const endpoint *)transport;
    const connection *between = connection_of(owner, peer);
    if (!between) {
        return (ls_transport_traffic){0};
    }
    return between->client == owner ? between->traffic_client : between->traffic_server;
}

/* The memory belongs to the network; here the connections end. */
static void endpoint_destroy(ls_transport *transport)
{
    endpoint *owner = (endpoint *)transport;
    for (ls_peer_id peer = 1; peer <= owner->network->connection_count; peer++) {
        endpoint_disconnect(transport, peer);
    }
    owner->is_gone = true;
    ls_time_queue_clear(&owner->queue);
}

static const ls_transport_operations endpoint_operations = {
    .next_event = endpoint_next_event,
    .send = endpoint_send,
    .disconnect = endpoint_disconnect,
    .flush = endpoint_flush,
    .traffic = endpoint_traffic,
    .destroy = endpoint_destroy,
};

ls_status ls_memory_network_create(uint64_t seed, const ls_allocator *allocator,
                                   ls_memory_network **out)
{
    ls_memory_network *network = ls_allocate(allocator, sizeof *network);
    if (!network) {
        return LS_NO_MEMORY;
    }
    network->allocator = allocator;
    network->seed = seed;
    *out = network;
    return LS_OK;
}

void ls_memory_network_destroy(ls_memory_network *network)
{
    if (!network) {
        return;
    }
    for (uint32_t i = 0; i < network->endpoint_count; i++) {
        ls_release(network->allocator, network->endpoints[i]->packets);
        ls_release(network->allocator, network->endpoints[i]->queue.entries);
        ls_release(network->allocator, network->endpoints[i]);
    }
    ls_release(network->allocator, network);
}

void ls_memory_network_set_time(ls_memory_network *network, uint64_t now_ns)
{
    LS_ASSERT(now_ns >= network->now_ns);
    network->now_ns = now_ns;
}

void ls_memory_network_set_resend(ls_memory_network *network, uint64_t first_ns)
{
    LS_ASSERT(first_ns <= LS_NS_PER_SECOND);
    network->resend_ns = first_ns;
}

ls_memory_counts ls_memory_network_counts(const ls_memory_network *network)
{
    return network->counts;
}

uint64_t ls_memory_network_next_ns(const ls_memory_network *network)
{
    uint64_t next_ns = NEVER_NS;
    for (uint32_t i = 0; i < network->endpoint_count; i++) {
        uint64_t its_ns = ls_time_queue_next_ns(&network->endpoints[i]->queue);
        next_ns = LS_MIN(its_ns, next_ns);
    }
    return next_ns;
}

static ls_status endpoint_create(ls_memory_network *network, endpoint **out)
{
    if (network->endpoint_count >= LS_MEMORY_ENDPOINTS_MAX) {
        return LS_FULL;
    }
    const ls_allocator *allocator = network->allocator;
    endpoint *created = ls_allocate(allocator, sizeof *created);
    packet *packets = ls_allocate_array(allocator, INBOX_CAPACITY, sizeof *packets);
    ls_time_queue_entry *entries = ls_allocate_array(allocator, INBOX_CAPACITY, sizeof *entries);
    if (!created || !packets || !entries) {
        ls_release(allocator, created);
        ls_release(allocator, packets);
        ls_release(allocator, entries);
        return LS_NO_MEMORY;
    }
    created->transport.operations = &endpoint_operations;
    created->network = network;
    created->packets = packets;
    ls_time_queue_init(&created->queue, entries, INBOX_CAPACITY);
    network->endpoints[network->endpoint_count++] = created;
    *out = created;
    return LS_OK;
}

ls_status ls_memory_server_create(ls_memory_network *network, ls_transport **out)
{
    endpoint *server = NULL;
    ls_status status = endpoint_create(network, &server);
    if (status == LS_OK) {
        *out = &server->transport;
    }
    return status;
}

ls_status ls_memory_client_create(ls_memory_network *network, ls_transport *server,
                                  ls_transport **out)
{
    endpoint *client = NULL;
    ls_status status = endpoint_create(network, &client);
    if (status != LS_OK) {
        return status;
    }
    uint32_t index = network->connection_count++;
    connection *between = &network->connections[index];
    *between = (connection){
        .client = client, .server = (endpoint *)server, .is_open = true, .reason = LS_DISCONNECTED};
    const ls_link_config perfect = {0};
    ls_link_model_init(&between->up.link, &perfect, &(ls_link_start){network->seed, 2 * index, 0});
    ls_link_model_init(&between->down.link, &perfect,
                       &(ls_link_start){network->seed, 2 * index + 1, 0});
    send_reliable(network, index, true, LS_TRANSPORT_CONNECTED, NULL, 0);
    send_reliable(network, index, false, LS_TRANSPORT_CONNECTED, NULL, 0);
    *out = &client->transport;
    return LS_OK;
}

void ls_memory_server_forget(ls_transport *server)
{
    endpoint *owner = (endpoint *)server;
    ls_time_queue_clear(&owner->queue);
    for (uint32_t i = 0; i < owner->network->connection_count; i++) {
        connection *between = &owner->network->connections[i];
        between->is_open = between->is_open && between->server != owner;
    }
}

/* A cut has ended: sends off what was waiting for that, in its order. */
static void release_reliable(endpoint *to, uint32_t connection_index, uint64_t arrival_ns)
{
    for (uint32_t i = 0; i < to->queue.count; i++) {
        ls_time_queue_entry *waiting = &to->queue.entries[i];
        bool is_meant = to->packets[waiting->item].connection == connection_index;
        waiting->due_ns = is_meant && waiting->due_ns == NEVER_NS ? arrival_ns : waiting->due_ns;
    }
    ls_time_queue_restore(&to->queue);
}

static void set_link(ls_memory_network *network, uint32_t connection_index, bool is_up,
                     const ls_link_config *link)
{
    connection *between = &network->connections[connection_index];
    direction *way = is_up ? &between->up : &between->down;
    ls_link_model_set_config(&way->link, link);
    if (!link->is_cut && way->reliable_ns == NEVER_NS) {
        way->reliable_ns = network->now_ns + link->delay_ns;
        release_reliable(is_up ? between->server : between->client, connection_index,
                         way->reliable_ns);
    }
}

void ls_memory_client_set_links(ls_transport *client, const ls_link_config *up,
                                const ls_link_config *down)
{
    endpoint *owner = (endpoint *)client;
    for (uint32_t i = 0; i < owner->network->connection_count; i++) {
        if (owner->network->connections[i].client == owner) {
            set_link(owner->network, i, true, up);
            set_link(owner->network, i, false, down);
        }
    }
}
