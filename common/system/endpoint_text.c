#define _GNU_SOURCE
#include "lockstep/common/system/endpoint_text.h"

#include "lockstep/common/system/socket_address.h"

#include <stdio.h>
#include <string.h>

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

static ls_status parse(const char *text, bool may_be_any, ls_endpoint *endpoint, ls_text *error)
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
    bool is_any = may_be_any && read.port && strcmp(read.port, "0") == 0;
    if (port == 0 && !is_any) {
        return ls_fail(LS_BAD_ARGUMENT, error, "the port in '%.*s' is not a number of 1 to 65535",
                       shown, text);
    }
    char host[LS_ENDPOINT_BYTES_MAX];
    memcpy(host, read.host, read.host_bytes);
    host[read.host_bytes] = '\0';
    return ls_endpoint_resolve(host, port, endpoint, error);
}

ls_status ls_endpoint_parse(const char *text, ls_endpoint *endpoint, ls_text *error)
{
    return parse(text, false, endpoint, error);
}

ls_status ls_endpoint_parse_bound(const char *text, ls_endpoint *endpoint, ls_text *error)
{
    return parse(text, true, endpoint, error);
}

void ls_endpoint_join(const char *host, uint16_t port, char text[LS_ENDPOINT_JOINED_BYTES])
{
    bool is_ipv6 = strchr(host, ':') != NULL;
    snprintf(text, LS_ENDPOINT_JOINED_BYTES, is_ipv6 ? "[%.253s]:%u" : "%.253s:%u", host, port);
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
    struct addrinfo *found = NULL;
    const char *words = NULL;
    int failure = ls_socket_find_host(host, &found, &words);
    if (failure != 0) {
        return ls_fail(failure == EAI_AGAIN ? LS_TIMED_OUT : LS_NOT_FOUND, error,
                       "cannot find the host '%s': %s", host, words);
    }
    const struct addrinfo *chosen = choose(found);
    ls_socket_address address;
    memcpy(&address, chosen->ai_addr, LS_MIN(chosen->ai_addrlen, sizeof address));
    *endpoint = ls_socket_address_endpoint(&address);
    endpoint->port = port;
    freeaddrinfo(found);
    return LS_OK;
}

bool ls_endpoint_read(const char *text, ls_endpoint *endpoint)
{
    bool is_bare_ipv6 = text[0] != '[' && strchr(text, ':') != strrchr(text, ':');
    char host[INET6_ADDRSTRLEN];
    parts read = {text, strlen(text), NULL};
    if ((!is_bare_ipv6 && !split(text, &read)) || read.host_bytes >= sizeof host ||
        (read.port && parse_port(read.port) == 0)) {
        return false;
    }
    memcpy(host, read.host, read.host_bytes);
    host[read.host_bytes] = '\0';
    ls_socket_address address = {0};
    bool is_ipv6 = is_bare_ipv6 || text[0] == '[';
    void *to = is_ipv6 ? (void *)&address.ipv6.sin6_addr : (void *)&address.ipv4.sin_addr;
    address.any.sa_family = is_ipv6 ? AF_INET6 : AF_INET;
    if (inet_pton(address.any.sa_family, host, to) != 1) {
        return false;
    }
    *endpoint = ls_socket_address_endpoint(&address);
    return true;
}

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool is_ipv4 = ls_endpoint_is_ipv4(endpoint);
    const uint8_t *bytes = endpoint->address + (is_ipv4 ? sizeof endpoint->address - 4 : 0);
    (void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, bytes, host, sizeof host);
    snprintf(text, LS_ENDPOINT_NUMERIC_BYTES, is_ipv4 ? "%s:%u" : "[%s]:%u", host, endpoint->port);
}
