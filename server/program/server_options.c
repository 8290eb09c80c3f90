#include "lockstep/server/program/server_options.h"

#include "lockstep/common/program/player_name.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/output.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/relay/relay_listing.h"
#include "lockstep/server/host/match_table.h"
#include "lockstep/server/match/match_config.h"
#include "lockstep/server/service/service_config.h"

enum {
    GAME = LS_MATCH_GROUP_GAME,
    NETWORK = LS_MATCH_GROUP_NETWORK,
    SERVICE = LS_MATCH_GROUP_RULES + 1,
};

static ls_status read_log_format(void *target, char *value, ls_text *why)
{
    return ls_log_format_read(value, &((ls_server_options *)target)->log_format, why);
}

#define FIELD(member) .offset = offsetof(ls_server_options, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_U32, FIELD(matches), .min = 1, .max = LS_MATCHES_MAX, .flag = "matches",
     .argument = "N", .group = GAME, .help = "Matches of these settings to host at once"},
    {LS_SETTING_IS_TEXT, FIELD(port_file), .flag = "port-file", .argument = "FILE",
     .group = NETWORK, .help = "Write the port to FILE once it is bound"},
    {LS_SETTING_IS_ON_OFF, FIELD(is_found), .flag = "find", .argument = "on|off", .group = NETWORK,
     .help = "Let lockstep-client --find find this server on the local network"},
    {LS_SETTING_IS_U32, FIELD(find_port), .min = 1, .max = 65535, .flag = "find-port",
     .argument = "P", .group = NETWORK, .help = "UDP port of its queries"},
    {LS_SETTING_IS_TEXT, FIELD(publish), .flag = "publish", .argument = "HOST[:PORT]",
     .group = NETWORK,
     .help = "Register with the lockstep-relay there: players reach this server by a short code, "
             "also behind a router"},
    {LS_SETTING_IS_TEXT, FIELD(publish_key_path), .flag = "publish-key", .argument = "FILE",
     .group = NETWORK,
     .help = "Show that relay the key in FILE, which the relay has as its --key-file"},
    {LS_SETTING_IS_TEXT, FIELD(public_name), .flag = "public", .argument = "NAME", .group = NETWORK,
     .default_text = "not listed",
     .help =
         "List this server under NAME among the games of that relay, for lockstep-client --list"},
    {LS_SETTING_IS_TEXT, FIELD(region), .flag = "region", .argument = "WORD", .group = NETWORK,
     .default_text = "", .help = "Where the server is, in that list: up to 15 letters and digits"},
    {LS_SETTING_IS_TEXT, FIELD(web), .flag = "web", .argument = "ADDRESS:PORT", .group = NETWORK,
     .default_text = "",
     .help =
         "Open a door for browsers there: serve the page to play in, and let it in by HTTP; port "
         "0: one that the system chooses"},
    {LS_SETTING_IS_TEXT, FIELD(web_files), .flag = "web-files", .argument = "DIR", .group = NETWORK,
     .default_text = "the file's, or share/lockstep/web",
     .help = "Serve the files of DIR as the page"},
    {LS_SETTING_IS_TEXT, FIELD(web_hosts), .flag = "web-hosts", .argument = "NAME,...",
     .group = NETWORK, .default_text = "",
     .help = "Names by which browsers reach this machine; needed where TLS does not prove them"},
    {LS_SETTING_IS_TEXT, FIELD(web_certificate), .flag = "web-certificate", .argument = "FILE",
     .group = NETWORK, .default_text = "the file's, or none: plain HTTP",
     .help = "Seal the door with TLS by this certificate in PEM, which is read again when it "
             "changes"},
    {LS_SETTING_IS_TEXT, FIELD(web_key), .flag = "web-key", .argument = "FILE", .group = NETWORK,
     .default_text = "", .help = "The certificate's key"},
    {LS_SETTING_IS_ON_OFF, FIELD(has_web_codes), .flag = "web-code", .argument = "on|off",
     .group = NETWORK, .help = "Show the link of the page as a QR code on a terminal"},
    {LS_SETTING_IS_TEXT, FIELD(web_port_file), .flag = "web-port-file", .argument = "FILE",
     .group = NETWORK, .default_text = "",
     .help = "Write the port of --web to FILE once it is bound"},
    {LS_SETTING_IS_U32, FIELD(broadcast_delay_s), .max = LS_BROADCAST_S_MAX, .flag = "broadcast",
     .argument = "SECONDS", .group = NETWORK, .default_text = "the file's, or 0: not at all",
     .help = "Let everybody watch the matches in the journals, so late, by the HTTP of --web; 10 "
             "is usual"},
    {LS_SETTING_IS_ON_OFF, FIELD(maps_port), .flag = "map-port", .argument = "on|off",
     .group = NETWORK, .default_text = "on with --publish and without --config",
     .help = "Have the router of this network lead a port to this server, by NAT-PMP, PCP or UPnP, "
             "and take it back at the end"},
    {LS_SETTING_IS_HEADING, .group = SERVICE, .help = "A service with many rooms:"},
    {LS_SETTING_IS_TEXT, FIELD(config_path), .flag = "config", .argument = "FILE.toml",
     .group = SERVICE, .default_text = "",
     .help = "Run until stopped, on all cores, with the rooms of this file and those that are "
             "opened while it runs; other options are put in place of the file's"},
    {LS_SETTING_IS_SWITCH, FIELD(is_check), .flag = "check", .group = SERVICE,
     .help =
         "Start nothing: name every fault of the file of --config with its line and column, and "
         "exit with 2 if there is one"},
    {LS_SETTING_IS_U32, FIELD(workers), .max = LS_SERVICE_WORKERS_MAX, .flag = "workers",
     .argument = "N", .group = SERVICE, .default_text = "the file's, or one for each core",
     .help = "Spread the rooms over so many processes; 0: one for each core"},
    {LS_SETTING_IS_U32, FIELD(rooms_max), .min = 1, .max = LS_SERVICE_ROOMS_MAX,
     .flag = "rooms-max", .argument = "N", .group = SERVICE, .default_text = "the file's, or 256",
     .help = "Have so many rooms at a time at most"},
    {LS_SETTING_IS_U32, FIELD(drain_timeout), .max = LS_SERVICE_DRAIN_S_MAX,
     .flag = "drain-timeout", .argument = "SECONDS", .group = SERVICE,
     .default_text = "the file's, or 30",
     .help = "When the service is stopped, let running rooms play for so long before they are left "
             "in their journals"},
    {LS_SETTING_IS_TEXT, FIELD(plugin_dir), .flag = "plug-ins", .argument = "DIR", .group = SERVICE,
     .default_text = "the file's, or built-ins alone",
     .help = "Take simulations that are no built-ins from DIR, by the names of their files"},
    {LS_SETTING_IS_TEXT, FIELD(http_bind), .flag = "http-bind", .argument = "ADDRESS",
     .group = SERVICE, .default_text = "the file's, or 127.0.0.1",
     .help = "Serve metrics, health and administration at this address"},
    {LS_SETTING_IS_U32, FIELD(http_port), .max = UINT16_MAX, .flag = "http-port",
     .argument = "PORT", .group = SERVICE, .default_text = "the file's, or 9300",
     .help = "Serve them at this port; 0: not at all"},
    {LS_SETTING_IS_TEXT, FIELD(http_token_file), .flag = "http-token-file", .argument = "FILE",
     .group = SERVICE, .default_text = "the file's; without one nobody administers",
     .help = "Let in for administration who shows the bearer token in FILE"},
    {LS_SETTING_IS_TEXT, FIELD(http_port_file), .flag = "http-port-file", .argument = "FILE",
     .group = SERVICE, .default_text = "",
     .help = "Write the port of HTTP to FILE once it is bound"},
    {LS_SETTING_IS_SWITCH, FIELD(is_on_agones), .flag = "agones", .group = SERVICE,
     .help =
         "With --config, in a fleet of Agones: tell its sidecar how the service is, and open the "
         "rooms of allocations"},
    {LS_SETTING_IS_READ, .read = read_log_format, .flag = "log-format",
     .argument = "text|json|journald", .group = SERVICE, .default_text = "text",
     .help = "Write log lines for people, as JSON objects, or with the priority that "
             "systemd-journald reads"},
    {LS_SETTING_IS_SWITCH, FIELD(is_door), .flag = "door", .group = SERVICE, .is_hidden = true},
    {LS_SETTING_IS_SWITCH, FIELD(is_worker), .flag = "worker", .group = SERVICE, .is_hidden = true},
};

