/* lockstep-timestep: reads the command line, compares the stepping strategies. */
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/tools/timestep/compare.h"
#include "lockstep/tools/timestep/play.h"

#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_RATE_HZ = 60,
    DEFAULT_SECONDS = 10,
    COST_MAX_PERCENT = 1000,
    FRAME_MAX_MS = 3600000,
    STEPS_MAX = 1000000,
    ALL_STRATEGIES = (1 << LS_TIMESTEP_STRATEGY_COUNT) - 1,
};

enum group {
    WHAT = 1,
    HOW,
    PLOTS = 8,
};

typedef struct arguments {
    stepping_compare_config config;
    uint64_t given;
    const char *sim;
    ls_param_options params;
    ls_param_files files;
    ls_output_options output;
} arguments;

/* By their names, or by their numbers in the documents: T1 to T6. */
static ls_status read_strategies(void *target, char *list, ls_text *why)
{
    const char *words[2 * LS_TIMESTEP_STRATEGY_COUNT] = {
        [LS_TIMESTEP_STRATEGY_COUNT] = "T1", "T2", "T3", "T4", "T5", "T6"};
    uint32_t found = 0;
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        words[i] = ls_timestep_strategy_name((ls_timestep_strategy)i);
    }
    ls_status status =
        ls_option_list("strategy", list, words, 2 * LS_TIMESTEP_STRATEGY_COUNT, &found, why);
    ((arguments *)target)->config.strategies =
        (found | found >> LS_TIMESTEP_STRATEGY_COUNT) & ALL_STRATEGIES;
    return status;
}

static ls_status read_plot(void *target, char *path, ls_text *why)
{
    size_t size = strlen(path);
    const char *end = size > 4 ? path + size - 4 : "";
    ((arguments *)target)->config.plot_path = path;
    if (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--plot takes a file that ends in .svg or .png, not '%s'", path);
    }
    return LS_OK;
}

static ls_status read_trace(void *target, char *name, ls_text *why)
{
    stepping_compare_config *config = &((arguments *)target)->config;
    if (config->trace_count == STEPPING_COMPARE_TRACES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "there are more than %u traces",
                       STEPPING_COMPARE_TRACES_MAX);
    }
    config->traces[config->trace_count++] = name;
    return LS_OK;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = WHAT, .help = "What is compared:"},
    {LS_SETTING_IS_READ, .read = read_strategies, .flag = "strategy", .letter = 's',
     .argument = "LIST", .group = WHAT, .default_text = "all",
     .help = "Only these strategies, with commas"},
    {LS_SETTING_IS_READ, .read = read_trace, .flag = "trace", .letter = 't',
     .argument = "NAME|FILE", .group = WHAT, .default_text = "every built-in one",
     .help = "Only this trace of frames, built-in or recorded by lockstep-client --record-frames; "
             "may be given up to 16 times"},
    {LS_SETTING_IS_TEXT, FIELD(sim), .flag = "sim", .argument = "NAME|FILE.so", .group = WHAT,
     .help = "Step this simulation, played by its bots, instead of the small world"},
    {LS_SETTING_IS_HEADING, .group = HOW, .help = "How:"},
    {LS_SETTING_IS_U32, FIELD(config.rate_hz), .min = LS_TICK_RATE_MIN_HZ,
     .max = LS_TICK_RATE_MAX_HZ, .flag = "rate", .letter = 'r', .argument = "HZ", .group = HOW,
     .default_text = "60, or the simulation's own", .help = "Steps a second"},
    {LS_SETTING_IS_U32, FIELD(config.seconds), .min = 2, .max = STEPPING_TRACE_SECONDS_MAX,
     .flag = "seconds", .argument = "S", .group = HOW, .help = "Length of the built-in traces"},
    {LS_SETTING_IS_U64, FIELD(config.seed), .max = UINT64_MAX, .flag = "seed", .argument = "N",
     .group = HOW, .help = "Seed of the random walk, and of the simulation"},
    {LS_SETTING_IS_U32, FIELD(config.step_cost_percent), .max = COST_MAX_PERCENT,
     .flag = "step-cost", .argument = "PERCENT", .group = HOW,
     .default_text = "0; 120 on the trace overload",
     .help = "What a step costs, of the time that it simulates; above 100 no computer keeps up"},
    {LS_SETTING_IS_U32, FIELD(config.frame_max_ms), .max = FRAME_MAX_MS, .flag = "frame-max",
     .argument = "MS", .group = HOW, .default_text = "250 with interpolated, else never",
     .help = "Cut longer frames, with every strategy; 0: never"},
    {LS_SETTING_IS_U32, FIELD(config.steps_max), .max = STEPS_MAX, .flag = "steps-max",
     .argument = "N", .group = HOW, .default_text = "6 with substeps, else no limit",
     .help = "At most so many steps in a frame, with every strategy; 0: no limit"},
    {LS_SETTING_IS_READ, .read = read_plot, .flag = "plot", .letter = 'p',
     .argument = "FILE.svg|.png", .group = PLOTS, .help = "Draw a page of plots (needs gnuplot)"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    stepping_compare_config *config = &args->config;
    config->has_step_cost = ls_setting_is_given(&table, args->given, "step-cost");
    config->has_frame_max = ls_setting_is_given(&table, args->given, "frame-max");
    config->has_steps_max = ls_setting_is_given(&table, args->given, "steps-max");
    if (args->params.count > 0 && !args->sim) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--param needs --sim");
    }
    if (config->has_steps_max && config->steps_max == 0 &&
        (config->strategies >> LS_TIMESTEP_SUBSTEPS & 1u)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--steps-max 0: substeps need a limit; leave them out with --strategy");
    }
    return LS_OK;
}

