#include "lockstep/client/session/joiner.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/encoding/tick_block.h"
#include "lockstep/common/simulation/save_fault.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/protocol/blob/blob_receiver.h"

#include <inttypes.h>

enum {
    STEPS_AT_FIRST = 64,   /* in a frame */
    STEPS_MAX = 1 << 16,   /* in a frame */
    PIECES_PER_FRAME = 64, /* of a blob: 4 MiB, about 8 ms */
    PIECES_PER_FRAME_PLAYING = 16,
    SIZE_BYTES = 4, /* before each block of a history */
    EVENTS_MAX = LS_EVENT_JOINED | LS_EVENT_LEFT,
};

/* A frame may take so long while the session steps to where the match is. */
#define FRAME_NS (UINT64_C(50) * LS_NS_PER_MS)

struct ls_joiner {
    const ls_session *context;
    ls_join join;
    uint64_t close_ns;          /* when join.next_close is closed, as JOIN said */
    ls_blob_receiver *receiver; /* of the snapshot or history; NULL without */
    ls_tick_backlog *backlog;   /* every closed tick that has come and is not stepped */
    bool has_state;             /* the live state is the one that the backlog follows */
    bool is_healing;            /* the session plays, with a state that differs */
    uint32_t steps_per_frame;
    uint32_t steps_left;   /* in this frame */
    uint64_t frame_max_ns; /* when a frame takes longer, fewer steps are made in the next one */

    /* A history on its way through the simulation. */
    bool is_in_history;
    size_t history_at; /* of the next block */
    bool is_in_block;  /* `block` has more ticks */
    ls_tick_block_reader block;
    uint64_t history_chain; /* tick chain over the ticks of it that were stepped */
};

/* ---- JOIN ---- */

static bool is_blob_possible(const ls_session *context, const ls_join *join)
{
    const ls_simulation *simulation = context->simulation;
    if (join->blob_bytes == 0 || join->blob_bytes > LS_BLOB_BYTES_MAX) {
        return false;
    }
    if (join->source == LS_JOIN_HISTORY) {
        return join->tick > 0;
    }
    return simulation->hash ? simulation->load != NULL
                            : join->blob_bytes == ls_sim_instance_save_bytes(context->instance);
}

/* The joiner keeps the parts that have come when the link is lost. */
static bool is_rest_possible(const ls_joiner *joiner, const ls_join *join)
{
    return joiner && !joiner->is_healing && joiner->receiver &&
           join->blob_bytes == joiner->join.blob_bytes && join->blob_hash == joiner->join.blob_hash;
}

const char *ls_joiner_check(const ls_session *context, const ls_join *join)
{
    const ls_joiner *joiner = context->joiner;
    const ls_confirmed_ticks *ticks = context->ticks;
    uint32_t interval = context->offer.hash_interval_ticks;
    if (join->next_close > LS_MATCH_TICKS_MAX || join->next_close < join->tick) {
        return "the server's JOIN names ticks that cannot be";
    }
    if (join->source == LS_JOIN_HELD || join->source == LS_JOIN_REST) {
        bool has_state = !joiner || joiner->has_state;
        bool is_held = join->tick == ls_confirmed_ticks_end(ticks) &&
                       join->tick_chain == ls_confirmed_ticks_chain(ticks) &&
                       (join->source == LS_JOIN_HELD ? has_state && join->blob_bytes == 0
                                                     : is_rest_possible(joiner, join));
        return is_held ? NULL : "the server's JOIN goes on from ticks that are not held here";
    }
    if (join->chain_tick % interval != 0 || join->tick - join->chain_tick >= interval) {
        return "the server's JOIN names a hashed state that cannot be";
    }
    return is_blob_possible(context, join)
               ? NULL
               : "the server's JOIN brings a state of a size that cannot be";
}

