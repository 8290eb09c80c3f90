#include "lockstep/tools/timestep/lessons.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/tools/timestep/sim_course.h"

#include <math.h>
#include <string.h>

/* ---- T8 ---- */

typedef struct hanging {
    const ls_sim_config *config;
    void *state;
    void *scratch;
    stepping_rope_result result;
} hanging;

static void swing(void *user, const stepping_play_frame *frame)
{
    hanging *h = user;
    for (uint32_t i = 0; i < frame->plan->step_count && !h->result.is_torn; i++) {
        double dt_s = (double)ls_timestep_step_ns(frame->plan, i) / 1e9;
        ls_rope_advance(h->config, h->state, h->scratch, dt_s);
        double stretch = ls_rope_stretch(h->config, h->state);
        h->result.is_torn = !(stretch < STEPPING_ROPE_TORN);
        h->result.stretch_max = LS_MAX(stretch, h->result.stretch_max);
        h->result.steps++;
    }
}

/* No player moves the hands: both ends are held from the first tick on, and the rest falls. */
static void hold_ends(ls_sim_instance *instance)
{
    const ls_slot_input joined[] = {{.events = LS_EVENT_JOINED}, {.events = LS_EVENT_JOINED}};
    ls_tick_inputs inputs = {.slot_count = 2, .slots = joined};
    ls_sim_instance_step(instance, &inputs);
}

ls_status stepping_rope_run(const stepping_rope_run_config *config, const stepping_trace *trace,
                            const ls_allocator *allocator, stepping_rope_result *out, ls_text *why)
{
    const ls_simulation *rope = ls_rope_simulation();
    ls_sim_config sim = ls_sim_config_default(rope);
    sim.params[LS_ROPE_PARAM_INTEGRATOR] = config->integrator;
    ls_sim_instance *instance = NULL;
    ls_status status = ls_sim_instance_create(rope, &sim, allocator, &instance, why);
    if (status != LS_OK) {
        return status;
    }
    hanging h = {.config = &sim,
                 .state = ls_sim_instance_state(instance),
                 .scratch = ls_allocate(allocator, rope->scratch_bytes(&sim))};
    if (h.scratch) {
        hold_ends(instance);
        ls_timestep_config timestep = {.strategy = config->dt_ns > 0 ? LS_TIMESTEP_ACCUMULATOR
                                                                     : LS_TIMESTEP_VARIABLE,
                                       .dt_ns = config->dt_ns,
                                       .frame_max_ns = config->frame_max_ns};
        stepping_play_result play =
            stepping_play(&timestep, trace, 0, &(stepping_play_observer){swing, &h});
        h.result.dropped_ms = (double)play.dropped_ns / 1e6;
        *out = h.result;
    }
    status = h.scratch ? LS_OK : LS_NO_MEMORY;
    ls_release(allocator, h.scratch);
    ls_sim_instance_destroy(instance);
    return status;
}

/* ---- T9 ---- */

const char *stepping_integrator_name(ls_integrator integrator)
{
    static const char *const names[LS_INTEGRATOR_COUNT] = {"explicit-euler", "semi-implicit-euler",
                                                           "rk4"};
    return names[integrator];
}

double stepping_integrator_error(ls_integrator integrator, double dt_s)
{
    static const double end_s = 1.0;
    static const ls_spring_motion start = {.position = 1};
    ls_spring_rules rules = {.mass = 1, .stiffness = 1, .count = 1, .integrator = integrator};
    ls_spring_motion exact = ls_spring_exact(&rules, start, end_s);
    ls_spring_motion motion = start;
    uint32_t steps = (uint32_t)(end_s / dt_s + 0.5);
    for (uint32_t i = 0; i < steps; i++) {
        motion = ls_spring_advance(&rules, motion, end_s / steps);
    }
    double place = motion.position - exact.position;
    double speed = motion.velocity - exact.velocity;
    return sqrt(place * place + speed * speed);
}

double stepping_integrator_order(ls_integrator integrator)
{
    return log10(stepping_integrator_error(integrator, 0.1) /
                 stepping_integrator_error(integrator, 0.01));
}

/* ---- T10 ---- */

enum {
    STEPS_MAX = 4,
};

/* Frames this long and longer are no display's any more. */
#define SPIRAL_NS UINT64_C(1000000000)

