#include "lockstep/server/journal/recorder.h"

#include <inttypes.h>

static void describe_stall(const ls_match_event *news, ls_text *out)
{
    ls_text_set(out, "%s", "for slot");
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        if (news->slot_mask >> slot & 1u) {
            ls_text_add(out, " %" PRIu32, slot);
        }
    }
    ls_text_add(out, ", since %" PRIu32 " ms", news->waited_ms);
}

/* Kind, tick and text; false when it is not worth it. */
static bool describe(const ls_match_event *news, ls_journal_event *out)
{
    switch (news->kind) {
    case LS_MATCH_PLAYER_SEATED:
    case LS_MATCH_PLAYER_RETURNED:
        out->kind = news->kind == LS_MATCH_PLAYER_SEATED ? LS_JOURNAL_EVENT_SEATED
                                                         : LS_JOURNAL_EVENT_RETURNED;
        out->text = news->text;
        return true;
    case LS_MATCH_STARTED:
        out->kind = LS_JOURNAL_EVENT_STARTED;
        out->slot = LS_JOURNAL_NO_SLOT;
        return true;
    case LS_MATCH_PLAYER_LEFT:
    case LS_MATCH_PLAYER_LOST:
        out->kind = news->kind == LS_MATCH_PLAYER_LOST ? LS_JOURNAL_EVENT_LOST
                    : news->was_coming                 ? LS_JOURNAL_EVENT_TURNED_AWAY
                                                       : LS_JOURNAL_EVENT_LEFT;
        ls_text_set(&out->text, "%s (%s)", news->text.bytes, ls_status_name(news->status));
        return true;
    case LS_MATCH_STALLED:
        out->kind = LS_JOURNAL_EVENT_STALLED;
        out->tick = news->tick;
        out->slot = LS_JOURNAL_NO_SLOT;
        describe_stall(news, &out->text);
        return true;
    case LS_MATCH_DESYNC:
        out->kind = LS_JOURNAL_EVENT_DESYNC;
        out->tick = news->tick;
        ls_text_set(&out->text, "server %016" PRIx64 ", client %016" PRIx64, news->server_root,
                    news->client_root);
        return true;
    case LS_MATCH_DESYNC_CAUSE:
        out->kind = LS_JOURNAL_EVENT_CAUSE;
        out->tick = news->tick;
        out->text = news->text;
        return true;
    case LS_MATCH_HEALED:
        out->kind = LS_JOURNAL_EVENT_HEALED;
        out->tick = news->tick;
        return true;
    case LS_MATCH_RESUMED:
        out->kind = LS_JOURNAL_EVENT_RESUMED;
        out->tick = news->tick;
        out->slot = LS_JOURNAL_NO_SLOT;
        out->text = news->text;
        return true;
    case LS_MATCH_ENDED:
        out->kind = LS_JOURNAL_EVENT_ENDED;
        out->tick = news->tick;
        out->slot = LS_JOURNAL_NO_SLOT;
        return true;
    default:
        return false;
    }
}

bool ls_recorder_event_of(const ls_match_event *news, ls_tick closed, ls_journal_event *out)
{
    ls_journal_event event = {.tick = closed, .slot = news->slot};
    if (!describe(news, &event)) {
        return false;
    }
    *out = event;
    return true;
}
