/* Bodies that are pressed against a wall, as if they fell towards it: by a speed that is added to
 * each of them in the state, before every tick. */
#include "lockstep/tests/support/arena_fixture.h"

#include "lockstep/common/simulations/arena/arena_collide.h"

#include <math.h>

#define METRES(value) ls_fixed_from_double(value)
#define NUMBER(value) ls_fixed_to_double(value)

#define PRESSURE 9.8 /* m/s2 */
#define HALF 0.5     /* m: half the width of the boxes, and the radius of the discs */

enum {
    BODIES_MAX = 64
};

typedef struct stack {
    arena_fixture arena;
    ls_arena_body *bodies;
    uint32_t count;
    ls_fixed wall;
    ls_vec2 places[BODIES_MAX]; /* of the start */
} stack;

/* Of all ticks that were looked at. */
typedef struct findings {
    double overlap;  /* the deepest, m */
    double speed;    /* the highest of any body, m/s */
    double astray;   /* the furthest along the wall from where a body started, m */
    double movement; /* the largest way of a body in a tick, m */
} findings;

TestSuite(arena_stacks, .fini = destroy_kept);

static stack open_stack(uint32_t tick_rate_hz, uint32_t count)
{
    ls_sim_config config = arena_config();
    config.players = 1;
    config.tick_rate_hz = tick_rate_hz;
    config.params[LS_ARENA_PARAM_BODIES] = count;
    config.params[LS_ARENA_PARAM_AREA] = 60;
    stack pile = {.arena = arena_open(config), .count = count};
    pile.bodies = pile.arena.bodies + pile.arena.layout.player_count;
    pile.wall = ls_arena_half_size(&config);
    return pile;
}

/* So many metres from the wall, and along it. */
static ls_arena_body *put(stack *pile, uint32_t index, ls_arena_shape shape, double from_wall,
                          double along)
{
    ls_arena_body *body = &pile->bodies[index];
    *body = ls_arena_body_make(shape, (ls_vec2){METRES(HALF), METRES(HALF)}, LS_FIXED_ONE);
    body->position.x = ls_fixed_sub(pile->wall, METRES(from_wall));
    body->position.y = METRES(along);
    pile->places[index] = body->position;
    return body;
}

static void make_heavy(ls_arena_body *body, int times)
{
    body->inverse_mass /= times;
    body->inverse_inertia /= times;
}

static void press(stack *pile, double acceleration)
{
    ls_fixed speed = METRES(acceleration / pile->arena.config.tick_rate_hz);
    for (uint32_t i = 0; i < pile->count; i++) {
        pile->bodies[i].velocity.x = ls_fixed_add(pile->bodies[i].velocity.x, speed);
    }
    arena_step(&pile->arena);
}

static void press_for(stack *pile, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        press(pile, PRESSURE);
    }
}

static void note_overlap(const stack *pile, findings *found)
{
    for (uint32_t i = 0; i < pile->count; i++) {
        for (uint32_t j = i + 1; j < pile->count; j++) {
            ls_arena_manifold manifold = ls_arena_collide(&pile->bodies[i], &pile->bodies[j]);
            for (uint32_t k = 0; k < manifold.count; k++) {
                found->overlap = fmax(found->overlap, NUMBER(manifold.depths[k]));
            }
        }
    }
}

static void note_motion(const stack *pile, const ls_vec2 *before, findings *found)
{
    for (uint32_t i = 0; i < pile->count; i++) {
        const ls_arena_body *body = &pile->bodies[i];
        double speed = NUMBER(ls_vec2_length(body->velocity));
        double way = NUMBER(ls_vec2_length(ls_vec2_sub(body->position, before[i])));
        double astray = fabs(NUMBER(body->position.y - pile->places[i].y));
        found->speed = fmax(found->speed, speed);
        found->movement = fmax(found->movement, way);
        found->astray = fmax(found->astray, astray);
    }
}

