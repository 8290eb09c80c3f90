/* The passes of the players: joins and leaves, the pads' effect on ships, and ships coming into
 * play. All in slot order. Pads come from other machines: any bytes mean something harmless. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

#include <string.h>

#define SHIP_DENSITY LS_FIXED_INT(2)       /* kg/m2 */
#define SHIP_ACCELERATION LS_FIXED_INT(16) /* m/s2; backwards half of it */
#define SHIP_TURN_RATE LS_FIXED_INT(4)     /* rad/s with the stick at its end */
#define SHIP_TURN_GAIN LS_FIXED_INT(10)    /* 1/s: how fast the turn rate follows the stick */
#define SHIP_DRAG LS_FIXED_RATIO(8, 10)    /* 1/s: holds ships below 16 / 0.8 = 20 m/s */
#define SHIP_BRAKE LS_FIXED_INT(3)         /* 1/s, in addition */

#define SPAWN_TRIES 8u
#define SPAWN_CLEARANCE LS_FIXED_RATIO(1, 2)
#define SPAWN_WALL_DISTANCE LS_FIXED_INT(2)

/* ---- events ---- */

static void leave(ls_arena_world *world, uint32_t slot)
{
    uint32_t first_shot = slot * world->layout.shots_each;
    memset(&world->ships[slot], 0, sizeof world->ships[slot]);
    memset(&world->bodies[slot], 0, sizeof world->bodies[slot]);
    memset(&world->shots[first_shot], 0, world->layout.shots_each * sizeof world->shots[0]);
}

/* A seat that changes hands within one tick has both events: the leave comes first. */
void ls_arena_pass_events(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t slot = 0; slot < world.layout.player_count; slot++) {
        uint32_t events = world.inputs->slots[slot].events;
        if (events & LS_EVENT_LEFT) {
            leave(&world, slot);
        }
        if ((events & LS_EVENT_JOINED) && !world.ships[slot].is_present) {
            world.ships[slot].is_present = 1;
            world.ships[slot].respawn_ticks = 1;
        }
    }
}

/* ---- ships ---- */

static void read_pad(const ls_slot_input *input, ls_arena_ship *ship)
{
    ship->buttons = input->size > 0 ? input->bytes[0] : 0;
    int32_t stick = input->size > 1 ? input->bytes[1] : 0;
    stick = stick < 128 ? stick : stick - 256;
    bool is_left = (ship->buttons & LS_ARENA_LEFT) != 0;
    bool is_right = (ship->buttons & LS_ARENA_RIGHT) != 0;
    if (is_left != is_right) {
        stick = is_left ? 127 : -127;
    }
    ship->steer = (int8_t)LS_MAX(stick, -127);
}

/* The share of a difference that a rate in 1/s takes away in one tick. */
static ls_fixed share_of_tick(const ls_arena_rules *rules, ls_fixed rate)
{
    return ls_fixed_min(ls_fixed_mul(rate, rules->dt), LS_FIXED_ONE);
}

static void steer(const ls_arena_rules *rules, const ls_arena_ship *ship, ls_arena_body *body)
{
    ls_fixed wanted = ls_fixed_mul(SHIP_TURN_RATE, LS_FIXED_RATIO(ship->steer, 127));
    ls_fixed missing = ls_fixed_sub(wanted, body->spin);
    ls_fixed change = ls_fixed_mul(missing, share_of_tick(rules, SHIP_TURN_GAIN));
    body->spin = ls_fixed_add(body->spin, change);
}

static void drive(const ls_arena_rules *rules, const ls_arena_ship *ship, ls_arena_body *body)
{
    ls_fixed acceleration = 0;
    if (ship->buttons & LS_ARENA_THRUST) {
        acceleration += SHIP_ACCELERATION;
    }
    if (ship->buttons & LS_ARENA_REVERSE) {
        acceleration -= SHIP_ACCELERATION / 2;
    }
    ls_fixed rate = ship->buttons & LS_ARENA_BRAKE ? SHIP_DRAG + SHIP_BRAKE : SHIP_DRAG;
    ls_vec2 lost = ls_vec2_scale(body->velocity, share_of_tick(rules, rate));
    ls_vec2 heading = ls_vec2_from_angle(body->angle);
    ls_vec2 gained = ls_vec2_scale(heading, ls_fixed_mul(acceleration, rules->dt));
    body->velocity = ls_vec2_add(ls_vec2_sub(body->velocity, lost), gained);
}

