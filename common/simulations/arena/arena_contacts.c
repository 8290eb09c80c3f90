/* The passes that find contacts: pairs whose circles overlap, then points and rows for the solver.
 * Pairs stand by number of the awake body, then of the other; contacts follow the pairs, those
 * with walls come last. The order is the solver's, so it is part of the rules of the game. */
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

/* Approaching more slowly than this, bodies do not bounce. */
#define BOUNCE_SPEED_MIN LS_FIXED_RATIO(1, 2)

/* ---- broadphase ---- */

/* Neighbours lie beside one another then: the bodies themselves are a cache line apart or more. */
static void copy_circles(ls_arena_world *world)
{
    const ls_cell_grid *grid = &world->grid;
    uint32_t count = grid->starts[(size_t)grid->columns * grid->rows];
    for (uint32_t k = 0; k < count; k++) {
        const ls_arena_body *body = &world->bodies[grid->items[k]];
        world->circles[k] = (ls_arena_circle){.position = body->position,
                                              .radius = body->radius,
                                              .body = grid->items[k],
                                              .is_asleep = ls_arena_is_asleep(world, body)};
    }
}

static void sort_into_cells(ls_arena_world *world)
{
    world->match->awake = 0;
    for (uint32_t i = 0; i < world->layout.body_count; i++) {
        const ls_arena_body *body = &world->bodies[i];
        bool is_there = body->shape != LS_ARENA_NONE;
        world->cells[i] =
            is_there ? ls_cell_grid_cell(&world->grid, body->position) : LS_CELL_GRID_NONE;
        world->match->awake += is_there && !ls_arena_is_asleep(world, body);
    }
    ls_cell_grid_build(&world->grid, world->cells);
    copy_circles(world);
}

/* Keeps the new pairs of one body sorted by the other: there are few, insertion is fastest. */
static void insert_pair(ls_arena_world *world, uint32_t first, ls_arena_pair pair)
{
    if (world->match->pairs >= world->pair_capacity) {
        return;
    }
    uint32_t place = world->match->pairs++;
    for (; place > first && world->pairs[place - 1].b > pair.b; place--) {
        world->pairs[place] = world->pairs[place - 1];
    }
    world->pairs[place] = pair;
}

/* Two awake bodies find each other twice: the lower number keeps the pair. */
static void find_pairs_of(ls_arena_world *world, uint32_t a)
{
    const ls_arena_body *body = &world->bodies[a];
    ls_fixed reach = ls_fixed_add(body->radius, LS_ARENA_RADIUS_MAX);
    ls_cell_block block = ls_cell_grid_around(&world->grid, body->position, reach);
    uint32_t first = world->match->pairs;
    for (uint32_t row = block.first_row; row <= block.last_row; row++) {
        ls_cell_range range = ls_cell_grid_range(&world->grid, block, row);
        for (uint32_t k = range.begin; k < range.end; k++) {
            const ls_arena_circle *other = &world->circles[k];
            uint32_t b = other->body;
            ls_fixed touching = ls_fixed_add(body->radius, other->radius);
            bool is_ours = b > a || (b < a && other->is_asleep);
            if (is_ours && ls_arena_is_near(body->position, other->position, touching)) {
                insert_pair(world, first, (ls_arena_pair){a, b});
            }
        }
    }
}

void ls_arena_pass_broadphase(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    sort_into_cells(&world);
    world.match->pairs = 0;
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        const ls_arena_body *body = &world.bodies[i];
        if (body->shape != LS_ARENA_NONE && !ls_arena_is_asleep(&world, body)) {
            find_pairs_of(&world, i);
        }
    }
}

/* ---- narrowphase ---- */

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

static void add_contact(ls_arena_world *world, ls_arena_pair pair,
                        const ls_arena_manifold *manifold)
{
    if (manifold->count == 0 || world->match->contacts >= world->contact_capacity) {
        return;
    }
    const ls_arena_body *a = &world->bodies[pair.a];
    const ls_arena_body *b = pair.b == LS_ARENA_WALL ? &wall_body : &world->bodies[pair.b];
    ls_arena_contact *contact = &world->contacts[world->match->contacts++];
    contact->a = pair.a;
    contact->b = pair.b;
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

static void find_wall_contacts(ls_arena_world *world, uint32_t index)
{
    const ls_arena_body *body = &world->bodies[index];
    ls_fixed reach = ls_fixed_add(body->radius, LS_ARENA_SLOP);
    ls_fixed room = ls_fixed_sub(world->half_size, reach);
    if (ls_fixed_abs(body->position.x) < room && ls_fixed_abs(body->position.y) < room) {
        return;
    }
    for (uint32_t wall = 0; wall < 4; wall++) {
        ls_arena_manifold manifold =
            ls_arena_collide_wall(body, wall, world->half_size, LS_ARENA_SLOP);
        add_contact(world, (ls_arena_pair){index, LS_ARENA_WALL}, &manifold);
    }
}

void ls_arena_pass_narrowphase(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    world.match->contacts = 0;
    for (uint32_t i = 0; i < world.match->pairs; i++) {
        ls_arena_pair pair = world.pairs[i];
        ls_arena_manifold manifold = ls_arena_collide(&world.bodies[pair.a], &world.bodies[pair.b]);
        add_contact(&world, pair, &manifold);
    }
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        const ls_arena_body *body = &world.bodies[i];
        if (body->shape != LS_ARENA_NONE && !ls_arena_is_asleep(&world, body)) {
            find_wall_contacts(&world, i);
        }
    }
}
