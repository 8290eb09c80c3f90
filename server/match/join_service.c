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
    NO_SENDER = 0,
};

#define BLOB_TURN_NS LS_NS_PER_MS       /* between two pieces that are compressed */
#define BLOB_SHARED_NS LS_NS_PER_SECOND /* players who come within it get the same snapshot */

typedef struct joining {
    uint32_t sender;        /* NO_SENDER: no blob is streamed to it */
    uint32_t blobs;         /* that this connection was sent */
    ls_tick tick;           /* of the JOIN that it was sent */
    uint64_t state_hash;    /* of the state that JOIN brought; 0: none */
    ls_tick simulated_tick; /* how far it has simulated */
} joining;

struct ls_join_service {
    const ls_match_context *match;
    ls_blob *blob; /* NULL: none was needed yet, or the state is too large */
    uint32_t sender_count;
    uint32_t streaming_count;                    /* senders that are taken */
    ls_state_copy in_blob;                       /* the state that it holds, or leads to */
    uint64_t made_ns;                            /* when */
    uint64_t compress_ns;                        /* when more of it is compressed */
    ls_blob_sender *senders[LS_PLAYERS_MAX + 1]; /* from 1 on */
    bool is_sender_taken[LS_PLAYERS_MAX + 1];
    joining slots[LS_PLAYERS_MAX];
};

/* ---- the snapshot ---- */

static bool is_blob_free(const ls_join_service *joins)
{
    return !joins->blob || !ls_blob_is_in_use(joins->blob);
}

/* Fills the blob with the live state, or with the ticks that lead to it. */
static ls_status fill_blob(ls_join_service *joins)
{
    ls_sim_instance *instance = joins->match->log->instance;
    ls_tick_history *history = joins->match->log->history;
    size_t bytes = history ? ls_tick_history_flush(history) : ls_sim_instance_save_bytes(instance);
    ls_status status = ls_handover_make_blob(joins->match, bytes, &joins->blob);
    if (status != LS_OK) {
        return status;
    }
    uint8_t *raw = ls_blob_start(joins->blob, (uint32_t)bytes);
    if (history) {
        ls_tick_history_write(history, raw, (uint32_t)bytes);
        return LS_OK;
    }
    return ls_sim_instance_save(instance, raw);
}

static ls_status make_snapshot(ls_join_service *joins)
{
    ls_status status = fill_blob(joins);
    if (status != LS_OK) {
        return status;
    }
    ls_blob_seal(joins->blob);
    joins->in_blob = ls_tick_log_live(joins->match->log);
    joins->in_blob.state_hash = ls_sim_instance_hash(joins->match->log->instance);
    joins->made_ns = joins->match->now_ns;
    return LS_OK;
}

static bool is_snapshot_fresh(const ls_join_service *joins)
{
    return joins->match->now_ns - joins->made_ns < BLOB_SHARED_NS &&
           joins->match->log->next - joins->in_blob.tick < LS_WINDOW_TICKS / 2;
}

static uint32_t free_sender(const ls_join_service *joins)
{
    for (uint32_t i = 1; i <= joins->sender_count; i++) {
        if (!joins->is_sender_taken[i]) {
            return i;
        }
    }
    return NO_SENDER;
}

/* ---- JOIN ---- */

/* Sends the JOIN that has been begun. */
static void send_join(ls_join_service *joins, uint32_t slot, ls_join *join, const char *how)
{
    joining *own = &joins->slots[slot];
    ls_tick tick = join->tick;
    bool is_keyframe = join->source != LS_JOIN_HELD;
    if (LS_FAULT(JOIN_WRONG_TICK) && join->source == LS_JOIN_SNAPSHOT) {
        join->tick++;
        join->chain_tick += joins->match->config.hash_interval_ticks == 1 ? 1 : 0;
        join->next_close += join->next_close < join->tick ? 1 : 0;
    }
    ls_outbox_send(joins->match->outbox, joins->match->seats->peers[slot]);
    own->tick = tick;
    own->state_hash = join->state_hash;
    own->simulated_tick = 0;
    ls_player_link_join(&joins->match->links[slot], join->tick, is_keyframe,
                        joins->match->log->next, joins->match->now_ns);
    ls_match_event *event = ls_outbox_push_event(joins->match->outbox, LS_MATCH_PLAYER_JOINING);
    event->slot = slot;
    event->tick = tick;
    ls_text_set(&event->text, "%s, %s", joins->match->seats->rows[slot].player.name, how);
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
           ls_tick_log_chain(joins->match->log, back->confirmed) == back->tick_chain;
}

