#include "lockstep/server/match/outbox.h"

#include "lockstep/common/base/assert.h"

#include <stddef.h>
#include <string.h>

enum {
    PACKED_BYTES = 1024, /* for events, at first: so many, and for each player */
    PACKED_BYTES_OF_PLAYER = 512,
    EVENT_HEAD_BYTES = offsetof(ls_match_event, text),
};

ls_status ls_outbox_create(const ls_packet_sink *sink, uint32_t players,
                           const ls_allocator *allocator, ls_outbox **out)
{
    ls_outbox *outbox = ls_allocate(allocator, sizeof *outbox);
    if (!outbox) {
        return LS_NO_MEMORY;
    }
    outbox->sink = *sink;
    outbox->allocator = allocator;
    outbox->message.players = players;
    outbox->packed_capacity = PACKED_BYTES + players * PACKED_BYTES_OF_PLAYER;
    outbox->packed = ls_allocate(allocator, outbox->packed_capacity);
    *out = outbox;
    return outbox->packed ? LS_OK : LS_NO_MEMORY;
}

void ls_outbox_destroy(ls_outbox *outbox)
{
    if (outbox) {
        ls_release(outbox->allocator, outbox->packed);
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

/* A packed event: all of it that stands before its text, then the text with its NUL. */
static uint32_t packed_bytes(const ls_match_event *event)
{
    return EVENT_HEAD_BYTES + (uint32_t)strlen(event->text.bytes) + 1;
}

static void pop_packed(ls_outbox *outbox, ls_match_event *event)
{
    const uint8_t *bytes = outbox->packed + outbox->packed_first;
    LS_ASSERT(outbox->packed_count > 0);
    memset(event, 0, sizeof *event);
    memcpy(event, bytes, EVENT_HEAD_BYTES);
    memcpy(event->text.bytes, bytes + EVENT_HEAD_BYTES,
           strlen((const char *)bytes + EVENT_HEAD_BYTES) + 1);
    outbox->packed_first += packed_bytes(event);
    outbox->packed_count--;
}

/* Moves what waits to the front, of twice the memory when it fills more than half of this one. The
 * memory stays as it is when there is no more. */
static void move_packed(ls_outbox *outbox)
{
    uint32_t used = outbox->packed_end - outbox->packed_first;
    uint32_t capacity = 2 * outbox->packed_capacity;
    uint8_t *larger =
        used > outbox->packed_capacity / 2 ? ls_allocate(outbox->allocator, capacity) : NULL;
    uint8_t *to = larger ? larger : outbox->packed;
    memmove(to, outbox->packed + outbox->packed_first, used);
    if (larger) {
        ls_release(outbox->allocator, outbox->packed);
        outbox->packed = larger;
        outbox->packed_capacity = capacity;
    }
    outbox->packed_first = 0;
    outbox->packed_end = used;
}

static bool has_room(const ls_outbox *outbox, uint32_t bytes)
{
    return outbox->packed_capacity - outbox->packed_end >= bytes;
}

static void pack_newest(ls_outbox *outbox)
{
    const ls_match_event *event = &outbox->newest;
    uint32_t bytes = packed_bytes(event);
    ls_match_event lost;
    if (!has_room(outbox, bytes)) {
        move_packed(outbox);
    }
    while (!has_room(outbox, bytes)) {
        pop_packed(outbox, &lost);
        move_packed(outbox);
    }
    uint8_t *to = outbox->packed + outbox->packed_end;
    memcpy(to, event, EVENT_HEAD_BYTES);
    memcpy(to + EVENT_HEAD_BYTES, event->text.bytes, bytes - EVENT_HEAD_BYTES);
    outbox->packed_end += bytes;
    outbox->packed_count++;
}

void ls_outbox_note_refusal(ls_outbox *outbox, const ls_match_refusal *refusal)
{
    if (ls_match_is_of_refusal(refusal->status)) {
        outbox->refusal = *refusal;
    }
}

const ls_match_refusal *ls_outbox_refusal(const ls_outbox *outbox)
{
    return &outbox->refusal;
}

ls_match_event *ls_outbox_push_event(ls_outbox *outbox, ls_match_event_kind kind, uint32_t slot,
                                     ls_tick tick)
{
    if (outbox->has_newest) {
        pack_newest(outbox);
    }
    if (outbox->packed_count == LS_OUTBOX_EVENTS_MAX) {
        /* The newest events tell how the match is now. */
        pop_packed(outbox, &outbox->newest);
    }
    outbox->has_newest = true;
    outbox->newest = (ls_match_event){.kind = kind, .slot = slot, .tick = tick};
    return &outbox->newest;
}

bool ls_outbox_next_event(ls_outbox *outbox, ls_match_event *event)
{
    if (outbox->packed_count > 0) {
        pop_packed(outbox, event);
        return true;
    }
    if (!outbox->has_newest) {
        return false;
    }
    outbox->packed_first = 0;
    outbox->packed_end = 0;
    outbox->has_newest = false;
    *event = outbox->newest;
    return true;
}