void stepping_headroom_cases(uint32_t rate_hz,
                             stepping_headroom_case cases[STEPPING_HEADROOM_CASES])
{
    static const struct {
        const char *name;
        ls_timestep_strategy strategy;
        bool has_steps_max; /* in place of a longest frame */
    } all[STEPPING_HEADROOM_CASES] = {
        {"variable", LS_TIMESTEP_VARIABLE, false},
        {"semi-fixed, no limit", LS_TIMESTEP_SEMI_FIXED, false},
        {"accumulator, no limit", LS_TIMESTEP_ACCUMULATOR, false},
        {"substeps, at most 6", LS_TIMESTEP_SUBSTEPS, false},
        {"interpolated, at most 4 steps", LS_TIMESTEP_INTERPOLATED, true},
        {"interpolated, frames cut at 0.25 s", LS_TIMESTEP_INTERPOLATED, false},
    };
    for (uint32_t i = 0; i < STEPPING_HEADROOM_CASES; i++) {
        cases[i].name = all[i].name;
        cases[i].config = stepping_stepper_default(all[i].strategy, rate_hz).config;
        if (all[i].has_steps_max) {
            cases[i].config.frame_max_ns = 0;
            cases[i].config.steps_max = STEPS_MAX;
        }
    }
}

typedef struct recovery {
    const stepping_trace *trace;
    bool has_spiked;
    uint32_t late_frames;
    uint64_t late_ns;
} recovery;

static void note_late_frame(void *user, const stepping_play_frame *frame)
{
    recovery *r = user;
    uint64_t asked_ns = r->trace->frames.frames_ns[frame->index];
    if (r->has_spiked && frame->frame_ns > asked_ns) {
        r->late_frames++;
        r->late_ns += frame->frame_ns;
    }
    r->has_spiked = r->has_spiked || asked_ns >= STEPPING_TRACE_SPIKE_NS;
}

stepping_headroom stepping_headroom_measure(const ls_timestep_config *config, uint64_t dt_ns,
                                            const stepping_headroom_traces *traces)
{
    recovery r = {.trace = traces->spike};
    stepping_play_result spike =
        stepping_play(config, traces->spike, dt_ns * STEPPING_HEADROOM_PERCENT / 100,
                      &(stepping_play_observer){note_late_frame, &r});
    stepping_play_result overload = stepping_play(
        config, traces->overload, dt_ns * STEPPING_TRACE_OVERLOAD_PERCENT / 100, NULL);
    return (stepping_headroom){
        .late_frames = r.late_frames,
        .late_ms = (double)r.late_ns / 1e6,
        .spike_dropped_ms = (double)spike.dropped_ns / 1e6,
        .spike_speed = (double)spike.simulated_ns / (double)spike.real_ns,
        .overload_speed = (double)overload.simulated_ns / (double)overload.real_ns,
        .overload_frame_ms = (double)overload.frame_last_ns / 1e6,
        .overload_dropped_ms = (double)overload.dropped_ns / 1e6,
        .is_spiral = overload.frame_last_ns >= SPIRAL_NS,
    };
}

/* ---- T11 ---- */

enum {
    FRAMES_PER_IMPULSE = 7, /* a key is pressed now and then */
};

static const double force = 1.0;   /* N */
static const double impulse = 1.0; /* N s */
static const double mass = 1.0;    /* kg */

/* A body for each way, so that all four go through the same steps. */
typedef struct pushing {
    double speed_by_step;
    double speed_by_frame;
    double speed_by_queue;
    double speed_by_poll;
    double pending_force;
    double pending_impulse;
    double seconds; /* simulated */
    uint32_t impulses;
} pushing;

static void push_once(pushing *p, double dt_s, bool is_pressed)
{
    p->speed_by_step += force / mass * dt_s;
    p->speed_by_frame += p->pending_force / mass * dt_s;
    p->speed_by_queue += p->pending_impulse / mass;
    p->speed_by_poll += is_pressed ? impulse / mass : 0;
    p->pending_force = 0;
    p->pending_impulse = 0;
    p->seconds += dt_s;
}

static void push(void *user, const stepping_play_frame *frame)
{
    pushing *p = user;
    bool is_pressed = frame->index % FRAMES_PER_IMPULSE == 0;
    p->pending_force += force;
    p->pending_impulse += is_pressed ? impulse : 0;
    p->impulses += is_pressed ? 1 : 0;
    for (uint32_t i = 0; i < frame->plan->step_count; i++) {
        push_once(p, (double)ls_timestep_step_ns(frame->plan, i) / 1e9, is_pressed);
    }
}

stepping_forces stepping_forces_measure(const stepping_trace *trace, uint64_t dt_ns)
{
    pushing p = {0};
    ls_timestep_config config = {.strategy = LS_TIMESTEP_ACCUMULATOR, .dt_ns = dt_ns};
    stepping_play(&config, trace, 0, &(stepping_play_observer){push, &p});
    double right_speed = force / mass * p.seconds;
    double right_jumps = (p.impulses * impulse - p.pending_impulse) / mass;
    double jumps = p.impulses * impulse / mass;
    return (stepping_forces){.force_per_step = p.speed_by_step / right_speed,
                             .force_per_frame = p.speed_by_frame / right_speed,
                             .impulse_queued = p.speed_by_queue / right_jumps,
                             .impulse_polled = p.speed_by_poll / jumps};
}

