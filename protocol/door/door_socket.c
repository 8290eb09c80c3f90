#include "lockstep/protocol/door/door_socket.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/socket_layer.h"

#include <string.h>

/* ---- door carry ---- */

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

struct ls_door_socket {
    ls_socket_layer layer;
    ls_door_link link;
    const ls_allocator *allocator;
};

_Static_assert(LS_DOOR_CARRIED_BYTES_MAX + LS_DOOR_CARRY_BYTES <= LS_UDP_DATAGRAM_BYTES_MAX,
               "a datagram of ours");

/* The transport drops whatever comes from the door's place and was not carried by it. */
static bool receive(ls_socket_layer *layer, ls_udp_datagram *came)
{
    const ls_door_socket *door = (const ls_door_socket *)layer;
    if (ls_endpoint_is_equal(&came->from, &door->link.door)) {
        (void)ls_door_carry_take(came->bytes, &came->size, door->link.secret, &came->from);
    }
    return true;
}

static ls_layer_fate send_datagram(ls_socket_layer *layer, ls_outgoing_datagram *going)
{
    const ls_door_socket *door = (const ls_door_socket *)layer;
    if (going->to->via >= LS_DOOR_VIA_FIRST) {
        LS_ASSERT(going->size <= LS_DOOR_CARRIED_BYTES_MAX);
        memcpy(going->room, going->bytes, going->size);
        going->size = ls_door_carry_add(going->room, going->size, going->to, door->link.secret);
        going->bytes = going->room;
        going->to = &door->link.door;
    }
    return LS_LAYER_FORWARDED;
}

static const ls_socket_layer_kind kind = {.receive = receive, .send = send_datagram};

/* ---- the link as text: all of it in hexadecimal ---- */

enum {
    LINK_BYTES = LS_ENDPOINT_ADDRESS_BYTES + 2 + LS_DOOR_SECRET_BYTES,
};

_Static_assert(2 * LINK_BYTES < LS_DOOR_LINK_BYTES, "room for its NUL");

void ls_door_link_write(const ls_door_link *link, char text[LS_DOOR_LINK_BYTES])
{
    uint8_t bytes[LINK_BYTES];
    memcpy(bytes, link->door.address, LS_ENDPOINT_ADDRESS_BYTES);
    ls_store_u16(bytes + LS_ENDPOINT_ADDRESS_BYTES, link->door.port);
    memcpy(bytes + LS_ENDPOINT_ADDRESS_BYTES + 2, link->secret, LS_DOOR_SECRET_BYTES);
    ls_hex_write(text, bytes, sizeof bytes);
    ls_cipher_wipe(bytes, sizeof bytes);
}

ls_status ls_door_link_read(const char *text, ls_door_link *out)
{
    uint8_t bytes[LINK_BYTES];
    if (strlen(text) != 2 * sizeof bytes || !ls_hex_read(text, bytes, sizeof bytes)) {
        return LS_MALFORMED;
    }
    *out = (ls_door_link){.door.port = ls_load_u16(bytes + LS_ENDPOINT_ADDRESS_BYTES)};
    memcpy(out->door.address, bytes, LS_ENDPOINT_ADDRESS_BYTES);
    memcpy(out->secret, bytes + LS_ENDPOINT_ADDRESS_BYTES + 2, LS_DOOR_SECRET_BYTES);
    ls_cipher_wipe(bytes, sizeof bytes);
    return LS_OK;
}

/* ---- the whole ---- */

ls_status ls_door_socket_create(const ls_door_link *link, const ls_allocator *allocator,
                                ls_door_socket **out)
{
    ls_door_socket *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->link = *link;
    made->allocator = allocator;
    *out = made;
    return LS_OK;
}

void ls_door_socket_destroy(ls_door_socket *door)
{
    if (door) {
        LS_ASSERT(!door->layer.inner);
        ls_cipher_wipe(&door->link, sizeof door->link);
        ls_release(door->allocator, door);
    }
}

ls_datagram_socket *ls_door_socket_around(ls_door_socket *door, ls_datagram_socket *inner)
{
    if (!door) {
        return inner;
    }
    ls_socket_layer_init(&door->layer, &kind, inner);
    return &door->layer.base;
}
