#include "lockstep/common/base/clock.h"
#include "lockstep/server/match/match_state.h"

/* ---- whose seat it is ---- */

/* Of seats that may be forgotten players' the last: they were given out from the first on. */
static uint32_t empty_slot(const ls_match *match)
{
    uint32_t found = MATCH_NO_SLOT;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        bool is_better = found == MATCH_NO_SLOT || match->resume.candidates;
        found = seat->state == LS_SEAT_EMPTY && is_better ? slot : found;
    }
    return found;
}

static uint32_t left_slot(const ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->seats[slot].state == LS_SEAT_LEFT) {
            return slot;
        }
    }
    return MATCH_NO_SLOT;
}

static uint32_t free_slot(const ls_match *match)
{
    uint32_t slot = empty_slot(match);
    return slot != MATCH_NO_SLOT ? slot : left_slot(match);
}

static bool is_coming(const ls_seat *seat)
{
    return seat->state == LS_SEAT_OFFERED || seat->state == LS_SEAT_READY ||
           seat->state == LS_SEAT_JOINING;
}

/* Those who come back have their seat anyway, and are not counted. */
static uint32_t newcomers_joining(const ls_match *match)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        count += is_coming(seat) && seat->back.match_id == 0 ? 1 : 0;
    }
    return count;
}

/* A server that came back may have forgotten the newest who sat down: who has a secret that only it
 * can have given out is one of them. */
static bool is_whose(ls_match *match, uint32_t slot, const uint8_t secret[LS_SECRET_BYTES])
{
    ls_seat *seat = &match->seats[slot];
    const ls_seat_generations known = seat->generations;
    uint32_t last = known.newest + (known.forgotten > 0 ? known.spent + known.forgotten : 0);
    for (uint32_t generation = known.newest > 0 ? known.newest : 1; generation <= last;
         generation++) {
        uint8_t expected[LS_SECRET_BYTES];
        seat->generations.newest = generation;
        ls_match_secret(match, slot, expected);
        if (!ls_secret_is_equal(expected, secret)) {
            continue;
        }
        if (generation > known.newest) {
            seat->generations =
                (ls_seat_generations){.newest = generation, .forgotten = last - generation};
            seat->report.joined_tick = MATCH_NOT_JOINED;
        }
        return true;
    }
    seat->generations = known;
    return false;
}

static ls_status find_own_seat(ls_match *match, const ls_return *back, uint32_t *slot, ls_text *why)
{
    if (back->match_id != match->config.match_id) {
        ls_text_set(why, "the seat that it comes back to is one of another match");
        return LS_NOT_FOUND;
    }
    for (uint32_t i = 0; i < match->config.sim.players; i++) {
        if (is_whose(match, i, back->secret)) {
            *slot = i;
            return LS_OK;
        }
    }
    ls_text_set(why, "no seat is kept for this player, or another one sits there by now");
    return LS_NOT_FOUND;
}

void ls_seat_generations_next(ls_seat_generations *generations)
{
    *generations = (ls_seat_generations){.newest = generations->newest + generations->spent +
                                                   generations->forgotten + 1};
}

void ls_seat_generations_take_back(ls_seat_generations *generations, ls_seat_generations before)
{
    uint32_t given = generations->newest;
    *generations = before;
    generations->spent = given - before.newest - before.forgotten;
}

void ls_match_secret(const ls_match *match, uint32_t slot, uint8_t out[LS_SECRET_BYTES])
{
    ls_secret_derive(&match->config.key, match->config.match_id, slot,
                     match->seats[slot].generations.newest, out);
}

/* Every tick is closed, and its players may still come back for the last ones. */
static bool is_ending(const ls_match *match)
{
    return match->state == LS_MATCH_ENDING && !match->is_let_go;
}

static ls_status find_free_seat(const ls_match *match, uint32_t *slot, ls_text *why)
{
    bool is_running = match->state != LS_MATCH_LOBBY;
    *slot = free_slot(match);
    ls_text_set(why, "%s", ls_status_text(LS_MATCH_FULL));
    if (*slot == MATCH_NO_SLOT) {
        return LS_MATCH_FULL;
    }
    if (is_running && newcomers_joining(match) >= match->config.joiners_max) {
        ls_text_set(why, "too many are joining at this moment");
        return LS_MATCH_FULL;
    }
    return LS_OK;
}

