#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <string.h>

enum {
    STEPS_AT_FIRST = 64, /* in a frame */
    ARRIVALS_LATE_ONE_IN = 100,
};

/* No match lasts so long; beyond it sums of ticks would wrap. */
#define TICK_MAX (UINT32_C(1) << 31)

/* A frame may take so long while the session steps to where the match is. */
#define FRAME_NS (UINT64_C(50) * LS_NS_PER_MS)

/* ---- JOIN ---- */

static bool is_blob_possible(const ls_session *session, const ls_join *join)
{
    const ls_simulation *simulation = session->simulation;
    if (join->blob_bytes == 0 || join->blob_bytes > LS_BLOB_BYTES_MAX) {
        return false;
    }
    if (join->source == LS_JOIN_HISTORY) {
        return join->tick > 0;
    }
    return simulation->hash ? simulation->load != NULL
                            : join->blob_bytes == ls_sim_instance_save_bytes(session->instance);
}

/* What is wrong with it; NULL: nothing. */
static const char *fault_of(const ls_session *session, const ls_join *join)
{
    uint32_t interval = session->offer.hash_interval_ticks;
    if (join->tick > TICK_MAX || join->next_close > TICK_MAX || join->next_close < join->tick) {
        return "the server's JOIN names ticks that cannot be";
    }
    if (join->source == LS_JOIN_HELD) {
        bool is_held = join->tick == ls_confirmed_ticks_end(session->ticks) &&
                       join->tick_chain == ls_confirmed_ticks_chain(session->ticks) &&
                       join->blob_bytes == 0;
        return is_held ? NULL : "the server's JOIN goes on from ticks that are not held here";
    }
    if (join->chain_tick % interval != 0 || join->tick - join->chain_tick >= interval) {
        return "the server's JOIN names a hashed state that cannot be";
    }
    return is_blob_possible(session, join)
               ? NULL
               : "the server's JOIN brings a state of a size that cannot be";
}

static ls_status create_parts(ls_session *session, session_joining *joining)
{
    ls_tick_backlog_config config = {.slot_count = session->offer.config.players,
                                     .input_bytes_max = session->simulation->input_bytes_max,
                                     .bytes_max = LS_TICK_BACKLOG_BYTES_MAX};
    ls_status status = ls_tick_backlog_create(&config, session->allocator, &joining->backlog);
    if (status != LS_OK || joining->join.source == LS_JOIN_HELD) {
        return status;
    }
    ls_blob_promise promise = {.number = joining->join.blob,
                               .bytes = joining->join.blob_bytes,
                               .hash = joining->join.blob_hash};
    status = ls_blob_receiver_create(promise.bytes, session->allocator, &joining->receiver);
    return status == LS_OK ? ls_blob_receiver_start(joining->receiver, &promise, session->now_ns)
                           : status;
}

void ls_session_join_deinit(ls_session *session)
{
    session_joining *joining = session->joining;
    if (!joining) {
        return;
    }
    session->joining = NULL;
    ls_confirmed_ticks_set_queue(session->ticks, NULL);
    ls_blob_receiver_destroy(joining->receiver);
    ls_tick_backlog_destroy(joining->backlog);
    ls_release(session->allocator, joining);
}

/* False: there is no room, and the session has ended. */
static bool queue_tick(void *user, const ls_tick_inputs *inputs, uint64_t now_ns)
{
    ls_session *session = user;
    session_joining *joining = session->joining;
    ls_status status = ls_tick_backlog_add(joining->backlog, inputs);
    if (status != LS_OK) {
        bool is_full = status == LS_FULL;
        ls_session_give_up(session, is_full ? LS_FELL_BEHIND : status,
                           is_full ? "more ticks came than can be kept until the state is there"
                                   : ls_status_text(status));
        return false;
    }
    int64_t offset_ns = (int64_t)(now_ns - inputs->tick * session->terms.dt_ns);
    ls_quantile_window_add(&joining->arrivals, offset_ns, now_ns);
    return true;
}

static ls_status create(ls_session *session, const ls_join *join)
{
    ls_session_join_deinit(session);
    session->joining = ls_allocate(session->allocator, sizeof *session->joining);
    if (!session->joining) {
        return LS_NO_MEMORY;
    }
    session->joining->join = *join;
    ls_tick_queue queue = {queue_tick, session};
    ls_confirmed_ticks_set_queue(session->ticks, &queue);
    return create_parts(session, session->joining);
}

/* Closed ticks go on at `tick`; none before it is held. */
static void continue_at(ls_session *session, ls_tick tick, uint64_t tick_chain)
{
    ls_confirmed_ticks_restart(session->ticks, tick, tick_chain);
    ls_uplink_forget_inputs(session->uplink);
}

