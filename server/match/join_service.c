#include "lockstep/server/match/join_service.h"

#include "lockstep/common/base/fault.h"
#include "lockstep/common/base/prefetch.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum {
    /* A player that still has a state is sent what it lacks of the closed ticks, if so many more
     * may be closed before it would be too far behind. */
    HELD_SPARE_TICKS = LS_WINDOW_TICKS / 4,
    BLOB_PIECES_PER_TURN = 1,
    BURST_PACKETS = 4,
    HEAL_TICKS_MAX = 256,                    /* a state that heals is no older */
    SLOW_BYTES_PER_S = LS_BLOB_RATE_MIN / 2, /* of what the sender never goes below */
};

#define BLOB_TURN_NS LS_NS_PER_MS               /* between two pieces that are compressed */
#define BLOB_STARVED_TURN_NS (LS_NS_PER_MS / 3) /* likewise, where a stream waits for them */
#define BLOB_KEPT_NS (30 * LS_NS_PER_SECOND)    /* for a player that lost its link on the way */
#define BLOB_SHARED_NS LS_NS_PER_SECOND /* players who come within it get the same snapshot */

typedef struct joining {
    uint32_t blobs;         /* that this connection was sent */
    ls_tick tick;           /* of the JOIN that it was sent */
    uint64_t state_hash;    /* of the state that JOIN brought; 0: none */
    uint64_t blob_hash;     /* likewise of its blob */
    ls_tick agreed_tick;    /* the newest state known to be the server's then */
    ls_tick simulated_tick; /* how far it has simulated */
    uint64_t paid_ns;       /* until then it has had its share of snapshots, whoever sits there */
    uint64_t heal_ns;       /* when it was told that a state comes to heal it */
    uint64_t whole_ns;      /* when the last of that was acknowledged; 0: it was not */
} joining;

struct ls_join_service {
    const ls_match *match;
    uint64_t made_ns;     /* when the snapshot was made that the blob holds */
    uint64_t compress_ns; /* when more of it is compressed */
    ls_handover handover;
    ls_handover slow; /* for players that take a state so slowly that others would wait for them */
    joining slots[];  /* one for each player */
};

static ls_peer_id peer_of(const ls_join_service *joins, uint32_t slot)
{
    return joins->match->seats->peers[slot];
}

/* The one that a player gets its state from, if it gets one. */
static ls_handover *handover_of(ls_join_service *joins, uint32_t slot)
{
    ls_peer_id peer = peer_of(joins, slot);
    bool is_slow = peer != 0 && ls_handover_find(&joins->slow, peer);
    return is_slow ? &joins->slow : &joins->handover;
}

static ls_handover_stream *stream_of(ls_join_service *joins, uint32_t slot)
{
    ls_peer_id peer = peer_of(joins, slot);
    return peer != 0 ? ls_handover_find(handover_of(joins, slot), peer) : NULL;
}

/* ---- the snapshot ---- */

/* The live state, or the ticks that lead to it. */
static ls_status make_snapshot(ls_join_service *joins)
{
    const ls_tick_log *log = joins->match->log;
    ls_state_copy live = ls_tick_log_live(log);
    live.state_hash = ls_sim_instance_hash(log->instance);
    size_t bytes = log->history ? ls_tick_history_flush(log->history)
                                : ls_sim_instance_save_bytes(log->instance);
    live.size = (uint32_t)LS_MIN(bytes, UINT32_MAX);
    joins->made_ns = joins->match->now_ns;
    return ls_handover_fill(&joins->handover, &live);
}

static bool is_snapshot_fresh(const ls_join_service *joins)
{
    return joins->match->now_ns - joins->made_ns < BLOB_SHARED_NS &&
           joins->match->log->next - joins->handover.in_blob.tick < LS_WINDOW_TICKS / 2;
}

/* ---- JOIN ---- */

