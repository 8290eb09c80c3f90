/* Endpoint: where a UDP peer is, as an IPv4 address and a port, and how a person's "HOST:PORT"
 * becomes one. Resolving a name asks the system's resolver and can block for seconds, so it is
 * done before a match, never during one. Called by transports and programs. */
#ifndef LOCKSTEP_PROTOCOL_TRANSPORT_ENDPOINT_H
#define LOCKSTEP_PROTOCOL_TRANSPORT_ENDPOINT_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

typedef struct ls_endpoint {
    uint32_t address; /* IPv4, in network byte order, as struct in_addr holds it */
    uint16_t port;    /* in the machine's byte order */
} ls_endpoint;

/* The longest "HOST:PORT" with its final NUL: a DNS name has at most 253 characters. */
#define LS_ENDPOINT_BYTES_MAX 260u

/* Where a server listens unless it is told otherwise. */
#define LS_ENDPOINT_DEFAULT_PORT 7300u

/* Reads "HOST:PORT", or "HOST" for the default port, with a name or an IPv4 address and a port of
 * 1 .. 65535. BAD_ARGUMENT when the
 * text is not of that form or holds an IPv6 address, NOT_FOUND when the name has no IPv4 address;
 * `error`, which may be NULL, then says what is wrong. */
ls_status ls_endpoint_parse(const char *text, ls_endpoint *endpoint, ls_text *error);

/* The same for a host alone; any port, 0 included, is taken as it is. */
ls_status ls_endpoint_resolve(const char *host, uint16_t port, ls_endpoint *endpoint,
                              ls_text *error);

/* "192.0.2.1:7300" and its final NUL. */
#define LS_ENDPOINT_NUMERIC_BYTES 22u

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES]);

#endif
