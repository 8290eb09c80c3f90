#include "lockstep/server/match/talk.h"

#include "lockstep/server/match/seat_table.h"
#include "lockstep/server/match/spectators.h"

#define TOO_MANY "your line was not passed on: you may say one in two seconds"
#define IS_OFF "your line was not passed on: the chat is off in this match"

/* Whether the player has got so far that it knows the match. */
static bool hears(const ls_match *match, uint32_t slot)
{
    return match->seats->rows[slot].state == LS_SEAT_READY ||
           ls_seat_table_follows(match->seats, slot);
}

static void send_to_players(const ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (hears(match, slot)) {
            ls_outbox_send(match->outbox, match->seats->peers[slot]);
        }
    }
}

/* ---- lines ---- */

static void forward(const ls_match *match, uint32_t slot, const ls_chat *chat)
{
    const char *words = chat->quick_line == 0 ? chat->text : ls_quick_line_words(chat->quick_line);
    ls_match_event *event =
        ls_outbox_push_event(match->outbox, LS_MATCH_CHAT, slot, match->log->next);
    ls_text_set(&event->text, "%s", words);
    ls_chat *line = &ls_outbox_message(match->outbox, LS_MESSAGE_CHAT)->body.chat;
    *line = *chat;
    ls_name_copy(line->name, sizeof line->name, match->seats->rows[slot].player.name);
    send_to_players(match);
    ls_spectators_send_all(match->spectators);
}

ls_status ls_talk_receive_chat(ls_talk *talk, const ls_match *match, uint32_t slot,
                               const ls_chat *chat, const char **why)
{
    ls_chat_meter *meter = &talk->meters[slot];
    if (!hears(match, slot)) {
        return LS_MISBEHAVED;
    }
    if (chat->slot != slot) {
        return LS_MALFORMED;
    }
    bool is_in_time = ls_chat_meter_spend(meter, match->now_ns);
    if (is_in_time && match->config.has_chat) {
        forward(match, slot, chat);
    } else if (ls_chat_meter_refuse(meter)) {
        *why = match->config.has_chat ? TOO_MANY : IS_OFF;
    }
    return LS_OK;
}

/* ---- the lobby ---- */

static ls_slot_set players_here(const ls_match *match)
{
    ls_slot_set here = {{0}};
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_slot_set_put(&here, slot, match->seats->rows[slot].state == LS_SEAT_READY);
    }
    return here;
}

static void begin_lobby(const ls_talk *talk, const ls_match *match)
{
    ls_lobby *lobby = &ls_outbox_message(match->outbox, LS_MESSAGE_LOBBY)->body.lobby;
    lobby->players.here = players_here(match);
    lobby->players.ready = ls_slot_set_common(talk->ready, lobby->players.here);
    lobby->players.asks_nobody = !match->config.has_lobby;
    ls_seat_table_names(match->seats, 0, lobby->names);
}

static void send_new_names(ls_talk *talk, const ls_match *match)
{
    for (uint32_t slot = 0; talk->has_newcomer && slot < match->config.sim.players; slot++) {
        if (hears(match, slot)) {
            ls_seat_table_send_names(match->seats, match->seats->peers[slot]);
        }
    }
    talk->has_newcomer = false;
}

ls_status ls_talk_receive_lobby(ls_talk *talk, const ls_match *match, uint32_t slot,
                                const ls_lobby *lobby)
{
    ls_slot_set others = lobby->players.ready;
    ls_slot_set_remove(&others, slot);
    if (!ls_slot_set_is_empty(others) || !ls_slot_set_is_empty(lobby->players.here)) {
        return LS_MALFORMED;
    }
    if (!match->config.has_lobby || !hears(match, slot)) {
        return LS_MISBEHAVED;
    }
    bool is_ready = ls_slot_set_has(&lobby->players.ready, slot);
    talk->is_changed = talk->is_changed || is_ready != ls_slot_set_has(&talk->ready, slot);
    ls_slot_set_put(&talk->ready, slot, is_ready);
    return LS_OK;
}

void ls_talk_come(ls_talk *talk, const ls_match *match, uint32_t slot)
{
    if (match->state == LS_MATCH_LOBBY) {
        talk->is_changed = true;
        talk->has_newcomer = true;
        ls_seat_table_send_names(match->seats, match->seats->peers[slot]);
        begin_lobby(talk, match);
        ls_outbox_send(match->outbox, match->seats->peers[slot]);
    }
}

void ls_talk_leave(ls_talk *talk, uint32_t slot)
{
    ls_slot_set_remove(&talk->ready, slot);
    talk->is_changed = true;
}

uint64_t ls_talk_next_ns(const ls_talk *talk, const ls_match *match)
{
    bool is_open = match->state == LS_MATCH_LOBBY;
    return is_open && talk->is_changed ? talk->sent_ns + LS_TALK_LOBBY_NS : UINT64_MAX;
}

void ls_talk_advance(ls_talk *talk, const ls_match *match)
{
    if (match->now_ns >= ls_talk_next_ns(talk, match)) {
        talk->is_changed = false;
        talk->sent_ns = match->now_ns;
        send_new_names(talk, match);
        begin_lobby(talk, match);
        send_to_players(match);
    }
}

bool ls_talk_may_start(const ls_talk *talk, const ls_match *match)
{
    uint32_t wanted = match->config.start_players;
    wanted = wanted > 0 ? wanted : match->config.sim.players;
    ls_slot_set waited = ls_slot_set_minus(players_here(match), talk->ready);
    bool is_ready = !match->config.has_lobby || ls_slot_set_is_empty(waited);
    return match->state == LS_MATCH_LOBBY && is_ready &&
           ls_seat_table_count(match->seats, LS_SEAT_READY) >= wanted;
}
