#include "lockstep/server/journal/recorder.h"

#include <inttypes.h>

static void describe_stall(const ls_match_event *event, ls_text *out)
{
    ls_text_set(out, "%s", "for slot");
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        if (event->slot_mask >> slot & 1u) {
            ls_text_add(out, " %" PRIu32, slot);
        }
    }
    ls_text_add(out, ", since %" PRIu32 " ms", event->waited_ms);
}

/* Kind, tick and text; false when it is not worth it. */
static bool describe(const ls_match_event *event, ls_journal_event *out)
{
    switch (event->kind) {
    case LS_MATCH_PLAYER_SEATED:
    case LS_MATCH_PLAYER_RETURNED:
        out->kind = event->kind == LS_MATCH_PLAYER_SEATED ? LS_JOURNAL_EVENT_SEATED
                                                          : LS_JOURNAL_EVENT_RETURNED;
        out->text = event->text;
        return true;
    case LS_MATCH_STARTED:
        out->kind = LS_JOURNAL_EVENT_STARTED;
        out->slot = LS_JOURNAL_NO_SLOT;
        return true;
    case LS_MATCH_PLAYER_LEFT:
    case LS_MATCH_PLAYER_LOST:
        out->kind = event->kind == LS_MATCH_PLAYER_LOST ? LS_JOURNAL_EVENT_LOST
                    : event->was_coming                 ? LS_JOURNAL_EVENT_TURNED_AWAY
                                                        : LS_JOURNAL_EVENT_LEFT;
        ls_text_set(&out->text, "%s (%s)", event->text.bytes, ls_status_name(event->status));
        return true;
    case LS_MATCH_STALLED:
        out->kind = LS_JOURNAL_EVENT_STALLED;
        out->tick = event->tick;
        out->slot = LS_JOURNAL_NO_SLOT;
        describe_stall(event, &out->text);
        return true;
    case LS_MATCH_DESYNC:
        out->kind = LS_JOURNAL_EVENT_DESYNC;
        out->tick = event->tick;
        ls_text_set(&out->text, "server %016" PRIx64 ", client %016" PRIx64, event->server_hash,
                    event->client_hash);
        return true;
    case LS_MATCH_DESYNC_CAUSE:
        out->kind = LS_JOURNAL_EVENT_CAUSE;
        out->tick = event->tick;
        out->text = event->text;
        return true;
    case LS_MATCH_HEALED:
        out->kind = LS_JOURNAL_EVENT_HEALED;
        out->tick = event->tick;
        return true;
    case LS_MATCH_RESUMED:
        out->kind = LS_JOURNAL_EVENT_RESUMED;
        out->tick = event->tick;
        out->slot = LS_JOURNAL_NO_SLOT;
        out->text = event->text;
        return true;
    case LS_MATCH_ENDED:
        out->kind = LS_JOURNAL_EVENT_ENDED;
        out->tick = event->tick;
        out->slot = LS_JOURNAL_NO_SLOT;
        return true;
    default:
        return false;
    }
}

bool ls_recorder_event_of(const ls_match_event *event, ls_tick closed, ls_journal_event *out)
{
    ls_journal_event kept = {.tick = closed, .slot = event->slot};
    if (!describe(event, &kept)) {
        return false;
    }
    *out = kept;
    return true;
}
