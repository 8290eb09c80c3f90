/* lockstep-server: reads the command line, hosts matches, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/diagnosis/desync_bundle.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/output.h"
#include "lockstep/common/simulation/plugin_loader.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/protocol/blob/blob_sender.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/program/resumed_file.h"
#include "lockstep/server/program/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_PORT = 7300,
    DEFAULT_SPECTATORS = 16,
    KEEP_SEAT_MAX_S = LS_TIMEOUT_MS_MAX / 1000,
    JOIN_RATE_MIN_KB = (LS_BLOB_RATE_MIN + 999) / 1000,
    JOIN_RATE_MAX_KB = LS_BLOB_RATE_MAX / 1000,
};

enum option_key {
    KEY_SIM = 's',
    KEY_PORT = 'P',
    KEY_TICKS = 't',
    KEY_BIND = 0x100,
    KEY_LATE,
    KEY_SEND_RATE,
    KEY_WAIT_LIMIT,
    KEY_HASH_INTERVAL,
    KEY_ON_DESYNC,
    KEY_INPUT_DELAY,
    KEY_TIMEOUT,
    KEY_PORT_FILE,
    KEY_MATCHES,
    KEY_BUNDLE_DIR,
    KEY_FIND_CAUSES,
    KEY_START_PLAYERS,
    KEY_KEEP_SEAT,
    KEY_JOIN_RATE,
    KEY_SPECTATORS,
    KEY_SPECTATOR_DELAY,
    KEY_JOURNAL,
    KEY_RESUME,
    KEY_RESUME_WAIT,
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "The game:", 1},
    {"sim", KEY_SIM, "NAME|FILE.so", 0, "Simulation: a built-in or a plug-in's file (units)", 1},
    {"matches", KEY_MATCHES, "N", 0, "Matches of these settings to host at once (1)", 1},
    {"start-players", KEY_START_PLAYERS, "N", 0,
     "Start with so many; the other seats can be taken at any time (all seats)", 1},
    {"spectators", KEY_SPECTATORS, "N", 0,
     "Who may watch a match beside its players, 0 to 1000 (16; with several matches 0)", 1},
    {"spectator-delay", KEY_SPECTATOR_DELAY, "TICKS", 0,
     "Ticks by which spectators are behind the match, 0 to 512 (60)", 1},
    {"ticks", KEY_TICKS, "N", 0, "End after N ticks; 0: when stopped or everybody left (0)", 1},
    {0, 0, 0, 0, "The network:", 2},
    {"bind", KEY_BIND, "ADDR", 0, "IPv4 address to listen on (0.0.0.0: all)", 2},
    {"port", KEY_PORT, "P", 0, "UDP port; 0: chosen by the system (7300)", 2},
    {"port-file", KEY_PORT_FILE, "FILE", 0, "Write the port to FILE once it is bound", 2},
    {"timeout", KEY_TIMEOUT, "MS", 0,
     "Drop a client that is silent for so long, 100 to 600000 (10000)", 2},
    {"keep-seat", KEY_KEEP_SEAT, "SECONDS", 0,
     "Keep the seat of a player whose link was lost, 0 to 600 (30)", 2},
    {"join-rate", KEY_JOIN_RATE, "KB/S", 0,
     "Send the state to somebody who joins at most so fast, from 66 on (1048)", 2},
    {"send-rate", KEY_SEND_RATE, "auto|half|tick|double", 0,
     "Packets each way: one for two ticks, one a tick, or two; auto: one, and two while many are "
     "lost. The clients follow (auto)",
     2},
    {0, 0, 0, 0, "Rules:", 3},
    {"late", KEY_LATE, "repeat|wait", 0,
     "An input that is missing when its tick closes: repeat the last one, or wait for it (repeat)",
     3},
    {"wait-limit", KEY_WAIT_LIMIT, "MS", 0,
     "With --late wait: drop a slot that is waited for so long, 1 to 600000 (2000)", 3},
    {"input-delay", KEY_INPUT_DELAY, "TICKS|auto", 0,
     "Ticks by which inputs come earlier than the network needs, 0 to 64; auto: as many as each "
     "player's own link takes for its inputs to be on time (0)",
     3},
    {"hash-interval", KEY_HASH_INTERVAL, "K", 0,
     "Compare the state of every K-th tick, 1 to 1024 (1)", 3},
    {"on-desync", KEY_ON_DESYNC, "report|drop|stop|heal", 0,
     "When a client's state differs: report it and go on, drop the client, end the match, or send "
     "the client the values that differ (report)",
     3},
    {"bundle-dir", KEY_BUNDLE_DIR, "DIR|none", 0,
     "Where the bundle of a desync is written, for lockstep-desync (the current directory)", 3},
    {"journal", KEY_JOURNAL, "DIR", 0,
     "Write each match down in a file of its own in DIR, for lockstep-replay (no journal)", 3},
    {"resume", KEY_RESUME, "FILE", 0,
     "Go on with the match of this journal after a crash, with its settings, in the same file; "
     "--sim only names a plug-in's file",
     3},
    {"resume-wait", KEY_RESUME_WAIT, "SECONDS", 0,
     "With --resume: wait so long for those who played, 0 to 600 (30)", 3},
    {"find-causes", KEY_FIND_CAUSES, "on|off", 0,
     "Keep the newest states, up to 64 MiB a match, so that a desync's field, pass and class can "
     "be told (on)",
     3},
    {0},
};

#define NOT_GIVEN UINT32_MAX

typedef struct arguments {
    const char *sim;
    ls_setting_options settings;
    bool has_spectators, adapts_input_delay;
    uint64_t matches, port, spectators, spectator_delay, start_players, keep_seat, join_rate;
    /* NOT_GIVEN: as the match's defaults, or its journal, have it. */
    uint64_t ticks, timeout, wait_limit, input_delay, hash_interval, resume_wait;
    uint32_t late, send_rate, on_desync, find_causes;
    const char *resume_path;
    const char *bundle_dir;
    const char *journal_dir;
    const char *bind_host;
    const char *port_file;
    ls_output_options output;
} arguments;

