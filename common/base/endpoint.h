/* Endpoint: where a peer is, as an address of IPv6 or IPv4 and a port. How people write one, and
 * how it is found by a name, is in common/system/endpoint_text.h. Called by transports, programs
 * and the system's sockets. */
#ifndef LOCKSTEP_COMMON_BASE_ENDPOINT_H
#define LOCKSTEP_COMMON_BASE_ENDPOINT_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_ENDPOINT_ADDRESS_BYTES 16u

typedef struct ls_endpoint {
    /* As struct in6_addr holds it; one of IPv4 is mapped into IPv6 (::ffff:192.0.2.1). */
    uint8_t address[LS_ENDPOINT_ADDRESS_BYTES];
    uint16_t port; /* in the machine's byte order */
    uint16_t via;  /* 0: reached directly; else by protocol/relay or /door, which gave the number */
} ls_endpoint;

/* An IPv4 address in network byte order, as struct in_addr holds it; 0 for one of IPv6. */
ls_endpoint ls_endpoint_from_ipv4(uint32_t address, uint16_t port);
bool ls_endpoint_is_ipv4(const ls_endpoint *endpoint);
uint32_t ls_endpoint_ipv4(const ls_endpoint *endpoint);

/* "0.0.0.0" or "::": all addresses of a machine; and its loopback address of the same kind. */
bool ls_endpoint_is_any(const ls_endpoint *endpoint);
ls_endpoint ls_endpoint_loopback_like(const ls_endpoint *endpoint);

/* 127.0.0.0/8 or "::1". */
bool ls_endpoint_is_loopback(const ls_endpoint *endpoint);

/* Whether hosts of the whole Internet might reach it: it is of no private or shared network, no
 * link's own, no group's, and this machine's neither. */
bool ls_endpoint_is_public(const ls_endpoint *endpoint);

/* Bytes of the headers of IP and UDP before a datagram to or from there. */
size_t ls_udp_header_bytes(const ls_endpoint *endpoint);

/* A number for where a host is, never 0: the IPv4 address, or the /56 of an IPv6 one, which one
 * household has. Ports do not count. */
uint64_t ls_endpoint_origin(const ls_endpoint *endpoint);

/* The last byte of an origin. */
enum {
    LS_ORIGIN_IPV4 = 1,
    LS_ORIGIN_IPV6 = 2,
};

/* It is this machine: 127.0.0.0/8, or ::1, whose /56 has no other hosts. */
static inline bool ls_endpoint_origin_is_loopback(uint64_t origin)
{
    bool is_ipv4 = origin >> 56 == LS_ORIGIN_IPV4 && (origin & 0xff) == 127;
    return is_ipv4 || origin == (uint64_t)LS_ORIGIN_IPV6 << 56;
}

bool ls_endpoint_is_equal(const ls_endpoint *a, const ls_endpoint *b);
/* Whether the addresses are the same, whatever the ports. */
bool ls_endpoint_is_same_host(const ls_endpoint *a, const ls_endpoint *b);

LS_C_END

#endif
