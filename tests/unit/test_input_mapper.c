/* Keys: the game's, and those of the chat and the text below a picture. */
#include "lockstep/client/view/chat_box.h"
#include "lockstep/client/view/input_mapper.h"
#include "lockstep/client/view/text_view.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ==== input_mapper ==== */

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

static void type_letters(const char *text)
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
    type_letters("a");
    type_letters("\xc3\xa9"); /* e with an acute accent */
    cr_expect_str_eq(next()->text, "a\xc3\xa9");
    cr_expect_str_eq(next()->text, "");
}

Test(input_mapper, text_without_room_comes_with_the_next_inputs_and_characters_stay_whole)
{
    for (uint32_t i = 0; i < 50; i++) {
        type_letters("\xe2\x82\xac"); /* 150 bytes of Euro signs */
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
        type_letters("abc");
    }
    size_t bytes = 0;
    for (size_t size = 1; size > 0; bytes += size) {
        size = strlen(next()->text);
    }
    cr_expect_eq(bytes, LS_INPUT_MAPPER_TEXT_BYTES_MAX - 1);
}

Test(input_mapper, text_has_no_control_characters)
{
    type_letters("a\033[2J\n");
    cr_expect_str_eq(next()->text, "a?[2J?");
}

/* ---- chat_box ---- */

enum {
    LETTERS = 20,
};

static ls_chat_box box;
static ls_chat_box_said said;

static bool press(uint32_t key)
{
    return ls_chat_box_receive(
        &box, &(ls_view_event){.kind = LS_VIEW_EVENT_KEY, .key = key, .is_down = true});
}

static bool type(const char *text)
{
    ls_view_event event = {.kind = LS_VIEW_EVENT_TEXT};
    ls_name_copy(event.text, sizeof event.text, text);
    return ls_chat_box_receive(&box, &event);
}

static ls_hud_model show(uint64_t elapsed_ns)
{
    ls_hud_model hud = {0};
    ls_chat_box_show(&box, elapsed_ns, LETTERS, &hud);
    return hud;
}

Test(chat_box, enter_opens_a_line_and_sends_it)
{
    cr_expect_not(type("w"), "keys are the game's before");
    cr_expect_not(press(LS_KEY_A));
    cr_expect(press(LS_KEY_ENTER));
    cr_expect(press(LS_KEY_A), "and the line's while it is open");
    cr_expect(type("h"));
    cr_expect(type("\xC3\xA9"));
    cr_expect(press(LS_KEY_ENTER));
    cr_assert(ls_chat_box_pop_said(&box, &said));
    cr_expect_str_eq(said.text, "h\xC3\xA9");
    cr_expect_eq(said.quick_line, 0);
    cr_expect_not(ls_chat_box_pop_said(&box, &said), "once");
    cr_expect_not(type("w"));
}

Test(chat_box, enter_is_the_games_where_it_has_a_use_for_it)
{
    box.game_has_enter = true;
    cr_expect_not(press(LS_KEY_ENTER));
    cr_expect_not(box.is_open);
    cr_expect(press(LS_KEY_F4));
    type("gg");
    cr_expect(press(LS_KEY_ENTER), "it sends the line that is open");
    cr_expect(ls_chat_box_pop_said(&box, &said));
    cr_expect_not(box.is_open);
}

Test(chat_box, escape_and_an_empty_line_say_nothing)
{
    press(LS_KEY_ENTER);
    type("no");
    cr_expect(press(LS_KEY_ESCAPE), "the view does not close");
    cr_expect_not(press(LS_KEY_ESCAPE));
    press(LS_KEY_ENTER);
    type(" ");
    press(LS_KEY_ENTER);
    cr_expect_not(ls_chat_box_pop_said(&box, &said));
}

Test(chat_box, backspace_takes_a_whole_letter)
{
    press(LS_KEY_ENTER);
    type("a");
    type("\xF0\x9F\x98\x80");
    press(LS_KEY_BACKSPACE);
    cr_expect_str_eq(box.typed, "a");
    press(LS_KEY_BACKSPACE);
    press(LS_KEY_BACKSPACE);
    cr_expect_str_eq(box.typed, "");
}

Test(chat_box, a_full_line_takes_no_more)
{
    press(LS_KEY_ENTER);
    for (uint32_t i = 0; i < 300; i++) {
        type("\xC3\xA9");
    }
    press(LS_KEY_ENTER);
    cr_assert(ls_chat_box_pop_said(&box, &said));
    cr_expect_eq(strlen(said.text), LS_CHAT_BOX_TYPED_BYTES_MAX - 1);
}

