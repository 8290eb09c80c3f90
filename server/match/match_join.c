#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/server/match/match_state.h"

#include <inttypes.h>
#include <string.h>

enum {
    /* Who still has a state is sent what it lacks of the closed ticks, if so many more may be
     * closed before it would be too far behind. */
    HELD_SPARE_TICKS = LS_WINDOW_TICKS / 4,
    BLOB_PIECES_PER_TURN = 1,
};

#define BLOB_TURN_NS LS_NS_PER_MS            /* between two pieces that are compressed */
#define BLOB_SHARED_NS LS_NS_PER_SECOND      /* who comes within it is sent the same snapshot */
#define JOIN_STILL_MIN_NS MATCH_HANDSHAKE_NS /* who joins gets further in that time, or goes */

/* ---- what a joiner is sent: the state ---- */

static bool is_blob_free(const ls_match *match)
{
    return !match->join.blob || !ls_blob_is_in_use(match->join.blob);
}

/* Most states have a fixed size: then it was made with the match. */
ls_status ls_match_make_blob(const ls_match *match, size_t bytes, ls_blob **blob)
{
    if (bytes == 0 || bytes > LS_BLOB_BYTES_MAX) {
        return LS_UNSUPPORTED;
    }
    if (*blob && bytes <= ls_blob_bytes_max(*blob)) {
        return LS_OK;
    }
    ls_blob_destroy(*blob);
    *blob = NULL;
    size_t room = bytes + (match->next_close > 0 ? bytes / 4 : 0);
    room = room < LS_BLOB_BYTES_MAX ? room : LS_BLOB_BYTES_MAX;
    return ls_blob_create((uint32_t)room, match->allocator, blob);
}

/* Fills the blob with the live state, or with the ticks that lead to it. */
static ls_status fill_blob(ls_match *match)
{
    match_join_room *join = &match->join;
    size_t bytes = join->history ? ls_tick_history_flush(join->history)
                                 : ls_sim_instance_save_bytes(match->instance);
    ls_status status = ls_match_make_blob(match, bytes, &join->blob);
    if (status != LS_OK) {
        return status;
    }
    uint8_t *raw = ls_blob_start(join->blob, (uint32_t)bytes);
    if (join->history) {
        ls_tick_history_write(join->history, raw, (uint32_t)bytes);
        return LS_OK;
    }
    return ls_sim_instance_save(match->instance, raw);
}

ls_state_copy ls_match_live(const ls_match *match)
{
    ls_state_copy live = {.tick = match->next_close,
                          .tick_chain = ls_match_tick_chain(match, match->next_close)};
    live.chain = ls_match_hash_chain(match, &live.chain_tick);
    return live;
}

/* The same, with what goes with it. */
static ls_status make_snapshot(ls_match *match)
{
    ls_status status = fill_blob(match);
    if (status != LS_OK) {
        return status;
    }
    ls_blob_seal(match->join.blob);
    match->join.in_blob = ls_match_live(match);
    match->join.in_blob.state_hash = ls_sim_instance_hash(match->instance);
    match->join.made_ns = match->now_ns;
    return LS_OK;
}

static bool is_snapshot_fresh(const ls_match *match)
{
    const match_join_room *join = &match->join;
    return match->now_ns - join->made_ns < BLOB_SHARED_NS &&
           match->next_close - join->in_blob.tick < LS_WINDOW_TICKS / 2;
}

static uint32_t free_sender(const ls_match *match)
{
    for (uint32_t i = 1; i <= match->join.sender_count; i++) {
        if (!match->join.is_sender_taken[i]) {
            return i;
        }
    }
    return MATCH_NO_SENDER;
}

/* ---- JOIN ---- */

ls_join *ls_match_begin_join(ls_match *match, ls_join_source source)
{
    ls_join *join = &match->message.body.join;
    ls_downlink_clock clock = ls_match_clock(match);
    match->message.kind = LS_MESSAGE_JOIN;
    memset(join, 0, sizeof *join);
    join->source = source;
    join->next_close = match->next_close;
    if (clock.next_close_ns > match->now_ns) {
        join->next_close_us = (uint32_t)((clock.next_close_ns - match->now_ns) / LS_NS_PER_US);
    }
    join->players = match->config.sim.players;
    for (uint32_t slot = 0; slot < join->players; slot++) {
        memcpy(join->names[slot], match->seats[slot].report.name, sizeof join->names[slot]);
    }
    return join;
}

