#include "lockstep/server/match/seat_table.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/server/match/match_config.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* joined_tick of a seat after a restart, until a tick or its player tells which it is. */
#define NOT_JOINED UINT32_MAX

/* So often a player may have come back of whom the server has forgotten everything. */
#define FORGOTTEN_RETURNS_MAX 2u

ls_status ls_seat_table_create(const ls_match *match, ls_seat_table **out)
{
    uint32_t players = match->config.sim.players;
    ls_seat_table *table =
        ls_allocate(match->allocator, sizeof *table + players * sizeof table->rows[0]);
    if (!table) {
        return LS_NO_MEMORY;
    }
    table->match = match;
    table->count = players;
    *out = table;
    return LS_OK;
}

void ls_seat_table_destroy(ls_seat_table *table)
{
    if (table) {
        ls_release(table->match->allocator, table);
    }
}

/* ---- who is there ---- */

bool ls_seat_table_has_newcomer(const ls_seat_table *table, uint32_t slot)
{
    const ls_seat_row *seat = &table->rows[slot];
    return seat->state == LS_SEAT_OFFERED && seat->back.match_id == 0;
}

bool ls_seat_table_has_joiner(const ls_seat_table *table, uint32_t slot)
{
    const ls_seat_row *seat = &table->rows[slot];
    bool is_coming = seat->state == LS_SEAT_READY || seat->state == LS_SEAT_JOINING;
    return table->match->state == LS_MATCH_RUNNING && is_coming && !seat->player.has_played;
}

uint32_t ls_seat_table_count(const ls_seat_table *table, ls_slot_state state)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < table->count; slot++) {
        count += table->rows[slot].state == state ? 1 : 0;
    }
    return count;
}

uint32_t ls_seat_table_count_offered(const ls_seat_table *table, uint64_t origin)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < table->count; slot++) {
        bool is_offered = ls_seat_table_has_newcomer(table, slot);
        count += is_offered && table->rows[slot].origin == origin ? 1 : 0;
    }
    return count;
}

bool ls_seat_table_has_look(const ls_seat_table *table, const ls_name_look *look,
                            uint32_t except_slot)
{
    for (uint32_t slot = 0; slot < table->count; slot++) {
        const ls_seat_row *seat = &table->rows[slot];
        bool is_here = seat->state != LS_SEAT_EMPTY && seat->state != LS_SEAT_LEFT;
        if (is_here && slot != except_slot && ls_name_look_is_like(&seat->player.look, look)) {
            return true;
        }
    }
    return false;
}

void ls_seat_table_report(const ls_seat_table *table, uint32_t slot, ls_match_slot *report)
{
    const ls_seat_player *player = &table->rows[slot].player;
    memcpy(report->name, player->name, sizeof report->name);
    report->peer = table->peers[slot];
    report->is_playing = player->is_playing;
    report->has_played = player->has_played;
    report->has_finished = player->has_finished;
    report->left_status = player->left_status;
    report->left_why = player->left_why.bytes;
    report->joined_tick =
        player->joined_tick == NOT_JOINED ? table->match->log->next : player->joined_tick;
    report->here_tick = player->here_tick;
    report->rejoins = player->rejoins;
    report->finished = player->finished;
}

void ls_seat_table_send_all(const ls_seat_table *table)
{
    for (uint32_t slot = 0; slot < table->count; slot++) {
        if (ls_seat_table_is_in_play(table, slot)) {
            ls_outbox_send(table->match->outbox, table->peers[slot]);
        }
    }
}

void ls_seat_table_names(const ls_seat_table *table, uint32_t first,
                         char names[LS_NAMES_PER_MESSAGE][LS_PLAYER_NAME_BYTES_MAX])
{
    for (uint32_t i = 0; i < LS_NAMES_PER_MESSAGE; i++) {
        bool is_slot = first + i < table->count;
        ls_name_copy(names[i], sizeof names[i], is_slot ? table->rows[first + i].player.name : "");
    }
}

