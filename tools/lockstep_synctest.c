/* lockstep-synctest: reads the command line, tests a simulation for determinism, reports. */
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/output.h"
#include "lockstep/tools/synctest/perturbed_process.h"
#include "lockstep/tools/synctest/synctest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_TICKS = 600,
    DEFAULT_PATIENCE_MS = 20000,
    TICKS_MAX = 100000000,
    PATIENCE_MS_MAX = 86400000,
    JOBS_MAX = 64,
};

enum group {
    MATCH = 1,
    PERTURBATIONS,
    FILES,
};

typedef struct arguments {
    synctest_config config;
    const char *sim;
    const char *against;
    ls_param_options params;
    uint32_t only, skip;
    bool has_only, is_list, is_lint, wants_lint, skips_lint;
    ls_output_options output;
} arguments;

static ls_status read_only(void *target, char *value, ls_text *why)
{
    arguments *args = target;
    args->has_only = true;
    return synctest_perturbation_parse_list("only", value, &args->only, &args->wants_lint, why);
}

static ls_status read_skip(void *target, char *value, ls_text *why)
{
    arguments *args = target;
    return synctest_perturbation_parse_list("skip", value, &args->skip, &args->skips_lint, why);
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = MATCH, .help = "The match:"},
    {LS_SETTING_IS_U32, FIELD(config.match.ticks), .min = 1, .max = TICKS_MAX, .flag = "ticks",
     .argument = "N", .group = MATCH,
     .default_text = "600, and up to 6000 while a match takes 0.2 s", .help = "Ticks to play"},
    {LS_SETTING_IS_U32, FIELD(config.match.players), .min = 1, .max = LS_PLAYERS_MAX,
     .flag = "players", .letter = 'n', .argument = "N", .group = MATCH,
     .default_text = "the simulation's own", .help = "Players"},
    {LS_SETTING_IS_RATE, FIELD(config.match.tick_rate_hz),
     .other_offset = offsetof(arguments, config.match.tick_rate), .min = LS_TICK_RATE_MIN_HZ,
     .max = LS_TICK_RATE_MAX_HZ, .flag = "tick-rate", .argument = "HZ", .group = MATCH,
     .default_text = "the simulation's own",
     .help = "Steps per second: 60, 59.7275 or 262144/4389"},
    {LS_SETTING_IS_U64, FIELD(config.match.seed), .max = UINT64_MAX, .flag = "seed",
     .argument = "S", .group = MATCH, .help = "Seed of the simulation and of what bots do"},
    {LS_SETTING_IS_HEADING, .group = PERTURBATIONS, .help = "The perturbations:"},
    {LS_SETTING_IS_READ, .read = read_only, .flag = "only", .argument = "LIST",
     .group = PERTURBATIONS, .help = "Try these only, as in save,stack,lint"},
    {LS_SETTING_IS_READ, .read = read_skip, .flag = "skip", .argument = "LIST",
     .group = PERTURBATIONS, .help = "Leave these out"},
    {LS_SETTING_IS_SWITCH, FIELD(is_list), .flag = "list", .group = PERTURBATIONS,
     .help = "Say what there is to try, and end"},
    {LS_SETTING_IS_SWITCH, FIELD(is_lint), .flag = "lint", .group = PERTURBATIONS,
     .help = "Look at the file only: calls, machine code, variables, schema"},
    {LS_SETTING_IS_TEXT, FIELD(against), .flag = "against", .argument = "FILE.so|\"PROGRAM ...\"",
     .group = PERTURBATIONS,
     .help = "Another build of it, to be compared as well; or the words of another build of this "
             "program, such as \"qemu-aarch64 -L SYSROOT bin/lockstep-synctest\""},
    {LS_SETTING_IS_U32, FIELD(config.patience_ms), .min = 1, .max = PATIENCE_MS_MAX, .unit = 1000,
     .flag = "timeout", .argument = "S", .group = PERTURBATIONS,
     .help = "A run that gets no further for so many seconds has hung"},
    {LS_SETTING_IS_U32, FIELD(config.jobs), .min = 1, .max = JOBS_MAX, .flag = "jobs",
     .argument = "N", .group = PERTURBATIONS, .default_text = "one for each processor",
     .help = "Perturbations at a time"},
    {LS_SETTING_IS_TEXT, FIELD(config.junit_path), .flag = "junit", .argument = "FILE|-",
     .group = FILES, .help = "Write the results as JUnit XML"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    bool is_missing = !args->sim && !args->is_list;
    return is_missing
               ? ls_fail(LS_BAD_ARGUMENT, why, "SIM is missing: a built-in's name or a FILE.so")
               : LS_OK;
}

static void list_perturbations(void)
{
    printf("%-12s %s\n", "lint", "calls, machine code, variables and schema of a plug-in's file");
    for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
        printf("%-12s %s\n", synctest_perturbation_of(id)->name,
               synctest_perturbation_of(id)->what);
    }
}