/* ---- T12 ---- */

static bool is_coordinate(const ls_field *field)
{
    size_t size = strlen(field->path);
    return field->type == LS_FIELD_FIXED && size > 2 && strcmp(field->path + size - 2, ".x") == 0;
}

static bool flip(stepping_sim_player *player, char *name, size_t capacity)
{
    const ls_schema *schema = ls_sim_instance_schema(player->instance);
    for (uint32_t i = 0; schema && i < ls_schema_field_count(schema); i++) {
        const ls_field *field = ls_schema_field(schema, i);
        if (is_coordinate(field)) {
            uint8_t *at = (uint8_t *)ls_sim_instance_state(player->instance) + field->offset;
            uint64_t value;
            memcpy(&value, at, sizeof value);
            value ^= 1;
            memcpy(at, &value, sizeof value);
            ls_schema_place place = ls_schema_at(schema, field->offset);
            ls_schema_place_name(&place, name, capacity);
            return true;
        }
    }
    return false;
}

static double distance(const ls_draw_shape *a, const ls_draw_shape *b)
{
    double x = ls_fixed_to_double(ls_fixed_sub(a->x, b->x));
    double y = ls_fixed_to_double(ls_fixed_sub(a->y, b->y));
    return sqrt(x * x + y * y);
}

/* Shapes come in the same order, but one of the two may draw some that the other does not. */
static double farthest(const ls_draw_list *a, const ls_draw_list *b)
{
    double apart = 0;
    uint32_t k = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t from = k;
        while (k < b->count && b->shapes[k].id != a->shapes[i].id) {
            k++;
        }
        if (k == b->count) {
            k = from;
            continue;
        }
        double now = distance(&a->shapes[i], &b->shapes[k]);
        apart = LS_MAX(now, apart);
    }
    return apart;
}

static void grow(stepping_sim_player *one, stepping_sim_player *other, stepping_one_bit *out)
{
    uint32_t rate_hz = ls_sim_instance_config(one->instance)->tick_rate_hz;
    for (uint32_t second = 0; second <= out->seconds; second++) {
        for (uint32_t i = 0; second > 0 && i < rate_hz; i++) {
            stepping_sim_player_step(one);
            stepping_sim_player_follow(other, one);
        }
        out->apart_m[second] = farthest(stepping_sim_player_draw(one, LS_FIXED_ONE),
                                        stepping_sim_player_draw(other, LS_FIXED_ONE));
    }
}

ls_status stepping_one_bit_run(const ls_simulation *simulation, const ls_sim_config *config,
                               uint32_t seconds, const ls_allocator *allocator,
                               stepping_one_bit *out, ls_text *why)
{
    LS_ASSERT(seconds <= STEPPING_ONE_BIT_SECONDS_MAX);
    stepping_one_bit result = {.seconds = seconds};
    stepping_sim_player *one = NULL;
    stepping_sim_player *other = NULL;
    ls_status status = stepping_sim_player_create(simulation, config, allocator, &one, why);
    if (status == LS_OK) {
        status = stepping_sim_player_create(simulation, config, allocator, &other, why);
    }
    if (status == LS_OK) {
        stepping_sim_player_step(one);
        stepping_sim_player_follow(other, one);
        if (flip(other, result.field, sizeof result.field)) {
            grow(one, other, &result);
            *out = result;
        } else {
            ls_text_set(why, "%s has no fixed-point coordinate", simulation->name);
            status = LS_UNSUPPORTED;
        }
    }
    stepping_sim_player_destroy(other);
    stepping_sim_player_destroy(one);
    return status;
}

/* ---- all of them ---- */

#define ROPE_DT_NS LS_NS_PER_MS
#define ROPE_FRAME_MAX_NS (10 * LS_NS_PER_MS)

static void run_examples(stepping_lesson_example *examples)
{
    static const struct {
        const char *row;
        ls_timestep_config config;
        uint64_t frames_ns[STEPPING_LESSON_FRAMES];
    } all[] = {
        {"T4", {LS_TIMESTEP_SUBSTEPS, 16667000, 0, 6, {0, 0}}, {16000000, 33000000, 300000000}},
        {"T5", {LS_TIMESTEP_ACCUMULATOR, 16000000, 0, 0, {0, 0}}, {24000000, 24000000, 24000000}},
    };
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ls_timestep timestep = ls_timestep_make(&all[i].config);
        for (uint32_t k = 0; k < STEPPING_LESSON_FRAMES; k++) {
            uint64_t frame_ns = all[i].frames_ns[k];
            ls_timestep_plan plan = ls_timestep_advance(&timestep, frame_ns);
            *examples++ = (stepping_lesson_example){all[i].row, frame_ns, plan.step_count,
                                                    plan.step_ns, timestep.bank_ns};
        }
    }
}