static void send_join(ls_match *match, uint32_t slot, const char *how)
{
    ls_seat *seat = &match->seats[slot];
    ls_join *join = &match->message.body.join;
    ls_tick tick = join->tick;
    if (LS_FAULT(JOIN_WRONG_TICK) && join->source == LS_JOIN_SNAPSHOT) {
        join->tick++;
        join->chain_tick += match->config.hash_interval_ticks == 1 ? 1 : 0;
        join->next_close += join->next_close < join->tick ? 1 : 0;
    }
    ls_match_send(match, seat->report.peer);
    seat->state = LS_SEAT_JOINING;
    seat->join_tick = tick;
    seat->join_hash = join->state_hash;
    seat->downlink.alone = join->source == LS_JOIN_HELD ? 0 : join->tick;
    seat->joined_at = match->next_close;
    seat->downlink.next = join->tick;
    seat->downlink.is_losing = true; /* until the client knows better */
    seat->wanted = match->next_close;
    ls_match_lag_begin(match, slot); /* its inputs may arrive before the word that it is there */
    ls_input_buffer_restart(seat->received, match->next_close);
    seat->heard_ns = match->now_ns;
    seat->progress_ns = match->now_ns;
    seat->progress_tick = 0;
    seat->progress_parts = 0;
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_PLAYER_JOINING);
    event->slot = slot;
    event->tick = tick;
    ls_text_set(&event->text, "%s, %s", seat->report.name, how);
    if (match->state == LS_MATCH_ENDING) {
        ls_match_play_tell_end(match, slot);
    }
}

/* The client still has a state from which on every closed tick is held here. */
static bool is_held(const ls_match *match, uint32_t slot)
{
    const ls_return *back = &match->seats[slot].back;
    if (back->match_id == 0) {
        return match->next_close == 0;
    }
    bool has_base =
        back->confirmed == 0 || ls_input_buffer_has(match->closed, back->confirmed - 1, 0);
    return match->arbiter.slots[slot].agreement != LS_AGREEMENT_DIFFERS && has_base &&
           back->confirmed <= match->next_close &&
           match->next_close - back->confirmed < LS_WINDOW_TICKS - HELD_SPARE_TICKS &&
           ls_match_tick_chain(match, back->confirmed) == back->tick_chain;
}

static void join_with_what_it_has(ls_match *match, uint32_t slot)
{
    const ls_return *back = &match->seats[slot].back;
    ls_text how;
    ls_join *join = ls_match_begin_join(match, LS_JOIN_HELD);
    join->tick = back->match_id != 0 ? back->confirmed : 0;
    join->tick_chain = ls_match_tick_chain(match, join->tick);
    ls_text_set(&how, "with the state that it has and %" PRIu32 " ticks",
                match->next_close - join->tick);
    send_join(match, slot, how.bytes);
}

void ls_match_join_by_blob(ls_join *join, const ls_state_copy *copy, const ls_blob *blob,
                           ls_text *how)
{
    join->tick = copy->tick;
    join->state_hash = copy->state_hash;
    join->chain_tick = copy->chain_tick;
    join->chain = copy->chain;
    join->tick_chain = copy->tick_chain;
    join->blob_bytes = ls_blob_bytes(blob);
    join->blob_hash = ls_blob_hash(blob);
    if (join->source == LS_JOIN_HISTORY) {
        ls_text_set(how, "with %" PRIu32 " ticks from the first on", join->tick);
    } else {
        ls_text_set(how, "with a snapshot of %" PRIu32 " bytes", join->blob_bytes);
    }
}

/* The blob is sealed, and `sender` is free. */
static void join_with_blob(ls_match *match, uint32_t slot, uint32_t sender)
{
    ls_seat *seat = &match->seats[slot];
    ls_text how;
    bool is_history = match->join.history != NULL;
    ls_join *join = ls_match_begin_join(match, is_history ? LS_JOIN_HISTORY : LS_JOIN_SNAPSHOT);
    ls_match_join_by_blob(join, &match->join.in_blob, match->join.blob, &how);
    join->blob = seat->blobs++ % 256;
    seat->sender = sender;
    match->join.is_sender_taken[sender] = true;
    ls_blob_sender_start(match->join.senders[sender], match->join.blob, join->blob, 0,
                         match->now_ns);
    send_join(match, slot, how.bytes);
}

/* True when the seat has been sent JOIN, or refused; it waits for its turn otherwise. */
static bool try_join(ls_match *match, uint32_t slot)
{
    if (is_held(match, slot)) {
        join_with_what_it_has(match, slot);
        return true;
    }
    uint32_t sender = free_sender(match);
    bool is_free = is_blob_free(match);
    if (sender == MATCH_NO_SENDER || (!is_free && !is_snapshot_fresh(match))) {
        return false;
    }
    ls_status status = is_free ? make_snapshot(match) : LS_OK;
    if (status != LS_OK) {
        ls_match_drop(match, slot, status, MATCH_NOT_HANDED_ON);
        return true;
    }
    join_with_blob(match, slot, sender);
    return true;
}

