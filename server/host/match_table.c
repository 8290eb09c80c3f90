#include "lockstep/server/host/match_table.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/protocol/wire/message.h"
#include "lockstep/server/match/peer_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- held seats ---- */

ls_held_seats ls_held_seats_of(const ls_match *match)
{
    ls_held_seats held = {.match_id = ls_match_config_of(match)->match_id};
    for (uint32_t slot = 0; slot < ls_match_players(match); slot++) {
        if (ls_match_slot_of(match, slot).peer != 0) {
            ls_slot_set_add(&held.slots, slot);
            ls_match_secret_of(match, slot, held.secrets[slot]);
        }
    }
    return held;
}

typedef enum held_answer {
    HELD_NOTHING, /* the match decides as ever */
    HELD_SEAT,    /* this slot is free, and either its own or nobody's */
    HELD_WAIT,    /* all that is free is held for others */
} held_answer;

/* For a player who says this HELLO to the match that follows; `are_held`: the others have to wait
 * still. `is_own`: it has proved that the slot was its own. */
static held_answer ask_held_seats(const ls_held_seats *held, const ls_match *next,
                                  const ls_hello *hello, bool are_held, uint32_t *slot,
                                  bool *is_own)
{
    bool is_back = hello->back.match_id == held->match_id;
    held_answer answer = HELD_NOTHING;
    *is_own = false;
    if (held->match_id == 0 || hello->is_spectator || ls_match_state_of(next) != LS_MATCH_LOBBY) {
        return HELD_NOTHING;
    }
    for (uint32_t i = ls_match_players(next); i-- > 0;) {
        bool is_free = ls_match_slot_of(next, i).peer == 0;
        bool is_held = ls_slot_set_has(&held->slots, i);
        if (is_free && is_held && is_back &&
            ls_secret_is_equal(held->secrets[i], hello->back.secret)) {
            *slot = i;
            *is_own = true;
            return HELD_SEAT;
        }
        if (is_free && are_held && !is_held) {
            *slot = i;
            answer = HELD_SEAT;
        } else if (is_free && are_held && answer == HELD_NOTHING) {
            answer = HELD_WAIT;
        }
    }
    return answer;
}

enum {
    PENDING = 64,
    NUMBER_BYTES = 17, /* an id, or a number, as text */
};

/* A match, and the status that it had when the table last looked. */
typedef struct match_row {
    ls_match *match; /* NULL: the number is free */
    uint32_t moment; /* at which it closes ticks */
    char name[LS_MATCH_NAME_BYTES_MAX];
    bool is_for_invited;
    ls_held_seats *held;    /* NULL: none are */
    uint64_t held_until_ns; /* 0: no player has asked for one yet */
    bool is_touched;
    bool is_stale; /* touched, and what is known of it is older than that */
    bool is_running;
    bool is_waiting;
} match_row;

struct ls_match_table {
    const ls_allocator *allocator;
    ls_packet_sink sink;
    void (*on_advanced)(void *user, uint32_t match, uint64_t due_ns, uint64_t now_ns);
    const char *(*put_off)(void *user, const ls_match_asker *asker);
    void *user;
    uint32_t *at_work;    /* the number of the match that is called plus 1; 0: none is */
    uint32_t own_at_work; /* is written when the owner gives no place */
    uint32_t matches_max;
    uint32_t open_count;
    uint32_t count;   /* the highest number that is in use, and one */
    uint32_t next;    /* the number that is tried first for the next match */
    uint32_t moments; /* a tick is divided into so many moments */
    match_row *rows;
    uint64_t *due_ns;  /* of each, when it has something to do */
    bool *are_called;  /* of each, see ls_match_table_was_called */
    uint32_t *touched; /* matches that may have events */
    uint32_t touched_count;
    bool has_stale;
    uint32_t running_count;
    uint32_t waiting_count;
    ls_peer_map peers;
    ls_message hello; /* working memory */
};

