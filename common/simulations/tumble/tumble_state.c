#include "lockstep/common/simulations/tumble/tumble_state.h"

/* ---- vec3 ---- */

/* No length is less than its largest part, nor more than twice that. */
bool ls_vec3_is_within(ls_vec3 a, ls_fixed most)
{
    uint64_t x = ls_magnitude(a.x);
    uint64_t y = ls_magnitude(a.y);
    uint64_t z = ls_magnitude(a.z);
    uint64_t largest = LS_MAX(LS_MAX(x, y), z);
    if (largest <= (uint64_t)most / 2 || largest > (uint64_t)most) {
        return largest <= (uint64_t)most;
    }
    return ls_vec3_length(a) <= most;
}

ls_vec3 ls_vec3_normal(ls_vec3 a)
{
    ls_fixed length = ls_vec3_length(a);
    if (length == 0) {
        return (ls_vec3){0, 0, LS_FIXED_ONE};
    }
    return (ls_vec3){ls_fixed_div(a.x, length), ls_fixed_div(a.y, length),
                     ls_fixed_div(a.z, length)};
}

/* The axis of the world that `a` is furthest from lying along gives the first. */
void ls_vec3_tangents(ls_vec3 a, ls_vec3 out[2])
{
    ls_fixed x = ls_fixed_abs(a.x);
    ls_fixed y = ls_fixed_abs(a.y);
    ls_fixed z = ls_fixed_abs(a.z);
    ls_vec3 other = {0, 0, LS_FIXED_ONE};
    if (x <= y && x <= z) {
        other = (ls_vec3){LS_FIXED_ONE, 0, 0};
    } else if (y <= z) {
        other = (ls_vec3){0, LS_FIXED_ONE, 0};
    }
    out[0] = ls_vec3_normal(ls_vec3_cross(a, other));
    out[1] = ls_vec3_cross(a, out[0]);
}

/* 2*a*b. */
static ls_fixed twice(ls_fixed a, ls_fixed b)
{
    ls_fixed once = ls_fixed_mul(a, b);
    return ls_fixed_add(once, once);
}

static ls_fixed one_less(ls_fixed a, ls_fixed b)
{
    return ls_fixed_sub(ls_fixed_sub(LS_FIXED_ONE, a), b);
}

ls_axes ls_axes_of(ls_quaternion q)
{
    ls_fixed xx = twice(q.x, q.x);
    ls_fixed yy = twice(q.y, q.y);
    ls_fixed zz = twice(q.z, q.z);
    ls_fixed xy = twice(q.x, q.y);
    ls_fixed xz = twice(q.x, q.z);
    ls_fixed yz = twice(q.y, q.z);
    ls_fixed wx = twice(q.w, q.x);
    ls_fixed wy = twice(q.w, q.y);
    ls_fixed wz = twice(q.w, q.z);
    return (ls_axes){{
        {one_less(yy, zz), ls_fixed_add(xy, wz), ls_fixed_sub(xz, wy)},
        {ls_fixed_sub(xy, wz), one_less(xx, zz), ls_fixed_add(yz, wx)},
        {ls_fixed_add(xz, wy), ls_fixed_sub(yz, wx), one_less(xx, yy)},
    }};
}

/* q + turn*q/2: the derivative of a rotation (turn as a quaternion without w). */
ls_quaternion ls_quaternion_turned(ls_quaternion q, ls_vec3 turn)
{
    ls_vec3 half = {turn.x / 2, turn.y / 2, turn.z / 2};
    ls_vec3 v = {q.x, q.y, q.z};
    ls_vec3 change = ls_vec3_add(ls_vec3_scale(half, q.w), ls_vec3_cross(half, v));
    ls_vec3 sum = ls_vec3_add(v, change);
    ls_fixed w = ls_fixed_sub(q.w, ls_vec3_dot(half, v));
    ls_fixed length = ls_vec2_length((ls_vec2){w, ls_vec3_length(sum)});
    return (ls_quaternion){ls_fixed_div(w, length), ls_fixed_div(sum.x, length),
                           ls_fixed_div(sum.y, length), ls_fixed_div(sum.z, length)};
}

/* ---- the state ---- */

#define HALF_SIZE_MIN LS_FIXED_RATIO(36, 10)
#define PITCH                                                                                      \
    LS_FIXED_RATIO(19, 10) /* of the lattice at the start: the widest box turned any way */
#define FIRST_LAYER LS_FIXED_RATIO(15, 10)
#define LAYERS 5u
#define DENSITY LS_FIXED_INT(10) /* kg/m3 */

