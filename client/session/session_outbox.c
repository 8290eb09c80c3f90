#include "lockstep/client/session/session_outbox.h"

#include <string.h>

void ls_session_outbox_disconnect(ls_session_outbox *outbox)
{
    ls_peer_id server = outbox->server;
    outbox->server = 0;
    if (server != 0) {
        outbox->sink.disconnect(outbox->sink.user, server);
    }
}

/* ---- packets ---- */

static void send_bytes(ls_session_outbox *outbox, ls_channel channel, size_t size)
{
    outbox->sink.send(outbox->sink.user, outbox->server, channel, outbox->packet, size);
}

ls_message *ls_session_outbox_begin(ls_session_outbox *outbox, ls_message_kind kind)
{
    outbox->message.kind = kind;
    return &outbox->message;
}

void ls_session_outbox_send(ls_session_outbox *outbox)
{
    send_bytes(outbox, LS_CHANNEL_RELIABLE, ls_message_write(&outbox->message, outbox->packet));
}

void ls_session_outbox_send_packet(ls_session_outbox *outbox, size_t size)
{
    send_bytes(outbox, LS_CHANNEL_UNRELIABLE, size);
}

/* ---- events ---- */

ls_session_event *ls_session_outbox_push_event(ls_session_outbox *outbox,
                                               ls_session_event_kind kind)
{
    ls_session_event *event =
        &outbox->events[(outbox->event_first + outbox->event_count) % LS_SESSION_EVENTS_MAX];
    if (outbox->event_count == LS_SESSION_EVENTS_MAX) {
        outbox->event_first = (outbox->event_first + 1) % LS_SESSION_EVENTS_MAX;
    } else {
        outbox->event_count++;
    }
    memset(event, 0, sizeof *event);
    event->kind = kind;
    return event;
}

bool ls_session_outbox_next_event(ls_session_outbox *outbox, ls_session_event *event)
{
    if (outbox->event_count == 0) {
        return false;
    }
    *event = outbox->events[outbox->event_first];
    outbox->event_first = (outbox->event_first + 1) % LS_SESSION_EVENTS_MAX;
    outbox->event_count--;
    return true;
}
