
#include "lockstep/common/simulations/tumble/tumble_collide.h"

#include <string.h>

/* ---- who is near ---- */

/* Beyond these a body is a stray: no sum of them comes near an overflow. */
#define PLACE_MAX LS_FIXED_INT(1 << 20)
#define REACH_MAX LS_FIXED_INT(4)

static ls_fixed reach_of(const ls_tumble_world *world, uint32_t index)
{
    return ls_fixed_add(world->bodies[index].radius, world->movers[index].travel);
}

static bool is_within(ls_fixed value, ls_fixed most)
{
    return value >= -most && value <= most;
}

static bool is_stray(const ls_tumble_body *body, ls_fixed reach)
{
    return reach < 0 || reach > REACH_MAX || !is_within(body->position.x, PLACE_MAX) ||
           !is_within(body->position.y, PLACE_MAX);
}

static ls_tumble_spot spot_of(const ls_tumble_world *world, uint32_t index)
{
    const ls_tumble_body *body = &world->bodies[index];
    return (ls_tumble_spot){
        .position = body->position,
        .reach = reach_of(world, index),
        .index = index,
        .is_asleep = ls_tumble_is_asleep(world, body),
    };
}

void ls_tumble_near_build(const ls_tumble_world *world, ls_tumble_near *near)
{
    memset(near, 0, sizeof *near);
    near->grid = world->grid;
    near->spots = world->spots;
    uint32_t strays = 0;
    uint32_t count = world->layout.body_count;
    for (uint32_t i = 0; i < count; i++) {
        const ls_tumble_body *body = &world->bodies[i];
        ls_fixed reach = reach_of(world, i);
        world->cells[i] = LS_CELL_GRID_NONE;
        if (body->shape == LS_TUMBLE_NONE) {
            continue;
        }
        if (is_stray(body, reach)) {
            near->spots[count - ++strays] = spot_of(world, i);
            continue;
        }
        ls_vec2 place = {body->position.x, body->position.y};
        world->cells[i] = ls_cell_grid_cell(&near->grid, place);
        near->reach_max = ls_fixed_max(near->reach_max, reach);
        near->grid_count++;
    }
    ls_cell_grid_build(&near->grid, world->cells);
    for (uint32_t i = 0; i < near->grid_count; i++) {
        near->spots[i] = spot_of(world, near->grid.items[i]);
    }
    memmove(near->spots + near->grid_count, near->spots + count - strays,
            strays * sizeof near->spots[0]);
    near->spot_count = near->grid_count + strays;
}

static bool is_near(ls_vec3 offset, ls_fixed reach)
{
    if (ls_fixed_abs(offset.x) > reach || ls_fixed_abs(offset.y) > reach ||
        ls_fixed_abs(offset.z) > reach) {
        return false;
    }
    return ls_vec3_dot(offset, offset) <= ls_fixed_mul(reach, reach);
}

static void mark(ls_tumble_near *near, uint32_t index)
{
    uint32_t word = index / 64;
    near->marks[word] |= UINT64_C(1) << index % 64;
    near->marked_words[word / 64] |= UINT64_C(1) << word % 64;
}

static void search_spots(ls_tumble_near *near, const ls_tumble_search *search, ls_vec3 position,
                         ls_fixed reach, ls_cell_range range)
{
    for (uint32_t i = range.begin; i < range.end; i++) {
        const ls_tumble_spot *spot = &near->spots[i];
        bool is_asked_for = spot->is_asleep || spot->index > search->awake_after;
        if (is_asked_for && spot->index != search->index &&
            is_near(ls_vec3_sub(spot->position, position), ls_fixed_add(reach, spot->reach))) {
            mark(near, spot->index);
        }
    }
}

