/* lockstep-desync: reads the command line, explains a desync bundle. */
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/tools/desync/explain.h"

#include <string.h>

enum option_key {
    KEY_SIM = 's',
    KEY_TRACE = 't',
    KEY_HTML = 0x100,
};

static const struct argp_option options[] = {
    {"sim", KEY_SIM, "NAME|FILE.so", 0,
     "Simulate with this one (the built-in that the bundle names)", 0},
    {"trace", KEY_TRACE, "FIELD", 0,
     "List every write to FIELD, as in bodies[3].position.x, in the tick that went wrong", 0},
    {"html", KEY_HTML, "FILE|-", 0, "Write a page for a browser, all in one file", 0},
    {0},
};

typedef struct arguments {
    explain_config config;
    ls_output_options output;
    bool has_command;
} arguments;

static void take_word(struct argp_state *state, arguments *args, const char *word)
{
    if (!args->has_command) {
        if (strcmp(word, "explain") != 0) {
            argp_error(state, "the command is explain, not '%s'", word);
        }
        args->has_command = true;
    } else if (args->config.bundle_path) {
        argp_error(state, "unexpected argument '%s'", word);
    } else {
        args->config.bundle_path = word;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_SIM:
        args->config.simulation = value;
        return 0;
    case KEY_TRACE:
        args->config.trace = value;
        return 0;
    case KEY_HTML:
        args->config.html_path = value;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        take_word(state, args, value);
        return 0;
    case ARGP_KEY_END:
        if (!args->config.bundle_path) {
            argp_error(state, args->has_command ? "the bundle's file is missing"
                                                : "'explain FILE' is missing");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool is_standard_output(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&ls_output_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .children = children,
        .parser = parse,
        .args_doc = "explain FILE",
        .doc =
            "Explains a desync from the bundle that a server wrote: which machine, tick, pass "
            "and fields, what kind of fault, and what this machine gets when it simulates the "
            "same ticks again.\v"
            "The bundle's snapshot is run by the simulation here: open bundles from those whose "
            "saved games you would open.\n\n"
            "Exit codes: 3 the bundle shows a desync (the report says what this machine makes of "
            "it), 0 its two sides agree, 1 the bundle cannot be read or a report not written, 2 "
            "usage, or a simulation that cannot be used, 4 internal.",
    };
    arguments args = {.output = {.level = LS_LOG_INFO}};
    ls_command_line_parse(&argp, argc, argv, &args);

    ls_console console;
    ls_console_init(&console, "lockstep-desync", args.output.level);
    args.config.json_path = args.output.json_path;
    args.config.is_quiet = args.output.level == LS_LOG_WARNING ||
                           is_standard_output(args.config.json_path) ||
                           is_standard_output(args.config.html_path);
    return explain_run(&args.config, &console.log);
}
