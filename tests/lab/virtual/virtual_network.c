#include "lockstep/tests/lab/virtual/virtual_network.h"

#include "lockstep/common/base/assert.h"

typedef struct memory_network {
    virtual_network base;
    const ls_allocator *allocator;
    ls_memory_network *packets;
    uint32_t connection_count;
    uint64_t origins[LS_MEMORY_ENDPOINTS_MAX]; /* of the connections, in their order */
} memory_network;

static ls_memory_network *packets_of(const virtual_network *base)
{
    return ((const memory_network *)base)->packets;
}

static void set_time(virtual_network *base, uint64_t now_ns)
{
    ls_memory_network_set_time(packets_of(base), now_ns);
}

static uint64_t next_ns(const virtual_network *base)
{
    return ls_memory_network_next_ns(packets_of(base));
}

/* Packets leave when they are sent, and are there when they are due. */
static void skip_turn(virtual_network *base, ls_transport *transport)
{
    (void)base;
    (void)transport;
}

static void set_links(virtual_network *base, ls_transport *client, const ls_link_config *up,
                      const ls_link_config *down)
{
    (void)base;
    ls_memory_client_set_links(client, up, down);
}

static ls_transport *connect_client(virtual_network *base, const virtual_dialer *dialer)
{
    memory_network *network = (memory_network *)base;
    ls_transport *client = NULL;
    ls_status status = ls_memory_client_create(network->packets, base->server, &client);
    LS_ASSERT(status == LS_OK);
    network->origins[network->connection_count++] = dialer->origin;
    set_links(base, client, &dialer->up, &dialer->down);
    return client;
}

static uint64_t origin_of(const virtual_network *base, ls_peer_id peer)
{
    const memory_network *network = (const memory_network *)base;
    return peer > 0 && peer <= network->connection_count ? network->origins[peer - 1] : 0;
}

static void forget_server(virtual_network *base)
{
    ls_memory_server_forget(base->server);
}

static ls_memory_counts counts(const virtual_network *base)
{
    return ls_memory_network_counts(packets_of(base));
}

static void destroy(virtual_network *base)
{
    memory_network *network = (memory_network *)base;
    ls_memory_network_destroy(network->packets);
    ls_release(network->allocator, network);
}

static const virtual_network_operations operations = {
    .set_time = set_time,
    .next_ns = next_ns,
    .begin_turn = skip_turn,
    .end_turn = skip_turn,
    .connect = connect_client,
    .set_links = set_links,
    .origin_of = origin_of,
    .forget_server = forget_server,
    .counts = counts,
    .destroy = destroy,
};

virtual_network *virtual_network_of_memory(const virtual_network_setup *setup)
{
    memory_network *network = ls_allocate(setup->allocator, sizeof *network);
    if (!network) {
        return NULL;
    }
    network->base.operations = &operations;
    network->allocator = setup->allocator;
    ls_status status = ls_memory_network_create(setup->seed, setup->allocator, &network->packets);
    if (status == LS_OK) {
        ls_memory_network_set_resend(network->packets, setup->resend_ns);
        status = ls_memory_server_create(network->packets, &network->base.server);
    }
    LS_ASSERT(status == LS_OK);
    return &network->base;
}
