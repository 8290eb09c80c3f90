/* The passes that move bodies: impulses at the contacts, then velocities applied.
 * Sequential impulses with accumulated clamping that begin with those of the tick before (E. Catto,
 * "Iterative Dynamics with Temporal Coherence", 2005), and overlaps taken away by velocities of
 * their own that are gone after the tick ("split impulses"), so that doing so never makes anything
 * faster. A body that hardly moves for a while falls asleep. */
#include "lockstep/common/simulations/tumble/tumble_state.h"

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
