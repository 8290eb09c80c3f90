/* lockstep-replay: reads the command line, looks into the journal of a match. */
#include "lockstep/client/window/view_options.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/tools/replay/batch.h"
#include "lockstep/tools/replay/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const replay_command commands[] = {
    {"info", 1, 0, "FILE: what is in the journal, and whether all of it is there",
     LS_JOURNAL_CHECK_ALL, replay_info},
    {"verify", 1, 0, "FILE|FOLDER: simulate it again and compare every recorded state",
     LS_JOURNAL_CHECK_ALL, replay_verify},
    {"seek", 1, 1, "FILE TICK: the state at a tick, from the nearest snapshot",
     LS_JOURNAL_TRUST_INDEX, replay_seek},
    {"diff", 2, 0, "FILE FILE: the first tick at which two journals differ, and in what",
     LS_JOURNAL_CHECK_ALL, replay_diff},
    {"export", 1, 0, "FILE: everything as JSON lines, to --output", LS_JOURNAL_CHECK_ALL,
     replay_export},
    {"view", 1, 0, "FILE: watch it", LS_JOURNAL_TRUST_INDEX, replay_view},
    {"cut", 1, 2, "FILE FROM TO: a journal of ticks FROM to TO - 1, to --output",
     LS_JOURNAL_CHECK_ALL, replay_cut},
};

enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0]
};

typedef struct arguments {
    replay_config config;
    ls_output_options output;
    ls_param_options params;
    ls_param_files files;
    uint32_t words; /* behind the command */
    replay_batch_config batch;
} arguments;

static ls_status read_command(arguments *args, const char *word, ls_text *why)
{
    ls_text names = {{0}};
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            args->config.command = &commands[i];
            return LS_OK;
        }
        ls_text_add(&names, "%s%s", i > 0 ? ", " : "", commands[i].name);
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is no command: %s", word, names.bytes);
}

static ls_status read_tick(const char *word, ls_tick *tick, ls_text *why)
{
    uint64_t number = 0;
    ls_option_range range = {0, UINT32_MAX - 1};
    if (ls_option_number("tick", word, range, &number, NULL) != LS_OK) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a tick is a number from 0 to %u, not '%s'",
                       UINT32_MAX - 1, word);
    }
    *tick = (ls_tick)number;
    return LS_OK;
}

static ls_status read_from(void *target, char *word, ls_text *why)
{
    return read_tick(word, &((arguments *)target)->config.from, why);
}

static ls_status read_speed(void *target, char *word, ls_text *why)
{
    enum {
        POWERS = 11
    };
    static const char *const words[] = {"1/16",  "1/8",  "1/4", "1/2", "1",  "2",
                                        "4",     "8",    "16",  "32",  "64", /* again: */ "0.0625",
                                        "0.125", "0.25", "0.5"};
    uint32_t index = 0;
    ls_status status =
        ls_option_word("speed", word, words, sizeof words / sizeof words[0], &index, why);
    ((arguments *)target)->config.speed = (int32_t)(index % POWERS) + LS_PLAYHEAD_SLOWEST;
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
    {LS_SETTING_IS_READ, .read = read_from, .flag = "from", .argument = "TICK",
     .default_text = "the first one", .help = "With view: begin there"},
    {LS_SETTING_IS_READ, .read = read_speed, .flag = "speed", .argument = "X", .default_text = "1",
     .help = "With view: begin so many times as fast as it was, a power of two from 1/16 to 64"},
    {LS_SETTING_IS_TEXT, FIELD(batch.junit_path), .flag = "junit", .argument = "FILE|-",
     .help = "With verify: write a JUnit report, a test case a journal"},
    {LS_SETTING_IS_U32, FIELD(batch.jobs), .max = REPLAY_JOBS_MAX, .flag = "jobs", .letter = 'j',
     .argument = "N", .default_text = "one a processor",
     .help = "With verify of a folder: so many journals at a time"},
    {LS_SETTING_IS_U32, FIELD(batch.time_limit_s), .min = 1, .max = REPLAY_TIME_LIMIT_S_MAX,
     .flag = "time-limit", .argument = "SECONDS",
     .help = "With verify of a folder: then a journal counts as not verified"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_word(void *user, char *word, ls_text *why)
{
    arguments *args = user;
    const replay_command *command = args->config.command;
    if (!command) {
        return read_command(args, word, why);
    }
    uint32_t journals = command->journals;
    uint32_t index = args->words++;
    if (index < journals) {
        args->config.paths[index] = word;
        return LS_OK;
    }
    if (index < journals + command->numbers) {
        return read_tick(word, index == journals ? &args->config.from : &args->config.to, why);
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "unexpected argument '%s'", word);
}

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    const replay_command *command = args->config.command;
    if (!command) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the command is missing");
    }
    if (args->words < command->journals + command->numbers) {
        static const char *const missing[] = {"FILE", "FILE FILE"};
        static const char *const ticks[] = {"", " TICK", " FROM TO"};
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes %s%s", command->name,
                       missing[command->journals - 1], ticks[command->numbers]);
    }
    if (args->batch.junit_path && command->work != replay_verify) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--junit goes with verify");
    }
    bool is_cut = command->work == replay_cut;
    if (is_cut && (!args->config.output || strcmp(args->config.output, "-") == 0)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "cut takes --output FILE");
    }
    args->config.output = args->config.output ? args->config.output : "-";
    return ls_view_options_check(&args->config.screen, &args->output, why);
}

