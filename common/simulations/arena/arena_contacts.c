/* The pass that finds contacts: points and rows for the solver. Contacts follow the pairs, by
 * number of the awake body, then of the other; those with walls come last. The order is the
 * solver's, so it is part of the rules of the game. */
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

/* Approaching more slowly than this, bodies do not bounce. */
#define BOUNCE_SPEED_MIN LS_FIXED_RATIO(1, 2)

static const ls_arena_body wall_body; /* at rest and beyond any force: all zeros */

static ls_arena_row make_row(ls_vec2 direction, ls_vec2 point, const ls_arena_body *a,
                             const ls_arena_body *b)
{
    ls_arena_row row = {
        .direction = direction,
        .turn_a = ls_vec2_cross(ls_vec2_sub(point, a->position), direction),
        .turn_b = ls_vec2_cross(ls_vec2_sub(point, b->position), direction),
    };
    ls_fixed by_a = ls_fixed_mul(ls_fixed_mul(row.turn_a, row.turn_a), a->inverse_inertia);
    ls_fixed by_b = ls_fixed_mul(ls_fixed_mul(row.turn_b, row.turn_b), b->inverse_inertia);
    ls_fixed inverse =
        ls_fixed_add(ls_fixed_add(a->inverse_mass, b->inverse_mass), ls_fixed_add(by_a, by_b));
    row.mass = ls_fixed_div(LS_FIXED_ONE, inverse);
    return row;
}

/* `second` is a body or LS_ARENA_WALL. */
static void add_contact(ls_arena_world *world, uint32_t first, uint32_t second,
                        const ls_arena_manifold *manifold)
{
    if (manifold->count == 0 || world->match->contacts >= world->contact_capacity) {
        return;
    }
    const ls_arena_body *a = &world->bodies[first];
    const ls_arena_body *b = second == LS_ARENA_WALL ? &wall_body : &world->bodies[second];
    ls_arena_contact *contact = &world->contacts[world->match->contacts++];
    contact->a = first;
    contact->b = second;
    contact->point_count = manifold->count;
    contact->depth = manifold->depths[0];
    ls_vec2 along = {ls_fixed_negate(manifold->normal.y), manifold->normal.x};
    for (uint32_t i = 0; i < manifold->count; i++) {
        contact->depth = ls_fixed_max(contact->depth, manifold->depths[i]);
        ls_arena_row normal = make_row(manifold->normal, manifold->points[i], a, b);
        ls_fixed speed = ls_arena_row_speed(&normal, a, b);
        if (speed < -BOUNCE_SPEED_MIN) {
            normal.target = ls_fixed_negate(ls_fixed_mul(speed, world->rules.restitution));
        }
        contact->normals[i] = normal;
        contact->tangents[i] = make_row(along, manifold->points[i], a, b);
    }
}

static void find_contacts_of(ls_arena_world *world, uint32_t a)
{
    for (uint32_t k = world->first_pairs[a]; k != LS_ARENA_NO_PAIR; k = world->pairs[k].next) {
        uint32_t b = world->pairs[k].b;
        ls_arena_manifold manifold = ls_arena_collide(&world->bodies[a], &world->bodies[b]);
        add_contact(world, a, b, &manifold);
    }
}

static void find_wall_contacts(ls_arena_world *world, uint32_t index)
{
    for (uint32_t wall = 0; wall < 4; wall++) {
        ls_arena_manifold manifold =
            ls_arena_collide_wall(&world->bodies[index], wall, world->half_size, LS_ARENA_SLOP);
        add_contact(world, index, LS_ARENA_WALL, &manifold);
    }
}

void ls_arena_pass_narrowphase(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    world.match->contacts = 0;
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        find_contacts_of(&world, i);
    }
    for (const uint32_t *near_wall = world.near_wall; *near_wall != LS_ARENA_WALL; near_wall++) {
        find_wall_contacts(&world, *near_wall);
    }
}
