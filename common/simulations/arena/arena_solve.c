/* The passes that move bodies: impulses at the contacts, overlaps taken away, velocities applied.
 * Sequential impulses with accumulated clamping (E. Catto, "Iterative Dynamics with Temporal
 * Coherence", 2005), without warm starting: seen from above nothing rests on anything. */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

/* Share of an overlap that one tick takes away, and the most that it moves a body. */
#define SEPARATE_SHARE LS_FIXED_RATIO(3, 10)
#define SEPARATE_MAX LS_FIXED_RATIO(1, 10)

#define STILL_SPEED LS_FIXED_RATIO(5, 100) /* m/s */
#define STILL_SPIN LS_FIXED_RATIO(1, 10)   /* rad/s */

/* ---- solve ---- */

static void push(ls_arena_body *body, const ls_arena_row *row, ls_fixed turn, ls_fixed impulse)
{
    ls_vec2 change = ls_vec2_scale(row->direction, ls_fixed_mul(impulse, body->inverse_mass));
    body->velocity = ls_vec2_add(body->velocity, change);
    ls_fixed spin = ls_fixed_mul(turn, ls_fixed_mul(impulse, body->inverse_inertia));
    body->spin = ls_fixed_add(body->spin, spin);
}

/* Drives the row's speed to its target; the impulse so far stays within low .. high. */
static void solve_row(ls_arena_row *row, ls_arena_body *a, ls_arena_body *b, ls_fixed low,
                      ls_fixed high)
{
    ls_fixed missing = ls_fixed_sub(row->target, ls_arena_row_speed(row, a, b));
    ls_fixed wanted = ls_fixed_add(row->impulse, ls_fixed_mul(row->mass, missing));
    ls_fixed allowed = ls_fixed_max(ls_fixed_min(wanted, high), low);
    ls_fixed impulse = ls_fixed_sub(allowed, row->impulse);
    row->impulse = allowed;
    push(a, row, row->turn_a, ls_fixed_negate(impulse));
    push(b, row, row->turn_b, impulse);
}

static void solve_contact(const ls_arena_world *world, ls_arena_contact *contact, ls_arena_body *a,
                          ls_arena_body *b)
{
    for (uint32_t i = 0; i < contact->point_count; i++) {
        solve_row(&contact->normals[i], a, b, 0, LS_FIXED_MAX);
        ls_fixed grip = ls_fixed_mul(world->rules.friction, contact->normals[i].impulse);
        solve_row(&contact->tangents[i], a, b, ls_fixed_negate(grip), grip);
    }
}

void ls_arena_pass_solve(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t iteration = 0; iteration < world.rules.iterations; iteration++) {
        for (uint32_t i = 0; i < world.match->contacts; i++) {
            ls_arena_contact *contact = &world.contacts[i];
            ls_arena_body wall = {0};
            ls_arena_body *b = contact->b == LS_ARENA_WALL ? &wall : &world.bodies[contact->b];
            solve_contact(&world, contact, &world.bodies[contact->a], b);
        }
    }
}

/* ---- separate ---- */

/* Shares the way by mass, the lighter body going further. Bodies that still overlap stay awake. */
static void separate(ls_arena_body *a, ls_arena_body *b, ls_vec2 normal, ls_fixed overlap)
{
    ls_fixed way = ls_fixed_min(ls_fixed_mul(overlap, SEPARATE_SHARE), SEPARATE_MAX);
    ls_fixed sum = ls_fixed_add(a->inverse_mass, b->inverse_mass);
    ls_fixed way_a = ls_fixed_mul(way, ls_fixed_div(a->inverse_mass, sum));
    ls_fixed way_b = ls_fixed_sub(way, way_a);
    a->position = ls_vec2_sub(a->position, ls_vec2_scale(normal, way_a));
    b->position = ls_vec2_add(b->position, ls_vec2_scale(normal, way_b));
    if (overlap > LS_ARENA_SLOP) {
        a->still_ticks = 0;
        b->still_ticks = 0;
    }
}

/* Walls need none of this: integrate puts bodies back inside them. */
void ls_arena_pass_separate(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t i = 0; i < world.match->contacts; i++) {
        const ls_arena_contact *contact = &world.contacts[i];
        ls_fixed overlap = ls_fixed_sub(contact->depth, LS_ARENA_SLOP);
        if (contact->b != LS_ARENA_WALL && overlap > 0) {
            separate(&world.bodies[contact->a], &world.bodies[contact->b],
                     contact->normals[0].direction, overlap);
        }
    }
}

/* ---- integrate ---- */

static bool is_between(ls_fixed value, ls_fixed limit)
{
    return -limit < value && value < limit;
}

/* Along each axis slower than half of what is allowed, as nearly all are, a body is not too fast:
 * that needs no squares. */
static void limit_speed(const ls_arena_rules *rules, ls_arena_body *body)
{
    ls_fixed max = rules->speed_max;
    body->spin = ls_fixed_clamp(body->spin, -rules->spin_max, rules->spin_max);
    if (is_between(body->velocity.x, max / 2) && is_between(body->velocity.y, max / 2)) {
        return;
    }
    body->velocity.x = ls_fixed_clamp(body->velocity.x, -max, max);
    body->velocity.y = ls_fixed_clamp(body->velocity.y, -max, max);
    ls_fixed square = ls_vec2_dot(body->velocity, body->velocity);
    if (square > ls_fixed_mul(max, max)) {
        ls_fixed share = ls_fixed_div(max, ls_fixed_sqrt(square));
        body->velocity = ls_vec2_scale(body->velocity, share);
    }
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

/* The limits of speed and spin keep ways and turns of a tick below 0.4. */
static void move(const ls_arena_rules *rules, ls_arena_body *body)
{
    body->velocity.x = ls_fixed_mul_share(body->velocity.x, rules->drag_keep);
    body->velocity.y = ls_fixed_mul_share(body->velocity.y, rules->drag_keep);
    body->spin = ls_fixed_mul_share(body->spin, rules->drag_keep);
    ls_vec2 way = {ls_fixed_mul_small(body->velocity.x, rules->dt),
                   ls_fixed_mul_small(body->velocity.y, rules->dt)};
    body->position = ls_vec2_add(body->position, way);
    body->angle += ls_angle_from_radians(ls_fixed_mul_small(body->spin, rules->dt));
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

/* Asleep, and nothing has pushed it in this tick: what is below would leave it as it is. */
static bool is_at_rest(const ls_arena_world *world, const ls_arena_body *body)
{
    return ls_arena_is_asleep(world, body) &&
           (body->velocity.x | body->velocity.y | body->spin) == 0;
}

void ls_arena_pass_integrate(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        ls_arena_body *body = &world.bodies[i];
        if (body->shape == LS_ARENA_NONE) {
            continue;
        }
        if (!is_at_rest(&world, body)) {
            limit_speed(&world.rules, body);
            watch_stillness(&world.rules, body);
            move(&world.rules, body);
        }
        keep_inside(world.half_size, body);
    }
}
