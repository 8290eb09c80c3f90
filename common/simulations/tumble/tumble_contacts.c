/* The passes that find what touches: sleepers that are hit wake up, then every contact point of
 * this tick with what the solver needs of it. Contacts stand by number of the first body, its floor
 * and walls in front: the order is the solver's, so it is part of the rules of the game. */
#include "lockstep/common/simulations/tumble/tumble_collide.h"
#include "lockstep/common/simulations/tumble/tumble_world.h"

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
    mover.velocity = body->velocity;
    mover.spin = body->spin;
    mover.travel = ls_fixed_mul(ls_vec3_length(body->velocity), world->rules.dt);
    turn_inertia(&mover.axes, body->inverse_inertia, mover.inertia);
    return mover;
}

static ls_tumble_solid solid_of(const ls_tumble_world *world, uint32_t index)
{
    return (ls_tumble_solid){&world->bodies[index], &world->movers[index].axes};
}

static bool is_near(const ls_tumble_body *a, const ls_tumble_body *b, ls_fixed margin)
{
    ls_vec3 offset = ls_vec3_sub(b->position, a->position);
    ls_fixed reach = a->radius + b->radius + margin;
    if (ls_fixed_abs(offset.x) > reach || ls_fixed_abs(offset.y) > reach ||
        ls_fixed_abs(offset.z) > reach) {
        return false;
    }
    return ls_vec3_dot(offset, offset) <= ls_fixed_mul(reach, reach);
}

/* ---- wake ---- */

static bool is_hit(const ls_tumble_world *world, uint32_t sleeper)
{
    for (uint32_t i = 0; i < world->layout.body_count; i++) {
        const ls_tumble_body *other = &world->bodies[i];
        bool moves = other->shape != LS_TUMBLE_NONE && other->still_ticks == 0;
        ls_fixed margin = TOUCH + world->movers[i].travel;
        if (!moves || !is_near(&world->bodies[sleeper], other, margin)) {
            continue;
        }
        if (ls_tumble_collide(solid_of(world, sleeper), solid_of(world, i), margin).count > 0) {
            return true;
        }
    }
    return false;
}

/* A body that wakes does not count as moving yet: a pile wakes as far as it is really moved. */
void ls_tumble_pass_wake(const ls_step *step)
{
    ls_tumble_world world = ls_tumble_world_of(step);
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        world.movers[i] = make_mover(&world, &world.bodies[i]);
    }
    world.movers[world.layout.body_count] = (ls_tumble_mover){.inverse_mass = 0};
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        ls_tumble_body *body = &world.bodies[i];
        bool sleeps = body->shape != LS_TUMBLE_NONE && ls_tumble_is_asleep(&world, body);
        if (sleeps && is_hit(&world, i)) {
            body->still_ticks = 1;
            world.movers[i] = make_mover(&world, body);
        }
    }
}

/* ---- contacts ---- */

static ls_vec3 turned(const ls_tumble_mover *mover, ls_vec3 turn)
{
    return (ls_vec3){ls_vec3_dot(mover->inertia[0], turn), ls_vec3_dot(mover->inertia[1], turn),
                     ls_vec3_dot(mover->inertia[2], turn)};
}

static ls_tumble_row make_row(ls_vec3 direction, ls_vec3 arm_a, ls_vec3 arm_b,
                              const ls_tumble_mover *a, const ls_tumble_mover *b)
{
    ls_tumble_row row = {
        .direction = direction,
        .turn_a = ls_vec3_cross(arm_a, direction),
        .turn_b = ls_vec3_cross(arm_b, direction),
    };
    row.spin_a = turned(a, row.turn_a);
    row.spin_b = turned(b, row.turn_b);
    ls_fixed inverse = a->inverse_mass + b->inverse_mass + ls_vec3_dot(row.turn_a, row.spin_a) +
                       ls_vec3_dot(row.turn_b, row.spin_b);
    row.mass = ls_fixed_div(LS_FIXED_ONE, inverse);
    return row;
}

/* How fast b moves away from a at the row's point. */
static ls_fixed speed_of(const ls_tumble_row *row, const ls_tumble_mover *a,
                         const ls_tumble_mover *b)
{
    ls_fixed straight = ls_vec3_dot(row->direction, ls_vec3_sub(b->velocity, a->velocity));
    return straight + ls_vec3_dot(row->turn_b, b->spin) - ls_vec3_dot(row->turn_a, a->spin);
}

