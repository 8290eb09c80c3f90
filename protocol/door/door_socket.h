/* Door socket: the socket of a server with a door for pages: its transport sees players in pages
 * as endpoints of their own beside those that come directly. Holds no player: where one is stands
 * in each datagram. Called by lockstep-server and its workers. */
#ifndef LOCKSTEP_PROTOCOL_DOOR_DOOR_SOCKET_H
#define LOCKSTEP_PROTOCOL_DOOR_DOOR_SOCKET_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/system/datagram_socket.h"
#include "lockstep/protocol/door/door_carry.h"

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
