/* Rules for every simulation that comes with Lockstep. */
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tests/support/sim_fixture.h"

enum {
    TICKS = 200,
};

/* `sim` is each built-in simulation, as it comes. */
#define FOR_EACH_SIMULATION(sim)                                                                   \
    for (uint32_t index = 0; ls_builtin_simulation(index) != NULL; index++)                        \
        for (sim_fixture *sim = open_default(index); sim != NULL; destroy_kept(), sim = NULL)

static sim_fixture *open_default(uint32_t index)
{
    const ls_simulation *simulation = ls_builtin_simulation(index);
    return sim_open(simulation, ls_sim_config_default(simulation));
}

TestSuite(builtin, .fini = destroy_kept);

Test(builtin, there_are_five_with_names_of_their_own)
{
    uint32_t count = 0;
    for (; ls_builtin_simulation(count) != NULL; count++) {
        const ls_simulation *simulation = ls_builtin_simulation(count);
        cr_assert_eq(ls_builtin_simulation_named(simulation->name), simulation);
    }
    cr_assert_eq(count, 5);
    cr_assert_null(ls_builtin_simulation_named("chess"));
}

Test(builtin, every_struct_passes_the_check)
{
    for (uint32_t i = 0; ls_builtin_simulation(i) != NULL; i++) {
        ls_text why = {{0}};
        cr_assert_eq(ls_simulation_check(ls_builtin_simulation(i), &why), LS_OK, "%s", why.bytes);
    }
}

/* Creating an instance fails when one byte is not covered exactly once. */
Test(builtin, the_schema_covers_the_state_at_both_ends_of_every_parameter)
{
    for (uint32_t index = 0; ls_builtin_simulation(index) != NULL; index++) {
        const ls_simulation *simulation = ls_builtin_simulation(index);
        for (uint32_t i = 0; i < 2 * simulation->param_count; i++) {
            const ls_param *param = &simulation->params[i / 2];
            ls_sim_config config = ls_sim_config_default(simulation);
            config.params[i / 2] = i % 2 ? param->max : param->min;
            config.players = i % 2 ? simulation->players_max : 1;
            sim_run_bots(sim_open(simulation, config), 3);
            destroy_kept(); /* they are large */
        }
    }
}

Test(builtin, another_seed_gives_another_match)
{
    FOR_EACH_SIMULATION(sim)
    {
        ls_sim_config config = sim->config;
        config.seed++;
        sim_fixture *other = sim_open(sim->simulation, config);
        sim_run_bots(sim, 2);
        sim_run_bots(other, 2);
        bool is_same = ls_sim_instance_hash(sim->instance) == ls_sim_instance_hash(other->instance);
        bool has_seed = strcmp(sim->simulation->name, "spring") != 0; /* it has nothing random */
        cr_assert_neq(is_same, has_seed, "%s", sim->simulation->name);
    }
}

Test(builtin, a_run_from_a_save_gives_the_same_hashes)
{
    FOR_EACH_SIMULATION(sim)
    {
        sim_run_bots(sim, TICKS);
        size_t size = ls_sim_instance_save_bytes(sim->instance);
        uint8_t *save = ls_allocate(ls_allocator_heap(), size);
        cr_assert_eq(ls_sim_instance_save(sim->instance, save), LS_OK);
        ls_rng bots[LS_PLAYERS_MAX];
        memcpy(bots, sim->bots, sizeof bots);
        sim_run_bots(sim, TICKS);
        uint64_t state_hash = ls_sim_instance_hash(sim->instance);
        cr_assert_eq(ls_sim_instance_load(sim->instance, save, size, TICKS), LS_OK);
        cr_assert_neq(ls_sim_instance_hash(sim->instance), state_hash);
        memcpy(sim->bots, bots, sizeof bots);
        sim_run_bots(sim, TICKS);
        cr_assert_eq(ls_sim_instance_hash(sim->instance), state_hash, "%s", sim->simulation->name);
        ls_release(ls_allocator_heap(), save);
    }
}

static void set_random_inputs(sim_fixture *sim, ls_rng *rng)
{
    for (uint32_t slot = 0; slot < sim->config.players; slot++) {
        sim->slots[slot].size = ls_rng_below(rng, sim->simulation->input_bytes_max + 1);
        sim->slots[slot].events = ls_rng_below(rng, 8) == 0 ? ls_rng_below(rng, 4) : 0;
        for (uint32_t i = 0; i < sim->slots[slot].size; i++) {
            sim->bytes[slot][i] = (uint8_t)ls_rng_next(rng);
        }
    }
}