void ls_tumble_near_find(const ls_tumble_world *world, ls_tumble_near *near,
                         const ls_tumble_search *search)
{
    const ls_tumble_body *body = &world->bodies[search->index];
    ls_fixed own = reach_of(world, search->index);
    ls_fixed reach = ls_fixed_add(own, search->margin);
    if (is_stray(body, own)) {
        search_spots(near, search, body->position, reach, (ls_cell_range){0, near->spot_count});
        return;
    }
    ls_vec2 place = {body->position.x, body->position.y};
    ls_cell_block block = ls_cell_grid_around(&near->grid, place, reach + near->reach_max);
    for (uint32_t row = block.first_row; row <= block.last_row; row++) {
        ls_cell_range range = ls_cell_grid_range(&near->grid, block, row);
        search_spots(near, search, body->position, reach, range);
    }
    search_spots(near, search, body->position, reach,
                 (ls_cell_range){near->grid_count, near->spot_count});
}

static uint32_t lowest_bit(uint64_t bits)
{
    return 63u - (uint32_t)ls_leading_zeros(bits & (0u - bits));
}

bool ls_tumble_near_pop(ls_tumble_near *near, uint32_t *index)
{
    for (uint32_t i = 0; i < sizeof near->marked_words / sizeof near->marked_words[0]; i++) {
        if (near->marked_words[i] != 0) {
            uint32_t word = i * 64 + lowest_bit(near->marked_words[i]);
            *index = word * 64 + lowest_bit(near->marks[word]);
            near->marks[word] &= near->marks[word] - 1;
            if (near->marks[word] == 0) {
                near->marked_words[i] &= near->marked_words[i] - 1;
            }
            return true;
        }
    }
    return false;
}

/* ---- contacts ---- */

/* The passes that find what touches: sleepers that are hit wake up, then every contact point of
 * this tick with what the solver needs of it. Contacts stand by number of the first body, its floor
 * and walls in front: the order is the solver's, so it is part of the rules of the game. */

/* Points nearer than this count even when nothing moves: what rests is in touch in every tick. */
#define MARGIN LS_FIXED_RATIO(2, 100)

/* How near a mover must come in this tick to wake a sleeper. */
#define TOUCH LS_FIXED_RATIO(1, 100)

/* Approaching more slowly than this, and than what a few ticks of falling make, bodies do not
 * bounce: else nothing would come to rest at a low tick rate. */
#define BOUNCE_SPEED_MIN LS_FIXED_RATIO(8, 10)
#define BOUNCE_TICKS 2

/* Share of an overlap that one tick takes away, and the most speed it may take. */
#define RECOVER_SHARE LS_FIXED_RATIO(2, 10)
#define RECOVER_SPEED_MAX LS_FIXED_INT(3)

/* A point that is nearer than this to one of the tick before is the same. */
#define SAME_POINT LS_FIXED_RATIO(6, 100)

#define WALLS 5u /* and the floor */

/* ---- movers ---- */

/* R diag(i) R^T: row k is the sum over the body's axes of i * axis[k] * axis. */
static void turn_inertia(const ls_axes *axes, ls_vec3 inverse, ls_vec3 rows[3])
{
    for (uint32_t k = 0; k < 3; k++) {
        rows[k] = (ls_vec3){0, 0, 0};
        for (uint32_t i = 0; i < 3; i++) {
            ls_fixed share = ls_fixed_mul(ls_vec3_part(inverse, i), ls_vec3_part(axes->axis[i], k));
            rows[k] = ls_vec3_along(rows[k], axes->axis[i], share);
        }
    }
}

static ls_tumble_mover make_mover(const ls_tumble_world *world, const ls_tumble_body *body)
{
    ls_tumble_mover mover = {.axes = ls_axes_of(body->orientation)};
    if (body->shape == LS_TUMBLE_NONE || ls_tumble_is_asleep(world, body)) {
        return mover;
    }
    mover.inverse_mass = body->inverse_mass;
    mover.motion = (ls_tumble_motion){body->velocity, body->spin};
    mover.travel = ls_fixed_mul(ls_vec3_length(body->velocity), world->rules.dt);
    turn_inertia(&mover.axes, body->inverse_inertia, mover.inertia);
    return mover;
}

static ls_tumble_solid solid_of(const ls_tumble_world *world, uint32_t index)
{
    return (ls_tumble_solid){&world->bodies[index], &world->movers[index].axes};
}

/* ---- wake ---- */

