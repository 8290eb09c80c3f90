#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/portmap/pcp_packet.h"
#include "lockstep/protocol/portmap/router.h"

#include <string.h>

#define PATIENCE_NS (2 * LS_NS_PER_SECOND)
#define REPEAT_NS (250 * LS_NS_PER_MS) /* doubles */
#define PCP_PORT 5351u

/* Whether an answer has come. */
static bool take(ls_datagram_socket *socket, const ls_pcp_map *map, ls_port_mapping *out,
                 ls_status *status, ls_text *why)
{
    ls_udp_datagram came;
    while (ls_datagram_socket_receive(socket, &came) == LS_UDP_RECEIVED) {
        *status = ls_pcp_map_read(map, came.bytes, LS_MIN(came.size, LS_UDP_RECEIVED_BYTES_MAX),
                                  out, why);
        if (*status != LS_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

static ls_status exchange(ls_datagram_socket *socket, const ls_endpoint *router,
                          const ls_pcp_map *map, ls_port_mapping *out, ls_text *why)
{
    const ls_clock clock = ls_clock_system();
    const uint64_t until_ns = ls_clock_now_ns(&clock) + PATIENCE_NS;
    uint64_t due_ns = 0, repeat_ns = REPEAT_NS;
    uint8_t bytes[LS_PCP_MAP_BYTES];
    ls_status status = LS_NOT_FOUND;
    ls_pcp_map_write(map, bytes);
    for (uint64_t now_ns; (now_ns = ls_clock_now_ns(&clock)) < until_ns;) {
        if (now_ns >= due_ns) {
            ls_datagram_socket_send(socket, router, bytes, sizeof bytes);
            (void)ls_datagram_socket_flush(socket);
            due_ns = now_ns + repeat_ns;
            repeat_ns *= 2;
        }
        (void)ls_socket_await(ls_datagram_socket_descriptor(socket),
                              LS_MIN(due_ns, until_ns) - now_ns);
        ls_datagram_socket_begin_turn(socket, ls_clock_now_ns(&clock));
        if (take(socket, map, out, &status, why)) {
            return status;
        }
    }
    return ls_fail(LS_NOT_FOUND, why, "the router does not answer");
}

/* One nonce is that of every mapping of this process, which asks for one at a time. */
static ls_status request(uint16_t inside, uint16_t wanted, uint32_t lifetime_s,
                         ls_port_mapping *out, ls_text *why)
{
    static uint8_t nonce[LS_PCP_NONCE_BYTES];
    static bool has_nonce;
    ls_endpoint router;
    ls_datagram_socket *socket = NULL;
    ls_pcp_map map = {.wanted = wanted, .lifetime_s = lifetime_s};
    if (!ls_router_gateway(&router)) {
        return ls_fail(LS_NOT_FOUND, why, "this network has no router");
    }
    router.port = PCP_PORT;
    ls_status status = ls_cipher_init();
    if (status == LS_OK && !has_nonce) {
        ls_cipher_random(nonce, sizeof nonce);
        has_nonce = true;
    }
    memcpy(map.nonce, nonce, sizeof map.nonce);
    LS_THEN(status, ls_udp_socket_connect(&router, ls_allocator_heap(), &socket));
    if (status == LS_OK && !ls_socket_own(ls_datagram_socket_descriptor(socket), &map.own)) {
        status = LS_IO;
    }
    map.own.port = inside;
    if (status == LS_OK) {
        status = exchange(socket, &router, &map, out, why);
    } else {
        (void)ls_fail(status, why, "no way to the router");
    }
    ls_datagram_socket_close(socket);
    return status;
}

static ls_status map(uint16_t inside, uint16_t wanted, ls_port_mapping *out, ls_text *why)
{
    return request(inside, wanted, LS_ROUTER_LIFETIME_S, out, why);
}

static ls_status unmap(const ls_port_mapping *mapping, ls_text *why)
{
    ls_port_mapping gone;
    return request(mapping->inside, 0, 0, &gone, why);
}

const ls_router_way ls_router_pcp = {"PCP", map, unmap};
