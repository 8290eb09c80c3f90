/* lockstep-faultsim: reads the command line, plays the matches, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/tools/faultsim/faultsim.h"
#include "lockstep/tools/faultsim/self_test.h"
#include "lockstep/tools/faultsim/test_simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICKS_MAX = 100000,
    AGAIN_BYTES = 512,
    EVERY_MAX = 1000000,
    CLEAN_TICKS_MAX = 1000000000,
};

enum option_key {
    KEY_PLAYERS = 'n',
    KEY_TICKS = 't',
    KEY_JOBS = 'j',
    KEY_SEEDS = 0x100,
    KEY_SEED,
    KEY_SIM,
    KEY_LATE,
    KEY_FAULTS,
    KEY_SELF_TEST,
    KEY_EVERY,
    KEY_CLEAN_TICKS,
};

static const struct argp_option options[] = {
    {"seeds", KEY_SEEDS, "A..B", 0, "Play these matches (1..1000)", 0},
    {"seed", KEY_SEED, "N", 0, "Play one match and say what happens in it", 0},
    {"players", KEY_PLAYERS, "N", 0, "Players in each match, 1 to 32 (4); 0: by the seed", 0},
    {"ticks", KEY_TICKS, "N", 0, "Ticks in each match (600)", 0},
    {"sim", KEY_SIM, "NAME", 0, "test, which is cheap (default), or any built-in simulation", 0},
    {"late", KEY_LATE, "RULE", 0, "repeat or wait (by the seed)", 0},
    {"faults", KEY_FAULTS, "LIST", 0, "Only these classes of faults, with commas, or none (all)",
     0},
    {"jobs", KEY_JOBS, "N", 0, "Processes (one for each CPU)", 0},
    {"self-test", KEY_SELF_TEST, NULL, 0,
     "Flip every bit of the state of running matches, one at a time: is each caught and named? "
     "Of test and arena, or of --sim",
     1},
    {"every", KEY_EVERY, "N", 0, "Self-test: only every N-th bit position (1)", 1},
    {"clean-ticks", KEY_CLEAN_TICKS, "N", 0,
     "Self-test: ticks without a flip, of each simulation (1000000)", 1},
    {0},
};

typedef struct arguments {
    ls_faultsim_config config;
    uint64_t players, ticks, jobs;
    bool is_self_test;
    bool has_simulation;
    uint64_t every, clean_ticks;
    ls_output_options output;
    char again[AGAIN_BYTES]; /* what changes the matches, for a replay */
} arguments;

static void note(arguments *args, const char *name, const char *value)
{
    size_t used = strlen(args->again);
    snprintf(args->again + used, sizeof args->again - used, " --%s %s", name, value);
}

static void parse_seeds(struct argp_state *state, ls_faultsim_config *config, const char *value)
{
    char first[24] = {0};
    const char *dots = strstr(value, "..");
    if (!dots || (size_t)(dots - value) >= sizeof first) {
        argp_error(state, "--seeds takes A..B, not '%s'", value);
        return;
    }
    memcpy(first, value, (size_t)(dots - value));
    ls_option_range range = {0, UINT64_MAX - 1};
    ls_command_line_number(state, "seeds", first, range, &config->first_seed);
    range.min = config->first_seed;
    ls_command_line_number(state, "seeds", dots + 2, range, &config->last_seed);
}

static const ls_simulation *find_simulation(struct argp_state *state, const char *name)
{
    if (strcmp(name, "test") == 0 || strcmp(name, "tally") == 0) { /* its name before 0.2 */
        return NULL;
    }
    const ls_simulation *simulation = ls_builtin_simulation_named(name);
    if (!simulation) {
        argp_error(state, "--sim: there is no simulation '%s'", name);
    }
    return simulation;
}

static uint32_t class_of(struct argp_state *state, const char *name, size_t bytes)
{
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        const char *key = ls_fault_class_key((ls_fault_class)i);
        if (strlen(key) == bytes && memcmp(key, name, bytes) == 0) {
            return UINT32_C(1) << i;
        }
    }
    argp_error(state, "--faults: there is no class '%.*s'", (int)bytes, name);
    return 0;
}

static uint32_t parse_classes(struct argp_state *state, const char *list)
{
    uint32_t classes = 0;
    if (strcmp(list, "none") == 0) {
        return classes;
    }
    while (*list != '\0') {
        size_t bytes = strcspn(list, ",");
        classes |= class_of(state, list, bytes);
        list += bytes + (list[bytes] == ',');
    }
    return classes;
}

