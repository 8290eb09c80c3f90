#include "lockstep/tools/timestep/sim_course.h"

#include "lockstep/common/base/assert.h"

#include <math.h>
#include <string.h>

#define SHAPES_MAX 65536u
#define MM_PER_M 1e3
#define MOVED_MIN LS_FIXED_RATIO(1, 100)

/* ---- the simulation with its bots ---- */

static ls_status fill(stepping_sim_player *player, const ls_simulation *simulation,
                      const ls_sim_config *config, ls_text *why)
{
    ls_status status =
        ls_sim_instance_create(simulation, config, player->allocator, &player->instance, why);
    if (status != LS_OK) {
        return status;
    }
    size_t state_bytes = ls_sim_instance_state_bytes(player->instance);
    bool can_copy = ls_sim_instance_schema(player->instance) != NULL;
    player->list.capacity = SHAPES_MAX;
    player->list.shapes = ls_allocate_array(player->allocator, SHAPES_MAX, sizeof(ls_draw_shape));
    player->previous = can_copy ? ls_allocate(player->allocator, state_bytes) : NULL;
    if (!player->list.shapes || (can_copy && !player->previous)) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    if (can_copy) {
        memcpy(player->previous, ls_sim_instance_view(player->instance), state_bytes);
    }
    ls_bot_crew_init(&player->bots, config->seed);
    return LS_OK;
}

ls_status stepping_sim_player_create(const ls_simulation *simulation, const ls_sim_config *config,
                                     const ls_allocator *allocator, stepping_sim_player **out,
                                     ls_text *why)
{
    stepping_sim_player *player = ls_allocate(allocator, sizeof *player);
    if (!player) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    player->allocator = allocator;
    ls_status status = fill(player, simulation, config, why);
    if (status != LS_OK) {
        stepping_sim_player_destroy(player);
        return status;
    }
    *out = player;
    return LS_OK;
}

void stepping_sim_player_destroy(stepping_sim_player *player)
{
    if (!player) {
        return;
    }
    ls_release(player->allocator, player->previous);
    ls_release(player->allocator, player->list.shapes);
    if (player->instance) {
        ls_sim_instance_destroy(player->instance);
    }
    ls_release(player->allocator, player);
}

static void step_inputs(stepping_sim_player *player, const ls_tick_inputs *inputs)
{
    ls_sim_instance *instance = player->instance;
    if (player->previous) {
        memcpy(player->previous, ls_sim_instance_view(instance),
               ls_sim_instance_state_bytes(instance));
    }
    ls_sim_instance_step(instance, inputs);
}

void stepping_sim_player_step(stepping_sim_player *player)
{
    ls_tick_inputs inputs = ls_bot_crew_inputs(&player->bots, player->instance);
    step_inputs(player, &inputs);
}

void stepping_sim_player_follow(stepping_sim_player *player, const stepping_sim_player *leader)
{
    ls_tick_inputs inputs = {.tick = ls_sim_instance_tick(player->instance),
                             .slot_count = ls_sim_instance_config(player->instance)->players,
                             .slots = leader->bots.inputs};
    step_inputs(player, &inputs);
}

const ls_draw_list *stepping_sim_player_draw(stepping_sim_player *player, ls_fixed alpha)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(player->instance);
    const void *current = ls_sim_instance_view(player->instance);
    player->list.count = 0;
    if (simulation->draw) {
        simulation->draw(ls_sim_instance_config(player->instance),
                         player->previous ? player->previous : current, current, alpha,
                         &player->list);
    }
    return &player->list;
}

/* ---- its course ---- */

static const ls_draw_shape *find_shape(const ls_draw_list *list, uint32_t id)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->shapes[i].id == id) {
            return &list->shapes[i];
        }
    }
    return NULL;
}

bool stepping_sim_course_see(const stepping_sim_course *course, stepping_sim_player *player,
                             ls_fixed alpha, stepping_sim_point *out)
{
    const ls_draw_shape *shape =
        course->has_shape ? find_shape(stepping_sim_player_draw(player, alpha), course->shape_id)
                          : NULL;
    if (!shape) {
        return false;
    }
    *out = (stepping_sim_point){ls_fixed_to_double(shape->x), ls_fixed_to_double(shape->y)};
    return true;
}

static bool has_moved(const ls_draw_shape *from, const ls_draw_shape *to)
{
    return ls_magnitude(ls_fixed_sub(to->x, from->x)) > (uint64_t)MOVED_MIN ||
           ls_magnitude(ls_fixed_sub(to->y, from->y)) > (uint64_t)MOVED_MIN;
}