ls_match_table_config ls_match_table_config_default(const ls_simulation *simulation)
{
    ls_match_config match = ls_match_config_default(simulation);
    return (ls_match_table_config){
        .match = match, .matches = 1, .peers_max = match.sim.players + PENDING};
}

static uint32_t matches_max_of(const ls_match_table_config *config)
{
    return config->matches_max > 0 ? config->matches_max : config->matches;
}

/* BAD_ARGUMENT, or what the match's own check says; `why` names the field and its range. */
static ls_status check_config(const ls_match_table_config *config, ls_text *why)
{
    uint32_t matches_max = matches_max_of(config);
    if (matches_max == 0 || matches_max > LS_MATCHES_MAX || config->matches > matches_max) {
        return ls_fail(LS_BAD_ARGUMENT, why, "matches takes 1 to %u, not %u", LS_MATCHES_MAX,
                       LS_MAX(config->matches, matches_max));
    }
    if (config->peers_max == 0 || config->peers_max > LS_PEER_MAP_PEERS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "peers_max takes 1 to %u, not %u",
                       LS_PEER_MAP_PEERS_MAX, config->peers_max);
    }
    return config->matches > 0 ? ls_match_config_check(&config->match, why) : LS_OK;
}

/* ---- what is known of each match ---- */

static void count_status(ls_match_table *table, uint32_t number)
{
    match_row *status = &table->rows[number];
    table->running_count -= status->is_running ? 1 : 0;
    table->waiting_count -= status->is_waiting ? 1 : 0;
    status->is_running = ls_match_state_of(status->match) == LS_MATCH_RUNNING;
    status->is_waiting = ls_match_is_waiting(status->match);
    table->running_count += status->is_running ? 1 : 0;
    table->waiting_count += status->is_waiting ? 1 : 0;
}

/* After a match was called: what it says has to be asked for, when it is due may have changed. That
 * is looked up once for all the packets of a turn. */
void ls_match_table_touch(ls_match_table *table, uint32_t number)
{
    table->rows[number].is_stale = true;
    table->are_called[number] = true;
    table->has_stale = true;
    if (!table->rows[number].is_touched) {
        table->rows[number].is_touched = true;
        table->touched[table->touched_count++] = number;
    }
}

bool ls_match_table_was_called(ls_match_table *table, uint32_t number)
{
    bool was_called = table->are_called[number];
    table->are_called[number] = false;
    return was_called;
}

static void refresh(ls_match_table *table, uint32_t number)
{
    if (table->rows[number].is_stale) {
        table->rows[number].is_stale = false;
        table->due_ns[number] = ls_match_next_ns(table->rows[number].match);
        count_status(table, number);
    }
}

/* A stale match is also touched. */
static void refresh_all(ls_match_table *table)
{
    for (uint32_t i = 0; table->has_stale && i < table->touched_count; i++) {
        refresh(table, table->touched[i]);
    }
    table->has_stale = false;
}

/* ---- life ---- */

/* Derives a key of its own for each match: a secret of one match tells nothing about another's. */
static void give_key(ls_match_config *match, uint32_t number)
{
    ls_secret_key key;
    for (uint32_t half = 0; half < LS_SECRET_KEY_BYTES / LS_SECRET_BYTES; half++) {
        ls_secret_derive(&match->key, match->match_id, number, half,
                         key.bytes + half * (size_t)LS_SECRET_BYTES);
    }
    match->key = key;
    match->match_id = ls_secret_match_id(&key);
}

static uint32_t moments_of(const ls_match_table_config *config)
{
    uint64_t players = config->players_max > 0
                           ? config->players_max
                           : (uint64_t)config->matches * config->match.sim.players;
    uint64_t moments =
        (players + LS_MATCH_TABLE_PLAYERS_PER_MOMENT - 1) / LS_MATCH_TABLE_PLAYERS_PER_MOMENT;
    return (uint32_t)LS_MAX(1, LS_MIN(moments, LS_MATCH_TABLE_MOMENTS_MAX));
}

