/* The plug-ins over engines that are not ours, of which a build has those whose libraries are
 * there.
 */
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/tools/adapters/chipmunk/chipmunk_world.h"

#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/plugin_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <stdio.h>
#include <string.h>

#if defined(LS_TEST_BOX2D) || defined(LS_TEST_CHIPMUNK)
static void play_any_bytes(sim_fixture *a, sim_fixture *b, int ticks)
{
    ls_rng rng = ls_rng_make(3, 1);
    for (int i = 0; i < ticks; i++) {
        for (uint32_t slot = 0; slot < a->config.players; slot++) {
            uint8_t byte = (uint8_t)ls_rng_next(&rng);
            a->slots[slot].events = ls_rng_below(&rng, 16) < 4 ? ls_rng_below(&rng, 4) : 0;
            b->slots[slot].events = a->slots[slot].events;
            sim_set_input(a, slot, &byte, byte % 2);
            sim_set_input(b, slot, &byte, byte % 2);
        }
        sim_step(a, 1);
        sim_step(b, 1);
        cr_assert_eq(ls_sim_instance_hash(a->instance), ls_sim_instance_hash(b->instance));
    }
}
#endif

/* ==== box2d ==== */

/* The plug-in over Box2D: a state that only its engine knows, and row T7's picture of it. */
#if defined(LS_TEST_BOX2D)

#define LEFT 1u
#define RIGHT 2u
#define JUMP 4u

static void load(void)
{
    load_plugin(LS_TEST_BOX2D);
}

TestSuite(box2d, .init = load, .fini = unload_plugin);

static sim_fixture *open_box2d(void)
{
    return sim_open(loaded.simulation, ls_sim_config_default(loaded.simulation));
}

static ls_draw_shape ball_at(const sim_fixture *sim, ls_fixed alpha)
{
    ls_draw_list list = sim_draw(sim, sim_state(sim), alpha);
    return *sim_shape(&list, 0);
}

Test(box2d, the_plugin_hashes_by_callback_and_cannot_be_saved)
{
    sim_fixture *sim = open_box2d();
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_check(loaded.simulation, &why), LS_OK, "%s", why.bytes);
    cr_assert_null(ls_sim_instance_schema(sim->instance));
    uint8_t save[64];
    cr_assert_eq(ls_sim_instance_save(sim->instance, save), LS_UNSUPPORTED);
    cr_assert_neq(ls_sim_instance_digests(sim->instance).content, 0);
}

Test(box2d, the_same_inputs_give_the_same_hashes_and_others_do_not)
{
    sim_fixture *a = open_box2d();
    sim_fixture *b = open_box2d();
    for (int i = 0; i < 400; i++) {
        sim_run_bots(a, 1);
        sim_run_bots(b, 1);
        cr_assert_eq(ls_sim_instance_hash(a->instance), ls_sim_instance_hash(b->instance));
    }
    b->bytes[0][0] ^= LEFT | RIGHT;
    sim_step(a, 1);
    sim_step(b, 1);
    cr_assert_neq(ls_sim_instance_hash(a->instance), ls_sim_instance_hash(b->instance));
}

Test(box2d, any_bytes_and_events_are_played_the_same_way_twice)
{
    play_any_bytes(open_box2d(), open_box2d(), 400);
}

/* ---- row T7 ---- */

