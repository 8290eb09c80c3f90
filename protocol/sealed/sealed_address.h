/* Sealed address: the two things that the sealed layer asks of an endpoint. Called by its modules
 * that keep, compare or hash addresses. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_ADDRESS_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_ADDRESS_H

#include "lockstep/protocol/transport/endpoint.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LS_SEALED_ADDRESS_BYTES 16u

/* The address as IPv6 has it: ::ffff:a.b.c.d for IPv4. */
static inline void ls_sealed_address_bytes(const ls_endpoint *endpoint,
                                           uint8_t out[LS_SEALED_ADDRESS_BYTES])
{
    memset(out, 0, LS_SEALED_ADDRESS_BYTES);
    out[10] = 0xff;
    out[11] = 0xff;
    memcpy(out + 12, &endpoint->address, 4);
}

static inline bool ls_sealed_address_is_equal(const ls_endpoint *a, const ls_endpoint *b)
{
    return a->address == b->address && a->port == b->port;
}

#endif
