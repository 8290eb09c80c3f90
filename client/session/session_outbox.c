#include "lockstep/client/session/session_outbox.h"

#include <string.h>

enum {
    EVENTS_MAX = 64
};

struct ls_session_outbox {
    const ls_allocator *allocator;
    ls_packet_sink sink;
    ls_peer_id server; /* 0: there is no connection */
    uint32_t event_first;
    uint32_t event_count;
    ls_message message;
    uint8_t packet[LS_PACKET_BYTES_MAX];
    ls_session_event events[EVENTS_MAX];
};

ls_status ls_session_outbox_create(const ls_packet_sink *sink, const ls_allocator *allocator,
                                   ls_session_outbox **out)
{
    ls_session_outbox *outbox = ls_allocate(allocator, sizeof *outbox);
    if (!outbox) {
        return LS_NO_MEMORY;
    }
    outbox->allocator = allocator;
    outbox->sink = *sink;
    *out = outbox;
    return LS_OK;
}

void ls_session_outbox_destroy(ls_session_outbox *outbox)
{
    if (outbox) {
        ls_release(outbox->allocator, outbox);
    }
}

/* ---- the connection ---- */

void ls_session_outbox_connect(ls_session_outbox *outbox, ls_peer_id server)
{
    outbox->server = server;
}

void ls_session_outbox_forget_peer(ls_session_outbox *outbox)
{
    outbox->server = 0;
}

void ls_session_outbox_disconnect(ls_session_outbox *outbox)
{
    ls_peer_id server = outbox->server;
    outbox->server = 0;
    if (server != 0) {
        outbox->sink.disconnect(outbox->sink.user, server);
    }
}

bool ls_session_outbox_is_connected(const ls_session_outbox *outbox)
{
    return outbox->server != 0;
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

uint8_t *ls_session_outbox_packet(ls_session_outbox *outbox)
{
    return outbox->packet;
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
        &outbox->events[(outbox->event_first + outbox->event_count) % EVENTS_MAX];
    if (outbox->event_count == EVENTS_MAX) {
        outbox->event_first = (outbox->event_first + 1) % EVENTS_MAX;
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
    outbox->event_first = (outbox->event_first + 1) % EVENTS_MAX;
    outbox->event_count--;
    return true;
}