/* A body that wakes does not count as moving yet: a pile wakes as far as it is really moved. */
static void wake_what_it_hits(ls_tumble_world *world, ls_tumble_near *near, uint32_t index)
{
    ls_tumble_search search = {.index = index, .awake_after = UINT32_MAX, .margin = TOUCH};
    ls_fixed margin = TOUCH + world->movers[index].travel;
    ls_tumble_near_find(world, near, &search);
    for (uint32_t i; ls_tumble_near_pop(near, &i);) {
        ls_tumble_body *sleeper = &world->bodies[i];
        if (ls_tumble_is_asleep(world, sleeper) &&
            ls_tumble_collide(solid_of(world, i), solid_of(world, index), margin).count > 0) {
            sleeper->still_ticks = 1;
            world->movers[i] = make_mover(world, sleeper);
        }
    }
}

void ls_tumble_pass_wake(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        world.movers[i] = make_mover(&world, &world.bodies[i]);
    }
    world.movers[world.layout.body_count] = (ls_tumble_mover){.inverse_mass = 0};
    ls_tumble_near near;
    ls_tumble_near_build(&world, &near);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        const ls_tumble_body *body = &world.bodies[i];
        if (body->shape != LS_TUMBLE_NONE && body->still_ticks == 0) {
            wake_what_it_hits(&world, &near, i);
        }
    }
}

/* ---- contacts ---- */

static ls_vec3 turned(const ls_tumble_mover *mover, ls_vec3 turn)
{
    return (ls_vec3){ls_vec3_dot(mover->inertia[0], turn), ls_vec3_dot(mover->inertia[1], turn),
                     ls_vec3_dot(mover->inertia[2], turn)};
}

/* Two bodies that touch in one point or in several. */
typedef struct touching {
    uint32_t index_a;
    uint32_t index_b;
    uint32_t pair;
    ls_tumble_side side_b;
    const ls_tumble_mover *a;
    const ls_tumble_mover *b;
    ls_vec3 place_a; /* of their middles, m */
    ls_vec3 place_b;
    ls_vec3 directions[LS_TUMBLE_ROWS];
} touching;

static ls_tumble_lever make_lever(const ls_tumble_mover *mover, ls_vec3 arm, ls_vec3 direction)
{
    ls_vec3 turn = ls_vec3_cross(arm, direction);
    return (ls_tumble_lever){turn, turned(mover, turn)};
}

static void make_row(const touching *pair, uint32_t number, ls_tumble_contact *contact)
{
    ls_tumble_row *row = &contact->rows[number];
    row->direction = pair->directions[number];
    row->a = make_lever(pair->a, ls_vec3_sub(contact->point, pair->place_a), row->direction);
    ls_fixed inverse = pair->a->inverse_mass + ls_vec3_dot(row->a.turn, row->a.spin);
    if (pair->side_b == LS_TUMBLE_MOVES) {
        ls_tumble_lever *lever = &contact->b_levers[number];
        *lever = make_lever(pair->b, ls_vec3_sub(contact->point, pair->place_b), row->direction);
        inverse += pair->b->inverse_mass + ls_vec3_dot(lever->turn, lever->spin);
    }
    row->mass = ls_fixed_div(LS_FIXED_ONE, inverse);
}

/* How fast b moves away from a along the normal. */
static ls_fixed speed_of(const touching *pair, const ls_tumble_contact *contact)
{
    const ls_tumble_motion *a = &pair->a->motion;
    const ls_tumble_motion *b = &pair->b->motion;
    const ls_tumble_row *normal = &contact->rows[LS_TUMBLE_NORMAL];
    ls_fixed speed = ls_vec3_dot(normal->direction, ls_vec3_sub(b->velocity, a->velocity)) -
                     ls_vec3_dot(normal->a.turn, a->spin);
    if (pair->side_b == LS_TUMBLE_MOVES) {
        speed += ls_vec3_dot(contact->b_levers[LS_TUMBLE_NORMAL].turn, b->spin);
    }
    return speed;
}

/* Bodies that are still apart may close the gap in this tick and no more; those that meet fast
 * enough bounce. */