static void free_number(ls_match_table *table, uint32_t number)
{
    match_row *row = &table->rows[number];
    if (row->is_touched) {
        uint32_t at = 0;
        while (table->touched[at] != number) {
            at++;
        }
        table->touched[at] = table->touched[--table->touched_count];
    }
    table->running_count -= row->is_running ? 1 : 0;
    table->waiting_count -= row->is_waiting ? 1 : 0;
    ls_release(table->allocator, row->held);
    *row = (match_row){.match = NULL};
    table->due_ns[number] = UINT64_MAX;
    table->are_called[number] = true;
    table->open_count--;
    while (table->count > 0 && !table->rows[table->count - 1].match) {
        table->count--;
    }
}

/* The number after the newest one's that is free: what still means the match of before finds none
 * for long. */
static uint32_t claim_number(ls_match_table *table)
{
    while (table->rows[table->next % table->matches_max].match) {
        table->next++;
    }
    uint32_t number = table->next++ % table->matches_max;
    table->next %= table->matches_max;
    table->open_count++;
    table->count = LS_MAX(table->count, number + 1);
    return number;
}

/* The moment at which the fewest matches close their ticks. */
static uint32_t choose_moment(const ls_match_table *table)
{
    uint32_t matches[LS_MATCH_TABLE_MOMENTS_MAX] = {0};
    uint32_t best = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        matches[table->rows[i].moment] += table->rows[i].match ? 1 : 0;
    }
    for (uint32_t moment = 1; moment < table->moments; moment++) {
        best = matches[moment] < matches[best] ? moment : best;
    }
    return best;
}

ls_status ls_match_table_open(ls_match_table *table, const ls_match_opening *opening,
                              uint32_t *number, ls_text *why)
{
    if (table->open_count == table->matches_max) {
        return ls_fail(LS_FULL, why, "%" PRIu32 " matches are open, and no more fit",
                       table->open_count);
    }
    ls_match_config config = *opening->match;
    uint32_t moment = choose_moment(table);
    if (table->matches_max > 1) {
        uint64_t dt_ns = ls_timestep_config_exact(ls_sim_config_rate(&config.sim)).dt_ns;
        config.phase_ns = (uint32_t)(dt_ns * (moment + 1) / table->moments);
    }
    ls_match *match = NULL;
    ls_held_seats *held = NULL;
    if (opening->held) {
        held = ls_allocate(table->allocator, sizeof *held);
        if (!held) {
            return LS_NO_MEMORY;
        }
        *held = *opening->held;
    }
    ls_status status = ls_match_create(&config, &table->sink, table->allocator, &match, why);
    if (status != LS_OK) {
        ls_release(table->allocator, held);
        return status;
    }
    *number = claim_number(table);
    match_row *row = &table->rows[*number];
    *row = (match_row){
        .match = match, .moment = moment, .is_for_invited = opening->is_for_invited, .held = held};
    snprintf(row->name, sizeof row->name, "%s", opening->name ? opening->name : "");
    ls_match_table_touch(table, *number);
    return LS_OK;
}

void ls_match_table_close(ls_match_table *table, uint32_t number)
{
    ls_match *match = ls_match_table_match(table, number);
    if (!match) {
        return;
    }
    ls_peer_id peer = 0;
    while ((peer = ls_peer_map_any_of(&table->peers, number)) != 0) {
        table->sink.disconnect(table->sink.user, peer);
        ls_peer_map_remove(&table->peers, peer);
    }
    free_number(table, number);
    ls_match_destroy(match);
}