static void join_with_what_it_has(ls_join_service *joins, uint32_t slot)
{
    const ls_return *back = &joins->match->seats->rows[slot].back;
    ls_text how;
    ls_join *join = ls_handover_begin_join(joins->match, LS_JOIN_HELD);
    join->tick = back->match_id != 0 ? back->confirmed : 0;
    join->tick_chain = ls_tick_log_chain(joins->match->log, join->tick);
    ls_text_set(&how, "with the state that it has and %" PRIu32 " ticks",
                joins->match->log->next - join->tick);
    send_join(joins, slot, join, how.bytes);
}

/* The blob is sealed, and `sender` is free. */
static void join_with_blob(ls_join_service *joins, uint32_t slot, uint32_t sender)
{
    joining *own = &joins->slots[slot];
    ls_text how;
    bool is_history = joins->match->log->history != NULL;
    ls_join *join =
        ls_handover_begin_join(joins->match, is_history ? LS_JOIN_HISTORY : LS_JOIN_SNAPSHOT);
    ls_handover_set_blob(join, &joins->in_blob, joins->blob, &how);
    join->blob = own->blobs++ % 256;
    own->sender = sender;
    joins->is_sender_taken[sender] = true;
    joins->streaming_count++;
    ls_blob_sender_start(joins->senders[sender], joins->blob, join->blob, 0, joins->match->now_ns);
    send_join(joins, slot, join, how.bytes);
}

ls_status ls_join_service_begin(ls_join_service *joins, uint32_t slot, bool is_trusted)
{
    if (is_trusted && has_state(joins, slot)) {
        join_with_what_it_has(joins, slot);
        return LS_OK;
    }
    uint32_t sender = free_sender(joins);
    bool is_free = is_blob_free(joins);
    if (sender == NO_SENDER || (!is_free && !is_snapshot_fresh(joins))) {
        return LS_STALE;
    }
    ls_status status = is_free ? make_snapshot(joins) : LS_OK;
    if (status == LS_OK) {
        join_with_blob(joins, slot, sender);
    }
    return status;
}

static void stop(ls_join_service *joins, uint32_t slot)
{
    joining *own = &joins->slots[slot];
    if (own->sender != NO_SENDER) {
        ls_blob_sender_stop(joins->senders[own->sender]);
        joins->is_sender_taken[own->sender] = false;
        joins->streaming_count--;
        own->sender = NO_SENDER;
    }
}

void ls_join_service_leave(ls_join_service *joins, uint32_t slot)
{
    stop(joins, slot);
    joins->slots[slot].blobs = 0;
}

/* ---- JOINED ---- */

/* Whether the hash is the server's. FELL_BEHIND: that cannot be said any more. */
static ls_status compare_joined(const ls_join_service *joins, uint32_t slot,
                                const ls_joined *joined)
{
    const joining *own = &joins->slots[slot];
    const ls_hash_record *hashes = &joins->match->log->hashes;
    uint32_t interval = hashes->interval_ticks;
    uint64_t state_hash = own->state_hash;
    if (LS_FAULT(JOIN_UNCHECKED)) {
        return LS_OK;
    }
    if (joined->tick == own->tick && state_hash != 0) {
        return joined->state_hash == state_hash ? LS_OK : LS_DESYNCED;
    }
    if (joined->tick < own->tick / interval * interval ||
        !ls_hash_record_is_known(hashes, joined->tick)) {
        return LS_MISBEHAVED;
    }
    if (!ls_hash_record_hash(hashes, joined->tick, &state_hash)) {
        return LS_FELL_BEHIND;
    }
    return joined->state_hash == state_hash ? LS_OK : LS_DESYNCED;
}

static ls_tick clamp_first_input(const ls_join_service *joins, ls_tick tick)
{
    ls_tick first = joins->match->log->next;
    if (tick < first) {
        return first;
    }
    return tick - first < LS_LEAD_TICKS_MAX ? tick : first + LS_LEAD_TICKS_MAX - 1;
}

ls_status ls_join_service_take_joined(ls_join_service *joins, uint32_t slot,
                                      const ls_joined *joined, ls_tick *first_input,
                                      ls_departure *departure)
{
    if (joins->match->seats->rows[slot].state != LS_SEAT_JOINING) {
        return LS_MISBEHAVED;
    }
    ls_status status = compare_joined(joins, slot, joined);
    if (status == LS_MISBEHAVED) {
        return status;
    }
    if (status != LS_OK) {
        departure->status = status;
        departure->why = status == LS_DESYNCED
                             ? "the client joined with a state that is not the server's"
                             : "the client joined with a state that is too old";
        return LS_OK;
    }
    stop(joins, slot);
    *first_input = clamp_first_input(joins, joined->first_input);
    return LS_OK;
}

/* ---- while a player joins ---- */

