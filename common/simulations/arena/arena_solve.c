#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

#include <string.h>

/* ---- touches ---- */

/* The impulses of contacts, which the state keeps from one tick to the next so that the solver
 * begins where it ended. They are a guess: a contact that is not remembered begins at none. */

/* Impulses below this are none, kg m/s. */
#define PRESSED_MIN LS_FIXED_RATIO(1, 65536)

/* ---- impulses in few bits ---- */

/* How a number that is not negative is packed: an exponent above so many bits of mantissa. */
typedef struct packing {
    uint32_t mantissa_bits;
    uint32_t unit_bits; /* the smallest step is 2^(unit_bits - 32) */
    uint32_t max;       /* of packed numbers: larger ones are packed as this */
} packing;

/* Steps of a millionth at 1 kg m/s, up to 4096. */
static const packing fine = {.mantissa_bits = 20, .unit_bits = 9, .max = 0xffffff};

/* Steps of a thousandth at 1 kg m/s, up to 2^17. */
static const packing coarse = {.mantissa_bits = 10, .unit_bits = 8, .max = 0x7fff};

#define COARSE_SIGN 0x8000u

static uint32_t pack(packing kind, uint64_t number)
{
    uint64_t one = UINT64_C(1) << kind.mantissa_bits;
    uint64_t units = number >> (kind.unit_bits - 1);
    units = units / 2 + units % 2;
    uint64_t exponent = 0;
    while (units >= 2 * one) {
        units = units / 2 + units % 2;
        exponent++;
    }
    return (uint32_t)LS_MIN(exponent * one + units, kind.max);
}

static ls_fixed unpack(packing kind, uint32_t packed)
{
    uint64_t one = UINT64_C(1) << kind.mantissa_bits;
    uint32_t exponent = packed >> kind.mantissa_bits;
    uint64_t units = packed & (one - 1);
    if (exponent > 0) {
        units = (units + one) << (exponent - 1);
    }
    return (ls_fixed)(units << kind.unit_bits);
}

static uint16_t pack_signed(ls_fixed number)
{
    return (uint16_t)(pack(coarse, ls_magnitude(number)) | (number < 0 ? COARSE_SIGN : 0));
}

static ls_fixed unpack_signed(uint16_t packed)
{
    ls_fixed number = unpack(coarse, packed & ~COARSE_SIGN);
    return packed & COARSE_SIGN ? -number : number;
}

/* ---- where a contact is remembered ---- */

static ls_arena_touch *touches_of(const ls_arena_world *world, uint32_t body)
{
    return &world->touches[body * LS_ARENA_TOUCHES_EACH];
}

static uint16_t name_of(uint32_t body)
{
    return (uint16_t)(body + 1);
}

/* The place of the touch among those of the body that is called `other`, NULL if there is none.
 * Free places come last. */
static ls_arena_touch *find(const ls_arena_world *world, uint32_t body, uint16_t other)
{
    ls_arena_touch *touches = touches_of(world, body);
    for (uint32_t i = 0; i < LS_ARENA_TOUCHES_EACH; i++) {
        if (touches[i].other == other) {
            return &touches[i];
        }
        if (touches[i].other == 0) {
            return NULL;
        }
    }
    return NULL;
}

/* The first body of a contact looks for it, then the second one does. */
static ls_arena_touch *find_touch(const ls_arena_world *world, const ls_arena_contact *contact)
{
    if (contact->b == LS_ARENA_WALL) {
        return find(world, contact->a, (uint16_t)(LS_ARENA_TOUCH_WALLS + contact->wall));
    }
    ls_arena_touch *touch = find(world, contact->a, name_of(contact->b));
    return touch ? touch : find(world, contact->b, name_of(contact->a));
}

/* Sets the contact's impulses to those that it ended with in the last tick, or to none. */
static void touches_recall(const ls_arena_world *world, ls_arena_contact *contact)
{
    const ls_arena_touch *touch = find_touch(world, contact);
    if (!touch) {
        return;
    }
    ls_fixed first = unpack(fine, (uint32_t)touch->first << 8 | touch->first_fine);
    ls_fixed second = unpack(fine, (uint32_t)touch->second << 8 | touch->second_fine);
    contact->friction.impulse = unpack_signed(touch->tangent);
    if (contact->point_count == 1) {
        contact->points[0].row.impulse = ls_fixed_add(first, second);
    } else {
        contact->points[0].row.impulse = first;
        contact->points[1].row.impulse = second;
    }
    contact->is_pressed = 1;
}

/* ---- what is remembered ---- */

