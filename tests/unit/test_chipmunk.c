/* The plug-in over Chipmunk: an engine that cannot be saved, under a state that can. */
#include "lockstep/tests/support/plugin_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

#include "lockstep/tools/adapters/chipmunk/chipmunk_world.h"
#include <stdio.h>

static void load(void)
{
    load_plugin(LS_TEST_CHIPMUNK);
}

TestSuite(chipmunk, .init = load, .fini = unload_plugin);

static sim_fixture *open_chipmunk(const char *rows)
{
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    sim_set(&config, loaded.simulation, rows);
    config.players = 4;
    return sim_open(loaded.simulation, config);
}

static uint64_t hash_of(const sim_fixture *sim)
{
    return ls_sim_instance_hash(sim->instance);
}

static const chipmunk_world *world_of(const sim_fixture *sim)
{
    return sim_state(sim);
}

/* Continues `to` where `from` is, by a save. */
static void move_over(const sim_fixture *from, sim_fixture *to)
{
    static uint8_t save[sizeof(chipmunk_world) * 2];
    cr_assert_leq(ls_sim_instance_save_bytes(from->instance), sizeof save);
    cr_assert_eq(ls_sim_instance_save(from->instance, save), LS_OK);
    ls_tick tick = ls_sim_instance_tick(from->instance);
    cr_assert_eq(
        ls_sim_instance_load(to->instance, save, ls_sim_instance_save_bytes(from->instance), tick),
        LS_OK);
    memcpy(to->bots, from->bots, sizeof to->bots);
}

Test(chipmunk, the_plugin_names_every_byte_of_its_state)
{
    sim_fixture *sim = open_chipmunk("rows=3");
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_check(loaded.simulation, &why), LS_OK, "%s", why.bytes);
    cr_assert_not_null(ls_sim_instance_schema(sim->instance));
    cr_assert_neq(ls_sim_instance_digests(sim->instance).content, 0);
}

Test(chipmunk, the_same_inputs_give_the_same_hashes_and_others_do_not)
{
    sim_fixture *a = open_chipmunk("rows=3");
    sim_fixture *b = open_chipmunk("rows=3");
    /* Where the engine computes otherwise, bodies meet later. */
    for (int i = 0; i < 300 || (i < 3000 && world_of(a)->touch_count <= 8); i++) {
        sim_run_bots(a, 1);
        sim_run_bots(b, 1);
        cr_assert_eq(hash_of(a), hash_of(b));
    }
    cr_assert_gt(world_of(a)->touch_count, 8);
    b->bytes[0][0] ^= CHIPMUNK_LEFT | CHIPMUNK_RIGHT;
    sim_step(a, 1);
    sim_step(b, 1);
    cr_assert_neq(hash_of(a), hash_of(b));
}

/* The claim of the whole plug-in: a joiner's space has no history, and needs none. */
Test(chipmunk, a_loaded_state_goes_on_with_the_same_bits)
{
    sim_fixture *old = open_chipmunk("rows=3");
    sim_run_bots(old, 250);
    for (int joiner = 0; joiner < 3; joiner++) {
        sim_fixture *young = open_chipmunk("rows=3");
        sim_run_bots(young, (uint32_t)joiner * 40); /* what was there before is gone */
        move_over(old, young);
        for (int i = 0; i < 150; i++) {
            cr_assert_eq(hash_of(old), hash_of(young), "tick %d after the load", i);
            sim_run_bots(old, 1);
            sim_run_bots(young, 1);
        }
    }
    cr_assert_gt(world_of(old)->touch_count, 8);
}

/* It takes the cached impulses: without them the pile lies on the floor after 600 ticks. */
Test(chipmunk, a_pile_of_crates_stands_still)
{
    sim_fixture *sim = open_chipmunk("rows=8");
    sim_step(sim, 120);
    const chipmunk_body before = world_of(sim)->bodies[CHIPMUNK_CRATES + CHIPMUNK_CRATES_MAX - 1];
    cr_assert_gt(before.y, 15 * CHIPMUNK_CRATE_HALF - 0.2);
    sim_step(sim, 480);
    const chipmunk_body after = world_of(sim)->bodies[CHIPMUNK_CRATES + CHIPMUNK_CRATES_MAX - 1];
    cr_assert_float_eq(after.x, before.x, 0.001);
    cr_assert_float_eq(after.y, before.y, 0.001);
}

Test(chipmunk, bots_cross_the_bridge)
{
    sim_fixture *sim = open_chipmunk("rows=0");
    sim_run_bots(sim, 1500);
    uint32_t crossings = 0;
    for (uint32_t slot = 0; slot < sim->config.players; slot++) {
        crossings += world_of(sim)->drivers[slot].crossings;
    }
    cr_assert_gt(crossings, 1);
}