void ls_seat_table_send_names(const ls_seat_table *table, ls_peer_id peer)
{
    for (uint32_t first = LS_NAMES_PER_MESSAGE; first < table->count;
         first += LS_NAMES_PER_MESSAGE) {
        ls_names *more = &ls_outbox_message(table->match->outbox, LS_MESSAGE_NAMES)->body.names;
        more->first = first;
        ls_seat_table_names(table, first, more->names);
        ls_outbox_send(table->match->outbox, peer);
    }
}

/* ---- whose seat it is ---- */

void ls_seat_generations_next(ls_seat_generations *generations)
{
    *generations = (ls_seat_generations){.newest = generations->newest + generations->spent +
                                                   generations->forgotten + 1};
}

void ls_seat_generations_revert(ls_seat_generations *generations, ls_seat_generations before)
{
    uint32_t given = generations->newest;
    *generations = before;
    generations->spent = given - before.newest - before.forgotten;
}

/* Behind the newest secret that its player is known to have: one that is on its way, and after a
 * restart those that the server has forgotten. */
static uint32_t newest_secret(const ls_seat_generations *known)
{
    return known->secret + 1 + known->forgotten;
}

static bool has_come_back(const ls_seat_row *seat)
{
    return seat->back.match_id != 0;
}

void ls_seat_table_secret(const ls_seat_table *table, uint32_t slot, uint8_t out[LS_SECRET_BYTES])
{
    const ls_match_config *config = &table->match->config;
    const ls_seat_row *seat = &table->rows[slot];
    ls_secret_derive(&config->key, config->match_id, slot, seat->generations.newest, out);
    ls_secret_renew(&config->key, out, seat->generations.secret + (has_come_back(seat) ? 1 : 0),
                    out);
}

/* Its player has this secret: older ones are good for nothing from now on. */
static void prove_secret(ls_seat_table *table, uint32_t slot, uint32_t secret)
{
    ls_seat_generations *known = &table->rows[slot].generations;
    if (secret > known->secret) {
        known->secret = secret;
        ls_outbox_push_event(table->match->outbox, LS_MATCH_SECRET_PROVEN, slot,
                             table->match->log->next)
            ->number = secret;
    }
}

/* Seats were given out from the first on: those that may belong to players whom a restored match
 * has forgotten are the first ones, so a newcomer gets the last. */
static uint32_t free_slot(const ls_seat_table *table)
{
    uint32_t empty = MATCH_NO_SLOT;
    uint32_t left = MATCH_NO_SLOT;
    for (uint32_t slot = 0; slot < table->count; slot++) {
        ls_slot_state state = table->rows[slot].state;
        bool is_better = empty == MATCH_NO_SLOT || table->match->is_restored;
        empty = state == LS_SEAT_EMPTY && is_better ? slot : empty;
        left = state == LS_SEAT_LEFT && left == MATCH_NO_SLOT ? slot : left;
    }
    return empty != MATCH_NO_SLOT ? empty : left;
}

/* The number of this secret among those `first` .. `last` of a player; UINT32_MAX: it is none. */
static uint32_t find_secret(const ls_seat_table *table, uint32_t slot, uint32_t generation,
                            uint32_t first, uint32_t last, const uint8_t secret[LS_SECRET_BYTES])
{
    const ls_match_config *config = &table->match->config;
    uint8_t own[LS_SECRET_BYTES];
    uint8_t expected[LS_SECRET_BYTES];
    ls_secret_derive(&config->key, config->match_id, slot, generation, own);
    for (uint32_t number = first; number <= last; number++) {
        ls_secret_renew(&config->key, own, number, expected);
        if (ls_secret_is_equal(expected, secret)) {
            return number;
        }
    }
    return UINT32_MAX;
}

