#include "lockstep/common/simulations/rope/rope.h"

#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/common/simulations/player_view.h"

#include <math.h>
#include <string.h>

/* ---- state ---- */

static ls_rope_rules rules_of(const ls_sim_config *config)
{
    const int64_t *values = config->params;
    return (ls_rope_rules){
        .mass = (double)values[LS_ROPE_PARAM_MASS] / 1000.0,
        .link = (double)values[LS_ROPE_PARAM_LINK] / 1000.0,
        .stiffness = (double)values[LS_ROPE_PARAM_STIFFNESS],
        .damping = (double)values[LS_ROPE_PARAM_DAMPING] / 1000.0,
        .air = (double)values[LS_ROPE_PARAM_AIR] / 1000.0,
        .count = (uint32_t)values[LS_ROPE_PARAM_PARTICLES],
        .players = config->players,
        .integrator = (ls_integrator)values[LS_ROPE_PARAM_INTEGRATOR],
    };
}

uint32_t ls_rope_particle_of(const ls_rope_rules *rules, uint32_t slot)
{
    return rules->players < 2 ? 0 : slot * (rules->count - 1) / (rules->players - 1);
}

/* Where the arrays begin in the state, in bytes. */
static size_t positions_offset(const ls_rope_rules *rules)
{
    return rules->players * sizeof(ls_rope_hand);
}

static size_t velocities_offset(const ls_rope_rules *rules)
{
    return positions_offset(rules) + rules->count * sizeof(ls_rope_point);
}

ls_rope_view ls_rope_view_of(const ls_sim_config *config, const void *state)
{
    ls_rope_rules rules = rules_of(config);
    const uint8_t *bytes = state;
    return (ls_rope_view){
        .hands = state,
        .positions = (const void *)(bytes + positions_offset(&rules)),
        .velocities = (const void *)(bytes + velocities_offset(&rules)),
    };
}

/* ---- view ---- */

/* How the rope looks, and how bots and people drag it. */

#define MARGIN LS_FIXED_HALF
#define ROPE_HALF LS_FIXED_RATIO(15, 1000)
#define HAND_RADIUS LS_FIXED_RATIO(8, 100)
#define FLOOR_HALF LS_FIXED_RATIO(5, 100)

#define ROPE_COLOUR 0xd9b382FFu
#define ROPE_SHADE 0xb08a5aFFu
#define FLOOR_COLOUR 0x55606eFFu

/* Ids: the floor, hands by slot, then links. */
#define HAND_IDS 1u
#define LINK_IDS 16u

/* Points far outside of the picture need not be drawn where they are. */
#define EDGE LS_FIXED_INT(20000)

#define HAND_REACH_MM 400 /* of arrow keys and stick, ahead of where the hand is */
#define BOT_SWING_MM 700  /* either way of where the hand began */
#define BOT_LETS_GO 24u   /* one time in this many */

static ls_vec2 to_fixed(ls_rope_point point)
{
    return (ls_vec2){ls_fixed_clamp(ls_fixed_from_double(point.x), -EDGE, EDGE),
                     ls_fixed_clamp(ls_fixed_from_double(point.y), -EDGE, EDGE)};
}

static ls_vec2 blend(const ls_rope_view *from, const ls_rope_view *to, uint32_t i, ls_fixed alpha)
{
    return ls_lerp_vec2(to_fixed(from->positions[i]), to_fixed(to->positions[i]), alpha);
}

static ls_draw_shape link_shape(ls_vec2 from, ls_vec2 to, uint32_t i)
{
    ls_vec2 way = ls_vec2_sub(to, from);
    return (ls_draw_shape){
        .kind = LS_DRAW_LINE,
        .id = LINK_IDS + i,
        .colour = i / 4 % 2 ? ROPE_SHADE : ROPE_COLOUR,
        .angle = ls_fixed_atan2(way.y, way.x),
        .x = from.x,
        .y = from.y,
        .half_width = ls_vec2_length(way),
        .half_height = ROPE_HALF,
    };
}

static ls_fixed half_length(const ls_rope_rules *rules)
{
    return ls_fixed_from_double(rules->link) * (rules->count - 1) / 2;
}

