#include "lockstep/client/program/view_options.h"

#include <string.h>

/* Apart from those of any program. */
enum option_key {
    KEY_VIEW = 0x2000,
    KEY_NO_INTERPOLATION,
    KEY_SCREENSHOT,
    KEY_SIZE,
};

static const struct argp_option options[] = {
    {"view", KEY_VIEW, "window|text", OPTION_ARG_OPTIONAL,
     "Show the match in a window, or as text on a terminal (window)", 0},
    {"size", KEY_SIZE, "WxH", 0, "Size of the window (1280x720)", 0},
    {"no-interpolation", KEY_NO_INTERPOLATION, 0, 0,
     "Show the newest state as it is, instead of the blend of the two newest: to feel the "
     "difference",
     0},
    {"screenshot", KEY_SCREENSHOT, "FILE@TICK", 0,
     "Write a PNG of the first frame that shows TICK; up to 16 of them, and F12 writes more", 0},
    {0},
};

static void parse_screenshot(struct argp_state *state, ls_screen_config *view, char *value)
{
    char *at = strrchr(value, '@');
    uint64_t tick;
    if (!at || at == value || view->screenshot_count == LS_SCREENSHOTS_MAX) {
        argp_error(state, "--screenshot takes FILE@TICK, up to %u times, not '%s'",
                   LS_SCREENSHOTS_MAX, value);
        return;
    }
    *at = '\0';
    ls_command_line_number(state, "screenshot", at + 1, (ls_option_range){0, UINT32_MAX}, &tick);
    view->screenshots[view->screenshot_count++] = (ls_screenshot){value, (ls_tick)tick};
}

static void parse_size(struct argp_state *state, ls_screen_config *view, char *value)
{
    char *by = strchr(value, 'x');
    uint64_t width = 0;
    uint64_t height = 0;
    if (!by) {
        argp_error(state, "--size takes WIDTHxHEIGHT, not '%s'", value);
        return;
    }
    *by = '\0';
    ls_option_range range = {LS_SCREEN_SIDE_MIN, LS_SCREEN_SIDE_MAX};
    ls_command_line_number(state, "size", value, range, &width);
    ls_command_line_number(state, "size", by + 1, range, &height);
    view->width = (uint32_t)width;
    view->height = (uint32_t)height;
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    static const char *const view_words[] = {"window", "text"};
    ls_screen_config *view = state->input;
    uint32_t kind = 0;
    switch (key) {
    case KEY_VIEW:
        if (value) {
            ls_command_line_word(state, "view", value, view_words, 2, &kind);
        }
        view->kind = kind == 0 ? LS_SCREEN_WINDOW : LS_SCREEN_TEXT;
        return 0;
    case KEY_NO_INTERPOLATION:
        view->interpolates = false;
        return 0;
    case KEY_SIZE:
        parse_size(state, view, value);
        return 0;
    case KEY_SCREENSHOT:
        parse_screenshot(state, view, value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp ls_view_argp = {.options = options, .parser = parse};

void ls_view_options_check(struct argp_state *state, const ls_screen_config *view,
                           const ls_output_options *output)
{
    bool is_json_there = output->json_path && strcmp(output->json_path, "-") == 0;
    if (view->kind != LS_SCREEN_WINDOW && view->screenshot_count > 0) {
        argp_error(state, "--screenshot needs --view=window");
    }
    if (view->kind == LS_SCREEN_NONE && !view->interpolates) {
        argp_error(state, "--no-interpolation needs --view");
    }
    if (view->kind == LS_SCREEN_TEXT && is_json_there) {
        argp_error(state, "--view=text and --json - both write to standard output");
    }
}
