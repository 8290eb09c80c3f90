#include "lockstep/protocol/door/door_carry.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"

#include <string.h>

enum {
    PORT_AT = LS_ENDPOINT_ADDRESS_BYTES,
    VIA_AT = PORT_AT + 2,
    SECRET_AT = VIA_AT + 2,
    LAST_AT = SECRET_AT + LS_DOOR_SECRET_BYTES,
};

size_t ls_door_carry_add(uint8_t *bytes, size_t size, const ls_endpoint *player,
                         const uint8_t secret[LS_DOOR_SECRET_BYTES])
{
    LS_ASSERT(size > 0 && size <= LS_DOOR_CARRIED_BYTES_MAX);
    uint8_t *at = bytes + size;
    memcpy(at, player->address, LS_ENDPOINT_ADDRESS_BYTES);
    ls_store_u16(at + PORT_AT, player->port);
    ls_store_u16(at + VIA_AT, player->via);
    memcpy(at + SECRET_AT, secret, LS_DOOR_SECRET_BYTES);
    at[LAST_AT] = bytes[size - 1];
    return size + LS_DOOR_CARRY_BYTES;
}

bool ls_door_carry_take(const uint8_t *bytes, size_t *size,
                        const uint8_t secret[LS_DOOR_SECRET_BYTES], ls_endpoint *player)
{
    if (*size <= LS_DOOR_CARRY_BYTES || *size > LS_DOOR_CARRIED_BYTES_MAX + LS_DOOR_CARRY_BYTES) {
        return false;
    }
    const uint8_t *at = bytes + *size - LS_DOOR_CARRY_BYTES;
    ls_endpoint from = {.port = ls_load_u16(at + PORT_AT), .via = ls_load_u16(at + VIA_AT)};
    memcpy(from.address, at, LS_ENDPOINT_ADDRESS_BYTES);
    if (!ls_cipher_is_equal(at + SECRET_AT, secret, LS_DOOR_SECRET_BYTES) ||
        at[LAST_AT] != at[-1] || from.via < LS_DOOR_VIA_FIRST) {
        return false;
    }
    *player = from;
    *size -= LS_DOOR_CARRY_BYTES;
    return true;
}
