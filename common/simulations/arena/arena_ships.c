#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

#include <string.h>

/* ---- integrating ---- */

/* The pass that moves bodies: those that nothing touches by their speeds, others as the solver
 * said, none beyond a wall. Bodies that hardly move fall asleep. */

#define STILL_SPEED LS_FIXED_RATIO(5, 100) /* m/s */
#define STILL_SPIN LS_FIXED_RATIO(1, 10)   /* rad/s */

static bool is_between(ls_fixed value, ls_fixed limit)
{
    return -limit < value && value < limit;
}

/* Along each axis shorter than half of what is allowed, as nearly all are, a vector is not too
 * long: that needs no squares. */
static ls_vec2 limit_length(ls_vec2 vector, ls_fixed max)
{
    if (is_between(vector.x, max / 2) && is_between(vector.y, max / 2)) {
        return vector;
    }
    vector.x = ls_fixed_clamp(vector.x, -max, max);
    vector.y = ls_fixed_clamp(vector.y, -max, max);
    ls_fixed square = ls_vec2_dot(vector, vector);
    if (square > ls_fixed_mul(max, max)) {
        vector = ls_vec2_scale(vector, ls_fixed_div(max, ls_fixed_sqrt(square)));
    }
    return vector;
}

static ls_fixed square_of(ls_fixed small)
{
    return ls_fixed_mul_small(small, small);
}

static bool is_still(const ls_arena_body *body)
{
    ls_vec2 v = body->velocity;
    return is_between(v.x, STILL_SPEED) && is_between(v.y, STILL_SPEED) &&
           is_between(body->spin, STILL_SPIN) &&
           square_of(v.x) + square_of(v.y) < square_of(STILL_SPEED);
}

static void watch_stillness(const ls_arena_rules *rules, ls_arena_body *body)
{
    if (!is_still(body)) {
        body->still_ticks = 0;
    } else if (body->still_ticks < rules->still_limit) {
        body->still_ticks++;
    } else {
        body->velocity = (ls_vec2){0, 0};
        body->spin = 0;
    }
}

static void slow_down(const ls_arena_rules *rules, ls_arena_body *body)
{
    body->velocity.x = ls_fixed_mul_share(body->velocity.x, rules->drag_keep);
    body->velocity.y = ls_fixed_mul_share(body->velocity.y, rules->drag_keep);
    body->spin = ls_fixed_mul_share(body->spin, rules->drag_keep);
}

/* The limits of speed and spin keep ways and turns of a tick below 0.4. */
static void move_freely(const ls_arena_rules *rules, ls_arena_body *body)
{
    ls_vec2 way = {ls_fixed_mul_small(body->velocity.x, rules->dt),
                   ls_fixed_mul_small(body->velocity.y, rules->dt)};
    body->position = ls_vec2_add(body->position, way);
    body->angle += ls_angle_from_radians(ls_fixed_mul_small(body->spin, rules->dt));
}

/* As the solver moved it, who did not know of the limits. */
static void move_along(const ls_arena_rules *rules, const ls_arena_mover *mover,
                       ls_arena_body *body)
{
    ls_fixed turn_max = ls_fixed_mul(rules->spin_max, rules->dt);
    ls_vec2 way = limit_length(mover->way, ls_fixed_mul(rules->speed_max, rules->dt));
    body->position = ls_vec2_add(body->position, way);
    body->angle += ls_angle_from_radians(ls_fixed_clamp(mover->turn, -turn_max, turn_max));
}

/* No corner is behind a wall after this, whatever happened before. */
static void keep_inside(ls_fixed half_size, ls_arena_body *body)
{
    ls_fixed room = ls_fixed_sub(half_size, body->radius);
    if (ls_fixed_abs(body->position.x) <= room && ls_fixed_abs(body->position.y) <= room) {
        return;
    }
    ls_vec2 extent = ls_arena_extent(body);
    ls_fixed x = ls_fixed_max(ls_fixed_sub(half_size, extent.x), 0);
    ls_fixed y = ls_fixed_max(ls_fixed_sub(half_size, extent.y), 0);
    body->position.x = ls_fixed_clamp(body->position.x, ls_fixed_negate(x), x);
    body->position.y = ls_fixed_clamp(body->position.y, ls_fixed_negate(y), y);
}

