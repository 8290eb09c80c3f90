#include "lockstep/client/view/input_mapper.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_input_mapper mapper;
static ls_camera camera;

/* One pixel is a metre; the middle of the canvas is (0, 0). */
static void make(void)
{
    memset(&mapper, 0, sizeof mapper);
    ls_input_mapper_init(&mapper);
    camera = (ls_camera){.mode = LS_CAMERA_FREE, .pixels_per_m = 1, .width = 200, .height = 100};
}

TestSuite(input_mapper, .init = make);

static void key(uint32_t which, bool is_down)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_KEY, .key = which, .is_down = is_down};
    ls_input_mapper_receive(&mapper, &event, &camera);
}

static void button(ls_view_button which, bool is_down, float x, float y)
{
    ls_view_event event = {
        .kind = LS_VIEW_EVENT_BUTTON, .button = which, .is_down = is_down, .at = {x, y}};
    ls_input_mapper_receive(&mapper, &event, &camera);
}

static void point(float x, float y)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_MOTION, .at = {x, y}};
    ls_input_mapper_receive(&mapper, &event, &camera);
}

static void pad(uint32_t which, bool is_down)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_PAD, .pad = which, .is_down = is_down};
    ls_input_mapper_receive(&mapper, &event, &camera);
}

static void axes(ls_view_event_kind kind, float x, float y)
{
    ls_view_event event = {.kind = kind, .at = {x, y}};
    ls_input_mapper_receive(&mapper, &event, &camera);
}

static void type(const char *text)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_TEXT};
    strncpy(event.text, text, sizeof event.text - 1);
    ls_input_mapper_receive(&mapper, &event, &camera);
}

static const ls_controls *next(void)
{
    return ls_input_mapper_next(&mapper, &camera);
}

static void expect_place(ls_vec2 place, int x, int y)
{
    cr_expect_eq(place.x, LS_FIXED_INT(x), "%f", ls_fixed_to_double(place.x));
    cr_expect_eq(place.y, LS_FIXED_INT(y), "%f", ls_fixed_to_double(place.y));
}

Test(input_mapper, keys_are_held_until_they_go_up)
{
    key(LS_KEY_W, true);
    key(LS_KEY_LEFT, true);
    cr_expect_eq(next()->held, LS_CONTROL_UP | LS_CONTROL_LEFT);
    key(LS_KEY_W, false);
    cr_expect_eq(next()->held, LS_CONTROL_LEFT);
    key(LS_KEY_A, true);
    key(LS_KEY_LEFT, false);
    cr_expect_eq(next()->held, LS_CONTROL_LEFT, "one of two keys for it is still down");
}

Test(input_mapper, a_tap_between_two_inputs_is_in_one_of_them)
{
    key(LS_KEY_SPACE, true);
    key(LS_KEY_SPACE, false);
    const ls_controls *controls = next();
    cr_expect_eq(controls->pressed, LS_CONTROL_FIRST);
    cr_expect_eq(controls->held, 0);
    cr_expect_eq(next()->pressed, 0);
}

Test(input_mapper, keys_that_repeat_are_pressed_once)
{
    key(LS_KEY_RIGHT, true);
    cr_expect_eq(next()->pressed, LS_CONTROL_RIGHT);
    key(LS_KEY_RIGHT, true);
    cr_expect_eq(next()->pressed, 0);
    cr_expect_eq(next()->held, LS_CONTROL_RIGHT);
}

Test(input_mapper, keys_of_the_view_are_no_controls)
{
    key(LS_KEY_F, true);
    key(LS_KEY_F12, true);
    cr_expect_eq(next()->held | next()->pressed, 0);
}

Test(input_mapper, nothing_is_held_in_a_window_without_the_keyboard)
{
    key(LS_KEY_UP, true);
    button(LS_BUTTON_LEFT, true, 10, 10);
    ls_input_mapper_receive(&mapper, &(ls_view_event){.kind = LS_VIEW_EVENT_AWAY}, &camera);
    cr_expect_eq(next()->held, 0);
    cr_expect_not(next()->is_pointer_held);
    button(LS_BUTTON_LEFT, false, 50, 50);
    cr_expect_eq(next()->gesture, LS_GESTURE_NONE);
}

/* Nothing is heard of a pad while another window has the keyboard. */
Test(input_mapper, a_pad_is_let_go_of_with_the_keyboard)
{
    axes(LS_VIEW_EVENT_STICK, 1.0f, 0.0f);
    axes(LS_VIEW_EVENT_TRIGGERS, 1.0f, 1.0f);
    ls_input_mapper_receive(&mapper, &(ls_view_event){.kind = LS_VIEW_EVENT_AWAY}, &camera);
    cr_expect_eq(next()->stick.x, 0);
    cr_expect_eq(next()->right_trigger, 0);
}