void ls_arena_pass_ships(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t slot = 0; slot < world.layout.player_count; slot++) {
        ls_arena_ship *ship = &world.ships[slot];
        ls_arena_body *body = &world.bodies[slot];
        if (!ship->is_present) {
            continue;
        }
        read_pad(&world.inputs->slots[slot], ship);
        ship->cooldown_ticks -= ship->cooldown_ticks > 0;
        if (body->shape == LS_ARENA_NONE) {
            continue;
        }
        steer(&world.rules, ship, body);
        drive(&world.rules, ship, body);
        if (ship->buttons != 0 || ship->steer != 0) {
            body->still_ticks = 0;
        }
        if ((ship->buttons & LS_ARENA_FIRE) && ship->cooldown_ticks == 0) {
            ls_arena_fire(&world, slot);
        }
    }
}

/* ---- spawn ---- */

static bool is_clear_of(const ls_arena_body *probe, const ls_arena_body *other)
{
    return other->shape == LS_ARENA_NONE || !ls_arena_circles_overlap(probe, other);
}

/* The grid is this tick's, so it knows the bodies but not the ships that came in since. */
static bool is_clear(const ls_arena_world *world, ls_vec2 place)
{
    ls_arena_body probe = {.position = place, .radius = LS_ARENA_SHIP_RADIUS + SPAWN_CLEARANCE};
    for (uint32_t slot = 0; slot < world->layout.player_count; slot++) {
        if (!is_clear_of(&probe, &world->bodies[slot])) {
            return false;
        }
    }
    const ls_arena_grid *grid = &world->grid;
    ls_arena_region region = ls_arena_grid_squares(grid, place, probe.radius + LS_ARENA_RADIUS_MAX);
    uint32_t last_row = ls_arena_grid_row(grid, region.last_y);
    for (uint32_t row = ls_arena_grid_row(grid, region.first_y); row <= last_row; row++) {
        ls_arena_range range = ls_arena_grid_range(grid, &region, row);
        for (uint32_t k = range.begin; k < range.end; k++) {
            if (ls_arena_grid_is_in(&region, ls_arena_circle_at(&grid->sorted, k)) &&
                !is_clear_of(&probe, &world->bodies[grid->sorted.tags[k]])) {
                return false;
            }
        }
    }
    return true;
}

/* A random place, clear of everything when one is found soon. */
static ls_vec2 find_place(ls_arena_world *world)
{
    ls_fixed low = SPAWN_WALL_DISTANCE - world->half_size;
    ls_vec2 place = {0, 0};
    for (uint32_t attempt = 0; attempt < SPAWN_TRIES; attempt++) {
        place.x = low + ls_fixed_mul(ls_rng_unit(&world->match->spawn_rng), -2 * low);
        place.y = low + ls_fixed_mul(ls_rng_unit(&world->match->spawn_rng), -2 * low);
        if (is_clear(world, place)) {
            break;
        }
    }
    return place;
}

/* At rest, looking at the middle. */
static void spawn(ls_arena_world *world, uint32_t slot)
{
    ls_vec2 half = {LS_ARENA_SHIP_RADIUS, LS_ARENA_SHIP_RADIUS};
    ls_arena_body body = ls_arena_body_make(LS_ARENA_DISC, half, SHIP_DENSITY);
    body.position = find_place(world);
    body.angle = ls_fixed_atan2(-body.position.y, -body.position.x);
    body.serial = (uint16_t)++world->match->serial;
    world->bodies[slot] = body;
    world->ships[slot].health = LS_ARENA_SHIP_HEALTH;
    world->ships[slot].cooldown_ticks = 0;
}

void ls_arena_pass_spawn(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t slot = 0; slot < world.layout.player_count; slot++) {
        ls_arena_ship *ship = &world.ships[slot];
        if (!ship->is_present || world.bodies[slot].shape != LS_ARENA_NONE) {
            continue;
        }
        ship->respawn_ticks -= ship->respawn_ticks > 0;
        if (ship->respawn_ticks == 0) {
            spawn(&world, slot);
        }
    }
}
