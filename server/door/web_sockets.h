/* Web sockets: the connections of WebSockets behind their handshakes, each of which is the pipe of
 * a player: a message is a datagram. A datagram that cannot leave at once waits for a moment, and
 * the oldest goes first: one that is late is of no use. Closes those that send what they may not,
 * that are silent, or whom the server does not answer. Called by door_program. */
#ifndef LOCKSTEP_SERVER_DOOR_WEB_SOCKETS_H
#define LOCKSTEP_SERVER_DOOR_WEB_SOCKETS_H

#include "lockstep/server/door/door_switch.h"

/* Datagrams that may wait, and for how long. */
#define LS_WEB_WAITING_MAX 32u
#define LS_WEB_STALE_MS 100u
/* Without a byte a socket is asked whether it is there, and then closed; and one that the server
 * sends nothing to is closed. */
#define LS_WEB_ASK_S 10u
#define LS_WEB_SILENT_S 30u
#define LS_WEB_UNANSWERED_S 30u

/* Frames that one may send: as many in a second, and at once. With more it is closed. */
#define LS_WEB_FRAME_RATE 1000u
#define LS_WEB_FRAME_BURST 4096u

typedef struct ls_web_sockets ls_web_sockets;

typedef struct ls_web_socket_opening {
    int descriptor; /* what is read and written; watched from now on */
    int connection; /* of the system's TCP connection, which may be the same */
    ls_endpoint from;
    const uint8_t *bytes; /* that came behind the handshake */
    size_t size;
    /* It is closed: called once, also within open. */
    void (*close)(void *user);
    void *user;
} ls_web_socket_opening;

/* All of it outlives the sockets. NO_MEMORY. */
ls_status ls_web_sockets_create(ls_door_switch *to, ls_door_page *page, ls_event_loop *loop,
                                ls_web_sockets **out);
/* Closes all of them. NULL is allowed. */
void ls_web_sockets_destroy(ls_web_sockets *sockets);

/* Closes all of them, and says whether there were any. */
bool ls_web_sockets_close(ls_web_sockets *sockets);

void ls_web_sockets_open(ls_web_sockets *sockets, const ls_web_socket_opening *opening);

/* To be called a few times a second. */
void ls_web_sockets_tend(ls_web_sockets *sockets, uint64_t now_ns);

#endif