/* The first fault to avoid: y blended with the past of x. The ball moves along both. */
Test(box2d, x_and_y_are_each_blended_with_their_own_past)
{
    sim_fixture *sim = open_box2d();
    sim_join(sim);
    sim_set_input(sim, 0, (const uint8_t[]){RIGHT}, 1);
    sim_step(sim, 30);
    sim_set_input(sim, 0, (const uint8_t[]){RIGHT | JUMP}, 1);
    sim_step(sim, 8);
    ls_draw_shape from = ball_at(sim, LS_FIXED_ONE);
    sim_step(sim, 1);
    ls_draw_shape to = ball_at(sim, LS_FIXED_ONE);
    cr_assert_gt(to.x, from.x);
    cr_assert_gt(to.y, from.y + LS_FIXED_RATIO(5, 100));
    ls_draw_shape start = ball_at(sim, 0);
    cr_assert_eq(start.x, from.x);
    cr_assert_eq(start.y, from.y);
    cr_assert_eq(start.angle, from.angle);
    ls_draw_shape middle = ball_at(sim, LS_FIXED_HALF);
    cr_assert_leq(ls_fixed_abs(middle.x - (from.x + to.x) / 2), 1);
    cr_assert_leq(ls_fixed_abs(middle.y - (from.y + to.y) / 2), 1);
    cr_assert_eq(middle.owner, 1);
}

/* The second fault: the angle blended the long way round. The ball rolls through many turns. */
Test(box2d, an_angle_is_blended_along_the_shorter_arc)
{
    sim_fixture *sim = open_box2d();
    sim_join(sim);
    sim_set_input(sim, 0, (const uint8_t[]){RIGHT}, 1);
    sim_step(sim, 1);
    uint32_t wraps = 0;
    ls_draw_shape from = ball_at(sim, LS_FIXED_ONE);
    for (int i = 0; i < 300; i++) {
        sim_step(sim, 1);
        ls_draw_shape to = ball_at(sim, LS_FIXED_ONE);
        ls_angle way = ball_at(sim, LS_FIXED_HALF).angle - from.angle;
        ls_angle off = way <= LS_ANGLE_HALF ? way : 0u - way;
        cr_assert_lt(off, LS_ANGLE_QUARTER / 4);
        wraps += to.angle > from.angle; /* it rolls to the right, clockwise */
        from = to;
    }
    cr_assert_gt(wraps, 1);
}

/* The host that keeps two engines hands over both: synctest does, a client does not. */
Test(box2d, two_engines_are_blended_like_two_states)
{
    sim_fixture *earlier = open_box2d();
    sim_fixture *later = open_box2d();
    sim_run_bots(earlier, 60);
    sim_run_bots(later, 90);
    ls_draw_shape from = ball_at(earlier, LS_FIXED_ONE);
    ls_draw_shape to = ball_at(later, LS_FIXED_ONE);
    cr_assert_neq(from.x, to.x);
    ls_draw_list list = sim_draw(later, sim_state(earlier), LS_FIXED_HALF);
    cr_assert_leq(ls_fixed_abs(sim_shape(&list, 0)->x - (from.x + to.x) / 2), 1);
}

Test(box2d, a_new_ball_is_drawn_where_it_is)
{
    sim_fixture *sim = open_box2d();
    sim_join(sim);
    sim_set_input(sim, 0, (const uint8_t[]){RIGHT}, 1);
    sim_step(sim, 60);
    ls_fixed last = ball_at(sim, LS_FIXED_ONE).x;
    sim->slots[0].events = LS_EVENT_LEFT | LS_EVENT_JOINED;
    sim_step(sim, 1);
    ls_fixed now = ball_at(sim, LS_FIXED_ONE).x;
    cr_assert_lt(now, last - LS_FIXED_HALF);
    cr_assert_lt(ls_fixed_abs(ball_at(sim, 0).x - now), LS_FIXED_RATIO(1, 10));
}

Test(box2d, keys_roll_and_jump)
{
    sim_fixture *sim = open_box2d();
    ls_controls controls = {.held = LS_CONTROL_LEFT, .pressed = LS_CONTROL_FIRST};
    uint8_t byte = 0;
    cr_assert_eq(loaded.simulation->control(&sim->config, sim_state(sim), 0, &controls, &byte), 1);
    cr_assert_eq(byte, LEFT | JUMP);
    controls = (ls_controls){.stick = {LS_FIXED_ONE, 0}};
    loaded.simulation->control(&sim->config, sim_state(sim), 0, &controls, &byte);
    cr_assert_eq(byte, RIGHT);
}