void ls_session_join_hold_nothing(ls_session *session)
{
    ls_session_join_deinit(session);
    session->back.has_no_state = true;
    continue_at(session, 0, LS_TICK_CHAIN_START);
    ls_hash_log_restart(session->hashes);
    if (session->prediction) {
        ls_prediction_restart(session->prediction, session->report.slot);
    }
}

ls_status ls_session_join_restart_instance(ls_session *session)
{
    ls_status status = LS_OK;
    if (ls_sim_instance_tick(session->instance) != 0) {
        status = ls_sim_instance_restart(session->instance);
    }
    ls_hash_log_restart(session->hashes);
    return status;
}

/* Closed ticks that were not stepped before the link was lost come first. */
static ls_status go_on_with_held(ls_session *session)
{
    session_joining *joining = session->joining;
    joining->has_state = true;
    if (ls_confirmed_ticks_end(session->ticks) == 0) {
        return ls_session_join_restart_instance(session);
    }
    for (ls_tick tick = ls_sim_instance_tick(session->instance);
         tick < ls_confirmed_ticks_end(session->ticks); tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_tick_inputs inputs = ls_confirmed_ticks_get(session->ticks, tick, slots);
        ls_status status = ls_tick_backlog_add(joining->backlog, &inputs);
        if (status != LS_OK) {
            return status;
        }
    }
    return LS_OK;
}

static ls_status begin(ls_session *session, const ls_join *join)
{
    bool is_on_its_way = session->joining && join->source == LS_JOIN_HELD;
    if (is_on_its_way) { /* the link was lost in between */
        session->joining->join = *join;
        return LS_OK;
    }
    ls_session_predict_end(session);
    ls_status status = create(session, join);
    if (status != LS_OK) {
        return status;
    }
    if (join->source == LS_JOIN_HELD) {
        return go_on_with_held(session);
    }
    continue_at(session, join->tick, join->tick_chain);
    ls_hash_log_continue(session->hashes, join->chain_tick, join->chain, join->tick,
                         join->state_hash);
    return LS_OK;
}

/* A frame that takes longer than this is too long to step as many ticks in the next one. */
static uint64_t frame_max_ns(const ls_session *session)
{
    uint64_t usual_ns = 2 * ls_uplink_frame_ns(session->uplink);
    return usual_ns > FRAME_NS ? usual_ns : FRAME_NS;
}

void ls_session_join(ls_session *session, const ls_join *join)
{
    const char *fault = fault_of(session, join);
    if (fault) {
        ls_session_give_up(session, LS_MISBEHAVED, fault);
        return;
    }
    ls_status status = begin(session, join);
    if (status != LS_OK) {
        ls_session_give_up(session, status, ls_status_text(status));
        return;
    }
    session_joining *joining = session->joining;
    joining->steps_per_frame = STEPS_AT_FIRST;
    joining->frame_max_ns = frame_max_ns(session);
    joining->close_ns = session->now_ns + join->next_close_us * LS_NS_PER_US;
    ls_uplink_limit_rtt(session->uplink, session->now_ns - session->asked_ns);
    ls_quantile_window_init(&joining->arrivals, ARRIVALS_LATE_ONE_IN);
    memcpy(session->names, join->names, sizeof session->names);
    session->diagnosis.is_holding = false;
    session->diagnosis.is_rerunning = false;
    session->back.is_greeted = false;
    session->back.is_seated = false;
    session->back.has_no_state = false;
    session->frame_ns = session->now_ns;
    session->report.state = LS_SESSION_JOINING;
    /* The match runs. One whose server was killed before the end was on its disk has none yet. */
    session->report.has_end = false;
    if (session->back.lost_ns == 0) {
        session->frames_before = session->report.frames;
    }
    ls_session_event *event =
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_JOINING);
    event->join = *join;
    event->away_ns = session->back.lost_ns > 0 ? session->now_ns - session->back.lost_ns : 0;
    ls_session_play_send_inputs(session);
}

/* ---- what comes ---- */

ls_status ls_session_join_part(ls_session *session, const uint8_t *bytes, size_t size)
{
    session_joining *joining = session->joining;
    if (!joining || !joining->receiver) {
        return LS_STALE; /* of a blob that is not needed any more */
    }
    ls_status status = ls_blob_receiver_take_part(joining->receiver, session->now_ns, bytes, size);
    ls_session_join_update(session);
    return status;
}

void ls_session_join_update(ls_session *session)
{
    const session_joining *joining = session->joining;
    uint8_t *packet = ls_session_outbox_packet(session->outbox);
    size_t size = 0;
    while (joining->receiver &&
           (size = ls_blob_receiver_next(joining->receiver, session->now_ns, packet)) > 0) {
        ls_session_outbox_send_packet(session->outbox, size);
    }
}

