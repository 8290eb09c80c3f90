/* Session outbox: everything that leaves a session: messages and packets to the server, and events
 * to the program around the session. Owns the sink, the connection's id and the memory in which a
 * packet is written. Never decides what is sent or when. Called by every part of a session. */
#ifndef LOCKSTEP_CLIENT_SESSION_SESSION_OUTBOX_H
#define LOCKSTEP_CLIENT_SESSION_SESSION_OUTBOX_H

#include "lockstep/client/session/session.h"
#include "lockstep/protocol/wire/message.h"

typedef struct ls_session_outbox ls_session_outbox;

/* The sink is copied. NO_MEMORY. */
ls_status ls_session_outbox_create(const ls_packet_sink *sink, const ls_allocator *allocator,
                                   ls_session_outbox **out);
void ls_session_outbox_destroy(ls_session_outbox *outbox);

/* ---- the connection ---- */

/* From now on packets go to this peer. The outbox has no peer before that. */
void ls_session_outbox_connect(ls_session_outbox *outbox, ls_peer_id server);

/* The transport has lost the peer. */
void ls_session_outbox_forget_peer(ls_session_outbox *outbox);

/* Closes the connection, if there is one. */
void ls_session_outbox_disconnect(ls_session_outbox *outbox);

bool ls_session_outbox_is_connected(const ls_session_outbox *outbox);

/* ---- packets ---- */

/* The message to fill in: its kind is set, its body is what the last message left there. */
ls_message *ls_session_outbox_begin(ls_session_outbox *outbox, ls_message_kind kind);

/* Sends that message reliably. It can be changed and sent again. */
void ls_session_outbox_send(ls_session_outbox *outbox);

/* LS_PACKET_BYTES_MAX bytes in which to write an unreliable packet, and sending what was written.
 */
uint8_t *ls_session_outbox_packet(ls_session_outbox *outbox);
void ls_session_outbox_send_packet(ls_session_outbox *outbox, size_t size);

/* ---- events ---- */

/* A zeroed event of this kind, to be filled in at once. When too many wait, the oldest one is
 * dropped: the newest ones say how things stand. */
ls_session_event *ls_session_outbox_push_event(ls_session_outbox *outbox,
                                               ls_session_event_kind kind);

/* Takes the oldest event; false when there is none. */
bool ls_session_outbox_next_event(ls_session_outbox *outbox, ls_session_event *event);

#endif
