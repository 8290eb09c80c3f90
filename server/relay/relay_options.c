#include "lockstep/server/relay/relay_options.h"

#include "lockstep/protocol/relay/relay_packet.h"

#include <stddef.h>

enum {
    GROUP_NETWORK = 1,
    GROUP_LIMITS,
    KB_MAX = 1000000,
    PER_ADDRESS_MAX = 4096,
};

static ls_status read_log_format(void *target, char *value, ls_text *why)
{
    return ls_log_format_read(value, &((ls_relay_program_config *)target)->log_format, why);
}

#define FIELD(member) .offset = offsetof(ls_relay_program_config, member)

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
    {LS_SETTING_IS_TEXT, FIELD(web), .flag = "web", .argument = "ADDRESS:PORT",
     .group = GROUP_NETWORK, .default_text = "",
     .help = "Open a door for browsers there: serve the page to play in by a code, over HTTP; port "
             "0: one that the system chooses"},
    {LS_SETTING_IS_TEXT, FIELD(web_files), .flag = "web-files", .argument = "DIR",
     .group = GROUP_NETWORK, .default_text = "share/lockstep/web",
     .help = "Serve the files of DIR as the page"},
    {LS_SETTING_IS_TEXT, FIELD(web_hosts), .flag = "web-hosts", .argument = "NAME,...",
     .group = GROUP_NETWORK, .default_text = "",
     .help = "Names by which browsers reach this machine; needed where TLS does not prove them"},
    {LS_SETTING_IS_TEXT, FIELD(web_certificate), .flag = "web-certificate", .argument = "FILE",
     .group = GROUP_NETWORK, .default_text = "none: plain HTTP",
     .help = "Seal the door with TLS by this certificate in PEM, which is read again when it "
             "changes"},
    {LS_SETTING_IS_TEXT, FIELD(web_key), .flag = "web-key", .argument = "FILE",
     .group = GROUP_NETWORK, .default_text = "", .help = "The certificate's key"},
    {LS_SETTING_IS_TEXT, FIELD(web_port_file), .flag = "web-port-file", .argument = "FILE",
     .group = GROUP_NETWORK, .default_text = "",
     .help = "Write the port of --web to FILE once it is bound"},
    {LS_SETTING_IS_SWITCH, FIELD(is_door), .flag = "door", .group = GROUP_NETWORK,
     .is_hidden = true},
    {LS_SETTING_IS_READ, .read = read_log_format, .flag = "log-format",
     .argument = "text|json|journald", .group = GROUP_NETWORK, .default_text = "text",
     .help = "Write log lines for people, as JSON objects, or with the priority that "
             "systemd-journald reads"},
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

const ls_setting_table ls_relay_settings = {rows, sizeof rows / sizeof rows[0]};

ls_relay_program_config ls_relay_options_default(void)
{
    return (ls_relay_program_config){
        .relay = ls_relay_config_default(), .bind_host = "::", .port = LS_RELAY_DEFAULT_PORT};
}

ls_status ls_relay_options_check(const ls_relay_program_config *config, ls_text *why)
{
    bool has_door_flags = config->web_files || config->web_hosts || config->web_certificate ||
                          config->web_key || config->web_port_file;
    if (config->http_port_file && !config->http) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--http-port-file needs --http");
    }
    return has_door_flags && !config->web
               ? ls_fail(LS_BAD_ARGUMENT, why, "--web-files and all others of --web- need --web")
               : LS_OK;
}
