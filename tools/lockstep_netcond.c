/* lockstep-netcond: reads the command line, runs the condition proxy, reports. */
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/tools/netcond/netcond.h"
#include "lockstep/tools/netcond/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_PORT = 7301,
    IDLE_MS_MAX = 86400000,
    LAST_COLUMN = 60, /* where a setting may begin */
    LINK_ROWS = NETCOND_SCOPE_COUNT * NETCOND_SETTING_COUNT + 1,
};

enum option_group {
    GROUP_LINK = 1,
    GROUP_PROXY,
};

typedef struct arguments {
    netcond_settings settings;
    netcond_config config;
    char listen_host[LS_ENDPOINT_BYTES_MAX];
    uint32_t port;
    ls_output_options output;
} arguments;

/* Every setting thrice: for both directions, and with a prefix for one, which the help does not
 * repeat. */
static void list_settings(ls_setting_row rows[LINK_ROWS])
{
    static char names[NETCOND_SCOPE_COUNT][NETCOND_SETTING_COUNT][24];
    *rows++ = (ls_setting_row){
        LS_SETTING_IS_HEADING, .group = GROUP_LINK,
        .help = "The network, of both directions. With --up-NAME and --down-NAME of one: from the "
                "clients to the server, or to them:"};
    for (uint32_t i = 0; i < NETCOND_SCOPE_COUNT * NETCOND_SETTING_COUNT; i++) {
        uint32_t scope = NETCOND_SCOPE_COUNT - 1 - i / NETCOND_SETTING_COUNT;
        uint32_t setting = i % NETCOND_SETTING_COUNT;
        const netcond_setting_info *info = netcond_setting_info_of((netcond_setting)setting);
        char *name = names[scope][setting];
        snprintf(name, sizeof names[scope][setting], "%s%s",
                 netcond_setting_scope_prefix((netcond_setting_scope)scope), info->name);
        *rows++ = (ls_setting_row){LS_SETTING_IS_TEXT,
                                   .flag = name,
                                   .argument = info->form,
                                   .offset = offsetof(arguments, settings.values) +
                                             (scope * NETCOND_SETTING_COUNT + setting) *
                                                 sizeof(const char *),
                                   .is_hidden = scope != NETCOND_SCOPE_BOTH,
                                   .group = GROUP_LINK,
                                   .help = info->help};
    }
}

static ls_status read_listen(void *target, char *value, ls_text *why)
{
    arguments *args = target;
    const char *colon = strrchr(value, ':');
    size_t host_bytes = colon ? (size_t)(colon - value) : strlen(value);
    uint64_t port = args->port;
    if (host_bytes == 0 || host_bytes >= sizeof args->listen_host) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--listen takes ADDR or ADDR:PORT, not '%s'", value);
    }
    memcpy(args->listen_host, value, host_bytes);
    args->listen_host[host_bytes] = '\0';
    ls_option_range range = {0, 65535};
    ls_status status =
        colon ? ls_option_number("listen PORT", colon + 1, range, &port, why) : LS_OK;
    args->port = (uint32_t)port;
    return status;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row proxy_rows[] = {
    {LS_SETTING_IS_U64, FIELD(config.proxy.seed), .max = UINT64_MAX, .flag = "seed",
     .argument = "S", .group = GROUP_LINK, .help = "Seed of every random decision"},
    {LS_SETTING_IS_HEADING, .group = GROUP_PROXY, .help = "The proxy:"},
    {LS_SETTING_IS_READ, .read = read_listen, .flag = "listen", .letter = 'l',
     .argument = "ADDR[:PORT]", .group = GROUP_PROXY, .default_text = "0.0.0.0, all",
     .help = "IPv4 address, and UDP port, for clients to connect to"},
    {LS_SETTING_IS_U32, FIELD(port), .max = 65535, .flag = "port", .letter = 'P', .argument = "P",
     .group = GROUP_PROXY, .help = "UDP port to listen on; 0: chosen by the system"},
    {LS_SETTING_IS_TEXT, FIELD(config.port_file), .flag = "port-file", .argument = "FILE",
     .group = GROUP_PROXY, .help = "Write the port to FILE once it is bound"},
    {LS_SETTING_IS_U32, FIELD(config.proxy.clients_max), .min = 1,
     .max = NETCOND_CONDITIONER_CLIENTS_MAX, .flag = "clients", .argument = "N",
     .group = GROUP_PROXY, .help = "Clients at the same time"},
    {LS_SETTING_IS_U32, FIELD(config.proxy.idle_ms), .min = 1000, .max = IDLE_MS_MAX, .unit = 1000,
     .flag = "idle", .argument = "S", .group = GROUP_PROXY,
     .help = "Forget a client that sends nothing for so many seconds"},
};

