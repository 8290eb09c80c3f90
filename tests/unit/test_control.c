#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/simulations/units/units_state.h"

#include <criterion/criterion.h>
#include <stdalign.h>
#include <string.h>

static alignas(16) uint8_t memory[LS_CONTROL_MEMORY_BYTES];
static ls_controls controls;
static ls_sim_instance *instance;
static uint8_t bytes[LS_INPUT_BYTES_MAX];

static void open_simulation(const char *name, const char *assignment)
{
    ls_text why;
    const ls_simulation *simulation = ls_builtin_simulation_named(name);
    ls_sim_config config = ls_sim_config_default(simulation);
    cr_assert_eq(ls_sim_config_set(simulation, &config, assignment, &why), LS_OK);
    cr_assert_eq(ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, &why),
                 LS_OK);
    memset(memory, 0, sizeof memory);
    controls = (ls_controls){.memory = memory};
}

static void close_simulation(void)
{
    ls_sim_instance_destroy(instance);
}

TestSuite(control, .fini = close_simulation);

static uint32_t give(uint32_t slot)
{
    return ls_sim_instance_simulation(instance)->control(
        ls_sim_instance_config(instance), ls_sim_instance_view(instance), slot, &controls, bytes);
}

/* ---- arena ---- */

Test(control, keys_are_the_arenas_buttons)
{
    open_simulation("arena", "bodies=10");
    controls.held = LS_CONTROL_UP | LS_CONTROL_LEFT | LS_CONTROL_SECOND;
    controls.pressed = LS_CONTROL_FIRST;
    cr_expect_eq(give(0), LS_ARENA_PAD_BYTES);
    cr_expect_eq(bytes[0], LS_ARENA_THRUST | LS_ARENA_LEFT | LS_ARENA_BRAKE | LS_ARENA_FIRE);
    cr_expect_eq(bytes[1], 0);
}

Test(control, a_stick_to_the_right_turns_right)
{
    open_simulation("arena", "bodies=10");
    controls.stick = (ls_vec2){LS_FIXED_ONE, -LS_FIXED_ONE};
    give(0);
    cr_expect_eq((int8_t)bytes[1], -127);
    cr_expect_eq(bytes[0], LS_ARENA_REVERSE);
    controls.stick = (ls_vec2){LS_FIXED_MIN, LS_FIXED_ONE};
    give(0);
    cr_expect_eq((int8_t)bytes[1], 127);
    cr_expect_eq(bytes[0], LS_ARENA_THRUST);
}

/* ---- units ---- */

static const ls_units_state *battle(void)
{
    return ls_sim_instance_view(instance);
}

static ls_units_rules rules(void)
{
    return ls_units_rules_of(ls_sim_instance_config(instance));
}

static uint32_t army_first(uint32_t player)
{
    ls_units_rules known = rules();
    return ls_units_army_first(&known, player);
}

static void gesture(ls_gesture kind, ls_vec2 from, ls_vec2 to)
{
    controls.gesture = kind;
    controls.gesture_from = from;
    controls.gesture_to = to;
}

static uint32_t select_box(uint32_t slot, ls_vec2 from, ls_vec2 to)
{
    gesture(LS_GESTURE_SELECT, from, to);
    uint32_t size = give(slot);
    controls.gesture = LS_GESTURE_NONE;
    return size;
}

static ls_vec2 everywhere(void)
{
    return (ls_vec2){rules().side, rules().side};
}

static uint32_t order(uint32_t slot, ls_vec2 place, ls_units_order *out)
{
    gesture(LS_GESTURE_ORDER, place, place);
    uint32_t size = give(slot);
    controls.gesture = LS_GESTURE_NONE;
    cr_assert_eq(ls_units_order_read(bytes, size, out), size, "one whole order");
    return size;
}

static uint32_t marks(void)
{
    static ls_draw_shape shapes[8192];
    ls_draw_list list = {.shapes = shapes, .capacity = 8192};
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_sim_config *config = ls_sim_instance_config(instance);
    simulation->draw(config, battle(), battle(), LS_FIXED_ONE, &list);
    uint32_t before = list.count;
    simulation->draw_control(config, battle(), 0, &controls, &list);
    return list.count - before;
}

