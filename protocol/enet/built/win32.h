/* The system as ENet sees it where it is built along: no network, but the ends of a wire in memory
 * (enet_ends_built.c). ENet includes it by this name where it finds itself on Windows. */
#ifndef LOCKSTEP_PROTOCOL_ENET_BUILT_WIN32_H
#define LOCKSTEP_PROTOCOL_ENET_BUILT_WIN32_H

#include <stddef.h>
#include <stdlib.h>

typedef struct ls_enet_end *ENetSocket;
#define ENET_SOCKET_NULL NULL

typedef struct {
    size_t dataLength;
    void *data;
} ENetBuffer;

typedef int ENetSocketSet; /* is not used */

#define ENET_HOST_TO_NET_16(value) __builtin_bswap16(value)
#define ENET_HOST_TO_NET_32(value) __builtin_bswap32(value)
#define ENET_NET_TO_HOST_16(value) __builtin_bswap16(value)
#define ENET_NET_TO_HOST_32(value) __builtin_bswap32(value)

#define ENET_CALLBACK
#define ENET_API extern

#endif