static bool is_asleep(const ls_arena_world *world, uint32_t body)
{
    return body < world->layout.body_count && ls_arena_is_asleep(world, &world->bodies[body]);
}

/* The contacts between bodies that sleep were not looked for in this tick. */
static void forget(const ls_arena_world *world, uint32_t body)
{
    ls_arena_touch *touches = touches_of(world, body);
    ls_arena_touch left[LS_ARENA_TOUCHES_EACH] = {{0}};
    uint32_t count = 0;
    if (is_asleep(world, body)) {
        for (uint32_t i = 0; i < LS_ARENA_TOUCHES_EACH; i++) {
            uint16_t other = touches[i].other;
            if (other >= LS_ARENA_TOUCH_WALLS || (other > 0 && is_asleep(world, other - 1u))) {
                left[count++] = touches[i];
            }
        }
    }
    memcpy(touches, left, sizeof left);
}

static uint32_t count_touches(const ls_arena_world *world, uint32_t body)
{
    const ls_arena_touch *touches = touches_of(world, body);
    uint32_t count = 0;
    while (count < LS_ARENA_TOUCHES_EACH && touches[count].other != 0) {
        count++;
    }
    return count;
}

/* A free place, with the body of the two that has more of them; NULL if neither has one. */
static ls_arena_touch *find_place(const ls_arena_world *world, const ls_arena_contact *contact,
                                  uint16_t *other)
{
    bool is_wall = contact->b == LS_ARENA_WALL;
    uint32_t used_a = count_touches(world, contact->a);
    uint32_t used_b = is_wall ? LS_ARENA_TOUCHES_EACH : count_touches(world, contact->b);
    uint32_t owner = used_a <= used_b ? contact->a : contact->b;
    uint32_t used = LS_MIN(used_a, used_b);
    *other = name_of(owner == contact->a ? contact->b : contact->a);
    if (is_wall) {
        *other = (uint16_t)(LS_ARENA_TOUCH_WALLS + contact->wall);
    }
    return used < LS_ARENA_TOUCHES_EACH ? &touches_of(world, owner)[used] : NULL;
}

static bool has_bounced(const ls_arena_contact *contact)
{
    return (contact->points[0].bounce | contact->points[1].bounce) != 0;
}

static void remember(const ls_arena_world *world, const ls_arena_contact *contact)
{
    ls_fixed first = contact->points[0].row.impulse;
    ls_fixed second = contact->points[1].row.impulse;
    if (ls_fixed_add(first, second) < PRESSED_MIN || has_bounced(contact)) {
        return;
    }
    uint16_t other;
    ls_arena_touch *touch = find_place(world, contact, &other);
    if (touch) {
        uint32_t packed_first = pack(fine, (uint64_t)first);
        uint32_t packed_second = pack(fine, (uint64_t)second);
        *touch = (ls_arena_touch){
            .other = other,
            .first = (uint16_t)(packed_first >> 8),
            .second = (uint16_t)(packed_second >> 8),
            .tangent = pack_signed(contact->friction.impulse),
            .first_fine = (uint8_t)packed_first,
            .second_fine = (uint8_t)packed_second,
        };
    }
}

/* Forgets all contacts but those between bodies that are asleep, then remembers those of this
 * tick. */
static void touches_keep(const ls_arena_world *world)
{
    for (uint32_t i = 0; i < world->layout.body_count; i++) {
        if (touches_of(world, i)->other != 0) {
            forget(world, i);
        }
    }
    for (uint32_t i = 0; i < world->match->contacts; i++) {
        remember(world, &world->contacts[i]);
    }
}

/* ---- contacts ---- */

/* The pass that finds contacts: points and rows for the solver. Contacts follow the pairs, by
 * number of the awake body, then of the other; those with walls come last. The order is the
 * solver's, so it is part of the rules of the game. */

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
    touches_recall(world, contact);
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

/* ---- solving ---- */

/* The pass that keeps bodies apart: impulses at the contacts, in small steps within the tick.
 * Every step pushes bodies out of each other like a spring that is damped far beyond swinging,
 * moves them, and takes the speed of that push away again (E. Catto, "Soft Step" in "Solver2D",
 * 2024). Speeds that came into the tick from outside must be met within the first step, so an
 * impulse is that of the whole tick, from the first step on. */

#define TWO_PI INT64_C(26986075409) /* to 2^-32 */

/* The spring of a contact: at most one swing in so many of the small steps, if it could swing. It
 * gives way under a load by this share of what it would otherwise. */