static ls_status run_ropes(const stepping_trace *trace, const ls_allocator *allocator,
                           stepping_lessons *out, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT && status == LS_OK; i++) {
        stepping_rope_run_config fixed = {(ls_integrator)i, ROPE_DT_NS, ROPE_FRAME_MAX_NS};
        stepping_rope_run_config per_frame = {(ls_integrator)i, 0, 0};
        status = stepping_rope_run(&fixed, trace, allocator, &out->ropes[i].fixed, why);
        if (status == LS_OK) {
            status = stepping_rope_run(&per_frame, trace, allocator, &out->ropes[i].per_frame, why);
        }
    }
    return status;
}

static void run_integrators(stepping_lessons *out)
{
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT; i++) {
        out->integrators[i].order = stepping_integrator_order((ls_integrator)i);
        out->integrators[i].error_fine = stepping_integrator_error((ls_integrator)i, 1e-4);
        out->integrators[i].error_coarse = stepping_integrator_error((ls_integrator)i, 0.1);
    }
}

static void run_headroom(const stepping_trace *traces, uint32_t rate_hz, stepping_lessons *out)
{
    uint64_t dt_ns = ls_timestep_config_default(rate_hz).dt_ns;
    stepping_headroom_traces two = {&traces[STEPPING_TRACE_SPIKE],
                                    &traces[STEPPING_TRACE_OVERLOAD]};
    stepping_headroom_cases(rate_hz, out->cases);
    for (uint32_t i = 0; i < STEPPING_HEADROOM_CASES; i++) {
        out->headroom[i] = stepping_headroom_measure(&out->cases[i].config, dt_ns, &two);
    }
}

static void run_forces(const stepping_trace *traces, stepping_lessons *out)
{
    static const stepping_trace_kind kinds[STEPPING_LESSON_FORCES] = {
        STEPPING_TRACE_30, STEPPING_TRACE_50, STEPPING_TRACE_60, STEPPING_TRACE_144,
        STEPPING_TRACE_200};
    for (uint32_t i = 0; i < STEPPING_LESSON_FORCES; i++) {
        out->force_traces[i] = kinds[i];
        out->forces[i] = stepping_forces_measure(&traces[kinds[i]], STEPPING_LESSON_FORCES_DT_NS);
    }
}

/* The longest that any trace needs, with interpolation. */
static uint32_t ticks_needed(const stepping_trace *traces, const ls_timestep_config *timestep)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        uint64_t steps = stepping_play(timestep, &traces[i], 0, NULL).steps;
        most = LS_MAX(steps, most);
    }
    return (uint32_t)most;
}

static ls_status play_rates(const stepping_sim_course *course, const stepping_trace *traces,
                            const ls_timestep_config *timestep, const ls_allocator *allocator,
                            stepping_lessons *out, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT && status == LS_OK; i++) {
        stepping_sim_measures measures = {0};
        status =
            stepping_sim_course_measure(course, timestep, &traces[i], 0, allocator, &measures, why);
        out->traces_played++;
        out->traces_same += measures.is_repeatable ? 1 : 0;
        out->ticks_compared += measures.ticks_compared;
    }
    return status;
}

/* T12: the arena at every frame rate, and what one bit does to it. */
static ls_status run_lockstep(const stepping_trace *traces, uint32_t rate_hz,
                              const ls_allocator *allocator, stepping_lessons *out, ls_text *why)
{
    const ls_simulation *arena = ls_arena_simulation();
    ls_timestep_config timestep = ls_timestep_config_default(rate_hz);
    ls_sim_config config = ls_sim_config_default(arena);
    config.tick_rate_hz = rate_hz;
    out->simulation = arena->name;
    stepping_sim_course course = {0};
    ls_status status = stepping_sim_course_make(arena, &config, ticks_needed(traces, &timestep),
                                                allocator, &course, why);
    if (status == LS_OK) {
        status = play_rates(&course, traces, &timestep, allocator, out, why);
        stepping_sim_course_release(&course, allocator);
    }
    if (status == LS_OK) {
        status = stepping_one_bit_run(arena, &config, STEPPING_LESSON_ONE_BIT_SECONDS, allocator,
                                      &out->one_bit, why);
    }
    return status;
}

ls_status stepping_lessons_learn(const stepping_trace *traces, uint32_t rate_hz,
                                 const ls_allocator *allocator, stepping_lessons *out, ls_text *why)
{
    *out = (stepping_lessons){0};
    run_examples(out->examples);
    run_integrators(out);
    run_headroom(traces, rate_hz, out);
    run_forces(traces, out);
    ls_status status = run_ropes(&traces[STEPPING_TRACE_60], allocator, out, why);
    return status == LS_OK ? run_lockstep(traces, rate_hz, allocator, out, why) : status;
}