Test(chat_box, quick_keys_say_their_lines)
{
    cr_expect(press(LS_KEY_F5 + 3));
    cr_assert(ls_chat_box_pop_said(&box, &said));
    cr_expect_eq(said.quick_line, 4);
    cr_expect_not(press(LS_KEY_F5 + LS_CHAT_BOX_QUICK_KEYS));
}

Test(chat_box, lines_are_shown_for_a_while)
{
    ls_chat_box_add(&box, "[1] Ann: first");
    cr_expect_eq(show(LS_CHAT_BOX_SHOWN_NS / 2).chat_count, 1);
    ls_chat_box_add(&box, "[1] Ann: second");
    ls_hud_model hud = show(LS_CHAT_BOX_SHOWN_NS / 2);
    cr_assert_eq(hud.chat_count, 1);
    cr_expect_str_eq(hud.chat[0], "[1] Ann: second");
}

/* No part of what a player says stands where a line of another or of the program begins. */
Test(chat_box, the_parts_of_a_long_line_are_indented)
{
    ls_chat_box_add(&box, "[1] Ann: hello there [2] Bob: I lose -- the match has ended");
    ls_hud_model hud = show(0);
    cr_assert_eq(hud.chat_count, 4);
    cr_expect_str_eq(hud.chat[0], "[1] Ann: hello there");
    for (uint32_t i = 1; i < hud.chat_count; i++) {
        cr_expect(strncmp(hud.chat[i], "  ", 2) == 0, "row %u: %s", i, hud.chat[i]);
        cr_expect_leq(strlen(hud.chat[i]), LETTERS);
    }
}

Test(chat_box, the_newest_rows_are_shown_and_last_the_line_that_is_typed)
{
    for (uint32_t i = 0; i < 20; i++) {
        ls_chat_box_add(&box, "[1] Ann: a line of more than one row");
    }
    press(LS_KEY_ENTER);
    type("the end of what is");
    type(" typed");
    ls_hud_model hud = show(0);
    cr_assert_eq(hud.chat_count, LS_HUD_CHAT_ROWS_MAX);
    cr_expect(hud.is_typing);
    cr_expect_str_eq(hud.chat[hud.chat_count - 1], "say:  what is typed_");
}

Test(chat_box, letters_of_four_bytes_fit_into_a_row)
{
    char line[LS_CHAT_BOX_LINE_BYTES_MAX] = "";
    for (uint32_t i = 0; i < 60; i++) {
        memcpy(line + 4 * i, "\xF0\x9F\x98\x80", 5);
    }
    ls_hud_model hud = {0};
    ls_chat_box_add(&box, line);
    ls_chat_box_show(&box, 0, 120, &hud); /* each is two columns wide */
    cr_assert_eq(hud.chat_count, 1);
    cr_expect_str_eq(hud.chat[0], line);
    ls_hud_model narrow = {0};
    ls_chat_box_show(&box, 0, 64, &narrow);
    cr_assert_eq(narrow.chat_count, 2);
    cr_expect_eq(strlen(narrow.chat[0]), 32 * 4);
}

/* ---- text_view ---- */

enum {
    WIDTH = 5,
    HEIGHT = 4
};

#define DARK 0x101010FFu

static uint32_t pixels[WIDTH * HEIGHT];
static ls_canvas canvas = {.pixels = pixels, .width = WIDTH, .height = HEIGHT};
static char text[4096];
static ls_text_page page;

static void clear(void)
{
    ls_canvas_fill(&canvas, (ls_canvas_rect){0, 0, WIDTH, HEIGHT}, DARK);
    page = (ls_text_page){.canvas = &canvas, .background = DARK};
    cr_assert_leq(ls_text_view_bytes(&canvas), sizeof text);
}

TestSuite(text_view, .init = clear);

Test(text_view, plain_text_shows_what_is_lighter_than_the_background)
{
    pixels[1] = 0xFFFFFFFFu;
    pixels[2 * WIDTH + 3] = 0xFF0000FFu; /* blue is dark */
    size_t size = ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, " @\n   :\n");
    cr_expect_eq(size, strlen(text));
}

Test(text_view, a_cell_shows_two_pixels_in_colour)
{
    pixels[0] = 0xFFFF0000u;         /* red above */
    pixels[WIDTH + 0] = 0xFF0000FFu; /* blue below */
    size_t size = ls_text_view_colour(&page, text);
    cr_expect_eq(size, strlen(text));
    cr_expect(strstr(text, "\033[H\033[38;5;196m\033[48;5;21m\xE2\x96\x80"), "%s", text + 1);
    uint32_t lines = 0;
    for (const char *next = text; (next = strchr(next, '\n')); next++) {
        lines++;
    }
    cr_expect_eq(lines, HEIGHT / 2);
}