static void print_commands(FILE *file)
{
    fprintf(file, "Commands:\n");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(file, "  %s %s\n", commands[i].name, commands[i].help);
    }
}

/* Many journals, or a report that is for many. */
static bool is_batch(const arguments *args)
{
    return args->config.command->work == replay_verify &&
           (args->batch.junit_path || replay_is_folder(args->config.paths[0]));
}

static ls_exit_code run_batch(arguments *args, ls_console *console)
{
    args->batch.path = args->config.paths[0];
    args->batch.simulation = args->config.simulation;
    args->batch.assignments = args->params.assignments;
    args->batch.assignment_count = args->params.count;
    args->batch.json_path = args->config.json_path;
    args->batch.is_quiet = args->config.is_quiet ||
                           (args->batch.junit_path && strcmp(args->batch.junit_path, "-") == 0);
    return replay_batch_run(&args->batch, console);
}

int main(int argc, char **argv)
{
    arguments args = {.config = {.screen = ls_screen_config_default()},
                      .batch = {.time_limit_s = 3600},
                      .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary = "Looks into the journal of a match that a server wrote with --journal.",
        .words = "COMMAND FILE...",
        .print_lists = print_commands,
        .ending = "The journal's snapshots are run by the simulation here: open journals from "
                  "those whose saved games you would open.\n\n"
                  "Exit codes: 0 clean, 1 the journal cannot be read, or is damaged, or something "
                  "cannot be written, 2 usage, or a simulation that cannot be used, 3 a difference "
                  "was found, 4 internal.",
        .parts = {{&table, &args, NULL},
                  {&ls_view_settings, &args.config.screen, NULL},
                  {&ls_file_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .read_word = read_word,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    args.config.screen.is_terminal_live = ls_console_can_redraw_output();
    args.config.screen.has_true_colour = ls_console_has_true_colour();

    ls_console console;
    ls_console_init(&console, "lockstep-replay", args.output.level);
    const char *json_path = args.output.json_path;
    args.config.json_path = json_path;
    args.config.is_quiet =
        args.output.level == LS_LOG_WARNING || (json_path && strcmp(json_path, "-") == 0);
    ls_text why = {""};
    if (ls_param_files_read(&args.files, args.params.assignments, args.params.count, &why) !=
        LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    args.config.files = args.files.files;
    ls_exit_code code =
        is_batch(&args) ? run_batch(&args, &console) : replay_run_command(&args.config, &console);
    ls_param_files_release(&args.files);
    return code;
}