static void set_targets(const ls_tumble_rules *rules, ls_fixed speed, ls_tumble_contact *contact)
{
    contact->target = ls_fixed_min(ls_fixed_mul(contact->depth, rules->rate), 0);
    ls_fixed slow = BOUNCE_SPEED_MIN + BOUNCE_TICKS * ls_fixed_mul(rules->gravity, rules->dt);
    if (speed < -slow && speed < contact->target) {
        contact->target = ls_fixed_negate(ls_fixed_mul(speed, rules->restitution));
    }
    ls_fixed overlap = ls_fixed_max(contact->depth - LS_TUMBLE_SLOP, 0);
    ls_fixed recovery = ls_fixed_mul(ls_fixed_mul(overlap, RECOVER_SHARE), rules->rate);
    contact->recovery = ls_fixed_min(recovery, RECOVER_SPEED_MAX);
    contact->recovery_impulse = 0;
}

/* Pairs come up in the order of this number, which is above 0: the floor and walls of a body are in
 * front of other bodies. */
static uint32_t pair_of(const ls_tumble_world *world, uint32_t a, uint32_t b)
{
    return (a << 16) + (b == world->layout.body_count ? 1 : b + 2);
}

/* The impulse that the nearest point of this pair came to in the tick before; nothing for a new
 * one. Both the pairs and the touches are in order. */
static ls_vec3 recall(ls_tumble_world *world, uint32_t pair, ls_vec3 point)
{
    const ls_tumble_touch *touches = world->touches;
    while (world->touch_next < world->touch_known && touches[world->touch_next].pair < pair) {
        world->touch_next++;
    }
    ls_fixed nearest = ls_fixed_mul(SAME_POINT, SAME_POINT);
    ls_vec3 impulse = {0, 0, 0};
    for (uint32_t i = world->touch_next; i < world->touch_known && touches[i].pair == pair; i++) {
        ls_vec3 way = ls_vec3_sub(touches[i].point, point);
        ls_fixed square = ls_vec3_dot(way, way);
        if (square < nearest) {
            nearest = square;
            impulse = touches[i].impulse;
        }
    }
    return impulse;
}

static void begin_with(const ls_tumble_rules *rules, ls_vec3 impulse, ls_tumble_contact *contact)
{
    ls_tumble_row *normal = &contact->rows[LS_TUMBLE_NORMAL];
    normal->impulse = ls_fixed_max(ls_vec3_dot(impulse, normal->direction), 0);
    ls_fixed grip = ls_fixed_mul(rules->friction, normal->impulse);
    for (uint32_t i = LS_TUMBLE_TANGENT; i < LS_TUMBLE_ROWS; i++) {
        ls_tumble_row *tangent = &contact->rows[i];
        tangent->impulse = ls_fixed_clamp(ls_vec3_dot(impulse, tangent->direction), -grip, grip);
    }
}

static bool is_full(const ls_tumble_world *world)
{
    return world->match->contacts >= world->layout.touch_count;
}

static void add_contact(ls_tumble_world *world, const touching *pair, ls_vec3 point, ls_fixed depth)
{
    ls_tumble_contact *contact = &world->contacts[world->match->contacts++];
    contact->a = pair->index_a;
    contact->b = pair->index_b;
    contact->pair = pair->pair;
    contact->side_b = pair->side_b;
    contact->point = point;
    contact->depth = depth;
    for (uint32_t i = 0; i < LS_TUMBLE_ROWS; i++) {
        make_row(pair, i, contact);
    }
    set_targets(&world->rules, speed_of(pair, contact), contact);
    begin_with(&world->rules, recall(world, pair->pair, point), contact);
}

static ls_tumble_side side_of(const ls_tumble_world *world, uint32_t b, ls_vec3 normal)
{
    if (b < world->layout.body_count) {
        return ls_tumble_is_asleep(world, &world->bodies[b]) ? LS_TUMBLE_FIXED : LS_TUMBLE_MOVES;
    }
    return normal.z == -LS_FIXED_ONE ? LS_TUMBLE_FLOOR : LS_TUMBLE_FIXED;
}

