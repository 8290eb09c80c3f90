#define _XOPEN_SOURCE 700
#include "lockstep/common/system/udp_parts.h"

#include <errno.h>

int ls_udp_part_receive(int socket, ls_udp_message *messages, uint32_t count)
{
    uint32_t received = 0;
    for (; received < count; received++) {
        struct msghdr *message = &messages[received].msg_hdr;
        ssize_t size = recvmsg(socket, message, 0);
        if (size < 0) {
            break;
        }
        messages[received].msg_len = (unsigned)size + ((message->msg_flags & MSG_TRUNC) ? 1 : 0);
    }
    return received > 0 ? (int)received : -1;
}

int ls_udp_part_send(int socket, ls_udp_message *messages, uint32_t count)
{
    uint32_t sent = 0;
    while (sent < count && sendmsg(socket, &messages[sent].msg_hdr, MSG_NOSIGNAL) >= 0) {
        sent++;
    }
    return sent > 0 ? (int)sent : -1;
}

void ls_udp_part_set_small(int socket, bool is_small)
{
    (void)socket;
    (void)is_small;
}

bool ls_udp_descriptor_steer(int first, const ls_udp_steering *steering)
{
    (void)first;
    (void)steering;
    errno = EOPNOTSUPP;
    return false;
}
