#include "lockstep/tests/support/arena_fixture.h"

#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/common/simulations/arena/arena_world.h"

enum {
    BODIES_MAX = 600,
    PAIRS_PER_BODY = 8,
    ASLEEP = 255, /* more than any limit */
};

typedef struct number_pair {
    uint32_t a;
    uint32_t b;
} number_pair;

/* An arena whose bodies the test puts where it wants, and its broadphase alone. */
typedef struct pairs_stage {
    arena_fixture arena;
    ls_step step;
    number_pair found[PAIRS_PER_BODY * BODIES_MAX];
    uint32_t found_count;
    number_pair wanted[PAIRS_PER_BODY * BODIES_MAX];
    uint32_t wanted_count;
} pairs_stage;

TestSuite(arena_pairs, .fini = destroy_kept);

static pairs_stage *open_stage(uint32_t bodies, int64_t area)
{
    ls_sim_config config = arena_config();
    config.params[LS_ARENA_PARAM_BODIES] = bodies;
    config.params[LS_ARENA_PARAM_AREA] = area;
    pairs_stage *stage = keep_until_end(calloc(1, sizeof *stage), free);
    stage->arena = arena_open(config);
    void *scratch = keep_until_end(malloc(ls_arena_scratch_bytes(&config)), free);
    memset(scratch, 0xa5, ls_arena_scratch_bytes(&config));
    stage->step = (ls_step){.config = &stage->arena.config,
                            .state = ls_sim_instance_state(stage->arena.instance),
                            .scratch = scratch};
    return stage;
}

/* Spreads them over `share` of the arena's width and puts one in `wakes` to no sleep. */
static void scatter(pairs_stage *stage, double share, uint32_t wakes, ls_rng *rng)
{
    ls_fixed reach =
        ls_fixed_mul(ls_arena_half_size(&stage->arena.config), ls_fixed_from_double(share));
    for (uint32_t i = stage->arena.layout.player_count; i < stage->arena.layout.body_count; i++) {
        ls_arena_body *body = &stage->arena.bodies[i];
        body->position.x = ls_rng_fixed_between(rng, -reach, reach);
        body->position.y = ls_rng_fixed_between(rng, -reach, reach);
        body->still_ticks = ls_rng_below(rng, wakes) == 0 ? 0 : ASLEEP;
        body->velocity = (ls_vec2){0, 0};
        body->spin = 0;
    }
}

/* ---- what the rules say, by a search through all bodies ---- */

static int64_t square_number(ls_fixed half_size, ls_fixed coordinate)
{
    int64_t last = (2 * half_size + LS_FIXED_INT(2) - 1) / LS_FIXED_INT(2) - 1;
    int64_t number = (coordinate + half_size + 1) / LS_FIXED_INT(2);
    return LS_MIN(number, last);
}

/* When there is no room for all pairs of a body, those come first whose other body is in the lowest
 * row of squares, then in the lowest column, then has the lowest number. */
static int64_t rank_of(ls_fixed half_size, const ls_arena_body *body, uint32_t number)
{
    int64_t row = square_number(half_size, body->position.y);
    int64_t column = square_number(half_size, body->position.x);
    return ((row << 16) + column) * BODIES_MAX * 2 + number;
}

static bool is_wanted(const pairs_stage *stage, uint32_t a, uint32_t b)
{
    const ls_arena_body *bodies = stage->arena.bodies;
    bool is_kept_by_a = b > a || (b < a && bodies[b].still_ticks == ASLEEP);
    return is_kept_by_a && bodies[b].shape != LS_ARENA_NONE &&
           ls_arena_circles_overlap(&bodies[a], &bodies[b]);
}

/* How many wanted partners of `a` rank before b. */
static uint32_t place_of(const pairs_stage *stage, uint32_t a, uint32_t b)
{
    ls_fixed half_size = ls_arena_half_size(&stage->arena.config);
    const ls_arena_body *bodies = stage->arena.bodies;
    uint32_t before = 0;
    for (uint32_t other = 0; other < stage->arena.layout.body_count; other++) {
        before += is_wanted(stage, a, other) &&
                  rank_of(half_size, &bodies[other], other) < rank_of(half_size, &bodies[b], b);
    }
    return before;
}

static void search_all(pairs_stage *stage)
{
    uint32_t count = stage->arena.layout.body_count;
    stage->wanted_count = 0;
    for (uint32_t a = 0; a < count; a++) {
        const ls_arena_body *body = &stage->arena.bodies[a];
        if (body->shape == LS_ARENA_NONE || body->still_ticks == ASLEEP) {
            continue;
        }
        uint32_t room = PAIRS_PER_BODY * count - stage->wanted_count;
        for (uint32_t b = 0; b < count; b++) {
            if (is_wanted(stage, a, b) && place_of(stage, a, b) < room) {
                stage->wanted[stage->wanted_count++] = (number_pair){a, b};
            }
        }
    }
}

/* ---- what the broadphase finds ---- */

