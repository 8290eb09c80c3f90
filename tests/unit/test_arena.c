#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena_collide.h"
#include "lockstep/tests/support/arena_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what the contract asks of every simulation ---- */

TestSuite(arena, .fini = destroy_kept);

Test(arena, more_than_sixteen_players_are_refused)
{
    ls_sim_config config = arena_config();
    config.players = 17;
    ls_text why = {{0}};
    cr_assert_neq(ls_sim_config_check(ls_arena_simulation(), &config, &why), LS_OK);
}

Test(arena, the_same_inputs_give_the_same_roots)
{
    arena_fixture a = arena_open(arena_config());
    arena_fixture b = arena_open(arena_config());
    for (uint32_t tick = 0; tick < 300; tick++) {
        arena_run_bots(&a, 1);
        arena_run_bots(&b, 1);
        cr_assert_eq(ls_sim_instance_hash(a.instance), ls_sim_instance_hash(b.instance));
    }
    b.pads[2][0] ^= LS_ARENA_THRUST;
    arena_step(&a);
    arena_step(&b);
    cr_assert_neq(ls_sim_instance_hash(a.instance), ls_sim_instance_hash(b.instance));
}

Test(arena, padding_and_freed_slots_stay_zero)
{
    arena_fixture arena = arena_open(arena_config());
    const ls_schema *schema = ls_sim_instance_schema(arena.instance);
    static const ls_arena_shot no_shot;
    uint32_t fired = 0;
    for (uint32_t tick = 0; tick < 400; tick++) {
        arena_run_bots(&arena, 1);
        size_t offset;
        cr_assert_not(
            ls_schema_dirty_padding(schema, ls_sim_instance_state(arena.instance), &offset));
        for (uint32_t i = 0; i < arena.layout.shot_count; i++) {
            bool is_free = arena.shots[i].ticks_left == 0;
            fired += !is_free;
            cr_assert(!is_free || memcmp(&arena.shots[i], &no_shot, sizeof no_shot) == 0);
        }
    }
    cr_assert_gt(fired, 0);
}

/* ---- inputs ---- */

Test(arena, missing_bytes_are_buttons_not_held)
{
    static const uint8_t pad[LS_ARENA_PAD_BYTES] = {LS_ARENA_THRUST, 0};
    arena_fixture whole = arena_open(arena_config());
    arena_fixture cut = arena_open(arena_config());
    arena_run_bots(&whole, 10);
    arena_run_bots(&cut, 10);
    for (uint32_t size = 0; size < LS_ARENA_PAD_BYTES; size++) {
        uint8_t same[LS_ARENA_PAD_BYTES] = {0};
        memcpy(same, pad, size);
        cut.slots[1] = (ls_slot_input){.bytes = pad, .size = size};
        whole.slots[1] = (ls_slot_input){.bytes = same, .size = sizeof same};
        arena_step(&cut);
        arena_step(&whole);
        cr_assert_eq(ls_sim_instance_hash(cut.instance), ls_sim_instance_hash(whole.instance));
    }
    cr_assert_eq(cut.ships[1].buttons, LS_ARENA_THRUST);
}

Test(arena, the_lowest_stick_counts_as_its_end)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 5);
    arena.pads[0][0] = 0;
    arena.pads[0][1] = 0x80;
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].steer, -127);
    arena.pads[0][0] = LS_ARENA_LEFT;
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].steer, 127);
    arena.pads[0][0] = LS_ARENA_LEFT | LS_ARENA_RIGHT;
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].steer, -127);
}

static void assert_all_inside(const arena_fixture *arena)
{
    ls_fixed half_size = ls_arena_half_size(&arena->config);
    for (uint32_t i = 0; i < arena->layout.body_count; i++) {
        const ls_arena_body *body = &arena->bodies[i];
        cr_assert_leq(ls_fixed_abs(body->position.x), half_size);
        cr_assert_leq(ls_fixed_abs(body->position.y), half_size);
    }
}