static void draw_hands(const ls_rope_rules *rules, const ls_rope_view *from, const ls_rope_view *to,
                       ls_fixed alpha, ls_draw_list *list)
{
    for (uint32_t slot = 0; slot < rules->players; slot++) {
        uint32_t faded = to->hands[slot].is_holding ? 0 : 0xA0u;
        ls_vec2 at = blend(from, to, ls_rope_particle_of(rules, slot), alpha);
        ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_DISC,
                                           .id = HAND_IDS + slot,
                                           .colour = ls_player_colour(slot) - faded,
                                           .x = at.x,
                                           .y = at.y,
                                           .half_width = HAND_RADIUS,
                                           .half_height = HAND_RADIUS,
                                           .owner = slot + 1});
    }
}

static void rope_draw(const ls_sim_config *config, const void *previous, const void *current,
                      ls_fixed alpha, ls_draw_list *list)
{
    ls_rope_rules rules = rules_of(config);
    ls_rope_view from = ls_rope_view_of(config, previous);
    ls_rope_view to = ls_rope_view_of(config, current);
    ls_fixed half = half_length(&rules) + 2 * MARGIN;
    ls_fixed floor = ls_fixed_from_double(LS_ROPE_FLOOR);
    list->view_min = (ls_vec2){-half, floor - MARGIN};
    list->view_max = (ls_vec2){half, LS_FIXED_INT(1)};
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_BOX,
                                       .colour = FLOOR_COLOUR,
                                       .y = floor - FLOOR_HALF - ROPE_HALF,
                                       .half_width = half,
                                       .half_height = FLOOR_HALF});
    ls_vec2 end = blend(&from, &to, 0, alpha);
    for (uint32_t i = 0; i + 1 < rules.count; i++) {
        ls_vec2 next = blend(&from, &to, i + 1, alpha);
        ls_draw_push(list, link_shape(end, next, i));
        end = next;
    }
    draw_hands(&rules, &from, &to, alpha, list);
}

/* ---- inputs ---- */

static int32_t millimetres(ls_fixed metres)
{
    return ls_fixed_floor(ls_fixed_clamp(metres, LS_FIXED_INT(-32), LS_FIXED_INT(32)) * 1000);
}

static uint32_t write_input(bool is_holding, int32_t x_mm, int32_t y_mm, uint8_t *bytes)
{
    uint32_t x = (uint32_t)x_mm & 0xFFFFu;
    uint32_t y = (uint32_t)y_mm & 0xFFFFu;
    const uint8_t input[LS_ROPE_INPUT_BYTES] = {is_holding, (uint8_t)x, (uint8_t)(x >> 8),
                                                (uint8_t)y, (uint8_t)(y >> 8)};
    memcpy(bytes, input, sizeof input);
    return LS_ROPE_INPUT_BYTES;
}

/* Swings about where the hand began, to another place every third of a second or so, and lets go
 * for a while now and then. In between it says nothing. */
static uint32_t rope_bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                         uint8_t *bytes)
{
    (void)state;
    if (ls_rng_below(rng, config->tick_rate_hz) >= 3) {
        return 0;
    }
    ls_rope_rules rules = rules_of(config);
    int64_t link_mm = config->params[LS_ROPE_PARAM_LINK];
    int64_t home_mm = link_mm * ls_rope_particle_of(&rules, slot) - link_mm * (rules.count - 1) / 2;
    bool is_holding = ls_rng_below(rng, BOT_LETS_GO) > 0;
    int32_t x = ls_rng_between(rng, -BOT_SWING_MM, BOT_SWING_MM);
    int32_t y = ls_rng_between(rng, -BOT_SWING_MM, BOT_SWING_MM);
    int32_t home = (int32_t)(home_mm / 4 * 3);
    return write_input(is_holding, home + x, y, bytes);
}

/* The particle goes after the pointer while its button is held; arrow keys and stick lead it; it is
 * let go while FIRST is held. */
