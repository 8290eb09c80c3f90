/* lockstep-server: reads the command line, hosts matches, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/symbol_name.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/runtime/rerun/rerun_writes.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/server/door/door_program.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/program/server.h"
#include "lockstep/server/program/server_options.h"
#include "lockstep/server/program/service_program.h"
#include "lockstep/server/rooms/crash_log.h"
#include "lockstep/server/service/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* A match has buffers for rare times (a desync, spectators, a state to hand on), and most
     * matches never write them. */
    UNTOUCHED_BYTES = 64 << 10,
    DEFAULT_SPECTATORS = 16,
};

/* The built-in simulations with their parameters. */
static void print_simulations(FILE *file)
{
    const ls_simulation *simulation = NULL;
    for (uint32_t i = 0; (simulation = ls_builtin_simulation(i)) != NULL; i++) {
        fprintf(file, "%s: 1 to %u players (%u), %u Hz\n  %s\n", simulation->name,
                simulation->players_max, simulation->default_players,
                simulation->default_tick_rate_hz, simulation->summary);
        for (uint32_t p = 0; p < simulation->param_count; p++) {
            const ls_param *param = &simulation->params[p];
            fprintf(file, "  %s=%lld%s%s (%lld to %lld): %s\n", param->name,
                    (long long)param->default_value, param->unit[0] ? " " : "", param->unit,
                    (long long)param->min, (long long)param->max, param->help);
        }
    }
}

static ls_exit_code serve(const ls_server_options *args, ls_room_game *game, ls_console *console)
{
    ls_text why = {{0}};
    ls_admission admission;
    const ls_server_config config = {.options = args,
                                     .game = game,
                                     .admission = &admission,
                                     .ports =
                                         ls_server_options_may_map(args)
                                             ? ls_port_keeper_make(&console->log, args->maps_port)
                                             : NULL};
    ls_room_game_warn(game, &console->log);
    if (ls_setting_is_given(&ls_match_settings, args->given, "resume-wait") &&
        !args->hosting.resume_path) {
        ls_log_line(&console->log, LS_LOG_WARNING, "--resume-wait has no effect without --resume");
    }
    ls_admission_options who = args->hosting.admission;
    who.is_published = args->publish || config.ports;
    ls_status status = ls_admission_open(&who, args->hosting.bind_host, &admission, &why);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        ls_port_keeper_destroy(config.ports);
    }
    ls_exit_code code = status == LS_OK ? ls_server_run(&config, console) : ls_exit_code_of(status);
    ls_admission_wipe(&admission);
    return code;
}

static ls_exit_code run(const ls_server_options *args, ls_console *console)
{
    const ls_room_request request = {.sim = args->hosting.sim,
                                     .resume_path = args->hosting.resume_path,
                                     .match = args->match,
                                     .given = args->given,
                                     .spectators = args->matches == 1 ? DEFAULT_SPECTATORS : 0,
                                     .params = args->params.assignments,
                                     .param_count = args->params.count};
    ls_room_game *game = NULL;
    ls_text why = {{0}};
    ls_status status = ls_room_game_create(&request, &game, &why);
    ls_exit_code code = ls_exit_code_of(status);
    if (status == LS_OK) {
        status = ls_room_game_load(game, &why);
        code = LS_EXIT_USAGE;
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        code = serve(args, game, console);
    }
    ls_room_game_destroy(game);
    return code;
}

/* A program that is run to see what it is opens no port. */
static ls_exit_code say_how_to_host(void)
{
    fputs("lockstep-server hosts what it is told to:\n"
          "Usage: lockstep-server [OPTION...]\n"
          "A match of a built-in game or a plug-in, which ends with its players:\n"
          "  lockstep-server --sim arena --players 2\n"
          "A service with many rooms, which runs until it is stopped:\n"
          "  lockstep-server --config /etc/lockstep/lockstep.toml\n"
          "All options and the built-in games:\n"
          "  lockstep-server --help\n",
          stderr);
    return LS_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    if (ls_rerun_helper_is_asked(argc, argv)) {
        ls_rerun_writes_read_symbols_by(ls_symbol_name_read);
        return ls_rerun_helper_run();
    }
    if (argc < 2) {
        return say_how_to_host();
    }
    ls_heap_return(UNTOUCHED_BYTES);
    ls_server_options args = ls_server_options_default();
    const ls_command_line line = {
        .summary = "Hosts deterministic lockstep matches, one by default.",
        .ending = "Players join by the invite that the server prints: lockstep-client INVITE. "
                  "Exit codes: 0 clean, 1 environment or network, 2 usage, 3 a desync was found, 4 "
                  "internal.",
        .print_lists = print_simulations,
        .parts = {{&ls_hosting_settings, &args.hosting, &args.hosting_given},
                  {&ls_server_settings, &args, &args.own_given},
                  {&ls_match_settings, &args.match, &args.given},
                  {&ls_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .check = ls_server_options_check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    ls_console console;
    ls_console_init(&console, "lockstep-server", args.output.level);
    ls_console_set_format(&console, args.log_format);
    ls_console_never_wait(&console);
    ls_crash_log_begin(&console);
    ls_exit_code code = args.is_worker     ? ls_worker_run(&console)
                        : args.is_door     ? ls_door_program_run(&console)
                        : args.config_path ? ls_service_program_run(&args, &console)
                                           : run(&args, &console);
    ls_console_deinit(&console);
    return code;
}
