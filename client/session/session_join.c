#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <string.h>

enum {
    STEPS_AT_FIRST = 64, /* in a frame */
    ARRIVALS_LATE_ONE_IN = 100,
    OVERDUE_MAX = 32, /* inputs that may be made at once to go on with those made before */
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
        bool is_held = join->tick == session->confirmed &&
                       join->tick_chain == session->tick_chain && join->blob_bytes == 0;
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
    ls_blob_receiver_destroy(joining->receiver);
    ls_tick_backlog_destroy(joining->backlog);
    ls_release(session->allocator, joining);
}

static ls_status create(ls_session *session, const ls_join *join)
{
    ls_session_join_deinit(session);
    session->joining = ls_allocate(session->allocator, sizeof *session->joining);
    if (!session->joining) {
        return LS_NO_MEMORY;
    }
    session->joining->join = *join;
    return create_parts(session, session->joining);
}

/* Closed ticks go on at `tick`; none before it is held. */
static void continue_at(ls_session *session, ls_tick tick, uint64_t tick_chain)
{
    session->confirmed = tick;
    session->tick_chain = tick_chain;
    session->bare_tick = tick;
    session->is_arrival_reported = true;
    ls_input_buffer_restart(session->closed, tick);
    memset(session->coded, 0, sizeof session->coded);
    ls_tick_parts_forget(&session->parts);
    ls_input_buffer_restart(session->own, session->sync.next_input);
}

static void start_chain(ls_session *session)
{
    session->hashes_first = 0;
    session->state_hashes[0] = ls_sim_instance_digests(session->instance).initial;
    session->chain = ls_hash_chain_start(session->state_hashes[0]);
    session->chain_tick = 0;
}

void ls_session_join_hold_nothing(ls_session *session)
{
    ls_session_join_deinit(session);
    session->back.has_no_state = true;
    continue_at(session, 0, LS_TICK_CHAIN_START);
    start_chain(session);
    if (session->prediction) {
        ls_prediction_restart(session->prediction, session->report.slot);
    }
}

static void take_snapshots_chain(ls_session *session, const ls_join *join)
{
    uint32_t interval = session->offer.hash_interval_ticks;
    session->chain = join->chain;
    session->chain_tick = join->chain_tick;
    session->hashes_first = join->chain_tick + interval;
    if (join->chain_tick == join->tick) {
        session->state_hashes[join->tick / interval % LS_WINDOW_TICKS] = join->state_hash;
        session->hashes_first = join->tick;
    }
}

ls_status ls_session_join_restart_instance(ls_session *session)
{
    ls_status status = LS_OK;
    if (ls_sim_instance_tick(session->instance) != 0) {
        status = ls_sim_instance_restart(session->instance);
    }
    start_chain(session);
    return status;
}

