#include "lockstep/tools/timestep/lessons.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/tools/timestep/sim_course.h"

#include <inttypes.h>
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

/* "explicit-euler", "semi-implicit-euler", "rk4" */
static const char *integrator_name(ls_integrator integrator)
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
    LS_THEN(status, stepping_sim_player_create(simulation, config, allocator, &other, why));
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

enum {
    EXAMPLE_FRAMES = 3,
    ONE_BIT_S = 20,
    ONE_BIT_SHOWN_S = 5, /* in the table */
};

#define ROPE_DT_NS LS_NS_PER_MS
#define ROPE_FRAME_MAX_NS (10 * LS_NS_PER_MS)
#define FORCES_DT_NS (20 * LS_NS_PER_MS) /* physics at 50 Hz, as the example has it */

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void write_example(const char *row, uint64_t frame_ns, ls_timestep *timestep,
                          const stepping_sheet *sheet, ls_json *json)
{
    ls_timestep_plan plan = ls_timestep_advance(timestep, frame_ns);
    ls_json_text(json, "row", row);
    stepping_sheet_print(sheet, "  %s a frame of", row);
    stepping_sheet_add(sheet, json, "frame_ms", " %5.1f ms:", ms_of(frame_ns));
    stepping_sheet_add(sheet, json, "steps", plan.step_count == 1 ? " %.0f step" : " %.0f steps",
                       plan.step_count);
    stepping_sheet_add(sheet, json, "step_ms", " of %.3f ms", ms_of(plan.step_ns));
    stepping_sheet_add(sheet, json, "bank_ms",
                       strcmp(row, "T5") == 0 ? ", %.1f ms in the bank" : NULL,
                       ms_of(timestep->bank_ns));
    stepping_sheet_print(sheet, "\n");
}

static void write_examples(const stepping_sheet *sheet)
{
    static const struct {
        const char *row;
        ls_timestep_config config;
        uint64_t frames_ns[EXAMPLE_FRAMES];
    } all[] = {
        {"T4", {LS_TIMESTEP_SUBSTEPS, 16667000, 0, 6, {0, 0}}, {16000000, 33000000, 300000000}},
        {"T5", {LS_TIMESTEP_ACCUMULATOR, 16000000, 0, 0, {0, 0}}, {24000000, 24000000, 24000000}},
    };
    ls_json *array = ls_json_array(sheet->json, "examples");
    stepping_sheet_print(sheet, "\nT4, T5: the examples\n");
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        ls_timestep timestep = ls_timestep_make(&all[i].config);
        for (uint32_t k = 0; k < EXAMPLE_FRAMES; k++) {
            write_example(all[i].row, all[i].frames_ns[k], &timestep, sheet, ls_json_append(array));
        }
    }
}

static void print_rope(const stepping_rope_result *rope, const stepping_sheet *sheet)
{
    char text[24];
    if (rope->is_torn) {
        snprintf(text, sizeof text, "torn at step %" PRIu64, rope->steps);
    } else {
        snprintf(text, sizeof text, "holds: x %.2f", rope->stretch_max);
    }
    stepping_sheet_print(sheet, " %-18s", text);
}

static void add_rope(const stepping_rope_result *rope, ls_json *json)
{
    ls_json_bool(json, "is_torn", rope->is_torn);
    ls_json_number(json, "stretch_max", rope->stretch_max);
    ls_json_number(json, "steps", (double)rope->steps);
}

static ls_status write_integrator(ls_integrator integrator, const stepping_trace *trace,
                                  const ls_allocator *allocator, const stepping_sheet *sheet,
                                  ls_json *json, ls_text *why)
{
    const stepping_rope_run_config fixed_dt = {integrator, ROPE_DT_NS, ROPE_FRAME_MAX_NS};
    const stepping_rope_run_config frame_dt = {integrator, 0, 0};
    stepping_rope_result fixed = {0}, per_frame = {0};
    ls_status status = stepping_rope_run(&fixed_dt, trace, allocator, &fixed, why);
    LS_THEN(status, stepping_rope_run(&frame_dt, trace, allocator, &per_frame, why));
    ls_json_text(json, "integrator", integrator_name(integrator));
    stepping_sheet_print(sheet, "  %-22s", integrator_name(integrator));
    print_rope(&fixed, sheet);
    print_rope(&per_frame, sheet);
    stepping_sheet_add(sheet, json, "order", " %7.2f", stepping_integrator_order(integrator));
    stepping_sheet_add(sheet, json, "error_at_0.0001_s", " %12.1e",
                       stepping_integrator_error(integrator, 1e-4));
    stepping_sheet_add(sheet, json, "error_at_0.1_s", " %12.1e\n",
                       stepping_integrator_error(integrator, 0.1));
    add_rope(&fixed, ls_json_object(json, "rope_at_1_ms"));
    add_rope(&per_frame, ls_json_object(json, "rope_at_frame"));
    return status;
}

