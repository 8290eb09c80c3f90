#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <inttypes.h>
#include <string.h>

enum {
    STEPS_MAX = 1 << 16,   /* in a frame */
    PIECES_PER_FRAME = 16, /* of a blob: 1 MiB, about 2 ms */
    SIZE_BYTES = 4,        /* before each block of a history */
    EVENTS_MAX = LS_EVENT_JOINED | LS_EVENT_LEFT,
};

static void step(ls_session *session, const ls_tick_inputs *inputs)
{
    ls_session_step_on(session, inputs);
    session->joining->steps_left--;
    if ((inputs->tick + 1) % session->offer.hash_interval_ticks == 0) {
        ls_hash_log_append(session->hashes, inputs->tick + 1,
                           ls_sim_instance_hash(session->instance));
    }
}

bool ls_session_has_played_enough(const ls_session *session)
{
    uint32_t planned = session->config.ticks;
    return planned > 0 && ls_sim_instance_tick(session->instance) >= planned;
}

static void step_backlog(ls_session *session)
{
    const session_joining *joining = session->joining;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    while (joining->steps_left > 0 && !ls_session_has_played_enough(session) &&
           ls_tick_backlog_take(joining->backlog, slots, &inputs) == LS_OK) {
        step(session, &inputs);
    }
}

static void desynced(ls_session *session, uint64_t own, uint64_t servers, const char *what)
{
    ls_text why = {{0}};
    ls_text_set(&why,
                "%s at tick %" PRIu32 " has state hash %016" PRIx64 ", the server's is %016" PRIx64,
                what, ls_sim_instance_tick(session->instance), own, servers);
    ls_session_give_up(session, LS_DESYNCED, why.bytes);
}

/* The state that JOIN named is live: it has to be the server's. */
static void take_state(ls_session *session, const char *what)
{
    session_joining *joining = session->joining;
    uint64_t state_hash = ls_sim_instance_hash(session->instance);
    if (state_hash != joining->join.state_hash) {
        desynced(session, state_hash, joining->join.state_hash, what);
        return;
    }
    if (session->previous) {
        memcpy(session->previous, ls_sim_instance_view(session->instance),
               ls_sim_instance_state_bytes(session->instance));
    }
    joining->has_state = true;
    ls_blob_receiver_stop(joining->receiver);
}

/* ---- a snapshot ---- */

static void load_snapshot(ls_session *session)
{
    const ls_join *join = &session->joining->join;
    const uint8_t *bytes = ls_blob_receiver_bytes(session->joining->receiver);
    if (!ls_sim_instance_is_save(session->instance, bytes, join->blob_bytes)) {
        ls_session_give_up(session, LS_MISBEHAVED, "the server's snapshot has another size inside");
        return;
    }
    ls_status status = ls_sim_instance_load(session->instance, bytes, join->tick);
    if (status != LS_OK) {
        ls_session_give_up(session, status, "the simulation cannot load the server's snapshot");
        return;
    }
    take_state(session, "the server's snapshot");
}

/* ---- a history ---- */

static ls_status open_block(ls_session *session)
{
    session_joining *joining = session->joining;
    const uint8_t *bytes = ls_blob_receiver_bytes(joining->receiver) + joining->history_at;
    size_t left = joining->join.blob_bytes - joining->history_at;
    if (left < SIZE_BYTES || ls_load_u32(bytes) > left - SIZE_BYTES) {
        return LS_MALFORMED;
    }
    uint32_t size = ls_load_u32(bytes);
    ls_tick tick = ls_sim_instance_tick(session->instance);
    ls_status status =
        ls_tick_block_open(&joining->block, bytes + SIZE_BYTES, size, session->offer.config.players,
                           session->simulation->input_bytes_max);
    const ls_tick_block_head *head = &joining->block.head;
    if (status != LS_OK || head->first != tick || head->count > joining->join.tick - tick) {
        return LS_MALFORMED;
    }
    joining->history_at += SIZE_BYTES + size;
    joining->is_in_block = true;
    return LS_OK;
}

/* The ticks of a block have to be what its chain says. */
static ls_status close_block(session_joining *joining)
{
    joining->is_in_block = false;
    return joining->block.head.chain == joining->history_chain ? LS_OK : LS_MALFORMED;
}