static void read_pairs(pairs_stage *stage)
{
    ls_arena_world world = ls_arena_world_of(&stage->step);
    stage->found_count = 0;
    for (uint32_t a = 0; a < stage->arena.layout.body_count; a++) {
        for (uint32_t k = world.first_pairs[a]; k != LS_ARENA_NO_PAIR; k = world.pairs[k].next) {
            stage->found[stage->found_count++] = (number_pair){a, world.pairs[k].b};
        }
    }
}

static void assert_pairs(pairs_stage *stage)
{
    ls_arena_pass_broadphase(&stage->step);
    read_pairs(stage);
    search_all(stage);
    cr_assert_eq(stage->arena.match->pairs, stage->found_count);
    cr_assert_eq(stage->found_count, stage->wanted_count, "%u of %u", stage->found_count,
                 stage->wanted_count);
    for (uint32_t i = 0; i < stage->found_count; i++) {
        cr_assert_eq(stage->found[i].a, stage->wanted[i].a, "pair %u", i);
        cr_assert_eq(stage->found[i].b, stage->wanted[i].b, "pair %u", i);
    }
}

Test(arena_pairs, they_are_those_of_a_search_through_all_bodies)
{
    ls_rng rng = ls_rng_make(3, 1);
    uint32_t found = 0;
    for (uint32_t round = 0; round < 60; round++) {
        pairs_stage *stage = open_stage(round * 5, round % 2 == 0 ? 8 : 60);
        scatter(stage, round % 3 == 0 ? 0.5 : 1.0, 1 + round % 4, &rng);
        assert_pairs(stage);
        found += stage->found_count;
    }
    cr_assert_gt(found, 3000);
}

Test(arena_pairs, few_that_are_awake_find_all_that_sleep)
{
    ls_rng rng = ls_rng_make(4, 1);
    uint32_t found = 0;
    for (uint32_t round = 0; round < 20; round++) {
        pairs_stage *stage = open_stage(300, 8);
        scatter(stage, 0.7, 10, &rng);
        assert_pairs(stage);
        cr_assert_lt(stage->arena.match->awake, 75);
        found += stage->found_count;
    }
    cr_assert_gt(found, 500);
}

Test(arena_pairs, those_of_the_lowest_bodies_and_squares_are_kept_when_there_are_too_many)
{
    ls_rng rng = ls_rng_make(5, 1);
    for (uint32_t round = 0; round < 6; round++) {
        pairs_stage *stage = open_stage(80, 8);
        scatter(stage, 0.05 + 0.01 * round, round < 3 ? 1 : 2, &rng);
        assert_pairs(stage);
        cr_assert_eq(stage->found_count, PAIRS_PER_BODY * stage->arena.layout.body_count);
    }
}

Test(arena_pairs, bodies_in_the_corners_and_on_the_edges_of_squares_are_found)
{
    pairs_stage *stage = open_stage(200, 9);
    ls_fixed half_size = ls_arena_half_size(&stage->arena.config);
    ls_rng rng = ls_rng_make(6, 1);
    for (uint32_t i = stage->arena.layout.player_count; i < stage->arena.layout.body_count; i++) {
        ls_fixed x = LS_FIXED_INT(2 * ls_rng_below(&rng, 4)) - half_size;
        ls_fixed y = half_size - LS_FIXED_INT(ls_rng_below(&rng, 3));
        x = ls_fixed_add(x, ls_rng_between(&rng, -2, 2));
        stage->arena.bodies[i].position = (ls_vec2){i % 2 == 0 ? x : -x, i % 4 < 2 ? y : -y};
    }
    assert_pairs(stage);
}

/* ---- those near a wall ---- */

Test(arena_pairs, who_may_touch_a_wall_is_noted)
{
    pairs_stage *stage = open_stage(4, 9);
    ls_arena_body *bodies = stage->arena.bodies + stage->arena.layout.player_count;
    ls_fixed half_size = ls_arena_half_size(&stage->arena.config);
    for (uint32_t i = 0; i < 4; i++) {
        bodies[i].position = (ls_vec2){LS_FIXED_INT(3 * i), 0};
    }
    bodies[1].position.x = half_size - bodies[1].radius - LS_ARENA_SLOP;
    bodies[2].position.y = bodies[2].radius + LS_ARENA_SLOP - half_size + 1;
    bodies[3].position.x = -half_size;
    bodies[3].still_ticks = ASLEEP;
    bodies[3].velocity = (ls_vec2){0, 0};
    bodies[3].spin = 0;
    ls_arena_pass_broadphase(&stage->step);
    ls_arena_world world = ls_arena_world_of(&stage->step);
    cr_assert_eq(world.near_wall[0], stage->arena.layout.player_count + 1);
    cr_assert_eq(world.near_wall[1], LS_ARENA_WALL);
    bodies[2].position.y--;
    bodies[3].still_ticks = 0;
    ls_arena_pass_broadphase(&stage->step);
    cr_assert_eq(world.near_wall[1], stage->arena.layout.player_count + 2);
    cr_assert_eq(world.near_wall[2], stage->arena.layout.player_count + 3);
    cr_assert_eq(world.near_wall[3], LS_ARENA_WALL);
}