static void print_lists(FILE *file)
{
    static const char *const about[LS_TIMESTEP_STRATEGY_COUNT] = {
        "T1: one step of dt in every frame",
        "T2: one step of the frame's time",
        "T3: steps of dt, and one of what remains",
        "T4: equal steps of at most dt, at most 6",
        "T5: steps of dt, the rest is kept for the next frame",
        "T6: that, frames cut at 0.25 s, two states blended",
    };
    fprintf(file, "Strategies:\n");
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        fprintf(file, "  %-16s %s\n", ls_timestep_strategy_name((ls_timestep_strategy)i), about[i]);
    }
    fprintf(file, "Traces:\n");
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        fprintf(file, "  %-16s %s\n", stepping_trace_kind_name((stepping_trace_kind)i),
                stepping_trace_kind_about((stepping_trace_kind)i));
    }
}

/* The simulation and its configuration, at the rate that is asked for. */
static ls_status load_simulation(arguments *args, ls_loaded_simulation *loaded,
                                 ls_sim_config *config, ls_text *why)
{
    ls_plugin_crash_watch(args->sim);
    ls_status status = ls_simulation_load(args->sim, loaded, why);
    if (status != LS_OK) {
        return status;
    }
    *config = ls_sim_config_default(loaded->simulation);
    config->seed = args->config.seed;
    args->config.rate_hz = args->config.rate_hz > 0 ? args->config.rate_hz : config->tick_rate_hz;
    config->tick_rate_hz = args->config.rate_hz;
    status = ls_param_files_decide(&args->files, args->params.assignments, args->params.count,
                                   loaded->simulation, config, why);
    LS_THEN(status, ls_sim_config_check(loaded->simulation, config, why));
    args->config.simulation = loaded->simulation;
    args->config.simulation_config = config;
    return status;
}

int main(int argc, char **argv)
{
    arguments args = {
        .config = {.seconds = DEFAULT_SECONDS, .seed = 1, .strategies = ALL_STRATEGIES},
        .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary =
            "Compares the ways to step a simulation in a frame loop: how fast, how late and how "
            "evenly they draw, what becomes of a stiff spring and of a thin wall, what a long "
            "frame and too slow a computer do, and whether the bits depend on the frame rate. "
            "All in virtual time: the same line gives the same numbers everywhere.",
        .ending = "A recorded trace is a text file: the time of one frame a line, in nanoseconds; "
                  "what stands behind a # is a comment.\n\n"
                  "Exit codes: 0 clean, 1 environment, 2 usage, 3 a simulation's bits depend on "
                  "the frame rate, 4 internal.",
        .print_lists = print_lists,
        .parts = {{&table, &args, &args.given},
                  {&ls_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    ls_console console;
    ls_console_init(&console, "lockstep-timestep", args.output.level);
    ls_loaded_simulation loaded = {0};
    ls_sim_config simulation_config;
    ls_text why = {{0}};
    if (args.sim && load_simulation(&args, &loaded, &simulation_config, &why) != LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        ls_simulation_unload(&loaded);
        return LS_EXIT_USAGE;
    }
    args.config.rate_hz = args.config.rate_hz > 0 ? args.config.rate_hz : DEFAULT_RATE_HZ;
    args.config.json_path = args.output.json_path;
    args.config.is_quiet = args.output.level == LS_LOG_WARNING;
    ls_exit_code code = stepping_compare_run(&args.config, &console);
    ls_simulation_unload(&loaded);
    return code;
}