/* A server that was restarted may have forgotten the newest players who sat down, and when they
 * came back: a secret that only this server can have given out belongs to one of them. */
static bool is_whose(ls_seat_table *table, uint32_t slot, const uint8_t secret[LS_SECRET_BYTES])
{
    ls_seat_row *seat = &table->rows[slot];
    const ls_seat_generations known = seat->generations;
    uint32_t last = known.newest + (known.forgotten > 0 ? known.spent + known.forgotten : 0);
    for (uint32_t generation = known.newest > 0 ? known.newest : 1; generation <= last;
         generation++) {
        bool is_known = generation == known.newest;
        uint32_t number =
            find_secret(table, slot, generation, is_known ? known.secret : 0,
                        is_known ? newest_secret(&known) : FORGOTTEN_RETURNS_MAX, secret);
        if (number == UINT32_MAX) {
            continue;
        }
        if (!is_known) {
            seat->generations =
                (ls_seat_generations){.newest = generation, .forgotten = last - generation};
            seat->player.joined_tick = NOT_JOINED;
        }
        prove_secret(table, slot, number);
        return true;
    }
    return false;
}

static ls_status find_own_seat(ls_seat_table *table, const ls_return *back, uint32_t *slot,
                               ls_text *why)
{
    if (back->match_id != table->match->config.match_id) {
        return ls_fail(LS_NOT_FOUND, why, "the seat that it comes back to is one of another match");
    }
    for (uint32_t i = 0; i < table->count; i++) {
        if (is_whose(table, i, back->secret)) {
            *slot = i;
            return LS_OK;
        }
    }
    return ls_fail(LS_NOT_FOUND, why,
                   "no seat is kept for this player, or another one sits there by now");
}

static bool is_free(const ls_seat_table *table, uint32_t slot)
{
    return table->rows[slot].state == LS_SEAT_EMPTY || table->rows[slot].state == LS_SEAT_LEFT;
}

static ls_status find_free_seat(const ls_seat_table *table, uint32_t wanted, uint32_t *slot,
                                ls_text *why)
{
    const ls_match *match = table->match;
    if (wanted != MATCH_NO_SLOT && wanted >= table->count) {
        return ls_fail(LS_MATCH_FULL, why,
                       "it may take seat %" PRIu32 ", and the match has %" PRIu32, wanted,
                       table->count);
    }
    if (wanted != MATCH_NO_SLOT && !is_free(table, wanted)) {
        return ls_fail(LS_MATCH_FULL, why, "it may take seat %" PRIu32 ", which is not free",
                       wanted);
    }
    *slot = wanted != MATCH_NO_SLOT ? wanted : free_slot(table);
    ls_text_set(why, "%s", ls_status_text(LS_MATCH_FULL));
    if (*slot == MATCH_NO_SLOT) {
        return LS_MATCH_FULL;
    }
    bool is_taking_none = match->config.joiners_max == 0 ||
                          (LS_FAULT(JOINERS_REFUSED) &&
                           ls_seat_table_has_state(table, LS_SEAT_OFFERED, LS_SEAT_JOINING));
    if (match->state != LS_MATCH_LOBBY && is_taking_none) {
        return ls_fail(LS_MATCH_FULL, why, "no player can join a match that runs");
    }
    return LS_OK;
}

/* Every tick is closed, and the players may still come back for the last ones. */
static bool is_ending(const ls_match *match)
{
    return match->state == LS_MATCH_ENDING && !match->has_released_players;
}

ls_status ls_seat_table_find(ls_seat_table *table, const ls_hello *hello, uint32_t wanted,
                             uint32_t *slot, ls_text *why)
{
    bool is_back = hello->back.match_id != 0;
    if (table->match->state < LS_MATCH_ENDING || (is_back && is_ending(table->match))) {
        ls_status status = is_back ? find_own_seat(table, &hello->back, slot, why)
                                   : find_free_seat(table, wanted, slot, why);
        if (status != LS_OK || table->rows[*slot].state != LS_SEAT_FINISHED) {
            return status;
        }
    }
    return ls_fail(LS_ALREADY_OVER, why, "%s", ls_status_text(LS_ALREADY_OVER));
}

