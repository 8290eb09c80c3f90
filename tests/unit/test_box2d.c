/* The plug-in over Box2D: a state that only its engine knows, and row T7's picture of it. */
#include "lockstep/tests/support/plugin_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

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
    sim_fixture *a = open_box2d();
    sim_fixture *b = open_box2d();
    ls_rng rng = ls_rng_make(3, 1);
    for (int i = 0; i < 400; i++) {
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
