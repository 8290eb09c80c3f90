#include "lockstep/common/simulations/arena/arena_state.h"

#include "lockstep/common/maths/fixed_trig.h"

#define HALF_SIZE_MIN LS_FIXED_INT(12)
#define BODY_DENSITY LS_FIXED_ONE /* kg/m2 */
#define SPIN_START_MAX LS_FIXED_INT(3)

/* Streams of the seed. */
enum {
    STREAM_PLACES = 1,
    STREAM_SPAWNS = 2,
};

/* pi, rounded down to 2^-32. */
#define PI INT64_C(13493037704)

/* No hidden padding: the schema would have to name it. */
_Static_assert(sizeof(ls_arena_match) == 32, "the match header has no holes");
_Static_assert(sizeof(ls_arena_ship) == 32, "a ship has no holes");
_Static_assert(sizeof(ls_arena_body) == 88, "a body has no holes");
_Static_assert(sizeof(ls_arena_shot) == 40, "a shot has no holes");
_Static_assert(sizeof(ls_arena_touch) == 10, "a touch has no holes");

ls_arena_layout ls_arena_layout_of(const ls_sim_config *config)
{
    ls_arena_layout layout = {
        .player_count = config->players,
        .body_count = config->players + (uint32_t)config->params[LS_ARENA_PARAM_BODIES],
        .shots_each = (uint32_t)config->params[LS_ARENA_PARAM_SHOTS],
    };
    layout.shot_count = layout.player_count * layout.shots_each;
    layout.ships = sizeof(ls_arena_match);
    layout.bodies = layout.ships + layout.player_count * sizeof(ls_arena_ship);
    layout.shots = layout.bodies + layout.body_count * sizeof(ls_arena_body);
    layout.touch_count = layout.body_count * LS_ARENA_TOUCHES_EACH;
    layout.touches = layout.shots + layout.shot_count * sizeof(ls_arena_shot);
    layout.bytes = layout.touches + layout.touch_count * sizeof(ls_arena_touch);
    return layout;
}

ls_arena_view ls_arena_view_of(const ls_sim_config *config, const void *state)
{
    const uint8_t *bytes = state;
    ls_arena_layout layout = ls_arena_layout_of(config);
    return (ls_arena_view){
        .layout = layout,
        .match = state,
        .ships = (const void *)(bytes + layout.ships),
        .bodies = (const void *)(bytes + layout.bodies),
        .shots = (const void *)(bytes + layout.shots),
    };
}

#define MATCH(member, type, unit) LS_FIELD_EACH("match", 0, 1, ls_arena_match, member, type, unit)
#define SHIP(member, type, unit)                                                                   \
    LS_FIELD_EACH("ships", layout.ships, layout.player_count, ls_arena_ship, member, type, unit)
#define BODY(member, type, unit)                                                                   \
    LS_FIELD_EACH("bodies", layout.bodies, layout.body_count, ls_arena_body, member, type, unit)
#define SHOT(member, type, unit)                                                                   \
    LS_FIELD_EACH("shots", layout.shots, layout.shot_count, ls_arena_shot, member, type, unit)
#define TOUCH(member, type, unit)                                                                  \
    LS_FIELD_EACH("touches", layout.touches, layout.touch_count, ls_arena_touch, member, type, unit)

uint32_t ls_arena_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    ls_arena_layout layout = ls_arena_layout_of(config);
    const ls_field all[] = {
        MATCH(spawn_rng.state, LS_FIELD_U64, ""),
        MATCH(spawn_rng.increment, LS_FIELD_U64, ""),
        MATCH(serial, LS_FIELD_U32, ""),
        MATCH(awake, LS_FIELD_U32, ""),
        MATCH(pairs, LS_FIELD_U32, ""),
        MATCH(contacts, LS_FIELD_U32, ""),
        SHIP(score, LS_FIELD_U32, ""),
        SHIP(kills, LS_FIELD_U32, ""),
        SHIP(deaths, LS_FIELD_U32, ""),
        SHIP(hits, LS_FIELD_U32, ""),
        SHIP(health, LS_FIELD_U32, ""),
        SHIP(cooldown_ticks, LS_FIELD_U32, "ticks"),
        SHIP(respawn_ticks, LS_FIELD_U32, "ticks"),
        SHIP(is_present, LS_FIELD_U8, ""),
        SHIP(buttons, LS_FIELD_U8, ""),
        SHIP(steer, LS_FIELD_I8, ""),
        SHIP(padding, LS_FIELD_PADDING, ""),
        BODY(position.x, LS_FIELD_FIXED, "m"),
        BODY(position.y, LS_FIELD_FIXED, "m"),
        BODY(velocity.x, LS_FIELD_FIXED, "m/s"),
        BODY(velocity.y, LS_FIELD_FIXED, "m/s"),
        BODY(half.x, LS_FIELD_FIXED, "m"),
        BODY(half.y, LS_FIELD_FIXED, "m"),
        BODY(radius, LS_FIELD_FIXED, "m"),
        BODY(spin, LS_FIELD_FIXED, "rad/s"),
        BODY(inverse_mass, LS_FIELD_FIXED, "1/kg"),
        BODY(inverse_inertia, LS_FIELD_FIXED, "1/(kg m2)"),
        BODY(angle, LS_FIELD_ANGLE, ""),
        BODY(serial, LS_FIELD_U16, ""),
        BODY(still_ticks, LS_FIELD_U8, "ticks"),
        BODY(shape, LS_FIELD_U8, ""),
        SHOT(position.x, LS_FIELD_FIXED, "m"),
        SHOT(position.y, LS_FIELD_FIXED, "m"),
        SHOT(velocity.x, LS_FIELD_FIXED, "m/s"),
        SHOT(velocity.y, LS_FIELD_FIXED, "m/s"),
        SHOT(serial, LS_FIELD_U32, ""),
        SHOT(ticks_left, LS_FIELD_U32, "ticks"),
        TOUCH(other, LS_FIELD_U16, ""),
        TOUCH(first, LS_FIELD_U16, ""),
        TOUCH(second, LS_FIELD_U16, ""),
        TOUCH(tangent, LS_FIELD_U16, ""),
        TOUCH(first_fine, LS_FIELD_U8, ""),
        TOUCH(second_fine, LS_FIELD_U8, ""),
    };
    return ls_fields_copy(all, sizeof all / sizeof all[0], fields, capacity);
}

