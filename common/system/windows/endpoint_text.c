#include "lockstep/common/system/endpoint_text.h"

#include "lockstep/common/system/windows/errors.h"
#include "lockstep/common/system/windows/socket_address.h"

#include <stdio.h>
#include <string.h>

/* IPv4 first, as on every system. */
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
    ls_winsock_begin();
    int failure = getaddrinfo(host, NULL, &hints, &found);
    if (failure != 0) {
        SetLastError((DWORD)failure);
        return ls_fail(failure == EAI_AGAIN ? LS_TIMED_OUT : LS_NOT_FOUND, error,
                       "cannot find the host '%s': %s", host, ls_windows_words());
    }
    const struct addrinfo *chosen = choose(found);
    ls_socket_address address;
    memcpy(&address, chosen->ai_addr, LS_MIN(chosen->ai_addrlen, sizeof address));
    *endpoint = ls_socket_address_endpoint(&address);
    endpoint->port = port;
    freeaddrinfo(found);
    return LS_OK;
}

void ls_endpoint_format(const ls_endpoint *endpoint, char text[LS_ENDPOINT_NUMERIC_BYTES])
{
    char host[INET6_ADDRSTRLEN] = "";
    bool is_ipv4 = ls_endpoint_is_ipv4(endpoint);
    const uint8_t *bytes = endpoint->address + (is_ipv4 ? sizeof endpoint->address - 4 : 0);
    (void)inet_ntop(is_ipv4 ? AF_INET : AF_INET6, bytes, host, sizeof host);
    snprintf(text, LS_ENDPOINT_NUMERIC_BYTES, is_ipv4 ? "%s:%u" : "[%s]:%u", host, endpoint->port);
}
