#include "lockstep/client/session_state.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/state_hash.h"

#include <string.h>

enum {
    HURRY_PER_MILLE = 50,    /* 5 % faster while too many ticks wait */
    HURRY_ROUND_FRAMES = 64, /* frames over which the least backlog is taken */
    HURRY_BACKLOG_TICKS = 2, /* more than this at all times is latency for nothing */
    CATCH_UP_BACKLOG_TICKS = 30,
    CATCH_UP_STEPS_MAX = 64, /* extra steps a frame while catching up */
};

static void hash_state(ls_session *session, ls_tick tick)
{
    uint32_t interval = session->offer.hash_interval_ticks;
    if (tick % interval != 0) {
        return;
    }
    uint64_t root = ls_sim_instance_hash(session->instance);
    if (LS_FAULT(FALSE_ALARM) && tick % 128 == 64) {
        root++;
    }
    session->roots[tick / interval % LS_WINDOW_TICKS] = root;
    session->chain = ls_hash_chain_next(session->chain, root);
    session->chain_tick = tick;
}

static void step(ls_session *session)
{
    ls_tick tick = ls_sim_instance_tick(session->instance);
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_status held = ls_input_buffer_tick(session->closed, tick, slots);
    LS_ASSERT(held == LS_OK);
    if (session->previous) {
        memcpy(session->previous, ls_sim_instance_state(session->instance),
               ls_sim_instance_state_bytes(session->instance));
    }
    ls_tick_inputs inputs = {
        .tick = tick, .slot_count = session->offer.config.players, .slots = slots};
    ls_sim_instance_step(session->instance, &inputs);
    session->report.steps++;
    if (session->config.after_step) {
        session->config.after_step(session->config.user, session->instance);
    }
    hash_state(session, tick + 1);
    if (tick + 1 > SESSION_KEPT_TICKS) {
        ls_input_buffer_forget_before(session->closed, tick + 1 - SESSION_KEPT_TICKS);
    }
}

/* Ticks that can be stepped; a player who leaves after so many steps no more than those. */
static uint32_t backlog_of(const ls_session *session)
{
    ls_tick end = session->confirmed;
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
    return (report->has_end && session->confirmed >= report->end.final_tick) ||
           (planned > 0 && session->confirmed >= planned);
}

/* Ticks that wait at all times are latency for nothing: play a little faster until they are gone.
 */
static void watch_backlog(ls_session *session)
{
    uint32_t backlog = backlog_of(session);
    session->low_backlog = backlog < session->low_backlog ? backlog : session->low_backlog;
    if (++session->backlog_frames < HURRY_ROUND_FRAMES) {
        return;
    }
    session->is_hurrying = session->low_backlog >= HURRY_BACKLOG_TICKS;
    session->low_backlog = UINT32_MAX;
    session->backlog_frames = 0;
}

static void catch_up(ls_session *session)
{
    if (backlog_of(session) <= CATCH_UP_BACKLOG_TICKS || LS_FAULT(NEVER_CATCHES_UP)) {
        return;
    }
    for (uint32_t steps = 0; steps < CATCH_UP_STEPS_MAX; steps++) {
        if (backlog_of(session) <= HURRY_BACKLOG_TICKS) {
            return;
        }
        step(session);
    }
}

void ls_session_step_due(ls_session *session)
{
    uint64_t elapsed_ns = session->now_ns - session->frame_ns;
    session->frame_ns = session->now_ns;
    if (!session->is_stepping) {
        session->is_stepping = backlog_of(session) > 0;
        return;
    }
    if (session->is_hurrying) {
        elapsed_ns += elapsed_ns * HURRY_PER_MILLE / 1000;
    }
    ls_timestep_plan plan = ls_timestep_advance(&session->timestep, elapsed_ns);
    uint32_t steps = plan.step_count;
    session->alpha = plan.alpha;
    if (steps > backlog_of(session)) {
        uint32_t missing = steps - backlog_of(session);
        session->report.stalled_ticks += has_last_tick(session) ? 0 : missing;
        session->alpha = LS_FIXED_ONE; /* hold the newest state rather than jump back */
        steps -= missing;
    }
    for (; steps > 0; steps--) {
        step(session);
    }
    catch_up(session);
    watch_backlog(session);
}