static uint32_t rope_control(const ls_sim_config *config, const void *state, uint32_t slot,
                             const ls_controls *controls, uint8_t *bytes)
{
    ls_rope_rules rules = rules_of(config);
    ls_rope_view rope = ls_rope_view_of(config, state);
    ls_vec2 at = to_fixed(rope.positions[ls_rope_particle_of(&rules, slot)]);
    ls_vec2 lead = ls_controls_direction(controls);
    bool is_holding = (controls->held & LS_CONTROL_FIRST) == 0;
    if (controls->is_pointer_held) {
        return write_input(is_holding, millimetres(controls->pointer.x),
                           millimetres(controls->pointer.y), bytes);
    }
    if (lead.x == 0 && lead.y == 0 && is_holding && rope.hands[slot].is_holding) {
        return 0;
    }
    ls_vec2 reach = ls_vec2_scale(lead, LS_FIXED_RATIO(HAND_REACH_MM, 1000));
    return write_input(is_holding, millimetres(at.x + reach.x), millimetres(at.y + reach.y), bytes);
}

/* ---- status ---- */

static void rope_status(const ls_sim_config *config, const void *state, uint32_t slot,
                        ls_status_list *list)
{
    (void)state;
    ls_status_push_players(list, config->players, slot,
                           "arrows or WASD lead the hand, or hold the left button   space lets go");
}

/* ---- the simulation ---- */

#define GRAVITY 9.81 /* m/s2 */

/* The floor gives way like a soft spring, brakes what slides and takes most of a fall. */
#define FLOOR_STIFFNESS 100.0 /* N/m */
#define FLOOR_FRICTION 0.2    /* N s/m */
#define FLOOR_DAMPING 2.0     /* N s/m */

#define HAND_SPEED_MAX 3.0 /* m/s */
#define HAND_GAIN 8.0      /* 1/s: how fast a hand closes in on where it is to be */

/* A rope that falls apart ends here, and not in numbers that machines disagree about. */
#define FAR 1e4       /* m */
#define SPEED_FAR 1e5 /* m/s */
#define LENGTH_MIN 1e-9

enum {
    STREAM_SHAPE = 1,
};

_Static_assert(sizeof(ls_rope_hand) == 24, "a hand has no holes");

static const ls_param params[LS_ROPE_PARAM_COUNT] = {
    LS_PARAM_INTEGER_OF("particles", "", "joined to a chain by springs", 80, 8, 1024),
    LS_PARAM_INTEGER_OF("integrator", "", "0 explicit Euler, 1 semi-implicit Euler, 2 RK4", 1, 0,
                        2),
    LS_PARAM_INTEGER_OF("mass", "g", "of a particle", 50, 1, 10000),
    LS_PARAM_INTEGER_OF("link", "mm", "between neighbours at rest", 50, 1, 1000),
    LS_PARAM_INTEGER_OF("stiffness", "N/m", "of the spring between neighbours", 10000, 1, 1000000),
    LS_PARAM_INTEGER_OF("damping", "mN s/m", "between neighbours", 200, 0, 100000),
    LS_PARAM_INTEGER_OF("air", "mN s/m", "drag on each particle", 20, 0, 10000),
};

static size_t state_bytes(const ls_sim_config *config)
{
    ls_rope_rules rules = rules_of(config);
    return velocities_offset(&rules) + rules.count * sizeof(ls_rope_point);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    return LS_INTEGRATE_SCRATCH_EACH * rules_of(config).count * sizeof(ls_rope_point);
}

#define HAND(member, type, unit)                                                                   \
    LS_FIELD_EACH("hands", 0, rules.players, ls_rope_hand, member, type, unit)
#define POINT(array, offset, member, unit)                                                         \
    LS_FIELD_EACH(array, offset, rules.count, ls_rope_point, member, LS_FIELD_F64, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    ls_rope_rules rules = rules_of(config);
    const ls_field all[] = {
        HAND(target.x, LS_FIELD_F64, "m"),
        HAND(target.y, LS_FIELD_F64, "m"),
        HAND(is_present, LS_FIELD_U32, ""),
        HAND(is_holding, LS_FIELD_U32, ""),
        POINT("positions", positions_offset(&rules), x, "m"),
        POINT("positions", positions_offset(&rules), y, "m"),
        POINT("velocities", velocities_offset(&rules), x, "m/s"),
        POINT("velocities", velocities_offset(&rules), y, "m/s"),
    };
    return ls_fields_copy(all, sizeof all / sizeof all[0], out, capacity);
}