Test(input_mapper, a_box_goes_from_where_the_button_went_down)
{
    ls_canvas_point from;
    ls_canvas_point to;
    button(LS_BUTTON_LEFT, true, 110, 40);
    cr_expect_not(ls_input_mapper_box(&mapper, &from, &to), "not yet more than a click");
    point(140, 70);
    cr_expect(ls_input_mapper_box(&mapper, &from, &to));
    cr_expect(from.x == 110 && to.y == 70);
    cr_expect(next()->is_pointer_held);
    cr_expect_eq(next()->gesture, LS_GESTURE_NONE);
    button(LS_BUTTON_LEFT, false, 150, 80);
    const ls_controls *controls = next();
    cr_expect_eq(controls->gesture, LS_GESTURE_SELECT);
    expect_place(controls->gesture_from, 10, 10);
    expect_place(controls->gesture_to, 50, -30);
    cr_expect_not(controls->is_gesture_added);
    cr_expect_eq(next()->gesture, LS_GESTURE_NONE);
}

Test(input_mapper, a_click_is_a_box_of_one_place)
{
    button(LS_BUTTON_LEFT, true, 110, 40);
    button(LS_BUTTON_LEFT, false, 112, 41);
    const ls_controls *controls = next();
    cr_expect_eq(controls->gesture, LS_GESTURE_SELECT);
    expect_place(controls->gesture_from, 12, 9);
    expect_place(controls->gesture_to, 12, 9);
}

Test(input_mapper, the_right_button_orders_and_shift_adds)
{
    key(LS_KEY_LEFT_SHIFT, true);
    button(LS_BUTTON_RIGHT, true, 90, 60);
    key(LS_KEY_LEFT_SHIFT, false);
    button(LS_BUTTON_RIGHT, false, 90, 60);
    const ls_controls *controls = next();
    cr_expect_eq(controls->gesture, LS_GESTURE_ORDER);
    cr_expect(controls->is_gesture_added);
    expect_place(controls->gesture_to, -10, -10);
}

Test(input_mapper, each_input_has_one_gesture_and_too_many_are_dropped)
{
    for (uint32_t i = 0; i < LS_INPUT_MAPPER_GESTURES_MAX + 3; i++) {
        button(LS_BUTTON_RIGHT, true, 100.0f + (float)i, 50);
    }
    for (uint32_t i = 0; i < LS_INPUT_MAPPER_GESTURES_MAX; i++) {
        const ls_controls *controls = next();
        cr_assert_eq(controls->gesture, LS_GESTURE_ORDER);
        expect_place(controls->gesture_to, (int)i, 0);
    }
    cr_expect_eq(next()->gesture, LS_GESTURE_NONE);
}

Test(input_mapper, the_stick_stays_within_one)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_STICK, .at = {1.5f, -0.5f}};
    ls_input_mapper_receive(&mapper, &event, &camera);
    cr_expect_eq(next()->stick.x, LS_FIXED_ONE);
    cr_expect_eq(next()->stick.y, -LS_FIXED_HALF);
}

Test(input_mapper, memory_lives_from_input_to_input)
{
    next()->memory[LS_CONTROL_MEMORY_BYTES - 1] = 7;
    cr_expect_eq(next()->memory[LS_CONTROL_MEMORY_BYTES - 1], 7);
    cr_expect_eq((uintptr_t)next()->memory % 16, 0);
}

/* ---- a whole keyboard, a whole pad, and text ---- */

Test(input_mapper, every_key_reaches_the_game_by_its_usage)
{
    for (uint32_t which = 1; which < LS_KEYS; which++) {
        key(which, true);
        const ls_controls *controls = next();
        cr_expect(ls_key_is_in(controls->keys_held, which));
        cr_expect(ls_key_is_in(controls->keys_pressed, which));
        cr_expect_not(ls_key_is_in(next()->keys_pressed, which), "it went down once");
        key(which, false);
        cr_expect_not(ls_key_is_in(next()->keys_held, which));
    }
    cr_expect_not(ls_key_is_in(next()->keys_held, LS_KEYS + 1));
}

Test(input_mapper, a_key_that_the_view_makes_something_of_reaches_the_game_too)
{
    key(LS_KEY_F, true);
    cr_expect(ls_key_is_in(next()->keys_held, LS_KEY_F));
}