static ls_status create_parts(ls_match_table *table, const ls_match_table_config *config,
                              ls_text *why)
{
    const ls_allocator *allocator = table->allocator;
    uint32_t room = table->matches_max;
    table->rows = ls_allocate_array(allocator, room, sizeof *table->rows);
    table->due_ns = ls_allocate_array(allocator, room, sizeof *table->due_ns);
    table->touched = ls_allocate_array(allocator, room, sizeof *table->touched);
    table->are_called = ls_allocate_array(allocator, room, sizeof *table->are_called);
    if (!table->rows || !table->due_ns || !table->touched || !table->are_called ||
        ls_peer_map_init(&table->peers, config->peers_max, allocator) != LS_OK) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    for (uint32_t i = 0; i < room; i++) {
        table->due_ns[i] = UINT64_MAX;
    }
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < config->matches; i++) {
        ls_match_config own = config->match;
        if (config->matches > 1) {
            give_key(&own, i);
        }
        const ls_match_opening opening = {.match = &own};
        uint32_t number = 0;
        status = ls_match_table_open(table, &opening, &number, why);
    }
    return status;
}

ls_status ls_match_table_create(const ls_match_table_config *config, const ls_packet_sink *sink,
                                const ls_allocator *allocator, ls_match_table **out, ls_text *why)
{
    ls_status status = check_config(config, why);
    if (status != LS_OK) {
        return status;
    }
    ls_match_table *table = ls_allocate(allocator, sizeof *table);
    if (!table) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    table->allocator = allocator;
    table->sink = *sink;
    table->on_advanced = config->on_advanced;
    table->put_off = config->put_off;
    table->user = config->user;
    table->at_work = config->at_work ? config->at_work : &table->own_at_work;
    table->matches_max = matches_max_of(config);
    table->moments = moments_of(config);
    status = create_parts(table, config, why);
    if (status != LS_OK) {
        ls_match_table_destroy(table);
        return status;
    }
    *out = table;
    return LS_OK;
}

void ls_match_table_destroy(ls_match_table *table)
{
    if (!table) {
        return;
    }
    for (uint32_t i = 0; table->rows && i < table->matches_max; i++) {
        ls_match_destroy(table->rows[i].match);
        ls_release(table->allocator, table->rows[i].held);
    }
    ls_peer_map_deinit(&table->peers, table->allocator);
    ls_release(table->allocator, table->touched);
    ls_release(table->allocator, table->are_called);
    ls_release(table->allocator, table->due_ns);
    ls_release(table->allocator, table->rows);
    ls_release(table->allocator, table);
}

/* ---- what goes in ---- */

/* How good a match is for a newcomer, 0 the best: a lobby where others wait for one more, an empty
 * one, a match that runs and has a seat; then one in the lobby, where a seat may yet become free,
 * and one that is not over: they tell the peer why it cannot play. */
static uint32_t newcomer_rank(const ls_match *match)
{
    uint32_t state = ls_match_state_of(match);
    if (ls_match_seats_open(match) == 0) {
        return LS_MATCH_OVER + 2 + state;
    }
    return ls_match_is_awaited(match) ? 0 : 1 + state;
}

