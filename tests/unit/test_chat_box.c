#include "lockstep/client/view/chat_box.h"

#include <criterion/criterion.h>
#include <string.h>

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
