/* ENet ends: the two ends of the wire that ENet's datagrams pass, and what a host of ENet's is held
 * to. enet_ends.c is for the system's ENet, whose wire is a pair of sockets;
 * enet_ends_built.c for one that is built along, with a wire in memory. Called by enet_channel
 * alone. */
#ifndef LOCKSTEP_PROTOCOL_ENET_ENET_ENDS_H
#define LOCKSTEP_PROTOCOL_ENET_ENET_ENDS_H

#include <enet/enet.h>
#include <stdbool.h>

/* Where datagrams come from, and where a host calls itself: ENet takes whoever answers a call to
 * everybody, and older ones take no call from the address that they called. */
static const ENetAddress ls_enet_nowhere = {.host = ENET_HOST_ANY, .port = 1};
static const ENetAddress ls_enet_everybody = {.host = ENET_HOST_BROADCAST, .port = 1};

/* Each end receives what is sent at the other one; enet_socket_destroy ends it. False: there are no
 * descriptors, or no memory. */
bool ls_enet_ends_open(ENetSocket ends[2]);

/* From now on the host takes all datagrams for some from nowhere, and holds no more than
 * protocol/limits.h allows, as far as this ENet can. */
void ls_enet_ends_hold(ENetHost *host);

#endif