#define SPRING_HZ_MAX LS_FIXED_INT(30)
#define SPRING_STEPS 4
#define SPRING_DAMPING LS_FIXED_INT(10) /* of what keeps it from swinging */
#define SPRING_GIVE LS_FIXED_RATIO(30, 100)

#define PUSH_SPEED_MAX LS_FIXED_INT(3) /* m/s */

/* Contacts that are pressed from tick to tick are relaxed so often more than the rest, and each
 * time further than to their end (successive over-relaxation): so a push gets through a tall stack.
 */
#define RELAX_PRESSED 3u
#define RELAX_BEYOND LS_FIXED_RATIO(14, 10)

/* Bodies stay awake if an impulse changes their speed by more, m/s. */
#define AWAKE_SPEED LS_FIXED_RATIO(5, 1000)

typedef struct small_steps {
    ls_arena_contact *contacts;
    uint32_t contact_count;
    ls_arena_mover *movers;
    uint32_t mover_count;
    ls_fixed friction;
    ls_fixed step; /* s, shorter by what drag takes */
    ls_fixed steps_per_s;
    ls_fixed push_rate;    /* speed for each metre of overlap, 1/s */
    ls_fixed push_share;   /* of the missing speed that is given at once */
    ls_fixed forget_share; /* of the impulse so far that is taken back */
} small_steps;

static small_steps solver_of(const ls_arena_world *world)
{
    const ls_arena_rules *rules = &world->rules;
    int64_t steps_per_s = (int64_t)world->tick_rate_hz * rules->iterations;
    ls_fixed frequency = ls_fixed_min(SPRING_HZ_MAX, LS_FIXED_INT(steps_per_s) / SPRING_STEPS);
    ls_fixed angular = ls_fixed_mul(TWO_PI, frequency);
    ls_fixed turn = angular / steps_per_s;
    ls_fixed damping = ls_fixed_add(2 * SPRING_DAMPING, turn);
    ls_fixed stiffness = ls_fixed_mul(turn, damping);
    ls_fixed soft = ls_fixed_div(LS_FIXED_ONE, ls_fixed_add(LS_FIXED_ONE, stiffness));
    return (small_steps){
        .contacts = world->contacts,
        .contact_count = world->match->contacts,
        .movers = world->movers,
        .mover_count = *world->mover_count,
        .friction = rules->friction,
        .step = ls_fixed_mul(rules->dt, rules->drag_keep) / rules->iterations,
        .steps_per_s = LS_FIXED_INT(steps_per_s),
        .push_rate = ls_fixed_div(angular, damping),
        .push_share = LS_FIXED_ONE - soft,
        .forget_share = ls_fixed_mul(soft, SPRING_GIVE) / rules->iterations,
    };
}

/* ---- one contact ---- */

/* How b moves against a, and what was done about it. */
typedef struct meeting {
    ls_fixed apart; /* speed along the normal, without turning, m/s */
    ls_fixed along; /* speed along the surface, without turning, m/s */
    ls_fixed way;   /* along the normal since the tick began, without turning, m */
    ls_fixed turn_a;
    ls_fixed turn_b;
    ls_fixed spin_a;
    ls_fixed spin_b;
    ls_fixed pushed;  /* impulse along the normal */
    ls_fixed dragged; /* impulse along the surface */
} meeting;

static meeting motion_of(const ls_arena_contact *contact, const ls_arena_mover *a,
                         const ls_arena_mover *b)
{
    ls_vec2 speed = ls_vec2_sub(b->velocity, a->velocity);
    return (meeting){
        .apart = ls_vec2_dot(contact->normal, speed),
        .along = ls_vec2_cross(contact->normal, speed),
        .way = ls_vec2_dot(contact->normal, ls_vec2_sub(b->way, a->way)),
        .turn_a = a->turn,
        .turn_b = b->turn,
        .spin_a = a->spin,
        .spin_b = b->spin,
    };
}

static ls_fixed with_turning(const ls_arena_row *row, ls_fixed straight, ls_fixed a, ls_fixed b)
{
    ls_fixed turning = ls_fixed_sub(ls_fixed_mul(row->arm_b, b), ls_fixed_mul(row->arm_a, a));
    return ls_fixed_add(straight, turning);
}

/* Adds an impulse to a row and to the spins; returns what it changes the straight speed by. */
static ls_fixed give(const ls_arena_contact *contact, const ls_arena_row *row, ls_fixed impulse,
                     meeting *motion)
{
    motion->spin_a = ls_fixed_sub(motion->spin_a, ls_fixed_mul(row->spin_a, impulse));
    motion->spin_b = ls_fixed_add(motion->spin_b, ls_fixed_mul(row->spin_b, impulse));
    return ls_fixed_mul(contact->inverse_mass, impulse);
}

