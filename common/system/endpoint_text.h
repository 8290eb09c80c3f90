/* Endpoint text: what people write for an endpoint, "HOST:PORT", and what is written for one.
 * Resolving a name asks the system's resolver and can block for seconds, so it is done before a
 * match, never during one. Called by tokens, transports and programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_ENDPOINT_TEXT_H
#define LOCKSTEP_COMMON_SYSTEM_ENDPOINT_TEXT_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

LS_C_BEGIN

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
/* The same for a place to listen on, where port 0 is one that the system chooses. */
ls_status ls_endpoint_parse_bound(const char *text, ls_endpoint *endpoint, ls_text *error);

/* The same for a host alone, which takes no brackets; any port, 0 included, is taken as it is. */
ls_status ls_endpoint_resolve(const char *host, uint16_t port, ls_endpoint *endpoint,
                              ls_text *error);

/* Reads an address, with or without a port, and never asks the system's resolver: "192.0.2.1",
 * "2001:db8::1", or what ls_endpoint_format writes. False: it is no such text. */
bool ls_endpoint_read(const char *text, ls_endpoint *endpoint);

/* The longest host in brackets, with a port and a final NUL. */
#define LS_ENDPOINT_JOINED_BYTES 262u

/* "HOST:PORT" of a host of at most 253 characters, as ls_endpoint_parse reads it: with an IPv6
 * address in brackets. */
void ls_endpoint_join(const char *host, uint16_t port, char text[LS_ENDPOINT_JOINED_BYTES]);

/* "192.0.2.1:7300" or "[2001:db8::1]:7300", and its final NUL. */
#define LS_ENDPOINT_NUMERIC_BYTES 54u

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES]);

LS_C_END

#endif