/* DESYNCED: the session has ended. */
static ls_status step_history(ls_session *session)
{
    session_joining *joining = session->joining;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_status status = ls_tick_block_next(&joining->block, slots, &inputs, &state_hash);
    if (status != LS_OK) {
        return status == LS_NOT_FOUND ? close_block(joining) : status;
    }
    for (uint32_t slot = 0; slot < inputs.slot_count; slot++) {
        if (slots[slot].events > EVENTS_MAX) {
            return LS_MALFORMED;
        }
    }
    joining->history_chain = ls_tick_chain_next(joining->history_chain, &inputs);
    step(session, &inputs);
    uint64_t own = state_hash != 0 ? ls_sim_instance_hash(session->instance) : 0;
    if (own != state_hash) {
        desynced(session, own, state_hash, "the state that the match's history leads to");
        return LS_DESYNCED;
    }
    return LS_OK;
}

static void end_history(ls_session *session)
{
    const session_joining *joining = session->joining;
    const ls_join *join = &joining->join;
    if (joining->history_at != join->blob_bytes || joining->history_chain != join->tick_chain) {
        ls_session_give_up(session, LS_MISBEHAVED, "the match's history contradicts itself");
        return;
    }
    if (ls_hash_log_tick(session->hashes) != join->chain_tick ||
        ls_hash_log_chain(session->hashes) != join->chain) {
        ls_session_give_up(session, LS_DESYNCED,
                           "a state that the match's history leads to is not the server's");
        return;
    }
    take_state(session, "the state that the match's history leads to");
}

static void run_history(ls_session *session)
{
    session_joining *joining = session->joining;
    ls_status status = LS_OK;
    while (status == LS_OK && joining->steps_left > 0 &&
           (joining->is_in_block || ls_sim_instance_tick(session->instance) < joining->join.tick)) {
        status = joining->is_in_block ? step_history(session) : open_block(session);
    }
    if (status == LS_MALFORMED) {
        ls_session_give_up(session, LS_MISBEHAVED, "the match's history contradicts itself");
    } else if (status == LS_OK && !joining->is_in_block &&
               ls_sim_instance_tick(session->instance) == joining->join.tick) {
        end_history(session);
    }
}

/* ---- the blob ---- */

static void begin_history(ls_session *session)
{
    session_joining *joining = session->joining;
    ls_status status = ls_session_join_restart_instance(session);
    if (status != LS_OK) {
        ls_session_give_up(session, status, "the simulation cannot begin again");
        return;
    }
    joining->is_in_history = true;
    joining->history_chain = LS_TICK_CHAIN_START;
}

static void advance_blob(ls_session *session)
{
    const session_joining *joining = session->joining;
    ls_blob_receiver_advance(joining->receiver, PIECES_PER_FRAME);
    ls_blob_receiver_state state = ls_blob_receiver_state_of(joining->receiver);
    ls_session_join_update(session);
    if (state == LS_BLOB_FAILED) {
        ls_session_give_up(session, LS_MISBEHAVED,
                           "the state that came is not the one that the server announced");
    } else if (state == LS_BLOB_COMPLETE && joining->join.source == LS_JOIN_HISTORY) {
        begin_history(session);
    } else if (state == LS_BLOB_COMPLETE) {
        load_snapshot(session);
    }
}

/* ---- frames ---- */

/* The session reads no clock: how much it can step shows in how long the frames take. */
static void plan_steps(session_joining *joining, uint64_t elapsed_ns, uint64_t dt_ns)
{
    uint32_t steps = joining->steps_per_frame;
    uint32_t least = (uint32_t)(2 * joining->frame_max_ns / dt_ns) + 2; /* faster than the match */
    if (elapsed_ns > joining->frame_max_ns) {
        steps = (uint32_t)(steps * joining->frame_max_ns / elapsed_ns);
    } else if (joining->steps_left == 0) {
        steps += steps / 2;
    }
    steps = steps > least ? steps : least;
    joining->steps_per_frame = steps < STEPS_MAX ? steps : STEPS_MAX;
    joining->steps_left = joining->steps_per_frame;
}

static bool is_going_on(const ls_session *session)
{
    return session->report.state != LS_SESSION_OVER;
}

void ls_session_join_step(ls_session *session, uint64_t elapsed_ns)
{
    session_joining *joining = session->joining;
    plan_steps(joining, elapsed_ns, session->terms.dt_ns);
    if (!joining->has_state && !joining->is_in_history) {
        advance_blob(session);
    }
    if (is_going_on(session) && !joining->has_state && joining->is_in_history) {
        run_history(session);
    }
    if (is_going_on(session) && joining->has_state) {
        step_backlog(session);
    }
}