ls_status ls_joiner_check_backlog(const ls_joiner *joiner, ls_text *why)
{
    ls_status status = ls_confirmed_ticks_backlog_status(joiner->context->ticks);
    if (status == LS_FULL) {
        return ls_fail(LS_FELL_BEHIND, why,
                       "more ticks came than can be kept until the state is there");
    }
    return status == LS_OK ? LS_OK : ls_fail(status, why, "%s", ls_status_text(status));
}

/* ---- life ---- */

static ls_status create_buffers(ls_joiner *joiner)
{
    const ls_session *context = joiner->context;
    const ls_join *join = &joiner->join;
    ls_tick_backlog_config config = {.slot_count = context->offer.config.players,
                                     .input_bytes_max = context->simulation->input_bytes_max,
                                     .bytes_max = LS_TICK_BACKLOG_BYTES_MAX};
    ls_status status = ls_tick_backlog_create(&config, context->allocator, &joiner->backlog);
    if (status != LS_OK || join->source == LS_JOIN_HELD) {
        return status;
    }
    ls_blob_promise promise = {
        .number = join->blob, .bytes = join->blob_bytes, .hash = join->blob_hash};
    status = ls_blob_receiver_create(promise.bytes, context->allocator, &joiner->receiver);
    return status == LS_OK ? ls_blob_receiver_start(joiner->receiver, &promise, context->now_ns)
                           : status;
}

/* The session steps on from the state that it has; closed ticks that were not stepped before the
 * link was lost come first. */
static ls_status go_on_with_held(ls_joiner *joiner)
{
    const ls_session *context = joiner->context;
    ls_tick end = ls_confirmed_ticks_end(context->ticks);
    joiner->has_state = true;
    if (end == 0) {
        return ls_stepper_restart(context->stepper);
    }
    for (ls_tick tick = ls_stepper_tick(context->stepper); tick < end; tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs = ls_confirmed_ticks_get(context->ticks, tick, slots);
        ls_status status = ls_tick_backlog_add(joiner->backlog, &inputs);
        if (status != LS_OK) {
            return status;
        }
    }
    return LS_OK;
}

/* Nothing that is held here is of use. */
static void start_anew(ls_joiner *joiner)
{
    const ls_join *join = &joiner->join;
    ls_confirmed_ticks_restart(joiner->context->ticks, join->tick, join->tick_chain);
    ls_uplink_forget_inputs(joiner->context->uplink);
    ls_hash_log_continue(joiner->context->hashes, join->chain_tick, join->chain, join->tick,
                         join->state_hash);
}

static void receive_join(ls_joiner *joiner, const ls_join *join)
{
    uint64_t usual_ns = 2 * joiner->context->sync->frame_ns;
    joiner->join = *join;
    joiner->close_ns = joiner->context->now_ns + join->next_close_us * LS_NS_PER_US;
    joiner->steps_per_frame = STEPS_AT_FIRST;
    joiner->frame_max_ns = LS_MAX(usual_ns, FRAME_NS);
}

void ls_joiner_resume(ls_joiner *joiner, const ls_join *join)
{
    ls_join rest = joiner->join; /* of the state that is on its way */
    joiner->is_healing = false;
    if (join->source == LS_JOIN_REST) {
        rest.next_close = join->next_close;
        rest.next_close_us = join->next_close_us;
        ls_blob_receiver_go_on(joiner->receiver, join->blob, joiner->context->now_ns);
        join = &rest;
    }
    receive_join(joiner, join);
    ls_stepper_begin_catch_up(joiner->context->stepper);
}

ls_status ls_joiner_create(const ls_session *context, const ls_join *join, ls_joiner **out)
{
    ls_joiner *joiner = ls_allocate(context->allocator, sizeof *joiner);
    if (!joiner) {
        return LS_NO_MEMORY;
    }
    joiner->context = context;
    ls_joiner_resume(joiner, join);
    ls_status status = create_buffers(joiner);
    if (status == LS_OK && join->source == LS_JOIN_HELD) {
        status = go_on_with_held(joiner);
    } else if (status == LS_OK) {
        start_anew(joiner);
    }
    if (status != LS_OK) {
        ls_joiner_destroy(joiner);
        return status;
    }
    ls_confirmed_ticks_set_backlog(context->ticks, joiner->backlog);
    *out = joiner;
    return LS_OK;
}

