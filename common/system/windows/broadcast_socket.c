#include "lockstep/common/system/broadcast_socket.h"

#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/socket_address.h"
#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <string.h>

enum {
    INTERFACES_MAX = 64,
};

static struct sockaddr_in place(uint32_t address, uint16_t port)
{
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port)};
    made.sin_addr.s_addr = address;
    return made;
}

ls_status ls_broadcast_socket_open(uint16_t port, int *descriptor, ls_text *why)
{
    const ls_endpoint any = ls_endpoint_from_ipv4(INADDR_ANY, port);
    int made = ls_socket_open(&any, SOCK_DGRAM);
    if (made >= 0 && ls_socket_set(made, SOL_SOCKET, SO_REUSEADDR, 1) &&
        ls_socket_set(made, SOL_SOCKET, SO_BROADCAST, 1) && ls_socket_bind(made, &any)) {
        *descriptor = made;
        return LS_OK;
    }
    ls_status status = ls_fail(LS_IO, why, "UDP port %u: %s", port, ls_windows_words());
    ls_socket_close(made);
    return status;
}

/* The interfaces of this machine; how many. */
static uint32_t list_interfaces(int descriptor, INTERFACE_INFO interfaces[INTERFACES_MAX])
{
    DWORD bytes = 0;
    int failure = WSAIoctl(ls_socket_handle_of(descriptor), SIO_GET_INTERFACE_LIST, NULL, 0,
                           interfaces, INTERFACES_MAX * sizeof interfaces[0], &bytes, NULL, NULL);
    return failure == 0 ? bytes / (uint32_t)sizeof interfaces[0] : 0;
}

static uint32_t address_of(const INTERFACE_INFO *own)
{
    return own->iiAddress.AddressIn.sin_addr.s_addr;
}

static uint32_t network_of(const INTERFACE_INFO *own, uint32_t address)
{
    return address & own->iiNetmask.AddressIn.sin_addr.s_addr;
}

/* By which interface it came follows from where it came from: the system says it by an extension
 * alone. It counts as a broadcast, which is what questions are sent by. */
static void read_arrival(int descriptor, ls_broadcast_datagram *datagram)
{
    INTERFACE_INFO interfaces[INTERFACES_MAX];
    uint32_t count = list_interfaces(descriptor, interfaces);
    uint32_t from = ls_endpoint_ipv4(&datagram->from);
    datagram->local = 0;
    datagram->is_broadcast = true;
    for (uint32_t i = 0; i < count; i++) {
        if (network_of(&interfaces[i], from) ==
            network_of(&interfaces[i], address_of(&interfaces[i]))) {
            datagram->local = address_of(&interfaces[i]);
        }
    }
}

bool ls_broadcast_socket_receive(int descriptor, ls_broadcast_datagram *datagram)
{
    struct sockaddr_in from = {0};
    int size = -1;
    do {
        int from_bytes = sizeof from;
        size = recvfrom(ls_socket_handle_of(descriptor), (char *)datagram->bytes,
                        sizeof datagram->bytes, 0, (struct sockaddr *)&from, &from_bytes);
    } while (size < 0 && WSAGetLastError() == WSAECONNRESET);
    if (size < 0 && WSAGetLastError() == WSAEMSGSIZE) {
        size = sizeof datagram->bytes;
    }
    if (size < 0) {
        return false;
    }
    datagram->size = (size_t)size;
    datagram->from = ls_endpoint_from_ipv4(from.sin_addr.s_addr, ntohs(from.sin_port));
    read_arrival(descriptor, datagram);
    return true;
}

static bool send_to(int descriptor, uint32_t address, uint16_t port, const uint8_t *bytes,
                    size_t size)
{
    struct sockaddr_in to = place(address, port);
    return sendto(ls_socket_handle_of(descriptor), (const char *)bytes, (int)size, 0,
                  (const struct sockaddr *)&to, sizeof to) == (int)size;
}

void ls_broadcast_socket_answer(int descriptor, const ls_broadcast_datagram *datagram,
                                const uint8_t *bytes, size_t size)
{
    (void)send_to(descriptor, ls_endpoint_ipv4(&datagram->from), datagram->from.port, bytes, size);
}

uint32_t ls_broadcast_socket_broadcast(int descriptor, uint32_t address, uint16_t port,
                                       const uint8_t *bytes, size_t size)
{
    INTERFACE_INFO interfaces[INTERFACES_MAX];
    uint32_t sent = 0;
    if (address != 0) {
        return send_to(descriptor, address, port, bytes, size) ? 1 : 0;
    }
    uint32_t count = list_interfaces(descriptor, interfaces);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t broadcast =
            address_of(&interfaces[i]) | ~interfaces[i].iiNetmask.AddressIn.sin_addr.s_addr;
        bool is_up = interfaces[i].iiFlags & IFF_UP;
        sent += is_up && send_to(descriptor, broadcast, port, bytes, size) ? 1 : 0;
    }
    return sent;
}
