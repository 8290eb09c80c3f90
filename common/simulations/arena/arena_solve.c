/* The pass that keeps bodies apart: impulses at the contacts, in small steps within the tick.
 * Every step pushes bodies out of each other like a spring that is damped far beyond swinging,
 * moves them, and takes the speed of that push away again (E. Catto, "Soft Step" in "Solver2D",
 * 2024). Speeds that came into the tick from outside must be met within the first step, so an
 * impulse is that of the whole tick, from the first step on. */
#include "lockstep/common/simulations/arena/arena_touches.h"

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
    ls_arena_touches_keep(&world);
    keep_awake(&world);
}