/* Closed ticks that were not stepped before the link was lost come first. */
static ls_status go_on_with_held(ls_session *session)
{
    session_joining *joining = session->joining;
    joining->has_state = true;
    if (session->confirmed == 0) {
        return ls_session_join_restart_instance(session);
    }
    for (ls_tick tick = ls_sim_instance_tick(session->instance); tick < session->confirmed;
         tick++) {
        ls_slot_input slots[LS_PLAYERS_MAX];
        ls_status status = ls_input_buffer_tick(session->closed, tick, slots);
        LS_ASSERT(status == LS_OK);
        ls_tick_inputs inputs = {
            .tick = tick, .slot_count = session->offer.config.players, .slots = slots};
        status = ls_tick_backlog_add(joining->backlog, &inputs);
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
    take_snapshots_chain(session, join);
    return LS_OK;
}

/* A frame that takes longer than this is too long to step as many ticks in the next one. */
static uint64_t frame_max_ns(const ls_session *session)
{
    uint64_t usual_ns = 2 * session->sync.frame_ns;
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
    ls_tick_sync_limit_rtt(&session->sync, session->now_ns - session->asked_ns);
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
    ls_session_event *event = ls_session_push_event(session, LS_SESSION_EVENT_JOINING);
    event->join = *join;
    event->away_ns = session->back.lost_ns > 0 ? session->now_ns - session->back.lost_ns : 0;
    ls_session_play_send_inputs(session);
}

/* ---- what comes ---- */

bool ls_session_join_keep(ls_session *session, const ls_tick_inputs *inputs)
{
    session_joining *joining = session->joining;
    ls_status status = ls_tick_backlog_add(joining->backlog, inputs);
    if (status != LS_OK) {
        bool is_full = status == LS_FULL;
        ls_session_give_up(session, is_full ? LS_FELL_BEHIND : status,
                           is_full ? "more ticks came than can be kept until the state is there"
                                   : ls_status_text(status));
        return false;
    }
    if (inputs->tick >= SESSION_REPLAY_TICKS) {
        ls_input_buffer_forget_before(session->closed, inputs->tick - SESSION_REPLAY_TICKS + 1);
    }
    int64_t offset_ns = (int64_t)(session->now_ns - inputs->tick * session->sync.config.dt_ns);
    ls_quantile_window_add(&joining->arrivals, offset_ns, session->now_ns);
    return true;
}

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
    size_t size = 0;
    while (joining->receiver && (size = ls_blob_receiver_next(joining->receiver, session->now_ns,
                                                              session->packet)) > 0) {
        session->sink.send(session->sink.user, session->server, LS_CHANNEL_UNRELIABLE,
                           session->packet, size);
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
    return session->chain_tick >= session->hashes_first ||
           session->joining->join.source != LS_JOIN_HELD;
}

static ls_joined newest_hash(const ls_session *session)
{
    const ls_join *join = &session->joining->join;
    if (session->chain_tick < session->hashes_first) {
        return (ls_joined){.tick = join->tick, .state_hash = join->state_hash};
    }
    uint32_t index = session->chain_tick / session->offer.hash_interval_ticks;
    return (ls_joined){.tick = session->chain_tick,
                       .state_hash = session->state_hashes[index % LS_WINDOW_TICKS]};
}

static bool is_there(const ls_session *session)
{
    const session_joining *joining = session->joining;
    return joining->has_state && ls_tick_backlog_count(joining->backlog) == 0 &&
           session->confirmed >= joining->join.next_close && has_hash(session);
}

/* Which tick is closed when: as the ticks that came say, or JOIN, while nothing is closed. */
static void start_inputs(ls_session *session, ls_tick first, uint32_t overdue_max)
{
    const session_joining *joining = session->joining;
    ls_tick_sync_entry entry = {.tick = joining->join.next_close,
                                .close_ns = joining->close_ns,
                                .first = first,
                                .overdue_max = overdue_max};
    if (ls_quantile_window_has_samples(&joining->arrivals)) {
        entry.tick = session->confirmed;
        entry.close_ns = (uint64_t)(ls_quantile_window_least(&joining->arrivals) +
                                    (int64_t)(entry.tick * session->sync.config.dt_ns));
    }
    ls_tick_sync_enter(&session->sync, &entry, session->now_ns);
}

/* Inputs that were made before the link was lost, and whose ticks have not been closed, stay. */
static bool keep_inputs(ls_session *session)
{
    ls_tick next = session->sync.next_input;
    if (next <= session->confirmed || session->unbroken > session->confirmed ||
        !ls_input_buffer_has(session->own, session->confirmed, 0)) {
        return false;
    }
    start_inputs(session, next, OVERDUE_MAX);
    return session->sync.next_input == next;
}

static ls_tick begin_inputs(ls_session *session)
{
    if (session->config.is_spectator) {
        return 0;
    }
    ls_tick first = session->confirmed;
    ls_tick made = session->sync.next_input;
    if (!keep_inputs(session)) {
        start_inputs(session, first, 0);
        first = session->sync.next_input;
        if (session->back.lost_ns > 0 && first > made) {
            session->report.inputs_skipped += first - made;
        }
        ls_input_buffer_restart(session->own, first);
    }
    session->unbroken = first;
    session->wanted = first;
    session->sent_input = first;
    session->has_base = false;
    session->is_second_due = false;
    return first;
}

static void restart_guessing_and_keeping(ls_session *session)
{
    ls_tick tick = ls_sim_instance_tick(session->instance);
    uint32_t index = tick / session->offer.hash_interval_ticks;
    bool is_hashed = session->chain_tick == tick && tick >= session->hashes_first;
    if (session->prediction) {
        ls_prediction_restart(session->prediction, session->report.slot);
    }
    if (session->diagnosis.window) {
        ls_replay_window_start(session->diagnosis.window, session->instance,
                               is_hashed ? session->state_hashes[index % LS_WINDOW_TICKS] : 0);
    }
}

static void arrive(ls_session *session)
{
    session_return *back = &session->back;
    ls_tick tick = ls_sim_instance_tick(session->instance);
    LS_ASSERT(tick == session->confirmed);
    session->message.kind = LS_MESSAGE_JOINED;
    session->message.body.joined = newest_hash(session);
    session->message.body.joined.first_input = begin_inputs(session);
    ls_session_send(session);
    ls_session_join_deinit(session);
    restart_guessing_and_keeping(session);
    ls_session_play_begin(session);
    ls_session_event *event = ls_session_push_event(session, LS_SESSION_EVENT_JOINED);
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