static void move(const ls_arena_world *world, const ls_arena_mover *mover, ls_arena_body *body)
{
    const ls_arena_rules *rules = &world->rules;
    body->velocity = limit_length(body->velocity, rules->speed_max);
    body->spin = ls_fixed_clamp(body->spin, -rules->spin_max, rules->spin_max);
    watch_stillness(rules, body);
    if (ls_arena_is_asleep(world, body)) {
        return;
    }
    slow_down(rules, body);
    if (mover) {
        move_along(rules, mover, body);
    } else {
        move_freely(rules, body);
    }
}

void ls_arena_pass_integrate(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        ls_arena_body *body = &world.bodies[i];
        if (body->shape == LS_ARENA_NONE) {
            continue;
        }
        const ls_arena_mover *mover = NULL;
        if (world.mover_of[i] != 0) {
            mover = &world.movers[world.mover_of[i]];
            body->velocity = mover->velocity;
            body->spin = mover->spin;
        }
        if (!ls_arena_is_asleep(&world, body)) {
            move(&world, mover, body);
        }
        keep_inside(world.half_size, body);
    }
}

/* ---- shots ---- */

/* Shots: fired from a ship's nose, flying straight until they meet a body or a wall or their time
 * is up. They push what they meet and hurt ships, in the order of their numbers. */

#define SHOT_MASS LS_FIXED_RATIO(1, 10)       /* kg */
#define SHOT_TRAVEL_MAX LS_FIXED_RATIO(7, 10) /* m in a tick */
#define SHOT_MILLISECONDS 1500u
#define COOLDOWN_MILLISECONDS 200u
#define RESPAWN_MILLISECONDS 2000u

/* A shot is looked at this often in a tick, so that what it crosses between looks is less than
 * the smallest body is wide, even when that comes towards it. */
#define SHOT_LOOKS 2

/* How far bodies may have gone since the grid was built. */
#define GRID_AGE LS_FIXED_RATIO(1, 2)

#define DAMAGE 20u
#define HIT_SCORE 1u
#define KILL_SCORE 5u

static ls_arena_shot *free_shot(ls_arena_world *world, uint32_t slot)
{
    ls_arena_shot *shots = &world->shots[(size_t)slot * world->layout.shots_each];
    for (uint32_t i = 0; i < world->layout.shots_each; i++) {
        if (shots[i].ticks_left == 0) {
            return &shots[i];
        }
    }
    return NULL;
}

/* Fires from the slot's ship, which is in play, unless all its shots are in flight. */
static void fire(ls_arena_world *world, uint32_t slot)
{
    ls_arena_shot *shot = free_shot(world, slot);
    if (shot == NULL) {
        return;
    }
    const ls_arena_body *body = &world->bodies[slot];
    ls_vec2 heading = ls_vec2_from_angle(body->angle);
    ls_fixed nose = LS_ARENA_SHIP_RADIUS + LS_ARENA_SHOT_RADIUS;
    ls_fixed rate = LS_FIXED_INT(world->tick_rate_hz);
    ls_fixed speed = ls_fixed_min(LS_ARENA_SHOT_SPEED, ls_fixed_mul(SHOT_TRAVEL_MAX, rate));
    *shot = (ls_arena_shot){
        .position = ls_vec2_add(body->position, ls_vec2_scale(heading, nose)),
        .velocity = ls_vec2_scale(heading, speed),
        .serial = ++world->match->serial,
        .ticks_left = ls_arena_ticks(world, SHOT_MILLISECONDS),
    };
    world->ships[slot].cooldown_ticks = ls_arena_ticks(world, COOLDOWN_MILLISECONDS);
}

static void destroy_ship(ls_arena_world *world, uint32_t slot)
{
    memset(&world->bodies[slot], 0, sizeof world->bodies[slot]);
    world->ships[slot].health = 0;
    world->ships[slot].deaths++;
    world->ships[slot].respawn_ticks = ls_arena_ticks(world, RESPAWN_MILLISECONDS);
}

static void hurt_ship(ls_arena_world *world, uint32_t slot, ls_arena_ship *shooter)
{
    ls_arena_ship *ship = &world->ships[slot];
    shooter->score += HIT_SCORE;
    if (ship->health > DAMAGE) {
        ship->health -= DAMAGE;
        return;
    }
    shooter->score += KILL_SCORE;
    shooter->kills++;
    destroy_ship(world, slot);
}

