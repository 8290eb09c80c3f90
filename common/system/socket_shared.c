#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/socket_address.h"

#include <errno.h>

bool ls_socket_listen_ready(int socket, ls_endpoint *own)
{
    return ls_socket_own(socket, own) && ls_socket_make_ready(socket);
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
