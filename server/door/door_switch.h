/* Door switch: players in pages on the one side, each with a number, and a server on the other:
 * carries their datagrams as protocol/door has it, each way, and holds none back. Owns the socket
 * to the server. Limits how often a player may send. Called by the pipes of players and
 * door_program. */
#ifndef LOCKSTEP_SERVER_DOOR_DOOR_SWITCH_H
#define LOCKSTEP_SERVER_DOOR_DOOR_SWITCH_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/protocol/door/door_socket.h"
#include "lockstep/server/door/door_page.h"

/* Players at a time. */
#define LS_DOOR_PLAYERS_MAX 1024u
/* Datagrams of one player: so many at once, and so many a second. */
#define LS_DOOR_BURST 250u
#define LS_DOOR_RATE 500u

typedef struct ls_door_switch ls_door_switch;
typedef struct ls_door_player ls_door_player;

/* Where the datagrams for a player go; bytes are borrowed for the call, within which it may not be
 * removed. */
typedef struct ls_door_pipe {
    void (*send)(void *user, const uint8_t *bytes, size_t size, uint64_t now_ns);
    void *user;
} ls_door_pipe;

/* Takes the descriptor of a bound UDP socket; the page says where the server is, and outlives the
 * switch. IO, NO_MEMORY. */
ls_status ls_door_switch_create(int descriptor, ls_door_page *page, ls_event_loop *loop,
                                ls_door_switch **out);
/* There are no players left. NULL is allowed. */
void ls_door_switch_destroy(ls_door_switch *of);

/* NULL: there are too many, or memory is out. */
ls_door_player *ls_door_switch_add(ls_door_switch *of, const ls_endpoint *from,
                                   const ls_door_pipe *pipe);
void ls_door_switch_remove(ls_door_player *player); /* NULL is allowed */

/* A datagram of the player, who may have sent too many, or one that is too long: then it is
 * dropped. Forwarded datagrams leave with the next flush. */
void ls_door_player_forward(ls_door_player *player, const uint8_t *bytes, size_t size,
                            uint64_t now_ns);
void ls_door_switch_flush(ls_door_switch *of);

/* When the server last sent something to the player, or the player came. */
uint64_t ls_door_player_answered_ns(const ls_door_player *player);

#endif