Test(input_mapper, a_key_tapped_between_two_inputs_is_pressed_and_not_held)
{
    key(LS_KEY_ENTER, true);
    key(LS_KEY_ENTER, false);
    const ls_controls *controls = next();
    cr_expect(ls_key_is_in(controls->keys_pressed, LS_KEY_ENTER));
    cr_expect_not(ls_key_is_in(controls->keys_held, LS_KEY_ENTER));
}

Test(input_mapper, buttons_of_the_pad_are_held_and_pressed)
{
    pad(LS_PAD_SOUTH, true);
    pad(LS_PAD_START, true);
    pad(LS_PAD_START, false);
    const ls_controls *controls = next();
    cr_expect_eq(controls->pad_held, LS_PAD_SOUTH);
    cr_expect_eq(controls->pad_pressed, LS_PAD_SOUTH | LS_PAD_START);
    cr_expect_eq(next()->pad_pressed, 0);
    pad(LS_PAD_SOUTH, true);
    cr_expect_eq(next()->pad_pressed, 0, "it was down already");
}

Test(input_mapper, the_pad_is_a_control_as_keys_are)
{
    pad(LS_PAD_LEFT, true);
    pad(LS_PAD_EAST, true);
    const ls_controls *controls = next();
    cr_expect_eq(controls->held, LS_CONTROL_LEFT | LS_CONTROL_SECOND);
    cr_expect_eq(controls->pressed, LS_CONTROL_LEFT | LS_CONTROL_SECOND);
    pad(LS_PAD_RIGHT_SHOULDER, true);
    cr_expect_eq(next()->held, LS_CONTROL_LEFT | LS_CONTROL_SECOND);
}

Test(input_mapper, sticks_and_triggers_stay_in_their_ranges)
{
    axes(LS_VIEW_EVENT_RIGHT_STICK, -2.0f, 0.25f);
    axes(LS_VIEW_EVENT_TRIGGERS, -0.5f, 1.5f);
    const ls_controls *controls = next();
    cr_expect_eq(controls->right_stick.x, -LS_FIXED_ONE);
    cr_expect_eq(controls->right_stick.y, LS_FIXED_ONE / 4);
    cr_expect_eq(controls->left_trigger, 0);
    cr_expect_eq(controls->right_trigger, LS_FIXED_ONE);
    cr_expect_eq(controls->stick.x, 0);
}

Test(input_mapper, a_pad_that_is_pulled_out_lets_go_of_everything)
{
    pad(LS_PAD_SOUTH, true);
    axes(LS_VIEW_EVENT_STICK, 1.0f, 0.0f);
    axes(LS_VIEW_EVENT_TRIGGERS, 1.0f, 1.0f);
    key(LS_KEY_W, true);
    ls_input_mapper_receive(&mapper, &(ls_view_event){.kind = LS_VIEW_EVENT_PAD_AWAY}, &camera);
    const ls_controls *controls = next();
    cr_expect_eq(controls->pad_held, 0);
    cr_expect_eq(controls->stick.x, 0);
    cr_expect_eq(controls->right_trigger, 0);
    cr_expect_eq(controls->held, LS_CONTROL_UP, "keys are not the pad's");
}

Test(input_mapper, text_is_in_one_input)
{
    type("a");
    type("\xc3\xa9"); /* e with an acute accent */
    cr_expect_str_eq(next()->text, "a\xc3\xa9");
    cr_expect_str_eq(next()->text, "");
}

Test(input_mapper, text_without_room_comes_with_the_next_inputs_and_characters_stay_whole)
{
    for (uint32_t i = 0; i < 50; i++) {
        type("\xe2\x82\xac"); /* 150 bytes of Euro signs */
    }
    size_t bytes = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const char *text = next()->text;
        cr_expect_eq(strlen(text) % 3, 0);
        cr_expect_lt(strlen(text), LS_CONTROL_TEXT_BYTES_MAX);
        bytes += strlen(text);
    }
    cr_expect_eq(bytes, 150);
    cr_expect_str_eq(next()->text, "");
}

Test(input_mapper, too_much_text_is_dropped_at_its_end)
{
    for (uint32_t i = 0; i < LS_INPUT_MAPPER_TEXT_BYTES_MAX; i++) {
        type("abc");
    }
    size_t bytes = 0;
    for (size_t size = 1; size > 0; bytes += size) {
        size = strlen(next()->text);
    }
    cr_expect_eq(bytes, LS_INPUT_MAPPER_TEXT_BYTES_MAX - 1);
}

Test(input_mapper, text_has_no_control_characters)
{
    type("a\033[2J\n");
    cr_expect_str_eq(next()->text, "a?[2J?");
}