/* ---- coming ---- */

/* Forgets who sat there, but not the generations and what the simulation was told. */
static void clear(ls_seat_row *seat)
{
    *seat = (ls_seat_row){.generations = seat->generations,
                          .is_in_band = seat->is_in_band,
                          .is_leave_pending = seat->is_leave_pending};
}

static void put_player_aside(ls_seat_row *seat)
{
    const ls_seat_row before = *seat;
    clear(seat);
    seat->past_state = before.state;
    seat->past_generations = before.generations;
    seat->past_player = before.player;
    ls_seat_generations_next(&seat->generations);
}

static void restore_player(ls_seat_row *seat)
{
    const ls_seat_row before = *seat;
    clear(seat);
    seat->state = before.past_state;
    seat->player = before.past_player;
    ls_seat_generations_revert(&seat->generations, before.past_generations);
}

ls_player_change ls_seat_table_sit_down(ls_seat_table *table, uint32_t slot, ls_peer_id peer,
                                        const ls_hello *hello)
{
    ls_seat_row *seat = &table->rows[slot];
    bool is_back = hello->back.match_id != 0;
    if (is_back) {
        ls_seat_player player = seat->player;
        clear(seat);
        seat->player = player;
        seat->player.has_played = player.has_played || table->match->state == LS_MATCH_RESUMING;
    } else {
        put_player_aside(seat);
    }
    seat->state = LS_SEAT_OFFERED;
    seat->back = hello->back;
    seat->origin = ls_pending_connections_pass(&table->match->pending, peer).origin;
    table->peers[slot] = peer;
    ls_hello_player_name(hello, seat->player.name);
    seat->player.look = ls_match_config_look(&table->match->config, seat->player.name);
    ls_match_event *event = ls_outbox_push_event(
        table->match->outbox, is_back ? LS_MATCH_PLAYER_RETURNED : LS_MATCH_PLAYER_SEATED, slot, 0);
    event->peer = peer;
    ls_text_set(&event->text, "%s", seat->player.name);
    return is_back ? LS_PLAYER_RETURNED : LS_PLAYER_NEWCOMER;
}

void ls_seat_table_set_ready(ls_seat_table *table, uint32_t slot)
{
    ls_seat_row *seat = &table->rows[slot];
    if (has_come_back(seat)) {
        prove_secret(table, slot, seat->generations.secret + 1); /* OFFER has come */
    }
    ls_match_event *event =
        ls_outbox_push_event(table->match->outbox, LS_MATCH_PLAYER_READY, slot, 0);
    event->peer = table->peers[slot];
    event->was_coming = ls_seat_table_has_newcomer(table, slot);
    ls_text_set(&event->text, "%s", seat->player.name);
    seat->state = LS_SEAT_READY;
}

void ls_seat_table_set_joining(ls_seat_table *table, uint32_t slot)
{
    table->rows[slot].state = LS_SEAT_JOINING;
}

void ls_seat_table_set_playing(ls_seat_table *table, uint32_t slot, ls_tick tick)
{
    ls_seat_row *seat = &table->rows[slot];
    ls_seat_player *player = &seat->player;
    seat->state = LS_SEAT_PLAYING;
    seat->play_from = tick;
    bool has_joined = player->has_played && player->joined_tick != NOT_JOINED;
    player->rejoins += player->has_played ? 1 : 0;
    player->joined_tick = has_joined ? player->joined_tick : tick;
    player->here_tick = tick;
    player->is_playing = true;
    player->has_played = true;
    player->left_status = LS_OK;
    player->left_why = (ls_text){{0}};
}