static ls_status write_integrators(const stepping_trace *trace, const ls_allocator *allocator,
                                   const stepping_sheet *sheet, ls_text *why)
{
    ls_json *array = ls_json_array(sheet->json, "integrators");
    ls_status status = LS_OK;
    stepping_sheet_print(
        sheet,
        "\nT8: a rope, its longest link; T9: integrators, the error of a spring after 1 s\n"
        "  %-22s %-18s %-18s %7s %12s %12s\n",
        "", "dt 1 ms", "dt of a frame", "order", "dt 0.0001 s", "dt 0.1 s");
    for (uint32_t i = 0; i < LS_INTEGRATOR_COUNT && status == LS_OK; i++) {
        status =
            write_integrator((ls_integrator)i, trace, allocator, sheet, ls_json_append(array), why);
    }
    return status;
}

static void write_headroom(const stepping_trace *traces, uint32_t rate_hz,
                           const stepping_sheet *sheet)
{
    uint64_t dt_ns = ls_timestep_config_default(rate_hz).dt_ns;
    stepping_headroom_traces two = {&traces[STEPPING_TRACE_SPIKE],
                                    &traces[STEPPING_TRACE_OVERLOAD]};
    stepping_headroom_case cases[STEPPING_HEADROOM_CASES];
    ls_json *array = ls_json_array(sheet->json, "headroom");
    stepping_headroom_cases(rate_hz, cases);
    stepping_sheet_print(
        sheet,
        "\nT10: a 300 ms frame while a step costs half a dt, and steps that cost 1.2 dt\n"
        "  %-36s %11s %9s %9s | %9s %11s %9s\n",
        "", "late frames", "for ms", "dropped", "speed", "last frame", "dropped");
    for (uint32_t i = 0; i < STEPPING_HEADROOM_CASES; i++) {
        stepping_headroom h = stepping_headroom_measure(&cases[i].config, dt_ns, &two);
        ls_json *item = ls_json_append(array);
        ls_json_text(item, "name", cases[i].name);
        stepping_sheet_print(sheet, "  %-36s", cases[i].name);
        stepping_sheet_add(sheet, item, "late_frames", " %11.0f", h.late_frames);
        stepping_sheet_add(sheet, item, "late_ms", " %9.1f", h.late_ms);
        stepping_sheet_add(sheet, item, "spike_dropped_ms", " %9.1f |", h.spike_dropped_ms);
        stepping_sheet_add(sheet, item, "spike_speed", NULL, h.spike_speed);
        stepping_sheet_add(sheet, item, "overload_speed", " %9.3f", h.overload_speed);
        stepping_sheet_add(sheet, item, "overload_frame_ms", " %8.0f ms", h.overload_frame_ms);
        stepping_sheet_add(sheet, item, "overload_dropped_ms", " %9.1f", h.overload_dropped_ms);
        ls_json_bool(item, "is_spiral", h.is_spiral);
        stepping_sheet_print(sheet, h.is_spiral ? "  spiral\n" : "\n");
    }
}