/* The first of the best; LS_MATCH_ANY: there is no match for newcomers. */
static uint32_t match_for_newcomer(const ls_match_table *table)
{
    uint32_t best = LS_MATCH_ANY;
    uint32_t best_rank = UINT32_MAX;
    for (uint32_t i = 0; i < table->count; i++) {
        if (!table->rows[i].match || table->rows[i].is_for_invited) {
            continue;
        }
        uint32_t rank = newcomer_rank(table->rows[i].match);
        if (rank < best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* Where a peer is told why it gets into none. */
static uint32_t any_match(const ls_match_table *table)
{
    uint32_t number = 0;
    while (number < table->count && !table->rows[number].match) {
        number++;
    }
    return number < table->count ? number : LS_MATCH_ANY;
}

void ls_match_table_admit(ls_match_table *table, ls_peer_id peer, const ls_match_pass *pass,
                          uint32_t number, uint64_t now_ns)
{
    number = number != LS_MATCH_ANY ? number : match_for_newcomer(table);
    number = number != LS_MATCH_ANY ? number : any_match(table);
    if (number == LS_MATCH_ANY || !ls_peer_map_add(&table->peers, peer, number)) {
        table->sink.disconnect(table->sink.user, peer);
        return;
    }
    *table->at_work = number + 1;
    ls_match_peer_admitted(table->rows[number].match, peer, pass, now_ns);
    ls_match_table_touch(table, number);
    *table->at_work = 0;
}

static bool is_of_match(const match_row *row, uint64_t match_id)
{
    return row->match && (ls_match_config_of(row->match)->match_id == match_id ||
                          (row->held && row->held->match_id == match_id));
}

/* The match that a client comes back to, or the one behind it in the same room, or the one that it
 * asks for by its name, unless that is for the invited. LS_MATCH_ANY: it does neither, or there is
 * none such. */
static uint32_t match_of_hello(const ls_match_table *table, const ls_hello *hello)
{
    for (uint32_t i = 0; hello->back.match_id != 0 && i < table->count; i++) {
        if (is_of_match(&table->rows[i], hello->back.match_id)) {
            return i;
        }
    }
    uint32_t number =
        hello->token[0] != '\0' ? ls_match_table_find(table, hello->token) : LS_MATCH_ANY;
    return number != LS_MATCH_ANY && !table->rows[number].is_for_invited ? number : LS_MATCH_ANY;
}

/* NULL: it stays. */
static const char *why_put_off(const ls_match_table *table, uint32_t number, ls_peer_id peer,
                               const ls_hello *hello)
{
    const ls_match_asker asker = {.peer = peer,
                                  .match = number,
                                  .match_id = hello->back.match_id,
                                  .name = hello->token,
                                  .is_spectator = hello->is_spectator};
    return table->put_off ? table->put_off(table->user, &asker) : NULL;
}

/* It asks for a match by its name, where names are those of matches, and has not been given it; or
 * was given to one for the invited, since there is no other. The words are the same whether or not
 * there is a match of that name, so that nobody learns of it by guessing. */
static bool is_lost(const ls_match_table *table, uint32_t number, const ls_hello *hello,
                    ls_text *why)
{
    static const char *const token = "takes a connect token that names it";
    bool has_name = hello->token[0] != '\0';
    if (has_name && table->put_off) {
        ls_text_set(why, "there is no room '%.48s' here: it may be over, or it is private, and %s",
                    hello->token, token);
    } else {
        ls_text_set(why, "this server has private rooms alone: each %s", token);
    }
    return (has_name && table->put_off) || table->rows[number].is_for_invited;
}

/* False: every seat that is free is held for somebody else. */
static bool place_player(match_row *row, const ls_hello *hello, ls_match_pass *pass,
                         uint64_t now_ns)
{
    uint32_t slot = 0;
    bool is_own = false;
    if (!row->held) {
        return true;
    }
    row->held_until_ns = row->held_until_ns > 0 ? row->held_until_ns : now_ns + LS_HELD_SEATS_NS;
    held_answer answer =
        ask_held_seats(row->held, row->match, hello, now_ns < row->held_until_ns, &slot, &is_own);
    if (answer == HELD_SEAT && (is_own || pass->place == LS_MATCH_PLACE_ANY)) {
        pass->place = LS_MATCH_PLACE_SEAT;
        pass->slot = slot;
        pass->is_return = pass->is_return && !is_own;
    }
    return answer != HELD_WAIT;
}

/* The peer is of this match from now on, whatever it was let in for before. */
static void give_to(ls_match_table *table, uint32_t from, uint32_t to, ls_peer_id peer,
                    const ls_match_pass *pass, uint64_t now_ns)
{
    ls_match_peer_disconnected(table->rows[from].match, peer, LS_OK, now_ns);
    ls_match_table_touch(table, from);
    ls_peer_map_remove(&table->peers, peer);
    bool is_added = ls_peer_map_add(&table->peers, peer, to);
    LS_ASSERT(is_added);
    ls_match_peer_admitted(table->rows[to].match, peer, pass, now_ns);
}

/* A client may have been given to another match than its own: its HELLO tells. LS_MATCH_ANY: it is
 * to ask again, and was told so. */
static uint32_t match_for_packet(ls_match_table *table, uint32_t number,
                                 const ls_transport_event *event, uint64_t now_ns)
{
    ls_message *hello = &table->hello;
    if ((table->count == 1 && !table->put_off && !table->rows[number].is_for_invited) ||
        ls_message_peek(event->bytes, event->size) != LS_MESSAGE_HELLO ||
        !ls_match_is_pending(table->rows[number].match, event->peer) ||
        ls_message_read(event->bytes, event->size, 0, hello) != LS_OK) {
        return number;
    }
    ls_match_pass pass = ls_match_pass_of(table->rows[number].match, event->peer);
    uint32_t own = pass.is_for_this_match ? number : match_of_hello(table, &hello->body.hello);
    const char *why_not =
        own == LS_MATCH_ANY ? why_put_off(table, number, event->peer, &hello->body.hello) : NULL;
    if (why_not) {
        ls_match_put_off(table->rows[number].match, event->peer, why_not, now_ns);
        ls_match_table_touch(table, number);
        return LS_MATCH_ANY;
    }
    ls_text why = {{0}};
    if (own == LS_MATCH_ANY && is_lost(table, number, &hello->body.hello, &why)) {
        ls_match_disown(table->rows[number].match, event->peer, why.bytes, now_ns);
        ls_match_table_touch(table, number);
        return LS_MATCH_ANY;
    }
    own = own != LS_MATCH_ANY ? own : number;
    /* The secret of its seat lets it in, and the id of the match alone does not. */
    pass.is_return = pass.is_return || (table->rows[own].is_for_invited && !pass.is_for_this_match);
    if (!place_player(&table->rows[own], &hello->body.hello, &pass, now_ns)) {
        ls_match_put_off(table->rows[number].match, event->peer,
                         "the free seats are held for those who played before: ask again", now_ns);
        ls_match_table_touch(table, number);
        return LS_MATCH_ANY;
    }
    if (own != number || table->rows[own].held || pass.is_return) {
        give_to(table, number, own, event->peer, &pass, now_ns);
    }
    return own;
}

uint32_t ls_match_table_match_of(const ls_match_table *table, ls_peer_id peer)
{
    uint32_t number = ls_peer_map_find(&table->peers, peer);
    return number == LS_PEER_MAP_NONE ? LS_MATCH_ANY : number;
}

void ls_match_table_receive(ls_match_table *table, const ls_transport_event *event, uint64_t now_ns)
{
    if (event->kind == LS_TRANSPORT_CONNECTED) {
        const ls_match_pass none = {.origin = event->origin};
        ls_match_table_admit(table, event->peer, &none, LS_MATCH_ANY, now_ns);
        return;
    }
    uint32_t number = ls_peer_map_find(&table->peers, event->peer);
    if (number == LS_PEER_MAP_NONE) {
        return;
    }
    if (event->kind == LS_TRANSPORT_RECEIVED) {
        number = match_for_packet(table, number, event, now_ns);
        if (number == LS_MATCH_ANY) {
            return;
        }
    } else {
        ls_peer_map_remove(&table->peers, event->peer);
    }
    *table->at_work = number + 1;
    ls_match_receive_event(table->rows[number].match, event, now_ns);
    ls_match_table_touch(table, number);
    *table->at_work = 0;
}

void ls_match_table_prefetch(const ls_match_table *table, uint64_t now_ns)
{
    void (*const steps[])(const ls_match *) = {ls_match_prefetch, ls_match_prefetch_more};
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        for (uint32_t i = 0; i < table->count; i++) {
            if (table->due_ns[i] <= now_ns) {
                steps[step](table->rows[i].match);
            }
        }
    }
}

void ls_match_table_prefetch_packets(const ls_match_table *table, const ls_peer_id *peers,
                                     uint32_t count)
{
    const ls_match *matches[LS_MATCH_TABLE_PACKETS_MAX];
    LS_ASSERT(count <= LS_MATCH_TABLE_PACKETS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        ls_peer_map_prefetch(&table->peers, peers[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = ls_peer_map_find(&table->peers, peers[i]);
        matches[i] = number != LS_PEER_MAP_NONE ? table->rows[number].match : NULL;
    }
    for (uint32_t step = 0; step < LS_MATCH_PACKET_STEPS; step++) {
        for (uint32_t i = 0; i < count; i++) {
            if (matches[i]) {
                ls_match_prefetch_packet(matches[i], peers[i], step);
            }
        }
    }
}

void ls_match_table_advance(ls_match_table *table, uint64_t now_ns)
{
    refresh_all(table);
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->due_ns[i] <= now_ns) {
            *table->at_work = i + 1;
            ls_match_advance(table->rows[i].match, now_ns);
            ls_match_table_touch(table, i);
            if (table->on_advanced) {
                table->on_advanced(table->user, i, table->due_ns[i], now_ns);
            }
            *table->at_work = 0;
        }
    }
}

void ls_match_table_stop(ls_match_table *table, uint64_t now_ns)
{
    for (uint32_t i = 0; i < table->count; i++) {
        if (table->rows[i].match) {
            ls_match_stop(table->rows[i].match, now_ns);
            ls_match_table_touch(table, i);
        }
    }
}

/* ---- what comes out ---- */

bool ls_match_table_next_event(ls_match_table *table, ls_match_table_event *event)
{
    while (table->touched_count > 0) {
        uint32_t number = table->touched[table->touched_count - 1];
        if (ls_match_next_event(table->rows[number].match, &event->event)) {
            event->match = number;
            return true;
        }
        refresh(table, number);
        table->rows[number].is_touched = false;
        table->touched_count--;
    }
    return false;
}

uint64_t ls_match_table_next_ns(ls_match_table *table)
{
    refresh_all(table);
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = 0; i < table->count; i++) {
        next_ns = LS_MIN(table->due_ns[i], next_ns);
    }
    return next_ns;
}

bool ls_match_table_is_over(const ls_match_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const ls_match *match = table->rows[i].match;
        if (match && ls_match_state_of(match) < LS_MATCH_ENDING) {
            return false;
        }
    }
    return true;
}

