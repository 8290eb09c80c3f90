/* Router: the ways to ask the router of this network to lead a UDP port of its own to this machine:
 * NAT-PMP and UPnP, each over a library, and PCP. Waits for answers, up to some seconds, so that it
 * is never called in the thread of a match; and reads what a router says with code that others
 * wrote, so that it is called in a process of its own. Says nothing about whether an answer can be
 * true. Called by port_mapper. */
#ifndef LOCKSTEP_PROTOCOL_PORTMAP_ROUTER_H
#define LOCKSTEP_PROTOCOL_PORTMAP_ROUTER_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>

#define LS_ROUTER_LIFETIME_S 3600u /* that is asked for */

/* As a router answers. */
typedef struct ls_port_mapping {
    ls_endpoint outside; /* its own address, and the port that it leads on */
    uint16_t inside;     /* of this machine */
    uint32_t lifetime_s;
} ls_port_mapping;

typedef struct ls_router_way {
    const char *name; /* as the log has it */
    /* Asks for UDP port `wanted` outside to be led to `inside` here, which also keeps a mapping
     * that is there. Another port outside may be given. NOT_FOUND: no router answers so; REFUSED,
     * IO. All with the reason in words. */
    ls_status (*map)(uint16_t inside, uint16_t wanted, ls_port_mapping *out, ls_text *why);
    /* Takes it back. Statuses as map. */
    ls_status (*unmap)(const ls_port_mapping *mapping, ls_text *why);
} ls_router_way;

/* The ways of this build, in the order in which they are tried; returns how many. */
uint32_t ls_router_ways(const ls_router_way **ways);

extern const ls_router_way ls_router_natpmp, ls_router_pcp, ls_router_upnp;

/* Of this network, of IPv4, without a port; false: it has none. */
bool ls_router_gateway(ls_endpoint *out);

#endif