Test(arena, any_bytes_and_events_are_safe)
{
    ls_sim_config config = arena_config();
    config.players = 16;
    arena_fixture arena = arena_open(config);
    ls_rng rng = ls_rng_make(99, 1);
    uint32_t in_play = 0;
    for (uint32_t tick = 0; tick < 3000; tick++) {
        for (uint32_t slot = 0; slot < config.players; slot++) {
            arena.pads[slot][0] = (uint8_t)ls_rng_next(&rng);
            arena.pads[slot][1] = (uint8_t)ls_rng_next(&rng);
            uint32_t size = ls_rng_below(&rng, LS_ARENA_PAD_BYTES + 1);
            uint32_t events = ls_rng_below(&rng, 50) == 0 ? ls_rng_next(&rng) : 0;
            arena.slots[slot] = (ls_slot_input){
                .bytes = size > 0 ? arena.pads[slot] : NULL, .size = size, .events = events};
        }
        arena_step(&arena);
        in_play += arena.bodies[tick % config.players].shape != LS_ARENA_NONE;
    }
    assert_all_inside(&arena);
    cr_assert_gt(in_play, 300);
    cr_assert_gt(arena.match->serial, 1000);
}

/* A state may be damaged on purpose, to see that the difference is found: stepping it must stay
 * within its memory and within defined arithmetic. */
Test(arena, a_damaged_state_can_be_stepped)
{
    ls_sim_config config = arena_config();
    config.params[LS_ARENA_PARAM_BODIES] = 50;
    ls_rng rng = ls_rng_make(7, 1);
    for (uint32_t round = 0; round < 40; round++) {
        arena_fixture arena = arena_open(config);
        arena_run_bots(&arena, 5);
        uint8_t *state = ls_sim_instance_state(arena.instance);
        uint32_t flips = round < 20 ? 1 : 200;
        for (uint32_t i = 0; i < flips; i++) {
            uint32_t bit = ls_rng_below(&rng, (uint32_t)arena.layout.bytes * 8);
            state[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        arena_run_bots(&arena, 30);
        cr_assert_eq(ls_sim_instance_tick(arena.instance), 35);
    }
}

/* ---- joins and leaves ---- */

static bool is_zero(const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++) {
        if (byte[i] != 0) {
            return false;
        }
    }
    return true;
}

Test(arena, a_ship_comes_with_its_player_and_goes_with_it)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_empty(&arena, 3);
    cr_assert_eq(arena.bodies[1].shape, LS_ARENA_NONE);
    arena.slots[1].events = LS_EVENT_JOINED;
    arena_step(&arena);
    cr_assert_eq(arena.bodies[1].shape, LS_ARENA_DISC);
    cr_assert_eq(arena.ships[1].health, LS_ARENA_SHIP_HEALTH);
    static const uint8_t pad[] = {LS_ARENA_FIRE};
    arena.slots[1] = (ls_slot_input){.bytes = pad, .size = sizeof pad};
    arena_step(&arena);
    uint32_t first = arena.layout.shots_each;
    cr_assert_gt(arena.shots[first].ticks_left, 0);
    arena.slots[1].events = LS_EVENT_LEFT;
    arena_step(&arena);
    cr_assert(is_zero(&arena.ships[1], sizeof arena.ships[1]));
    cr_assert(is_zero(&arena.bodies[1], sizeof arena.bodies[1]));
    cr_assert(is_zero(&arena.shots[first], first * sizeof arena.shots[0]));
}

Test(arena, a_seat_that_changes_hands_within_a_tick_starts_anew)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 20);
    arena.ships[0].score = 12;
    uint16_t serial = arena.bodies[0].serial;
    arena.slots[0] = (ls_slot_input){.events = LS_EVENT_LEFT | LS_EVENT_JOINED};
    arena_step(&arena);
    cr_assert_eq(arena.ships[0].score, 0);
    cr_assert_eq(arena.bodies[0].shape, LS_ARENA_DISC);
    cr_assert_neq(arena.bodies[0].serial, serial);
}

/* ---- bots ---- */

Test(arena, bots_hit_each_other_and_push_bodies)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 900);
    uint32_t score = 0;
    uint32_t kills = 0;
    uint32_t deaths = 0;
    for (uint32_t slot = 0; slot < arena.config.players; slot++) {
        cr_assert_gt(arena.ships[slot].hits, 0);
        score += arena.ships[slot].score;
        kills += arena.ships[slot].kills;
        deaths += arena.ships[slot].deaths;
    }
    cr_assert_gt(score, 10);
    cr_assert_gt(kills, 0);
    cr_assert_eq(kills, deaths);
}