static void push(const ls_arena_contact *contact, const ls_arena_row *row, ls_fixed impulse,
                 meeting *motion)
{
    motion->pushed = ls_fixed_add(motion->pushed, impulse);
    motion->apart = ls_fixed_add(motion->apart, give(contact, row, impulse, motion));
}

static void drag(const ls_arena_contact *contact, ls_fixed impulse, meeting *motion)
{
    motion->dragged = ls_fixed_add(motion->dragged, impulse);
    motion->along = ls_fixed_add(motion->along, give(contact, &contact->friction, impulse, motion));
}

static void apply(const ls_arena_contact *contact, const meeting *motion, ls_arena_mover *a,
                  ls_arena_mover *b)
{
    ls_vec2 n = contact->normal;
    ls_vec2 impulse = {
        ls_fixed_sub(ls_fixed_mul(n.x, motion->pushed), ls_fixed_mul(n.y, motion->dragged)),
        ls_fixed_add(ls_fixed_mul(n.y, motion->pushed), ls_fixed_mul(n.x, motion->dragged)),
    };
    a->velocity = ls_vec2_sub(a->velocity, ls_vec2_scale(impulse, a->inverse_mass));
    b->velocity = ls_vec2_add(b->velocity, ls_vec2_scale(impulse, b->inverse_mass));
    a->spin = motion->spin_a;
    b->spin = motion->spin_b;
}

static ls_fixed gap_of(const ls_arena_point *point, const meeting *motion)
{
    ls_fixed way = with_turning(&point->row, motion->way, motion->turn_a, motion->turn_b);
    return ls_fixed_sub(way, point->depth);
}

static ls_fixed speed_of(const ls_arena_point *point, const meeting *motion)
{
    return with_turning(&point->row, motion->apart, motion->spin_a, motion->spin_b);
}

/* The change of the impulse at a point, before it is kept from pulling, after which the bodies do
 * not get closer, or bounce. Those that are not there yet may close the gap within a step. */
static ls_fixed wanted_stop(const small_steps *solver, const ls_arena_point *point,
                            const meeting *motion)
{
    ls_fixed speed = ls_fixed_sub(speed_of(point, motion), point->bounce);
    ls_fixed gap = gap_of(point, motion);
    if (gap > 0 && point->bounce == 0) {
        speed = ls_fixed_add(speed, ls_fixed_mul(gap, solver->steps_per_s));
    }
    return ls_fixed_negate(ls_fixed_mul(point->row.mass, speed));
}

/* The same, after which bodies that overlap part like a spring. A wall does not give way. */
static ls_fixed wanted_push(const small_steps *solver, const ls_arena_contact *contact,
                            const ls_arena_point *point, const meeting *motion)
{
    ls_fixed gap = gap_of(point, motion);
    if (gap > 0 || point->bounce > 0 || contact->b == LS_ARENA_WALL) {
        return wanted_stop(solver, point, motion);
    }
    ls_fixed out = ls_fixed_max(ls_fixed_mul(gap, solver->push_rate), -PUSH_SPEED_MAX);
    ls_fixed speed = ls_fixed_add(speed_of(point, motion), out);
    ls_fixed given = ls_fixed_mul(ls_fixed_mul(point->row.mass, speed), solver->push_share);
    ls_fixed taken = ls_fixed_mul(point->row.impulse, solver->forget_share);
    return ls_fixed_negate(ls_fixed_add(given, taken));
}

static void solve_point(const ls_arena_contact *contact, ls_arena_point *point, meeting *motion,
                        ls_fixed wanted)
{
    ls_fixed impulse = ls_fixed_max(ls_fixed_add(point->row.impulse, wanted), 0);
    push(contact, &point->row, ls_fixed_sub(impulse, point->row.impulse), motion);
    point->row.impulse = impulse;
}

static void solve_friction(const small_steps *solver, ls_arena_contact *contact, meeting *motion)
{
    ls_arena_row *row = &contact->friction;
    ls_fixed pressed = ls_fixed_add(contact->points[0].row.impulse, contact->points[1].row.impulse);
    ls_fixed grip = ls_fixed_mul(solver->friction, pressed);
    ls_fixed speed = with_turning(row, motion->along, motion->spin_a, motion->spin_b);
    ls_fixed wanted = ls_fixed_sub(row->impulse, ls_fixed_mul(row->mass, speed));
    ls_fixed impulse = ls_fixed_clamp(wanted, ls_fixed_negate(grip), grip);
    drag(contact, ls_fixed_sub(impulse, row->impulse), motion);
    row->impulse = impulse;
}