/* Straight and level, but for a little unevenness of the seed's. */
static ls_status lay_out(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ls_rope_rules rules = rules_of(config);
    ls_rope_hand *hands = state;
    ls_rope_point *positions = (void *)((uint8_t *)state + positions_offset(&rules));
    ls_rng rng = ls_rng_make(config->seed, STREAM_SHAPE);
    for (uint32_t i = 0; i < rules.count; i++) {
        double middle = (double)(rules.count - 1) / 2.0;
        positions[i].x = ((double)i - middle) * rules.link;
        positions[i].y = (double)ls_rng_below(&rng, 1000) / 1000.0 * rules.link * 0.01;
    }
    for (uint32_t slot = 0; slot < rules.players; slot++) {
        hands[slot].target = positions[ls_rope_particle_of(&rules, slot)];
    }
    return LS_OK;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    return ls_strict_double_init(lay_out, config, state, why);
}

/* ---- hands ---- */

static void read_input(const ls_slot_input *input, ls_rope_hand *hand)
{
    if (input->events & LS_EVENT_LEFT) {
        hand->is_present = 0;
        hand->is_holding = 0;
    }
    if (input->events & LS_EVENT_JOINED) {
        hand->is_present = 1;
        hand->is_holding = 1;
    }
    if (!hand->is_present || input->size < LS_ROPE_INPUT_BYTES) {
        return;
    }
    int32_t x = input->bytes[1] | input->bytes[2] << 8;
    int32_t y = input->bytes[3] | input->bytes[4] << 8;
    hand->is_holding = input->bytes[0] & 1u;
    hand->target.x = (double)(x < 32768 ? x : x - 65536) / 1000.0;
    hand->target.y = (double)(y < 32768 ? y : y - 65536) / 1000.0;
}

/* Straight at the target, slower and slower, and never so fast that it would pass it. */
static ls_rope_point hand_velocity(ls_rope_point from, ls_rope_point to, double rate)
{
    double x = to.x - from.x;
    double y = to.y - from.y;
    double distance = sqrt(x * x + y * y);
    double gain = LS_MIN(rate, HAND_GAIN);
    if (distance * gain > HAND_SPEED_MAX) {
        gain = HAND_SPEED_MAX / distance;
    }
    return (ls_rope_point){x * gain, y * gain};
}

static void move_hands(const ls_step *step)
{
    ls_rope_rules rules = rules_of(step->config);
    uint8_t *bytes = step->state;
    ls_rope_hand *hands = step->state;
    ls_rope_point *positions = (void *)(bytes + positions_offset(&rules));
    ls_rope_point *velocities = (void *)(bytes + velocities_offset(&rules));
    for (uint32_t slot = 0; slot < rules.players; slot++) {
        read_input(&step->inputs->slots[slot], &hands[slot]);
        if (hands[slot].is_holding) {
            uint32_t i = ls_rope_particle_of(&rules, slot);
            double rate = (double)step->config->tick_rate_hz;
            velocities[i] = hand_velocity(positions[i], hands[slot].target, rate);
        }
    }
}

static void pass_hands(const ls_step *step)
{
    ls_strict_double_pass(move_hands, step);
}

/* ---- forces ---- */

typedef struct rope_system {
    const ls_rope_rules *rules;
    const ls_rope_hand *hands;
} rope_system;

static ls_rope_point outer_force(const ls_rope_rules *rules, ls_rope_point at, ls_rope_point speed)
{
    ls_rope_point force = {-rules->air * speed.x, -rules->air * speed.y - GRAVITY * rules->mass};
    if (at.y < LS_ROPE_FLOOR) {
        force.x = force.x - FLOOR_FRICTION * speed.x;
        force.y = force.y + FLOOR_STIFFNESS * (LS_ROPE_FLOOR - at.y);
        if (speed.y < 0.0) {
            force.y = force.y - FLOOR_DAMPING * speed.y;
        }
    }
    return force;
}

static double distance_between(ls_rope_point a, ls_rope_point b)
{
    double x = b.x - a.x;
    double y = b.y - a.y;
    return sqrt(x * x + y * y);
}

