#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"

#include <string.h>

void ls_session_settle(ls_session *session, ls_tick tick, uint64_t state_hash)
{
    ls_session_desync_record(session, tick, state_hash);
    if (tick % session->offer.hash_interval_ticks == 0) {
        ls_hash_log_append(session->hashes, tick, state_hash);
    }
    ls_confirmed_ticks_forget_before_state(session->ticks, tick);
}

void ls_session_step_on(ls_session *session, const ls_tick_inputs *inputs)
{
    if (session->previous) {
        memcpy(session->previous, ls_sim_instance_state(session->instance),
               ls_sim_instance_state_bytes(session->instance));
    }
    ls_sim_instance_step(session->instance, inputs);
    session->report.steps++;
    if (session->config.after_step) {
        session->config.after_step(session->config.user, session->instance);
    }
}

static void step(ls_session *session)
{
    ls_tick tick = ls_sim_instance_tick(session->instance);
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_status held = ls_input_buffer_tick(ls_confirmed_ticks_inputs(session->ticks), tick, slots);
    LS_ASSERT(held == LS_OK);
    ls_tick_inputs inputs = {
        .tick = tick, .slot_count = session->offer.config.players, .slots = slots};
    ls_session_step_on(session, &inputs);
    bool is_hashed = (tick + 1) % session->offer.hash_interval_ticks == 0;
    ls_session_settle(session, tick + 1, is_hashed ? ls_sim_instance_hash(session->instance) : 0);
}

ls_tick ls_session_settled_tick(const ls_session *session)
{
    bool is_guessing = session->prediction && !session->joining;
    return is_guessing ? ls_prediction_settled_tick(session->prediction)
                       : ls_sim_instance_tick(session->instance);
}

/* Ticks that can be stepped; a player who leaves after so many steps no more than those. */
static uint32_t backlog_of(const ls_session *session)
{
    ls_tick end = ls_confirmed_ticks_end(session->ticks);
    if (session->config.ticks > 0 && session->config.ticks < end) {
        end = session->config.ticks;
    }
    return end - ls_sim_instance_tick(session->instance);
}

/* Everything that this player will ever step has come. */
static bool has_last_tick(const ls_session *session)
{
    const ls_session_report *report = &session->report;
    uint32_t planned = session->config.ticks;
    return (report->has_end && ls_confirmed_ticks_end(session->ticks) >= report->end.final_tick) ||
           (planned > 0 && ls_confirmed_ticks_end(session->ticks) >= planned);
}

static void step_many(ls_session *session, uint32_t steps)
{
    for (; steps > 0; steps--) {
        step(session);
    }
}

/* This frame, as far as it is played by now. */
static ls_jitter_buffer_frame frame_of(const ls_session *session, uint64_t elapsed_ns)
{
    ls_tick tick = ls_sim_instance_tick(session->instance);
    const ls_timestep *timestep = &session->timestep;
    return (ls_jitter_buffer_frame){.now_ns = session->now_ns,
                                    .elapsed_ns = elapsed_ns,
                                    .position_ns =
                                        tick * timestep->config.dt_ns + timestep->bank_ns,
                                    .backlog = backlog_of(session)};
}

void ls_session_step_due(ls_session *session)
{
    uint64_t elapsed_ns = session->now_ns - session->frame_ns;
    uint64_t frame_max_ns = session->timestep.config.frame_max_ns;
    session->frame_ns = session->now_ns;
    session->is_stepping = session->is_stepping || backlog_of(session) > 0;
    if (!session->is_stepping) {
        return;
    }
    ls_jitter_buffer_frame frame =
        frame_of(session, elapsed_ns < frame_max_ns ? elapsed_ns : frame_max_ns);
    ls_jitter_buffer_plan played = ls_jitter_buffer_plan_frame(&session->jitter_buffer, &frame);
    ls_timestep_plan plan = ls_timestep_advance(&session->timestep, played.play_ns);
    session->report.stalled_ticks += has_last_tick(session) ? 0 : played.stalled_ticks;
    /* Holds the newest state rather than jump back. */
    session->alpha = played.is_stalled ? LS_FIXED_ONE : plan.alpha;
    step_many(session, plan.step_count);
    frame = frame_of(session, 0);
    step_many(session, ls_jitter_buffer_catch_up(&session->jitter_buffer, &frame));
}