void ls_match_join_ready(ls_match *match, uint32_t slot)
{
    if (match->state == LS_MATCH_RUNNING || match->state == LS_MATCH_ENDING) {
        try_join(match, slot);
    } else {
        match->resume.told_ns = 0; /* everybody is told anew whom the match waits for */
    }
}

void ls_match_join_stop(ls_match *match, uint32_t slot)
{
    ls_seat *seat = &match->seats[slot];
    if (seat->sender != MATCH_NO_SENDER) {
        ls_blob_sender_stop(match->join.senders[seat->sender]);
        match->join.is_sender_taken[seat->sender] = false;
        seat->sender = MATCH_NO_SENDER;
    }
}

/* ---- JOINED ---- */

/* Whether the state hash is the server's. FELL_BEHIND: that cannot be said any more. */
static ls_status compare_joined(const ls_match *match, const ls_seat *seat, const ls_joined *joined)
{
    uint32_t interval = match->config.hash_interval_ticks;
    uint64_t state_hash = seat->join_hash;
    if (LS_FAULT(JOIN_UNCHECKED)) {
        return LS_OK;
    }
    if (joined->tick == seat->join_tick && state_hash != 0) {
        return joined->state_hash == state_hash ? LS_OK : LS_DESYNCED;
    }
    if (joined->tick < seat->join_tick / interval * interval ||
        !ls_arbiter_is_known(&match->arbiter, joined->tick)) {
        return LS_MISBEHAVED;
    }
    if (!ls_arbiter_hash(&match->arbiter, joined->tick, &state_hash)) {
        return LS_FELL_BEHIND;
    }
    return joined->state_hash == state_hash ? LS_OK : LS_DESYNCED;
}

static ls_tick clamp_first_input(const ls_match *match, ls_tick tick)
{
    ls_tick first = match->next_close;
    if (tick < first) {
        return first;
    }
    return tick - first < LS_LEAD_TICKS_MAX ? tick : first + LS_LEAD_TICKS_MAX - 1;
}

ls_status ls_match_join_joined(ls_match *match, uint32_t slot, const ls_joined *joined)
{
    ls_seat *seat = &match->seats[slot];
    if (seat->state != LS_SEAT_JOINING) {
        return LS_MISBEHAVED;
    }
    ls_status status = compare_joined(match, seat, joined);
    if (status == LS_MISBEHAVED) {
        return status;
    }
    if (status != LS_OK) {
        ls_match_drop(match, slot, status,
                      status == LS_DESYNCED ? "the state that it joined with is not the server's"
                                            : "the state that it joined with is too old");
        return LS_OK;
    }
    ls_match_join_stop(match, slot);
    ls_arbiter_join(&match->arbiter, slot,
                    joined->tick / match->config.hash_interval_ticks *
                        match->config.hash_interval_ticks);
    ls_match_play_from(match, slot, clamp_first_input(match, joined->first_input));
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_PLAYER_JOINED);
    event->slot = slot;
    event->tick = seat->play_from;
    return LS_OK;
}

/* ---- while it joins ---- */

ls_status ls_match_join_ack(ls_match *match, uint32_t slot, const uint8_t *bytes, size_t size)
{
    ls_seat *seat = &match->seats[slot];
    ls_blob_ack ack;
    if (seat->sender == MATCH_NO_SENDER) {
        /* One that was on its way when the last of the blob was acknowledged is no offence. */
        ls_status status = ls_blob_ack_read(bytes, size, &ack);
        return status == LS_OK && seat->blobs == 0 ? LS_MALFORMED : status;
    }
    ls_blob_sender *sender = match->join.senders[seat->sender];
    ls_status status = ls_blob_sender_take_ack(sender, match->arrived_ns, bytes, size);
    if (status != LS_OK) {
        return status;
    }
    seat->heard_ns = match->now_ns;
    uint32_t parts = ls_blob_sender_figures_of(sender).acknowledged;
    if (parts > seat->progress_parts) {
        seat->progress_parts = parts;
        seat->progress_ns = match->now_ns;
    }
    if (!ls_blob_sender_is_busy(sender)) {
        ls_match_join_stop(match, slot);
    }
    return LS_OK;
}

void ls_match_join_heard(ls_match *match, uint32_t slot, ls_tick simulated)
{
    ls_seat *seat = &match->seats[slot];
    if (simulated > seat->progress_tick) {
        seat->progress_tick = simulated;
        seat->progress_ns = match->now_ns;
    }
}