ls_status ls_match_find_seat(ls_match *match, const ls_hello *hello, uint32_t *slot, ls_text *why)
{
    bool is_over = match->state == LS_MATCH_OVER || match->state == LS_MATCH_ENDING;
    bool is_back = hello->back.match_id != 0;
    if (!is_over || (is_back && is_ending(match))) {
        ls_status status = is_back ? find_own_seat(match, &hello->back, slot, why)
                                   : find_free_seat(match, slot, why);
        if (status != LS_OK || match->seats[*slot].state != LS_SEAT_FINISHED) {
            return status;
        }
    }
    ls_text_set(why, "%s", ls_status_text(LS_ALREADY_OVER));
    return LS_ALREADY_OVER;
}

/* ---- leaving ---- */

static bool is_kept_for(const ls_match *match, const ls_seat *seat)
{
    bool may_come_back =
        match->state == LS_MATCH_RUNNING || match->state == LS_MATCH_RESUMING || is_ending(match);
    return may_come_back && seat->report.has_played && match->config.keep_seat_ms > 0;
}

/* Frees the seat in the lobby, marks it as left, or as kept, from START on; who was not READY yet
 * leaves it as it was. */
void ls_match_vacate(ls_match *match, uint32_t slot, bool is_lost, ls_status status,
                     const char *why)
{
    bool is_kept = is_lost && is_kept_for(match, &match->seats[slot]);
    ls_seat *seat = &match->seats[slot];
    ls_match_play_settle_unanswered(match, slot);
    ls_match_desync_leave(match, slot);
    ls_match_join_stop(match, slot);
    ls_match_resume_leave(match, slot, is_kept);
    ls_match_event *event =
        ls_match_push_event(match, is_kept ? LS_MATCH_PLAYER_LOST : LS_MATCH_PLAYER_LEFT);
    event->slot = slot;
    event->peer = seat->report.peer;
    event->status = status;
    event->tick = match->next_close;
    event->was_coming = ls_seat_has_newcomer(seat);
    ls_text_set(&event->text, "%s", why);
    match->peers[slot] = 0;
    if (event->was_coming) {
        ls_seat_untake(seat);
        return;
    }
    if (match->state == LS_MATCH_LOBBY) {
        ls_seat_reset(seat);
        return;
    }
    if (match->state != LS_MATCH_RESUMING) {
        ls_seat_leave_band(seat);
    }
    seat->state = is_kept ? LS_SEAT_KEPT : LS_SEAT_LEFT;
    seat->kept_until_ns = match->now_ns + match->config.keep_seat_ms * LS_NS_PER_MS;
    seat->report.is_playing = false;
    seat->report.left_status = status;
    seat->report.peer = 0;
}

void ls_match_drop(ls_match *match, uint32_t slot, ls_status status, const char *why)
{
    ls_match_refuse(match, match->seats[slot].report.peer, status, why);
    ls_match_vacate(match, slot, false, status, why);
}

void ls_match_lose(ls_match *match, uint32_t slot, ls_status status, const char *why)
{
    ls_match_refuse(match, match->seats[slot].report.peer, status, why);
    ls_match_vacate(match, slot, true, status, why);
}

/* ---- sitting down ---- */

/* Its player has come back, and has not been missed yet. */
static void close_old_connection(ls_match *match, uint32_t slot)
{
    ls_peer_id old = match->seats[slot].report.peer;
    ls_match_vacate(match, slot, true, LS_DISCONNECTED,
                    "its player has come back on another connection");
    match->sink.disconnect(match->sink.user, old);
}

void ls_match_take_seat(ls_match *match, uint32_t slot, ls_peer_id peer, const ls_hello *hello)
{
    ls_seat *seat = &match->seats[slot];
    bool is_back = hello->back.match_id != 0;
    if (ls_seat_is_taken(seat)) {
        close_old_connection(match, slot);
    }
    if (is_back) {
        ls_match_resume_begin(match);
        ls_seat_reconnect(seat);
        seat->report.has_played = seat->report.has_played || match->state == LS_MATCH_RESUMING;
    } else {
        ls_seat_take(seat);
    }
    seat->state = LS_SEAT_OFFERED;
    seat->back = hello->back;
    seat->heard_ns = match->now_ns;
    seat->offered_ns = match->now_ns;
    seat->report.peer = peer;
    match->peers[slot] = peer;
    ls_name_copy(seat->report.name, sizeof seat->report.name, hello->name);
    ls_match_event *event =
        ls_match_push_event(match, is_back ? LS_MATCH_PLAYER_RETURNED : LS_MATCH_PLAYER_SEATED);
    event->slot = slot;
    event->peer = peer;
    ls_text_set(&event->text, "%s", seat->report.name);
}
