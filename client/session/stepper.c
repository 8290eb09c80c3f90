#include "lockstep/client/session/stepper.h"

#include "lockstep/client/session/jitter_buffer.h"
#include "lockstep/client/session/prediction.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/plugin_place.h"
#include "lockstep/common/time/timestep.h"

#include <string.h>

#define SOUND_LATE_NS (500 * LS_NS_PER_MS)

struct ls_stepper {
    const ls_session *context;
    ls_timestep timestep;
    ls_jitter_buffer jitter_buffer;
    uint8_t *previous; /* state before the newest step; NULL: not kept */
    ls_fixed alpha;
    bool is_stepping;          /* the first closed tick has come */
    bool is_catching_up;       /* the live state is not for prediction */
    ls_prediction *prediction; /* NULL: without */
    ls_tick predicted_tick;    /* the live one after the last frame */
    uint64_t predicted_inputs; /* made up to then */
    uint64_t unplayed_ns;      /* not yet counted as a stalled tick */
    ls_replay_window *window;  /* NULL: nothing is recorded */
    ls_sound_schedule *sounds; /* NULL: nothing is heard */
    uint64_t steps;
};

/* ---- stepping ---- */

static void give_out_sounds(ls_stepper *stepper, ls_tick tick)
{
    const ls_session_config *config = &stepper->context->config;
    ls_sound sounds[LS_SOUNDS_MAX];
    ls_sound_list list = {.sounds = sounds, .capacity = LS_SOUNDS_MAX};
    if (stepper->is_catching_up || !ls_sound_schedule_is_due(stepper->sounds, tick)) {
        return;
    }
    ls_sim_instance_sounds(stepper->context->instance, stepper->previous, &list);
    ls_sound_schedule_filter(stepper->sounds, tick, &list);
    for (uint32_t i = 0; i < list.count; i++) {
        config->on_sound(config->user, tick, &sounds[i]);
    }
}

/* The steps that follow end before this tick. */
static void set_sound_now(ls_stepper *stepper, ls_tick tick)
{
    if (stepper->sounds) {
        ls_sound_schedule_set_now(stepper->sounds, tick);
    }
}

/* From now on pictures blend from the live state. */
static void blend_from_live_state(ls_stepper *stepper)
{
    if (stepper->previous) {
        memcpy(stepper->previous, ls_sim_instance_view(stepper->context->instance),
               ls_sim_instance_state_bytes(stepper->context->instance));
    }
}

LS_TICK_CODE static void step_on(void *user, const ls_tick_inputs *inputs)
{
    ls_stepper *stepper = user;
    ls_sim_instance *instance = stepper->context->instance;
    const ls_session_config *config = &stepper->context->config;
    blend_from_live_state(stepper);
    ls_sim_instance_step(instance, inputs);
    stepper->steps++;
    if (config->after_step) {
        config->after_step(config->user, instance);
    }
    if (stepper->sounds) {
        give_out_sounds(stepper, inputs->tick);
    }
}

static bool is_hashed(const ls_stepper *stepper, ls_tick tick)
{
    return tick % stepper->context->offer.hash_interval_ticks == 0;
}

static void record(ls_stepper *stepper, ls_tick tick, uint64_t state_hash)
{
    const ls_sim_instance *instance = stepper->context->instance;
    ls_tick_inputs inputs = {.tick = tick - 1}; /* the window finds them where they are kept */
    if (!stepper->window) {
        return;
    }
    if (ls_sim_instance_tick(instance) == tick) {
        ls_replay_window_record(stepper->window, &inputs, instance, state_hash);
        return;
    }
    ls_saved_state saved = ls_prediction_saved(stepper->prediction, tick);
    ls_replay_window_record_saved(stepper->window, &inputs, &saved, state_hash);
}

/* State `tick` is the result of closed ticks alone. */
static void warn_of_unnamed_write(const ls_session *context)
{
    ls_text what;
    if (ls_sim_instance_unnamed_write(context->instance, &what)) {
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_UNNAMED_WRITE)->text = what;
    }
}

LS_TICK_CODE static void settle(void *user, ls_tick tick, uint64_t state_hash)
{
    ls_stepper *stepper = user;
    record(stepper, tick, state_hash);
    if (is_hashed(stepper, tick)) {
        ls_hash_log_append(stepper->context->hashes, tick, state_hash);
    }
    if (stepper->context->offer.trusts_writes) {
        warn_of_unnamed_write(stepper->context);
    }
    ls_confirmed_ticks_forget_before_state(stepper->context->ticks, tick);
}

