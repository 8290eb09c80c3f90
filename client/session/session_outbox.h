/* Session outbox: everything that leaves a session: messages and packets to the server, and events
 * to the program around the session. Owns the sink, the connection's id and the memory in which a
 * packet is written. Never decides what is sent or when. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_OUTBOX_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_OUTBOX_H

#include "lockstep/client/session/session.h"
#include "lockstep/protocol/wire/message.h"

enum {
    LS_SESSION_EVENTS_MAX = 64
};

/* Comes zeroed but for the sink. */
typedef struct ls_session_outbox {
    ls_packet_sink sink;
    ls_peer_id server; /* to whom packets go: the session says so; 0: there is no connection */
    uint32_t event_first;
    uint32_t event_count;
    ls_message message;
    uint8_t packet[LS_PACKET_BYTES_MAX]; /* in which to write an unreliable packet */
    ls_session_event events[LS_SESSION_EVENTS_MAX];
} ls_session_outbox;

/* Closes the connection, if there is one. */
void ls_session_outbox_disconnect(ls_session_outbox *outbox);

/* ---- packets ---- */

/* The message to fill in: its kind is set, its body is what the last message left there. */
ls_message *ls_session_outbox_begin(ls_session_outbox *outbox, ls_message_kind kind);

/* Sends that message reliably. It can be changed and sent again. */
void ls_session_outbox_send(ls_session_outbox *outbox);

/* Sends what was written into `packet`. */
void ls_session_outbox_send_packet(ls_session_outbox *outbox, size_t size);

/* ---- events ---- */

/* A zeroed event of this kind, to be filled in at once. When too many wait, the oldest one is
 * dropped: the newest ones say how things stand. */
ls_session_event *ls_session_outbox_push_event(ls_session_outbox *outbox,
                                               ls_session_event_kind kind);

/* Takes the oldest event; false when there is none. */
bool ls_session_outbox_next_event(ls_session_outbox *outbox, ls_session_event *event);

#endif