static void add_manifold(ls_tumble_world *world, uint32_t a, uint32_t b,
                         const ls_tumble_manifold *manifold)
{
    if (manifold->count == 0) {
        return;
    }
    bool is_body = b < world->layout.body_count;
    touching pair = {
        .index_a = a,
        .index_b = b,
        .pair = pair_of(world, a, b),
        .side_b = side_of(world, b, manifold->normal),
        .a = &world->movers[a],
        .b = &world->movers[b],
        .place_a = world->bodies[a].position,
        .place_b = is_body ? world->bodies[b].position : (ls_vec3){0, 0, 0},
        .directions = {manifold->normal},
    };
    ls_vec3_tangents(manifold->normal, &pair.directions[LS_TUMBLE_TANGENT]);
    for (uint32_t i = 0; i < manifold->count && !is_full(world); i++) {
        add_contact(world, &pair, manifold->points[i], manifold->depths[i]);
    }
}

static void find_wall_contacts(ls_tumble_world *world, uint32_t index)
{
    static const ls_vec3 inwards[WALLS] = {
        {0, 0, LS_FIXED_ONE}, {LS_FIXED_ONE, 0, 0},  {-LS_FIXED_ONE, 0, 0},
        {0, LS_FIXED_ONE, 0}, {0, -LS_FIXED_ONE, 0},
    };
    ls_fixed margin = MARGIN + world->movers[index].travel;
    for (uint32_t wall = 0; wall < WALLS; wall++) {
        ls_fixed height = wall == 0 ? 0 : -world->half_size;
        if (ls_tumble_is_near_plane(&world->bodies[index], inwards[wall], height, margin)) {
            ls_tumble_manifold manifold =
                ls_tumble_collide_plane(solid_of(world, index), inwards[wall], height, margin);
            add_manifold(world, index, world->layout.body_count, &manifold);
        }
    }
}

/* Every pair once: of two that are awake the lower number finds it, of a sleeper the other. */
static void find_contacts_of(ls_tumble_world *world, ls_tumble_near *near, uint32_t a)
{
    ls_tumble_search search = {.index = a, .awake_after = a, .margin = MARGIN};
    ls_tumble_near_find(world, near, &search);
    for (uint32_t b; ls_tumble_near_pop(near, &b);) {
        ls_fixed margin = MARGIN + world->movers[a].travel + world->movers[b].travel;
        if (!is_full(world)) {
            ls_tumble_manifold manifold =
                ls_tumble_collide(solid_of(world, a), solid_of(world, b), margin);
            add_manifold(world, a, b, &manifold);
        }
    }
}

void ls_tumble_pass_contacts(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    world.touch_known = LS_MIN(world.match->contacts, world.layout.touch_count); /* it was sent */
    world.match->contacts = 0;
    world.match->awake = 0;
    ls_tumble_near near;
    ls_tumble_near_build(&world, &near);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        const ls_tumble_body *body = &world.bodies[i];
        if (body->shape != LS_TUMBLE_NONE && !ls_tumble_is_asleep(&world, body)) {
            world.match->awake++;
            if (!is_full(&world)) {
                find_wall_contacts(&world, i);
                find_contacts_of(&world, &near, i);
            }
        }
    }
}

/* The passes that move bodies: impulses at the contacts, then velocities applied.
 * Sequential impulses with accumulated clamping that begin with those of the tick before (E. Catto,
 * "Iterative Dynamics with Temporal Coherence", 2005), and overlaps taken away by velocities of
 * their own that are gone after the tick ("split impulses"), so that doing so never makes anything
 * faster. A body that hardly moves for a while falls asleep. */

#define STILL_SPEED LS_FIXED_RATIO(12, 100) /* m/s */
#define STILL_SPIN LS_FIXED_RATIO(25, 100)  /* rad/s */

/* A normal that looks up at least this much bears. */
#define BEARING LS_FIXED_RATIO(5, 10)

/* ---- solve ---- */

/* A row's view of its two bodies. One that is fixed has no mass and no motion: it costs nothing. */
typedef struct sides {
    ls_fixed inverse_mass_a;
    ls_fixed inverse_mass_b;
    ls_tumble_side b;
} sides;

typedef struct limits {
    ls_fixed target; /* speed, m/s */
    ls_fixed low;    /* of the whole impulse, kg m/s */
    ls_fixed high;
} limits;