/* ---- life ---- */

static ls_status create_prediction(ls_stepper *stepper)
{
    const ls_session *context = stepper->context;
    ls_prediction_config config = {.instance = stepper->context->instance,
                                   .closed = ls_confirmed_ticks_inputs(stepper->context->ticks),
                                   .own = ls_uplink_inputs(stepper->context->uplink),
                                   .slot = context->offer.slot,
                                   .ticks = context->config.predict_ticks,
                                   .hash_interval_ticks = context->offer.hash_interval_ticks,
                                   .host = {step_on, settle, stepper}};
    if (context->config.predict_ticks == 0 || context->config.is_spectator) {
        return LS_OK;
    }
    ls_status status = ls_prediction_create(&config, context->allocator, &stepper->prediction);
    if (status != LS_UNSUPPORTED) {
        return status;
    }
    ls_session_event *event =
        ls_session_outbox_push_event(context->outbox, LS_SESSION_EVENT_UNPREDICTED);
    event->status = status;
    ls_text_set(&event->text, "'%s' cannot save its state: playing without prediction",
                context->simulation->name);
    return LS_OK;
}

static void start_window(ls_stepper *stepper, uint64_t state_hash)
{
    if (stepper->window) {
        ls_replay_window_start(stepper->window, stepper->context->instance, state_hash);
    }
}

static ls_status create_window(ls_stepper *stepper)
{
    const ls_session *context = stepper->context;
    const ls_sim_instance *instance = context->instance;
    if (!context->config.finds_causes || !ls_sim_instance_image_schema(instance)) {
        return LS_OK;
    }
    ls_replay_needs needs = ls_replay_needs_of(instance, context->offer.hash_interval_ticks);
    ls_replay_window_config config = ls_replay_window_config_default(&needs);
    config.inputs = ls_confirmed_ticks_inputs(context->ticks);
    ls_status status =
        ls_replay_window_create(&config, instance, context->allocator, &stepper->window);
    if (status == LS_OK) {
        start_window(stepper, ls_sim_instance_digests(instance).initial);
    }
    return status;
}

static bool has_sound(const ls_session *context)
{
    return context->config.on_sound && context->simulation->sounds;
}

static ls_status create_previous(ls_stepper *stepper)
{
    const ls_sim_instance *instance = stepper->context->instance;
    bool is_flat = ls_sim_instance_schema(instance) != NULL;
    bool is_kept = stepper->context->config.keeps_previous_state || has_sound(stepper->context);
    if (!is_flat || !is_kept) {
        return LS_OK;
    }
    stepper->previous =
        ls_allocate(stepper->context->allocator, ls_sim_instance_state_bytes(instance));
    if (!stepper->previous) {
        return LS_NO_MEMORY;
    }
    blend_from_live_state(stepper);
    return LS_OK;
}

static ls_status create_sounds(ls_stepper *stepper)
{
    const ls_session *context = stepper->context;
    return has_sound(context) ? ls_sound_schedule_create(SOUND_LATE_NS, context->dt_ns,
                                                         context->allocator, &stepper->sounds)
                              : LS_OK;
}

ls_status ls_stepper_create(const ls_session *context, ls_stepper **out)
{
    ls_stepper *stepper = ls_allocate(context->allocator, sizeof *stepper);
    if (!stepper) {
        return LS_NO_MEMORY;
    }
    ls_timestep_config timestep = ls_timestep_config_default(context->offer.config.tick_rate_hz);
    timestep.dt_ns = context->dt_ns; /* the server's clock is exact, and this one follows it */
    timestep.frame_max_ns = context->config.frame_max_ms * LS_NS_PER_MS;
    stepper->context = context;
    stepper->timestep = ls_timestep_make(&timestep);
    ls_jitter_buffer_init(&stepper->jitter_buffer, context->dt_ns);
    stepper->alpha = LS_FIXED_ONE;
    ls_status status = create_previous(stepper);
    LS_THEN(status, create_window(stepper));
    LS_THEN(status, create_prediction(stepper));
    LS_THEN(status, create_sounds(stepper));
    if (status != LS_OK) {
        ls_stepper_destroy(stepper);
        return status;
    }
    *out = stepper;
    return LS_OK;
}

