/* lockstep-synctest: reads the command line, tests a simulation for determinism, reports. */
#define _GNU_SOURCE
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/output.h"
#include "lockstep/tools/synctest/perturbed_process.h"
#include "lockstep/tools/synctest/synctest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_TICKS = 600,
    TICKS_MAX = 100000000,
    PATIENCE_SECONDS_MAX = 86400,
    JOBS_MAX = 64,
};

enum option_key {
    KEY_TICKS = 0x100,
    KEY_ONLY,
    KEY_SKIP,
    KEY_LIST,
    KEY_LINT,
    KEY_AGAINST,
    KEY_TIMEOUT,
    KEY_JOBS,
    KEY_JUNIT,
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "The match:", 1},
    {"ticks", KEY_TICKS, "N", 0, "Ticks to play (600)", 1},
    {0, 0, 0, 0, "The perturbations:", 2},
    {"only", KEY_ONLY, "LIST", 0, "Try these only, as in save,stack,lint", 2},
    {"skip", KEY_SKIP, "LIST", 0, "Leave these out", 2},
    {"list", KEY_LIST, 0, 0, "Say what there is to try, and end", 2},
    {"lint", KEY_LINT, 0, 0, "Look at the file only: calls, machine code, variables, schema", 2},
    {"against", KEY_AGAINST, "FILE.so", 0, "Another build of it, to be compared as well", 2},
    {"timeout", KEY_TIMEOUT, "S", 0, "A run that gets no further for so long has hung (20)", 2},
    {"jobs", KEY_JOBS, "N", 0, "Perturbations at a time (one for each processor)", 2},
    {"junit", KEY_JUNIT, "FILE|-", 0, "Write the results as JUnit XML", 3},
    {0},
};

typedef struct arguments {
    synctest_config config;
    const char *sim;
    const char *against;
    ls_setting_options settings;
    uint64_t ticks, timeout, jobs;
    uint32_t only, skip;
    bool has_only, is_list, is_lint, wants_lint, skips_lint;
    ls_output_options output;
} arguments;

static void parse_list(struct argp_state *state, const char *value, uint32_t *set, bool *has_lint)
{
    ls_text why;
    if (synctest_perturbation_parse_list(value, set, has_lint, &why) != LS_OK) {
        argp_error(state, "%s", why.bytes);
    }
}

static error_t parse_perturbations(int key, char *value, struct argp_state *state, arguments *args)
{
    switch (key) {
    case KEY_TICKS:
        ls_command_line_number(state, "ticks", value, (ls_option_range){1, TICKS_MAX},
                               &args->ticks);
        return 0;
    case KEY_ONLY:
        args->has_only = true;
        parse_list(state, value, &args->only, &args->wants_lint);
        return 0;
    case KEY_SKIP:
        parse_list(state, value, &args->skip, &args->skips_lint);
        return 0;
    case KEY_LIST:
        args->is_list = true;
        return 0;
    case KEY_LINT:
        args->is_lint = true;
        return 0;
    case KEY_AGAINST:
        args->against = value;
        return 0;
    case KEY_TIMEOUT:
        ls_command_line_number(state, "timeout", value, (ls_option_range){1, PATIENCE_SECONDS_MAX},
                               &args->timeout);
        return 0;
    case KEY_JOBS:
        ls_command_line_number(state, "jobs", value, (ls_option_range){1, JOBS_MAX}, &args->jobs);
        return 0;
    case KEY_JUNIT:
        args->config.junit_path = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        state->child_inputs[1] = &args->settings;
        return 0;
    case ARGP_KEY_ARG:
        if (args->sim) {
            argp_error(state, "unexpected argument '%s'", value);
        }
        args->sim = value;
        return 0;
    case ARGP_KEY_END:
        if (!args->sim && !args->is_list) {
            argp_error(state, "SIM is missing: a built-in's name or a FILE.so");
        }
        return 0;
    default:
        return parse_perturbations(key, value, state, args);
    }
}

static void list_perturbations(void)
{
    printf("%-12s %s\n", "lint", "calls, machine code, variables and schema of a plug-in's file");
    for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
        printf("%-12s %s\n", synctest_perturbation_of(id)->name,
               synctest_perturbation_of(id)->what);
    }
}

static bool is_file_name(const char *name)
{
    size_t size = strlen(name);
    return strchr(name, '/') || (size >= 3 && strcmp(name + size - 3, ".so") == 0);
}