Test(control, a_box_selects_the_own_units_in_it_alone)
{
    open_simulation("units", "units=80");
    cr_expect_eq(select_box(1, everywhere(), (ls_vec2){0, 0}), 0, "selecting orders nothing");
    cr_expect_eq(marks(), 20, "the army of one of four");
    ls_vec2 place = battle()->units[army_first(1)].position;
    select_box(1, place, place);
    cr_expect_eq(marks(), 1, "a click selects one");
    controls.is_gesture_added = true;
    select_box(1, everywhere(), (ls_vec2){0, 0});
    cr_expect_eq(marks(), 20);
    controls.is_gesture_added = false;
    ls_vec2 corner = {LS_FIXED_ONE / 8, LS_FIXED_ONE / 8};
    select_box(1, corner, corner);
    cr_expect_eq(marks(), 0, "a click on nothing selects nothing");
}

Test(control, the_selected_are_sent_to_fight_or_without_fighting)
{
    open_simulation("units", "units=80");
    ls_units_order sent = {0};
    ls_vec2 goal = {LS_FIXED_INT(20), LS_FIXED_INT(5)};
    gesture(LS_GESTURE_ORDER, goal, goal);
    cr_expect_eq(give(0), 0, "nobody is selected");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    order(0, goal, &sent);
    cr_expect_eq(sent.verb, LS_UNITS_ATTACK_MOVE);
    cr_expect_eq(sent.list_count, 20);
    cr_expect_eq(sent.point.x, 20 * 64);
    cr_expect_eq(give(0), 0, "ordered once");
    controls.held = LS_CONTROL_SECOND;
    order(0, goal, &sent);
    cr_expect_eq(sent.verb, LS_UNITS_MOVE);
}

Test(control, a_click_on_an_enemy_attacks_it)
{
    open_simulation("units", "units=80");
    uint32_t enemy = army_first(2) + 3;
    ls_units_order sent = {0};
    select_box(0, (ls_vec2){0, 0}, everywhere());
    order(0, battle()->units[enemy].position, &sent);
    cr_expect_eq(sent.verb, LS_UNITS_ATTACK);
    cr_expect_eq(sent.target, enemy);
}

Test(control, the_first_button_stops_the_selected)
{
    open_simulation("units", "units=80");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    controls.pressed = LS_CONTROL_FIRST;
    ls_units_order sent = {0};
    uint32_t size = give(0);
    cr_assert_eq(ls_units_order_read(bytes, size, &sent), size);
    cr_expect_eq(sent.verb, LS_UNITS_STOP);
    cr_expect_eq(sent.list_count, 20);
}

Test(control, a_large_army_is_ordered_by_its_place)
{
    open_simulation("units", "units=2000");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    ls_units_order sent = {0};
    order(0, (ls_vec2){LS_FIXED_INT(9), LS_FIXED_INT(9)}, &sent);
    cr_expect_eq(sent.select, LS_UNITS_SELECT_AREA);
    cr_expect_eq(give(0), 0);
}

/* Those left out stand between the others: no rectangle has the others alone. */
Test(control, a_large_part_of_an_army_is_ordered_list_by_list)
{
    open_simulation("units", "units=2000");
    ls_vec2 base = battle()->players[0].base;
    select_box(0, (ls_vec2){0, 0}, (ls_vec2){base.x - LS_FIXED_ONE, LS_FIXED_INT(1000)});
    controls.is_gesture_added = true;
    select_box(0, (ls_vec2){base.x + LS_FIXED_ONE, 0}, everywhere());
    uint32_t selected = marks();
    cr_assert(selected > LS_UNITS_LIST_MAX && selected < army_first(1));
    uint32_t ordered = 0;
    ls_units_order sent = {0};
    uint32_t size = order(0, (ls_vec2){LS_FIXED_INT(9), LS_FIXED_INT(9)}, &sent);
    for (uint32_t inputs = 0; size > 0 && inputs < 100; inputs++) {
        cr_assert_eq(sent.select, LS_UNITS_SELECT_LIST);
        ordered += sent.list_count;
        size = give(0);
        cr_assert_eq(ls_units_order_read(bytes, size, &sent), size);
    }
    cr_expect_eq(ordered, selected);
}

Test(control, no_input_is_longer_than_the_simulation_allows)
{
    open_simulation("units", "units=20000");
    select_box(0, (ls_vec2){0, 0}, everywhere());
    ls_units_order sent = {0};
    cr_expect_leq(order(0, (ls_vec2){LS_FIXED_MAX, LS_FIXED_MIN}, &sent), LS_UNITS_INPUT_BYTES_MAX);
    cr_expect_eq(give(LS_UNITS_PLAYERS_MAX + 9), 0, "a slot that is none");
}