ls_status ls_joiner_create_healing(const ls_session *context, const ls_heal_snapshot *heal,
                                   ls_joiner **out)
{
    ls_join join = {.source = LS_JOIN_SNAPSHOT,
                    .tick = heal->tick,
                    .state_hash = heal->state_hash,
                    .chain_tick = heal->chain_tick,
                    .chain = heal->chain,
                    .next_close = heal->tick,
                    .blob = heal->blob,
                    .blob_bytes = heal->blob_bytes,
                    .blob_hash = heal->blob_hash};
    ls_joiner *joiner = ls_allocate(context->allocator, sizeof *joiner);
    if (!joiner) {
        return LS_NO_MEMORY;
    }
    joiner->context = context;
    joiner->is_healing = true;
    receive_join(joiner, &join);
    ls_status status = ls_joiner_check(context, &join) ? LS_MALFORMED : create_buffers(joiner);
    LS_THEN(status,
            ls_confirmed_ticks_copy_to_backlog(context->ticks, heal->tick, joiner->backlog));
    if (status != LS_OK) {
        ls_joiner_destroy(joiner);
        return status;
    }
    *out = joiner;
    return LS_OK;
}

void ls_joiner_destroy(ls_joiner *joiner)
{
    if (!joiner) {
        return;
    }
    ls_confirmed_ticks_set_backlog(joiner->context->ticks, NULL);
    ls_blob_receiver_destroy(joiner->receiver);
    ls_tick_backlog_destroy(joiner->backlog);
    ls_release(joiner->context->allocator, joiner);
}

/* ---- parts of the blob ---- */

ls_status ls_joiner_receive_part(ls_joiner *joiner, const uint8_t *bytes, size_t size)
{
    if (!joiner->receiver) {
        return LS_STALE; /* of a blob that is not needed any more */
    }
    ls_status status =
        ls_blob_receiver_receive_part(joiner->receiver, joiner->context->now_ns, bytes, size);
    ls_joiner_acknowledge(joiner);
    return status;
}

void ls_joiner_acknowledge(ls_joiner *joiner)
{
    ls_session_outbox *outbox = joiner->context->outbox;
    size_t size = 0;
    if (joiner->context->state == LS_SESSION_RECONNECTING) {
        return; /* the server learns from HELLO, and from the first one after JOIN */
    }
    while (joiner->receiver &&
           (size = ls_blob_receiver_next(joiner->receiver, joiner->context->now_ns,
                                         outbox->packet)) > 0) {
        ls_session_outbox_send_packet(outbox, size);
    }
}

uint64_t ls_joiner_next_ns(const ls_joiner *joiner)
{
    return joiner->receiver ? ls_blob_receiver_next_ns(joiner->receiver) : UINT64_MAX;
}

/* ---- stepping ---- */

static ls_tick live_tick(const ls_joiner *joiner)
{
    return ls_sim_instance_tick(joiner->context->instance);
}

static void step(ls_joiner *joiner, const ls_tick_inputs *inputs)
{
    ls_stepper_catch_up(joiner->context->stepper, inputs, joiner->has_state);
    joiner->steps_left--;
}

static void step_backlog(ls_joiner *joiner)
{
    uint32_t planned = joiner->context->config.ticks;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    while (joiner->steps_left > 0 && (planned == 0 || live_tick(joiner) < planned) &&
           ls_tick_backlog_pop(joiner->backlog, slots, &inputs) == LS_OK) {
        step(joiner, &inputs);
    }
}