void ls_seat_table_set_finished(ls_seat_table *table, uint32_t slot, const ls_finished *finished)
{
    ls_seat_row *seat = &table->rows[slot];
    seat->state = LS_SEAT_FINISHED;
    seat->player.has_finished = true;
    seat->player.finished = *finished;
    ls_outbox_push_event(table->match->outbox, LS_MATCH_PLAYER_FINISHED, slot, finished->tick);
}

/* ---- leaving ---- */

/* The simulation is told LEFT in the next tick if it was told JOINED. */
static void leave_band(ls_seat_row *seat)
{
    seat->is_leave_pending = seat->is_leave_pending || seat->is_in_band;
    seat->is_in_band = false;
}

bool ls_seat_table_would_keep(const ls_seat_table *table, uint32_t slot)
{
    const ls_match *match = table->match;
    bool may_come_back =
        match->state == LS_MATCH_RUNNING || match->state == LS_MATCH_RESUMING || is_ending(match);
    return may_come_back && table->rows[slot].player.has_played && match->config.keep_seat_ms > 0;
}

static uint64_t keep_until_ns(const ls_seat_table *table)
{
    return table->match->now_ns + table->match->config.keep_seat_ms * LS_NS_PER_MS;
}

ls_player_change ls_seat_table_leave(ls_seat_table *table, uint32_t slot, bool is_kept,
                                     ls_status status, const char *why)
{
    ls_seat_row *seat = &table->rows[slot];
    ls_match_event *event = ls_outbox_push_event(
        table->match->outbox, is_kept ? LS_MATCH_PLAYER_LOST : LS_MATCH_PLAYER_LEFT, slot,
        table->match->log->next);
    event->peer = table->peers[slot];
    event->status = status;
    event->was_coming = ls_seat_table_has_newcomer(table, slot);
    ls_text_set(&event->text, "%s", why);
    table->peers[slot] = 0;
    if (event->was_coming) {
        restore_player(seat);
        return LS_PLAYER_TAKEN_BACK;
    }
    if (table->match->state == LS_MATCH_LOBBY) {
        clear(seat);
        return LS_PLAYER_CLEARED;
    }
    if (table->match->state != LS_MATCH_RESUMING) {
        leave_band(seat);
    }
    seat->state = is_kept ? LS_SEAT_KEPT : LS_SEAT_LEFT;
    seat->kept_until_ns = keep_until_ns(table);
    seat->player.is_playing = false;
    seat->player.left_status = status;
    seat->player.left_why = event->text;
    return LS_PLAYER_SAME;
}

void ls_seat_table_expire(ls_seat_table *table, uint32_t slot)
{
    ls_seat_row *seat = &table->rows[slot];
    if (table->match->now_ns < seat->kept_until_ns) {
        return;
    }
    seat->state = LS_SEAT_LEFT;
    ls_match_event *event = ls_outbox_push_event(table->match->outbox, LS_MATCH_PLAYER_LEFT, slot,
                                                 table->match->log->next);
    event->status = seat->player.left_status;
    ls_text_set(&event->text, "did not come back in time");
}

/* ---- what the simulation is told ---- */

uint32_t ls_seat_table_pop_events(ls_seat_table *table, uint32_t slot, bool plays)
{
    ls_seat_row *seat = &table->rows[slot];
    uint32_t events = seat->is_leave_pending ? LS_EVENT_LEFT : 0;
    seat->is_leave_pending = false;
    if (plays && !seat->is_in_band) {
        seat->is_in_band = true;
        events |= LS_EVENT_JOINED;
    }
    return events;
}

static void set_in_band(ls_seat_row *seat, bool is_in_band)
{
    seat->is_in_band = is_in_band;
    seat->player.has_played = seat->player.has_played || is_in_band;
}

