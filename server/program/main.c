/* lockstep-server: reads the command line, hosts matches, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/diagnosis/rerun_helper.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/option.h"
#include "lockstep/common/program/output.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/transport/endpoint.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/program/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_PORT = LS_ENDPOINT_DEFAULT_PORT,
    DEFAULT_SPECTATORS = 16,
    GAME = LS_MATCH_GROUP_GAME,
    NETWORK = LS_MATCH_GROUP_NETWORK,
    RULES = LS_MATCH_GROUP_RULES,
};

typedef struct arguments {
    const char *sim, *bind_host, *port_file, *bundle_dir, *journal_dir, *resume_path;
    uint32_t matches, port, find_port, bundle_limit;
    bool is_found;
    ls_admission_options admission;
    ls_match_config match; /* fields of it, ... */
    uint64_t given;        /* ... of these rows of ls_match_settings */
    ls_param_options params;
    ls_output_options output;
} arguments;

static ls_status take_token_protocol_id(void *target, char *value, ls_text *why)
{
    return ls_option_id("token-protocol-id", value,
                        &((arguments *)target)->admission.token_protocol_id, why);
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(sim), .flag = "sim", .letter = 's', .argument = "NAME|FILE.so",
     .group = GAME, .default_text = "units", .help = "Simulation: a built-in or a plug-in's file"},
    {LS_SETTING_IS_U32, FIELD(matches), .min = 1, .max = LS_MATCHES_MAX, .flag = "matches",
     .argument = "N", .group = GAME, .help = "Matches of these settings to host at once"},
    {LS_SETTING_IS_TEXT, FIELD(bind_host), .flag = "bind", .argument = "ADDR", .group = NETWORK,
     .default_text = "::, all, of IPv4 too", .help = "Address to listen on, of IPv4 or IPv6"},
    {LS_SETTING_IS_U32, FIELD(port), .max = 65535, .flag = "port", .letter = 'P', .argument = "P",
     .group = NETWORK, .help = "UDP port; 0: chosen by the system"},
    {LS_SETTING_IS_TEXT, FIELD(port_file), .flag = "port-file", .argument = "FILE",
     .group = NETWORK, .help = "Write the port to FILE once it is bound"},
    {LS_SETTING_IS_ON_OFF, FIELD(is_found), .flag = "find", .argument = "on|off", .group = NETWORK,
     .help = "Let lockstep-client --find find this server on the local network"},
    {LS_SETTING_IS_U32, FIELD(find_port), .min = 1, .max = 65535, .flag = "find-port",
     .argument = "P", .group = NETWORK, .help = "UDP port of its queries"},
    {LS_SETTING_IS_TEXT, FIELD(admission.identity_path), .flag = "identity", .argument = "FILE",
     .group = NETWORK, .default_text = "in $XDG_STATE_HOME/lockstep",
     .help = "Keep this server's key in FILE, which is made on first use: players who have the "
             "invite know by it that nobody stands between"},
    {LS_SETTING_IS_SWITCH, FIELD(admission.is_invite_only), .flag = "invite-only", .group = NETWORK,
     .help = "Put a secret into the invite, and let nobody in without it"},
    {LS_SETTING_IS_TEXT, FIELD(admission.invite_path), .flag = "invite-file", .argument = "FILE",
     .group = NETWORK, .help = "Write the invite to FILE once the port is bound"},
    {LS_SETTING_IS_TEXT, FIELD(admission.invite_host), .flag = "invite-host", .argument = "HOST",
     .group = NETWORK, .default_text = "the address of --bind, or this machine's name",
     .help = "Name or address of this server in the invite"},
    {LS_SETTING_IS_SWITCH, FIELD(admission.is_insecure), .flag = "insecure", .group = NETWORK,
     .help = "Let clients in that have only the address and say --insecure too, for a network that "
             "you trust; on this machine they need neither"},
    {LS_SETTING_IS_TEXT, FIELD(admission.token_key_path), .flag = "token-key", .argument = "FILE",
     .group = NETWORK,
     .help =
         "Let nobody in without a connect token that was made with the key in FILE, or with the "
         "old key beside it; with --invite-only the invite lets in as well"},
    {LS_SETTING_IS_TEXT, FIELD(admission.token_servers), .flag = "token-server",
     .argument = "HOST[:PORT],...", .group = NETWORK, .default_text = "tokens for any server",
     .help = "Take tokens alone that name one of these addresses, by which players reach this "
             "server"},
    {LS_SETTING_IS_TAKEN, .take = take_token_protocol_id, .flag = "token-protocol-id",
     .argument = "N", .group = NETWORK, .default_text = "\"LOCKSTEP\" as a number",
     .help = "Your game's number, as in its tokens, in decimal or behind 0x in hexadecimal"},
    {LS_SETTING_IS_TEXT, FIELD(bundle_dir), .flag = "bundle-dir", .argument = "DIR|none",
     .group = RULES, .default_text = "the current directory",
     .help = "Where the bundle of a desync is written, for lockstep-desync"},
    {LS_SETTING_IS_U32, FIELD(bundle_limit), .min = 1, .max = 1u << 20, .flag = "bundle-limit",
     .argument = "MIB", .group = RULES,
     .help = "Room for all bundles; one that does not fit is not written. A slot gets 8 at most"},
    {LS_SETTING_IS_TEXT, FIELD(journal_dir), .flag = "journal", .argument = "DIR", .group = RULES,
     .default_text = "no journal",
     .help = "Write each match down in a file of its own in DIR, for lockstep-replay"},
    {LS_SETTING_IS_TEXT, FIELD(resume_path), .flag = "resume", .argument = "FILE", .group = RULES,
     .help = "Go on with the match of this journal after a crash, with its settings, in the same "
             "file; --sim only names a plug-in's file"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

/* The journal that is gone on with is no place for anything else. */
static ls_status check_path(const arguments *args, const char *flag, const char *path, ls_text *why)
{
    bool is_journal = args->resume_path && path && ls_output_is_same_file(path, args->resume_path);
    return is_journal
               ? ls_fail(LS_BAD_ARGUMENT, why,
                         "--%s %s is the journal that is resumed: name another file", flag, path)
               : LS_OK;
}

static ls_status check_tokens(const ls_admission_options *admission, ls_text *why)
{
    bool has_tokens = admission->token_key_path != NULL;
    if (!has_tokens && admission->token_servers) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--token-server needs --token-key");
    }
    if (has_tokens && admission->is_insecure) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--token-key lets nobody in by the address alone, as --insecure does");
    }
    if (has_tokens && !admission->is_invite_only &&
        (admission->invite_path || admission->invite_host)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "with --token-key an invite lets nobody in unless --invite-only puts a "
                       "secret into it");
    }
    return LS_OK;
}

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    if (args->resume_path && (args->journal_dir || args->matches > 1)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--resume goes on with one match and its journal: without %s",
                       args->journal_dir ? "--journal" : "--matches");
    }
    if (args->admission.is_insecure && args->admission.is_invite_only) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--invite-only lets nobody in by the address alone, as --insecure does");
    }
    ls_status status = check_tokens(&args->admission, why);
    status = status == LS_OK ? check_path(args, "json", args->output.json_path, why) : status;
    return status == LS_OK ? check_path(args, "port-file", args->port_file, why) : status;
}

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