/* A perturbed process works in another folder: a file's path must hold there too. */
static bool resolve(const char *name, char path[SYNCTEST_PATH_BYTES_MAX], ls_text *why)
{
    if (ls_library_is_file(name) && !ls_file_look(name, NULL)) {
        ls_text_set(why, "'%s': %s", name, strerror(errno));
        return false;
    }
    return ls_child_process_file(name, path, SYNCTEST_PATH_BYTES_MAX);
}

static bool copy_params(const ls_param_options *params, synctest_match *match, ls_text *why)
{
    if (!ls_folder_current(match->directory, sizeof match->directory)) {
        ls_text_set(why, "the current directory: %s", strerror(errno));
        return false;
    }
    match->assignment_count = params->count;
    for (uint32_t i = 0; i < params->count; i++) {
        size_t room = sizeof match->assignments[i];
        int size = snprintf(match->assignments[i], room, "%s", params->assignments[i]);
        if (size < 0 || (size_t)size >= room) {
            ls_text_set(why, "--param takes %zu bytes at most", room - 1);
            return false;
        }
    }
    return true;
}

/* One word is a file, and more are a program and its words. */
static bool read_against(const char *given, char text[SYNCTEST_PATH_BYTES_MAX],
                         synctest_against *out, ls_text *why)
{
    static const char *words[SYNCTEST_PROGRAM_WORDS_MAX + 1];
    if (!strchr(given, ' ')) {
        out->file = text;
        return ls_library_is_file(given)
                   ? resolve(given, text, why)
                   : ls_fail(LS_BAD_ARGUMENT, why,
                             "--against takes the file of another build, as in ./game.so, or "
                             "\"PROGRAM WORDS\", not '%s'",
                             given) == LS_OK;
    }
    uint32_t count = 0;
    if (strlen(given) >= SYNCTEST_PATH_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--against is too long") == LS_OK;
    }
    snprintf(text, SYNCTEST_PATH_BYTES_MAX, "%s", given);
    for (char *at = text; *at != '\0' && count < SYNCTEST_PROGRAM_WORDS_MAX;) {
        words[count] = at;
        at += strcspn(at, " ");
        count += at > words[count];
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
    words[count] = NULL;
    out->program = words;
    return count > 0;
}

static bool configure(arguments *args, char against[SYNCTEST_PATH_BYTES_MAX], ls_text *why)
{
    synctest_config *config = &args->config;
    bool is_file = ls_library_is_file(args->sim);
    if (args->is_lint && !is_file) {
        ls_text_set(why, "--lint looks at a file, and '%s' is built in", args->sim);
        return false;
    }
    if (!copy_params(&args->params, &config->match, why) ||
        !resolve(args->sim, config->match.sim, why) ||
        (args->against && !read_against(args->against, against, &config->against, why))) {
        return false;
    }
    config->is_length_open = config->match.ticks == 0;
    config->match.ticks = config->is_length_open ? DEFAULT_TICKS : config->match.ticks;
    config->match.ticks = args->is_lint ? 1 : config->match.ticks;
    config->insisted = args->has_only ? args->only : 0;
    config->perturbations = (args->has_only ? args->only : UINT32_MAX) & ~args->skip;
    if (!args->against && !(args->has_only && args->only >> SYNCTEST_PERTURBATION_AGAINST & 1)) {
        config->perturbations &= ~(UINT32_C(1) << SYNCTEST_PERTURBATION_AGAINST);
    }
    config->is_only_lint = args->is_lint || (args->has_only && args->only == 0 && args->wants_lint);
    config->is_lint_wanted = is_file && !args->skips_lint && (!args->has_only || args->wants_lint);
    config->is_lint_wanted = config->is_lint_wanted || args->is_lint;
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
    static arguments args;
    static char against[SYNCTEST_PATH_BYTES_MAX];
    if (synctest_perturbed_process_is_wanted(argc, argv)) {
        return synctest_perturbed_process_run();
    }
    uint32_t processors = ls_machine_processors();
    args.config.match.seed = 1;
    args.config.patience_ms = DEFAULT_PATIENCE_MS;
    args.config.jobs = processors <= JOBS_MAX ? processors : 1;
    args.output.level = LS_LOG_INFO;
    const ls_command_line line = {
        .summary = "Tests a simulation for determinism: plays one match, then plays it again with "
                   "perturbations that must make no difference, and compares the state after every "
                   "tick. SIM is a built-in's name or a plug-in's FILE.so.",
        .words = "SIM",
        .ending = "Exit codes: 0 all the same, 1 environment, 2 usage, 3 a difference, fault or "
                  "crash was found, or nothing was compared, 4 internal.",
        .parts = {{&table, &args, NULL},
                  {&ls_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .word = &args.sim,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
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