/* Sends the JOIN that has been begun. */
static void send_join(ls_join_service *joins, uint32_t slot, ls_join *join, const char *how)
{
    joining *own = &joins->slots[slot];
    ls_tick tick = join->tick;
    bool is_keyframe = join->source == LS_JOIN_SNAPSHOT || join->source == LS_JOIN_HISTORY;
    if (LS_FAULT(JOIN_WRONG_TICK) && join->source == LS_JOIN_SNAPSHOT) {
        join->tick++;
        join->chain_tick += joins->match->config.hash_interval_ticks == 1 ? 1 : 0;
        join->next_close += join->next_close < join->tick ? 1 : 0;
    }
    ls_outbox_send(joins->match->outbox, joins->match->seats->peers[slot]);
    if (join->source != LS_JOIN_REST) {
        own->tick = tick;
        own->state_hash = join->state_hash;
        own->blob_hash = join->blob_hash;
        own->agreed_tick = join->tick;
    }
    own->simulated_tick = 0;
    ls_player_link_join(&joins->match->links[slot], join->tick, is_keyframe,
                        joins->match->log->next, joins->match->now_ns);
    ls_match_event *event =
        ls_outbox_push_event(joins->match->outbox, LS_MATCH_PLAYER_JOINING, slot, tick);
    ls_text_set(&event->text, "%s, %s", joins->match->seats->rows[slot].player.name, how);
}

/* The states of the player were the server's, as far as it had hashed them. */
static bool is_state_known(const ls_join_service *joins, const ls_return *back)
{
    uint64_t chain = 0;
    return ls_hash_record_chain(&joins->match->log->hashes, back->hashed_tick, &chain) &&
           (uint32_t)chain == back->hash_chain;
}

/* The player still has a state from which on every closed tick is held here. */
static bool has_state(const ls_join_service *joins, uint32_t slot)
{
    const ls_return *back = &joins->match->seats->rows[slot].back;
    ls_tick next = joins->match->log->next;
    if (back->match_id == 0) {
        return next == 0;
    }
    bool has_base =
        back->confirmed == 0 || ls_tick_log_holds(joins->match->log, back->confirmed - 1);
    return has_base && back->confirmed <= next &&
           next - back->confirmed < LS_WINDOW_TICKS - HELD_SPARE_TICKS &&
           ls_tick_log_chain(joins->match->log, back->confirmed) == back->tick_chain &&
           is_state_known(joins, back);
}

static void join_with_what_it_has(ls_join_service *joins, uint32_t slot)
{
    const ls_return *back = &joins->match->seats->rows[slot].back;
    ls_text how;
    ls_join *join = ls_handover_begin_join(joins->match, peer_of(joins, slot),
                                           back->match_id != 0 ? back->confirmed : 0);
    ls_text_set(&how, "with the state that it has and %" PRIu32 " ticks",
                joins->match->log->next - join->tick);
    send_join(joins, slot, join, how.bytes);
    joins->slots[slot].agreed_tick = back->hashed_tick;
}

/* The blob is sealed, and a stream is free. */
static void join_with_blob(ls_join_service *joins, uint32_t slot)
{
    ls_text how;
    ls_join *join =
        ls_handover_begin_join(joins->match, peer_of(joins, slot), joins->match->log->next);
    ls_handover_start(&joins->handover, peer_of(joins, slot), join,
                      joins->slots[slot].blobs++ % 256, &how);
    send_join(joins, slot, join, how.bytes);
}

static bool can_go_on_with(ls_handover *handover, const joining *own)
{
    return handover->blob && handover->in_blob.size > 0 && handover->in_blob.tick == own->tick &&
           ls_blob_hash(handover->blob) == own->blob_hash && ls_handover_find(handover, 0);
}

/* The player lost its link on the way to a state that a blob still holds, and has some of it: that
 * blob's; else NULL. */
static ls_handover *handover_to_go_on(ls_join_service *joins, uint32_t slot)
{
    const joining *own = &joins->slots[slot];
    if (!joins->match->seats->rows[slot].back.is_joining || !has_state(joins, slot)) {
        return NULL;
    }
    if (can_go_on_with(&joins->slow, own)) {
        return &joins->slow;
    }
    return can_go_on_with(&joins->handover, own) ? &joins->handover : NULL;
}

/* A stream is prepared. */
static void join_with_rest(ls_join_service *joins, ls_handover *handover, uint32_t slot)
{
    ls_text how;
    const ls_seat_table *seats = joins->match->seats;
    ls_join *join =
        ls_handover_begin_join(joins->match, seats->peers[slot], seats->rows[slot].back.confirmed);
    ls_join held = *join;
    ls_handover_start(handover, seats->peers[slot], join, joins->slots[slot].blobs++ % 256, &how);
    ls_blob_sender_expect_held(ls_handover_find(handover, seats->peers[slot])->sender);
    join->source = LS_JOIN_REST;
    join->tick = held.tick;
    join->tick_chain = held.tick_chain;
    join->state_hash = 0;
    join->chain_tick = 0;
    join->chain = 0;
    send_join(joins, slot, join, "with the rest of the state that it was sent");
}

