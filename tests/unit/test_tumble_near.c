/* The search for bodies near each other must find what comparing all with all finds, in the same
 * order, whatever the state holds: the order of pairs is part of the rules of the game. */
#include "lockstep/tests/support/sim_fixture.h"

#include "lockstep/common/simulations/tumble/tumble_contacts.h"

#define BODIES 150u
#define MARGIN LS_FIXED_RATIO(2, 100)

typedef struct scene {
    sim_fixture *sim;
    ls_tumble_world world;
    ls_tumble_near near;
} scene;

/* A crowd where every fourth sleeps, and all may move a quarter of a metre. */
static scene *open_scene(uint64_t seed)
{
    static scene s;
    ls_sim_config config = ls_sim_config_default(ls_tumble_simulation());
    sim_set(&config, ls_tumble_simulation(), "bodies=150");
    config.seed = seed;
    s.sim = sim_open(ls_tumble_simulation(), config);
    sim_run_bots(s.sim, 90);
    size_t scratch_bytes = 0;
    ls_step step = {
        .config = &s.sim->config,
        .state = sim_state(s.sim),
        .scratch = ls_sim_instance_scratch(s.sim->instance, &scratch_bytes),
    };
    s.world = ls_tumble_world_of(&step);
    ls_rng rng = ls_rng_make(seed, 3);
    for (uint32_t i = 0; i < s.world.layout.body_count; i++) {
        s.world.bodies[i].still_ticks = i % 4 == 0 ? UINT16_MAX : 0;
        s.world.movers[i].travel = ls_rng_fixed_between(&rng, 0, LS_FIXED_RATIO(25, 100));
    }
    return &s;
}

static bool is_pair(const ls_tumble_world *world, uint32_t a, uint32_t b, ls_fixed margin)
{
    const ls_tumble_body *first = &world->bodies[a];
    const ls_tumble_body *second = &world->bodies[b];
    ls_vec3 offset = ls_vec3_sub(second->position, first->position);
    uint64_t sum = (uint64_t)first->radius + (uint64_t)second->radius + (uint64_t)margin;
    ls_fixed reach = ls_signed_from_bits(sum + (uint64_t)world->movers[a].travel +
                                         (uint64_t)world->movers[b].travel);
    return ls_fixed_abs(offset.x) <= reach && ls_fixed_abs(offset.y) <= reach &&
           ls_fixed_abs(offset.z) <= reach &&
           ls_vec3_dot(offset, offset) <= ls_fixed_mul(reach, reach);
}

/* Returns how many there were. */
static uint32_t compare_with_all(scene *s, uint32_t index, uint32_t awake_after)
{
    ls_tumble_search search = {index, awake_after, MARGIN};
    ls_tumble_near_find(&s->world, &s->near, &search);
    uint32_t count = 0;
    uint32_t found = 0;
    for (uint32_t i = 0; i < s->world.layout.body_count; i++) {
        const ls_tumble_body *body = &s->world.bodies[i];
        bool is_asked_for = ls_tumble_is_asleep(&s->world, body) || i > awake_after;
        if (body->shape == LS_TUMBLE_NONE || i == index || !is_asked_for ||
            !is_pair(&s->world, index, i, MARGIN)) {
            continue;
        }
        cr_assert(ls_tumble_near_pop(&s->near, &found), "%u near %u", i, index);
        cr_assert_eq(found, i);
        count++;
    }
    cr_assert_not(ls_tumble_near_pop(&s->near, &found), "%u is not near %u", found, index);
    return count;
}

static uint32_t compare_everybody(scene *s)
{
    uint32_t count = 0;
    ls_tumble_near_build(&s->world, &s->near);
    for (uint32_t i = 0; i < s->world.layout.body_count; i++) {
        if (s->world.bodies[i].shape != LS_TUMBLE_NONE) {
            count += compare_with_all(s, i, i);
            count += compare_with_all(s, i, UINT32_MAX);
        }
    }
    return count;
}

TestSuite(tumble_near, .fini = destroy_kept);

Test(tumble_near, a_search_finds_in_order_what_comparing_all_bodies_finds)
{
    for (uint64_t seed = 1; seed <= 2; seed++) {
        scene *s = open_scene(seed);
        uint32_t count = compare_everybody(s);
        cr_assert_gt(count, BODIES, "%u", count);
        cr_assert_eq(s->near.spot_count, s->near.grid_count);
    }
}

Test(tumble_near, bodies_of_any_place_and_size_are_found)
{
    static const ls_fixed values[] = {
        LS_FIXED_MIN,
        LS_FIXED_MAX,
        LS_FIXED_MIN + 1,
        -1,
        0,
        1,
        LS_FIXED_MAX - LS_FIXED_ONE,
        LS_FIXED_INT(1 << 20),
        LS_FIXED_INT(40),
        LS_FIXED_INT(-40),
    };
    const uint32_t count = sizeof values / sizeof values[0];
    uint32_t strays = 0;
    for (uint64_t seed = 1; seed <= 2; seed++) {
        scene *s = open_scene(seed);
        ls_rng rng = ls_rng_make(seed, 4);
        for (uint32_t i = 0; i < 40; i++) {
            ls_tumble_body *body = &s->world.bodies[ls_rng_below(&rng, BODIES)];
            ls_fixed *parts[] = {&body->position.x, &body->position.y, &body->position.z,
                                 &body->radius};
            uint32_t part = ls_rng_below(&rng, 4);
            *parts[part] = values[ls_rng_below(&rng, count)];
        }
        compare_everybody(s);
        strays += s->near.spot_count - s->near.grid_count;
    }
    cr_assert_gt(strays, 10, "%u", strays);
}

Test(tumble_near, all_bodies_in_one_place_are_found)
{
    scene *s = open_scene(1);
    for (uint32_t i = 0; i < s->world.layout.body_count; i++) {
        s->world.bodies[i].position = (ls_vec3){LS_FIXED_ONE, LS_FIXED_ONE, LS_FIXED_ONE};
    }
    uint32_t bodies = s->world.layout.body_count;
    cr_assert_gt(compare_everybody(s), bodies * (bodies - 1) / 2);
}