static void write_forces(const stepping_trace *traces, const stepping_sheet *sheet)
{
    static const stepping_trace_kind kinds[] = {STEPPING_TRACE_30, STEPPING_TRACE_50,
                                                STEPPING_TRACE_60, STEPPING_TRACE_144,
                                                STEPPING_TRACE_200};
    ls_json *array = ls_json_array(sheet->json, "forces");
    stepping_sheet_print(
        sheet,
        "\nT11: physics at 50 Hz: what a force and an impulse come to, by what they should\n"
        "  %-22s %15s %15s %15s %15s\n",
        "", "force per step", "force per frame", "impulse queued", "impulse polled");
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        stepping_forces f = stepping_forces_measure(&traces[kinds[i]], FORCES_DT_NS);
        ls_json *item = ls_json_append(array);
        ls_json_text(item, "trace", stepping_trace_kind_name(kinds[i]));
        stepping_sheet_print(sheet, "  %3s frames a second   ", stepping_trace_kind_name(kinds[i]));
        stepping_sheet_add(sheet, item, "force_per_step", " %15.2f", f.force_per_step);
        stepping_sheet_add(sheet, item, "force_per_frame", " %15.2f", f.force_per_frame);
        stepping_sheet_add(sheet, item, "impulse_queued", " %15.2f", f.impulse_queued);
        stepping_sheet_add(sheet, item, "impulse_polled", " %15.2f\n", f.impulse_polled);
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

static ls_status write_rates(const stepping_sim_course *course, const stepping_trace *traces,
                             const ls_timestep_config *timestep, const ls_allocator *allocator,
                             const stepping_sheet *sheet, ls_json *json, ls_text *why)
{
    ls_status status = LS_OK;
    uint32_t played = 0, same = 0;
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT && status == LS_OK; i++) {
        stepping_sim_measures measures = {0};
        status =
            stepping_sim_course_measure(course, timestep, &traces[i], 0, allocator, &measures, why);
        played++;
        same += measures.is_repeatable ? 1 : 0;
        ticks += measures.ticks_compared;
    }
    ls_json_text(json, "sim", course->simulation->name);
    ls_json_number(json, "traces_played", played);
    ls_json_number(json, "traces_same", same);
    ls_json_number(json, "ticks_compared", (double)ticks);
    stepping_sheet_print(sheet,
                         "\nT12: %s with interpolation on all traces: the same bits on %" PRIu32
                         " of %" PRIu32 ", %" PRIu64 " ticks compared\n",
                         course->simulation->name, same, played, ticks);
    return status;
}

static void write_one_bit(const stepping_one_bit *bit, const stepping_sheet *sheet, ls_json *json)
{
    ls_json_text(json, "flipped", bit->field);
    stepping_sheet_print(sheet, "  one bit of %s flipped, then the same inputs: apart by",
                         bit->field);
    ls_json *apart = ls_json_array(json, "apart_m");
    for (uint32_t second = 0; second <= bit->seconds; second++) {
        ls_json_append_number(apart, bit->apart_m[second]);
        if (second % ONE_BIT_SHOWN_S == 0) {
            stepping_sheet_print(sheet, "%s %.2g m after %" PRIu32 " s", second > 0 ? "," : "",
                                 bit->apart_m[second], second);
        }
    }
    stepping_sheet_print(sheet, "\n");
}

/* T12: the arena at every frame rate, and what one bit does to it. */
static ls_status write_lockstep(const stepping_trace *traces, uint32_t rate_hz,
                                const ls_allocator *allocator, const stepping_sheet *sheet,
                                ls_text *why)
{
    const ls_simulation *arena = ls_arena_simulation();
    ls_timestep_config timestep = ls_timestep_config_default(rate_hz);
    ls_sim_config config = ls_sim_config_default(arena);
    ls_json *json = ls_json_object(sheet->json, "lockstep");
    stepping_sim_course course = {0};
    stepping_one_bit bit = {0};
    config.tick_rate_hz = rate_hz;
    ls_status status = stepping_sim_course_make(arena, &config, ticks_needed(traces, &timestep),
                                                allocator, &course, why);
    if (status == LS_OK) {
        status = write_rates(&course, traces, &timestep, allocator, sheet, json, why);
        stepping_sim_course_release(&course, allocator);
    }
    LS_THEN(status, stepping_one_bit_run(arena, &config, ONE_BIT_S, allocator, &bit, why));
    write_one_bit(&bit, sheet, json);
    return status;
}

ls_status stepping_lessons_write(const stepping_trace *traces, uint32_t rate_hz,
                                 const ls_allocator *allocator, const stepping_sheet *sheet,
                                 ls_text *why)
{
    write_examples(sheet);
    ls_status status = write_integrators(&traces[STEPPING_TRACE_60], allocator, sheet, why);
    write_headroom(traces, rate_hz, sheet);
    write_forces(traces, sheet);
    return status == LS_OK ? write_lockstep(traces, rate_hz, allocator, sheet, why) : status;
}
