/* lockstep-replay: reads the command line, looks into the journal of a match. */
#include "lockstep/client/program/view_options.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/tools/replay/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many words each command takes. */
static const struct {
    const char *name;
    uint32_t journals;
    uint32_t numbers;
} commands[] = {
#define COMMAND_ENTRY(name, journals, numbers, help) {#name, journals, numbers},
    REPLAY_COMMAND_MAP(COMMAND_ENTRY)
#undef COMMAND_ENTRY
};

enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0]
};

typedef struct arguments {
    replay_config config;
    ls_output_options output;
    uint32_t command; /* index, once it is known */
    uint32_t words;   /* behind it */
} arguments;

static ls_status take_command(arguments *args, const char *word, ls_text *why)
{
    ls_text names = {{0}};
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            args->command = i;
            args->config.command = commands[i].name;
            return LS_OK;
        }
        ls_text_add(&names, "%s%s", i > 0 ? ", " : "", commands[i].name);
    }
    return ls_command_line_refuse(why, "'%s' is no command: %s", word, names.bytes);
}

static ls_status read_tick(const char *word, ls_tick *tick, ls_text *why)
{
    uint64_t number = 0;
    ls_option_range range = {0, UINT32_MAX - 1};
    if (ls_option_number("tick", word, range, &number, NULL) != LS_OK) {
        return ls_command_line_refuse(why, "a tick is a number from 0 to %u, not '%s'",
                                      UINT32_MAX - 1, word);
    }
    *tick = (ls_tick)number;
    return LS_OK;
}

static ls_status take_from(void *target, char *word, ls_text *why)
{
    return read_tick(word, &((arguments *)target)->config.from, why);
}

static ls_status take_speed(void *target, char *word, ls_text *why)
{
    static const struct {
        const char *word;
        int32_t power;
    } fractions[] = {{"0.0625", -4}, {"0.125", -3}, {"0.25", -2}, {"0.5", -1}};
    static const char *const words[] = {"1/16", "1/8", "1/4", "1/2", "1", "2",
                                        "4",    "8",   "16",  "32",  "64"};
    replay_config *config = &((arguments *)target)->config;
    uint32_t index = 0;
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        if (strcmp(word, fractions[i].word) == 0) {
            config->speed = fractions[i].power;
            return LS_OK;
        }
    }
    uint32_t count = sizeof words / sizeof words[0];
    ls_status status = ls_option_word("speed", word, words, count, &index, why);
    config->speed = (int32_t)index + LS_PLAYHEAD_SLOWEST;
    return status;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(config.simulation), .flag = "sim", .letter = 's',
     .argument = "NAME|FILE.so", .default_text = "the built-in that the journal names",
     .help = "Simulate with this one"},
    {LS_SETTING_IS_TEXT, FIELD(config.output), .flag = "output", .letter = 'o',
     .argument = "FILE|-",
     .help = "Where export (standard output) and cut (a new file; needed) write"},
    {LS_SETTING_IS_TEXT, FIELD(config.fields), .flag = "fields", .letter = 'f', .argument = "NAME",
     .has_optional_argument = true,
     .help = "With seek: print every value whose name begins with NAME, or all"},
    {LS_SETTING_IS_TAKEN, .take = take_from, .flag = "from", .argument = "TICK",
     .default_text = "the first one", .help = "With view: begin there"},
    {LS_SETTING_IS_TAKEN, .take = take_speed, .flag = "speed", .argument = "X", .default_text = "1",
     .help = "With view: begin so many times as fast as it was, a power of two from 1/16 to 64"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status take_word(void *user, char *word, ls_text *why)
{
    arguments *args = user;
    if (!args->config.command) {
        return take_command(args, word, why);
    }
    uint32_t journals = commands[args->command].journals;
    uint32_t index = args->words++;
    if (index < journals) {
        args->config.paths[index] = word;
        return LS_OK;
    }
    if (index < journals + commands[args->command].numbers) {
        return read_tick(word, index == journals ? &args->config.from : &args->config.to, why);
    }
    return ls_command_line_refuse(why, "unexpected argument '%s'", word);
}

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    if (!args->config.command) {
        return ls_command_line_refuse(why, "the command is missing");
    }
    if (args->words < commands[args->command].journals + commands[args->command].numbers) {
        static const char *const missing[] = {"FILE", "FILE FILE"};
        static const char *const ticks[] = {"", " TICK", " FROM TO"};
        return ls_command_line_refuse(why, "%s takes %s%s", args->config.command,
                                      missing[commands[args->command].journals - 1],
                                      ticks[commands[args->command].numbers]);
    }
    bool is_cut = strcmp(args->config.command, "cut") == 0;
    if (is_cut && (!args->config.output || strcmp(args->config.output, "-") == 0)) {
        return ls_command_line_refuse(why, "cut takes --output FILE");
    }
    args->config.output = args->config.output ? args->config.output : "-";
    return ls_view_options_check(&args->config.screen, &args->output, why);
}

int main(int argc, char **argv)
{
    arguments args = {.config = {.screen = ls_screen_config_default()},
                      .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary = "Looks into the journal of a match that a server wrote with --journal.",
        .words = "COMMAND FILE...",
        .ending = "Commands:\n"
#define COMMAND_HELP(name, journals, numbers, help) "  " #name " " help "\n"
        REPLAY_COMMAND_MAP(COMMAND_HELP)
#undef COMMAND_HELP
            "\nThe journal's snapshots are run by the simulation here: open journals from "
            "those whose saved games you would open.\n\n"
            "Exit codes: 0 clean, 1 the journal cannot be read, or is damaged, or something "
            "cannot be written, 2 usage, or a simulation that cannot be used, 3 a difference "
            "was found, 4 internal.",
        .parts = {{&table, &args, NULL},
                  {&ls_view_settings, &args.config.screen, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .take_word = take_word,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    args.config.screen.is_terminal_live = ls_console_can_redraw_output();

    ls_console console;
    ls_console_init(&console, "lockstep-replay", args.output.level);
    const char *json_path = args.output.json_path;
    args.config.json_path = json_path;
    args.config.is_quiet =
        args.output.level == LS_LOG_WARNING || (json_path && strcmp(json_path, "-") == 0);
    return replay_run_command(&args.config, &console);
}
