/* UDP parts: what udp_socket needs of the system that not every POSIX has. One file of the two
 * beside it is built: linux_udp_parts.c, or portable_udp_parts.c, which calls the system for each
 * datagram; ls_udp_descriptor_steer stands there as well. For no other folder. */
#ifndef LOCKSTEP_COMMON_SYSTEM_POSIX_UDP_PARTS_H
#define LOCKSTEP_COMMON_SYSTEM_POSIX_UDP_PARTS_H

#include "lockstep/common/system/udp_socket.h"

#include <sys/socket.h>

/* As Linux has struct mmsghdr. */
typedef struct ls_udp_message {
    struct msghdr msg_hdr;
    unsigned msg_len;
} ls_udp_message;

/* How many have come or left, with their sizes; -1 with errno when the first one did not. A
 * datagram that is longer than its room is cut, and its size is more than that. */
int ls_udp_part_receive(int socket, ls_udp_message *messages, uint32_t count);
int ls_udp_part_send(int socket, ls_udp_message *messages, uint32_t count);

#endif