const ls_setting_table ls_server_settings = {rows, sizeof rows / sizeof rows[0]};

/* The first option that was given and is of a door for pages; NULL: none. */
static const char *first_of_door(const ls_server_options *args)
{
    static const char *const flags[] = {"web-files", "web-hosts", "web-certificate",
                                        "web-key",   "web-code",  "web-port-file"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (ls_setting_is_given(&ls_server_settings, args->own_given, flags[i])) {
            return flags[i];
        }
    }
    return NULL;
}

static ls_status check_door(const ls_server_options *args, ls_text *why)
{
    if (!args->web && !args->config_path && first_of_door(args)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--%s needs --web", first_of_door(args));
    }
    if (!args->web_certificate != !args->web_key) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--web-certificate and --web-key go together");
    }
    return LS_OK;
}

ls_status ls_server_options_check_broadcast(const ls_server_options *options, ls_text *why)
{
    const ls_hosting *hosting = &options->hosting;
    if (options->broadcast_delay_s == 0) {
        return LS_OK;
    }
    if (!options->web || !(hosting->journal_dir || hosting->resume_path)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--broadcast shows what is in the journals, by HTTP: it needs --journal and "
                       "--web");
    }
    return hosting->admission.is_invite_only
               ? ls_fail(LS_BAD_ARGUMENT, why,
                         "--broadcast and --invite-only exclude each other: everybody may watch a "
                         "broadcast")
               : LS_OK;
}