/* The first shape that is elsewhere after two seconds. */
static ls_status choose_shape(stepping_sim_course *course, const ls_allocator *allocator,
                              ls_text *why)
{
    stepping_sim_player *before = NULL;
    stepping_sim_player *after = NULL;
    ls_status status =
        stepping_sim_player_create(course->simulation, &course->config, allocator, &before, why);
    LS_THEN(status, stepping_sim_player_create(course->simulation, &course->config, allocator,
                                               &after, why));
    if (status == LS_OK) {
        stepping_sim_player_step(before);
        for (uint32_t i = 0; i < 2 * course->config.tick_rate_hz; i++) {
            stepping_sim_player_step(after);
        }
        const ls_draw_list *list = stepping_sim_player_draw(before, LS_FIXED_ONE);
        stepping_sim_player_draw(after, LS_FIXED_ONE);
        for (uint32_t i = 0; i < list->count && !course->has_shape; i++) {
            const ls_draw_shape *now = find_shape(&after->list, list->shapes[i].id);
            course->has_shape = now && has_moved(&list->shapes[i], now);
            course->shape_id = list->shapes[i].id;
        }
    }
    stepping_sim_player_destroy(after);
    stepping_sim_player_destroy(before);
    return status;
}

static stepping_sim_leg leg_of(const stepping_sim_course *course, stepping_sim_player *player)
{
    stepping_sim_leg leg = {0};
    leg.is_drawn = stepping_sim_course_see(course, player, 0, &leg.from) &&
                   stepping_sim_course_see(course, player, LS_FIXED_ONE, &leg.to);
    return leg;
}

static ls_status run_course(stepping_sim_course *course, const ls_allocator *allocator,
                            ls_text *why)
{
    stepping_sim_player *player = NULL;
    ls_status status =
        stepping_sim_player_create(course->simulation, &course->config, allocator, &player, why);
    for (uint32_t i = 0; status == LS_OK && i < course->ticks; i++) {
        stepping_sim_player_step(player);
        course->hashes[i] = ls_sim_instance_hash(player->instance);
        course->legs[i] = leg_of(course, player);
    }
    stepping_sim_player_destroy(player);
    return status;
}

ls_status stepping_sim_course_make(const ls_simulation *simulation, const ls_sim_config *config,
                                   uint32_t ticks, const ls_allocator *allocator,
                                   stepping_sim_course *out, ls_text *why)
{
    LS_ASSERT(ticks > 0);
    stepping_sim_course course = {.simulation = simulation, .config = *config, .ticks = ticks};
    course.hashes = ls_allocate_array(allocator, ticks, sizeof *course.hashes);
    course.legs = ls_allocate_array(allocator, ticks, sizeof *course.legs);
    ls_status status = course.hashes && course.legs ? LS_OK : LS_NO_MEMORY;
    if (status == LS_OK && simulation->draw) {
        status = choose_shape(&course, allocator, why);
    }
    LS_THEN(status, run_course(&course, allocator, why));
    if (status != LS_OK) {
        stepping_sim_course_release(&course, allocator);
        return status;
    }
    *out = course;
    return LS_OK;
}

void stepping_sim_course_release(stepping_sim_course *course, const ls_allocator *allocator)
{
    ls_release(allocator, course->hashes);
    ls_release(allocator, course->legs);
    *course = (stepping_sim_course){0};
}

bool stepping_sim_course_can_play(ls_timestep_strategy strategy)
{
    return strategy == LS_TIMESTEP_FIXED_PER_FRAME || strategy == LS_TIMESTEP_ACCUMULATOR ||
           strategy == LS_TIMESTEP_INTERPOLATED;
}

/* ---- a strategy on it ---- */

typedef struct measuring {
    const stepping_sim_course *course;
    uint64_t dt_ns;
    uint64_t delay_ns; /* of what is drawn against the course, steadily */
    stepping_sim_player *player;
    bool differs;
    stepping_sim_point drawn, exact; /* in the frame before */
    uint64_t leg;                    /* likewise: the one the exact place lay on */
    bool was_drawn;
    double squares;
    uint64_t count;
} measuring;

static bool are_joined(const stepping_sim_leg *leg, const stepping_sim_leg *next)
{
    return leg->is_drawn && next->is_drawn && fabs(leg->to.x - next->from.x) < 1e-6 &&
           fabs(leg->to.y - next->from.y) < 1e-6;
}

/* Whether the course goes on without a jump from a leg before `first` to one behind `last`. */
static bool is_whole(const stepping_sim_course *course, uint64_t first, uint64_t last)
{
    first = first > 0 ? first - 1 : 0;
    last = last + 1 < course->ticks ? last + 1 : course->ticks - 1;
    for (uint64_t i = first; i < last; i++) {
        if (!are_joined(&course->legs[i], &course->legs[i + 1])) {
            return false;
        }
    }
    return true;
}

