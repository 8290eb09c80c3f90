/* Proxy: stands between clients and one server on UDP and passes each datagram on when a
 * conditioner says so. Each client gets a socket of its own towards the server, so that the server
 * sees different ports, as behind a NAT. Owns the sockets; decides nothing about packets and looks
 * into none. Runs on its owner's event loop; allocates when a client appears, never per packet.
 * Called by netcond. */
#ifndef LOCKSTEP_TOOLS_NETCOND_PROXY_H
#define LOCKSTEP_TOOLS_NETCOND_PROXY_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/tools/netcond/conditioner.h"

typedef struct netcond_proxy netcond_proxy;

typedef struct netcond_proxy_config {
    ls_endpoint listen; /* port 0: chosen by the system */
    ls_endpoint server;
    ls_link_config links[NETCOND_DIRECTION_COUNT]; /* checked */
    uint64_t seed;
    uint32_t clients_max; /* 1 .. NETCOND_CONDITIONER_CLIENTS_MAX */
    uint32_t idle_ms;     /* > 0; a client that is silent for so long is forgotten */
    const ls_log *log;    /* borrowed */
} netcond_proxy_config;

/* Loopback, any port, perfect links; the server is to be set. */
netcond_proxy_config netcond_proxy_config_default(void);

typedef struct netcond_proxy_counts {
    uint32_t clients;           /* now */
    uint64_t clients_seen;      /* the first is number 1 */
    uint64_t clients_forgotten; /* were silent for too long */
    uint64_t refused;           /* datagrams of those for whom there was no place */
    uint64_t unreachable;       /* the server's machine answered that nobody listens there */
    uint64_t unsent;            /* due, but the system took no more */
} netcond_proxy_counts;

/* Binds and waits on the loop. BAD_ARGUMENT when the server is the proxy itself, IO or NO_MEMORY;
 * `why` says more. */
ls_status netcond_proxy_open(const netcond_proxy_config *config, ls_event_loop *loop,
                             const ls_allocator *allocator, netcond_proxy **out, ls_text *why);

/* While the loop still exists. Packets held are lost. NULL is allowed. */
void netcond_proxy_close(netcond_proxy *proxy);

uint16_t netcond_proxy_port(const netcond_proxy *proxy);
netcond_proxy_counts netcond_proxy_counts_of(const netcond_proxy *proxy);
const netcond_conditioner_figures *netcond_proxy_figures(const netcond_proxy *proxy,
                                                         netcond_direction direction);

#endif