/* The force that draws `a` towards `b`; the opposite one draws `b`. */
static ls_rope_point link_force(const ls_rope_rules *rules, const ls_rope_point *at,
                                const ls_rope_point *speed)
{
    double length = distance_between(at[0], at[1]);
    double safe_length = LS_MAX(length, LENGTH_MIN);
    double tension = rules->stiffness * (length - rules->link) / safe_length;
    return (ls_rope_point){
        tension * (at[1].x - at[0].x) + rules->damping * (speed[1].x - speed[0].x),
        tension * (at[1].y - at[0].y) + rules->damping * (speed[1].y - speed[0].y),
    };
}

/* Forces are cleared, added up and turned into accelerations; what a hand holds goes as it goes. */
static void accelerate(const void *user, const double *positions, const double *velocities,
                       double *accelerations)
{
    const rope_system *system = user;
    const ls_rope_rules *rules = system->rules;
    const ls_rope_point *at = (const void *)positions;
    const ls_rope_point *speed = (const void *)velocities;
    ls_rope_point *out = (void *)accelerations;
    for (uint32_t i = 0; i < rules->count; i++) {
        out[i] = outer_force(rules, at[i], speed[i]);
    }
    for (uint32_t i = 0; i + 1 < rules->count; i++) {
        ls_rope_point force = link_force(rules, &at[i], &speed[i]);
        out[i] = (ls_rope_point){out[i].x + force.x, out[i].y + force.y};
        out[i + 1] = (ls_rope_point){out[i + 1].x - force.x, out[i + 1].y - force.y};
    }
    for (uint32_t i = 0; i < rules->count; i++) {
        out[i] = (ls_rope_point){out[i].x / rules->mass, out[i].y / rules->mass};
    }
    for (uint32_t slot = 0; slot < rules->players; slot++) {
        if (system->hands[slot].is_holding) {
            out[ls_rope_particle_of(rules, slot)] = (ls_rope_point){0.0, 0.0};
        }
    }
}

static void limit(double *values, uint32_t count, double most)
{
    for (uint32_t i = 0; i < count; i++) {
        values[i] = values[i] > most ? most : values[i] < -most ? -most : values[i];
    }
}

void ls_rope_advance(const ls_sim_config *config, void *state, void *scratch, double dt_seconds)
{
    ls_rope_rules rules = rules_of(config);
    uint8_t *bytes = state;
    double *positions = (void *)(bytes + positions_offset(&rules));
    double *velocities = (void *)(bytes + velocities_offset(&rules));
    rope_system user = {&rules, state};
    ls_motion_system system = {.count = 2 * rules.count, .accelerate = accelerate, .user = &user};
    ls_integrate(&system, rules.integrator, dt_seconds, positions, velocities, scratch);
    limit(positions, system.count, FAR);
    limit(velocities, system.count, SPEED_FAR);
}

static void integrate(const ls_step *step)
{
    ls_rope_advance(step->config, step->state, step->scratch,
                    1.0 / (double)step->config->tick_rate_hz);
}

static void pass_integrate(const ls_step *step)
{
    ls_strict_double_pass(integrate, step);
}

/* ---- measures ---- */

double ls_rope_stretch(const ls_sim_config *config, const void *state)
{
    ls_rope_rules rules = rules_of(config);
    ls_rope_view rope = ls_rope_view_of(config, state);
    double longest = rules.link;
    for (uint32_t i = 0; i + 1 < rules.count; i++) {
        double length = distance_between(rope.positions[i], rope.positions[i + 1]);
        longest = LS_MAX(length, longest);
    }
    return longest / rules.link;
}

/* ---- the simulation ---- */

static const ls_pass passes[] = {{"hands", pass_hands}, {"integrate", pass_integrate}};

const ls_simulation *ls_rope_simulation(void)
{
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "rope",
        .summary = "a rope of particles and springs, dragged by its ends, in strict double",
        .default_tick_rate_hz = 1000,
        .default_players = 2,
        .players_max = 8,
        .input_bytes_max = LS_ROPE_INPUT_BYTES,
        .params = params,
        .param_count = LS_ROPE_PARAM_COUNT,
        .passes = passes,
        .pass_count = sizeof passes / sizeof passes[0],
        .state_bytes = state_bytes,
        .scratch_bytes = scratch_bytes,
        .fields = fields,
        .init = init,
        .draw = rope_draw,
        .bot = rope_bot,
        .control = rope_control,
        .status = rope_status,
    };
    return &simulation;
}
