/* lockstep-relay: reads the command line, introduces players to servers behind routers, reports. */
#include "lockstep/common/program/command_line.h"
#include "lockstep/protocol/relay/relay_code.h"
#include "lockstep/server/relay/relay_program.h"

enum {
    GROUP_NETWORK = 1,
    GROUP_LIMITS,
    KB_MAX = 1000000,
    PER_ADDRESS_MAX = 4096,
};

typedef struct arguments {
    ls_relay_program_config config;
    ls_output_options output;
} arguments;

#define FIELD(member) .offset = offsetof(arguments, config.member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = GROUP_NETWORK, .help = "The network:"},
    {LS_SETTING_IS_TEXT, FIELD(bind_host), .flag = "bind", .argument = "ADDR",
     .group = GROUP_NETWORK, .help = "Address or interface name to listen on; :: is all"},
    {LS_SETTING_IS_U32, FIELD(port), .max = UINT16_MAX, .flag = "port", .letter = 'P',
     .argument = "P", .group = GROUP_NETWORK, .help = "UDP port; 0: chosen by the system"},
    {LS_SETTING_IS_TEXT, FIELD(port_file), .flag = "port-file", .argument = "FILE",
     .group = GROUP_NETWORK, .help = "Write the port to FILE once it is bound"},
    {LS_SETTING_IS_TEXT, FIELD(key_path), .flag = "key-file", .argument = "FILE",
     .group = GROUP_NETWORK, .default_text = "every server may",
     .help = "Let only servers register that have the key in FILE (lockstep-token makes one)"},
    {LS_SETTING_IS_TEXT, FIELD(http), .flag = "http", .argument = "ADDRESS:PORT",
     .group = GROUP_NETWORK, .default_text = "",
     .help = "Serve the list of games there, over HTTP; port 0: one that the system chooses"},
    {LS_SETTING_IS_TEXT, FIELD(http_port_file), .flag = "http-port-file", .argument = "FILE",
     .group = GROUP_NETWORK, .default_text = "",
     .help = "Write the port of --http to FILE once it is bound"},
    {LS_SETTING_IS_HEADING, .group = GROUP_LIMITS, .help = "Limits:"},
    {LS_SETTING_IS_U32, FIELD(relay.hosts_max), .min = 1, .max = LS_RELAY_HOSTS_MAX,
     .flag = "hosts", .argument = "N", .group = GROUP_LIMITS, .help = "Servers at the same time"},
    {LS_SETTING_IS_U32, FIELD(relay.players_max), .min = 1, .max = LS_RELAY_PLAYERS_MAX,
     .flag = "players", .argument = "N", .group = GROUP_LIMITS,
     .help = "Players of all servers at the same time"},
    {LS_SETTING_IS_U32, FIELD(relay.hosts_per_address), .min = 1, .max = PER_ADDRESS_MAX,
     .flag = "hosts-per-address", .argument = "N", .group = GROUP_LIMITS,
     .help = "Servers of one address, or of one IPv6 /56"},
    {LS_SETTING_IS_U32, FIELD(relay.match_kb), .min = 1, .max = KB_MAX, .flag = "match-limit",
     .argument = "KB", .group = GROUP_LIMITS,
     .help = "kB a second that one server may have carried, each way"},
    {LS_SETTING_IS_U32, FIELD(relay.player_kb), .min = 1, .max = KB_MAX, .flag = "player-limit",
     .argument = "KB", .group = GROUP_LIMITS,
     .help = "kB a second that one player may have carried, each way"},
    {LS_SETTING_IS_U32, FIELD(relay.games_max), .max = LS_RELAY_HOSTS_MAX, .flag = "games",
     .argument = "N", .group = GROUP_LIMITS,
     .help = "Games that are listed at the same time; 0: none"},
};

static ls_status check(void *user, ls_text *why)
{
    const ls_relay_program_config *config = &((const arguments *)user)->config;
    return config->http_port_file && !config->http
               ? ls_fail(LS_BAD_ARGUMENT, why, "--http-port-file needs --http")
               : LS_OK;
}

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

int main(int argc, char **argv)
{
    arguments args = {.config = {.relay = ls_relay_config_default(),
                                 .bind_host = "::",
                                 .port = LS_RELAY_DEFAULT_PORT},
                      .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary = "Brings players to servers behind routers, directly or through itself.",
        .ending = "A server registers with lockstep-server --publish HOST[:PORT]; its code joins: "
                  "lockstep-client CODE@HOST[:PORT].\n\n"
                  "Exit codes: 0 stopped by SIGINT or SIGTERM, 1 environment or network, 2 usage, "
                  "4 internal.",
        .parts = {{&table, &args, NULL}, {&ls_output_settings, &args.output, NULL}},
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    args.config.json_path = args.output.json_path;

    ls_console console;
    ls_console_init(&console, "lockstep-relay", args.output.level);
    ls_console_never_wait(&console);
    ls_exit_code code = ls_relay_program_run(&args.config, &console);
    ls_console_deinit(&console);
    return code;
}
