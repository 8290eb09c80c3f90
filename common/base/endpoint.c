#include "lockstep/common/base/endpoint.h"

#include "lockstep/common/base/byte_io.h"

#include <string.h>

enum {
    LOOPBACK_NETWORK = 127, /* the first byte of its IPv4 addresses */
};

static const uint8_t ipv4_prefix[12] = {[10] = 0xff, [11] = 0xff};

ls_endpoint ls_endpoint_from_ipv4(uint32_t address, uint16_t port)
{
    ls_endpoint made = {.port = port};
    memcpy(made.address, ipv4_prefix, sizeof ipv4_prefix);
    memcpy(made.address + sizeof ipv4_prefix, &address, sizeof address);
    return made;
}

bool ls_endpoint_is_ipv4(const ls_endpoint *endpoint)
{
    return memcmp(endpoint->address, ipv4_prefix, sizeof ipv4_prefix) == 0;
}

uint32_t ls_endpoint_ipv4(const ls_endpoint *endpoint)
{
    uint32_t address = 0;
    if (ls_endpoint_is_ipv4(endpoint)) {
        memcpy(&address, endpoint->address + sizeof ipv4_prefix, sizeof address);
    }
    return address;
}

bool ls_endpoint_is_any(const ls_endpoint *endpoint)
{
    static const uint8_t zeros[LS_ENDPOINT_ADDRESS_BYTES];
    return ls_endpoint_is_ipv4(endpoint) ? ls_endpoint_ipv4(endpoint) == 0
                                         : memcmp(endpoint->address, zeros, sizeof zeros) == 0;
}

ls_endpoint ls_endpoint_loopback_like(const ls_endpoint *endpoint)
{
    ls_endpoint made = {.address = {[LS_ENDPOINT_ADDRESS_BYTES - 1] = 1}, .port = endpoint->port};
    if (ls_endpoint_is_ipv4(endpoint)) {
        memcpy(made.address, ipv4_prefix, sizeof ipv4_prefix);
        made.address[sizeof ipv4_prefix] = LOOPBACK_NETWORK;
    }
    return made;
}

bool ls_endpoint_is_loopback(const ls_endpoint *endpoint)
{
    static const uint8_t own[LS_ENDPOINT_ADDRESS_BYTES] = {[LS_ENDPOINT_ADDRESS_BYTES - 1] = 1};
    return ls_endpoint_is_ipv4(endpoint) ? endpoint->address[sizeof ipv4_prefix] == LOOPBACK_NETWORK
                                         : memcmp(endpoint->address, own, sizeof own) == 0;
}

bool ls_endpoint_is_public(const ls_endpoint *endpoint)
{
    static const struct {
        uint8_t first, second, bits;
    } networks[] = {{0, 0, 8},      {10, 0, 8},    {100, 64, 10},  {127, 0, 8},
                    {169, 254, 16}, {172, 16, 12}, {192, 168, 16}, {224, 0, 3}};
    const uint8_t *at = endpoint->address + sizeof ipv4_prefix;
    if (!ls_endpoint_is_ipv4(endpoint)) {
        return endpoint->address[0] >> 5 == 1; /* 2000::/3 */
    }
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        uint32_t differs =
            (uint32_t)(at[0] ^ networks[i].first) << 8 | (at[1] ^ networks[i].second);
        if (differs >> (16 - networks[i].bits) == 0) {
            return false;
        }
    }
    return true;
}

size_t ls_udp_header_bytes(const ls_endpoint *endpoint)
{
    enum {
        UDP_HEADER_BYTES = 8,
        IPV4_HEADER_BYTES = 20,
        IPV6_HEADER_BYTES = 40,
    };
    return UDP_HEADER_BYTES +
           (ls_endpoint_is_ipv4(endpoint) ? IPV4_HEADER_BYTES : IPV6_HEADER_BYTES);
}

uint64_t ls_endpoint_origin(const ls_endpoint *endpoint)
{
    uint8_t bytes[8] = {0};
    if (ls_endpoint_is_ipv4(endpoint)) {
        memcpy(bytes, endpoint->address + sizeof ipv4_prefix, 4);
        bytes[7] = LS_ORIGIN_IPV4;
    } else {
        memcpy(bytes, endpoint->address, 7); /* a /56 */
        bytes[7] = LS_ORIGIN_IPV6;
    }
    return ls_load_u64(bytes);
}

bool ls_endpoint_is_same_host(const ls_endpoint *a, const ls_endpoint *b)
{
    return memcmp(a->address, b->address, sizeof a->address) == 0;
}

bool ls_endpoint_is_equal(const ls_endpoint *a, const ls_endpoint *b)
{
    return a->port == b->port && a->via == b->via && ls_endpoint_is_same_host(a, b);
}