static ls_status desynced(const ls_joiner *joiner, uint64_t own, uint64_t servers, const char *what,
                          ls_text *why)
{
    return ls_fail(LS_DESYNCED, why,
                   "%s at tick %" PRIu32 " has state hash %016" PRIx64
                   ", the server's is %016" PRIx64,
                   what, live_tick(joiner), own, servers);
}

/* The session gives up the state that differs, and its hashes. */
static void leave_old_state(ls_joiner *joiner)
{
    const ls_join *join = &joiner->join;
    ls_stepper_begin_catch_up(joiner->context->stepper);
    ls_confirmed_ticks_set_backlog(joiner->context->ticks, joiner->backlog);
    ls_hash_log_continue(joiner->context->hashes, join->chain_tick, join->chain, join->tick,
                         join->state_hash);
}

/* The state that JOIN named is live: it has to be the server's. */
static ls_status accept_state(ls_joiner *joiner, const char *what, ls_text *why)
{
    uint64_t state_hash = ls_sim_instance_hash(joiner->context->instance);
    if (state_hash != joiner->join.state_hash) {
        return desynced(joiner, state_hash, joiner->join.state_hash, what, why);
    }
    ls_stepper_accept_state(joiner->context->stepper, state_hash);
    joiner->has_state = true;
    ls_blob_receiver_stop(joiner->receiver);
    return LS_OK;
}

/* ---- a snapshot ---- */

static ls_status load_snapshot(ls_joiner *joiner, ls_text *why)
{
    const ls_join *join = &joiner->join;
    const uint8_t *bytes = ls_blob_receiver_bytes(joiner->receiver);
    if (!ls_sim_instance_is_save(joiner->context->instance, bytes, join->blob_bytes)) {
        return ls_fail(LS_MISBEHAVED, why, "the server's snapshot has another size inside");
    }
    if (joiner->is_healing) {
        leave_old_state(joiner);
    }
    ls_status status =
        ls_sim_instance_load(joiner->context->instance, bytes, join->blob_bytes, join->tick);
    if (status != LS_OK) {
        return ls_fail(status, why, "the simulation cannot load the server's snapshot");
    }
    status = accept_state(joiner, "the server's snapshot", why);
    if (status == LS_DESYNCED) {
        ls_save_fault_add(joiner->context->instance, bytes, joiner->context->allocator, why);
    }
    return status;
}

/* ---- a history ---- */

static ls_status begin_history(ls_joiner *joiner, ls_text *why)
{
    ls_status status = ls_stepper_restart(joiner->context->stepper);
    if (status != LS_OK) {
        return ls_fail(status, why, "the simulation cannot begin again");
    }
    joiner->is_in_history = true;
    joiner->history_chain = LS_TICK_CHAIN_START;
    return LS_OK;
}

static ls_status open_block(ls_joiner *joiner)
{
    const uint8_t *bytes = ls_blob_receiver_bytes(joiner->receiver) + joiner->history_at;
    size_t left = joiner->join.blob_bytes - joiner->history_at;
    if (left < SIZE_BYTES || ls_load_u32(bytes) > left - SIZE_BYTES) {
        return LS_MALFORMED;
    }
    uint32_t size = ls_load_u32(bytes);
    ls_tick tick = live_tick(joiner);
    ls_status status = ls_tick_block_open(&joiner->block, bytes + SIZE_BYTES, size,
                                          joiner->context->offer.config.players,
                                          joiner->context->simulation->input_bytes_max);
    const ls_tick_block_head *head = &joiner->block.head;
    if (status != LS_OK || head->first != tick || head->count > joiner->join.tick - tick) {
        return LS_MALFORMED;
    }
    joiner->history_at += SIZE_BYTES + size;
    joiner->is_in_block = true;
    return LS_OK;
}

/* The ticks of a block have to be what its chain says. */
static ls_status close_block(ls_joiner *joiner)
{
    joiner->is_in_block = false;
    return joiner->block.head.chain == joiner->history_chain ? LS_OK : LS_MALFORMED;
}

