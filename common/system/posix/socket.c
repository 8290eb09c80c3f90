#define _GNU_SOURCE
#include "lockstep/common/system/socket.h"

#include "lockstep/common/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

ls_status ls_socket_pair(int sockets[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0 ? LS_OK : LS_IO;
}

void ls_socket_close(int socket)
{
    if (socket >= 0) {
        close(socket);
    }
}

LS_TICK_CODE bool ls_socket_await(int descriptor, uint64_t wait_ns)
{
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    const struct timespec patience = {.tv_sec = (time_t)(wait_ns / LS_NS_PER_SECOND),
                                      .tv_nsec = (long)(wait_ns % LS_NS_PER_SECOND)};
    return ppoll(&waiting, 1, wait_ns == LS_SOCKET_FOR_EVER ? NULL : &patience, NULL) > 0;
}

static ptrdiff_t outcome_of(ssize_t size)
{
    bool is_to_be_repeated = size < 0 && (errno == EAGAIN || errno == EINTR);
    return is_to_be_repeated ? 0 : size;
}

ptrdiff_t ls_socket_send_some(int socket, const uint8_t *bytes, size_t size)
{
    return outcome_of(send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT));
}

ptrdiff_t ls_socket_receive_some(int socket, uint8_t *bytes, size_t size)
{
    ssize_t received = recv(socket, bytes, size, MSG_DONTWAIT);
    return received == 0 ? -1 : outcome_of(received);
}

ls_status ls_socket_send_all(int socket, const void *bytes, size_t size)
{
    const uint8_t *left = bytes;
    while (size > 0) {
        ptrdiff_t sent = outcome_of(send(socket, left, size, MSG_NOSIGNAL));
        if (sent < 0) {
            return LS_IO;
        }
        left += sent;
        size -= (size_t)sent;
    }
    return LS_OK;
}

/* A signal does not end the waiting, which may begin anew. */
static bool await_ms(int socket, uint32_t wait_ms)
{
    bool is_ready = false;
    do {
        errno = 0;
        is_ready = ls_socket_await(socket, wait_ms == UINT32_MAX ? LS_SOCKET_FOR_EVER
                                                                 : wait_ms * LS_NS_PER_MS);
    } while (!is_ready && errno == EINTR);
    return is_ready;
}

ls_status ls_socket_receive_all(int socket, void *bytes, size_t size, uint32_t wait_ms)
{
    uint8_t *room = bytes;
    while (size > 0) {
        if (!await_ms(socket, wait_ms)) {
            return LS_TIMED_OUT;
        }
        ptrdiff_t received = ls_socket_receive_some(socket, room, size);
        if (received < 0) {
            return LS_IO;
        }
        room += received;
        size -= (size_t)received;
    }
    return LS_OK;
}