bool ls_match_table_is_eager(ls_match_table *table)
{
    refresh_all(table);
    return table->running_count == 0 || table->waiting_count > 0;
}

uint32_t ls_match_table_count(const ls_match_table *table)
{
    return table->count;
}

ls_match *ls_match_table_match(const ls_match_table *table, uint32_t number)
{
    return number < table->count ? table->rows[number].match : NULL;
}

static bool is_called(const ls_match_table *table, uint32_t number, const char *name)
{
    const match_row *row = &table->rows[number];
    char own[2][NUMBER_BYTES];
    if (!row->match) {
        return false;
    }
    snprintf(own[0], sizeof own[0], "%" PRIu32, number);
    snprintf(own[1], sizeof own[1], "%016" PRIx64, ls_match_config_of(row->match)->match_id);
    return strcmp(row->name[0] != '\0' ? row->name : own[0], name) == 0 ||
           strcmp(own[1], name) == 0;
}

uint32_t ls_match_table_find(const ls_match_table *table, const char *name)
{
    for (uint32_t number = 0; number < table->count; number++) {
        if (is_called(table, number, name)) {
            return number;
        }
    }
    return LS_MATCH_ANY;
}

bool ls_match_table_is_for_invited(const ls_match_table *table, uint32_t number)
{
    return number < table->count && table->rows[number].is_for_invited;
}

bool ls_match_table_has_seat(const ls_match_table *table)
{
    uint32_t number = match_for_newcomer(table);
    return number != LS_MATCH_ANY && ls_match_seats_open(table->rows[number].match) > 0;
}
