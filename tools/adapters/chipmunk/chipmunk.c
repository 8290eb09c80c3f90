/* Chipmunk: a plug-in over a physics engine that is not ours, in C, with a state that can be saved:
 * buggies cross a rope bridge and a seesaw from end to end. Chipmunk's space cannot be saved, so it
 * lives for one step: chipmunk_space.c builds it from the flat state and copies the result back. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/tools/adapters/chipmunk/chipmunk_space.h"
#include "lockstep/tools/adapters/chipmunk/chipmunk_view.h"

#include <string.h>

static const ls_param params[CHIPMUNK_PARAM_COUNT] = {
    [CHIPMUNK_PARAM_ROWS] =
        LS_PARAM_INTEGER_OF("rows", "", "of crates in the pile", 3, 0, CHIPMUNK_ROWS_MAX),
    [CHIPMUNK_PARAM_ITERATIONS] =
        LS_PARAM_INTEGER_OF("iterations", "", "of the engine's solver", 12, 1, 100),
    [CHIPMUNK_PARAM_GRAVITY] = LS_PARAM_INTEGER_OF("gravity", "mm/s2", "downwards", 9810, 0, 30000),
};

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(chipmunk_world);
}

#define BODIES(member, unit)                                                                       \
    LS_FIELD_EACH("bodies", offsetof(chipmunk_world, bodies), CHIPMUNK_BODIES_MAX, chipmunk_body,  \
                  member, LS_FIELD_F64, unit)
#define JOINTS(member)                                                                             \
    LS_FIELD_EACH("joints", offsetof(chipmunk_world, joints), CHIPMUNK_JOINTS_MAX, chipmunk_joint, \
                  member, LS_FIELD_F64, "N s")
#define TOUCHES(member, type, unit)                                                                \
    LS_FIELD_EACH("touches", offsetof(chipmunk_world, touches), CHIPMUNK_TOUCHES_MAX,              \
                  chipmunk_touch, member, type, unit)
#define DRIVERS(member)                                                                            \
    LS_FIELD_EACH("drivers", offsetof(chipmunk_world, drivers), CHIPMUNK_PLAYERS_MAX,              \
                  chipmunk_driver, member, LS_FIELD_U32, "")

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        BODIES(x, "m"),
        BODIES(y, "m"),
        BODIES(angle, "rad"),
        BODIES(vx, "m/s"),
        BODIES(vy, "m/s"),
        BODIES(spin, "rad/s"),
        BODIES(push_x, "m/s"),
        BODIES(push_y, "m/s"),
        BODIES(push_spin, "rad/s"),
        JOINTS(x),
        JOINTS(y),
        TOUCHES(a, LS_FIELD_U16, ""),
        TOUCHES(b, LS_FIELD_U16, ""),
        TOUCHES(points, LS_FIELD_U32, ""),
        ls_field_long(TOUCHES(feature, LS_FIELD_U64, ""), 2),
        ls_field_long(TOUCHES(normal, LS_FIELD_F64, "N s"), 2),
        ls_field_long(TOUCHES(friction, LS_FIELD_F64, "N s"), 2),
        DRIVERS(is_here),
        DRIVERS(goal),
        DRIVERS(crossings),
        DRIVERS(is_rescue_held),
        DRIVERS(buttons),
        LS_FIELD_OF(chipmunk_world, touch_count, LS_FIELD_U32, ""),
        LS_FIELD_OF(chipmunk_world, reserved, LS_FIELD_U32, ""),
    };
    return ls_fields_copy(list, sizeof list / sizeof *list, out, capacity);
}

/* Another copy of the engine is another game, even of the same version: Debian's for aarch64 has
 * fused multiply-adds, and the one for x86-64 has none. Machines with different ones never share a
 * match. */
static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    return ls_hash_bytes(LS_CHIPMUNK_DIGEST, sizeof LS_CHIPMUNK_DIGEST - 1, 0);
}

/* ---- state 0 ---- */

static void lay_bridge(chipmunk_world *world)
{
    double pace = 2 * CHIPMUNK_BANK / CHIPMUNK_PLANK_COUNT;
    for (uint32_t i = 0; i < CHIPMUNK_PLANK_COUNT; i++) {
        chipmunk_body *plank = &world->bodies[CHIPMUNK_PLANKS + i];
        double side = (i + 0.5) * pace - CHIPMUNK_BANK;
        plank->x = side;
        plank->y = -1.1 + 1.0 * side * side / (CHIPMUNK_BANK * CHIPMUNK_BANK);
    }
}

static void pile_crates(chipmunk_world *world, uint32_t rows)
{
    chipmunk_body *crate = &world->bodies[CHIPMUNK_CRATES];
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t i = 0; i < rows - row; i++) {
            crate->x = -12.0 + (i - (rows - row - 1) / 2.0) * 2.1 * CHIPMUNK_CRATE_HALF;
            crate->y = (2 * row + 1) * CHIPMUNK_CRATE_HALF;
            crate++;
        }
    }
}

static ls_status lay_out(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    chipmunk_world *world = state;
    lay_bridge(world);
    world->bodies[CHIPMUNK_SEESAW].x = CHIPMUNK_SEESAW_X;
    world->bodies[CHIPMUNK_SEESAW].y = CHIPMUNK_SEESAW_Y;
    pile_crates(world, (uint32_t)config->params[CHIPMUNK_PARAM_ROWS]);
    return LS_OK;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    return ls_strict_double_init(lay_out, config, state, why);
}