/* Compares how far the drawn shape and the one on the course moved in this frame. */
static void add_frame(measuring *m, stepping_sim_point drawn, stepping_sim_point exact,
                      uint64_t leg)
{
    if (m->was_drawn && is_whole(m->course, m->leg, leg)) {
        double x = drawn.x - m->drawn.x - (exact.x - m->exact.x);
        double y = drawn.y - m->drawn.y - (exact.y - m->exact.y);
        m->squares += x * x + y * y;
        m->count++;
    }
    m->was_drawn = true;
    m->drawn = drawn;
    m->exact = exact;
    m->leg = leg;
}

static void look(measuring *m, const stepping_play_frame *frame)
{
    uint64_t lived_ns = frame->real_ns - frame->dropped_ns;
    uint64_t at_ns = lived_ns - m->delay_ns;
    uint64_t leg = at_ns / m->dt_ns;
    stepping_sim_point drawn;
    bool is_on_course = ls_sim_instance_tick(m->player->instance) > 0 && lived_ns >= m->delay_ns &&
                        leg < m->course->ticks && m->course->legs[leg].is_drawn;
    if (!is_on_course ||
        !stepping_sim_course_see(m->course, m->player, frame->plan->alpha, &drawn)) {
        m->was_drawn = false;
        return;
    }
    const stepping_sim_leg *on = &m->course->legs[leg];
    double part = (double)(at_ns % m->dt_ns) / (double)m->dt_ns;
    stepping_sim_point exact = {on->from.x + (on->to.x - on->from.x) * part,
                                on->from.y + (on->to.y - on->from.y) * part};
    add_frame(m, drawn, exact, leg);
}

static void on_frame(void *user, const stepping_play_frame *frame)
{
    measuring *m = user;
    for (uint32_t i = 0; i < frame->plan->step_count; i++) {
        ls_tick tick = ls_sim_instance_tick(m->player->instance);
        LS_ASSERT(tick < m->course->ticks);
        stepping_sim_player_step(m->player);
        m->differs =
            m->differs || ls_sim_instance_hash(m->player->instance) != m->course->hashes[tick];
    }
    if (m->course->has_shape) {
        look(m, frame);
    }
}

typedef struct lag {
    uint64_t simulated_ns;
    uint64_t sum_ns;
    uint64_t frames;
} lag;

static void add_lag(void *user, const stepping_play_frame *frame)
{
    lag *l = user;
    for (uint32_t i = 0; i < frame->plan->step_count; i++) {
        l->simulated_ns += ls_timestep_step_ns(frame->plan, i);
    }
    l->sum_ns += frame->real_ns - frame->dropped_ns - l->simulated_ns;
    l->frames++;
}

/* Interpolation draws one dt late; the accumulator what it has, which is half a dt old on average,
 * or less; one step a frame draws what is new. */
static uint64_t delay_of(const ls_timestep_config *timestep, const stepping_trace *trace,
                         uint64_t step_cost_ns)
{
    lag l = {0};
    if (timestep->strategy != LS_TIMESTEP_ACCUMULATOR) {
        return timestep->strategy == LS_TIMESTEP_INTERPOLATED ? timestep->dt_ns : 0;
    }
    stepping_play(timestep, trace, step_cost_ns, &(stepping_play_observer){add_lag, &l});
    return l.frames > 0 ? l.sum_ns / l.frames : 0;
}

ls_status stepping_sim_course_measure(const stepping_sim_course *course,
                                      const ls_timestep_config *timestep,
                                      const stepping_trace *trace, uint64_t step_cost_ns,
                                      const ls_allocator *allocator, stepping_sim_measures *out,
                                      ls_text *why)
{
    LS_ASSERT(stepping_sim_course_can_play(timestep->strategy));
    measuring m = {.course = course,
                   .dt_ns = timestep->dt_ns,
                   .delay_ns = delay_of(timestep, trace, step_cost_ns)};
    ls_status status =
        stepping_sim_player_create(course->simulation, &course->config, allocator, &m.player, why);
    if (status != LS_OK) {
        return status;
    }
    stepping_play_result play =
        stepping_play(timestep, trace, step_cost_ns, &(stepping_play_observer){on_frame, &m});
    stepping_sim_player_destroy(m.player);
    *out = (stepping_sim_measures){
        .play = play,
        .speed = (double)play.simulated_ns / (double)play.real_ns,
        .is_repeatable = play.steps > 0 && !m.differs,
        .ticks_compared = play.steps,
        .has_stutter = m.count > 0,
        .stutter_mm = m.count > 0 ? sqrt(m.squares / (double)m.count) * MM_PER_M : 0,
    };
    return LS_OK;
}