/* The blob holds a state that is new enough, and a stream is prepared. STALE: not now. */
static ls_status prepare_blob(ls_join_service *joins)
{
    bool is_free = joins->handover.busy_count == 0;
    if (!ls_handover_find(&joins->handover, 0) || (!is_free && !is_snapshot_fresh(joins))) {
        return LS_STALE;
    }
    ls_status status = is_free ? make_snapshot(joins) : LS_OK;
    return status == LS_OK ? ls_handover_prepare(&joins->handover) : status;
}

static bool has_had_its_share(const ls_join_service *joins, uint32_t slot)
{
    return ls_state_share_is_spent(joins->slots[slot].paid_ns, joins->match->now_ns) &&
           !LS_FAULT(STATES_UNLIMITED);
}

static void pay_for_snapshot(ls_join_service *joins, uint32_t slot)
{
    joining *own = &joins->slots[slot];
    own->paid_ns = ls_state_share_pay(own->paid_ns, joins->match->now_ns);
}

ls_status ls_join_service_begin(ls_join_service *joins, uint32_t slot, bool is_trusted)
{
    bool is_joining = joins->match->seats->rows[slot].back.is_joining;
    if (is_trusted && !is_joining && has_state(joins, slot)) {
        join_with_what_it_has(joins, slot);
        return LS_OK;
    }
    if (has_had_its_share(joins, slot)) {
        return LS_STALE;
    }
    ls_handover *goes_on = is_trusted ? handover_to_go_on(joins, slot) : NULL;
    ls_status status = goes_on ? ls_handover_prepare(goes_on) : prepare_blob(joins);
    if (status == LS_OK && goes_on) {
        join_with_rest(joins, goes_on, slot);
    } else if (status == LS_OK) {
        join_with_blob(joins, slot);
    }
    if (status == LS_OK) {
        pay_for_snapshot(joins, slot);
    }
    return status;
}

/* ---- healing ---- */

/* The ticks that follow the state have to be held by a player who has stepped them already. */
static bool is_too_old_to_heal(const ls_join_service *joins)
{
    return joins->handover.busy_count > 0 &&
           joins->match->log->next - joins->handover.in_blob.tick >= HEAL_TICKS_MAX;
}

static void send_heal(ls_join_service *joins, uint32_t slot)
{
    const ls_match *match = joins->match;
    joining *own = &joins->slots[slot];
    ls_join join = {0};
    ls_text how;
    ls_handover_start(&joins->handover, match->seats->peers[slot], &join, own->blobs++ % 256, &how);
    ls_outbox_message(match->outbox, LS_MESSAGE_HEAL_SNAPSHOT)->body.heal_snapshot =
        (ls_heal_snapshot){.tick = join.tick,
                           .state_hash = join.state_hash,
                           .chain_tick = join.chain_tick,
                           .chain = join.chain,
                           .blob = join.blob,
                           .blob_bytes = join.blob_bytes,
                           .blob_hash = join.blob_hash};
    ls_outbox_send(match->outbox, match->seats->peers[slot]);
    own->heal_ns = match->now_ns;
    own->whole_ns = 0;
    match->links[slot].peer.progress_ns = match->now_ns;
    ls_match_event *event = ls_outbox_push_event(match->outbox, LS_MATCH_HEALING, slot, join.tick);
    ls_text_set(&event->text, "%s", how.bytes);
}

ls_status ls_join_service_heal(ls_join_service *joins, uint32_t slot, ls_tick *tick)
{
    if (joins->handover.stream_count == 0 || joins->match->log->history) {
        return LS_UNSUPPORTED;
    }
    ls_status status = is_too_old_to_heal(joins) ? LS_STALE : prepare_blob(joins);
    if (status == LS_OK) {
        send_heal(joins, slot);
        *tick = joins->handover.in_blob.tick;
    }
    return status;
}

void ls_join_service_end_healing(ls_join_service *joins, uint32_t slot)
{
    ls_handover_stop(handover_of(joins, slot), peer_of(joins, slot));
}

bool ls_join_service_is_healing_stuck(ls_join_service *joins, uint32_t slot)
{
    const ls_match *match = joins->match;
    joining *own = &joins->slots[slot];
    uint64_t limit_ns = ls_peer_link_join_limit_ns(match);
    if (stream_of(joins, slot)) {
        return ls_peer_link_is_stuck(&match->links[slot].peer, match, limit_ns);
    }
    if (own->whole_ns == 0) {
        own->whole_ns = match->now_ns;
    }
    uint64_t way_ns = own->whole_ns - own->heal_ns; /* so many ticks are to be stepped */
    return match->now_ns - own->whole_ns >= limit_ns + way_ns;
}

