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

static uint32_t here_mask(const ls_match *match)
{
    uint32_t mask = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        mask |= match->seats->rows[slot].state == LS_SEAT_READY ? UINT32_C(1) << slot : 0;
    }
    return mask;
}

static void begin_lobby(const ls_talk *talk, const ls_match *match)
{
    ls_lobby *lobby = &ls_outbox_message(match->outbox, LS_MESSAGE_LOBBY)->body.lobby;
    lobby->here_mask = here_mask(match);
    lobby->ready_mask =
        match->config.has_lobby ? talk->ready_mask & lobby->here_mask : LS_LOBBY_ASKS_NOBODY;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        ls_name_copy(lobby->names[slot], sizeof lobby->names[slot],
                     match->seats->rows[slot].player.name);
    }
}

ls_status ls_talk_receive_lobby(ls_talk *talk, const ls_match *match, uint32_t slot,
                                const ls_lobby *lobby)
{
    uint32_t own = UINT32_C(1) << slot;
    if ((lobby->ready_mask & ~own) != 0 || lobby->here_mask != 0) {
        return LS_MALFORMED;
    }
    if (!match->config.has_lobby || !hears(match, slot)) {
        return LS_MISBEHAVED;
    }
    uint32_t before = talk->ready_mask;
    talk->ready_mask = (before & ~own) | lobby->ready_mask;
    talk->is_changed = talk->is_changed || talk->ready_mask != before;
    return LS_OK;
}

void ls_talk_come(ls_talk *talk, const ls_match *match, uint32_t slot)
{
    if (match->state == LS_MATCH_LOBBY) {
        talk->is_changed = true;
        begin_lobby(talk, match);
        ls_outbox_send(match->outbox, match->seats->peers[slot]);
    }
}

void ls_talk_leave(ls_talk *talk, uint32_t slot)
{
    talk->ready_mask &= ~(UINT32_C(1) << slot);
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
        begin_lobby(talk, match);
        send_to_players(match);
    }
}

bool ls_talk_may_start(const ls_talk *talk, const ls_match *match)
{
    uint32_t wanted = match->config.start_players;
    wanted = wanted > 0 ? wanted : match->config.sim.players;
    uint32_t here = here_mask(match);
    bool is_ready = !match->config.has_lobby || (here & ~talk->ready_mask) == 0;
    return match->state == LS_MATCH_LOBBY && is_ready &&
           ls_seat_table_count(match->seats, LS_SEAT_READY) >= wanted;
}