static ls_status step_block(ls_joiner *joiner, ls_text *why)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_status status = ls_tick_block_next(&joiner->block, slots, &inputs, &state_hash);
    if (status != LS_OK) {
        return status == LS_NOT_FOUND ? close_block(joiner) : status;
    }
    for (uint32_t slot = 0; slot < inputs.slot_count; slot++) {
        if (slots[slot].events > EVENTS_MAX) {
            return LS_MALFORMED;
        }
    }
    joiner->history_chain = ls_tick_chain_next(joiner->history_chain, &inputs);
    step(joiner, &inputs);
    uint64_t own = state_hash != 0 ? ls_sim_instance_hash(joiner->context->instance) : 0;
    return own == state_hash ? LS_OK
                             : desynced(joiner, own, state_hash,
                                        "the state that the match's history leads to", why);
}

static ls_status end_history(ls_joiner *joiner, ls_text *why)
{
    const ls_join *join = &joiner->join;
    const ls_hash_log *hashes = joiner->context->hashes;
    if (joiner->history_at != join->blob_bytes || joiner->history_chain != join->tick_chain) {
        return ls_fail(LS_MISBEHAVED, why, "the match's history contradicts itself");
    }
    if (hashes->tick != join->chain_tick || hashes->chain != join->chain) {
        return ls_fail(LS_DESYNCED, why,
                       "a state that the match's history leads to is not the server's");
    }
    return accept_state(joiner, "the state that the match's history leads to", why);
}

static ls_status run_history(ls_joiner *joiner, ls_text *why)
{
    ls_status status = LS_OK;
    while (status == LS_OK && joiner->steps_left > 0 &&
           (joiner->is_in_block || live_tick(joiner) < joiner->join.tick)) {
        status = joiner->is_in_block ? step_block(joiner, why) : open_block(joiner);
    }
    if (status == LS_MALFORMED) {
        return ls_fail(LS_MISBEHAVED, why, "the match's history contradicts itself");
    }
    bool is_done = !joiner->is_in_block && live_tick(joiner) == joiner->join.tick;
    return status == LS_OK && is_done ? end_history(joiner, why) : status;
}

/* ---- frames ---- */

static ls_status advance_blob(ls_joiner *joiner, ls_text *why)
{
    ls_blob_receiver_advance(joiner->receiver,
                             joiner->is_healing ? PIECES_PER_FRAME_PLAYING : PIECES_PER_FRAME);
    ls_blob_receiver_state state = ls_blob_receiver_state_of(joiner->receiver);
    ls_joiner_acknowledge(joiner);
    if (state == LS_BLOB_FAILED) {
        return ls_fail(LS_MISBEHAVED, why,
                       "the state that came is not the one that the server announced");
    }
    const ls_session *context = joiner->context;
    ls_tick reached = joiner->is_healing ? ls_stepper_tick(context->stepper)
                                         : ls_confirmed_ticks_end(context->ticks);
    if (state != LS_BLOB_COMPLETE || reached < joiner->join.tick) {
        return LS_OK; /* a session that plays goes back to that state, and skips no tick */
    }
    return joiner->join.source == LS_JOIN_HISTORY ? begin_history(joiner, why)
                                                  : load_snapshot(joiner, why);
}

/* Faster than the match, however few frames a second there are. */
static uint32_t least_steps(const ls_joiner *joiner)
{
    uint64_t usual_ns = joiner->context->sync->frame_ns;
    uint64_t frame_ns = LS_MAX(2 * joiner->frame_max_ns, usual_ns + usual_ns / 4);
    return (uint32_t)(frame_ns / joiner->context->dt_ns) + 2;
}