Test(chipmunk, any_bytes_and_events_are_played_the_same_way_twice)
{
    sim_fixture *a = open_chipmunk("rows=2");
    sim_fixture *b = open_chipmunk("rows=2");
    ls_rng rng = ls_rng_make(3, 1);
    for (int i = 0; i < 300; i++) {
        for (uint32_t slot = 0; slot < a->config.players; slot++) {
            uint8_t byte = (uint8_t)ls_rng_next(&rng);
            a->slots[slot].events = ls_rng_below(&rng, 16) < 4 ? ls_rng_below(&rng, 4) : 0;
            b->slots[slot].events = a->slots[slot].events;
            sim_set_input(a, slot, &byte, byte % 2);
            sim_set_input(b, slot, &byte, byte % 2);
        }
        sim_step(a, 1);
        sim_step(b, 1);
        cr_assert_eq(hash_of(a), hash_of(b));
    }
}

/* A save comes from another machine. Some bytes make numbers that are none, some make ids of
 * shapes that are not there; everywhere else a few bits are another. */
Test(chipmunk, any_state_is_stepped_the_same_way_twice)
{
    sim_fixture *good = open_chipmunk("rows=3");
    sim_fixture *a = open_chipmunk("rows=3");
    sim_fixture *b = open_chipmunk("rows=3");
    sim_run_bots(good, 100);
    ls_rng rng = ls_rng_make(9, 1);
    for (int i = 0; i < 60; i++) {
        memcpy(sim_state(a), sim_state(good), sizeof(chipmunk_world));
        uint8_t *bytes = sim_state(a);
        uint32_t odds = i % 3 == 0 ? 1 : i % 3 == 1 ? 8 : 500;
        for (size_t at = 0; at < sizeof(chipmunk_world); at++) {
            bytes[at] = ls_rng_below(&rng, odds) == 0 ? (uint8_t)ls_rng_next(&rng) : bytes[at];
        }
        memcpy(sim_state(b), sim_state(a), sizeof(chipmunk_world));
        sim_step(a, 6);
        sim_step(b, 6);
        cr_assert_eq(memcmp(sim_state(a), sim_state(b), sizeof(chipmunk_world)), 0);
    }
}

/* All at one place: every shape touches every other one. */
Test(chipmunk, a_state_of_zeros_is_stepped)
{
    sim_fixture *sim = open_chipmunk("rows=8");
    memset(sim_state(sim), 0, sizeof(chipmunk_world));
    sim_join(sim);
    sim_step(sim, 30);
    cr_assert_leq(world_of(sim)->touch_count, CHIPMUNK_TOUCHES_MAX);
}

Test(chipmunk, who_leaves_takes_the_car_along_and_who_asks_is_put_back)
{
    sim_fixture *sim = open_chipmunk("rows=3");
    sim_join(sim);
    sim_step(sim, 60);
    double start = world_of(sim)->bodies[0].x;
    sim_set_input(sim, 0, (const uint8_t[]){CHIPMUNK_RIGHT}, 1);
    sim_step(sim, 90);
    cr_assert_gt(world_of(sim)->bodies[0].x, start + 2);
    sim_set_input(sim, 0, (const uint8_t[]){CHIPMUNK_RESCUE}, 1);
    sim_step(sim, 1);
    cr_assert_float_eq(world_of(sim)->bodies[0].x, start, 0.2);
    sim->slots[0].events = LS_EVENT_LEFT;
    sim_step(sim, 1);
    cr_assert_eq(world_of(sim)->drivers[0].is_here, 0);
    ls_draw_list list = sim_draw(sim, sim_state(sim), LS_FIXED_HALF);
    for (uint32_t i = 0; i < list.count; i++) {
        cr_assert_neq(list.shapes[i].owner, 1);
    }
}

Test(chipmunk, keys_drive)
{
    sim_fixture *sim = open_chipmunk("rows=3");
    ls_controls controls = {.held = LS_CONTROL_LEFT, .pressed = LS_CONTROL_FIRST};
    uint8_t byte = 0;
    cr_assert_eq(loaded.simulation->control(&sim->config, sim_state(sim), 0, &controls, &byte), 1);
    cr_assert_eq(byte, CHIPMUNK_LEFT | CHIPMUNK_RESCUE);
    controls = (ls_controls){.stick = {LS_FIXED_ONE, 0}};
    loaded.simulation->control(&sim->config, sim_state(sim), 0, &controls, &byte);
    cr_assert_eq(byte, CHIPMUNK_RIGHT);
}

Test(chipmunk, status_counts_who_has_crossed_the_bridge)
{
    sim_fixture *sim = open_chipmunk("rows=0");
    sim_expect_keys(sim, "space puts the car back");
    cr_expect_str_eq(sim_status(sim->instance, 0, LS_STATUS_SEAT, 0), "0");
    sim_run_bots(sim, 1500);
    for (uint32_t slot = 0; slot < sim->config.players; slot++) {
        char crossings[16];
        snprintf(crossings, sizeof crossings, "%u", world_of(sim)->drivers[slot].crossings);
        cr_expect_str_eq(sim_status(sim->instance, 0, LS_STATUS_SEAT, slot), crossings);
    }
}
