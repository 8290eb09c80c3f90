/* Sealed network: the transport that programs use (transport_udp: seal, ENet, packets beside it)
 * over datagram sockets of a virtual network, in virtual time. Keys come from the seed while it is
 * there: one at a time in a process, and never in one that serves anybody. A client may change its
 * address; hostile datagrams may come from any address, and what is answered to whom is counted.
 * Called by faultsim and by tests/match. */
#ifndef LOCKSTEP_TESTS_LAB_VIRTUAL_SEALED_NETWORK_H
#define LOCKSTEP_TESTS_LAB_VIRTUAL_SEALED_NETWORK_H

#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/tests/lab/virtual/virtual_network.h"

virtual_network_maker virtual_network_of_datagrams;

/* The client's datagrams come from another address from now on, or from another port of the same
 * one in turn; those for the address before are lost, as behind a router that forgot it. */
void sealed_network_move(virtual_network *network, ls_transport *client);

/* The client's machine comes into another network: nothing that it sends leaves any more, and
 * nothing reaches it, until its transport asks the system for its address. */
void sealed_network_switch(virtual_network *network, ls_transport *client);

/* Whether the server sends to the address that the client has. */
bool sealed_network_is_reached(const virtual_network *network, const ls_transport *client);

/* Every path drops packets of more bytes, headers of IP and UDP counted; 0: none is. */
void sealed_network_set_mtu(virtual_network *network, uint32_t bytes);

/* ---- hostile hosts ---- */

typedef struct sealed_network_datagram {
    ls_endpoint from;
    size_t size; /* 0: none was sent yet */
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
} sealed_network_datagram;

#define SEALED_NETWORK_OVERHEARD 64u

/* One of the newest datagrams that clients have sent; 0 is the newest of all. */
const sealed_network_datagram *sealed_network_overhear(const virtual_network *network,
                                                       uint32_t number);

/* A datagram comes to the server at once, from whatever address it says. */
void sealed_network_inject(virtual_network *network, const ls_endpoint *from, const uint8_t *bytes,
                           size_t size);

/* Somebody at `from` sees every datagram of this client, also those that are lost behind him, sends
 * a copy that comes 0.2 ms earlier, and forwards the PATH_CHALLENGEs that he is sent. */
void sealed_network_copy(virtual_network *network, const ls_transport *client,
                         const ls_endpoint *from);

typedef struct sealed_network_copies {
    uint64_t copies;     /* that have come to the server */
    uint64_t challenges; /* that were forwarded */
} sealed_network_copies;

sealed_network_copies sealed_network_copied(const virtual_network *network);

/* Answers to addresses that have not shown that they hear of the server: bytes with the headers of
 * IP and UDP. */
typedef struct sealed_network_reflection {
    uint64_t answers;   /* datagrams to such addresses */
    uint64_t excesses;  /* of them: more bytes have gone there than have come from there */
    ls_endpoint worst;  /* the first address with one */
    uint64_t in_bytes;  /* then */
    uint64_t out_bytes; /* likewise */
} sealed_network_reflection;

sealed_network_reflection sealed_network_reflected(const virtual_network *network);

#endif