Test(arena, a_bot_alone_shoots_at_bodies_that_lie_still)
{
    ls_sim_config config = arena_config();
    config.players = 1;
    config.params[LS_ARENA_PARAM_SPEED] = 0;
    arena_fixture arena = arena_open(config);
    uint64_t before = ls_hash_bytes(arena.bodies + 1, sizeof arena.bodies[0] * 200, 0);
    arena_run_bots(&arena, 600);
    cr_assert_gt(arena.ships[0].hits, 3);
    cr_assert_neq(ls_hash_bytes(arena.bodies + 1, sizeof arena.bodies[0] * 200, 0), before);
}

/* ---- sounds ---- */

/* How many cues of an id the newest step had. */
static uint32_t cues_of(const arena_fixture *arena, const void *previous, uint32_t id)
{
    ls_sound sounds[LS_SOUNDS_MAX];
    ls_sound_list list = {.sounds = sounds, .capacity = LS_SOUNDS_MAX};
    ls_sim_instance_sounds(arena->instance, previous, &list);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        cr_assert_eq(sounds[i].kind, LS_SOUND_CUE);
        cr_assert(sounds[i].has_place && sounds[i].owner > 0);
        count += sounds[i].id == id;
    }
    return count;
}

Test(arena, shots_hits_losses_and_spawns_are_heard_as_often_as_they_are_counted)
{
    static uint8_t previous[1 << 16];
    arena_fixture arena = arena_open(arena_config());
    uint32_t heard[LS_ARENA_CUE_SPAWN + 1] = {0};
    for (uint32_t tick = 0; tick < 1500; tick++) {
        cr_assert_eq(ls_sim_instance_save(arena.instance, previous), LS_OK);
        arena_run_bots(&arena, 1);
        for (uint32_t id = LS_ARENA_CUE_SHOT; id <= LS_ARENA_CUE_SPAWN; id++) {
            heard[id] += cues_of(&arena, previous, id);
        }
    }
    uint32_t hits = 0;
    uint32_t deaths = 0;
    for (uint32_t slot = 0; slot < arena.config.players; slot++) {
        hits += arena.ships[slot].hits;
        deaths += arena.ships[slot].deaths;
    }
    cr_assert_gt(deaths, 0);
    cr_expect_eq(heard[LS_ARENA_CUE_HIT], hits);
    cr_expect_eq(heard[LS_ARENA_CUE_LOST], deaths);
    cr_expect_eq(heard[LS_ARENA_CUE_SHOT] + heard[LS_ARENA_CUE_SPAWN], arena.match->serial);
}

/* ---- drawing ---- */

#define SHAPES 1000u

static ls_draw_list draw(const arena_fixture *arena, const void *previous, ls_fixed alpha)
{
    static ls_draw_shape shapes[SHAPES];
    ls_draw_list list = {.shapes = shapes, .capacity = SHAPES};
    arena->simulation->draw(&arena->config, previous, ls_sim_instance_state(arena->instance), alpha,
                            &list);
    return list;
}

#define BODY_ID(index) (4u + (index))

Test(arena, the_picture_is_a_blend_of_two_states)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 60);
    static uint8_t previous[1 << 16];
    cr_assert_eq(ls_sim_instance_save(arena.instance, previous), LS_OK);
    ls_vec2 from = arena.bodies[5].position;
    arena_run_bots(&arena, 1);
    ls_vec2 to = arena.bodies[5].position;
    cr_assert_neq(from.x, to.x);
    ls_draw_list list = draw(&arena, previous, 0);
    cr_assert_gt(list.count, arena.layout.body_count);
    cr_assert_eq(sim_shape(&list, BODY_ID(5))->x, from.x);
    list = draw(&arena, previous, LS_FIXED_ONE);
    cr_assert_eq(sim_shape(&list, BODY_ID(5))->x, to.x);
    list = draw(&arena, previous, LS_FIXED_HALF);
    ls_fixed middle = sim_shape(&list, BODY_ID(5))->x;
    cr_assert_leq(ls_fixed_abs(middle - (from.x + to.x) / 2), 1);
}