/* The journal that is gone on with is no place for anything else. */
static ls_status check_path(const ls_server_options *args, const char *flag, const char *path,
                            ls_text *why)
{
    bool is_journal = args->hosting.resume_path && path &&
                      ls_output_is_same_file(path, args->hosting.resume_path);
    return is_journal
               ? ls_fail(LS_BAD_ARGUMENT, why,
                         "--%s %s is the journal that is resumed: name another file", flag, path)
               : LS_OK;
}

/* The first option that was given and is of a service alone; NULL: none. */
static const char *first_of_service(const ls_server_options *args)
{
    static const char *const flags[] = {"check",         "workers",         "rooms-max",
                                        "drain-timeout", "plug-ins",        "http-bind",
                                        "http-port",     "http-token-file", "agones"};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        if (ls_setting_is_given(&ls_server_settings, args->own_given, flags[i])) {
            return flags[i];
        }
    }
    return NULL;
}

bool ls_server_options_may_map(const ls_server_options *options)
{
    bool is_told = ls_setting_is_given(&ls_server_settings, options->own_given, "map-port");
    return is_told || options->config_path ? options->maps_port : options->publish != NULL;
}

ls_status ls_server_options_check_relay(const ls_server_options *options, ls_text *why)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    const char *flag = options->publish_key_path ? "publish-key"
                       : options->public_name    ? "public"
                                                 : "region";
    bool has_any = options->publish_key_path || options->public_name || options->region;
    if (has_any && !options->publish) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--%s needs --publish", flag);
    }
    if (options->region && !options->public_name) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--region needs --public");
    }
    if (options->region && !ls_relay_is_word(options->region)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--region takes up to 15 letters, digits, '-', '_', '.' and '+'");
    }
    if (options->public_name && options->hosting.admission.is_invite_only) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--public and --invite-only exclude each other: whoever sees the list may "
                       "come in");
    }
    return options->public_name ? ls_player_name_read(options->public_name, name, why) : LS_OK;
}

ls_status ls_server_options_check(void *user, ls_text *why)
{
    const ls_server_options *args = user;
    if (args->config_path &&
        (args->hosting.sim || args->hosting.resume_path || args->matches > 1)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--config runs the rooms of its file: without %s",
                       args->hosting.sim           ? "--sim"
                       : args->hosting.resume_path ? "--resume"
                                                   : "--matches");
    }
    if (args->hosting.resume_path && (args->hosting.journal_dir || args->matches > 1)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--resume goes on with one match and its journal: without %s",
                       args->hosting.journal_dir ? "--journal" : "--matches");
    }
    if (!args->config_path && !args->is_worker && !args->is_door) {
        const char *flag = first_of_service(args);
        if (flag) {
            return ls_fail(LS_BAD_ARGUMENT, why, "--%s needs --config", flag);
        }
    }
    ls_status status = ls_hosting_check(&args->hosting, why);
    LS_THEN(status, args->config_path ? LS_OK : ls_server_options_check_relay(args, why));
    LS_THEN(status, check_door(args, why));
    LS_THEN(status, args->config_path ? LS_OK : ls_server_options_check_broadcast(args, why));
    status = status == LS_OK ? check_path(args, "json", args->output.json_path, why) : status;
    return status == LS_OK ? check_path(args, "port-file", args->port_file, why) : status;
}

ls_server_options ls_server_options_default(void)
{
    return (ls_server_options){.matches = 1,
                               .find_port = LS_DISCOVERY_PORT,
                               .is_found = true,
                               .has_web_codes = true,
                               .match = ls_match_config_default(ls_builtin_simulation(0)),
                               .hosting = ls_hosting_default(),
                               .rooms_max = LS_MATCHES_MAX,
                               .output = {.level = LS_LOG_INFO}};
}
