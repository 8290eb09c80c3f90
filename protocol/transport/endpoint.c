#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/transport/endpoint.h"

#include "lockstep/common/base/byte_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const uint8_t ipv4_prefix[12] = {[10] = 0xff, [11] = 0xff};

ls_endpoint ls_endpoint_from_ipv4(uint32_t address, uint16_t port)
{
    ls_endpoint made = {.port = port};
    memcpy(made.address, ipv4_prefix, sizeof ipv4_prefix);
    memcpy(made.address + sizeof ipv4_prefix, &address, sizeof address);
    return made;
}

bool ls_endpoint_is_ipv4(const ls_endpoint *endpoint)
{
    return memcmp(endpoint->address, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

uint32_t ls_endpoint_ipv4(const ls_endpoint *endpoint)
{
    uint32_t address = 0;
    if (ls_endpoint_is_ipv4(endpoint)) {
        memcpy(&address, endpoint->address + sizeof ipv4_prefix, sizeof address);
    }
    return address;
}

bool ls_endpoint_is_any(const ls_endpoint *endpoint)
{
    static const uint8_t zeros[LS_ENDPOINT_ADDRESS_BYTES];
    return ls_endpoint_is_ipv4(endpoint) ? ls_endpoint_ipv4(endpoint) == htonl(INADDR_ANY)
                                         : memcmp(endpoint->address, zeros, sizeof zeros) == 0;
}

ls_endpoint ls_endpoint_loopback_like(const ls_endpoint *endpoint)
{
    ls_endpoint ipv6 = {.address = {[LS_ENDPOINT_ADDRESS_BYTES - 1] = 1}, .port = endpoint->port};
    return ls_endpoint_is_ipv4(endpoint)
               ? ls_endpoint_from_ipv4(htonl(INADDR_LOOPBACK), endpoint->port)
               : ipv6;
}

bool ls_endpoint_is_loopback(const ls_endpoint *endpoint)
{
    static const uint8_t own[LS_ENDPOINT_ADDRESS_BYTES] = {[LS_ENDPOINT_ADDRESS_BYTES - 1] = 1};
    return ls_endpoint_is_ipv4(endpoint) ? endpoint->address[sizeof ipv4_prefix] == IN_LOOPBACKNET
                                         : memcmp(endpoint->address, own, sizeof own) == 0;
}

size_t ls_udp_header_bytes(const ls_endpoint *endpoint)
{
    enum {
        UDP_HEADER_BYTES = 8,
        IPV4_HEADER_BYTES = 20,
        IPV6_HEADER_BYTES = 40,
    };
    return UDP_HEADER_BYTES +
           (ls_endpoint_is_ipv4(endpoint) ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

uint64_t ls_endpoint_origin(const ls_endpoint *endpoint)
{
    uint8_t bytes[8] = {0};
    if (ls_endpoint_is_ipv4(endpoint)) {
        memcpy(bytes, endpoint->address + sizeof ipv4_prefix, 4);
        bytes[7] = LS_ORIGIN_IPV4;
    } else {
        memcpy(bytes, endpoint->address, 7); /* a /56 */
        bytes[7] = LS_ORIGIN_IPV6;
    }
    return ls_load_u64(bytes);
}

bool ls_endpoint_is_equal(const ls_endpoint *a, const ls_endpoint *b)
{
    return a->port == b->port && memcmp(a->address, b->address, sizeof a->address) == 0;
}

static ls_endpoint from_found(const struct addrinfo *found, uint16_t port)
{
    ls_endpoint endpoint = {.port = port};
    if (found->ai_family == AF_INET) {
        struct sockaddr_in address;
        memcpy(&address, found->ai_addr, sizeof address);
        return ls_endpoint_from_ipv4(address.sin_addr.s_addr, port);
    }
    struct sockaddr_in6 address;
    memcpy(&address, found->ai_addr, sizeof address);
    memcpy(endpoint.address, &address.sin6_addr, sizeof endpoint.address);
    return endpoint;
}

/* IPv4 first: a server that listens on it alone is met more often than a network without it. */
static const struct addrinfo *choose(const struct addrinfo *found)
{
    for (const struct addrinfo *at = found; at; at = at->ai_next) {
        if (at->ai_family == AF_INET) {
            return at;
        }
    }
    return found;
}

ls_status ls_endpoint_resolve(const char *host, uint16_t port, ls_endpoint *endpoint,
                              ls_text *error)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(host, NULL, &hints, &found);
    if (failure != 0) {
        return ls_fail(LS_NOT_FOUND, error, "cannot find the host '%s': %s", host,
                       failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
    }
    *endpoint = from_found(choose(found), port);
    freeaddrinfo(found);
    return LS_OK;
}

/* 0 when `digits` is not a number of 1 .. 65535. */
static uint16_t parse_port(const char *digits)
{
    uint32_t port = 0;
    for (const char *digit = digits; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9') {
            return 0;
        }
        port = port * 10 + (uint32_t)(*digit - '0');
        if (port > UINT16_MAX) {
            return 0;
        }
    }
    return (uint16_t)port;
}

/* Where the host ends and the port begins. */
typedef struct parts {
    const char *host;
    size_t host_bytes;
    const char *port; /* NULL: none is given */
} parts;

static bool split(const char *text, parts *out)
{
    const char *colon = strrchr(text, ':');
    if (text[0] == '[') {
        const char *end = strchr(text, ']');
        bool is_good = end && (end[1] == '\0' || end[1] == ':');
        *out = (parts){text + 1, is_good ? (size_t)(end - text - 1) : 0,
                       is_good && end[1] == ':' ? end + 2 : NULL};
    } else {
        *out =
            (parts){text, colon ? (size_t)(colon - text) : strlen(text), colon ? colon + 1 : NULL};
    }
    return out->host_bytes > 0 && strlen(text) < LS_ENDPOINT_BYTES_MAX;
}

ls_status ls_endpoint_parse(const char *text, ls_endpoint *endpoint, ls_text *error)
{
    parts read;
    int shown = (int)strcspn(text, "/#"); /* what stands behind may be an invite's secret */
    if (text[0] != '[' && strchr(text, ':') != strrchr(text, ':')) {
        return ls_fail(LS_BAD_ARGUMENT, error,
                       "'%.*s': an IPv6 address stands in brackets: [ADDRESS]:PORT", shown, text);
    }
    if (!split(text, &read) || text[shown] != '\0') {
        return ls_fail(LS_BAD_ARGUMENT, error, "'%.*s' is not HOST[:PORT]", shown, text);
    }
    uint16_t port = read.port ? parse_port(read.port) : LS_ENDPOINT_DEFAULT_PORT;
    if (port == 0) {
        return ls_fail(LS_BAD_ARGUMENT, error, "the port in '%.*s' is not a number of 1 to 65535",
                       shown, text);
    }
    char host[LS_ENDPOINT_BYTES_MAX];
    memcpy(host, read.host, read.host_bytes);
    host[read.host_bytes] = '\0';
    return ls_endpoint_resolve(host, port, endpoint, error);
}

void ls_endpoint_join(const char *host, uint16_t port, char text[LS_ENDPOINT_JOINED_BYTES])
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    snprintf(text, LS_ENDPOINT_JOINED_BYTES, is_ipv6 ? "[%.253s]:%u" : "%.253s:%u", host, port);
}

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES])
{
    char address[INET6_ADDRSTRLEN] = "";
    bool is_ipv4 = ls_endpoint_is_ipv4(endpoint);
    const uint8_t *bytes = endpoint->address + (is_ipv4 ? sizeof ipv4_prefix : 0);
    (void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, bytes, address, sizeof address);
    snprintf(text, LS_ENDPOINT_NUMERIC_BYTES, is_ipv4 ? "%s:%u" : "[%s]:%u", address,
             endpoint->port);
}