Test(arena, a_new_ship_is_not_blended_with_the_last_one_of_its_slot)
{
    arena_fixture arena = arena_open(arena_config());
    arena_run_bots(&arena, 10);
    static uint8_t previous[1 << 16];
    cr_assert_eq(ls_sim_instance_save(arena.instance, previous), LS_OK);
    ls_vec2 last = arena.bodies[0].position;
    arena.slots[0] = (ls_slot_input){.events = LS_EVENT_LEFT | LS_EVENT_JOINED};
    arena_step(&arena);
    cr_assert_neq(arena.bodies[0].position.x, last.x);
    ls_draw_list list = draw(&arena, previous, 0);
    cr_assert_eq(sim_shape(&list, BODY_ID(0))->x, arena.bodies[0].position.x);
}

/* ---- what a view says of it ---- */

Test(arena, status_has_the_scores_and_says_when_a_lost_ship_is_back)
{
    arena_fixture arena = arena_open(arena_config());
    uint32_t players = arena.layout.player_count;
    uint32_t losses = 0;
    for (uint32_t tick = 0; tick < 3000; tick++) {
        arena_run_bots(&arena, 1);
        char score[16];
        snprintf(score, sizeof score, "%u", arena.ships[1].score);
        cr_assert_str_eq(sim_status(arena.instance, 1, LS_STATUS_SEAT, 1), score);
        const char *back = sim_status(arena.instance, 1, LS_STATUS_PERSON, 0);
        bool is_away = arena.ships[1].respawn_ticks > 1;
        cr_assert_eq(back != NULL, is_away, "tick %u", tick);
        if (arena.ships[1].respawn_ticks == 100) {
            cr_expect_str_eq(back, "you are back in 2 s");
            losses++;
        }
    }
    cr_expect_gt(losses, 0);
    cr_expect_not_null(sim_status(arena.instance, 1, LS_STATUS_KEYS, 0));
    cr_expect_null(sim_status(arena.instance, players, LS_STATUS_KEYS, 0), "for a spectator");
    cr_expect_null(sim_status(arena.instance, players, LS_STATUS_PERSON, 0));
    cr_expect_not_null(sim_status(arena.instance, players, LS_STATUS_SEAT, players - 1));
}

/* ---- stacks ---- */

/* Bodies that are pressed against a wall, as if they fell towards it: by a speed that is added to
 * each of them in the state, before every tick. */

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

Test(arena, ten_boxes_stand)
{
    stack pile = open_stack(60, 10);
    put_column(&pile);
    assert_stands(&pile, 0.0025);
}

Test(arena, ten_boxes_stand_in_the_other_order)
{
    stack pile = open_stack(60, 10);
    put_column_backwards(&pile);
    assert_stands(&pile, 0.0025);
}

Test(arena, ten_boxes_that_are_not_quite_in_line_stand)
{
    stack pile = open_stack(60, 10);
    for (uint32_t i = 0; i < 10; i++) {
        put(&pile, i * 7 % 10, LS_ARENA_BOX, HALF + 2 * HALF * i, i % 3 * 0.02);
    }
    assert_stands(&pile, 0.0025);
}

Test(arena, ten_boxes_carry_one_of_ten_times_their_mass)
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

Test(arena, boxes_that_are_light_and_heavy_in_turn_stand)
{
    stack pile = open_stack(60, 10);
    put_column(&pile);
    for (uint32_t i = 0; i < 10; i += 2) {
        make_heavy(&pile.bodies[i], 8);
    }
    assert_stands(&pile, 0.006);
}

Test(arena, a_pyramid_stands)
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

Test(arena, discs_between_boxes_stand)
{
    stack pile = open_stack(60, 24);
    for (uint32_t i = 0; i < 8; i++) {
        put(&pile, 3 * i, LS_ARENA_DISC, HALF + 2 * HALF * i, 0);
        put(&pile, 3 * i + 1, LS_ARENA_BOX, HALF + 2 * HALF * i, 2 * HALF);
        put(&pile, 3 * i + 2, LS_ARENA_BOX, HALF + 2 * HALF * i, -2 * HALF);
    }
    assert_stands(&pile, 0.0025);
}

Test(arena, five_boxes_stand_at_any_tick_rate)
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

Test(arena, a_contact_is_remembered_as_long_as_it_presses)
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

Test(arena, bodies_that_only_bounce_remember_nothing)
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
Test(arena, what_is_too_heavy_to_be_remembered_is_held_all_the_same)
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
Test(arena, a_column_that_is_let_go_hardly_moves)
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

Test(arena, a_sleeper_that_is_pushed_meets_its_neighbour_in_that_tick)
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

Test(arena, a_column_sleeps_when_nothing_presses_it)
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