typedef struct motions {
    ls_tumble_motion *a;
    ls_tumble_motion *b;
} motions;

/* The floor's normal looks down, and the tangents that ls_vec3_tangents gives it lie along the axes
 * of the world, too: row 0 pushes along -z, 1 along -y, 2 along -x. This is the part of a vector
 * that counts for one of them, with its sign turned round. */
static inline ls_fixed *part_on_floor(ls_vec3 *a, uint32_t number)
{
    return number == 0 ? &a->z : number == 1 ? &a->y : &a->x;
}

/* As ls_vec3_dot(row->a.turn, spin): the lever of a floor's row has no part along the row. */
static inline ls_fixed speed_by_spin(const ls_tumble_row *row, uint32_t number, ls_tumble_side b,
                                     ls_vec3 spin)
{
    if (b != LS_TUMBLE_FLOOR) {
        return ls_vec3_dot(row->a.turn, spin);
    }
    ls_vec3 turn = row->a.turn;
    ls_fixed x = number == 2 ? 0 : ls_fixed_mul(turn.x, spin.x);
    ls_fixed y = number == 1 ? 0 : ls_fixed_mul(turn.y, spin.y);
    ls_fixed z = number == 0 ? 0 : ls_fixed_mul(turn.z, spin.z);
    return x + y + z;
}

static inline ls_fixed relative_speed(const ls_tumble_contact *contact, uint32_t number,
                                      const sides *on, motions of)
{
    const ls_tumble_row *row = &contact->rows[number];
    ls_fixed by_spin = speed_by_spin(row, number, on->b, of.a->spin);
    if (on->b == LS_TUMBLE_FLOOR) {
        return *part_on_floor(&of.a->velocity, number) - by_spin;
    }
    ls_fixed speed = ls_vec3_dot(row->direction, ls_vec3_sub(of.b->velocity, of.a->velocity));
    if (on->b == LS_TUMBLE_MOVES) {
        speed += ls_vec3_dot(contact->b_levers[number].turn, of.b->spin);
    }
    return speed - by_spin;
}

static inline void apply(const ls_tumble_contact *contact, uint32_t number, ls_fixed impulse,
                         const sides *on, motions to)
{
    const ls_tumble_row *row = &contact->rows[number];
    ls_fixed by_a = ls_fixed_mul(impulse, on->inverse_mass_a);
    if (on->b == LS_TUMBLE_FLOOR) {
        *part_on_floor(&to.a->velocity, number) += by_a;
    } else {
        to.a->velocity = ls_vec3_along(to.a->velocity, row->direction, -by_a);
    }
    to.a->spin = ls_vec3_along(to.a->spin, row->a.spin, -impulse);
    if (on->b == LS_TUMBLE_MOVES) {
        ls_fixed by_b = ls_fixed_mul(impulse, on->inverse_mass_b);
        to.b->velocity = ls_vec3_along(to.b->velocity, row->direction, by_b);
        to.b->spin = ls_vec3_along(to.b->spin, contact->b_levers[number].spin, impulse);
    }
}

/* Drives the row's speed to the target; returns the whole impulse, `before` of which there was. */
static inline ls_fixed solve_row(const ls_tumble_contact *contact, uint32_t number, const sides *on,
                                 motions of, limits within, ls_fixed before)
{
    ls_fixed missing = within.target - relative_speed(contact, number, on, of);
    ls_fixed wanted = ls_fixed_add(before, ls_fixed_mul(contact->rows[number].mass, missing));
    ls_fixed allowed = ls_fixed_clamp(wanted, within.low, within.high);
    ls_fixed impulse = ls_fixed_sub(allowed, before);
    if (impulse != 0) {
        apply(contact, number, impulse, on, of);
    }
    return allowed;
}

/* Without a grip and without an impulse to lose, the tangents stay as they are. */
static inline void solve_tangents(ls_tumble_contact *contact, const sides *on, motions of,
                                  ls_fixed grip)
{
    const uint32_t number = LS_TUMBLE_TANGENT;
    ls_tumble_row *first = &contact->rows[number];
    ls_tumble_row *second = first + 1;
    if (grip == 0 && first->impulse == 0 && second->impulse == 0) {
        return;
    }
    limits within = {0, -grip, grip};
    first->impulse = solve_row(contact, number, on, of, within, first->impulse);
    second->impulse = solve_row(contact, number + 1, on, of, within, second->impulse);
}