Test(text_view, a_colour_is_said_once_as_long_as_it_lasts)
{
    ls_text_view_colour(&page, text);
    uint32_t changes = 0;
    for (const char *next = text; (next = strstr(next, "\033[48;")); next++) {
        changes++;
    }
    cr_expect_eq(changes, HEIGHT / 2, "once a line");
}

/* All cells different from their neighbours: as long as a text can be. */
Test(text_view, the_longest_text_fits)
{
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        pixels[i] = i % 2 ? 0xFFFFFF00u : 0xFFFF00FFu;
    }
    page.has_true_colour = true;
    cr_expect_lt(ls_text_view_colour(&page, text), ls_text_view_bytes(&canvas));
    const ls_text_run run = {0, 0, 0xFFFFFFFFu, "\xF0\x9F\x98\x80\xF0\x9F\x98\x80"};
    page.runs = &run;
    page.run_count = 1;
    cr_expect_lt(ls_text_view_colour(&page, text), ls_text_view_bytes(&canvas));
    cr_expect_lt(ls_text_view_plain(&page, text), ls_text_view_bytes(&canvas));
}

Test(text_view, a_terminal_of_true_colour_gets_the_pixels_as_they_are)
{
    page.has_true_colour = true;
    pixels[0] = 0xFF161B22u;
    pixels[WIDTH + 0] = 0xFF1C232Cu;
    ls_text_view_colour(&page, text);
    cr_expect(strstr(text, "\033[38;2;22;27;34m\033[48;2;28;35;44m\xE2\x96\x80"), "%s", text + 1);
}

/* The background, the floor, and a wall: no navy, no teal. */
Test(text_view, dark_greys_stay_grey_in_256_colours)
{
    static const uint32_t greys[] = {0x161B22, 0x1C232C, 0x55606E, 0x0B0E12, 0x808080, 0xEEEEEE};
    for (size_t i = 0; i < sizeof greys / sizeof greys[0]; i++) {
        uint32_t number = 0;
        pixels[0] = greys[i];
        ls_text_view_colour(&page, text);
        cr_assert_eq(sscanf(text, "\033[H\033[38;5;%um", &number), 1);
        cr_expect(number >= 232 || number == 16 || number == 59 || number == 102, "%06x: %u",
                  greys[i], number);
    }
}

Test(text_view, text_stands_in_the_cells_as_it_is)
{
    const ls_text_run runs[] = {{1, 0, 0xFF0000FFu, "\xc3\xa9t\xc3\xa9"},
                                {-2, 1, 0xFF0000FFu, "abc"},
                                {4, 1, 0xFF0000FFu, "xyz"},
                                {0, 7, 0xFF0000FFu, "below"}};
    page.runs = runs;
    page.run_count = 4;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, " \xc3\xa9t\xc3\xa9\nc   x\n");
    ls_text_view_colour(&page, text);
    cr_expect(strstr(text, "\033[38;5;196m\xc3\xa9t\xc3\xa9"), "%s", text + 1);
}

Test(text_view, a_letter_of_two_columns_takes_two_cells)
{
    const ls_text_run run = {.row = 0, .text = "\xE5\xAE\x89z"};
    page.runs = &run;
    page.run_count = 1;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, "\xE5\xAE\x89z\n\n");
    ls_text_view_colour(&page, text);
    const char *end = strstr(text, "\xE5\xAE\x89");
    cr_assert(end);
    cr_expect(strncmp(end + 3, "z", 1) == 0, "the second half of it is nothing");
}

Test(text_view, half_of_a_wide_letter_is_not_shown)
{
    const ls_text_run runs[] = {{.row = 0, .text = "\xE5\xAE\x89\xE5\xAE\x89"},
                                {.column = 1, .row = 0, .text = "ab"},
                                {.column = 4, .row = 0, .text = "\xE5\xAE\x89"}};
    page.runs = runs;
    page.run_count = 3;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, " ab \n\n");
}

Test(text_view, marks_stay_on_their_letter)
{
    const ls_text_run run = {.row = 0, .text = "e\xCC\x81z"};
    page.runs = &run;
    page.run_count = 1;
    ls_text_view_plain(&page, text);
    cr_expect_str_eq(text, "e\xCC\x81z\n\n");
}