#define SPEED_START_MAX LS_FIXED_INT(2)
#define SPIN_START_MAX LS_FIXED_INT(3)

/* Contact points that one tick keeps, for each body; what is beyond is left out, the highest
 * numbers first. In a pile it is about five. */
#define TOUCHES_PER_BODY 10u

#define STREAM_PLACES 1u
#define STREAM_SPAWNS 2u

/* 4/3 pi, rounded down to 2^-32. */
#define BALL_VOLUME INT64_C(17990716938)

/* No hidden padding: the schema would have to name it. */
_Static_assert(sizeof(ls_tumble_match) == 32, "the match header has no holes");
_Static_assert(sizeof(ls_tumble_player) == 8, "a player has no holes");
_Static_assert(sizeof(ls_tumble_body) == 176, "a body has no holes");
_Static_assert(sizeof(ls_tumble_touch) == 56, "a touch has no holes");

ls_tumble_layout ls_tumble_layout_of(const ls_sim_config *config)
{
    ls_tumble_layout layout = {
        .player_count = config->players,
        .body_count = config->players + (uint32_t)config->params[LS_TUMBLE_PARAM_BODIES],
    };
    layout.touch_count = layout.body_count * TOUCHES_PER_BODY;
    layout.players = sizeof(ls_tumble_match);
    layout.bodies = layout.players + layout.player_count * sizeof(ls_tumble_player);
    layout.touches = layout.bodies + layout.body_count * sizeof(ls_tumble_body);
    layout.bytes = layout.touches + layout.touch_count * sizeof(ls_tumble_touch);
    return layout;
}

ls_tumble_view ls_tumble_view_of(const ls_sim_config *config, const void *state)
{
    const uint8_t *bytes = state;
    ls_tumble_layout layout = ls_tumble_layout_of(config);
    return (ls_tumble_view){
        .layout = layout,
        .match = state,
        .players = (const void *)(bytes + layout.players),
        .bodies = (const void *)(bytes + layout.bodies),
    };
}

#define MATCH(member, type) LS_FIELD_EACH("match", 0, 1, ls_tumble_match, member, type, "")
#define PLAYER(member, type, unit)                                                                 \
    LS_FIELD_EACH("players", layout.players, layout.player_count, ls_tumble_player, member, type,  \
                  unit)
#define BODY(member, type, unit)                                                                   \
    LS_FIELD_EACH("bodies", layout.bodies, layout.body_count, ls_tumble_body, member, type, unit)
#define TOUCH(member, type, unit)                                                                  \
    LS_FIELD_EACH("touches", layout.touches, layout.touch_count, ls_tumble_touch, member, type,    \
                  unit)
#define TOUCH_VEC3(member, unit)                                                                   \
    TOUCH(member.x, LS_FIELD_FIXED, unit), TOUCH(member.y, LS_FIELD_FIXED, unit),                  \
        TOUCH(member.z, LS_FIELD_FIXED, unit)
#define BODY_VEC3(member, unit)                                                                    \
    BODY(member.x, LS_FIELD_FIXED, unit), BODY(member.y, LS_FIELD_FIXED, unit),                    \
        BODY(member.z, LS_FIELD_FIXED, unit)

uint32_t ls_tumble_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    ls_tumble_layout layout = ls_tumble_layout_of(config);
    const ls_field all[] = {
        MATCH(spawn_rng.state, LS_FIELD_U64),
        MATCH(spawn_rng.increment, LS_FIELD_U64),
        MATCH(ticks, LS_FIELD_U32),
        MATCH(awake, LS_FIELD_U32),
        MATCH(contacts, LS_FIELD_U32),
        MATCH(serial, LS_FIELD_U32),
        PLAYER(is_present, LS_FIELD_U8, ""),
        PLAYER(is_on_ground, LS_FIELD_U8, ""),
        PLAYER(buttons, LS_FIELD_U8, ""),
        PLAYER(push_x, LS_FIELD_I8, ""),
        PLAYER(push_y, LS_FIELD_I8, ""),
        ls_field_long(PLAYER(padding, LS_FIELD_PADDING, ""), 3),
        BODY_VEC3(position, "m"),
        BODY(orientation.w, LS_FIELD_FIXED, ""),
        BODY_VEC3(orientation, ""),
        BODY_VEC3(velocity, "m/s"),
        BODY_VEC3(spin, "rad/s"),
        BODY_VEC3(half, "m"),
        BODY(radius, LS_FIELD_FIXED, "m"),
        BODY(inverse_mass, LS_FIELD_FIXED, "1/kg"),
        BODY_VEC3(inverse_inertia, "1/(kg m2)"),
        BODY(serial, LS_FIELD_U32, ""),
        BODY(still_ticks, LS_FIELD_U16, "ticks"),
        BODY(shape, LS_FIELD_U8, ""),
        BODY(padding, LS_FIELD_PADDING, ""),
        TOUCH(pair, LS_FIELD_U32, ""),
        ls_field_long(TOUCH(padding, LS_FIELD_PADDING, ""), 4),
        TOUCH_VEC3(point, "m"),
        TOUCH_VEC3(impulse, "kg m/s"),
    };
    return ls_fields_copy(all, sizeof all / sizeof all[0], fields, capacity);
}

