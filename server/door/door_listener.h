/* Door listener: the port on which a door answers pages over HTTP: the files of the page, and the
 * handshakes of its WebSockets, which it hands to web_sockets. Knows no player. Called by
 * door_program. */
#ifndef LOCKSTEP_SERVER_DOOR_DOOR_LISTENER_H
#define LOCKSTEP_SERVER_DOOR_DOOR_LISTENER_H

#include "lockstep/common/base/text.h"
#include "lockstep/server/broadcast/broadcast_http.h"
#include "lockstep/server/door/rtc_peers.h"
#include "lockstep/server/door/web_sockets.h"

typedef struct ls_door_listener ls_door_listener;

typedef struct ls_door_listener_config {
    int descriptor; /* that listens; taken */
    bool is_tls;    /* with the ls_tls_files that are open */
    ls_door_page *page;
    ls_web_sockets *sockets;
    ls_rtc_peers *rtc;            /* NULL: no data channels */
    ls_broadcast_http *broadcast; /* NULL: no match is shown to everybody */
} ls_door_listener_config;

/* The page outlives it; the sockets are destroyed before. IO, NO_MEMORY; with
 * a sentence. */
ls_status ls_door_listener_create(const ls_door_listener_config *config, ls_event_loop *loop,
                                  ls_door_listener **out, ls_text *why);
/* NULL is allowed. */
void ls_door_listener_destroy(ls_door_listener *listener);

#endif
