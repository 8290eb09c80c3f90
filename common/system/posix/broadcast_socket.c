#define _GNU_SOURCE
#include "lockstep/common/system/broadcast_socket.h"

#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/socket_address.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#define CONTROL_BYTES 256u

/* Linux and macOS say which of this machine's addresses a datagram came to, and send from there.
 * BSDs do it in other ways: there every datagram counts as a broadcast, as on Windows, and the
 * system chooses where an answer comes from. (NetBSD has IP_PKTINFO without that address.) */
#if defined(IP_PKTINFO) && !defined(ipi_spec_dst)
#define KNOWS_ARRIVAL 1
#else
#define KNOWS_ARRIVAL 0
#endif

static struct sockaddr_in place(uint32_t address, uint16_t port)
{
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port)};
    made.sin_addr.s_addr = address;
    return made;
}

#if KNOWS_ARRIVAL
static bool ask_for_arrival(int descriptor)
{
    return ls_socket_set(descriptor, IPPROTO_IP, IP_PKTINFO, 1);
}

static void read_arrival(struct msghdr *message, ls_broadcast_datagram *datagram)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(part), sizeof info);
            datagram->local = info.ipi_spec_dst.s_addr;
            datagram->is_broadcast = info.ipi_addr.s_addr != info.ipi_spec_dst.s_addr;
        }
    }
}
#else
static bool ask_for_arrival(int descriptor)
{
    (void)descriptor;
    return true;
}

static void read_arrival(struct msghdr *message, ls_broadcast_datagram *datagram)
{
    (void)message;
    datagram->is_broadcast = true;
}
#endif

ls_status ls_broadcast_socket_open(uint16_t port, int *descriptor, ls_text *why)
{
    const ls_endpoint any = ls_endpoint_from_ipv4(INADDR_ANY, port);
    int made = ls_socket_open(&any, SOCK_DGRAM);
    if (made >= 0 && ls_socket_set(made, SOL_SOCKET, SO_REUSEADDR, 1) &&
        ls_socket_set(made, SOL_SOCKET, SO_BROADCAST, 1) && ask_for_arrival(made) &&
        ls_socket_bind(made, &any)) {
        *descriptor = made;
        return LS_OK;
    }
    ls_status status = ls_fail(LS_IO, why, "UDP port %u: %s", port, strerror(errno));
    ls_socket_close(made);
    return status;
}

bool ls_broadcast_socket_receive(int descriptor, ls_broadcast_datagram *datagram)
{
    union {
        struct cmsghdr header;
        char bytes[CONTROL_BYTES];
    } control;
    struct sockaddr_in from = {0};
    struct iovec part = {datagram->bytes, sizeof datagram->bytes};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t size = -1;
    do { /* an error of an earlier datagram (ICMP) is no datagram, but there may be one behind it */
        size = recvmsg(descriptor, &message, 0);
    } while (size < 0 && (errno == EINTR || errno == ECONNREFUSED));
    if (size < 0) {
        return false;
    }
    datagram->size = (size_t)size;
    datagram->from = ls_endpoint_from_ipv4(from.sin_addr.s_addr, ntohs(from.sin_port));
    datagram->local = 0;
    datagram->is_broadcast = false;
    read_arrival(&message, datagram);
    return true;
}

static bool send_to(int descriptor, uint32_t address, uint16_t port, const uint8_t *bytes,
                    size_t size)
{
    struct sockaddr_in to = place(address, port);
    return sendto(descriptor, bytes, size, MSG_NOSIGNAL, (const struct sockaddr *)&to, sizeof to) ==
           (ssize_t)size;
}

#if KNOWS_ARRIVAL
void ls_broadcast_socket_answer(int descriptor, const ls_broadcast_datagram *datagram,
                                const uint8_t *bytes, size_t size)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
    } control = {.bytes = {0}};
    struct in_pktinfo info = {.ipi_spec_dst.s_addr = datagram->local};
    struct sockaddr_in to = place(ls_endpoint_ipv4(&datagram->from), datagram->from.port);
    struct iovec part = {(void *)(uintptr_t)bytes, size};
    struct msghdr message = {.msg_name = &to,
                             .msg_namelen = sizeof to,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = IPPROTO_IP;
    header->cmsg_type = IP_PKTINFO;
    header->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(header), &info, sizeof info);
    (void)!sendmsg(descriptor, &message, MSG_NOSIGNAL);
}
#else
void ls_broadcast_socket_answer(int descriptor, const ls_broadcast_datagram *datagram,
                                const uint8_t *bytes, size_t size)
{
    (void)send_to(descriptor, ls_endpoint_ipv4(&datagram->from), datagram->from.port, bytes, size);
}
#endif

/* The loopback has no broadcast address in this list, but the last of its network is one. */
static uint32_t broadcast_of(const struct ifaddrs *interface)
{
    if (!interface->ifa_addr || interface->ifa_addr->sa_family != AF_INET ||
        !(interface->ifa_flags & IFF_UP)) {
        return 0;
    }
    struct sockaddr_in address = {0}, mask = {0}, broadcast = {0};
    if ((interface->ifa_flags & IFF_LOOPBACK) && interface->ifa_netmask) {
        memcpy(&address, interface->ifa_addr, sizeof address);
        memcpy(&mask, interface->ifa_netmask, sizeof mask);
        return address.sin_addr.s_addr | ~mask.sin_addr.s_addr;
    }
    if (!(interface->ifa_flags & IFF_BROADCAST) || !interface->ifa_broadaddr) {
        return 0;
    }
    memcpy(&broadcast, interface->ifa_broadaddr, sizeof broadcast);
    return broadcast.sin_addr.s_addr;
}

uint32_t ls_broadcast_socket_broadcast(int descriptor, uint32_t address, uint16_t port,
                                       const uint8_t *bytes, size_t size)
{
    uint32_t sent = 0;
    struct ifaddrs *interfaces = NULL;
    if (address != 0) {
        return send_to(descriptor, address, port, bytes, size) ? 1 : 0;
    }
    if (getifaddrs(&interfaces) != 0) {
        return 0;
    }
    for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next) {
        uint32_t broadcast = broadcast_of(at);
        sent += broadcast != 0 && send_to(descriptor, broadcast, port, bytes, size) ? 1 : 0;
    }
    freeifaddrs(interfaces);
    return sent;
}
