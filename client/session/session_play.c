#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/tick_chain.h"

#include <string.h>

/* ---- life ---- */

static ls_status create_parts(ls_session *session)
{
    session->terms = (ls_session_terms){
        .allocator = session->allocator,
        .config = &session->config,
        .offer = &session->offer,
        .simulation = session->simulation,
        .instance = session->instance,
        .dt_ns = ls_timestep_config_default(session->offer.config.tick_rate_hz).dt_ns};
    ls_status status = ls_hash_log_create(session->offer.hash_interval_ticks,
                                          ls_sim_instance_digests(session->instance).initial,
                                          session->allocator, &session->hashes);
    if (status == LS_OK) {
        status = ls_confirmed_ticks_create(&session->terms, &session->ticks);
    }
    if (status == LS_OK) {
        ls_uplink_parts parts = {session->outbox, session->ticks, session->hashes};
        status = ls_uplink_create(&session->terms, &parts, &session->uplink);
    }
    return status;
}

ls_status ls_session_play_init(ls_session *session)
{
    ls_status status = create_parts(session);
    if (status != LS_OK) {
        return status;
    }
    bool is_flat = ls_sim_instance_schema(session->instance) != NULL;
    if (session->config.keeps_previous_state && is_flat) {
        size_t bytes = ls_sim_instance_state_bytes(session->instance);
        session->previous = ls_allocate(session->allocator, bytes);
        if (!session->previous) {
            return LS_NO_MEMORY;
        }
        memcpy(session->previous, ls_sim_instance_state(session->instance), bytes);
    }
    ls_timestep_config timestep = ls_timestep_config_default(session->offer.config.tick_rate_hz);
    timestep.frame_max_ns = session->config.frame_max_ms * LS_NS_PER_MS;
    session->timestep = ls_timestep_make(&timestep);
    ls_jitter_buffer_init(&session->jitter_buffer, timestep.dt_ns);
    session->alpha = LS_FIXED_ONE;
    status = ls_session_desync_init(session);
    return status == LS_OK ? ls_session_predict_init(session) : status;
}

void ls_session_play_deinit(ls_session *session)
{
    ls_prediction_destroy(session->prediction);
    ls_session_desync_deinit(session);
    ls_hash_log_destroy(session->hashes);
    ls_uplink_destroy(session->uplink);
    ls_confirmed_ticks_destroy(session->ticks);
    ls_sim_instance_destroy(session->instance);
    ls_release(session->allocator, session->previous);
}

void ls_session_play_begin(ls_session *session)
{
    session->report.state = LS_SESSION_PLAYING;
    ls_uplink_begin(session->uplink);
    session->frame_ns = session->now_ns;
    session->is_stepping = false;
    session->predicted_tick = ls_sim_instance_tick(session->instance);
    session->predicted_inputs = ls_uplink_inputs_made(session->uplink);
    session->timestep = ls_timestep_make(&session->timestep.config);
    ls_jitter_buffer_init(&session->jitter_buffer, session->timestep.config.dt_ns);
}

void ls_session_play_start(ls_session *session, const ls_start *start)
{
    memcpy(session->names, start->names, sizeof session->names);
    ls_session_play_begin(session);
    session->back = (session_return){0};
    session->frames_before = session->report.frames;
    ls_uplink_start(session->uplink, session->now_ns + start->delay_us * LS_NS_PER_US);
    ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_STARTED);
}

/* ---- closed ticks ---- */

ls_uplink_moment ls_session_moment(const ls_session *session)
{
    ls_session_state state = session->report.state;
    return (ls_uplink_moment){
        .now_ns = session->now_ns,
        .drawn_ns = session->drawn_ns,
        .is_in_match = state == LS_SESSION_PLAYING || state == LS_SESSION_JOINING ||
                       state == LS_SESSION_FINISHED,
        .is_playing = state == LS_SESSION_PLAYING && !session->config.is_spectator,
        .end = session->report.has_end ? session->report.end.final_tick : UINT32_MAX,
        .stalled_ticks = session->report.stalled_ticks};
}

static void take_ticks(ls_session *session, const ls_confirmed_packet *packet)
{
    for (ls_tick tick = packet->first; tick < packet->end; tick++) {
        ls_jitter_buffer_add_arrival(&session->jitter_buffer, tick, session->now_ns);
    }
    ls_uplink_moment moment = ls_session_moment(session);
    ls_uplink_take_packet(session->uplink, packet, &moment);
}

