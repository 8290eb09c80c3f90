/* lockstep-netcond: reads the command line, runs the condition proxy, reports. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/program/command_line.h"
#include "lockstep/tools/netcond/netcond.h"
#include "lockstep/tools/netcond/profile.h"
#include "lockstep/tools/netcond/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_PORT = 7301,
    IDLE_SECONDS_MAX = 86400,
    LAST_COLUMN = 60, /* where a setting may begin */
    OPTIONS_MAX = NETCOND_SCOPE_COUNT * NETCOND_SETTING_COUNT + 16,
};

enum option_key {
    KEY_LISTEN = 'l',
    KEY_PORT = 'P',
    KEY_PORT_FILE = 0x100,
    KEY_CLIENTS,
    KEY_IDLE,
    KEY_SEED,
    KEY_SETTINGS = 0x200, /* plus scope * NETCOND_SETTING_COUNT + setting */
};

enum option_group {
    GROUP_LINK = 1,
    GROUP_PROXY,
};

static const struct argp_option fixed_options[] = {
    {"seed", KEY_SEED, "S", 0, "Seed of every random decision (1)", GROUP_LINK},
    {0, 0, 0, 0, "The proxy:", GROUP_PROXY},
    {"listen", KEY_LISTEN, "ADDR[:PORT]", 0,
     "IPv4 address, and UDP port, for clients to connect to (0.0.0.0: all)", GROUP_PROXY},
    {"port", KEY_PORT, "P", 0, "UDP port to listen on; 0: chosen by the system (7301)",
     GROUP_PROXY},
    {"port-file", KEY_PORT_FILE, "FILE", 0, "Write the port to FILE once it is bound", GROUP_PROXY},
    {"clients", KEY_CLIENTS, "N", 0, "Clients at the same time, 1 to 512 (64)", GROUP_PROXY},
    {"idle", KEY_IDLE, "S", 0, "Forget a client that sends nothing for so many seconds (60)",
     GROUP_PROXY},
};

typedef struct arguments {
    netcond_settings settings;
    const char *server;
    char listen_host[LS_ENDPOINT_BYTES_MAX];
    uint64_t port, clients, idle_seconds, seed;
    const char *port_file;
    ls_output_options output;
} arguments;

/* Every setting thrice: for both directions, and with a prefix for one, which the help does not
 * repeat. */
static void list_options(struct argp_option options[OPTIONS_MAX])
{
    static char names[NETCOND_SCOPE_COUNT][NETCOND_SETTING_COUNT][24];
    uint32_t count = 0;
    options[count++] = (struct argp_option){
        .doc = "The network, of both directions. With --up-NAME and --down-NAME of one: from the "
               "clients to the server, or to them:",
        .group = GROUP_LINK};
    for (uint32_t i = 0; i < NETCOND_SCOPE_COUNT * NETCOND_SETTING_COUNT; i++) {
        uint32_t scope = NETCOND_SCOPE_COUNT - 1 - i / NETCOND_SETTING_COUNT;
        uint32_t setting = i % NETCOND_SETTING_COUNT;
        const netcond_setting_info *info = netcond_setting_info_of((netcond_setting)setting);
        char *name = names[scope][setting];
        snprintf(name, sizeof names[scope][setting], "%s%s",
                 netcond_setting_scope_prefix((netcond_setting_scope)scope), info->name);
        options[count++] = (struct argp_option){
            .name = name,
            .key = KEY_SETTINGS + (int)(scope * NETCOND_SETTING_COUNT + setting),
            .arg = info->form,
            .flags = scope == NETCOND_SCOPE_BOTH ? 0 : OPTION_HIDDEN,
            .doc = info->help,
            .group = GROUP_LINK};
    }
    memcpy(options + count, fixed_options, sizeof fixed_options);
}

static void parse_listen(struct argp_state *state, arguments *args, const char *value)
{
    const char *colon = strrchr(value, ':');
    size_t host_bytes = colon ? (size_t)(colon - value) : strlen(value);
    if (host_bytes == 0 || host_bytes >= sizeof args->listen_host) {
        argp_error(state, "--listen takes ADDR or ADDR:PORT, not '%s'", value);
        return;
    }
    memcpy(args->listen_host, value, host_bytes);
    args->listen_host[host_bytes] = '\0';
    if (colon) {
        ls_command_line_number(state, "listen PORT", colon + 1, (ls_option_range){0, 65535},
                               &args->port);
    }
}