bool ls_join_service_is_slow(ls_join_service *joins, uint32_t slot)
{
    return ls_handover_is_slow(handover_of(joins, slot), peer_of(joins, slot), SLOW_BYTES_PER_S) &&
           !LS_FAULT(SLOW_JOINER_KEPT);
}

/* Those who are sent a state go on by themselves, unless others do: a match has two blobs at most.
 */
static bool set_apart(ls_join_service *joins)
{
    ls_handover all = joins->handover;
    if (joins->slow.busy_count > 0) {
        return false;
    }
    ls_handover_deinit(&joins->slow);
    ls_handover_init(&joins->handover, joins->match, &all.config, 0);
    joins->slow = all;
    return true;
}

uint32_t ls_join_service_slowest(ls_join_service *joins, bool is_anybody_waiting)
{
    bool is_judged = is_anybody_waiting && !LS_FAULT(SLOW_JOINER_KEPT);
    ls_peer_id spent = ls_handover_slowest(&joins->handover, 0);
    spent = spent != 0 ? spent : ls_handover_slowest(&joins->slow, 0);
    ls_peer_id slow = is_judged ? ls_handover_slowest(&joins->handover, SLOW_BYTES_PER_S) : 0;
    if (spent == 0 && slow != 0 && set_apart(joins)) {
        return MATCH_NO_SLOT;
    }
    ls_peer_id peer = spent != 0 ? spent : slow;
    return peer != 0 ? ls_seat_table_slot_of(joins->match->seats, peer) : MATCH_NO_SLOT;
}

void ls_join_service_leave(ls_join_service *joins, uint32_t slot)
{
    ls_handover *handover = handover_of(joins, slot);
    const ls_handover_stream *stream = stream_of(joins, slot);
    bool is_joining = joins->match->seats->rows[slot].state == LS_SEAT_JOINING;
    if (stream && is_joining && ls_blob_sender_figures_of(stream->sender).acknowledged > 0) {
        handover->kept_until_ns = joins->match->now_ns + BLOB_KEPT_NS;
    }
    ls_handover_stop(handover, peer_of(joins, slot));
    joins->slots[slot].blobs = 0;
}

/* ---- JOINED ---- */

/* Whether the hash is the server's. FELL_BEHIND: that cannot be said any more. */
static ls_status compare_joined(const ls_join_service *joins, uint32_t slot,
                                const ls_joined *joined)
{
    const joining *own = &joins->slots[slot];
    uint32_t interval = joins->match->log->hashes.interval_ticks;
    if (LS_FAULT(JOIN_UNCHECKED)) {
        return LS_OK;
    }
    if (joined->tick == own->tick && own->state_hash != 0) {
        return joined->state_hash == own->state_hash ? LS_OK : LS_DESYNCED;
    }
    return joined->tick < own->tick / interval * interval
               ? LS_MISBEHAVED
               : ls_hash_record_compare(&joins->match->log->hashes, joined->tick,
                                        joined->state_hash);
}

static ls_tick clamp_first_input(const ls_join_service *joins, ls_tick tick)
{
    ls_tick first = joins->match->log->next;
    if (tick < first) {
        return first;
    }
    return tick - first < LS_LEAD_TICKS_MAX ? tick : first + LS_LEAD_TICKS_MAX - 1;
}

ls_status ls_join_service_receive_joined(ls_join_service *joins, uint32_t slot,
                                         const ls_joined *joined, ls_playing_from *from,
                                         ls_departure *departure)
{
    const joining *own = &joins->slots[slot];
    if (joins->match->seats->rows[slot].state != LS_SEAT_JOINING) {
        return LS_MISBEHAVED;
    }
    ls_status status = compare_joined(joins, slot, joined);
    if (status == LS_MISBEHAVED) {
        return status;
    }
    from->agreed = joined->tick;
    if (status == LS_DESYNCED && joined->tick > own->agreed_tick) {
        from->agreed = own->agreed_tick; /* its chain will differ, and be looked into */
        status = LS_OK;
    }
    if (status != LS_OK) {
        departure->status = status;
        departure->why = status == LS_DESYNCED
                             ? "the client joined with a state that is not the server's"
                             : "the client joined with a state that is too old";
        return LS_OK;
    }
    ls_handover_stop(handover_of(joins, slot), peer_of(joins, slot));
    from->input = clamp_first_input(joins, joined->first_input);
    return LS_OK;
}

