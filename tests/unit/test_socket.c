#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/system/socket.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum {
    CLIENTS = 500,
    PATIENCE_MS = 2000,
};

/* Connected, or on the way. */
static int begin_to_connect(const ls_endpoint *to)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(to->port)};
    memcpy(&address.sin6_addr, to->address, sizeof address.sin6_addr);
    int made = socket(AF_INET6, SOCK_STREAM, 0);
    cr_assert_geq(made, 0);
    cr_assert_eq(fcntl(made, F_SETFL, O_NONBLOCK), 0);
    int result = connect(made, (const struct sockaddr *)&address, sizeof address);
    cr_assert(result == 0 || errno == EINPROGRESS);
    return made;
}

/* A client that finds no place in the queue asks again, a second later at first. */
Test(socket, listener_that_is_busy_keeps_a_burst_of_clients_waiting_and_drops_none)
{
    ls_endpoint endpoint = {.address = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
    int listening = ls_socket_listen(&endpoint);
    cr_assert_geq(listening, 0);
    cr_assert(ls_socket_own(listening, &endpoint));
    int clients[CLIENTS];
    uint32_t connected = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = begin_to_connect(&endpoint);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct pollfd on = {.fd = clients[i], .events = POLLOUT};
        connected += poll(&on, 1, i == 0 ? PATIENCE_MS : 0) == 1 && on.revents == POLLOUT ? 1 : 0;
    }
    cr_expect_eq(connected, CLIENTS);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        ls_socket_close(clients[i]);
    }
    ls_socket_close(listening);
}