/* Out of each other, like a spring. */
static void push_out(const small_steps *solver, ls_arena_contact *contact)
{
    ls_arena_mover *a = &solver->movers[contact->mover_a];
    ls_arena_mover *b = &solver->movers[contact->mover_b];
    meeting motion = motion_of(contact, a, b);
    for (uint32_t i = 0; i < contact->point_count; i++) {
        ls_arena_point *point = &contact->points[i];
        solve_point(contact, point, &motion, wanted_push(solver, contact, point, &motion));
    }
    apply(contact, &motion, a, b);
}

/* Gives the impulses that it ended with in the last tick. */
static void begin_again(const small_steps *solver, ls_arena_contact *contact)
{
    ls_arena_mover *a = &solver->movers[contact->mover_a];
    ls_arena_mover *b = &solver->movers[contact->mover_b];
    meeting motion = motion_of(contact, a, b);
    for (uint32_t i = 0; i < contact->point_count; i++) {
        push(contact, &contact->points[i].row, contact->points[i].row.impulse, &motion);
    }
    drag(contact, contact->friction.impulse, &motion);
    apply(contact, &motion, a, b);
}

/* To where nothing but a bounce drives them apart, and friction. */
static void relax(const small_steps *solver, ls_arena_contact *contact)
{
    ls_arena_mover *a = &solver->movers[contact->mover_a];
    ls_arena_mover *b = &solver->movers[contact->mover_b];
    meeting motion = motion_of(contact, a, b);
    for (uint32_t i = 0; i < contact->point_count; i++) {
        ls_arena_point *point = &contact->points[i];
        ls_fixed wanted = wanted_stop(solver, point, &motion);
        if (contact->is_pressed) {
            wanted = ls_fixed_mul(wanted, RELAX_BEYOND);
        }
        solve_point(contact, point, &motion, wanted);
    }
    solve_friction(solver, contact, &motion);
    apply(contact, &motion, a, b);
}

/* ---- all contacts ---- */

typedef void (*visitor)(const small_steps *solver, ls_arena_contact *contact);

static void for_all(const small_steps *solver, visitor visit)
{
    for (uint32_t i = 0; i < solver->contact_count; i++) {
        visit(solver, &solver->contacts[i]);
    }
}

static void for_pressed(const small_steps *solver, visitor visit)
{
    for (uint32_t i = 0; i < solver->contact_count; i++) {
        if (solver->contacts[i].is_pressed) {
            visit(solver, &solver->contacts[i]);
        }
    }
}

/* ---- the pass ---- */

static void move_all(const small_steps *solver)
{
    for (uint32_t i = 1; i < solver->mover_count; i++) {
        ls_arena_mover *mover = &solver->movers[i];
        mover->way = ls_vec2_add(mover->way, ls_vec2_scale(mover->velocity, solver->step));
        mover->turn = ls_fixed_add(mover->turn, ls_fixed_mul(mover->spin, solver->step));
    }
}

static bool is_loaded(const ls_arena_contact *contact)
{
    ls_fixed depth = ls_fixed_max(contact->points[0].depth, contact->points[1].depth);
    ls_fixed pressed = ls_fixed_add(contact->points[0].row.impulse, contact->points[1].row.impulse);
    return depth > LS_ARENA_SLOP || ls_fixed_mul(pressed, contact->inverse_mass) > AWAKE_SPEED;
}

/* Bodies that overlap more than a little or press each other stay awake as long as they do. */
static void keep_awake(const ls_arena_world *world)
{
    for (uint32_t i = 0; i < world->match->contacts; i++) {
        const ls_arena_contact *contact = &world->contacts[i];
        if (is_loaded(contact)) {
            world->bodies[contact->a].still_ticks = 0;
            if (contact->b != LS_ARENA_WALL) {
                world->bodies[contact->b].still_ticks = 0;
            }
        }
    }
}

void ls_arena_pass_solve(const ls_step *step)
{
    ls_arena_world world = ls_arena_world_of(step);
    small_steps solver = solver_of(&world);
    for_pressed(&solver, begin_again);
    for (uint32_t i = 0; i < world.rules.iterations; i++) {
        for_all(&solver, push_out);
        move_all(&solver);
        for (uint32_t k = 0; k < RELAX_PRESSED; k++) {
            for_pressed(&solver, relax);
        }
        for_all(&solver, relax);
    }
    touches_keep(&world);
    keep_awake(&world);
}