void ls_stepper_destroy(ls_stepper *stepper)
{
    if (!stepper) {
        return;
    }
    ls_sound_schedule_destroy(stepper->sounds);
    ls_prediction_destroy(stepper->prediction);
    ls_replay_window_destroy(stepper->window);
    ls_release(stepper->context->allocator, stepper->previous);
    ls_release(stepper->context->allocator, stepper);
}

/* ---- playing without prediction ---- */

/* `tick`, or where this player leaves if that is before it. */
static ls_tick as_far_as_planned(const ls_stepper *stepper, ls_tick tick)
{
    uint32_t planned = stepper->context->config.ticks;
    return planned > 0 ? LS_MIN(planned, tick) : tick;
}

/* Ticks that can be stepped: no more than this player wants to play. */
static uint32_t backlog_of(const ls_stepper *stepper)
{
    ls_tick end = ls_confirmed_ticks_end(stepper->context->ticks);
    return as_far_as_planned(stepper, end) - ls_sim_instance_tick(stepper->context->instance);
}

/* The first tick that this player does not step: the match ends there, or the player leaves. */
static ls_tick last_tick(const ls_stepper *stepper)
{
    return as_far_as_planned(stepper, stepper->context->end.final_tick);
}

LS_TICK_CODE static void step_closed(ls_stepper *stepper)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick tick = ls_sim_instance_tick(stepper->context->instance);
    ls_tick_inputs inputs = ls_confirmed_ticks_get(stepper->context->ticks, tick, slots);
    step_on(stepper, &inputs);
    bool has_hash = is_hashed(stepper, tick + 1);
    settle(stepper, tick + 1, has_hash ? ls_sim_instance_hash(stepper->context->instance) : 0);
}

static void step_many(ls_stepper *stepper, uint32_t steps)
{
    for (; steps > 0; steps--) {
        step_closed(stepper);
    }
}

/* This frame, as far as it is played by now. */
static ls_jitter_buffer_frame frame_of(const ls_stepper *stepper, uint64_t elapsed_ns)
{
    ls_tick tick = ls_sim_instance_tick(stepper->context->instance);
    return (ls_jitter_buffer_frame){.now_ns = stepper->context->now_ns,
                                    .elapsed_ns = elapsed_ns,
                                    .position_ns =
                                        tick * stepper->context->dt_ns + stepper->timestep.bank_ns,
                                    .backlog = backlog_of(stepper)};
}

LS_TICK_CODE static void step_due(ls_stepper *stepper, uint64_t elapsed_ns)
{
    uint64_t frame_max_ns = stepper->timestep.config.frame_max_ns;
    stepper->is_stepping = stepper->is_stepping || backlog_of(stepper) > 0;
    if (!stepper->is_stepping) {
        return;
    }
    ls_jitter_buffer_frame frame = frame_of(stepper, LS_MIN(elapsed_ns, frame_max_ns));
    ls_jitter_buffer_plan played = ls_jitter_buffer_plan_frame(&stepper->jitter_buffer, &frame);
    ls_timestep_plan plan = ls_timestep_advance(&stepper->timestep, played.play_ns);
    bool has_last = ls_confirmed_ticks_end(stepper->context->ticks) >= last_tick(stepper);
    ls_uplink_add_stalled(stepper->context->uplink, has_last ? 0 : played.stalled_ticks);
    set_sound_now(stepper, ls_sim_instance_tick(stepper->context->instance) +
                               LS_MAX(plan.step_count,
                                      ls_jitter_buffer_behind(&stepper->jitter_buffer, &frame)));
    /* A stalled picture holds the newest state rather than jump back. */
    stepper->alpha = played.is_stalled ? LS_FIXED_ONE : plan.alpha;
    step_many(stepper, plan.step_count);
    frame = frame_of(stepper, 0);
    step_many(stepper, ls_jitter_buffer_catch_up(&stepper->jitter_buffer, &frame));
}

/* ---- playing with prediction ---- */

/* How far this machine's clock is past the newest step: each input is stepped when it is made. */
static ls_fixed predicted_alpha(const ls_stepper *stepper, bool is_held)
{
    uint64_t now_ns = stepper->context->now_ns;
    uint64_t dt_ns = stepper->context->dt_ns;
    uint64_t due_ns = stepper->context->sync->next_due_ns;
    if (is_held || now_ns >= due_ns) {
        return LS_FIXED_ONE; /* hold the newest state rather than jump back */
    }
    uint64_t left_ns = LS_MIN(due_ns - now_ns, dt_ns);
    return (ls_fixed)((dt_ns - left_ns) * LS_FIXED_ONE / dt_ns);
}

