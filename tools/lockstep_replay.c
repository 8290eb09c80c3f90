/* lockstep-replay: reads the command line, looks into the journal of a match. */
#include "lockstep/client/program/view_options.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/tools/replay/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_key {
    KEY_SIM = 's',
    KEY_OUTPUT = 'o',
    KEY_FIELDS = 'f',
    KEY_FROM = 0x100,
    KEY_SPEED,
};

static const struct argp_option options[] = {
    {"sim", KEY_SIM, "NAME|FILE.so", 0,
     "Simulate with this one (the built-in that the journal names)", 0},
    {"output", KEY_OUTPUT, "FILE|-", 0,
     "Where export (standard output) and cut (a new file; needed) write", 0},
    {"fields", KEY_FIELDS, "NAME", OPTION_ARG_OPTIONAL,
     "With seek: print every value whose name begins with NAME, or all", 0},
    {"from", KEY_FROM, "TICK", 0, "With view: begin there (the first one)", 0},
    {"speed", KEY_SPEED, "X", 0,
     "With view: begin so many times as fast as it was, a power of two from 1/16 to 64 (1)", 0},
    {0},
};

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

static void take_command(struct argp_state *state, arguments *args, const char *word)
{
    ls_text names = {{0}};
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            args->command = i;
            args->config.command = commands[i].name;
            return;
        }
        ls_text_add(&names, "%s%s", i > 0 ? ", " : "", commands[i].name);
    }
    argp_error(state, "'%s' is no command: %s", word, names.bytes);
}

static ls_tick read_tick(struct argp_state *state, const char *word)
{
    uint64_t tick = 0;
    ls_option_range range = {0, UINT32_MAX - 1};
    if (ls_option_number("tick", word, range, &tick, NULL) != LS_OK) {
        argp_error(state, "a tick is a number from 0 to %u, not '%s'", UINT32_MAX - 1, word);
    }
    return (ls_tick)tick;
}

static int32_t read_speed(struct argp_state *state, const char *word)
{
    static const struct {
        const char *word;
        int32_t power;
    } fractions[] = {{"0.0625", -4}, {"0.125", -3}, {"0.25", -2}, {"0.5", -1}};
    static const char *const words[] = {"1/16", "1/8", "1/4", "1/2", "1", "2",
                                        "4",    "8",   "16",  "32",  "64"};
    uint32_t index = 0;
    for (size_t i = 0; i < sizeof fractions / sizeof fractions[0]; i++) {
        if (strcmp(word, fractions[i].word) == 0) {
            return fractions[i].power;
        }
    }
    ls_command_line_word(state, "speed", word, words, sizeof words / sizeof words[0], &index);
    return (int32_t)index + LS_PLAYHEAD_SLOWEST;
}

static void take_word(struct argp_state *state, arguments *args, const char *word)
{
    if (!args->config.command) {
        take_command(state, args, word);
        return;
    }
    uint32_t journals = commands[args->command].journals;
    uint32_t index = args->words++;
    if (index < journals) {
        args->config.paths[index] = word;
    } else if (index < journals + commands[args->command].numbers) {
        *(index == journals ? &args->config.from : &args->config.to) = read_tick(state, word);
    } else {
        argp_error(state, "unexpected argument '%s'", word);
    }
}

static void check(struct argp_state *state, arguments *args)
{
    if (!args->config.command) {
        argp_error(state, "the command is missing");
    }
    if (args->words < commands[args->command].journals + commands[args->command].numbers) {
        static const char *const missing[] = {"FILE", "FILE FILE"};
        static const char *const ticks[] = {"", " TICK", " FROM TO"};
        argp_error(state, "%s takes %s%s", args->config.command,
                   missing[commands[args->command].journals - 1],
                   ticks[commands[args->command].numbers]);
    }
    bool is_cut = strcmp(args->config.command, "cut") == 0;
    if (is_cut && (!args->config.output || strcmp(args->config.output, "-") == 0)) {
        argp_error(state, "cut takes --output FILE");
    }
    ls_view_options_check(state, &args->config.screen, &args->output);
    args->config.output = args->config.output ? args->config.output : "-";
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_SIM:
        args->config.simulation = value;
        return 0;
    case KEY_OUTPUT:
        args->config.output = value;
        return 0;
    case KEY_FIELDS:
        args->config.fields = value ? value : "";
        return 0;
    case KEY_FROM:
        args->config.from = read_tick(state, value);
        return 0;
    case KEY_SPEED:
        args->config.speed = read_speed(state, value);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->config.screen;
        state->child_inputs[1] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        take_word(state, args, value);
        return 0;
    case ARGP_KEY_END:
        check(state, args);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&ls_view_argp, 0, "With view:", 5}, {&ls_output_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .children = children,
        .parser = parse,
        .args_doc = "COMMAND FILE...",
        .doc = "Looks into the journal of a match that a server wrote with --journal.\v"
               "Commands:\n"
#define COMMAND_HELP(name, journals, numbers, help) "  " #name " " help "\n"
        REPLAY_COMMAND_MAP(COMMAND_HELP)
#undef COMMAND_HELP
            "\nThe journal's snapshots are run by the simulation here: open journals from those "
            "whose saved games you would open.\n\n"
            "Exit codes: 0 clean, 1 the journal cannot be read, or is damaged, or something "
            "cannot be written, 2 usage, or a simulation that cannot be used, 3 a difference "
            "was found, 4 internal.",
    };
    arguments args = {.config = {.screen = ls_screen_config_default()},
                      .output = {.level = LS_LOG_INFO}};
    ls_command_line_parse(&argp, argc, argv, &args);
    args.config.screen.is_terminal_live = ls_console_can_redraw_output();

    ls_console console;
    ls_console_init(&console, "lockstep-replay", args.output.level);
    const char *json_path = args.output.json_path;
    args.config.json_path = json_path;
    args.config.is_quiet =
        args.output.level == LS_LOG_WARNING || (json_path && strcmp(json_path, "-") == 0);
    return replay_run_command(&args.config, &console);
}
