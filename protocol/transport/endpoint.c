#define _POSIX_C_SOURCE 200809L
#include "lockstep/protocol/transport/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static ls_status refuse_ipv6(const char *text, ls_text *error)
{
    return ls_fail(
        LS_BAD_ARGUMENT, error,
        "'%s' looks like an IPv6 address; only IPv4 is supported: give a name or an IPv4 "
        "address",
        text);
}

ls_status ls_endpoint_resolve(const char *host, uint16_t port, ls_endpoint *endpoint,
                              ls_text *error)
{
    if (strchr(host, ':')) {
        return refuse_ipv6(host, error);
    }
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(host, NULL, &hints, &found);
    if (failure != 0) {
        return ls_fail(LS_NOT_FOUND, error, "cannot find the host '%s': %s", host,
                       failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
    }
    struct sockaddr_in address;
    memcpy(&address, found->ai_addr, sizeof address);
    freeaddrinfo(found);
    *endpoint = (ls_endpoint){address.sin_addr.s_addr, port};
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

ls_status ls_endpoint_parse(const char *text, ls_endpoint *endpoint, ls_text *error)
{
    const char *colon = strrchr(text, ':');
    if (text[0] == '[' || (colon && strchr(text, ':') != colon)) {
        return refuse_ipv6(text, error);
    }
    size_t host_bytes = colon ? (size_t)(colon - text) : strlen(text);
    if (host_bytes == 0 || strlen(text) >= LS_ENDPOINT_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, error, "'%s' is not HOST[:PORT]", text);
    }
    uint16_t port = colon ? parse_port(colon + 1) : LS_ENDPOINT_DEFAULT_PORT;
    if (port == 0) {
        return ls_fail(LS_BAD_ARGUMENT, error, "the port in '%s' is not a number of 1 to 65535",
                       text);
    }
    char host[LS_ENDPOINT_BYTES_MAX];
    memcpy(host, text, host_bytes);
    host[host_bytes] = '\0';
    return ls_endpoint_resolve(host, port, endpoint, error);
}

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES])
{
    uint8_t bytes[4];
    memcpy(bytes, &endpoint->address, sizeof bytes);
    snprintf(text, LS_ENDPOINT_NUMERIC_BYTES, "%u.%u.%u.%u:%u", bytes[0], bytes[1], bytes[2],
             bytes[3], endpoint->port);
}