ls_status ls_session_play_ticks(ls_session *session, const uint8_t *bytes, size_t size)
{
    ls_confirmed_packet packet;
    ls_status status =
        ls_confirmed_ticks_receive(session->ticks, bytes, size, session->now_ns, &packet);
    take_ticks(session, &packet);
    return status;
}

ls_status ls_session_play_part(ls_session *session, const uint8_t *bytes, size_t size)
{
    ls_confirmed_packet packet;
    ls_status status =
        ls_confirmed_ticks_receive_part(session->ticks, bytes, size, session->now_ns, &packet);
    take_ticks(session, &packet);
    return status;
}

/* ---- ending ---- */

static uint32_t microseconds(uint64_t ns)
{
    uint64_t us = ns / LS_NS_PER_US;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static void finish(ls_session *session)
{
    ls_session_report report = ls_session_report_of(session);
    ls_session_play_send_inputs(session);
    ls_session_outbox_begin(session->outbox, LS_MESSAGE_FINISHED)->body.finished =
        (ls_finished){.tick = report.tick,
                      .state_hash = ls_sim_instance_hash(session->instance),
                      .chain_tick = ls_hash_log_tick(session->hashes),
                      .chain = (uint32_t)ls_hash_log_chain(session->hashes),
                      .stalled_ticks = (uint32_t)report.stalled_ticks,
                      .confirm_latency_p50_us = microseconds(report.confirm_latency_p50_ns),
                      .confirm_latency_p99_us = microseconds(report.confirm_latency_p99_ns),
                      .confirm_latency_max_us = microseconds(report.confirm_latency_max_ns),
                      .rtt_us = microseconds(report.rtt_ns),
                      .frames = (uint32_t)(report.frames - session->frames_before)};
    ls_session_outbox_send(session->outbox);
    session->report.state = LS_SESSION_FINISHED;
    session->finished_ns = session->now_ns;
}

void ls_session_play_frame(ls_session *session)
{
    if (!session->config.is_spectator) {
        ls_uplink_moment moment = ls_session_moment(session);
        ls_uplink_make(session->uplink, &moment);
    }
    if (session->prediction) {
        ls_session_predict(session);
    } else {
        ls_session_step_due(session);
    }
    if (session->report.state != LS_SESSION_PLAYING) {
        return;
    }
    ls_tick tick = ls_session_settled_tick(session);
    if (session->report.has_end && tick >= session->report.end.final_tick) {
        finish(session);
        return;
    }
    if (session->config.ticks > 0 && tick >= session->config.ticks) {
        ls_session_leave_as_planned(session, "the player has played as long as planned");
        return;
    }
    ls_session_play_send_due(session);
    ls_session_play_send_in_time(session);
}

void ls_session_play_send_hashes(ls_session *session, const ls_hash_request *request)
{
    ls_hashes *hashes = &ls_session_outbox_begin(session->outbox, LS_MESSAGE_HASHES)->body.hashes;
    uint32_t interval = session->offer.hash_interval_ticks;
    bool is_hashed = request->first % interval == 0;
    ls_tick tick = request->first / interval * interval;
    uint32_t left = is_hashed ? request->count : 0;
    do {
        hashes->first = tick;
        hashes->count = 0;
        while (left > 0 && hashes->count < LS_HASHES_PER_MESSAGE &&
               ls_hash_log_get(session->hashes, tick, &hashes->state_hashes[hashes->count])) {
            hashes->count++;
            left--;
            tick += interval;
        }
        ls_session_outbox_send(session->outbox);
    } while (hashes->count == LS_HASHES_PER_MESSAGE);
}

/* ---- sending ---- */

void ls_session_play_send_inputs(ls_session *session)
{
    ls_uplink_moment moment = ls_session_moment(session);
    ls_uplink_send(session->uplink, &moment);
}

void ls_session_play_send_due(ls_session *session)
{
    ls_uplink_moment moment = ls_session_moment(session);
    ls_uplink_send_due(session->uplink, &moment);
}

void ls_session_play_send_in_time(ls_session *session)
{
    ls_uplink_moment moment = ls_session_moment(session);
    ls_uplink_send_in_time(session->uplink, &moment);
}

void ls_session_play_update(ls_session *session)
{
    ls_uplink_moment moment = ls_session_moment(session);
    ls_uplink_make(session->uplink, &moment);
    ls_uplink_send_due(session->uplink, &moment);
}

uint64_t ls_session_play_next_ns(const ls_session *session)
{
    ls_uplink_moment moment = ls_session_moment(session);
    return ls_uplink_next_ns(session->uplink, &moment);
}