/* Lets it settle for ten seconds, then looks at it for ten more. */
static findings look_at(stack *pile)
{
    uint32_t ticks = 10 * pile->arena.config.tick_rate_hz;
    findings found = {0};
    press_for(pile, ticks);
    for (uint32_t i = 0; i < ticks; i++) {
        ls_vec2 before[BODIES_MAX];
        for (uint32_t k = 0; k < pile->count; k++) {
            before[k] = pile->bodies[k].position;
        }
        press(pile, PRESSURE);
        note_overlap(pile, &found);
        note_motion(pile, before, &found);
    }
    return found;
}

static void assert_stands(stack *pile, double overlap)
{
    findings found = look_at(pile);
    cr_assert_gt(found.overlap, 0, "nothing touched");
    cr_assert_lt(found.overlap, overlap, "%g m", found.overlap);
    cr_assert_lt(found.speed, 0.002, "%g m/s", found.speed);
    cr_assert_lt(found.movement, 0.00003, "%g m", found.movement);
    cr_assert_lt(found.astray, 0.1, "%g m", found.astray);
}

/* ---- they stand ---- */

static void put_column(stack *pile)
{
    for (uint32_t i = 0; i < pile->count; i++) {
        put(pile, i, LS_ARENA_BOX, HALF + 2 * HALF * i, 0);
    }
}

/* Box 0 lies furthest from the wall. */
static void put_column_backwards(stack *pile)
{
    for (uint32_t i = 0; i < pile->count; i++) {
        put(pile, pile->count - 1 - i, LS_ARENA_BOX, HALF + 2 * HALF * i, 0);
    }
}

Test(arena_stacks, ten_boxes_stand)
{
    stack pile = open_stack(60, 10);
    put_column(&pile);
    assert_stands(&pile, 0.0025);
}

Test(arena_stacks, ten_boxes_stand_in_the_other_order)
{
    stack pile = open_stack(60, 10);
    put_column_backwards(&pile);
    assert_stands(&pile, 0.0025);
}

Test(arena_stacks, ten_boxes_that_are_not_quite_in_line_stand)
{
    stack pile = open_stack(60, 10);
    for (uint32_t i = 0; i < 10; i++) {
        put(&pile, i * 7 % 10, LS_ARENA_BOX, HALF + 2 * HALF * i, i % 3 * 0.02);
    }
    assert_stands(&pile, 0.0025);
}

Test(arena_stacks, ten_boxes_carry_one_of_ten_times_their_mass)
{
    for (uint32_t round = 0; round < 2; round++) {
        stack pile = open_stack(60, 11);
        if (round == 0) {
            put_column(&pile);
        } else {
            put_column_backwards(&pile);
        }
        make_heavy(&pile.bodies[round == 0 ? 10 : 0], 10);
        assert_stands(&pile, 0.005);
    }
}

Test(arena_stacks, boxes_that_are_light_and_heavy_in_turn_stand)
{
    stack pile = open_stack(60, 10);
    put_column(&pile);
    for (uint32_t i = 0; i < 10; i += 2) {
        make_heavy(&pile.bodies[i], 8);
    }
    assert_stands(&pile, 0.006);
}

Test(arena_stacks, a_pyramid_stands)
{
    stack pile = open_stack(60, 21);
    uint32_t index = 0;
    for (uint32_t row = 0; row < 6; row++) {
        for (uint32_t i = 0; i < 6 - row; i++) {
            double along = (i - (5 - row) / 2.0) * (2 * HALF + 0.02);
            put(&pile, index++, LS_ARENA_BOX, HALF + 2 * HALF * row, along);
        }
    }
    assert_stands(&pile, 0.001);
}

Test(arena_stacks, discs_between_boxes_stand)
{
    stack pile = open_stack(60, 24);
    for (uint32_t i = 0; i < 8; i++) {
        put(&pile, 3 * i, LS_ARENA_DISC, HALF + 2 * HALF * i, 0);
        put(&pile, 3 * i + 1, LS_ARENA_BOX, HALF + 2 * HALF * i, 2 * HALF);
        put(&pile, 3 * i + 2, LS_ARENA_BOX, HALF + 2 * HALF * i, -2 * HALF);
    }
    assert_stands(&pile, 0.0025);
}

Test(arena_stacks, five_boxes_stand_at_any_tick_rate)
{
    static const uint32_t rates[] = {30, 120, LS_TICK_RATE_MAX_HZ};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        stack pile = open_stack(rates[i], 5);
        put_column(&pile);
        assert_stands(&pile, 0.003);
    }
}

