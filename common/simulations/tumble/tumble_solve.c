/* The passes that move bodies: impulses at the contacts, then velocities applied.
 * Sequential impulses with accumulated clamping that begin with those of the tick before (E. Catto,
 * "Iterative Dynamics with Temporal Coherence", 2005), and overlaps taken away by velocities of
 * their own that are gone after the tick ("split impulses"), so that doing so never makes anything
 * faster. A body that hardly moves for a while falls asleep. */
#include "lockstep/common/simulations/tumble/tumble_world.h"

#define STILL_SPEED LS_FIXED_RATIO(12, 100) /* m/s */
#define STILL_SPIN LS_FIXED_RATIO(25, 100)  /* rad/s */

/* A normal that looks up at least this much bears. */
#define BEARING LS_FIXED_RATIO(5, 10)

/* ---- solve ---- */

static ls_fixed relative_speed(const ls_tumble_row *row, ls_vec3 between, ls_vec3 spin_a,
                               ls_vec3 spin_b)
{
    return ls_vec3_dot(row->direction, between) + ls_vec3_dot(row->turn_b, spin_b) -
           ls_vec3_dot(row->turn_a, spin_a);
}

static void apply(const ls_tumble_row *row, ls_fixed impulse, ls_tumble_mover *a,
                  ls_tumble_mover *b)
{
    ls_fixed by_a = ls_fixed_mul(impulse, a->inverse_mass);
    ls_fixed by_b = ls_fixed_mul(impulse, b->inverse_mass);
    a->velocity = ls_vec3_along(a->velocity, row->direction, -by_a);
    b->velocity = ls_vec3_along(b->velocity, row->direction, by_b);
    a->spin = ls_vec3_along(a->spin, row->spin_a, -impulse);
    b->spin = ls_vec3_along(b->spin, row->spin_b, impulse);
}

/* Drives the row's speed to the target; the impulse so far stays within low .. high. */
static void solve_row(ls_tumble_row *row, ls_tumble_mover *a, ls_tumble_mover *b, ls_fixed target,
                      ls_fixed low, ls_fixed high)
{
    ls_vec3 between = ls_vec3_sub(b->velocity, a->velocity);
    ls_fixed missing = target - relative_speed(row, between, a->spin, b->spin);
    ls_fixed wanted = ls_fixed_add(row->impulse, ls_fixed_mul(row->mass, missing));
    ls_fixed allowed = ls_fixed_clamp(wanted, low, high);
    ls_fixed impulse = ls_fixed_sub(allowed, row->impulse);
    row->impulse = allowed;
    apply(row, impulse, a, b);
}

/* The same with the velocities that take overlaps away. */
static void recover(ls_tumble_contact *contact, ls_tumble_mover *a, ls_tumble_mover *b)
{
    const ls_tumble_row *row = &contact->normal;
    ls_vec3 between = ls_vec3_sub(b->shift, a->shift);
    ls_fixed missing = contact->recovery - relative_speed(row, between, a->twist, b->twist);
    ls_fixed wanted = contact->recovery_impulse + ls_fixed_mul(row->mass, missing);
    ls_fixed allowed = ls_fixed_max(wanted, 0);
    ls_fixed impulse = allowed - contact->recovery_impulse;
    if (impulse == 0) {
        return;
    }
    contact->recovery_impulse = allowed;
    ls_fixed by_a = ls_fixed_mul(impulse, a->inverse_mass);
    ls_fixed by_b = ls_fixed_mul(impulse, b->inverse_mass);
    a->shift = ls_vec3_along(a->shift, row->direction, -by_a);
    b->shift = ls_vec3_along(b->shift, row->direction, by_b);
    a->twist = ls_vec3_along(a->twist, row->spin_a, -impulse);
    b->twist = ls_vec3_along(b->twist, row->spin_b, impulse);
}

static void solve_contact(const ls_tumble_world *world, ls_tumble_contact *contact)
{
    ls_tumble_mover *a = &world->movers[contact->a];
    ls_tumble_mover *b = &world->movers[contact->b];
    solve_row(&contact->normal, a, b, contact->target, 0, LS_FIXED_MAX);
    ls_fixed grip = ls_fixed_mul(world->rules.friction, contact->normal.impulse);
    solve_row(&contact->tangents[0], a, b, 0, -grip, grip);
    solve_row(&contact->tangents[1], a, b, 0, -grip, grip);
    if (contact->depth > 0) {
        recover(contact, a, b);
    }
}

static void note_bearing(ls_tumble_world *world, const ls_tumble_contact *contact)
{
    ls_fixed up = contact->normal.direction.z;
    if (contact->normal.impulse == 0) {
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
    apply(&contact->normal, contact->normal.impulse, a, b);
    apply(&contact->tangents[0], contact->tangents[0].impulse, a, b);
    apply(&contact->tangents[1], contact->tangents[1].impulse, a, b);
}

static ls_tumble_touch touch_of(const ls_tumble_contact *contact)
{
    ls_vec3 impulse = ls_vec3_scale(contact->normal.direction, contact->normal.impulse);
    for (uint32_t i = 0; i < 2; i++) {
        const ls_tumble_row *tangent = &contact->tangents[i];
        impulse = ls_vec3_along(impulse, tangent->direction, tangent->impulse);
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
    ls_fixed length = ls_vec3_length(value);
    return length > most ? ls_vec3_scale(value, ls_fixed_div(most, length)) : value;
}

static void watch_stillness(const ls_tumble_rules *rules, ls_tumble_body *body)
{
    bool is_still =
        ls_vec3_length(body->velocity) < STILL_SPEED && ls_vec3_length(body->spin) < STILL_SPIN;
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
    ls_vec3 velocity = ls_vec3_scale(mover->velocity, rules->drag_keep);
    ls_vec3 spin = ls_vec3_scale(mover->spin, rules->spin_keep);
    body->velocity = limited(velocity, rules->speed_max);
    body->spin = limited(spin, rules->spin_max);
    watch_stillness(rules, body);
    ls_vec3 way = ls_vec3_add(body->velocity, mover->shift);
    ls_vec3 turn = ls_vec3_add(body->spin, mover->twist);
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
