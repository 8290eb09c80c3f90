/* The pass that moves bodies: those that nothing touches by their speeds, others as the solver
 * said, none beyond a wall. Bodies that hardly move fall asleep. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

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
