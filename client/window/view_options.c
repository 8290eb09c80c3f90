#include "lockstep/client/window/view_options.h"

#include <string.h>

enum {
    VIEW_GROUP = 5
};

static ls_status read_view(void *target, char *value, ls_text *why)
{
    static const char *const words[] = {"window", "text"};
    ls_screen_config *view = target;
    uint32_t kind = 0;
    ls_status status = value ? ls_option_word("view", value, words, 2, &kind, why) : LS_OK;
    view->kind = kind == 0 ? LS_SCREEN_WINDOW : LS_SCREEN_TEXT;
    return status;
}

static ls_status read_screenshot(void *target, char *value, ls_text *why)
{
    ls_screen_config *view = target;
    char *at = strrchr(value, '@');
    uint64_t tick = 0;
    if (!at || at == value || view->screenshot_count == LS_SCREENSHOTS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--screenshot takes FILE@TICK, up to %u times, not '%s'", LS_SCREENSHOTS_MAX,
                       value);
    }
    *at = '\0';
    ls_option_range range = {0, UINT32_MAX};
    ls_status status = ls_option_number("screenshot", at + 1, range, &tick, why);
    view->screenshots[view->screenshot_count++] = (ls_screenshot){value, (ls_tick)tick};
    return status;
}

static ls_status read_size(void *target, char *value, ls_text *why)
{
    ls_screen_config *view = target;
    char *by = strchr(value, 'x');
    uint64_t width = 0;
    uint64_t height = 0;
    if (!by) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--size takes WIDTHxHEIGHT, not '%s'", value);
    }
    *by = '\0';
    ls_option_range range = {LS_SCREEN_SIDE_MIN, LS_SCREEN_SIDE_MAX};
    ls_status status = ls_option_number("size", value, range, &width, why);
    if (status == LS_OK) {
        status = ls_option_number("size", by + 1, range, &height, why);
    }
    view->width = (uint32_t)width;
    view->height = (uint32_t)height;
    return status;
}

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = VIEW_GROUP, .help = "To see it:"},
    {LS_SETTING_IS_READ, .read = read_view, .flag = "view", .argument = "window|text",
     .has_optional_argument = true, .group = VIEW_GROUP,
     .help = "Show the match in a window, or as text on a terminal; --view alone: in a window"},
    {LS_SETTING_IS_READ, .read = read_size, .flag = "size", .argument = "WxH", .group = VIEW_GROUP,
     .default_text = "1280x720", .help = "Size of the window"},
    {LS_SETTING_IS_SWITCH, .offset = offsetof(ls_screen_config, interpolates), .initial = true,
     .flag = "no-interpolation", .group = VIEW_GROUP,
     .help = "Show the newest state as it is, instead of the blend of the two newest: to feel the "
             "difference"},
    {LS_SETTING_IS_TEXT, .offset = offsetof(ls_screen_config, sounds), .flag = "sounds",
     .argument = "DIR", .default_text = "", .group = VIEW_GROUP,
     .help = "Folder with the game's sounds, ID.wav for each; a tone is played for those without a "
             "file"},
    {LS_SETTING_IS_U32, .offset = offsetof(ls_screen_config, volume),
     .max = LS_LOUDSPEAKER_VOLUME_MAX, .is_reset_by_hand = true, .flag = "volume",
     .argument = "PERCENT", .group = VIEW_GROUP, .help = "Of the sounds of a window; 0: silent"},
    {LS_SETTING_IS_READ, .read = read_screenshot, .flag = "screenshot", .argument = "FILE@TICK",
     .group = VIEW_GROUP,
     .help = "Write a PNG of the first frame that shows TICK; up to 16 of them, and F12 writes "
             "more"},
};

const ls_setting_table ls_view_settings = {rows, sizeof rows / sizeof rows[0]};

ls_status ls_view_options_check(const ls_screen_config *view, const ls_output_options *output,
                                ls_text *why)
{
    bool is_json_there = output->json_path && strcmp(output->json_path, "-") == 0;
    if (view->kind != LS_SCREEN_WINDOW && view->screenshot_count > 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--screenshot needs --view=window");
    }
    if (view->kind != LS_SCREEN_WINDOW && view->sounds) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--sounds needs --view=window");
    }
    if (view->kind == LS_SCREEN_NONE && !view->interpolates) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--no-interpolation needs --view");
    }
    if (view->kind == LS_SCREEN_TEXT && is_json_there) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--view=text and --json - both write to standard output");
    }
    return LS_OK;
}