/* ---- what the contacts remember ---- */

static uint32_t count_touches(const stack *pile)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pile->arena.layout.touch_count; i++) {
        count += pile->arena.touches[i].other != 0;
    }
    return count;
}

Test(arena_stacks, a_contact_is_remembered_as_long_as_it_presses)
{
    stack pile = open_stack(60, 3);
    put_column(&pile);
    press_for(&pile, 60);
    cr_assert_eq(count_touches(&pile), 3);
    for (uint32_t i = 0; i < 3; i++) {
        pile.bodies[i].position.x = METRES(3.0 * i);
    }
    arena_step(&pile.arena);
    static const ls_arena_touch none;
    for (uint32_t i = 0; i < pile.arena.layout.touch_count; i++) {
        cr_assert_arr_eq(&pile.arena.touches[i], &none, sizeof none);
    }
}

Test(arena_stacks, bodies_that_only_bounce_remember_nothing)
{
    stack pile = open_stack(60, 2);
    put(&pile, 0, LS_ARENA_DISC, 5, 0)->velocity.x = METRES(4);
    put(&pile, 1, LS_ARENA_DISC, 3, 0)->velocity.x = METRES(-4);
    for (uint32_t i = 0; i < 60; i++) {
        arena_step(&pile.arena);
        cr_assert_eq(count_touches(&pile), 0);
    }
    cr_assert_gt(NUMBER(pile.bodies[1].velocity.x), 1);
}

/* A hundred tons weigh more than a touch can hold. */
Test(arena_stacks, what_is_too_heavy_to_be_remembered_is_held_all_the_same)
{
    stack pile = open_stack(60, 1);
    make_heavy(put(&pile, 0, LS_ARENA_BOX, HALF, 0), 100000);
    press_for(&pile, 300);
    cr_assert_lt(NUMBER(ls_fixed_abs(pile.bodies[0].velocity.x)), 0.2);
    cr_assert_eq(count_touches(&pile), 1);
    cr_assert_eq(pile.arena.touches[LS_ARENA_TOUCHES_EACH].first, UINT16_MAX);
}

/* ---- no energy comes from nowhere ---- */

static double energy_of(const stack *pile)
{
    double energy = 0;
    for (uint32_t i = 0; i < pile->count; i++) {
        const ls_arena_body *body = &pile->bodies[i];
        double speed = NUMBER(ls_vec2_length(body->velocity));
        energy += speed * speed / NUMBER(body->inverse_mass) / 2;
    }
    return energy;
}

/* For a tick it is pushed back as it was in the last: by 0.163 m/s at most. */
Test(arena_stacks, a_column_that_is_let_go_hardly_moves)
{
    stack pile = open_stack(60, 10);
    put_column(&pile);
    press_for(&pile, 600);
    for (uint32_t i = 0; i < 300; i++) {
        press(&pile, 0);
        cr_assert_lt(energy_of(&pile), 0.1);
    }
}

/* ---- sleep ---- */

Test(arena_stacks, a_sleeper_that_is_pushed_meets_its_neighbour_in_that_tick)
{
    stack pile = open_stack(60, 2);
    put_column(&pile);
    for (uint32_t i = 0; i < 60; i++) {
        arena_step(&pile.arena);
    }
    cr_assert_eq(pile.arena.match->awake, 0);
    pile.bodies[1].velocity.x = METRES(0.4);
    ls_fixed before = pile.bodies[1].position.x;
    arena_step(&pile.arena);
    cr_assert_eq(pile.arena.match->awake, 1);
    cr_assert_lt(NUMBER(pile.bodies[1].position.x - before), 0.4 / 60);
}

Test(arena_stacks, a_column_sleeps_when_nothing_presses_it)
{
    stack pile = open_stack(60, 10);
    put_column(&pile);
    press_for(&pile, 300);
    cr_assert_eq(pile.arena.match->awake, 10);
    for (uint32_t i = 0; i < 600; i++) {
        press(&pile, 0);
    }
    cr_assert_eq(pile.arena.match->awake, 0);
}
