/* Port mapper: has a router lead a UDP port to this machine: asks in each way until one answers,
 * believes no answer that cannot be true, asks anew before the time that it was given is over, and
 * takes the mapping back at the end. Waits and asks by what it is given, and reports what changes.
 * Called in a process of its own, by port_keeper. */
#ifndef LOCKSTEP_PROTOCOL_PORTMAP_PORT_MAPPER_H
#define LOCKSTEP_PROTOCOL_PORTMAP_PORT_MAPPER_H

#include "lockstep/protocol/portmap/router.h"

#include <stdbool.h>

#define LS_ROUTER_NAME_BYTES 16u

typedef struct ls_port_report {
    bool is_mapped;
    ls_port_mapping mapping;        /* if it is */
    char way[LS_ROUTER_NAME_BYTES]; /* likewise */
    ls_text why;                    /* if it is not: what each way came to */
} ls_port_report;

typedef struct ls_port_mapper_config {
    const ls_router_way *ways;
    uint32_t way_count;
    uint16_t port;
    /* True: the mapping is not wanted any more. */
    bool (*wait)(void *user, uint64_t wait_ms);
    /* At first, and whenever there is another mapping than before, or none any more. */
    void (*report)(void *user, const ls_port_report *report);
    void *user;
} ls_port_mapper_config;

/* Returns when `wait` says so. False: a mapping is left that the router did not take back. */
bool ls_port_mapper_run(const ls_port_mapper_config *config);

#endif
