/* lockstep-faultsim: reads the command line, plays the matches, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/self_test.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"

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

enum {
    SELF_TEST = 1, /* a group of --help */
};

typedef struct arguments {
    faultsim_config config;
    bool is_self_test;
    bool has_simulation;
    uint32_t every, clean_ticks;
    ls_output_options output;
    char again[AGAIN_BYTES]; /* what changes the matches, for a replay */
} arguments;

static void note(arguments *args, const char *name, const char *value)
{
    size_t used = strlen(args->again);
    snprintf(args->again + used, sizeof args->again - used, " --%s %s", name, value);
}

static ls_status read_seeds(void *target, char *value, ls_text *why)
{
    faultsim_config *config = &((arguments *)target)->config;
    char first[24] = {0};
    const char *dots = strstr(value, "..");
    if (!dots || (size_t)(dots - value) >= sizeof first) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--seeds takes A..B, not '%s'", value);
    }
    memcpy(first, value, (size_t)(dots - value));
    ls_option_range range = {0, UINT64_MAX - 1};
    ls_status status = ls_option_number("seeds", first, range, &config->first_seed, why);
    range.min = config->first_seed;
    return status == LS_OK ? ls_option_number("seeds", dots + 2, range, &config->last_seed, why)
                           : status;
}

static ls_status read_seed(void *target, char *value, ls_text *why)
{
    faultsim_config *config = &((arguments *)target)->config;
    ls_option_range range = {0, UINT64_MAX - 1};
    ls_status status = ls_option_number("seed", value, range, &config->first_seed, why);
    config->last_seed = config->first_seed;
    config->is_replay = true;
    return status;
}

static ls_status read_number(arguments *args, const char *name, const char *value,
                             ls_option_range range, uint32_t *out, ls_text *why)
{
    uint64_t number = 0;
    ls_status status = ls_option_number(name, value, range, &number, why);
    *out = (uint32_t)number;
    note(args, name, value);
    return status;
}

static ls_status read_players(void *target, char *value, ls_text *why)
{
    arguments *args = target;
    ls_option_range range = {0, TEST_PLAYERS_MAX};
    return read_number(args, "players", value, range, &args->config.scenario.players, why);
}

static ls_status read_ticks(void *target, char *value, ls_text *why)
{
    arguments *args = target;
    ls_option_range range = {1, TICKS_MAX};
    return read_number(args, "ticks", value, range, &args->config.scenario.ticks, why);
}

static ls_status read_simulation(void *target, char *name, ls_text *why)
{
    arguments *args = target;
    /* Until version 0.1.0 it was called tally. */
    bool is_own = strcmp(name, "test") == 0 || strcmp(name, "tally") == 0;
    static ls_loaded_simulation loaded; /* to the end of the program */
    args->has_simulation = true;
    note(args, "sim", name);
    if (is_own) {
        args->config.scenario.simulation = NULL;
        return LS_OK;
    }
    ls_status status = ls_simulation_load(name, &loaded, why);
    args->config.scenario.simulation = loaded.simulation;
    return status == LS_OK ? LS_OK : LS_BAD_ARGUMENT;
}

static ls_status add_class(uint32_t *classes, const char *name, size_t bytes, ls_text *why)
{
    ls_text known = {{0}};
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        const char *key = faultsim_fault_class_key((faultsim_fault_class)i);
        if (strlen(key) == bytes && memcmp(key, name, bytes) == 0) {
            *classes |= UINT32_C(1) << i;
            return LS_OK;
        }
        ls_text_add(&known, ", %s", key);
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "--faults: there is no class '%.*s', but none%s",
                   (int)bytes, name, known.bytes);
}

static ls_status read_faults(void *target, char *list, ls_text *why)
{
    arguments *args = target;
    uint32_t *classes = &args->config.scenario.classes;
    ls_status status = LS_OK;
    note(args, "faults", list);
    *classes = 0;
    while (strcmp(list, "none") != 0 && *list != '\0' && status == LS_OK) {
        size_t bytes = strcspn(list, ",");
        status = add_class(classes, list, bytes, why);
        list += bytes + (list[bytes] == ',');
    }
    return status;
}

static ls_status read_late(void *target, char *value, ls_text *why)
{
    static const char *const rules[] = {"repeat", "wait"};
    arguments *args = target;
    uint32_t rule = 0;
    ls_status status = ls_option_word("late", value, rules, 2, &rule, why);
    args->config.scenario.late_rule = (int)rule;
    note(args, "late", value);
    return status;
}