Test(builtin, any_bytes_and_events_are_played_the_same_way_twice)
{
    FOR_EACH_SIMULATION(sim)
    {
        sim_fixture *twin = sim_open(sim->simulation, sim->config);
        ls_rng rng = ls_rng_make(7, 1);
        ls_rng rng_twin = rng;
        for (uint32_t tick = 0; tick < TICKS; tick++) {
            set_random_inputs(sim, &rng);
            set_random_inputs(twin, &rng_twin);
            sim_step(sim, 1);
            sim_step(twin, 1);
        }
        cr_assert_eq(ls_sim_instance_hash(sim->instance), ls_sim_instance_hash(twin->instance));
        size_t offset = 0;
        const ls_schema *schema = ls_sim_instance_schema(sim->instance);
        cr_assert_not(ls_schema_dirty_padding(schema, sim_state(sim), &offset));
    }
}

static uint64_t step_from(sim_fixture *sim, const void *state, size_t bytes, uint8_t fill)
{
    memcpy(sim_state(sim), state, bytes);
    sim_fill_scratch(sim, fill);
    sim_step(sim, 1);
    return ls_sim_instance_hash(sim->instance);
}

/* Long enough for bots to meet, fight and collide. */
Test(builtin, a_step_does_not_depend_on_what_scratch_held)
{
    FOR_EACH_SIMULATION(sim)
    {
        size_t bytes = ls_sim_instance_state_bytes(sim->instance);
        void *state = ls_allocate(ls_allocator_heap(), bytes);
        for (uint32_t tick = 0; tick < 2 * TICKS; tick++) {
            memcpy(state, sim_state(sim), bytes);
            sim_run_bots(sim, 1);
            uint64_t state_hash = step_from(sim, state, bytes, 0xA5);
            cr_assert_eq(step_from(sim, state, bytes, tick % 2 ? 0 : 0xFF), state_hash, "%s",
                         sim->simulation->name);
        }
        ls_release(ls_allocator_heap(), state);
    }
}

/* ---- pictures ---- */

Test(builtin, shapes_have_ids_of_their_own_and_owners_that_play)
{
    FOR_EACH_SIMULATION(sim)
    {
        sim_run_bots(sim, TICKS);
        ls_draw_list list = sim_draw(sim, sim_state(sim), LS_FIXED_HALF);
        cr_assert_gt(list.count, 0);
        cr_assert_lt(list.count, SIM_SHAPES);
        cr_assert_lt(list.view_min.x, list.view_max.x);
        cr_assert_lt(list.view_min.y, list.view_max.y);
        for (uint32_t i = 0; i < list.count; i++) {
            cr_assert_leq(list.shapes[i].owner, sim->config.players);
            for (uint32_t j = i + 1; j < list.count; j++) {
                cr_assert_neq(list.shapes[i].id, list.shapes[j].id, "%s", sim->simulation->name);
            }
        }
    }
}

Test(builtin, a_full_picture_stops_at_its_capacity)
{
    FOR_EACH_SIMULATION(sim)
    {
        ls_draw_shape shapes[11] = {{0}};
        ls_draw_list list = {.shapes = shapes, .capacity = 10};
        sim->simulation->draw(&sim->config, sim_state(sim), sim_state(sim), 0, &list);
        cr_assert_eq(list.count, 10);
        cr_assert_eq(shapes[10].colour, 0);
    }
}

/* ---- hands ---- */

Test(builtin, hands_at_rest_and_hands_that_do_everything_make_inputs_that_fit)
{
    uint8_t memory[LS_CONTROL_MEMORY_BYTES] = {0};
    ls_controls rest = {.memory = memory};
    ls_controls all = {
        .held = UINT32_MAX,
        .pressed = UINT32_MAX,
        .stick = {LS_FIXED_ONE, -LS_FIXED_ONE},
        .pointer = {LS_FIXED_INT(1000000), LS_FIXED_INT(-1000000)},
        .is_pointer_held = true,
        .gesture = LS_GESTURE_ORDER,
        .memory = memory,
    };
    FOR_EACH_SIMULATION(sim)
    {
        const ls_simulation *simulation = sim->simulation;
        sim_run_bots(sim, 10);
        for (uint32_t slot = 0; simulation->control != NULL && slot < sim->config.players; slot++) {
            uint8_t *bytes = sim->bytes[slot];
            uint32_t max = simulation->input_bytes_max;
            cr_assert_leq(simulation->control(&sim->config, sim_state(sim), slot, &rest, bytes),
                          max);
            cr_assert_leq(simulation->control(&sim->config, sim_state(sim), slot, &all, bytes),
                          max);
        }
    }
}