static error_t parse_game(int key, char *value, struct argp_state *state, arguments *args)
{
    switch (key) {
    case KEY_SIM:
        args->sim = value;
        return 0;
    case KEY_MATCHES:
        ls_command_line_number(state, "matches", value, (ls_option_range){1, LS_MATCHES_MAX},
                               &args->matches);
        return 0;
    case KEY_START_PLAYERS:
        ls_command_line_number(state, "start-players", value, (ls_option_range){1, LS_PLAYERS_MAX},
                               &args->start_players);
        return 0;
    case KEY_SPECTATORS:
        args->has_spectators = true;
        ls_command_line_number(state, "spectators", value, (ls_option_range){0, LS_SPECTATORS_MAX},
                               &args->spectators);
        return 0;
    case KEY_SPECTATOR_DELAY:
        ls_command_line_number(state, "spectator-delay", value,
                               (ls_option_range){0, LS_SPECTATOR_DELAY_TICKS_MAX},
                               &args->spectator_delay);
        return 0;
    case KEY_TICKS:
        ls_command_line_number(state, "ticks", value, (ls_option_range){0, UINT32_MAX - 1},
                               &args->ticks);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_rules(int key, char *value, struct argp_state *state, arguments *args)
{
    static const char *const late_words[] = {"repeat", "wait"};
    static const char *const rate_words[] = {"auto", "half", "tick", "double"};
    static const char *const desync_words[] = {"report", "drop", "stop", "heal"};
    static const char *const switch_words[] = {"off", "on"};
    switch (key) {
    case KEY_LATE:
        ls_command_line_word(state, "late", value, late_words, 2, &args->late);
        return 0;
    case KEY_SEND_RATE:
        ls_command_line_word(state, "send-rate", value, rate_words, LS_SEND_RATE_COUNT,
                             &args->send_rate);
        return 0;
    case KEY_WAIT_LIMIT:
        ls_command_line_number(state, "wait-limit", value, (ls_option_range){1, LS_TIMEOUT_MS_MAX},
                               &args->wait_limit);
        return 0;
    case KEY_INPUT_DELAY:
        args->adapts_input_delay = strcmp(value, "auto") == 0;
        if (args->adapts_input_delay) {
            args->input_delay = 0;
            return 0;
        }
        ls_command_line_number(state, "input-delay", value,
                               (ls_option_range){0, LS_INPUT_DELAY_TICKS_MAX}, &args->input_delay);
        return 0;
    case KEY_HASH_INTERVAL:
        ls_command_line_number(state, "hash-interval", value,
                               (ls_option_range){1, LS_HASH_INTERVAL_MAX}, &args->hash_interval);
        return 0;
    case KEY_ON_DESYNC:
        ls_command_line_word(state, "on-desync", value, desync_words, 4, &args->on_desync);
        return 0;
    case KEY_BUNDLE_DIR:
        args->bundle_dir = strcmp(value, "none") == 0 ? NULL : value;
        return 0;
    case KEY_JOURNAL:
        args->journal_dir = value;
        return 0;
    case KEY_RESUME:
        args->resume_path = value;
        return 0;
    case KEY_RESUME_WAIT:
        ls_command_line_number(state, "resume-wait", value,
                               (ls_option_range){0, LS_TIMEOUT_MS_MAX / 1000}, &args->resume_wait);
        return 0;
    case KEY_FIND_CAUSES:
        ls_command_line_word(state, "find-causes", value, switch_words, 2, &args->find_causes);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The journal that is gone on with is no place for anything else. */
static void refuse_to_overwrite(struct argp_state *state, const arguments *args, const char *flag,
                                const char *path)
{
    if (args->resume_path && path && ls_output_is_same_file(path, args->resume_path)) {
        argp_error(state, "--%s %s is the journal that is resumed: name another file", flag, path);
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
    case KEY_BIND:
        args->bind_host = value;
        return 0;
    case KEY_PORT:
        ls_command_line_number(state, "port", value, (ls_option_range){0, 65535}, &args->port);
        return 0;
    case KEY_TIMEOUT:
        ls_command_line_number(state, "timeout", value, (ls_option_range){100, LS_TIMEOUT_MS_MAX},
                               &args->timeout);
        return 0;
    case KEY_KEEP_SEAT:
        ls_command_line_number(state, "keep-seat", value, (ls_option_range){0, KEEP_SEAT_MAX_S},
                               &args->keep_seat);
        return 0;
    case KEY_JOIN_RATE:
        ls_command_line_number(state, "join-rate", value,
                               (ls_option_range){JOIN_RATE_MIN_KB, JOIN_RATE_MAX_KB},
                               &args->join_rate);
        return 0;
    case KEY_PORT_FILE:
        args->port_file = value;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", value);
        return 0;
    case ARGP_KEY_END:
        if (args->resume_path && (args->journal_dir || args->matches > 1)) {
            argp_error(state, "--resume goes on with one match and its journal: without %s",
                       args->journal_dir ? "--journal" : "--matches");
        }
        refuse_to_overwrite(state, args, "json", args->output.json_path);
        refuse_to_overwrite(state, args, "port-file", args->port_file);
        return 0;
    default:
        break;
    }
    error_t parsed = parse_game(key, value, state, args);
    return parsed == ARGP_ERR_UNKNOWN ? parse_rules(key, value, state, args) : parsed;
}

/* The end of --help: the built-in simulations with their parameters. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) {
        return (char *)(uintptr_t)text;
    }
    char *extended = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&extended, &bytes);
    if (!stream) {
        return (char *)(uintptr_t)text;
    }
    const ls_simulation *simulation = NULL;
    for (uint32_t i = 0; (simulation = ls_builtin_simulation(i)) != NULL; i++) {
        fprintf(stream, "%s: 1 to %u players (%u), %u Hz\n  %s\n", simulation->name,
                simulation->players_max, simulation->default_players,
                simulation->default_tick_rate_hz, simulation->summary);
        for (uint32_t p = 0; p < simulation->param_count; p++) {
            const ls_param *param = &simulation->params[p];
            fprintf(stream, "  %s=%lld%s%s (%lld to %lld): %s\n", param->name,
                    (long long)param->default_value, param->unit[0] ? " " : "", param->unit,
                    (long long)param->min, (long long)param->max, param->help);
        }
    }
    fprintf(stream, "\n%s", text ? text : "");
    fclose(stream);
    return extended;
}

static uint32_t given_or(uint64_t given, uint32_t otherwise)
{
    return given == NOT_GIVEN ? otherwise : (uint32_t)given;
}

/* What the command line says, on top of the defaults or of what a journal has. */
static ls_status apply(const arguments *args, ls_match_config *config, ls_text *why)
{
    const ls_setting_options *settings = &args->settings;
    config->sim.seed = settings->has_seed ? settings->seed : config->sim.seed;
    if (settings->players > 0) {
        config->sim.players = (uint32_t)settings->players;
    }
    if (settings->tick_rate > 0) {
        config->sim.tick_rate_hz = (uint32_t)settings->tick_rate;
    }
    config->ticks = given_or(args->ticks, config->ticks);
    config->late_rule = (ls_late_rule)given_or(args->late, config->late_rule);
    config->send_rate = (ls_send_rate)given_or(args->send_rate, config->send_rate);
    config->on_desync = (ls_on_desync)given_or(args->on_desync, config->on_desync);
    config->hash_interval_ticks = given_or(args->hash_interval, config->hash_interval_ticks);
    config->finds_causes = args->find_causes != 0;
    bool is_delay_given = args->adapts_input_delay || args->input_delay != NOT_GIVEN;
    config->adapts_input_delay =
        is_delay_given ? args->adapts_input_delay : config->adapts_input_delay;
    config->input_delay_ticks = given_or(args->input_delay, config->input_delay_ticks);
    config->timeout_ms = given_or(args->timeout, config->timeout_ms);
    config->wait_limit_ms = given_or(args->wait_limit, config->wait_limit_ms);
    config->resume_wait_ms = args->resume_wait == NOT_GIVEN ? config->resume_wait_ms
                                                            : (uint32_t)args->resume_wait * 1000;
    config->start_players = (uint32_t)args->start_players;
    config->keep_seat_ms = (uint32_t)args->keep_seat * 1000;
    config->join_bytes_per_s = (uint32_t)args->join_rate * 1000;
    uint32_t spectators = args->matches == 1 ? DEFAULT_SPECTATORS : 0;
    config->spectators_max = args->has_spectators ? (uint32_t)args->spectators : spectators;
    config->spectator_delay_ticks = (uint32_t)args->spectator_delay;
    for (uint32_t i = 0; i < settings->assignment_count; i++) {
        ls_status status =
            ls_sim_config_set(config->simulation, &config->sim, settings->assignments[i], why);
        if (status != LS_OK) {
            return status;
        }
    }
    return LS_OK;
}

static ls_status configure(const arguments *args, const ls_resume *resume,
                           const ls_simulation *simulation, ls_match_config *config, ls_text *why)
{
    *config = ls_match_config_default(simulation);
    ls_status status = resume ? ls_resume_configure(resume, simulation, config, why) : LS_OK;
    if (status == LS_OK) {
        status = apply(args, config, why);
    }
    if (status == LS_OK && resume) {
        status = ls_resume_check(resume, config, why);
    }
    return status == LS_OK ? ls_match_config_check(config, why) : status;
}

/* The server of one command line, once there is a simulation. */
static ls_exit_code serve(const arguments *args, const ls_resumed_file *resumed,
                          const ls_loaded_simulation *loaded, ls_console *console)
{
    ls_server_config config = {.matches = (uint32_t)args->matches,
                               .bind_host = args->bind_host,
                               .port = (uint16_t)args->port,
                               .port_file = args->port_file,
                               .bundle_dir = args->bundle_dir,
                               .journal_dir = args->journal_dir,
                               .resume = resumed->resume,
                               .resume_path = args->resume_path,
                               .json_path = args->output.json_path};
    ls_text why = {{0}};
    ls_build_fingerprint print;
    ls_build_fingerprint_here(&print);
    ls_bundle_print_libraries(&print);
    ls_simulation_print(loaded, args->sim, &print);
    ls_status status = configure(args, resumed->resume, loaded->simulation, &config.match, &why);
    config.match.print = &print;
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    return ls_server_run(&config, console);
}

/* A journal names its simulation: a built-in, unless the command line names a plug-in. */
static ls_exit_code run(arguments *args, ls_console *console)
{
    ls_resumed_file resumed = {{0}, NULL};
    ls_loaded_simulation loaded;
    ls_text why = {{0}};
    ls_status status =
        args->resume_path ? ls_resumed_file_open(args->resume_path, &resumed, &why) : LS_OK;
    ls_exit_code code = ls_exit_code_of(status);
    if (status == LS_OK) {
        const char *recorded = resumed.resume ? ls_resume_simulation(resumed.resume) : "units";
        args->sim = args->sim ? args->sim : recorded;
        status = ls_simulation_load(args->sim, &loaded, &why);
        code = LS_EXIT_USAGE;
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
    } else {
        code = serve(args, &resumed, &loaded, console);
        ls_simulation_unload(&loaded);
    }
    ls_resumed_file_close(&resumed);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&ls_output_argp, 0, NULL, 0}, {&ls_setting_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .children = children,
        .parser = parse,
        .doc = "Hosts deterministic lockstep matches, one by default.\v"
               "Exit codes: 0 clean, 1 environment or network, 2 usage, 3 a desync was found, 4 "
               "internal.",
        .help_filter = help_filter,
    };
    arguments args = {.ticks = NOT_GIVEN,
                      .timeout = NOT_GIVEN,
                      .wait_limit = NOT_GIVEN,
                      .input_delay = NOT_GIVEN,
                      .hash_interval = NOT_GIVEN,
                      .resume_wait = NOT_GIVEN,
                      .late = NOT_GIVEN,
                      .send_rate = NOT_GIVEN,
                      .on_desync = NOT_GIVEN,
                      .matches = 1,
                      .port = DEFAULT_PORT,
                      .spectator_delay = 60,
                      .keep_seat = 30,
                      .join_rate = 1048,
                      .find_causes = 1,
                      .bundle_dir = ".",
                      .bind_host = "0.0.0.0",
                      .output = {.level = LS_LOG_INFO}};
    ls_command_line_parse(&argp, argc, argv, &args);

    ls_console console;
    ls_console_init(&console, "lockstep-server", args.output.level);
    return run(&args, &console);
}