/* Recovery is the same as the motion, with the velocities that take overlaps away. As long as no
 * overlap of either body is taken away, there is nothing to do. */
static inline void solve_recovery(ls_tumble_contact *contact, const sides *on,
                                  ls_tumble_mover *mover_a, ls_tumble_mover *mover_b)
{
    if (contact->depth <= 0 ||
        (contact->recovery == 0 && !mover_a->recovers && !mover_b->recovers)) {
        return;
    }
    ls_fixed before = contact->recovery_impulse;
    contact->recovery_impulse =
        solve_row(contact, LS_TUMBLE_NORMAL, on, (motions){&mover_a->recovery, &mover_b->recovery},
                  (limits){contact->recovery, 0, LS_FIXED_MAX}, before);
    if (contact->recovery_impulse != before) {
        mover_a->recovers = true;
        mover_b->recovers = on->b == LS_TUMBLE_MOVES;
    }
}

/* Always inlined, so that the compiler makes one of its own for each kind of side. */
__attribute__((always_inline)) static inline void
solve_sides(ls_tumble_contact *contact, ls_fixed friction, ls_tumble_side side_b,
            ls_tumble_mover *mover_a, ls_tumble_mover *mover_b)
{
    sides on = {mover_a->inverse_mass, mover_b->inverse_mass, side_b};
    motions of = {&mover_a->motion, &mover_b->motion};
    ls_tumble_row *normal = &contact->rows[LS_TUMBLE_NORMAL];
    normal->impulse = solve_row(contact, LS_TUMBLE_NORMAL, &on, of,
                                (limits){contact->target, 0, LS_FIXED_MAX}, normal->impulse);
    solve_tangents(contact, &on, of, ls_fixed_mul(friction, normal->impulse));
    solve_recovery(contact, &on, mover_a, mover_b);
}

static void solve_contact(const ls_tumble_world *world, ls_tumble_contact *contact)
{
    ls_tumble_mover *a = &world->movers[contact->a];
    ls_tumble_mover *b = &world->movers[contact->b];
    ls_fixed friction = world->rules.friction;
    if (contact->side_b == LS_TUMBLE_FLOOR) {
        solve_sides(contact, friction, LS_TUMBLE_FLOOR, a, b);
    } else if (contact->side_b == LS_TUMBLE_FIXED) {
        solve_sides(contact, friction, LS_TUMBLE_FIXED, a, b);
    } else {
        solve_sides(contact, friction, LS_TUMBLE_MOVES, a, b);
    }
}

static void note_bearing(ls_tumble_world *world, const ls_tumble_contact *contact)
{
    ls_fixed up = contact->rows[LS_TUMBLE_NORMAL].direction.z;
    if (contact->rows[LS_TUMBLE_NORMAL].impulse == 0) {
        return;
    }
    if (contact->a < world->layout.player_count && up < -BEARING) {
        world->players[contact->a].is_on_ground = 1;
    }
    if (contact->b < world->layout.player_count && up > BEARING) {
        world->players[contact->b].is_on_ground = 1;
    }
}

static void begin(const ls_tumble_world *world, const ls_tumble_contact *contact)
{
    ls_tumble_mover *a = &world->movers[contact->a];
    ls_tumble_mover *b = &world->movers[contact->b];
    sides on = {a->inverse_mass, b->inverse_mass, contact->side_b};
    for (uint32_t i = 0; i < LS_TUMBLE_ROWS; i++) {
        if (contact->rows[i].impulse != 0) {
            apply(contact, i, contact->rows[i].impulse, &on, (motions){&a->motion, &b->motion});
        }
    }
}

static ls_tumble_touch touch_of(const ls_tumble_contact *contact)
{
    const ls_tumble_row *rows = contact->rows;
    ls_vec3 impulse = ls_vec3_scale(rows[0].direction, rows[0].impulse);
    for (uint32_t i = 1; i < LS_TUMBLE_ROWS; i++) {
        impulse = ls_vec3_along(impulse, rows[i].direction, rows[i].impulse);
    }
    return (ls_tumble_touch){.pair = contact->pair, .point = contact->point, .impulse = impulse};
}

