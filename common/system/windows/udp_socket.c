#include "lockstep/common/system/udp_socket.h"

#include "lockstep/common/system/udp_parts.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>

/* Another program may not take a server's port away, as it may here unless it is forbidden; and a
 * connected socket hears of a server that is not there. */
void ls_udp_part_prepare(int socket, bool is_listening)
{
    if (is_listening) {
        (void)ls_socket_set(socket, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
    } else {
        ls_windows_hear_refusals(socket, true);
    }
}

bool ls_udp_descriptor_share(int descriptor)
{
    (void)descriptor;
    errno = ENOSYS;
    return false;
}

bool ls_udp_part_is_shared(int socket, bool *is_shared)
{
    (void)socket;
    *is_shared = false;
    return true;
}

bool ls_udp_descriptor_steer(int first, const ls_udp_steering *steering)
{
    (void)first;
    (void)steering;
    return false;
}

static WSABUF piece_of(const struct msghdr *message)
{
    return (WSABUF){(u_long)message->msg_iov->iov_len, message->msg_iov->iov_base};
}

static bool receive_one(int socket, ls_udp_message *message)
{
    struct msghdr *head = &message->msg_hdr;
    WSABUF piece = piece_of(head);
    DWORD size = 0, flags = 0;
    int failure = WSARecvFrom(ls_socket_handle_of(socket), &piece, 1, &size, &flags, head->msg_name,
                              head->msg_name ? &head->msg_namelen : NULL, NULL, NULL);
    bool is_cut = failure != 0 && WSAGetLastError() == WSAEMSGSIZE;
    message->msg_len = is_cut ? piece.len + 1 : size;
    return failure == 0 || is_cut || ls_windows_fail();
}

/* One datagram by one call: Winsock has no call for many. */
int ls_udp_part_receive(int socket, ls_udp_message *messages, uint32_t count)
{
    uint32_t received = 0;
    while (received < count && receive_one(socket, &messages[received])) {
        received++;
    }
    return received > 0 ? (int)received : -1;
}

static bool send_one(int socket, const struct msghdr *message)
{
    WSABUF piece = piece_of(message);
    DWORD sent = 0;
    return WSASendTo(ls_socket_handle_of(socket), &piece, 1, &sent, 0, message->msg_name,
                     message->msg_namelen, NULL, NULL) == 0 ||
           ls_windows_fail();
}

int ls_udp_part_send(int socket, ls_udp_message *messages, uint32_t count)
{
    uint32_t sent = 0;
    while (sent < count && send_one(socket, &messages[sent].msg_hdr)) {
        sent++;
    }
    return sent > 0 ? (int)sent : -1;
}

void ls_udp_part_set_small(int socket, bool is_small)
{
    (void)socket;
    (void)is_small;
}
