/* UDP parts: what udp_socket needs of the system that each has its own way of. posix/socket.c
 * has what all of POSIX has; the calls for many datagrams, and ls_udp_descriptor_steer, stand in
 * linux_udp_parts.c or portable_udp_parts.c beside it, of which one is built. windows/udp_socket.c
 * has all. For no other folder. */
#ifndef LOCKSTEP_COMMON_SYSTEM_UDP_PARTS_H
#define LOCKSTEP_COMMON_SYSTEM_UDP_PARTS_H

#include "lockstep/common/system/socket_address.h"
#include "lockstep/common/system/udp_socket.h"

#ifdef _WIN32
/* As POSIX has them. */
struct iovec {
    void *iov_base;
    size_t iov_len;
};
struct msghdr {
    void *msg_name;
    socklen_t msg_namelen;
    struct iovec *msg_iov; /* one */
    size_t msg_iovlen;
    void *msg_control;
    size_t msg_controllen;
};

/* Whether calls of a socket fail when an earlier datagram met nobody. */
void ls_windows_hear_refusals(int socket, bool is_on);
#endif

/* As Linux has struct mmsghdr. */
typedef struct ls_udp_message {
    struct msghdr msg_hdr;
    unsigned msg_len;
} ls_udp_message;

/* Before a socket is bound, or connected. */
void ls_udp_part_prepare(int socket, bool is_listening);

/* Whether it is at a port that others may be bound to. False with errno. */
bool ls_udp_part_is_shared(int socket, bool *is_shared);

/* How many have come or left, with their sizes; -1 with errno when the first one did not. A
 * datagram that is longer than its room is cut, and its size is more than that. */
int ls_udp_part_receive(int socket, ls_udp_message *messages, uint32_t count);
int ls_udp_part_send(int socket, ls_udp_message *messages, uint32_t count);

/* Says whether all that is sent from now on is small enough for every path: of such datagrams the
 * system need not number pieces. */
void ls_udp_part_set_small(int socket, bool is_small);

#endif
