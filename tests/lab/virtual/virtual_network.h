/* Virtual network: what carries the packets of a virtual match in virtual time: packets of the
 * memory transport, or datagrams of the transport that programs use (sealed_network.h). Reads no
 * clock; the same seed and the same calls give the same deliveries. Called by virtual_match and by
 * faultsim. */
#ifndef LOCKSTEP_TESTS_LAB_VIRTUAL_VIRTUAL_NETWORK_H
#define LOCKSTEP_TESTS_LAB_VIRTUAL_VIRTUAL_NETWORK_H

#include "lockstep/protocol/transport/transport_memory.h"

typedef struct virtual_network virtual_network;

/* One who connects to the server. */
typedef struct virtual_dialer {
    void *user;          /* client_of gives it again */
    uint64_t origin;     /* the same on all its connections; 0: not known */
    uint64_t timeout_ns; /* after which an attempt has failed; where connecting takes packets */
    ls_link_config up;
    ls_link_config down;
} virtual_dialer;

typedef struct virtual_network_operations {
    /* Time only moves forward. */
    void (*set_time)(virtual_network *network, uint64_t now_ns);
    /* When something arrives anywhere, or is repeated; UINT64_MAX: never. */
    uint64_t (*next_ns)(const virtual_network *network);
    /* Before the events of a transport are taken, and after its owner has sent. */
    void (*begin_turn)(virtual_network *network, ls_transport *transport);
    void (*end_turn)(virtual_network *network, ls_transport *transport);

    ls_transport *(*connect)(virtual_network *network, const virtual_dialer *dialer);
    void (*set_links)(virtual_network *network, ls_transport *client, const ls_link_config *up,
                      const ls_link_config *down);
    /* A peer has connected to the server, who was heard last; and whose newest connection that is,
     * or NULL. NULL as an operation: by the number, which is the same on both sides. */
    void (*note_connected)(virtual_network *network, ls_peer_id peer);
    void *(*client_of)(const virtual_network *network, ls_peer_id peer);
    /* The origin of whoever made the connection that the server has under this number. */
    uint64_t (*origin_of)(const virtual_network *network, ls_peer_id peer);
    /* The server's process dies, and tells nobody; another one takes its place. */
    void (*forget_server)(virtual_network *network);

    /* Bytes that the server's transport has allocated now; NULL: it is not known. */
    uint64_t (*server_bytes)(const virtual_network *network);
    ls_memory_counts (*counts)(const virtual_network *network);
    void (*destroy)(virtual_network *network);
} virtual_network_operations;

/* The first member of every implementation. */
struct virtual_network {
    const virtual_network_operations *operations;
    ls_transport *server;
};

typedef struct virtual_network_setup {
    uint64_t seed;
    uint64_t resend_ns; /* of the memory transport's reliable channel; 0: a round trip */
    const ls_allocator *allocator;
} virtual_network_setup;

/* Makes a network with its server; NULL when memory is out. */
typedef virtual_network *virtual_network_maker(const virtual_network_setup *setup);

virtual_network_maker virtual_network_of_memory;

#endif
