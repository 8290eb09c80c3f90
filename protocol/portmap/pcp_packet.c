#include "lockstep/protocol/portmap/pcp_packet.h"

#include <string.h>

enum {
    VERSION = 2,
    MAP = 1,
    ANSWER = 0x80,
    UDP = 17,
    VERSIONED_BYTES = 4, /* that an answer of any version has */
    RESULT_AT = 3,
    LIFETIME_AT = 4,
    CLIENT_AT = 8,
    NONCE_AT = 24,
    PROTOCOL_AT = 36,
    INSIDE_AT = 40,
    OUTSIDE_AT = 42,
    ADDRESS_AT = 44,
};

/* Numbers are big-endian here. */
static void store(uint8_t *at, uint32_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        at[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    }
}

static uint32_t load(const uint8_t *at, size_t size)
{
    uint32_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

void ls_pcp_map_write(const ls_pcp_map *map, uint8_t bytes[LS_PCP_MAP_BYTES])
{
    const ls_endpoint any = ls_endpoint_from_ipv4(0, 0);
    memset(bytes, 0, LS_PCP_MAP_BYTES);
    bytes[0] = VERSION;
    bytes[1] = MAP;
    store(bytes + LIFETIME_AT, map->lifetime_s, 4);
    memcpy(bytes + CLIENT_AT, map->own.address, sizeof map->own.address);
    memcpy(bytes + NONCE_AT, map->nonce, sizeof map->nonce);
    bytes[PROTOCOL_AT] = UDP;
    store(bytes + INSIDE_AT, map->own.port, 2);
    store(bytes + OUTSIDE_AT, map->wanted, 2);
    memcpy(bytes + ADDRESS_AT, any.address, sizeof any.address);
}

static const char *refusal_of(uint8_t result)
{
    static const char *const texts[] = {
        [2] = "it is set up to give no ports",  [4] = "it does not know how",
        [7] = "it has no way outside",          [8] = "it has no port left",
        [10] = "it gives this machine no more",
    };
    const char *text = result < sizeof texts / sizeof texts[0] ? texts[result] : NULL;
    return text ? text : "it does not want to";
}

/* A router that speaks NAT-PMP alone refuses in four bytes, or as many as that has. */
ls_status ls_pcp_map_read(const ls_pcp_map *map, const uint8_t *bytes, size_t size,
                          ls_port_mapping *out, ls_text *why)
{
    if (size >= VERSIONED_BYTES && bytes[0] != VERSION && (bytes[1] & ANSWER) != 0) {
        return ls_fail(LS_REFUSED, why, "the router speaks another version");
    }
    if (size < LS_PCP_MAP_BYTES || bytes[0] != VERSION || bytes[1] != (ANSWER | MAP) ||
        memcmp(bytes + NONCE_AT, map->nonce, sizeof map->nonce) != 0 || bytes[PROTOCOL_AT] != UDP) {
        return ls_fail(LS_NOT_FOUND, why, "the router does not answer");
    }
    if (bytes[RESULT_AT] != 0) {
        return ls_fail(LS_REFUSED, why, "the router refuses: %s", refusal_of(bytes[RESULT_AT]));
    }
    *out = (ls_port_mapping){.outside.port = (uint16_t)load(bytes + OUTSIDE_AT, 2),
                             .inside = (uint16_t)load(bytes + INSIDE_AT, 2),
                             .lifetime_s = load(bytes + LIFETIME_AT, 4)};
    memcpy(out->outside.address, bytes + ADDRESS_AT, sizeof out->outside.address);
    return LS_OK;
}