static error_t parse_setting(int key, char *value, arguments *args)
{
    uint32_t index = (uint32_t)(key - KEY_SETTINGS);
    if (key < KEY_SETTINGS || index >= NETCOND_SCOPE_COUNT * NETCOND_SETTING_COUNT) {
        return ARGP_ERR_UNKNOWN;
    }
    args->settings.values[index / NETCOND_SETTING_COUNT][index % NETCOND_SETTING_COUNT] =
        value ? value : "";
    return 0;
}

static error_t parse_proxy(int key, char *value, struct argp_state *state, arguments *args)
{
    switch (key) {
    case KEY_LISTEN:
        parse_listen(state, args, value);
        return 0;
    case KEY_PORT:
        ls_command_line_number(state, "port", value, (ls_option_range){0, 65535}, &args->port);
        return 0;
    case KEY_CLIENTS:
        ls_command_line_number(state, "clients", value,
                               (ls_option_range){1, NETCOND_CONDITIONER_CLIENTS_MAX},
                               &args->clients);
        return 0;
    case KEY_IDLE:
        ls_command_line_number(state, "idle", value, (ls_option_range){1, IDLE_SECONDS_MAX},
                               &args->idle_seconds);
        return 0;
    case KEY_SEED:
        ls_command_line_number(state, "seed", value, (ls_option_range){0, UINT64_MAX}, &args->seed);
        return 0;
    default:
        return parse_setting(key, value, args);
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case KEY_PORT_FILE:
        args->port_file = value;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        if (args->server) {
            argp_error(state, "unexpected argument '%s'", value);
        }
        args->server = value;
        return 0;
    case ARGP_KEY_END:
        if (!args->server) {
            argp_error(state, "SERVER_HOST:PORT is missing");
        }
        return 0;
    default:
        return parse_proxy(key, value, state, args);
    }
}

/* A profile as the settings that it stands for, in lines that argp need not break. */
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

/* The end of --help: the profiles. */
static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    char *extended = NULL;
    size_t bytes = 0;
    FILE *stream = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&extended, &bytes) : NULL;
    if (!stream) {
        return (char *)(uintptr_t)text;
    }
    fprintf(stream, "Profiles:\n");
    for (uint32_t i = 0; netcond_profile_at(i); i++) {
        describe_profile(stream, netcond_profile_at(i));
    }
    fprintf(stream, "\n%s", text ? text : "");
    fclose(stream);
    return extended;
}

int main(int argc, char **argv)
{
    static struct argp_option options[OPTIONS_MAX];
    static const struct argp_child children[] = {{&ls_output_argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        .options = options,
        .children = children,
        .parser = parse,
        .args_doc = "SERVER_HOST:PORT",
        .doc = "Stands between clients and a server on UDP and makes the network as bad as asked.\v"
               "What is said of one direction counts more than what is said of both, and either "
               "counts more than a profile. The same seed gives the n-th packet of the n-th client "
               "the same fate.\n\n"
               "Exit codes: 0 stopped by SIGINT or SIGTERM, 1 environment or network, 2 usage, 4 "
               "internal.",
        .help_filter = help_filter,
    };
    arguments args = {.listen_host = "0.0.0.0",
                      .port = DEFAULT_PORT,
                      .clients = 64,
                      .idle_seconds = 60,
                      .seed = 1,
                      .output = {.level = LS_LOG_INFO}};
    list_options(options);
    ls_command_line_parse(&argp, argc, argv, &args);

    ls_console console;
    ls_console_init(&console, "lockstep-netcond", args.output.level);
    ls_text why = {{0}};
    netcond_config config = {.listen_host = args.listen_host,
                             .listen_port = (uint16_t)args.port,
                             .server = args.server,
                             .port_file = args.port_file,
                             .json_path = args.output.json_path};
    config.proxy = netcond_proxy_config_default();
    config.proxy.seed = args.seed;
    config.proxy.clients_max = (uint32_t)args.clients;
    config.proxy.idle_ms = (uint32_t)args.idle_seconds * 1000;
    if (netcond_settings_resolve(&args.settings, config.proxy.links, &why) != LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    return netcond_run(&config, &console);
}
