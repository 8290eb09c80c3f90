/* Door socket: the socket of a server with a door for pages: its transport sees players in pages
 * as endpoints of their own beside those that come directly. Holds no player: where one is stands
 * in each datagram. Called by lockstep-server and its workers. */
#ifndef LOCKSTEP_PROTOCOL_DOOR_DOOR_SOCKET_H
#define LOCKSTEP_PROTOCOL_DOOR_DOOR_SOCKET_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/system/datagram_socket.h"

/* ---- Door carry: what a door puts behind the datagram of a player in a page, so that its server
 * knows where the player is, and the server behind what it answers. It stands behind, and ends as
 * the datagram does: where several sockets share a port, the system gives it to the socket that the
 * datagram is for. Pure. Called by door_socket and server/door ---- */

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

/* Where a door is, as a server's socket sees it, and what it proves that by. */
typedef struct ls_door_link {
    ls_endpoint door;
    uint8_t secret[LS_DOOR_SECRET_BYTES];
} ls_door_link;

/* As text for another process of the server: it has the secret. */
#define LS_DOOR_LINK_BYTES 80u
void ls_door_link_write(const ls_door_link *link, char text[LS_DOOR_LINK_BYTES]);
/* MALFORMED. */
ls_status ls_door_link_read(const char *text, ls_door_link *out);

typedef struct ls_door_socket ls_door_socket;

/* The link is copied. NO_MEMORY. */
ls_status ls_door_socket_create(const ls_door_link *link, const ls_allocator *allocator,
                                ls_door_socket **out);
/* After the socket was closed; wipes its secret. NULL is allowed. */
void ls_door_socket_destroy(ls_door_socket *door);

/* The socket for a transport, once; takes the one that it stands on, and returns it for NULL. */
ls_datagram_socket *ls_door_socket_around(ls_door_socket *door, ls_datagram_socket *inner);

#endif
