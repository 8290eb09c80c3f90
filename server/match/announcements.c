#include "lockstep/server/match/announcements.h"

#include "lockstep/server/match/outbox.h"
#include "lockstep/server/match/seat_table.h"
#include "lockstep/server/match/spectators.h"
#include "lockstep/server/match/tick_log.h"

static void begin_notice(const ls_match_context *match, ls_notice_kind kind, const char *text)
{
    ls_notice *notice = &ls_outbox_message(match->outbox, LS_MESSAGE_NOTICE)->body.notice;
    *notice = (ls_notice){.kind = kind, .tick = match->log->next};
    ls_text_set(&notice->text, "%s", text);
}

static void notify_all(ls_match_context *match, ls_notice_kind kind, const char *text)
{
    begin_notice(match, kind, text);
    ls_seat_table_send_all(match->seats);
    ls_spectators_send_all(match->spectators);
}

static void note(ls_match_context *match, ls_match_event_kind kind, const char *why)
{
    ls_match_event *event = ls_outbox_push_event(match->outbox, kind, 0, match->log->next);
    ls_text_set(&event->text, "%s", why);
}

/* One that was restored may be paused before its players are back, and before the first who comes
 * says that it had begun. */
static bool can_be_paused(const ls_match_context *match)
{
    return match->state == LS_MATCH_RUNNING ||
           (match->is_restored && match->state < LS_MATCH_RUNNING);
}

ls_status ls_announcements_pause(ls_match_context *match, const char *why)
{
    if (!can_be_paused(match)) {
        return LS_NOT_FOUND;
    }
    match->is_paused = true;
    ls_text_set(&match->pause_why, "%s", why);
    notify_all(match, LS_NOTICE_PAUSED, why);
    note(match, LS_MATCH_PAUSED, why);
    return LS_OK;
}

ls_status ls_announcements_unpause(ls_match_context *match, const char *why)
{
    if (!match->is_paused || !can_be_paused(match)) {
        return LS_NOT_FOUND;
    }
    match->is_paused = false;
    notify_all(match, LS_NOTICE_UNPAUSED, why);
    note(match, LS_MATCH_UNPAUSED, why);
    return LS_OK;
}

ls_status ls_announcements_say(ls_match_context *match, uint32_t slot, const char *text)
{
    if (match->state == LS_MATCH_OVER) {
        return LS_NOT_FOUND;
    }
    if (slot == LS_PLAYERS_MAX) {
        notify_all(match, LS_NOTICE_TEXT, text);
        return LS_OK;
    }
    if (slot >= match->config.sim.players || !ls_seat_table_is_taken(match->seats, slot)) {
        return LS_NOT_FOUND;
    }
    begin_notice(match, LS_NOTICE_TEXT, text);
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
    return LS_OK;
}

void ls_announcements_greet(const ls_match_context *match, ls_peer_id peer)
{
    if (match->is_paused && can_be_paused(match)) {
        begin_notice(match, LS_NOTICE_PAUSED, match->pause_why.bytes);
        ls_outbox_send(match->outbox, peer);
    }
}