/* Notes where this frame has got to; returns the inputs that were made since the last one and could
 * not be stepped. */
static uint64_t note_predicted(ls_stepper *stepper)
{
    ls_tick live = ls_sim_instance_tick(stepper->context->instance);
    uint64_t inputs = ls_uplink_inputs_made(stepper->context->uplink);
    uint64_t made = inputs - stepper->predicted_inputs;
    uint64_t stepped = live - stepper->predicted_tick;
    stepper->predicted_tick = live;
    stepper->predicted_inputs = inputs;
    return stepped < made ? made - stepped : 0;
}

static ls_status predict(ls_stepper *stepper)
{
    ls_tick last = last_tick(stepper);
    ls_tick closed = ls_confirmed_ticks_end(stepper->context->ticks);
    ls_tick head = LS_MIN(stepper->context->sync->next_input, last);
    set_sound_now(stepper, LS_MAX(LS_MIN(closed, last), head));
    ls_status status = ls_prediction_advance(stepper->prediction, LS_MIN(closed, last), head);
    if (status != LS_OK) {
        return status;
    }
    ls_tick live = ls_sim_instance_tick(stepper->context->instance);
    uint64_t stalled_ticks = note_predicted(stepper);
    bool is_held = live < head;
    ls_uplink_add_stalled(stepper->context->uplink,
                          stepper->is_stepping && is_held ? stalled_ticks : 0);
    stepper->is_stepping = stepper->is_stepping || live > 0;
    stepper->alpha = predicted_alpha(stepper, is_held);
    return LS_OK;
}

/* ---- playing ---- */

void ls_stepper_begin(ls_stepper *stepper)
{
    stepper->is_stepping = false;
    stepper->unplayed_ns = 0;
    (void)note_predicted(stepper);
    stepper->timestep = ls_timestep_make(&stepper->timestep.config);
    ls_jitter_buffer_init(&stepper->jitter_buffer, stepper->context->dt_ns);
}

void ls_stepper_add_arrival(ls_stepper *stepper, ls_tick tick)
{
    ls_jitter_buffer_add_arrival(&stepper->jitter_buffer, tick, stepper->context->now_ns);
}

bool ls_stepper_least_offset(const ls_stepper *stepper, int64_t *offset_ns)
{
    const ls_quantile_window *offsets = &stepper->jitter_buffer.offsets;
    bool has_offset = ls_quantile_window_has_samples(offsets);
    *offset_ns = has_offset ? ls_quantile_window_least(offsets) : 0;
    return has_offset;
}

ls_status ls_stepper_frame(ls_stepper *stepper, uint64_t elapsed_ns)
{
    if (stepper->prediction) {
        return predict(stepper);
    }
    step_due(stepper, elapsed_ns);
    return LS_OK;
}

void ls_stepper_count_stalled(ls_stepper *stepper, uint64_t elapsed_ns)
{
    stepper->unplayed_ns += elapsed_ns;
    ls_uplink_add_stalled(stepper->context->uplink, stepper->unplayed_ns / stepper->context->dt_ns);
    stepper->unplayed_ns %= stepper->context->dt_ns;
}

static bool is_guessing(const ls_stepper *stepper)
{
    return stepper->prediction && !stepper->is_catching_up;
}

void ls_stepper_drop_guesses(ls_stepper *stepper)
{
    if (is_guessing(stepper)) {
        /* A state that the simulation cannot load is reported where it happens first. */
        (void)ls_prediction_drop_guesses(stepper->prediction);
    }
}

/* ---- replacing the state ---- */

void ls_stepper_begin_catch_up(ls_stepper *stepper)
{
    ls_stepper_drop_guesses(stepper);
    stepper->is_catching_up = true;
    ls_jitter_buffer_init(&stepper->jitter_buffer, stepper->context->dt_ns);
}

/* Of a large state each copy would make the match get further ahead: its ticks can be simulated
 * again from the state that the catching up began with. */
static void record_catch_up(ls_stepper *stepper, ls_tick tick, uint64_t state_hash)
{
    const ls_saved_state none = {0};
    const ls_tick_inputs inputs = {.tick = tick - 1};
    if (stepper->window &&
        ls_sim_instance_image_bytes(stepper->context->instance) > LS_REPLAY_MEDIUM_STATE_BYTES) {
        ls_replay_window_record_saved(stepper->window, &inputs, &none, state_hash);
    } else {
        record(stepper, tick, state_hash);
    }
}

