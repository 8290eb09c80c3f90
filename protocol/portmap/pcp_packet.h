/* PCP packet: the request and the answer by which a port is mapped in PCP (RFC 6887, opcode MAP).
 * Pure. Called by router_pcp. */
#ifndef LOCKSTEP_PROTOCOL_PORTMAP_PCP_PACKET_H
#define LOCKSTEP_PROTOCOL_PORTMAP_PCP_PACKET_H

#include "lockstep/protocol/portmap/router.h"

#include <stdbool.h>
#include <stddef.h>

#define LS_PCP_MAP_BYTES 60u /* of both */
#define LS_PCP_NONCE_BYTES 12u

typedef struct ls_pcp_map {
    ls_endpoint own; /* of this machine: the address that the router sees, and the port inside */
    uint16_t wanted; /* port outside; 0: any */
    uint32_t lifetime_s;               /* 0: takes the mapping back */
    uint8_t nonce[LS_PCP_NONCE_BYTES]; /* the same for a mapping all its life */
} ls_pcp_map;

void ls_pcp_map_write(const ls_pcp_map *map, uint8_t bytes[LS_PCP_MAP_BYTES]);

/* NOT_FOUND: the datagram is no answer to this; REFUSED, with what the router says. */
ls_status ls_pcp_map_read(const ls_pcp_map *map, const uint8_t *bytes, size_t size,
                          ls_port_mapping *out, ls_text *why);

#endif