Test(box2d, status_says_the_keys)
{
    sim_fixture *sim = open_box2d();
    sim_expect_keys(sim, "space or up jumps");
    cr_expect_not_null(sim_status(sim->instance, 0, LS_STATUS_SEAT, 1), "its colour");
}

#endif

/* ==== chipmunk ==== */

/* The plug-in over Chipmunk: an engine that cannot be saved, under a state that can. */
#if defined(LS_TEST_CHIPMUNK)

static void chipmunk_load(void)
{
    load_plugin(LS_TEST_CHIPMUNK);
}

TestSuite(chipmunk, .init = chipmunk_load, .fini = unload_plugin);

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
            cr_assert_eq(hash_of(old), hash_of(young), "tick %d after the chipmunk_load", i);
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
    play_any_bytes(open_chipmunk("rows=2"), open_chipmunk("rows=2"), 300);
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

#endif

/* ==== engine_scene ==== */

/* Adapters whose engine computes otherwise: the plug-ins themselves, over engines whose step
 * differs in the last bit (tests/plugins/altered_engine.c). */
#if defined(LS_TEST_BOX2D) && defined(LS_TEST_CHIPMUNK)

static ls_ready ready_of(const char *path, ls_loaded_simulation *plugin)
{
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_load(path, plugin, &why), LS_OK, "%s", why.bytes);
    ls_sim_config config = ls_sim_config_default(plugin->simulation);
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(plugin->simulation, &config, ls_allocator_heap(), &instance, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    ls_ready ready = ls_ready_make(instance);
    ls_sim_instance_destroy(instance);
    return ready;
}

/* The client's plug-in has another engine than the server's. */
static void expect_refused(const char *plugin, const char *altered, const char *engine)
{
    ls_loaded_simulation here;
    ls_loaded_simulation there;
    ls_ready server = ready_of(plugin, &here);
    ls_ready client = ready_of(altered, &there);
    ls_text why = {{0}};
    cr_expect_eq(client.initial_hash, server.initial_hash, "state 0 tells nothing");
    cr_assert_eq(ls_ready_check(here.simulation, &client, &server, &why), LS_CONTENT_MISMATCH);
    char name[16], scenes[2][9], releases[2][16], reason[64];
    int count = sscanf(why.bytes,
                       "engine %15[^:]: client %15s (scene %8[0-9a-f]), server %15s (scene "
                       "%8[0-9a-f]): the same release, but it computes %63[a-z ]",
                       name, releases[0], scenes[0], releases[1], scenes[1], reason);
    cr_assert_eq(count, 6, "%s", why.bytes);
    cr_expect_str_eq(name, engine);
    cr_expect_str_eq(releases[0], releases[1]);
    cr_expect_str_neq(scenes[0], scenes[1]);
    cr_expect(strlen(why.bytes) < sizeof why.bytes - 1, "cut: %s", why.bytes);
    client = ready_of(plugin, &there);
    cr_expect_eq(ls_ready_check(here.simulation, &client, &server, &why), LS_OK);
    client.content_digest += UINT64_C(1) << 32;
    cr_assert_eq(ls_ready_check(here.simulation, &client, &server, &why), LS_CONTENT_MISMATCH);
    cr_expect(strstr(why.bytes, ": another release"), "%s", why.bytes);
}

Test(engine_scene, box2d_that_computes_otherwise_is_refused_with_engine_and_reason)
{
    expect_refused(LS_TEST_BOX2D, LS_TEST_PLUGIN_DIR "/box2d_altered.so", "Box2D");
}

Test(engine_scene, chipmunk_that_computes_otherwise_is_refused_with_engine_and_reason)
{
    expect_refused(LS_TEST_CHIPMUNK, LS_TEST_PLUGIN_DIR "/chipmunk_altered.so", "Chipmunk");
}

#endif