void ls_stepper_accept_state(ls_stepper *stepper, uint64_t state_hash)
{
    blend_from_live_state(stepper);
    start_window(stepper, state_hash);
}

void ls_stepper_catch_up(ls_stepper *stepper, const ls_tick_inputs *inputs, bool is_recorded)
{
    ls_tick tick = inputs->tick + 1;
    uint64_t state_hash = 0;
    step_on(stepper, inputs);
    if (is_hashed(stepper, tick)) {
        state_hash = ls_sim_instance_hash(stepper->context->instance);
        ls_hash_log_append(stepper->context->hashes, tick, state_hash);
    }
    if (is_recorded) {
        record_catch_up(stepper, tick, state_hash);
    }
}

void ls_stepper_end_catch_up(ls_stepper *stepper)
{
    stepper->is_catching_up = false;
    if (stepper->prediction) {
        ls_prediction_restart(stepper->prediction, stepper->context->offer.slot);
    }
}

ls_status ls_stepper_restart(ls_stepper *stepper)
{
    ls_sim_instance *instance = stepper->context->instance;
    ls_hash_log_restart(stepper->context->hashes);
    ls_status status =
        ls_sim_instance_tick(instance) != 0 ? ls_sim_instance_restart(instance) : LS_OK;
    if (status == LS_OK) {
        start_window(stepper, ls_sim_instance_digests(instance).initial);
    }
    return status;
}

void ls_stepper_go_back(ls_stepper *stepper, const uint8_t *saved, ls_tick tick,
                        uint64_t state_hash)
{
    ls_sim_instance *instance = stepper->context->instance;
    ls_tick settled = ls_stepper_tick(stepper);
    ls_stepper_drop_guesses(stepper);
    ls_status status =
        ls_sim_instance_load(instance, saved, ls_sim_instance_state_bytes(instance), tick);
    LS_ASSERT(status == LS_OK); /* where states are recorded loading is a copy */
    start_window(stepper, state_hash);
    while (ls_sim_instance_tick(instance) < settled) {
        step_closed(stepper);
    }
    blend_from_live_state(stepper);
}

/* ---- reading ---- */

ls_tick ls_stepper_tick(const ls_stepper *stepper)
{
    return is_guessing(stepper) ? ls_prediction_settled_tick(stepper->prediction)
                                : ls_sim_instance_tick(stepper->context->instance);
}

ls_replay_window *ls_stepper_window(const ls_stepper *stepper)
{
    return stepper->window;
}

bool ls_stepper_predicts(const ls_stepper *stepper)
{
    return stepper->prediction != NULL;
}

ls_fixed ls_stepper_alpha(const ls_stepper *stepper)
{
    return stepper->alpha;
}

const void *ls_stepper_previous(const ls_stepper *stepper)
{
    return stepper->previous ? stepper->previous : ls_sim_instance_view(stepper->context->instance);
}

void ls_stepper_draw(const ls_stepper *stepper, ls_fixed alpha, ls_draw_list *list)
{
    const ls_simulation *simulation = stepper->context->simulation;
    const void *current = ls_sim_instance_view(stepper->context->instance);
    const void *previous = ls_stepper_previous(stepper);
    if (ls_sim_instance_tick(stepper->context->instance) > 0 && simulation->draw) {
        ls_plugin_place_enter(LS_PLUGIN_CALL_DRAW);
        simulation->draw(&stepper->context->offer.config, previous, current, alpha, list);
        ls_plugin_place_leave();
    }
}

void ls_stepper_report(const ls_stepper *stepper, ls_session_report *report)
{
    report->tick = ls_stepper_tick(stepper);
    report->shown_tick = ls_sim_instance_tick(stepper->context->instance);
    report->steps = stepper->steps;
    report->jitter_buffer_delay_ns = ls_jitter_buffer_delay_ns(&stepper->jitter_buffer);
    report->jitter_buffer_speed_ppm = stepper->jitter_buffer.speed_ppm;
    if (stepper->prediction) {
        ls_prediction_figures figures = ls_prediction_figures_of(stepper->prediction);
        report->has_prediction = true;
        report->rollbacks = figures.rollbacks;
        report->rollback_ticks = figures.rollback_ticks;
        report->rollback_depth_p99 = figures.rollback_depth_p99;
        report->rollback_depth_max = figures.rollback_depth_max;
    }
}
