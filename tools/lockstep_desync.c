/* lockstep-desync: reads the command line, explains a desync bundle or groups many of them. */
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/symbol_name.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/runtime/rerun/rerun_writes.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/tools/desync/collect.h"
#include "lockstep/tools/desync/differing_line.h"
#include "lockstep/tools/desync/explain.h"

#include <string.h>

typedef struct arguments {
    explain_config config;
    ls_output_options output;
    ls_param_options params;
    ls_param_files files;
    bool has_command;
    bool is_collecting;
} arguments;

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(config.simulation), .flag = "sim", .letter = 's',
     .argument = "NAME|FILE.so", .default_text = "the built-in that the bundle names",
     .help = "Simulate with this one"},
    {LS_SETTING_IS_TEXT, FIELD(config.against), .flag = "against", .argument = "FILE.so",
     .help =
         "Run another build of the simulation as well, such as the client's: say which side it "
         "agrees with, and the first write to a field (--trace, else the first that differs) in "
         "which the two builds differ"},
    {LS_SETTING_IS_TEXT, FIELD(config.sanitized), .flag = "sanitized", .argument = "FILE.so",
     .help = "Run a build of the simulation with -fsanitize=address, undefined or thread as well, "
             "and quote its first report"},
    {LS_SETTING_IS_TEXT, FIELD(config.trace), .flag = "trace", .letter = 't', .argument = "FIELD",
     .help = "List every write to FIELD, as in bodies[3].position.x, in the tick that went wrong"},
    {LS_SETTING_IS_TEXT, FIELD(config.why), .flag = "why", .letter = 'w', .argument = "FIELD",
     .help = "Go back from the write that made FIELD differ: to the fields which that statement "
             "read, to those of them that differed before it, and so on to the first difference in "
             "the tick (with --against; else along fields that differ after it)"},
    {LS_SETTING_IS_TEXT, FIELD(config.html_path), .flag = "html", .argument = "FILE|-",
     .help = "Write a page for a browser, all in one file"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_word(void *user, char *word, ls_text *why)
{
    arguments *args = user;
    if (!args->has_command) {
        args->is_collecting = strcmp(word, "collect") == 0;
        args->has_command = args->is_collecting || strcmp(word, "explain") == 0;
        return args->has_command ? LS_OK
                                 : ls_fail(LS_BAD_ARGUMENT, why,
                                           "the commands are explain and collect, not '%s'", word);
    }
    if (args->config.bundle_path) {
        return ls_fail(LS_BAD_ARGUMENT, why, "unexpected argument '%s'", word);
    }
    args->config.bundle_path = word;
    return LS_OK;
}

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    const explain_config *config = &args->config;
    bool runs = config->simulation || config->against || config->sanitized || config->trace ||
                config->why || args->params.count > 0;
    if (args->is_collecting && runs) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "collect runs nothing: --sim, --param, --against, --sanitized, --trace and "
                       "--why are for explain");
    }
    if (config->bundle_path) {
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why, "%s",
                   !args->has_command    ? "'explain FILE' or 'collect DIR' is missing"
                   : args->is_collecting ? "the folder is missing"
                                         : "the bundle's file is missing");
}

static bool is_standard_output(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int main(int argc, char **argv)
{
    if (ls_rerun_helper_is_asked(argc, argv)) {
        ls_rerun_writes_read_symbols_by(ls_symbol_name_read);
        return ls_rerun_helper_run();
    }
    if (explain_memory_helper_is_asked(argc, argv)) {
        return explain_memory_helper_run();
    }
    if (explain_stream_helper_is_asked(argc, argv)) {
        return explain_stream_helper_run(argv);
    }
    arguments args = {.output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary =
            "Explains a desync from the bundle that a server wrote: which machine, tick, pass "
            "and fields, what kind of fault, and what this machine gets when it simulates the "
            "same ticks again. Or collects all bundles in a folder and groups them by cause.",
        .words = "explain FILE\ncollect DIR",
        .ending =
            "With collect: bundles of one cause have the same game and version, class, pass and "
            "field, and the same differences between the machines where the class is build or "
            "environment. The largest group comes first, with the bundle that tells most. Only "
            "--html, --json and --quiet count.\n\n"
            "The bundle's snapshot is run by the simulation here: open bundles from those whose "
            "saved games you would open.\n\n"
            "Exit codes: 3 the bundle shows a desync (the report says what this machine makes of "
            "it), 0 its two sides agree, 1 the bundle cannot be read or a report not written, 2 "
            "usage, or a simulation that cannot be used, 4 internal.",
        .parts = {{&table, &args, NULL},
                  {&ls_file_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .read_word = read_word,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    ls_console console;
    ls_console_init(&console, "lockstep-desync", args.output.level);
    ls_text why = {""};
    if (ls_param_files_read(&args.files, args.params.assignments, args.params.count, &why) !=
        LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    args.config.files = &args.files.files;
    args.config.helper = LS_CHILD_THIS_PROGRAM;
    args.config.json_path = args.output.json_path;
    args.config.is_quiet = args.output.level == LS_LOG_WARNING ||
                           is_standard_output(args.config.json_path) ||
                           is_standard_output(args.config.html_path);
    const collect_config collected = {.folder = args.config.bundle_path,
                                      .html_path = args.config.html_path,
                                      .json_path = args.config.json_path,
                                      .is_quiet = args.config.is_quiet};
    ls_exit_code code = args.is_collecting ? collect_run(&collected, &console.log)
                                           : explain_run(&args.config, &console.log);
    ls_param_files_release(&args.files);
    return code;
}
