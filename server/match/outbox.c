#include "lockstep/server/match/outbox.h"

ls_status ls_outbox_create(const ls_packet_sink *sink, const ls_allocator *allocator,
                           ls_outbox **out)
{
    ls_outbox *outbox = ls_allocate(allocator, sizeof *outbox);
    if (!outbox) {
        return LS_NO_MEMORY;
    }
    outbox->sink = *sink;
    outbox->allocator = allocator;
    *out = outbox;
    return LS_OK;
}

void ls_outbox_destroy(ls_outbox *outbox)
{
    if (outbox) {
        ls_release(outbox->allocator, outbox);
    }
}

/* ---- messages and packets ---- */

void ls_outbox_send(ls_outbox *outbox, ls_peer_id peer)
{
    size_t size = ls_message_write(&outbox->message, outbox->packet);
    outbox->sink.send(outbox->sink.user, peer, LS_CHANNEL_RELIABLE, outbox->packet, size);
}

void ls_outbox_refuse(ls_outbox *outbox, ls_peer_id peer, ls_status status, const char *why)
{
    if (!outbox->is_mute) {
        ls_close_reason *reason = &ls_outbox_message(outbox, LS_MESSAGE_REFUSE)->body.close_reason;
        reason->negated_status = (uint32_t)-status;
        ls_text_set(&reason->text, "%s", why);
        ls_outbox_send(outbox, peer);
    }
    ls_outbox_disconnect(outbox, peer);
}

void ls_outbox_disconnect(ls_outbox *outbox, ls_peer_id peer)
{
    outbox->sink.disconnect(outbox->sink.user, peer);
}

void ls_outbox_mute_refusals(ls_outbox *outbox)
{
    outbox->is_mute = true;
}

/* ---- events ---- */

ls_match_event *ls_outbox_push_event(ls_outbox *outbox, ls_match_event_kind kind, uint32_t slot,
                                     ls_tick tick)
{
    ls_match_event *event =
        &outbox->events[(outbox->event_first + outbox->event_count) % LS_OUTBOX_EVENTS_MAX];
    if (outbox->event_count == LS_OUTBOX_EVENTS_MAX) {
        /* The newest events tell how the match is now. */
        outbox->event_first = (outbox->event_first + 1) % LS_OUTBOX_EVENTS_MAX;
    } else {
        outbox->event_count++;
    }
    *event = (ls_match_event){.kind = kind, .slot = slot, .tick = tick};
    return event;
}

bool ls_outbox_next_event(ls_outbox *outbox, ls_match_event *event)
{
    if (outbox->event_count == 0) {
        return false;
    }
    *event = outbox->events[outbox->event_first];
    outbox->event_first = (outbox->event_first + 1) % LS_OUTBOX_EVENTS_MAX;
    outbox->event_count--;
    return true;
}