/* ---- the step ---- */

/* At the end where its slot starts, upright and at rest. */
static void place_car(chipmunk_world *world, uint32_t slot)
{
    double side = slot % 2 == 0 ? -1 : 1;
    chipmunk_body *car = &world->bodies[slot * CHIPMUNK_CAR_BODIES];
    memset(car, 0, CHIPMUNK_CAR_BODIES * sizeof *car);
    memset(&world->joints[slot * CHIPMUNK_CAR_JOINTS], 0,
           CHIPMUNK_CAR_JOINTS * sizeof *world->joints);
    car[CHIPMUNK_CHASSIS].x = side * (26.5 - slot / 2 * 2.2);
    car[CHIPMUNK_CHASSIS].y = CHIPMUNK_WHEEL_RADIUS + CHIPMUNK_AXLE_DEPTH + 0.1;
    for (uint32_t wheel = 0; wheel < 2; wheel++) {
        chipmunk_body *at = &car[CHIPMUNK_WHEELS + wheel];
        at->x = car->x + (wheel == 0 ? -CHIPMUNK_AXLE : CHIPMUNK_AXLE);
        at->y = car->y - CHIPMUNK_AXLE_DEPTH;
    }
}

static void leave(chipmunk_world *world, uint32_t slot)
{
    memset(&world->drivers[slot], 0, sizeof world->drivers[slot]);
    memset(&world->bodies[slot * CHIPMUNK_CAR_BODIES], 0,
           CHIPMUNK_CAR_BODIES * sizeof *world->bodies);
    memset(&world->joints[slot * CHIPMUNK_CAR_JOINTS], 0,
           CHIPMUNK_CAR_JOINTS * sizeof *world->joints);
}

/* A seat that changes hands within one tick has both events: the leave comes first. */
static void run_events(const ls_step *step)
{
    chipmunk_world *world = step->state;
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        uint32_t events = step->inputs->slots[slot].events;
        if (events & LS_EVENT_LEFT) {
            leave(world, slot);
        }
        if (events & LS_EVENT_JOINED) {
            world->drivers[slot] = (chipmunk_driver){.is_here = 1, .goal = 1 - slot % 2};
            place_car(world, slot);
        }
    }
}

/* Back to the start at the press of a button, or out of the ravine. */
static void run_drive(const ls_step *step)
{
    chipmunk_world *world = step->state;
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        chipmunk_driver *driver = &world->drivers[slot];
        const ls_slot_input *input = &step->inputs->slots[slot];
        if (!driver->is_here) {
            continue;
        }
        driver->buttons = input->size > 0 ? input->bytes[0] : 0;
        bool is_rescue = (driver->buttons & CHIPMUNK_RESCUE) != 0;
        bool is_pressed = is_rescue && !driver->is_rescue_held;
        driver->is_rescue_held = is_rescue;
        if (is_pressed || world->bodies[slot * CHIPMUNK_CAR_BODIES].y < CHIPMUNK_FALLEN) {
            place_car(world, slot);
        }
    }
}

/* A crate that was squeezed or thrown out of the room falls in again from above. */
static void return_crates(chipmunk_world *world, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        chipmunk_body *crate = &world->bodies[CHIPMUNK_CRATES + i];
        if (crate->x < -CHIPMUNK_ROOM_HALF || crate->x > CHIPMUNK_ROOM_HALF ||
            crate->y < CHIPMUNK_RAVINE - 1) {
            *crate = (chipmunk_body){.x = -12.0, .y = 10.0};
        }
    }
}

static void run_score(const ls_step *step)
{
    chipmunk_world *world = step->state;
    return_crates(world, chipmunk_crates(step->config));
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        chipmunk_driver *driver = &world->drivers[slot];
        double x = world->bodies[slot * CHIPMUNK_CAR_BODIES].x;
        if (driver->is_here && (driver->goal != 0 ? x > CHIPMUNK_GOAL : x < -CHIPMUNK_GOAL)) {
            driver->goal = driver->goal == 0;
            driver->crossings++;
        }
    }
}

/* The engine rounds as the process does, so the process rounds as it should. */
static void pass_events(const ls_step *step)
{
    ls_strict_double_pass(run_events, step);
}

static void pass_drive(const ls_step *step)
{
    ls_strict_double_pass(run_drive, step);
}

static void pass_score(const ls_step *step)
{
    ls_strict_double_pass(run_score, step);
}

static void pass_engine(const ls_step *step)
{
    ls_strict_double_pass(chipmunk_run_space, step);
}

static const ls_pass passes[] = {
    {"events", pass_events}, {"drive", pass_drive}, {"engine", pass_engine}, {"score", pass_score}};

static const ls_simulation chipmunk = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "chipmunk",
    .summary = "buggies cross a rope bridge and a seesaw, by the Chipmunk engine",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = CHIPMUNK_PLAYERS_MAX,
    .input_bytes_max = 1,
    .params = params,
    .param_count = CHIPMUNK_PARAM_COUNT,
    .passes = passes,
    .pass_count = sizeof passes / sizeof *passes,
    .content_digest = content_digest,
    .state_bytes = state_bytes,
    .scratch_bytes = chipmunk_scratch_bytes,
    .fields = fields,
    .init = init,
    .draw = chipmunk_draw,
    .bot = chipmunk_bot,
    .control = chipmunk_control,
    .input_bits = ls_buttons_in_first_byte,
};

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    return &chipmunk;
}