static ls_status read_transport(void *target, char *value, ls_text *why)
{
    static const char *const transports[] = {"memory", "udp"};
    arguments *args = target;
    uint32_t transport = 0;
    ls_status status = ls_option_word("transport", value, transports, 2, &transport, why);
    args->config.scenario.is_sealed = transport == 1;
    note(args, "transport", value);
    return status;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_READ, .read = read_seeds, .flag = "seeds", .argument = "A..B",
     .default_text = "1..1000", .help = "Play these matches"},
    {LS_SETTING_IS_READ, .read = read_seed, .flag = "seed", .argument = "N",
     .help = "Play one match and say what happens in it"},
    {LS_SETTING_IS_READ, .read = read_players, .flag = "players", .letter = 'n', .argument = "N",
     .default_text = "4", .help = "Players in each match, 1 to 32; 0: by the seed"},
    {LS_SETTING_IS_READ, .read = read_ticks, .flag = "ticks", .letter = 't', .argument = "N",
     .default_text = "600", .help = "Ticks in each match"},
    {LS_SETTING_IS_READ, .read = read_simulation, .flag = "sim", .argument = "NAME|FILE.so",
     .help = "test, which is cheap (the default), any built-in simulation, or a plug-in"},
    {LS_SETTING_IS_READ, .read = read_late, .flag = "late", .argument = "RULE",
     .default_text = "by the seed", .help = "repeat or wait"},
    {LS_SETTING_IS_READ, .read = read_faults, .flag = "faults", .argument = "LIST",
     .default_text = "all", .help = "Only these classes of faults, with commas, or none"},
    {LS_SETTING_IS_READ, .read = read_transport, .flag = "transport", .argument = "NAME",
     .default_text = "memory",
     .help = "memory, which is quick, or udp: the transport of the "
             "programs, over virtual sockets"},
    {LS_SETTING_IS_U32, FIELD(config.jobs), .min = 1, .max = FAULTSIM_JOBS_MAX, .flag = "jobs",
     .letter = 'j', .argument = "N", .default_text = "one for each CPU", .help = "Processes"},
    {LS_SETTING_IS_SWITCH, FIELD(is_self_test), .flag = "self-test", .group = SELF_TEST,
     .help = "Flip every bit of the state of running matches, one at a time: is each caught and "
             "named? Of test and arena, or of --sim"},
    {LS_SETTING_IS_U32, FIELD(every), .min = 1, .max = EVERY_MAX, .flag = "every", .argument = "N",
     .group = SELF_TEST, .help = "Self-test: only every N-th bit position"},
    {LS_SETTING_IS_U32, FIELD(clean_ticks), .min = 1, .max = CLEAN_TICKS_MAX, .flag = "clean-ticks",
     .argument = "N", .group = SELF_TEST,
     .help = "Self-test: ticks without a flip, of each simulation"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static void print_classes(FILE *file)
{
    fprintf(file, "Classes of faults:\n");
    for (uint32_t i = 0; i < LS_CLASS_COUNT; i++) {
        fprintf(file, "  %-10s %s\n", faultsim_fault_class_key((faultsim_fault_class)i),
                faultsim_fault_class_text((faultsim_fault_class)i));
    }
}

static uint32_t cpu_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    count = count < 1 ? 1 : count;
    return count < FAULTSIM_JOBS_MAX ? (uint32_t)count : FAULTSIM_JOBS_MAX;
}

static ls_exit_code test_itself(const arguments *args, ls_console *console)
{
    const ls_simulation *simulation = args->config.scenario.simulation;
    if (args->has_simulation && !simulation) {
        simulation = test_simulation();
    }
    faultsim_self_test_config config = {.simulation = simulation,
                                        .every = args->every,
                                        .clean_ticks = args->clean_ticks,
                                        .jobs = args->config.jobs,
                                        .json_path = args->output.json_path};
    return faultsim_self_test_run(&config, console);
}

int main(int argc, char **argv)
{
    arguments args = {.config = {.first_seed = 1,
                                 .last_seed = 1000,
                                 .jobs = cpu_count(),
                                 .scenario = {.players = 4,
                                              .ticks = 600,
                                              .late_rule = -1,
                                              .classes = FAULTSIM_CLASS_ALL}},
                      .every = 1,
                      .clean_ticks = 1000000,
                      .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary =
            "Plays whole matches in virtual time over a network that does its worst, and "
            "checks the invariants I1 to I10 at every tick. A seed is a match: everything in "
            "it is drawn from the seed, and the same seed plays the same match again.",
        .ending = "Exit codes: 0 clean, 1 environment, 2 usage, 3 an invariant broke or a flip was "
                  "missed, 4 internal: nothing was compared.",
        .print_lists = print_classes,
        .parts = {{&table, &args, NULL}, {&ls_output_settings, &args.output, NULL}},
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    args.config.json_path = args.output.json_path;
    args.config.again = args.again;
    ls_console console;
    ls_console_init(&console, "lockstep-faultsim", args.output.level);
    return args.is_self_test ? test_itself(&args, &console) : faultsim_run(&args.config, &console);
}