/* ---- while a player joins ---- */

ls_status ls_join_service_receive_ack(ls_join_service *joins, uint32_t slot, const uint8_t *bytes,
                                      size_t size)
{
    ls_status status = ls_handover_receive_ack(handover_of(joins, slot), peer_of(joins, slot),
                                               &joins->match->links[slot].peer, bytes, size);
    if (status == LS_NOT_FOUND) {
        /* One that was on its way when the last of the blob was acknowledged is no offence. */
        ls_blob_ack ack;
        status = ls_blob_ack_read(bytes, size, &ack);
        return status == LS_OK && joins->slots[slot].blobs == 0 ? LS_MALFORMED : status;
    }
    return status;
}

void ls_join_service_note_progress(ls_join_service *joins, uint32_t slot, ls_tick simulated)
{
    joining *own = &joins->slots[slot];
    bool has_state = !stream_of(joins, slot);
    if (simulated > own->simulated_tick && has_state) {
        own->simulated_tick = simulated;
        joins->match->links[slot].peer.progress_ns = joins->match->now_ns;
    }
}

static void advance(ls_join_service *joins, ls_handover *handover)
{
    const ls_match *match = joins->match;
    if (handover->busy_count == 0) {
        ls_handover_release_idle(handover);
        return;
    }
    bool is_compressing =
        !ls_blob_is_compressed(handover->blob) && match->now_ns >= joins->compress_ns;
    if (is_compressing) {
        ls_blob_advance(handover->blob, BLOB_PIECES_PER_TURN);
        joins->compress_ns = match->now_ns + BLOB_TURN_NS;
    }
    for (uint32_t i = 0; i < handover->stream_count; i++) {
        ls_handover_stream *stream = &handover->streams[i];
        if (stream->peer != 0) {
            ls_handover_send(handover, stream, NULL);
            if (is_compressing && ls_blob_sender_is_starved(stream->sender)) {
                joins->compress_ns = match->now_ns + BLOB_STARVED_TURN_NS;
            }
        }
    }
}

void ls_join_service_advance(ls_join_service *joins)
{
    advance(joins, &joins->handover);
    advance(joins, &joins->slow);
}

static uint64_t next_ns(const ls_join_service *joins, const ls_handover *handover)
{
    uint64_t next_ns = UINT64_MAX;
    if (handover->busy_count == 0) {
        return handover->blob ? handover->kept_until_ns : next_ns;
    }
    if (!ls_blob_is_compressed(handover->blob)) {
        next_ns = joins->compress_ns;
    }
    for (uint32_t i = 0; i < handover->stream_count; i++) {
        const ls_handover_stream *stream = &handover->streams[i];
        uint64_t due_ns = stream->peer != 0 ? ls_blob_sender_next_ns(stream->sender) : UINT64_MAX;
        next_ns = LS_MIN(due_ns, next_ns);
    }
    return next_ns;
}

uint64_t ls_join_service_next_ns(const ls_join_service *joins)
{
    uint64_t slow_ns = next_ns(joins, &joins->slow);
    return LS_MIN(next_ns(joins, &joins->handover), slow_ns);
}

void ls_join_service_prefetch(const ls_join_service *joins)
{
    ls_prefetch(joins, offsetof(ls_join_service, handover) + offsetof(ls_handover, in_blob));
}

/* ---- life ---- */

ls_status ls_join_service_create(const ls_match *match, ls_join_service **out)
{
    uint32_t players = match->config.sim.players;
    ls_join_service *joins =
        ls_allocate(match->allocator, sizeof *joins + players * sizeof joins->slots[0]);
    if (!joins) {
        return LS_NO_MEMORY;
    }
    joins->match = match;
    *out = joins;
    ls_handover_config config = {.streams = LS_MAX(match->config.joiners_max, 1),
                                 .burst_packets = BURST_PACKETS};
    ls_handover_init(&joins->handover, match, &config,
                     ls_sim_instance_save_bytes(match->log->instance));
    ls_handover_init(&joins->slow, match, &config, 0);
    return LS_OK;
}

void ls_join_service_destroy(ls_join_service *joins)
{
    if (joins) {
        ls_handover_deinit(&joins->handover);
        ls_handover_deinit(&joins->slow);
        ls_release(joins->match->allocator, joins);
    }
}