static void parse_late(struct argp_state *state, arguments *args, const char *value)
{
    static const char *const rules[] = {"repeat", "wait"};
    uint32_t rule = 0;
    ls_command_line_word(state, "late", value, rules, 2, &rule);
    args->config.scenario.late_rule = (int)rule;
    note(args, "late", value);
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    ls_faultsim_config *config = &args->config;
    switch (key) {
    case KEY_SEEDS:
        parse_seeds(state, config, value);
        return 0;
    case KEY_SEED:
        ls_command_line_number(state, "seed", value, (ls_option_range){0, UINT64_MAX - 1},
                               &config->first_seed);
        config->last_seed = config->first_seed;
        config->is_replay = true;
        return 0;
    case KEY_PLAYERS:
        ls_command_line_number(state, "players", value, (ls_option_range){0, LS_PLAYERS_MAX},
                               &args->players);
        note(args, "players", value);
        return 0;
    case KEY_TICKS:
        ls_command_line_number(state, "ticks", value, (ls_option_range){1, TICKS_MAX},
                               &args->ticks);
        note(args, "ticks", value);
        return 0;
    case KEY_JOBS:
        ls_command_line_number(state, "jobs", value, (ls_option_range){1, LS_FAULTSIM_JOBS_MAX},
                               &args->jobs);
        return 0;
    case KEY_SIM:
        config->scenario.simulation = find_simulation(state, value);
        args->has_simulation = true;
        note(args, "sim", value);
        return 0;
    case KEY_SELF_TEST:
        args->is_self_test = true;
        return 0;
    case KEY_EVERY:
        ls_command_line_number(state, "every", value, (ls_option_range){1, EVERY_MAX},
                               &args->every);
        return 0;
    case KEY_CLEAN_TICKS:
        ls_command_line_number(state, "clean-ticks", value, (ls_option_range){1, CLEAN_TICKS_MAX},
                               &args->clean_ticks);
        return 0;
    case KEY_LATE:
        parse_late(state, args, value);
        return 0;
    case KEY_FAULTS:
        config->scenario.classes = parse_classes(state, value);
        note(args, "faults", value);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The end of --help: the classes of faults. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    char *extended = NULL;
    size_t bytes = 0;
    FILE *stream = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&extended, &bytes) : NULL;
    if (!stream) {
        return (char *)(uintptr_t)text;
    }
    fprintf(stream, "Classes of faults:\n");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        fprintf(stream, "  %-10s %s\n", ls_fault_class_key((ls_fault_class)i),
                ls_fault_class_text((ls_fault_class)i));
    }
    fprintf(stream, "\n%s", text ? text : "");
    fclose(stream);
    return extended;
}

static uint64_t cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    count = count < 1 ? 1 : count;
    return count < LS_FAULTSIM_JOBS_MAX ? (uint64_t)count : LS_FAULTSIM_JOBS_MAX;
}

static ls_exit_code test_itself(const arguments *args, ls_console *console)
{
    const ls_simulation *simulation = args->config.scenario.simulation;
    if (args->has_simulation && !simulation) {
        simulation = test_simulation();
    }
    ls_self_test_config config = {.simulation = simulation,
                                  .every = (uint32_t)args->every,
                                  .clean_ticks = (uint32_t)args->clean_ticks,
                                  .jobs = (uint32_t)args->jobs,
                                  .json_path = args->output.json_path};
    return ls_self_test_run(&config, console);
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&ls_output_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .doc = "Plays whole matches in virtual time over a network that does its worst, and checks "
               "the invariants I1 to I7 at every tick. A seed is a match: everything in it is "
               "drawn from the seed, and the same seed plays the same match again.\v"
               "Exit codes: 0 clean, 1 environment, 2 usage, 3 an invariant broke or a flip was "
               "missed, 4 internal: nothing was compared.",
        .help_filter = help_filter,
    };
    arguments args = {.config = {.first_seed = 1,
                                 .last_seed = 1000,
                                 .scenario = {.late_rule = -1, .classes = LS_CLASS_ALL}},
                      .players = 4,
                      .ticks = 600,
                      .jobs = cpu_count(),
                      .every = 1,
                      .clean_ticks = 1000000,
                      .output = {.level = LS_LOG_INFO}};
    ls_command_line_parse(&argp, argc, argv, &args);
    args.config.scenario.players = (uint32_t)args.players;
    args.config.scenario.ticks = (uint32_t)args.ticks;
    args.config.jobs = (uint32_t)args.jobs;
    args.config.json_path = args.output.json_path;
    args.config.again = args.again;
    ls_console console;
    ls_console_init(&console, "lockstep-faultsim", args.output.level);
    return args.is_self_test ? test_itself(&args, &console)
                             : ls_faultsim_run(&args.config, &console);
}