void ls_seat_table_note_events(ls_seat_table *table, uint32_t slot, uint32_t events, ls_tick tick)
{
    ls_seat_row *seat = &table->rows[slot];
    if (events != 0) {
        set_in_band(seat, (events & LS_EVENT_JOINED) != 0);
    }
    if ((events & LS_EVENT_JOINED) != 0 && seat->player.joined_tick == NOT_JOINED) {
        seat->player.joined_tick = tick;
    }
}

/* ---- going on after a restart ---- */

void ls_seat_table_restore_in_band(ls_seat_table *table, ls_slot_set in_band)
{
    for (uint32_t slot = 0; slot < table->count; slot++) {
        set_in_band(&table->rows[slot], ls_slot_set_has(&in_band, slot));
    }
}

void ls_seat_table_restore_seat(ls_seat_table *table, uint32_t slot, const ls_restored_seat *from)
{
    ls_seat_row *seat = &table->rows[slot];
    bool is_joined = from->joined_tick != NOT_JOINED;
    seat->generations = from->generations;
    seat->player.has_played = seat->player.has_played || from->generations.newest > 0;
    seat->player.joined_tick = from->joined_tick;
    ls_name_copy(seat->player.name, sizeof seat->player.name, from->name);
    seat->player.look = ls_match_config_look(&table->match->config, seat->player.name);
    if (from->has_left) {
        seat->state = seat->is_in_band ? seat->state : LS_SEAT_LEFT;
        seat->player.has_played = seat->player.has_played && is_joined;
        seat->player.joined_tick = is_joined ? from->joined_tick : 0;
    }
}

void ls_seat_table_restore_generations(ls_seat_table *table,
                                       const ls_seat_generations generations[LS_PLAYERS_MAX])
{
    for (uint32_t slot = 0; slot < table->count; slot++) {
        table->rows[slot].generations = generations[slot];
    }
}

/* The seat of a player who is not here now. */
static void keep(ls_seat_row *seat)
{
    seat->state = seat->state == LS_SEAT_LEFT ? LS_SEAT_LEFT : LS_SEAT_KEPT;
    seat->player.has_played = true;
    seat->player.left_status = LS_DISCONNECTED;
}

ls_slot_set ls_seat_table_await_players(ls_seat_table *table, bool is_known)
{
    ls_slot_set waited = {{0}};
    bool is_before_tick_0 = table->match->log->next == 0; /* which seats them in band */
    for (uint32_t slot = 0; slot < table->count; slot++) {
        ls_seat_row *seat = &table->rows[slot];
        bool has_played =
            is_known ? seat->player.has_played
                     : seat->generations.newest > 0 && !ls_seat_table_is_taken(table, slot);
        if (has_played) {
            keep(seat);
        }
        bool is_waited_for =
            !is_known || seat->is_in_band || (is_before_tick_0 && seat->state == LS_SEAT_KEPT);
        ls_slot_set_put(&waited, slot, is_waited_for);
    }
    return waited;
}

uint32_t ls_seat_table_resume(ls_seat_table *table, ls_slot_set waited)
{
    uint32_t back = 0;
    for (uint32_t slot = 0; slot < table->count; slot++) {
        ls_seat_row *seat = &table->rows[slot];
        bool is_ready = seat->state == LS_SEAT_READY;
        back += is_ready && ls_slot_set_has(&waited, slot) ? 1 : 0;
        if (!is_ready || seat->back.match_id == 0) {
            leave_band(seat);
        }
        if (seat->player.has_played && seat->player.left_status == LS_OK &&
            !ls_seat_table_is_taken(table, slot)) {
            keep(seat); /* the ticks that came from the others say that somebody played here */
        }
        seat->kept_until_ns = keep_until_ns(table);
    }
    return back;
}

void ls_seat_table_prefetch(const ls_seat_table *table)
{
    ls_prefetch(table, offsetof(ls_seat_table, rows));
    for (uint32_t slot = 0; slot < table->count; slot++) {
        ls_prefetch(&table->rows[slot], offsetof(ls_seat_row, generations));
    }
}