static const ls_setting_table proxy_table = {proxy_rows, sizeof proxy_rows / sizeof proxy_rows[0]};

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    return args->config.server ? LS_OK
                               : ls_fail(LS_BAD_ARGUMENT, why, "SERVER_HOST[:PORT] is missing");
}

/* A profile as the settings that it stands for, in lines that fit a terminal. */
static void describe_profile(FILE *stream, const netcond_profile *profile)
{
    fprintf(stream, "%s: %s\n", profile->name, profile->help);
    for (uint32_t scope = 0; scope < NETCOND_DIRECTION_COUNT; scope++) {
        int column = fprintf(stream, "  %-5s", scope == NETCOND_SCOPE_UP ? "up" : "down");
        for (uint32_t i = 0; i < NETCOND_SETTING_COUNT; i++) {
            if (!profile->values[scope][i]) {
                continue;
            }
            if (column > LAST_COLUMN) {
                column = fprintf(stream, "\n       ");
            }
            column += fprintf(stream, " %s %s", netcond_setting_info_of((netcond_setting)i)->name,
                              profile->values[scope][i]);
        }
        fprintf(stream, "\n");
    }
}

static void print_profiles(FILE *file)
{
    fprintf(file, "Profiles:\n");
    for (uint32_t i = 0; netcond_profile_at(i); i++) {
        describe_profile(file, netcond_profile_at(i));
    }
}

int main(int argc, char **argv)
{
    static ls_setting_row link_rows[LINK_ROWS];
    const ls_setting_table link_table = {link_rows, LINK_ROWS};
    arguments args = {.config = {.proxy = netcond_proxy_config_default()},
                      .listen_host = "0.0.0.0",
                      .port = DEFAULT_PORT,
                      .output = {.level = LS_LOG_INFO}};
    args.config.proxy.clients_max = 64;
    args.config.proxy.idle_ms = 60000;
    args.config.proxy.seed = 1;
    const ls_command_line line = {
        .summary = "Stands between clients and a server on UDP and makes the network as bad as "
                   "asked.",
        .words = "SERVER_HOST[:PORT]",
        .ending =
            "What is said of one direction counts more than what is said of both, and either "
            "counts more than a profile. The same seed gives the n-th packet of the n-th client "
            "the same fate.\n\n"
            "Exit codes: 0 stopped by SIGINT or SIGTERM, 1 environment or network, 2 usage, 4 "
            "internal.",
        .print_lists = print_profiles,
        .parts = {{&link_table, &args, NULL},
                  {&proxy_table, &args, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .word = &args.config.server,
        .check = check,
        .user = &args,
    };
    list_settings(link_rows);
    ls_command_line_read(&line, argc, argv);

    ls_console console;
    ls_console_init(&console, "lockstep-netcond", args.output.level);
    ls_text why = {{0}};
    args.config.listen_host = args.listen_host;
    args.config.listen_port = (uint16_t)args.port;
    args.config.json_path = args.output.json_path;
    if (netcond_settings_resolve(&args.settings, args.config.proxy.links, &why) != LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    ls_console_never_wait(&console);
    ls_exit_code code = netcond_run(&args.config, &console);
    ls_console_deinit(&console);
    return code;
}