/* The shot's momentum relative to the body goes over to it, at the point where they meet. */
static void push_body(const ls_arena_shot *shot, ls_vec2 point, ls_arena_body *body)
{
    ls_vec2 closing = ls_vec2_sub(shot->velocity, body->velocity);
    ls_vec2 impulse = ls_vec2_scale(closing, SHOT_MASS);
    ls_vec2 arm = ls_vec2_sub(point, body->position);
    ls_fixed spin = ls_fixed_mul(ls_vec2_cross(arm, impulse), body->inverse_inertia);
    body->velocity = ls_vec2_add(body->velocity, ls_vec2_scale(impulse, body->inverse_mass));
    body->spin = ls_fixed_add(body->spin, spin);
    body->still_ticks = 0;
}

/* The body with the lowest number that the shot touches, or LS_ARENA_WALL. The shooter's own ship
 * is not among them. */
static uint32_t find_hit(const ls_arena_world *world, const ls_arena_body *probe, uint32_t owner,
                         ls_arena_manifold *out)
{
    uint32_t hit = LS_ARENA_WALL;
    ls_fixed reach = LS_ARENA_SHOT_RADIUS + LS_ARENA_RADIUS_MAX + GRID_AGE;
    const ls_arena_grid *grid = &world->grid;
    ls_arena_region region = ls_arena_grid_squares(grid, probe->position, reach);
    uint32_t last_row = ls_arena_grid_row(grid, region.last_y);
    for (uint32_t row = ls_arena_grid_row(grid, region.first_y); row <= last_row; row++) {
        ls_arena_range range = ls_arena_grid_range(grid, &region, row);
        for (uint32_t k = range.begin; k < range.end; k++) {
            uint32_t index = grid->sorted.tags[k];
            const ls_arena_body *body = &world->bodies[index];
            if (index == owner || index >= hit ||
                !ls_arena_grid_is_in(&region, ls_arena_circle_at(&grid->sorted, k)) ||
                !ls_arena_circles_overlap(probe, body)) {
                continue;
            }
            ls_arena_manifold manifold = ls_arena_collide(probe, body);
            if (manifold.count > 0) {
                hit = index;
                *out = manifold;
            }
        }
    }
    return hit;
}

static bool is_at_wall(const ls_arena_world *world, ls_vec2 position)
{
    ls_fixed room = world->half_size - LS_ARENA_SHOT_RADIUS;
    return ls_fixed_abs(position.x) >= room || ls_fixed_abs(position.y) >= room;
}

/* Moves by one look; true when the shot's flight ends there. */
static bool fly(ls_arena_world *world, ls_arena_shot *shot, uint32_t owner)
{
    ls_vec2 way = ls_vec2_scale(shot->velocity, world->rules.dt / SHOT_LOOKS);
    shot->position = ls_vec2_add(shot->position, way);
    if (is_at_wall(world, shot->position)) {
        return true;
    }
    ls_arena_body probe = {
        .position = shot->position,
        .half = {LS_ARENA_SHOT_RADIUS, LS_ARENA_SHOT_RADIUS},
        .radius = LS_ARENA_SHOT_RADIUS,
        .shape = LS_ARENA_DISC,
    };
    ls_arena_manifold manifold;
    uint32_t hit = find_hit(world, &probe, owner, &manifold);
    if (hit == LS_ARENA_WALL) {
        return false;
    }
    world->ships[owner].hits++;
    push_body(shot, manifold.points[0], &world->bodies[hit]);
    if (hit < world->layout.player_count) {
        hurt_ship(world, hit, &world->ships[owner]);
    }
    return true;
}

void ls_arena_pass_shots(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t i = 0; i < world.layout.shot_count; i++) {
        ls_arena_shot *shot = &world.shots[i];
        uint32_t owner = i / world.layout.shots_each;
        if (shot->ticks_left == 0) {
            continue;
        }
        bool is_over = --shot->ticks_left == 0;
        for (int look = 0; look < SHOT_LOOKS && !is_over; look++) {
            is_over = fly(&world, shot, owner);
        }
        if (is_over) {
            memset(shot, 0, sizeof *shot);
        }
    }
}

/* ---- ships ---- */

/* The passes of the players: joins and leaves, the pads' effect on ships, and ships coming into
 * play. All in slot order. Pads come from other machines: any bytes mean something harmless. */

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
            fire(&world, slot);
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