/* A perturbed process works in another folder: a file's path must hold there too. */
static bool resolve(const char *name, char path[SYNCTEST_PATH_BYTES_MAX], ls_text *why)
{
    char *absolute = is_file_name(name) ? realpath(name, NULL) : NULL;
    if (is_file_name(name) && !absolute) {
        ls_text_set(why, "'%s': %s", name, strerror(errno));
        return false;
    }
    int size = snprintf(path, SYNCTEST_PATH_BYTES_MAX, "%s", absolute ? absolute : name);
    free(absolute);
    return size >= 0 && (uint32_t)size < SYNCTEST_PATH_BYTES_MAX;
}

static bool copy_settings(const ls_setting_options *settings, synctest_match *match, ls_text *why)
{
    match->seed = settings->seed;
    match->players = (uint32_t)settings->players;
    match->tick_rate_hz = (uint32_t)settings->tick_rate;
    match->assignment_count = settings->assignment_count;
    for (uint32_t i = 0; i < settings->assignment_count; i++) {
        size_t room = sizeof match->assignments[i];
        int size = snprintf(match->assignments[i], room, "%s", settings->assignments[i]);
        if (size < 0 || (size_t)size >= room) {
            ls_text_set(why, "--param takes %zu bytes at most", room - 1);
            return false;
        }
    }
    return true;
}

static bool configure(arguments *args, char against[SYNCTEST_PATH_BYTES_MAX], ls_text *why)
{
    synctest_config *config = &args->config;
    bool is_file = is_file_name(args->sim);
    if (args->is_lint && !is_file) {
        ls_text_set(why, "--lint looks at a file, and '%s' is built in", args->sim);
        return false;
    }
    if (args->against && !is_file_name(args->against)) {
        ls_text_set(why, "--against takes the file of another build, as in ./game.so, not '%s'",
                    args->against);
        return false;
    }
    if (!copy_settings(&args->settings, &config->match, why) ||
        !resolve(args->sim, config->match.sim, why) ||
        (args->against && !resolve(args->against, against, why))) {
        return false;
    }
    config->against = args->against ? against : NULL;
    config->match.ticks = args->is_lint ? 1 : (uint32_t)args->ticks;
    config->perturbations = (args->has_only ? args->only : UINT32_MAX) & ~args->skip;
    if (!args->against && !(args->has_only && args->only >> SYNCTEST_PERTURBATION_AGAINST & 1)) {
        config->perturbations &= ~(UINT32_C(1) << SYNCTEST_PERTURBATION_AGAINST);
    }
    config->is_only_lint = args->is_lint || (args->has_only && args->only == 0 && args->wants_lint);
    config->is_lint_wanted = is_file && !args->skips_lint && (!args->has_only || args->wants_lint);
    config->is_lint_wanted = config->is_lint_wanted || args->is_lint;
    config->patience_ms = (uint32_t)args->timeout * 1000;
    config->jobs = (uint32_t)args->jobs;
    config->json_path = args->output.json_path;
    return true;
}

static bool can_write(const synctest_config *config, ls_text *why)
{
    return (!config->json_path || ls_output_check_path(config->json_path, why) == LS_OK) &&
           (!config->junit_path || ls_output_check_path(config->junit_path, why) == LS_OK);
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&ls_output_argp, 0, NULL, 0}, {&ls_setting_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .children = children,
        .parser = parse,
        .args_doc = "SIM",
        .doc = "Tests a simulation for determinism: plays one match, then plays it again with "
               "perturbations that must make no difference, and compares the state after every "
               "tick. SIM is a built-in's name or a plug-in's FILE.so.\v"
               "Exit codes: 0 all the same, 1 environment, 2 usage, 3 a difference, fault or "
               "crash was found, or nothing was compared, 4 internal.",
    };
    static arguments args;
    static char against[SYNCTEST_PATH_BYTES_MAX];
    if (synctest_perturbed_process_is_wanted(argc, argv)) {
        return synctest_perturbed_process_run(argv);
    }
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    args.settings.seed = 1;
    args.ticks = DEFAULT_TICKS;
    args.timeout = 20;
    args.jobs = processors > 1 && processors <= JOBS_MAX ? (uint64_t)processors : 1;
    args.output.level = LS_LOG_INFO;
    ls_command_line_parse(&argp, argc, argv, &args);
    if (args.is_list) {
        list_perturbations();
        return LS_EXIT_CLEAN;
    }
    ls_console console;
    ls_console_init(&console, "lockstep-synctest", args.output.level);
    ls_text why = {""};
    if (!configure(&args, against, &why)) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    if (!can_write(&args.config, &why)) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    return synctest_run(&args.config, &console);
}
