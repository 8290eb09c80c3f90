/* Door carry: what a door puts behind the datagram of a player in a page, so that its server knows
 * where the player is, and the server behind what it answers. It stands behind, and ends as the
 * datagram does: where several sockets share a port, the system gives it to the socket that the
 * datagram is for. Pure. Called by door_socket and server/door. */
#ifndef LOCKSTEP_PROTOCOL_DOOR_DOOR_CARRY_H
#define LOCKSTEP_PROTOCOL_DOOR_DOOR_CARRY_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"

LS_C_BEGIN

#define LS_DOOR_SECRET_BYTES 16u
/* Address, port and via of the player, the secret, and the last byte of the datagram again. */
#define LS_DOOR_CARRY_BYTES (LS_ENDPOINT_ADDRESS_BYTES + 2u + 2u + LS_DOOR_SECRET_BYTES + 1u)
/* The datagrams within: those of the sealed layer are no longer, with what a relay has before them.
 */
#define LS_DOOR_CARRIED_BYTES_MAX 1209u

/* The `via` of players behind a door: from here on; a relay gives smaller ones. */
#define LS_DOOR_VIA_FIRST 0x8000u

/* Puts it behind `size` bytes, 1 .. LS_DOOR_CARRIED_BYTES_MAX, where there is room for it; returns
 * the size of both. */
size_t ls_door_carry_add(uint8_t *bytes, size_t size, const ls_endpoint *player,
                         const uint8_t secret[LS_DOOR_SECRET_BYTES]);

/* False: it was not carried, or not by one who has the secret; nothing is changed. Else `size` is
 * that of the datagram alone. */
bool ls_door_carry_take(const uint8_t *bytes, size_t *size,
                        const uint8_t secret[LS_DOOR_SECRET_BYTES], ls_endpoint *player);

LS_C_END

#endif
