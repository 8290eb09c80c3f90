#include "lockstep/client/session/session_state.h"
#include "lockstep/common/base/assert.h"

static void step(void *user, const ls_tick_inputs *inputs)
{
    ls_session_step_on(user, inputs);
}

static void settle(void *user, ls_tick tick, uint64_t state_hash)
{
    ls_session_settle(user, tick, state_hash);
}

ls_status ls_session_predict_init(ls_session *session)
{
    if (session->config.predict_ticks == 0 || session->config.is_spectator) {
        return LS_OK;
    }
    ls_prediction_config config = {.instance = session->instance,
                                   .closed = ls_confirmed_ticks_inputs(session->ticks),
                                   .own = ls_uplink_inputs(session->uplink),
                                   .slot = session->report.slot,
                                   .ticks = session->config.predict_ticks,
                                   .hash_interval_ticks = session->offer.hash_interval_ticks,
                                   .host = {step, settle, session}};
    ls_status status = ls_prediction_create(&config, session->allocator, &session->prediction);
    if (status != LS_UNSUPPORTED) {
        return status;
    }
    ls_session_event *event =
        ls_session_outbox_push_event(session->outbox, LS_SESSION_EVENT_UNPREDICTED);
    event->status = status;
    ls_text_set(&event->text, "'%s' cannot save its state: playing without prediction",
                session->simulation->name);
    return LS_OK;
}

/* The first tick that this player will not step: the match ends there, or it leaves. */
static ls_tick end_of(const ls_session *session)
{
    uint32_t planned = session->config.ticks;
    ls_tick end = session->report.has_end ? session->report.end.final_tick : UINT32_MAX;
    return planned > 0 && planned < end ? planned : end;
}

/* How far this machine's clock is past the newest step: each input is stepped when it is made. */
static ls_fixed alpha_of(const ls_session *session, bool is_held)
{
    uint64_t due_ns = ls_uplink_next_due_ns(session->uplink);
    uint64_t dt_ns = session->terms.dt_ns;
    if (is_held || session->now_ns >= due_ns) {
        return LS_FIXED_ONE; /* hold the newest state rather than jump back */
    }
    uint64_t left_ns = due_ns - session->now_ns;
    left_ns = left_ns < dt_ns ? left_ns : dt_ns;
    return (ls_fixed)((dt_ns - left_ns) * LS_FIXED_ONE / dt_ns);
}

/* Inputs that were made since the last frame and could not be stepped. */
static uint64_t stalled_ticks(const ls_session *session, ls_tick live)
{
    uint64_t made = ls_uplink_inputs_made(session->uplink) - session->predicted_inputs;
    uint64_t stepped = live - session->predicted_tick;
    return stepped < made ? made - stepped : 0;
}

void ls_session_predict(ls_session *session)
{
    ls_tick end = end_of(session);
    ls_tick closed =
        ls_confirmed_ticks_end(session->ticks) < end ? ls_confirmed_ticks_end(session->ticks) : end;
    ls_tick head =
        ls_uplink_next_input(session->uplink) < end ? ls_uplink_next_input(session->uplink) : end;
    ls_status status = ls_prediction_advance(session->prediction, closed, head);
    if (status != LS_OK) {
        ls_session_give_up(session, status, "the simulation cannot load the state that it saved");
        return;
    }
    ls_tick live = ls_sim_instance_tick(session->instance);
    bool is_held = live < head;
    if (session->is_stepping && is_held) {
        session->report.stalled_ticks += stalled_ticks(session, live);
    }
    session->is_stepping = session->is_stepping || live > 0;
    session->predicted_tick = live;
    session->predicted_inputs = ls_uplink_inputs_made(session->uplink);
    session->alpha = alpha_of(session, is_held);
}

void ls_session_predict_end(ls_session *session)
{
    if (session->prediction && !session->joining) { /* on the way nothing is guessed */
        /* What a simulation cannot load is reported where it happens first. */
        (void)ls_prediction_drop_guesses(session->prediction);
    }
}
