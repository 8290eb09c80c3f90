/* lockstep-timestep: reads the command line, compares the stepping strategies. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/simulation/plugin_loader.h"
#include "lockstep/tools/timestep/compare.h"
#include "lockstep/tools/timestep/trace.h"

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

enum option_key {
    KEY_RATE = 'r',
    KEY_TRACE = 't',
    KEY_STRATEGY = 's',
    KEY_PLOT = 'p',
    KEY_SIM = 0x100,
    KEY_PARAM,
    KEY_SECONDS,
    KEY_SEED,
    KEY_STEP_COST,
    KEY_FRAME_MAX,
    KEY_STEPS_MAX,
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What is compared:", 1},
    {"strategy", KEY_STRATEGY, "LIST", 0, "Only these strategies, with commas (all)", 1},
    {"trace", KEY_TRACE, "NAME|FILE", 0,
     "Only this trace of frames, built-in or recorded by lockstep-client --record-frames; may be "
     "given up to 16 times (every built-in one)",
     1},
    {"sim", KEY_SIM, "NAME|FILE.so", 0,
     "Step this simulation, played by its bots, instead of the small world", 1},
    {"param", KEY_PARAM, "NAME=VALUE", 0, "A parameter of the simulation", 1},
    {0, 0, 0, 0, "How:", 2},
    {"rate", KEY_RATE, "HZ", 0, "Steps a second, 1 to 1000 (60, or the simulation's own)", 2},
    {"seconds", KEY_SECONDS, "S", 0, "Length of the built-in traces, 2 to 3600 (10)", 2},
    {"seed", KEY_SEED, "N", 0, "Seed of the random walk, and of the simulation (1)", 2},
    {"step-cost", KEY_STEP_COST, "PERCENT", 0,
     "What a step costs, of the time that it simulates; above 100 no computer keeps up (0; 120 on "
     "the trace overload)",
     2},
    {"frame-max", KEY_FRAME_MAX, "MS", 0,
     "Cut longer frames, with every strategy; 0: never (250 with interpolated, else never)", 2},
    {"steps-max", KEY_STEPS_MAX, "N", 0,
     "At most so many steps in a frame, with every strategy; 0: no limit (6 with substeps, else no "
     "limit)",
     2},
    {"plot", KEY_PLOT, "FILE.svg|.png", 0, "Draw a page of plots (needs gnuplot)", 8},
    {0},
};

typedef struct arguments {
    stepping_compare_config config;
    uint64_t rate, seconds, step_cost, frame_max, steps_max;
    const char *sim;
    const char *params[LS_PARAMS_MAX];
    uint32_t param_count;
    ls_output_options output;
} arguments;

static uint32_t strategy_of(struct argp_state *state, const char *name, size_t bytes)
{
    ls_text known = {{0}};
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        const char *own = ls_timestep_strategy_name((ls_timestep_strategy)i);
        if (strlen(own) == bytes && memcmp(own, name, bytes) == 0) {
            return 1u << i;
        }
        ls_text_add(&known, "%s%s", i > 0 ? ", " : "", own);
    }
    argp_error(state, "--strategy: there is no '%.*s', but %s", (int)bytes, name, known.bytes);
    return 0;
}

static uint32_t parse_strategies(struct argp_state *state, const char *list)
{
    uint32_t strategies = 0;
    do {
        size_t bytes = strcspn(list, ",");
        strategies |= strategy_of(state, list, bytes);
        list += bytes;
    } while (*list++ == ',');
    return strategies;
}

static void parse_plot(struct argp_state *state, arguments *args, const char *path)
{
    size_t size = strlen(path);
    const char *end = size > 4 ? path + size - 4 : "";
    if (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0) {
        argp_error(state, "--plot takes a file that ends in .svg or .png, not '%s'", path);
    }
    args->config.plot_path = path;
}

static void add_trace(struct argp_state *state, stepping_compare_config *config, const char *name)
{
    if (config->trace_count == STEPPING_COMPARE_TRACES_MAX) {
        argp_error(state, "there are more than %u traces", STEPPING_COMPARE_TRACES_MAX);
        return;
    }
    config->traces[config->trace_count++] = name;
}

static void add_param(struct argp_state *state, arguments *args, const char *assignment)
{
    if (args->param_count == LS_PARAMS_MAX) {
        argp_error(state, "there are more than %u parameters", LS_PARAMS_MAX);
        return;
    }
    args->params[args->param_count++] = assignment;
}

static error_t parse_how(int key, char *value, struct argp_state *state, arguments *args)
{
    switch (key) {
    case KEY_RATE:
        ls_command_line_number(state, "rate", value,
                               (ls_option_range){LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ},
                               &args->rate);
        return 0;
    case KEY_SECONDS:
        ls_command_line_number(state, "seconds", value,
                               (ls_option_range){2, STEPPING_TRACE_SECONDS_MAX}, &args->seconds);
        return 0;
    case KEY_SEED:
        ls_command_line_number(state, "seed", value, (ls_option_range){0, UINT64_MAX},
                               &args->config.seed);
        return 0;
    case KEY_STEP_COST:
        args->config.has_step_cost = true;
        ls_command_line_number(state, "step-cost", value, (ls_option_range){0, COST_MAX_PERCENT},
                               &args->step_cost);
        return 0;
    case KEY_FRAME_MAX:
        args->config.has_frame_max = true;
        ls_command_line_number(state, "frame-max", value, (ls_option_range){0, FRAME_MAX_MS},
                               &args->frame_max);
        return 0;
    case KEY_STEPS_MAX:
        args->config.has_steps_max = true;
        ls_command_line_number(state, "steps-max", value, (ls_option_range){0, STEPS_MAX},
                               &args->steps_max);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_arguments(struct argp_state *state, const arguments *args)
{
    if (args->param_count > 0 && !args->sim) {
        argp_error(state, "--param needs --sim");
    } else if (args->config.has_steps_max && args->steps_max == 0 &&
               (args->config.strategies >> LS_TIMESTEP_SUBSTEPS & 1u)) {
        argp_error(state, "--steps-max 0: substeps need a limit; leave them out with --strategy");
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_STRATEGY:
        args->config.strategies = parse_strategies(state, value);
        return 0;
    case KEY_TRACE:
        add_trace(state, &args->config, value);
        return 0;
    case KEY_SIM:
        args->sim = value;
        return 0;
    case KEY_PARAM:
        add_param(state, args, value);
        return 0;
    case KEY_PLOT:
        parse_plot(state, args, value);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", value);
        return 0;
    case ARGP_KEY_END:
        check_arguments(state, args);
        return 0;
    default:
        return parse_how(key, value, state, args);
    }
}

/* The end of --help: strategies and traces. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    char *extended = NULL;
    size_t bytes = 0;
    FILE *stream = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&extended, &bytes) : NULL;
    if (!stream) {
        return (char *)(uintptr_t)text;
    }
    static const char *const about[LS_TIMESTEP_STRATEGY_COUNT] = {
        "T1: one step of dt in every frame",
        "T2: one step of the frame's time",
        "T3: steps of dt, and one of what remains",
        "T4: equal steps of at most dt, at most 6",
        "T5: steps of dt, the rest is kept for the next frame",
        "T6: that, frames cut at 0.25 s, two states blended",
    };
    fprintf(stream, "Strategies:\n");
    for (uint32_t i = 0; i < LS_TIMESTEP_STRATEGY_COUNT; i++) {
        fprintf(stream, "  %-16s %s\n", ls_timestep_strategy_name((ls_timestep_strategy)i),
                about[i]);
    }
    fprintf(stream, "Traces:\n");
    for (uint32_t i = 0; i < STEPPING_TRACE_KIND_COUNT; i++) {
        fprintf(stream, "  %-16s %s\n", stepping_trace_kind_name((stepping_trace_kind)i),
                stepping_trace_kind_about((stepping_trace_kind)i));
    }
    fprintf(stream, "\n%s", text ? text : "");
    fclose(stream);
    return extended;
}

/* The simulation and its configuration, at the rate that is asked for. */
static ls_status load_simulation(arguments *args, ls_loaded_simulation *loaded,
                                 ls_sim_config *config, ls_text *why)
{
    ls_status status = ls_simulation_load(args->sim, loaded, why);
    if (status != LS_OK) {
        return status;
    }
    *config = ls_sim_config_default(loaded->simulation);
    config->seed = args->config.seed;
    args->rate = args->rate > 0 ? args->rate : config->tick_rate_hz;
    config->tick_rate_hz = (uint32_t)args->rate;
    for (uint32_t i = 0; i < args->param_count && status == LS_OK; i++) {
        status = ls_sim_config_set(loaded->simulation, config, args->params[i], why);
    }
    if (status == LS_OK) {
        status = ls_sim_config_check(loaded->simulation, config, why);
    }
    args->config.simulation = loaded->simulation;
    args->config.simulation_config = config;
    return status;
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&ls_output_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .children = children,
        .doc = "Compares the ways to step a simulation in a frame loop: how fast, how late and how "
               "evenly they draw, what becomes of a stiff spring and of a thin wall, what a long "
               "frame and too slow a computer do, and whether the bits depend on the frame rate. "
               "All in virtual time: the same line gives the same numbers everywhere.\v"
               "A recorded trace is a text file: the time of one frame a line, in nanoseconds; "
               "what stands behind a # is a comment.\n\n"
               "Exit codes: 0 clean, 1 environment, 2 usage, 3 a simulation's bits depend on the "
               "frame rate, 4 internal.",
        .help_filter = help_filter,
    };
    arguments args = {.seconds = DEFAULT_SECONDS,
                      .config = {.seed = 1, .strategies = ALL_STRATEGIES},
                      .output = {.level = LS_LOG_INFO}};
    ls_command_line_parse(&argp, argc, argv, &args);

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
    args.config.rate_hz = (uint32_t)(args.rate > 0 ? args.rate : DEFAULT_RATE_HZ);
    args.config.seconds = (uint32_t)args.seconds;
    args.config.step_cost_percent = (uint32_t)args.step_cost;
    args.config.frame_max_ms = (uint32_t)args.frame_max;
    args.config.steps_max = (uint32_t)args.steps_max;
    args.config.json_path = args.output.json_path;
    args.config.is_quiet = args.output.level == LS_LOG_WARNING;
    ls_exit_code code = stepping_compare_run(&args.config, &console);
    ls_simulation_unload(&loaded);
    return code;
}