ls_tumble_body ls_tumble_body_make(ls_tumble_shape shape, ls_vec3 half, ls_fixed density)
{
    ls_tumble_body body = {.half = half, .shape = (uint8_t)shape};
    body.orientation.w = LS_FIXED_ONE;
    ls_vec3 square = {ls_fixed_mul(half.x, half.x), ls_fixed_mul(half.y, half.y),
                      ls_fixed_mul(half.z, half.z)};
    ls_fixed cube = ls_fixed_mul(half.x, ls_fixed_mul(half.y, half.z));
    ls_fixed mass = ls_fixed_mul(density, 8 * cube);
    ls_vec3 arm = {(square.y + square.z) / 3, (square.x + square.z) / 3, (square.x + square.y) / 3};
    body.radius = ls_vec3_length(half);
    if (shape == LS_TUMBLE_BALL) {
        mass = ls_fixed_mul(density, ls_fixed_mul(BALL_VOLUME, cube));
        arm = ls_vec3_scale(square, LS_FIXED_RATIO(2, 5));
        body.radius = half.x;
    }
    body.inverse_mass = ls_fixed_div(LS_FIXED_ONE, mass);
    body.inverse_inertia =
        (ls_vec3){ls_fixed_div(body.inverse_mass, arm.x), ls_fixed_div(body.inverse_mass, arm.y),
                  ls_fixed_div(body.inverse_mass, arm.z)};
    return body;
}

/* ---- state 0 ---- */

static ls_vec3 random_vec3(ls_rng *rng, ls_fixed low, ls_fixed high)
{
    ls_vec3 out;
    out.x = ls_rng_fixed_between(rng, low, high);
    out.y = ls_rng_fixed_between(rng, low, high);
    out.z = ls_rng_fixed_between(rng, low, high);
    return out;
}

static ls_tumble_body random_body(ls_rng *rng, int64_t box_thousandths)
{
    ls_vec3 half = random_vec3(rng, LS_TUMBLE_HALF_MIN, LS_TUMBLE_HALF_MAX);
    ls_tumble_shape shape = LS_TUMBLE_BOX;
    if (ls_rng_below(rng, 1000) >= box_thousandths) {
        shape = LS_TUMBLE_BALL;
        half.y = half.x;
        half.z = half.x;
    }
    ls_tumble_body body = ls_tumble_body_make(shape, half, DENSITY);
    body.velocity = random_vec3(rng, -SPEED_START_MAX, SPEED_START_MAX);
    body.spin = random_vec3(rng, -SPIN_START_MAX, SPIN_START_MAX);
    ls_vec3 turn = random_vec3(rng, -LS_FIXED_INT(2), LS_FIXED_INT(2));
    body.orientation = ls_quaternion_turned(body.orientation, turn);
    return body;
}

/* Bodies on one side of a layer of the lattice. */
static uint32_t columns_of(const ls_sim_config *config)
{
    uint32_t columns = 1;
    while (LAYERS * columns * columns < config->params[LS_TUMBLE_PARAM_BODIES]) {
        columns++;
    }
    return columns;
}

ls_fixed ls_tumble_half_size(const ls_sim_config *config)
{
    return ls_fixed_max(columns_of(config) * PITCH / 2, HALF_SIZE_MIN);
}

ls_status ls_tumble_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ls_tumble_layout layout = ls_tumble_layout_of(config);
    ls_tumble_match *match = state;
    ls_tumble_body *bodies = (void *)((uint8_t *)state + layout.bodies);
    match->spawn_rng = ls_rng_make(config->seed, STREAM_SPAWNS);
    ls_rng rng = ls_rng_make(config->seed, STREAM_PLACES);
    uint32_t columns = columns_of(config);
    ls_fixed corner = (columns - 1) * PITCH / 2;
    for (uint32_t i = 0; i < layout.body_count - layout.player_count; i++) {
        ls_tumble_body *body = &bodies[layout.player_count + i];
        *body = random_body(&rng, config->params[LS_TUMBLE_PARAM_BOXES]);
        body->position.x = i % columns * PITCH - corner;
        body->position.y = i / columns % columns * PITCH - corner;
        body->position.z = FIRST_LAYER + i / (columns * columns) * PITCH;
    }
    return LS_OK;
}

