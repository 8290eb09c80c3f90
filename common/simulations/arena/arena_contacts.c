/* The pass that finds contacts: points and rows for the solver. Contacts follow the pairs, by
 * number of the awake body, then of the other; those with walls come last. The order is the
 * solver's, so it is part of the rules of the game. */
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_touches.h"

#include <string.h>

/* Approaching more slowly than this, bodies do not bounce. */
#define BOUNCE_SPEED_MIN LS_FIXED_RATIO(1, 2)

static const ls_arena_body wall_body; /* at rest and beyond any force: all zeros */

static ls_arena_row make_row(ls_vec2 direction, ls_vec2 point, const ls_arena_body *a,
                             const ls_arena_body *b)
{
    ls_arena_row row = {
        .arm_a = ls_vec2_cross(ls_vec2_sub(point, a->position), direction),
        .arm_b = ls_vec2_cross(ls_vec2_sub(point, b->position), direction),
    };
    row.spin_a = ls_fixed_mul(row.arm_a, a->inverse_inertia);
    row.spin_b = ls_fixed_mul(row.arm_b, b->inverse_inertia);
    ls_fixed turning =
        ls_fixed_add(ls_fixed_mul(row.arm_a, row.spin_a), ls_fixed_mul(row.arm_b, row.spin_b));
    ls_fixed inverse = ls_fixed_add(ls_fixed_add(a->inverse_mass, b->inverse_mass), turning);
    row.mass = ls_fixed_div(LS_FIXED_ONE, inverse);
    return row;
}

static ls_arena_point make_point(const ls_arena_world *world, const ls_arena_manifold *manifold,
                                 uint32_t index, const ls_arena_body *a, const ls_arena_body *b)
{
    ls_arena_point point = {.depth = manifold->depths[index]};
    point.row = make_row(manifold->normal, manifold->points[index], a, b);
    ls_vec2 between = ls_vec2_sub(b->velocity, a->velocity);
    ls_fixed turning = ls_fixed_sub(ls_fixed_mul(point.row.arm_b, b->spin),
                                    ls_fixed_mul(point.row.arm_a, a->spin));
    ls_fixed speed = ls_fixed_add(ls_vec2_dot(manifold->normal, between), turning);
    if (speed < -BOUNCE_SPEED_MIN) {
        point.bounce = ls_fixed_negate(ls_fixed_mul(speed, world->rules.restitution));
    }
    return point;
}

static ls_vec2 middle_of(const ls_arena_manifold *manifold)
{
    ls_vec2 last = manifold->points[manifold->count - 1];
    ls_vec2 way = ls_vec2_sub(last, manifold->points[0]);
    return ls_vec2_add(manifold->points[0], (ls_vec2){way.x / 2, way.y / 2});
}

/* The number of the body's mover, which is made when the body is met first. */
static uint32_t mover_of(ls_arena_world *world, uint32_t index)
{
    uint32_t *mover = &world->mover_of[index];
    if (*mover == 0) {
        const ls_arena_body *body = &world->bodies[index];
        *mover = (*world->mover_count)++;
        world->movers[*mover] = (ls_arena_mover){
            .velocity = body->velocity,
            .spin = body->spin,
            .inverse_mass = body->inverse_mass,
            .inverse_inertia = body->inverse_inertia,
        };
    }
    return *mover;
}

/* Whichever of two bodies comes first, their points stand in one order along the surface. */
static bool is_first_point_last(const ls_arena_manifold *manifold, bool is_lower_first)
{
    ls_vec2 way = ls_vec2_sub(manifold->points[1], manifold->points[0]);
    return (ls_vec2_cross(manifold->normal, way) < 0) == is_lower_first;
}

/* `b` is a body or LS_ARENA_WALL. */
static void add_contact(ls_arena_world *world, uint32_t a, uint32_t b, uint32_t wall,
                        const ls_arena_manifold *manifold)
{
    if (manifold->count == 0 || world->match->contacts >= world->contact_capacity) {
        return;
    }
    const ls_arena_body *body_a = &world->bodies[a];
    const ls_arena_body *body_b = b == LS_ARENA_WALL ? &wall_body : &world->bodies[b];
    ls_arena_contact *contact = &world->contacts[world->match->contacts++];
    ls_vec2 along = {ls_fixed_negate(manifold->normal.y), manifold->normal.x};
    *contact = (ls_arena_contact){
        .mover_a = mover_of(world, a),
        .mover_b = b == LS_ARENA_WALL ? 0 : mover_of(world, b),
        .a = a,
        .b = b,
        .wall = wall,
        .point_count = (uint16_t)manifold->count,
        .normal = manifold->normal,
        .inverse_mass = ls_fixed_add(body_a->inverse_mass, body_b->inverse_mass),
        .friction = make_row(along, middle_of(manifold), body_a, body_b),
    };
    uint32_t flip = manifold->count == 2 && is_first_point_last(manifold, a < b);
    for (uint32_t i = 0; i < manifold->count; i++) {
        contact->points[i] = make_point(world, manifold, i ^ flip, body_a, body_b);
    }
    ls_arena_touches_recall(world, contact);
}

static void find_contacts_of(ls_arena_world *world, uint32_t a)
{
    for (uint32_t k = world->first_pairs[a]; k != LS_ARENA_NO_PAIR; k = world->pairs[k].next) {
        uint32_t b = world->pairs[k].b;
        ls_arena_manifold manifold = ls_arena_collide(&world->bodies[a], &world->bodies[b]);
        add_contact(world, a, b, 0, &manifold);
    }
}

static void find_wall_contacts(ls_arena_world *world, uint32_t index)
{
    for (uint32_t wall = 0; wall < 4; wall++) {
        ls_arena_manifold manifold =
            ls_arena_collide_wall(&world->bodies[index], wall, world->half_size, LS_ARENA_SLOP);
        add_contact(world, index, LS_ARENA_WALL, wall, &manifold);
    }
}

static void clear_movers(ls_arena_world *world)
{
    world->movers[0] = (ls_arena_mover){.spin = 0};
    *world->mover_count = 1;
    memset(world->mover_of, 0, world->layout.body_count * sizeof *world->mover_of);
}

void ls_arena_pass_narrowphase(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    world.match->contacts = 0;
    clear_movers(&world);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        find_contacts_of(&world, i);
    }
    for (const uint32_t *near_wall = world.near_wall; *near_wall != LS_ARENA_WALL; near_wall++) {
        find_wall_contacts(&world, *near_wall);
    }
}