/* The touches beyond were zero already, or are of the tick before. */
static void keep_touches(ls_tumble_world *world)
{
    uint32_t count = world->match->contacts;
    for (uint32_t i = 0; i < count; i++) {
        world->touches[i] = touch_of(&world->contacts[i]);
    }
    for (uint32_t i = count; i < world->layout.touch_count && world->touches[i].pair != 0; i++) {
        world->touches[i] = (ls_tumble_touch){.pair = 0};
    }
}

void ls_tumble_pass_solve(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    uint32_t count = world.match->contacts;
    for (uint32_t i = 0; i < count; i++) {
        begin(&world, &world.contacts[i]);
    }
    for (uint32_t iteration = 0; iteration < world.rules.iterations; iteration++) {
        for (uint32_t i = 0; i < count; i++) {
            solve_contact(&world, &world.contacts[iteration % 2 ? count - 1 - i : i]);
        }
    }
    for (uint32_t slot = 0; slot < world.layout.player_count; slot++) {
        bool sleeps = ls_tumble_is_asleep(&world, &world.bodies[slot]);
        world.players[slot].is_on_ground &= sleeps; /* whatever bears a sleeper still does */
    }
    for (uint32_t i = 0; i < world.match->contacts; i++) {
        note_bearing(&world, &world.contacts[i]);
    }
    keep_touches(&world);
}

/* ---- integrate ---- */

static ls_vec3 limited(ls_vec3 value, ls_fixed most)
{
    if (ls_vec3_is_within(value, most)) {
        return value;
    }
    return ls_vec3_scale(value, ls_fixed_div(most, ls_vec3_length(value)));
}

static void watch_stillness(const ls_tumble_rules *rules, ls_tumble_body *body)
{
    bool is_still = ls_vec3_is_within(body->velocity, STILL_SPEED - 1) &&
                    ls_vec3_is_within(body->spin, STILL_SPIN - 1);
    body->still_ticks = is_still ? (uint16_t)(body->still_ticks + 1) : 0;
    if (body->still_ticks >= rules->still_limit) {
        body->velocity = (ls_vec3){0, 0, 0};
        body->spin = (ls_vec3){0, 0, 0};
    }
}

/* The middle of a body is inside the room after this, whatever happened before. */
static void keep_inside(ls_fixed half_size, ls_tumble_body *body)
{
    ls_fixed room = half_size - LS_TUMBLE_HALF_MIN;
    body->position.x = ls_fixed_clamp(body->position.x, -room, room);
    body->position.y = ls_fixed_clamp(body->position.y, -room, room);
    body->position.z = ls_fixed_max(body->position.z, LS_TUMBLE_HALF_MIN / 2);
}

static void move(const ls_tumble_rules *rules, const ls_tumble_mover *mover, ls_tumble_body *body)
{
    ls_vec3 velocity = ls_vec3_scale(mover->motion.velocity, rules->drag_keep);
    ls_vec3 spin = ls_vec3_scale(mover->motion.spin, rules->spin_keep);
    body->velocity = limited(velocity, rules->speed_max);
    body->spin = limited(spin, rules->spin_max);
    watch_stillness(rules, body);
    ls_vec3 way = ls_vec3_add(body->velocity, mover->recovery.velocity);
    ls_vec3 turn = ls_vec3_add(body->spin, mover->recovery.spin);
    body->position = ls_vec3_along(body->position, way, rules->dt);
    ls_vec3 angle = limited(ls_vec3_scale(turn, rules->dt), LS_FIXED_HALF);
    body->orientation = ls_quaternion_turned(body->orientation, angle);
}

void ls_tumble_pass_integrate(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        ls_tumble_body *body = &world.bodies[i];
        if (body->shape != LS_TUMBLE_NONE && !ls_tumble_is_asleep(&world, body)) {
            move(&world.rules, &world.movers[i], body);
            keep_inside(world.half_size, body);
        }
    }
    world.match->ticks++;
}