/* ---- what a step works on ---- */

#define SPEED_MAX LS_FIXED_INT(15)
#define SPIN_MAX LS_FIXED_INT(18)

/* Of the smallest half width: two that close in on each other meet on the side they came from. */
#define TRAVEL_MAX LS_FIXED_RATIO(25, 100)
#define TURN_MAX LS_FIXED_RATIO(4, 10) /* rad */

#define DRAG LS_FIXED_RATIO(1, 10) /* 1/s */
#define SPIN_DRAG LS_FIXED_RATIO(8, 10)

#define STILL_MILLISECONDS 500u

/* About the width of a body: larger cells hold more that is not near, smaller ones are many. */
#define CELL_SIZE LS_FIXED_ONE

static ls_fixed thousandths(int64_t value)
{
    return LS_FIXED_RATIO(value, 1000);
}

static ls_tumble_rules rules_of(const ls_sim_config *config)
{
    ls_fixed rate = LS_FIXED_INT(config->tick_rate_hz);
    ls_fixed dt = LS_FIXED_ONE / config->tick_rate_hz;
    uint32_t still = config->tick_rate_hz * STILL_MILLISECONDS / 1000;
    return (ls_tumble_rules){
        .rate = rate,
        .dt = dt,
        .gravity = thousandths(config->params[LS_TUMBLE_PARAM_GRAVITY]),
        .speed_max = ls_fixed_min(SPEED_MAX, ls_fixed_mul(TRAVEL_MAX, rate)),
        .spin_max = ls_fixed_min(SPIN_MAX, ls_fixed_mul(TURN_MAX, rate)),
        .drag_keep = LS_FIXED_ONE - ls_fixed_mul(DRAG, dt),
        .spin_keep = LS_FIXED_ONE - ls_fixed_mul(SPIN_DRAG, dt),
        .friction = thousandths(config->params[LS_TUMBLE_PARAM_FRICTION]),
        .restitution = thousandths(config->params[LS_TUMBLE_PARAM_RESTITUTION]),
        .iterations = (uint32_t)config->params[LS_TUMBLE_PARAM_ITERATIONS],
        .still_limit = still > 1 ? still : 2,
    };
}

static size_t movers_bytes(const ls_tumble_layout *layout)
{
    return (layout->body_count + 1) * sizeof(ls_tumble_mover);
}

static ls_cell_grid_config grid_config(const ls_tumble_layout *layout, ls_fixed half_size)
{
    return (ls_cell_grid_config){
        .min = {-half_size, -half_size},
        .max = {half_size, half_size},
        .cell_size = CELL_SIZE,
        .item_count = layout->body_count,
    };
}

size_t ls_tumble_scratch_bytes(const ls_sim_config *config)
{
    ls_tumble_layout layout = ls_tumble_layout_of(config);
    ls_cell_grid_config grid = grid_config(&layout, ls_tumble_half_size(config));
    return movers_bytes(&layout) + layout.touch_count * sizeof(ls_tumble_contact) +
           layout.body_count * (sizeof(ls_tumble_spot) + sizeof(uint32_t)) +
           ls_cell_grid_bytes(&grid);
}

ls_tumble_world ls_tumble_world_of(const ls_step *step)
{
    ls_tumble_layout layout = ls_tumble_layout_of(step->config);
    uint8_t *bytes = step->state;
    uint8_t *scratch = step->scratch;
    ls_tumble_world world = {
        .inputs = step->inputs,
        .half_size = ls_tumble_half_size(step->config),
        .rules = rules_of(step->config),
        .layout = layout,
        .match = step->state,
        .players = (void *)(bytes + layout.players),
        .bodies = (void *)(bytes + layout.bodies),
        .touches = (void *)(bytes + layout.touches),
        .movers = (void *)scratch,
        .contacts = (void *)(scratch + movers_bytes(&layout)),
    };
    world.spots = (void *)(world.contacts + layout.touch_count);
    world.cells = (void *)(world.spots + layout.body_count);
    ls_cell_grid_config grid = grid_config(&layout, world.half_size);
    world.grid = ls_cell_grid_make(&grid, world.cells + layout.body_count);
    return world;
}