/* Who has everything and has simulated what is closed has nothing to get further with but the word
 * that it is there: so the limit holds for all of it. */
static void drop_who_stands_still(ls_match *match, uint32_t slot)
{
    uint64_t limit_ns = match->config.timeout_ms * LS_NS_PER_MS;
    limit_ns = limit_ns > JOIN_STILL_MIN_NS ? limit_ns : JOIN_STILL_MIN_NS;
    if (match->now_ns - match->seats[slot].progress_ns >= limit_ns) {
        ls_match_lose(match, slot, LS_TIMED_OUT, "it got no further with joining");
    }
}

static void expire_seat(ls_match *match, uint32_t slot)
{
    ls_seat *seat = &match->seats[slot];
    if (match->now_ns < seat->kept_until_ns) {
        return;
    }
    seat->state = LS_SEAT_LEFT;
    ls_match_event *event = ls_match_push_event(match, LS_MATCH_PLAYER_LEFT);
    event->slot = slot;
    event->tick = match->next_close;
    event->status = seat->report.left_status;
    ls_text_set(&event->text, "did not come back in time");
}

static void send_parts(ls_match *match, uint32_t slot)
{
    const ls_seat *seat = &match->seats[slot];
    ls_blob_sender *sender = match->join.senders[seat->sender];
    size_t size = 0;
    while ((size = ls_blob_sender_next(sender, match->now_ns, match->packet)) > 0) {
        match->sink.send(match->sink.user, seat->report.peer, LS_CHANNEL_UNRELIABLE, match->packet,
                         size);
    }
}

static void compress(ls_match *match)
{
    match_join_room *join = &match->join;
    if (join->blob && ls_blob_is_in_use(join->blob) && !ls_blob_is_compressed(join->blob) &&
        match->now_ns >= join->compress_ns) {
        ls_blob_advance(join->blob, BLOB_PIECES_PER_TURN);
        join->compress_ns = match->now_ns + BLOB_TURN_NS;
    }
}

void ls_match_join_advance(ls_match *match)
{
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        const ls_seat *seat = &match->seats[slot];
        if (seat->state == LS_SEAT_KEPT && match->state == LS_MATCH_RUNNING) {
            expire_seat(match, slot);
        } else if (seat->state == LS_SEAT_READY) {
            try_join(match, slot);
        } else if (seat->state == LS_SEAT_JOINING) {
            drop_who_stands_still(match, slot);
        }
    }
    compress(match);
    for (uint32_t slot = 0; slot < match->config.sim.players; slot++) {
        if (match->seats[slot].sender != MATCH_NO_SENDER) {
            send_parts(match, slot);
        }
    }
}

uint64_t ls_match_join_next_ns(const ls_match *match)
{
    const match_join_room *join = &match->join;
    uint64_t next_ns = UINT64_MAX;
    if (!join->blob || !ls_blob_is_in_use(join->blob)) {
        return next_ns;
    }
    if (!ls_blob_is_compressed(join->blob)) {
        next_ns = join->compress_ns;
    }
    for (uint32_t i = 1; i <= join->sender_count; i++) {
        if (join->is_sender_taken[i]) {
            uint64_t due_ns = ls_blob_sender_next_ns(join->senders[i]);
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
    }
    return next_ns;
}

/* ---- memory for it ---- */

ls_status ls_match_join_create(ls_match *match)
{
    match_join_room *join = &match->join;
    size_t bytes = ls_sim_instance_save_bytes(match->instance);
    ls_status status = bytes > 0 ? ls_match_make_blob(match, bytes, &join->blob)
                                 : ls_tick_history_create(match->config.sim.players,
                                                          match->config.simulation->input_bytes_max,
                                                          match->allocator, &join->history);
    if (status == LS_UNSUPPORTED) {
        return LS_OK; /* too large to be handed on: nobody can join */
    }
    ls_blob_sender_config config = ls_blob_sender_config_default();
    config.bytes_per_second = match->config.join_bytes_per_s;
    config.tick_ns = match->timestep.config.dt_ns;
    uint32_t count = match->config.joiners_max > 0 ? match->config.joiners_max : 1;
    for (uint32_t i = 1; status == LS_OK && i <= count; i++) {
        status = ls_blob_sender_create(&config, match->allocator, &join->senders[i]);
        join->sender_count += status == LS_OK ? 1 : 0;
    }
    return status;
}

void ls_match_join_destroy(ls_match *match)
{
    for (uint32_t i = 1; i <= match->join.sender_count; i++) {
        ls_blob_sender_destroy(match->join.senders[i]);
    }
    ls_blob_destroy(match->join.blob);
    ls_tick_history_destroy(match->join.history);
}
