#include "lockstep/client/view/chat_box.h"

#include "lockstep/client/view/letters.h"

#include <string.h>

#define PROMPT "say: "
#define INDENT "  " /* no line of a player begins so, and none of the program */

enum {
    COLUMNS_MIN = 16,
};

/* ---- what the person does ---- */

static void say(ls_chat_box *box, uint32_t quick_line)
{
    box->has_said = true;
    box->said.quick_line = quick_line;
    ls_name_copy(box->said.text, sizeof box->said.text, box->typed);
}

static void close_line(ls_chat_box *box)
{
    box->is_open = false;
    box->typed[0] = '\0';
}

static void erase_letter(ls_chat_box *box)
{
    size_t at = 0;
    for (size_t next = 0; box->typed[next] != '\0';
         next += ls_letter_first(box->typed + next).bytes) {
        at = next;
    }
    box->typed[at] = '\0';
}

static void receive_typing_key(ls_chat_box *box, uint32_t key)
{
    if (key == LS_KEY_ENTER || key == LS_KEY_KEYPAD_ENTER) {
        if (box->typed[strspn(box->typed, " ")] != '\0') {
            say(box, 0);
        }
        close_line(box);
    } else if (key == LS_KEY_ESCAPE) {
        close_line(box);
    } else if (key == LS_KEY_BACKSPACE) {
        erase_letter(box);
    }
}

/* A line that is full takes no more, whole letters alone. */
static void type(ls_chat_box *box, const char *text)
{
    size_t size = strlen(box->typed);
    if (size + strlen(text) < sizeof box->typed) {
        memcpy(box->typed + size, text, strlen(text) + 1);
    }
}

static bool receive_closed(ls_chat_box *box, const ls_view_event *event)
{
    if (event->kind != LS_VIEW_EVENT_KEY || !event->is_down) {
        return false;
    }
    if (event->key == LS_KEY_F4 || (event->key == LS_KEY_ENTER && !box->game_has_enter)) {
        box->is_open = true;
        return true;
    }
    if (event->key >= LS_KEY_F5 && event->key < LS_KEY_F5 + LS_CHAT_BOX_QUICK_KEYS) {
        say(box, event->key - LS_KEY_F5 + 1);
        return true;
    }
    return false;
}

bool ls_chat_box_receive(ls_chat_box *box, const ls_view_event *event)
{
    if (!box->is_open) {
        return receive_closed(box, event);
    }
    if (event->kind == LS_VIEW_EVENT_KEY && event->is_down) {
        receive_typing_key(box, event->key);
    } else if (event->kind == LS_VIEW_EVENT_TEXT) {
        type(box, event->text);
    }
    return event->kind == LS_VIEW_EVENT_KEY || event->kind == LS_VIEW_EVENT_TEXT;
}

bool ls_chat_box_pop_said(ls_chat_box *box, ls_chat_box_said *said)
{
    bool has_said = box->has_said;
    if (has_said) {
        *said = box->said;
        box->has_said = false;
    }
    return has_said;
}

/* ---- what is shown ---- */

void ls_chat_box_add(ls_chat_box *box, const char *line)
{
    if (box->line_count == LS_CHAT_BOX_LINES_MAX) {
        memmove(box->lines, box->lines + 1, sizeof box->lines - sizeof box->lines[0]);
        box->line_count--;
    }
    ls_chat_box_line *added = &box->lines[box->line_count++];
    added->left_ns = LS_CHAT_BOX_SHOWN_NS;
    ls_name_copy(added->text, sizeof added->text, line);
}

static void let_time_pass(ls_chat_box *box, uint64_t elapsed_ns)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < box->line_count; i++) {
        ls_chat_box_line *line = &box->lines[i];
        line->left_ns -= LS_MIN(elapsed_ns, line->left_ns);
        if (line->left_ns > 0) {
            box->lines[kept++] = *line;
        }
    }
    box->line_count = kept;
}

/* The oldest row makes room. */
static char *push_row(ls_hud_model *hud)
{
    if (hud->chat_count == LS_HUD_CHAT_ROWS_MAX) {
        memmove(hud->chat, hud->chat + 1, sizeof hud->chat - sizeof hud->chat[0]);
        hud->chat_count--;
    }
    return hud->chat[hud->chat_count++];
}

static void push_line(ls_hud_model *hud, const char *text, uint32_t columns)
{
    const char *indent = "";
    do {
        size_t bytes = ls_letters_fit(text, columns - strlen(indent));
        bytes = LS_MIN(bytes, LS_HUD_CHAT_BYTES_MAX - 1 - strlen(indent));
        char *row = push_row(hud);
        memcpy(row, indent, strlen(indent));
        memcpy(row + strlen(indent), text, bytes);
        row[strlen(indent) + bytes] = '\0';
        text += bytes;
        indent = INDENT;
    } while (*text);
}

static void push_typed(ls_hud_model *hud, const char *typed, uint32_t columns)
{
    char *row = push_row(hud);
    size_t room = columns - strlen(PROMPT) - 1;
    while (ls_letters_fit(typed, room) < strlen(typed)) {
        typed += ls_letter_first(typed).bytes;
    }
    memcpy(row, PROMPT, strlen(PROMPT));
    memcpy(row + strlen(PROMPT), typed, strlen(typed));
    memcpy(row + strlen(PROMPT) + strlen(typed), "_", 2);
}

void ls_chat_box_show(ls_chat_box *box, uint64_t elapsed_ns, uint32_t columns, ls_hud_model *hud)
{
    columns = LS_MAX(columns, COLUMNS_MIN);
    let_time_pass(box, elapsed_ns);
    for (uint32_t i = 0; i < box->line_count; i++) {
        push_line(hud, box->lines[i].text, columns);
    }
    hud->is_typing = box->is_open;
    if (box->is_open) {
        push_typed(hud, box->typed, columns);
    }
}