/* Bodies that are still apart may close the gap in this tick and no more; those that meet fast
 * enough bounce. */
static void set_targets(const ls_tumble_rules *rules, const ls_tumble_mover *a,
                        const ls_tumble_mover *b, ls_tumble_contact *contact)
{
    ls_fixed speed = speed_of(&contact->normal, a, b);
    contact->target = ls_fixed_min(ls_fixed_mul(contact->depth, rules->rate), 0);
    ls_fixed slow = BOUNCE_SPEED_MIN + BOUNCE_TICKS * ls_fixed_mul(rules->gravity, rules->dt);
    if (speed < -slow && speed < contact->target) {
        contact->target = ls_fixed_negate(ls_fixed_mul(speed, rules->restitution));
    }
    ls_fixed overlap = ls_fixed_max(contact->depth - LS_TUMBLE_SLOP, 0);
    ls_fixed recovery = ls_fixed_mul(ls_fixed_mul(overlap, RECOVER_SHARE), rules->rate);
    contact->recovery = ls_fixed_min(recovery, RECOVER_SPEED_MAX);
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
    ls_tumble_row *normal = &contact->normal;
    normal->impulse = ls_fixed_max(ls_vec3_dot(impulse, normal->direction), 0);
    ls_fixed grip = ls_fixed_mul(rules->friction, normal->impulse);
    for (uint32_t i = 0; i < 2; i++) {
        ls_tumble_row *tangent = &contact->tangents[i];
        tangent->impulse = ls_fixed_clamp(ls_vec3_dot(impulse, tangent->direction), -grip, grip);
    }
}

static void add_contact(ls_tumble_world *world, uint32_t a, uint32_t b, ls_vec3 normal,
                        ls_vec3 point, ls_fixed depth)
{
    if (world->match->contacts >= world->layout.touch_count) {
        return;
    }
    const ls_tumble_mover *mover_a = &world->movers[a];
    const ls_tumble_mover *mover_b = &world->movers[b];
    ls_vec3 arm_a = ls_vec3_sub(point, world->bodies[a].position);
    ls_vec3 arm_b = {0, 0, 0};
    if (b < world->layout.body_count) {
        arm_b = ls_vec3_sub(point, world->bodies[b].position);
    }
    ls_tumble_contact *contact = &world->contacts[world->match->contacts++];
    *contact = (ls_tumble_contact){
        .a = a, .b = b, .pair = pair_of(world, a, b), .point = point, .depth = depth};
    ls_vec3 tangents[2];
    ls_vec3_tangents(normal, tangents);
    contact->normal = make_row(normal, arm_a, arm_b, mover_a, mover_b);
    contact->tangents[0] = make_row(tangents[0], arm_a, arm_b, mover_a, mover_b);
    contact->tangents[1] = make_row(tangents[1], arm_a, arm_b, mover_a, mover_b);
    set_targets(&world->rules, mover_a, mover_b, contact);
    begin_with(&world->rules, recall(world, contact->pair, point), contact);
}

static void add_manifold(ls_tumble_world *world, uint32_t a, uint32_t b,
                         const ls_tumble_manifold *manifold)
{
    for (uint32_t i = 0; i < manifold->count; i++) {
        add_contact(world, a, b, manifold->normal, manifold->points[i], manifold->depths[i]);
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
        ls_tumble_manifold manifold =
            ls_tumble_collide_plane(solid_of(world, index), inwards[wall], height, margin);
        add_manifold(world, index, world->layout.body_count, &manifold);
    }
}

/* Every pair once: of two that are awake the lower number finds it, of a sleeper the other. */
static void find_contacts_of(ls_tumble_world *world, uint32_t a)
{
    for (uint32_t b = 0; b < world->layout.body_count; b++) {
        const ls_tumble_body *other = &world->bodies[b];
        bool is_ours = b > a || (b < a && ls_tumble_is_asleep(world, other));
        if (!is_ours || other->shape == LS_TUMBLE_NONE) {
            continue;
        }
        ls_fixed margin = MARGIN + world->movers[a].travel + world->movers[b].travel;
        if (is_near(&world->bodies[a], other, margin)) {
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
    for (uint32_t i = 0; i < world.layout.body_count; i++) {
        const ls_tumble_body *body = &world.bodies[i];
        if (body->shape != LS_TUMBLE_NONE && !ls_tumble_is_asleep(&world, body)) {
            world.match->awake++;
            find_wall_contacts(&world, i);
            find_contacts_of(&world, i);
        }
    }
}