uint64_t ls_session_join_next_ns(const ls_session *session)
{
    const session_joining *joining = session->joining;
    return joining->receiver ? ls_blob_receiver_next_ns(joining->receiver) : UINT64_MAX;
}

void ls_session_join_report(const ls_session *session, ls_session_report *report)
{
    const session_joining *joining = session->joining;
    report->behind_ticks = ls_tick_backlog_count(joining->backlog);
    if (joining->receiver) {
        report->transfer_bytes = joining->join.blob_bytes;
        report->transferred_bytes = ls_blob_receiver_progress(joining->receiver);
    }
}

/* ---- arriving ---- */

/* A state hash that the server can compare: with a long interval perhaps only that of JOIN itself.
 */
static bool has_hash(const ls_session *session)
{
    uint64_t state_hash = 0;
    return ls_hash_log_get(session->hashes, ls_hash_log_tick(session->hashes), &state_hash) ||
           session->joining->join.source != LS_JOIN_HELD;
}

static ls_joined newest_hash(const ls_session *session)
{
    const ls_join *join = &session->joining->join;
    ls_joined joined = {.tick = ls_hash_log_tick(session->hashes)};
    if (!ls_hash_log_get(session->hashes, joined.tick, &joined.state_hash)) {
        joined = (ls_joined){.tick = join->tick, .state_hash = join->state_hash};
    }
    return joined;
}

static bool is_there(const ls_session *session)
{
    const session_joining *joining = session->joining;
    return joining->has_state && ls_tick_backlog_count(joining->backlog) == 0 &&
           ls_confirmed_ticks_end(session->ticks) >= joining->join.next_close && has_hash(session);
}

/* Which tick is closed when: as the ticks that came say, or JOIN, while nothing is closed. */
static ls_tick begin_inputs(ls_session *session)
{
    const session_joining *joining = session->joining;
    ls_tick closes = joining->join.next_close;
    uint64_t close_ns = joining->close_ns;
    if (ls_quantile_window_has_samples(&joining->arrivals)) {
        closes = ls_confirmed_ticks_end(session->ticks);
        close_ns = (uint64_t)(ls_quantile_window_least(&joining->arrivals) +
                              (int64_t)(closes * session->terms.dt_ns));
    }
    return ls_uplink_enter(session->uplink, closes, close_ns, session->back.lost_ns > 0,
                           session->now_ns);
}

static void restart_guessing_and_keeping(ls_session *session)
{
    ls_tick tick = ls_sim_instance_tick(session->instance);
    uint64_t state_hash = 0; /* stays 0 when the state is not hashed */
    (void)ls_hash_log_get(session->hashes, tick, &state_hash);
    if (session->prediction) {
        ls_prediction_restart(session->prediction, session->report.slot);
    }
    if (session->diagnosis.window) {
        ls_replay_window_start(session->diagnosis.window, session->instance, state_hash);
    }
}

static void arrive(ls_session *session)
{
    session_return *back = &session->back;
    ls_tick tick = ls_sim_instance_tick(session->instance);
    LS_ASSERT(tick == ls_confirmed_ticks_end(session->ticks));
    ls_joined *joined = &ls_session_outbox_begin(session->outbox, LS_MESSAGE_JOINED)->body.joined;
    *joined = newest_hash(session);
    joined->first_input = begin_inputs(session);
    ls_session_outbox_send(session->outbox);
    ls_session_join_deinit(session);
    restart_guessing_and_keeping(session);
    ls_session_play_begin(session);
    ls_session_event *event =
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_JOINED);
    event->tick = tick;
    event->away_ns = back->lost_ns > 0 ? session->now_ns - back->lost_ns : 0;
    session->report.rejoins += back->lost_ns > 0 ? 1 : 0;
    session->report.joined_tick = tick;
    *back = (session_return){0};
}

void ls_session_join_frame(ls_session *session)
{
    uint64_t elapsed_ns = session->now_ns - session->frame_ns;
    session->frame_ns = session->now_ns;
    if (session->back.lost_ns > 0) {
        ls_session_return_count_stalled(session, elapsed_ns);
    }
    ls_session_join_step(session, elapsed_ns);
    if (session->report.state == LS_SESSION_OVER) {
        return;
    }
    if (session->joining->has_state && ls_session_has_played_enough(session)) {
        ls_session_leave_as_planned(session, "the player has played as long as planned");
        return;
    }
    if (is_there(session)) {
        arrive(session);
    }
    ls_session_play_send_due(session);
    ls_session_play_send_in_time(session);
}
