/* Shots: fired from a ship's nose, flying straight until they meet a body or a wall or their time
 * is up. They push what they meet and hurt ships, in the order of their numbers. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

#include <string.h>

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

void ls_arena_fire(ls_arena_world *world, uint32_t slot)
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
