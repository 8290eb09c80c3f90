/* Endpoint: where a UDP peer is, as an address of IPv6 or IPv4 and a port, and how a person's
 * "HOST:PORT" becomes one. Resolving a name asks the system's resolver and can block for seconds,
 * so it is done before a match, never during one. Called by transports and programs. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_ENDPOINT_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_ENDPOINT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

#define LS_ENDPOINT_ADDRESS_BYTES 16u

typedef struct ls_endpoint {
    /* As struct in6_addr holds it; one of IPv4 is mapped into IPv6 (::ffff:192.0.2.1). */
    uint8_t address[LS_ENDPOINT_ADDRESS_BYTES];
    uint16_t port; /* in the machine's byte order */
} ls_endpoint;

/* The longest "HOST:PORT" with its final NUL: a DNS name has at most 253 characters. */
#define LS_ENDPOINT_BYTES_MAX 260u

/* Where a server listens unless it is told otherwise. */
#define LS_ENDPOINT_DEFAULT_PORT 7300u

/* Reads "HOST:PORT", or "HOST" for the default port, with a name, an IPv4 address or an IPv6
 * address in brackets, and a port of 1 .. 65535. A name that has addresses of both kinds gives the
 * first of IPv4. BAD_ARGUMENT when the text is not of that form, NOT_FOUND when the name has no
 * address, TIMED_OUT when no name server answers; `error`, which may be NULL, then says what is
 * wrong. */
ls_status ls_endpoint_parse(const char *text, ls_endpoint *endpoint, ls_text *error);

/* The same for a host alone, which takes no brackets; any port, 0 included, is taken as it is. */
ls_status ls_endpoint_resolve(const char *host, uint16_t port, ls_endpoint *endpoint,
                              ls_text *error);

/* An IPv4 address in network byte order, as struct in_addr holds it; 0 for one of IPv6. */
ls_endpoint ls_endpoint_from_ipv4(uint32_t address, uint16_t port);
bool ls_endpoint_is_ipv4(const ls_endpoint *endpoint);
uint32_t ls_endpoint_ipv4(const ls_endpoint *endpoint);

/* "0.0.0.0" or "::": all addresses of a machine; and its loopback address of the same kind. */
bool ls_endpoint_is_any(const ls_endpoint *endpoint);
ls_endpoint ls_endpoint_loopback_like(const ls_endpoint *endpoint);

/* 127.0.0.0/8 or "::1". */
bool ls_endpoint_is_loopback(const ls_endpoint *endpoint);

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

/* "192.0.2.1:7300" or "[2001:db8::1]:7300", and its final NUL. */
#define LS_ENDPOINT_NUMERIC_BYTES 54u

/* The longest host in brackets, with a port and a final NUL. */
#define LS_ENDPOINT_JOINED_BYTES 262u

/* "HOST:PORT" of a host of at most 253 characters, as ls_endpoint_parse reads it: with an IPv6
 * address in brackets. */
void ls_endpoint_join(const char *host, uint16_t port, char text[LS_ENDPOINT_JOINED_BYTES]);

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES]);

LS_C_END

#endif