ls_arena_body ls_arena_body_make(ls_arena_shape shape, ls_vec2 half, ls_fixed density)
{
    ls_vec2 square = {ls_fixed_mul(half.x, half.x), ls_fixed_mul(half.y, half.y)};
    ls_arena_body body = {.half = half, .shape = (uint8_t)shape};
    ls_fixed mass;
    ls_fixed inertia;
    if (shape == LS_ARENA_DISC) {
        body.radius = half.x;
        mass = ls_fixed_mul(density, ls_fixed_mul(PI, square.x));
        inertia = ls_fixed_mul(mass, square.x / 2);
    } else {
        body.radius = ls_vec2_length(half);
        mass = ls_fixed_mul(density, 4 * ls_fixed_mul(half.x, half.y));
        inertia = ls_fixed_mul(mass, (square.x + square.y) / 3);
    }
    body.inverse_mass = ls_fixed_div(LS_FIXED_ONE, mass);
    body.inverse_inertia = ls_fixed_div(LS_FIXED_ONE, inertia);
    return body;
}

static ls_arena_body random_shape(ls_rng *rng, int64_t box_thousandths)
{
    ls_vec2 half;
    if (ls_rng_below(rng, 1000) < box_thousandths) {
        half.x = ls_rng_fixed_between(rng, LS_ARENA_BOX_HALF_MIN, LS_ARENA_BOX_HALF_MAX);
        half.y = ls_rng_fixed_between(rng, LS_ARENA_BOX_HALF_MIN, LS_ARENA_BOX_HALF_MAX);
        return ls_arena_body_make(LS_ARENA_BOX, half, BODY_DENSITY);
    }
    half.x = ls_rng_fixed_between(rng, LS_ARENA_DISC_RADIUS_MIN, LS_ARENA_DISC_RADIUS_MAX);
    half.y = half.x;
    return ls_arena_body_make(LS_ARENA_DISC, half, BODY_DENSITY);
}

static void random_motion(ls_rng *rng, ls_fixed speed_max, ls_arena_body *body)
{
    body->angle = ls_rng_next(rng);
    ls_angle course = ls_rng_next(rng);
    ls_fixed speed = ls_rng_fixed_between(rng, 0, speed_max);
    body->velocity = ls_vec2_scale(ls_vec2_from_angle(course), speed);
    body->spin = ls_rng_fixed_between(rng, -SPIN_START_MAX, SPIN_START_MAX);
}

/* One cell of the lattice each, moved about by what the body leaves free of it. */
static void place_bodies(const ls_sim_config *config, ls_fixed half_size, ls_arena_body *bodies)
{
    uint32_t count = (uint32_t)config->params[LS_ARENA_PARAM_BODIES];
    uint32_t columns = 1;
    while (columns * columns < count) {
        columns++;
    }
    ls_fixed pitch = 2 * half_size / columns;
    ls_rng rng = ls_rng_make(config->seed, STREAM_PLACES);
    for (uint32_t i = 0; i < count; i++) {
        ls_arena_body body = random_shape(&rng, config->params[LS_ARENA_PARAM_BOXES]);
        ls_fixed play = pitch / 2 - body.radius;
        body.position.x = (i % columns) * pitch + pitch / 2 - half_size;
        body.position.y = (i / columns) * pitch + pitch / 2 - half_size;
        body.position.x += ls_rng_fixed_between(&rng, -play, play);
        body.position.y += ls_rng_fixed_between(&rng, -play, play);
        random_motion(&rng, LS_FIXED_INT(config->params[LS_ARENA_PARAM_SPEED]), &body);
        bodies[i] = body;
    }
}

ls_fixed ls_arena_half_size(const ls_sim_config *config)
{
    int64_t bodies = ls_arena_layout_of(config).body_count;
    int64_t area = bodies * config->params[LS_ARENA_PARAM_AREA];
    return ls_fixed_max(ls_fixed_sqrt(LS_FIXED_INT(area)) / 2, HALF_SIZE_MIN);
}

ls_status ls_arena_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ls_arena_layout layout = ls_arena_layout_of(config);
    ls_arena_match *match = state;
    match->spawn_rng = ls_rng_make(config->seed, STREAM_SPAWNS);
    ls_arena_body *bodies = (void *)((uint8_t *)state + layout.bodies);
    place_bodies(config, ls_arena_half_size(config), bodies + layout.player_count);
    return LS_OK;
}