ls_status ls_join_service_take_ack(ls_join_service *joins, uint32_t slot, const uint8_t *bytes,
                                   size_t size)
{
    joining *own = &joins->slots[slot];
    ls_blob_ack ack;
    if (own->sender == NO_SENDER) {
        /* One that was on its way when the last of the blob was acknowledged is no offence. */
        ls_status status = ls_blob_ack_read(bytes, size, &ack);
        return status == LS_OK && own->blobs == 0 ? LS_MALFORMED : status;
    }
    ls_blob_sender *sender = joins->senders[own->sender];
    ls_status status = ls_peer_link_take_blob_ack(&joins->match->links[slot].peer, joins->match,
                                                  sender, bytes, size);
    if (status == LS_OK && !ls_blob_sender_is_busy(sender)) {
        stop(joins, slot);
    }
    return status;
}

void ls_join_service_note_progress(ls_join_service *joins, uint32_t slot, ls_tick simulated)
{
    joining *own = &joins->slots[slot];
    if (simulated > own->simulated_tick) {
        own->simulated_tick = simulated;
        joins->match->links[slot].peer.progress_ns = joins->match->now_ns;
    }
}

static void send_parts(ls_join_service *joins, uint32_t slot)
{
    ls_blob_sender *sender = joins->senders[joins->slots[slot].sender];
    size_t size = 0;
    while ((size = ls_blob_sender_next(sender, joins->match->now_ns,
                                       ls_outbox_packet(joins->match->outbox))) > 0) {
        ls_outbox_send_packet(joins->match->outbox, joins->match->seats->peers[slot], size);
    }
}

void ls_join_service_advance(ls_join_service *joins)
{
    uint64_t now_ns = joins->match->now_ns;
    if (joins->streaming_count == 0) {
        return; /* no sender holds the blob */
    }
    if (!ls_blob_is_compressed(joins->blob) && now_ns >= joins->compress_ns) {
        ls_blob_advance(joins->blob, BLOB_PIECES_PER_TURN);
        joins->compress_ns = now_ns + BLOB_TURN_NS;
    }
    for (uint32_t slot = 0; slot < joins->match->config.sim.players; slot++) {
        if (joins->slots[slot].sender != NO_SENDER) {
            send_parts(joins, slot);
        }
    }
}

uint64_t ls_join_service_next_ns(const ls_join_service *joins)
{
    uint64_t next_ns = UINT64_MAX;
    if (joins->streaming_count == 0) {
        return next_ns;
    }
    if (!ls_blob_is_compressed(joins->blob)) {
        next_ns = joins->compress_ns;
    }
    for (uint32_t i = 1; i <= joins->sender_count; i++) {
        if (joins->is_sender_taken[i]) {
            uint64_t due_ns = ls_blob_sender_next_ns(joins->senders[i]);
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
    }
    return next_ns;
}

void ls_join_service_prefetch(const ls_join_service *joins)
{
    ls_prefetch(joins, offsetof(ls_join_service, in_blob));
    ls_prefetch(joins->slots, joins->match->config.sim.players * sizeof joins->slots[0]);
}

/* ---- life ---- */

static ls_status create_parts(ls_join_service *joins)
{
    const ls_match_config *config = &joins->match->config;
    size_t bytes = ls_sim_instance_save_bytes(joins->match->log->instance);
    ls_status status = bytes > 0 ? ls_handover_make_blob(joins->match, bytes, &joins->blob) : LS_OK;
    if (status == LS_UNSUPPORTED) {
        return LS_OK; /* too large to be handed on: no player can join */
    }
    ls_blob_sender_config sender = ls_blob_sender_config_default();
    sender.bytes_per_second = config->join_bytes_per_s;
    sender.tick_ns = joins->match->dt_ns;
    uint32_t count = config->joiners_max > 0 ? config->joiners_max : 1;
    for (uint32_t i = 1; status == LS_OK && i <= count; i++) {
        status = ls_blob_sender_create(&sender, joins->match->allocator, &joins->senders[i]);
        joins->sender_count += status == LS_OK ? 1 : 0;
    }
    return status;
}

ls_status ls_join_service_create(const ls_match_context *match, ls_join_service **out)
{
    ls_join_service *joins = ls_allocate(match->allocator, sizeof *joins);
    if (!joins) {
        return LS_NO_MEMORY;
    }
    joins->match = match;
    *out = joins;
    return create_parts(joins);
}

void ls_join_service_destroy(ls_join_service *joins)
{
    if (!joins) {
        return;
    }
    for (uint32_t i = 1; i <= joins->sender_count; i++) {
        ls_blob_sender_destroy(joins->senders[i]);
    }
    ls_blob_destroy(joins->blob);
    ls_release(joins->match->allocator, joins);
}