static ls_server_config config_of(const arguments *args, ls_room_game *game)
{
    bool has_bundles = strcmp(args->bundle_dir, "none") != 0;
    return (ls_server_config){.game = game,
                              .matches = args->matches,
                              .bind_host = args->bind_host,
                              .port = (uint16_t)args->port,
                              .is_found = args->is_found,
                              .find_port = (uint16_t)args->find_port,
                              .port_file = args->port_file,
                              .bundle_dir = has_bundles ? args->bundle_dir : NULL,
                              .bundle_mib_max = args->bundle_limit,
                              .journal_dir = args->journal_dir,
                              .resume_path = args->resume_path,
                              .json_path = args->output.json_path};
}

static ls_exit_code serve(const arguments *args, ls_room_game *game, ls_console *console)
{
    ls_server_config config = config_of(args, game);
    ls_text why = {{0}};
    ls_admission admission;
    ls_room_game_warn(game, &console->log);
    config.admission = &admission;
    ls_status status = ls_admission_open(&args->admission, args->bind_host, &admission, &why);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
    }
    ls_exit_code code = status == LS_OK ? ls_server_run(&config, console) : ls_exit_code_of(status);
    ls_admission_wipe(&admission);
    return code;
}

static ls_exit_code run(const arguments *args, ls_console *console)
{
    const ls_room_request request = {.sim = args->sim,
                                     .resume_path = args->resume_path,
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

int main(int argc, char **argv)
{
    if (ls_rerun_helper_is_asked(argc, argv)) {
        return ls_rerun_helper_run();
    }
    arguments args = {.matches = 1,
                      .port = DEFAULT_PORT,
                      .find_port = LS_DISCOVERY_PORT,
                      .is_found = true,
                      .match = ls_match_config_default(ls_builtin_simulation(0)),
                      .bundle_dir = ".",
                      .bundle_limit = 256,
                      .bind_host = "::",
                      .admission.token_protocol_id = LS_TOKEN_PROTOCOL_ID,
                      .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary = "Hosts deterministic lockstep matches, one by default.",
        .ending = "Exit codes: 0 clean, 1 environment or network, 2 usage, 3 a desync was found, 4 "
                  "internal.",
        .print_lists = print_simulations,
        .parts = {{&table, &args, NULL},
                  {&ls_match_settings, &args.match, &args.given},
                  {&ls_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    ls_console console;
    ls_console_init(&console, "lockstep-server", args.output.level);
    return run(&args, &console);
}