/* The session reads no clock: how much it can step shows in how long the frames take. */
static void plan_steps(ls_joiner *joiner, uint64_t elapsed_ns)
{
    uint32_t steps = joiner->steps_per_frame;
    uint32_t least = least_steps(joiner);
    if (elapsed_ns > joiner->frame_max_ns) {
        steps = (uint32_t)(steps * joiner->frame_max_ns / elapsed_ns);
    } else if (joiner->steps_left == 0) {
        steps += steps / 2;
    }
    steps = LS_MAX(steps, least);
    joiner->steps_per_frame = LS_MIN(steps, STEPS_MAX);
    joiner->steps_left = joiner->steps_per_frame;
}

ls_status ls_joiner_frame(ls_joiner *joiner, uint64_t elapsed_ns, ls_text *why)
{
    ls_status status = LS_OK;
    plan_steps(joiner, elapsed_ns);
    if (!joiner->has_state && !joiner->is_in_history) {
        status = advance_blob(joiner, why);
    }
    if (status == LS_OK && !joiner->has_state && joiner->is_in_history) {
        status = run_history(joiner, why);
    }
    if (status == LS_OK && joiner->has_state) {
        step_backlog(joiner);
    }
    return status;
}

bool ls_joiner_has_state(const ls_joiner *joiner)
{
    return joiner->has_state;
}

bool ls_joiner_is_healing(const ls_joiner *joiner)
{
    return joiner->is_healing;
}

/* ---- having got there ---- */

/* The newest hash that the server can compare: with a long interval perhaps only that of JOIN
 * itself. False while there is none. */
static bool newest_hash(const ls_joiner *joiner, ls_joined *out)
{
    const ls_join *join = &joiner->join;
    out->tick = joiner->context->hashes->tick;
    if (ls_hash_log_get(joiner->context->hashes, out->tick, &out->state_hash)) {
        return true;
    }
    out->tick = join->tick;
    out->state_hash = join->state_hash;
    return join->source != LS_JOIN_HELD;
}

bool ls_joiner_is_done(const ls_joiner *joiner)
{
    ls_joined joined;
    return joiner->has_state && ls_tick_backlog_count(joiner->backlog) == 0 &&
           ls_confirmed_ticks_end(joiner->context->ticks) >= joiner->join.next_close &&
           newest_hash(joiner, &joined);
}

/* Which tick is closed when follows from the ticks that came, or from JOIN while none is closed. */
void ls_joiner_announce(ls_joiner *joiner)
{
    ls_joined *joined =
        &ls_session_outbox_begin(joiner->context->outbox, LS_MESSAGE_JOINED)->body.joined;
    ls_tick closes = joiner->join.next_close;
    uint64_t close_ns = joiner->close_ns;
    int64_t offset_ns = 0;
    if (ls_stepper_least_offset(joiner->context->stepper, &offset_ns)) {
        closes = ls_confirmed_ticks_end(joiner->context->ticks);
        close_ns = (uint64_t)(offset_ns + (int64_t)(closes * joiner->context->dt_ns));
    }
    (void)newest_hash(joiner, joined);
    joined->first_input = ls_uplink_enter(joiner->context->uplink, closes, close_ns);
    ls_session_outbox_send(joiner->context->outbox);
}

void ls_joiner_announce_healed(const ls_joiner *joiner, bool is_equal)
{
    const ls_session *context = joiner->context;
    ls_session_outbox_begin(context->outbox, LS_MESSAGE_HEALED)->body.healed = (ls_healed){
        .tick = is_equal ? context->hashes->tick : joiner->join.tick, .is_equal = is_equal};
    ls_session_outbox_send(context->outbox);
}

void ls_joiner_report(const ls_joiner *joiner, ls_session_report *report)
{
    report->behind_ticks = ls_tick_backlog_count(joiner->backlog);
    if (joiner->receiver) {
        report->transfer_bytes = joiner->join.blob_bytes;
        report->transferred_bytes = ls_blob_receiver_progress(joiner->receiver);
    }
}
