/* lockstep-client: reads the command line, plays one match, reports. */
#include "lockstep/client/bots.h"
#include "lockstep/client/program/client.h"
#include "lockstep/client/session/session_config.h"
#include "lockstep/client/window/view_options.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/loader/plugin_crash.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/program/symbol_name.h"
#include "lockstep/common/runtime/rerun/rerun_helper.h"
#include "lockstep/common/runtime/rerun/rerun_writes.h"
#include "lockstep/common/system/machine_fingerprint.h"
#include "lockstep/protocol/discovery/discovery.h"
#include "lockstep/protocol/sealed/invite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_FPS = 60,
    DEFAULT_CONNECT_WAIT_MS = 10000,
    CONNECT_WAIT_MAX_MS = 86400000,
    DEFAULT_RECONNECT_MS = 60000,
    PLAYER = LS_SESSION_GROUP_PLAYER,
    FIND = 8,
    FAULTS = 9,
};

typedef struct arguments {
    ls_client_config client;
    ls_finder_config finder;
    const char *list; /* HOST[:PORT] of a relay whose games are listed; NULL: none */
    const char *sim;
    ls_param_options params;
    ls_output_options output;
} arguments;

static ls_status read_bot(void *target, char *value, ls_text *why)
{
    ls_client_config *client = &((arguments *)target)->client;
    client->has_bot = true;
    return ls_option_number("bot", value, (ls_option_range){0, UINT64_MAX}, &client->bot_seed, why);
}

static ls_status read_name(void *target, char *value, ls_text *why)
{
    return ls_player_name_read(value, ((arguments *)target)->client.session.name, why);
}

static ls_status read_flip_bit(void *target, char *value, ls_text *why)
{
    ls_client_config *client = &((arguments *)target)->client;
    char *colon = strchr(value, ':');
    uint64_t tick = 0;
    ls_status status = LS_OK;
    if (colon) {
        *colon = '\0';
        status = ls_option_number("flip-bit", colon + 1, (ls_option_range){0, UINT64_MAX},
                                  &client->flip.bit, why);
    }
    if (status == LS_OK) {
        status = ls_option_number("flip-bit", value, (ls_option_range){1, UINT32_MAX}, &tick, why);
    }
    client->flip.tick = (ls_tick)tick;
    return status;
}

static ls_status read_find(void *target, char *value, ls_text *why)
{
    ls_finder_config *finder = &((arguments *)target)->finder;
    (void)why;
    finder->is_asked = true;
    finder->address = value;
    return LS_OK;
}

#define FIELD(member) .offset = offsetof(arguments, member)

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_HEADING, .group = PLAYER, .help = "The player:"},
    {LS_SETTING_IS_READ, .read = read_bot, .flag = "bot", .letter = 'b', .argument = "SEED",
     .group = PLAYER,
     .help = "Let a seeded bot play; without it the inputs are empty, or a person's with --view"},
    {LS_SETTING_IS_U32, FIELD(client.bot_delay_ticks), .max = LS_BOT_DELAY_TICKS_MAX - 1,
     .flag = "bot-delay", .argument = "TICKS", .group = PLAYER,
     .help = "Let the bot answer the state of TICKS ago: with the server's --late wait the whole "
             "match can then be repeated, at any frame rate; 0: the newest state"},
    {LS_SETTING_IS_READ, .read = read_name, .flag = "name", .letter = 'n', .argument = "S",
     .group = PLAYER, .default_text = "player",
     .help = "The player's name, up to 31 bytes of UTF-8"},
    {LS_SETTING_IS_TEXT, FIELD(sim), .flag = "sim", .letter = 's', .argument = "NAME|FILE.so",
     .group = PLAYER, .default_text = "the built-in the server names",
     .help = "Simulation that the server must play; needed for a plug-in"},
    {LS_SETTING_IS_U32, FIELD(client.connect_wait_ms), .max = CONNECT_WAIT_MAX_MS,
     .flag = "connect-wait", .unit = 1000, .argument = "SECONDS", .group = PLAYER,
     .help = "How long to try to reach the server for the first time; 0: try once. With a seat in "
             "--seat-file it is --reconnect at least"},
    {LS_SETTING_IS_SWITCH, FIELD(client.is_insecure), .flag = "insecure", .group = PLAYER,
     .help = "Believe whoever answers at HOST[:PORT], in a network that you trust; the server has "
             "to allow it by the same flag. An invite needs no such trust, nor does this machine"},
    {LS_SETTING_IS_SWITCH, FIELD(client.avoids_direct), .flag = "through-relay", .group = PLAYER,
     .help = "Behind CODE@HOST, have the relay carry everything, and try no direct way"},
    {LS_SETTING_IS_TEXT, FIELD(client.token_path), .flag = "token", .argument = "FILE",
     .group = PLAYER,
     .help = "Come in by the connect token in FILE; without INVITE or HOST[:PORT] at the addresses "
             "in the token, in their order"},
    {LS_SETTING_IS_U32, FIELD(client.fps), .min = 1, .max = LS_CLIENT_FPS_MAX, .flag = "fps",
     .argument = "HZ", .group = PLAYER, .default_text = "60; in a window the display's",
     .help = "Frames per second"},
    {LS_SETTING_IS_U32, FIELD(client.matches_max), .max = UINT32_MAX, .flag = "matches",
     .argument = "N", .group = PLAYER, .default_text = "all",
     .help =
         "In a room that plays one match after the other, leave after N of them; without it the "
         "client comes back for each"},
    {LS_SETTING_IS_SWITCH, FIELD(client.has_chat), .initial = true, .flag = "no-chat",
     .group = PLAYER,
     .help = "Neither show nor log what players say to each other, and leave Enter and F4 to F8 to "
             "the game"},
    {LS_SETTING_IS_TEXT, FIELD(client.seat_path), .flag = "seat-file", .argument = "FILE",
     .group = PLAYER,
     .help = "Remember the seat in FILE until the match ends: after a crash the same command gets "
             "it back at once"},
    {LS_SETTING_IS_TEXT, FIELD(client.frames_path), .flag = "record-frames", .argument = "FILE",
     .group = PLAYER, .help = "Write how long each frame lasted, for lockstep-timestep --trace"},
    {LS_SETTING_IS_HEADING, .group = FIND, .help = "In place of INVITE or HOST[:PORT]:"},
    {LS_SETTING_IS_READ, .read = read_find, .flag = "find", .argument = "ADDR",
     .has_optional_argument = true, .group = FIND,
     .help = "List the servers on the local network: asks for a second, on every interface or at "
             "this broadcast address alone"},
    {LS_SETTING_IS_U32, FIELD(finder.port), .min = 1, .max = 65535, .flag = "find-port",
     .argument = "P", .group = FIND, .help = "UDP port to ask, as the servers have it"},
    {LS_SETTING_IS_TEXT, FIELD(list), .flag = "list", .argument = "HOST[:PORT]", .group = FIND,
     .default_text = "",
     .help = "List the games that the lockstep-relay there knows, with their ping and the codes by "
             "which they are joined"},
    {LS_SETTING_IS_HEADING, .group = FAULTS, .help = "Faults, to see what happens:"},
    {LS_SETTING_IS_READ, .read = read_flip_bit, .flag = "flip-bit", .argument = "TICK[:BIT]",
     .group = FAULTS,
     .help = "Flip one bit of this client's state after the step to TICK: a desync"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status check(void *user, ls_text *why)
{
    const arguments *args = user;
    const ls_client_config *client = &args->client;
    if (args->finder.is_asked || args->list) {
        const char *other = args->finder.is_asked && args->list ? "--find" : client->server;
        return other ? ls_fail(LS_BAD_ARGUMENT, why, "--%s looks for servers: without %s",
                               args->list ? "list" : "find", other)
                     : LS_OK;
    }
    if (!client->server && !client->token_path) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the server's invite or HOST[:PORT] is missing, or --token; --find lists "
                       "the servers here, --list those of a relay");
    }
    if (client->session.is_spectator && client->has_bot) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--spectate plays nothing, so there is nothing for --bot to do");
    }
    if (client->session.is_spectator && client->session.predict_ticks > 0) {
        return ls_fail(
            LS_BAD_ARGUMENT, why,
            "--spectate has no inputs of its own, so there is nothing for --predict to do");
    }
    if (client->bot_delay_ticks > 0 && !client->has_bot) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--bot-delay needs --bot");
    }
    return ls_view_options_check(&client->view, &args->output, why);
}

static ls_exit_code play(arguments *args, ls_console *console)
{
    ls_client_config *client = &args->client;
    ls_loaded_simulation loaded = {0};
    ls_text why = {{0}};
    if (args->sim) {
        ls_plugin_crash_watch(args->sim);
    }
    if (args->sim && ls_simulation_load(args->sim, &loaded, &why) != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    static ls_param_files files;
    if (ls_param_files_read(&files, args->params.assignments, args->params.count, &why) != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    client->session.files = &files.files;
    ls_build_fingerprint print;
    ls_build_fingerprint_here(&print);
    ls_bundle_print_libraries(&print);
    ls_simulation_print(&loaded, args->sim ? args->sim : "", &print);
    client->session.print = &print;
    client->session.maths_check = ls_simulation_maths(&loaded, args->sim ? args->sim : "");
    client->simulation = loaded.simulation;
    const ls_rerun_process_config reruns = {.name = loaded.library ? args->sim : NULL};
    if (ls_rerun_process_create(&reruns, ls_allocator_heap(), &client->reruns) == LS_OK) {
        client->session.rerun_host = ls_rerun_process_host(client->reruns);
    }
    ls_exit_code code = ls_client_run(client, console);
    ls_rerun_process_destroy(client->reruns);
    ls_simulation_unload(&loaded);
    ls_param_files_release(&files);
    return code;
}

/* In place of "-": the invite's secret is in no list of processes then. */
static bool read_server(ls_client_config *client, const ls_console *console)
{
    static char line[LS_INVITE_TEXT_BYTES_MAX + 1];
    if (!client->server || strcmp(client->server, "-") != 0) {
        return true;
    }
    bool is_read = fgets(line, sizeof line, stdin) != NULL;
    line[strcspn(line, "\r\n")] = '\0';
    if (!is_read || line[0] == '\0') {
        ls_log_line(&console->log, LS_LOG_ERROR,
                    "standard input has no line with the server's invite or HOST[:PORT]");
        return false;
    }
    client->server = line;
    return true;
}

int main(int argc, char **argv)
{
    if (ls_rerun_helper_is_asked(argc, argv)) {
        ls_rerun_writes_read_symbols_by(ls_symbol_name_read);
        return ls_rerun_helper_run();
    }
    arguments args = {
        .client = {.session = ls_session_config_default(), .view = ls_screen_config_default()},
        .finder = {.port = LS_DISCOVERY_PORT},
        .output = {.level = LS_LOG_INFO}};
    ls_client_config *client = &args.client;
    client->connect_wait_ms = DEFAULT_CONNECT_WAIT_MS;
    client->session.reconnect_ms = DEFAULT_RECONNECT_MS;
    client->view.kind = LS_SCREEN_NONE;
    client->has_chat = true;
    const ls_command_line line = {
        .summary = "Joins a lockstep match.",
        .words = "INVITE|HOST[:PORT]|CODE@RELAY[:PORT]|-",
        .ending =
            "INVITE is the link lockstep://... that a server prints, and by which the server is "
            "known; CODE@RELAY the short code that it prints when it is published at a relay. "
            "With - the invite is read from standard input: so it is in no list of processes. "
            "Exit codes: 0 clean, 1 environment, network, refused, or no server was found, "
            "2 usage, "
            "3 this client's state differed from the server's, 4 internal.",
        .parts = {{&table, &args, NULL},
                  {&ls_session_settings, &client->session, NULL},
                  {&ls_view_settings, &client->view, NULL},
                  {&ls_file_param_settings, &args.params, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .word = &client->server,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    client->view.fps = client->fps;
    client->view.has_chat = client->has_chat;
    client->view.is_terminal_live = ls_console_can_redraw_output();
    client->view.has_true_colour = ls_console_has_true_colour();
    client->fps = client->fps > 0 ? client->fps : DEFAULT_FPS;
    client->json_path = args.output.json_path;

    ls_console console;
    ls_console_init(&console, "lockstep-client", args.output.level);
    if (args.finder.is_asked) {
        args.finder.json_path = args.output.json_path;
        return ls_finder_run(&args.finder, &console);
    }
    if (args.list) {
        return ls_game_list_run(args.list, args.output.json_path, &console);
    }
    ls_console_never_wait(&console);
    ls_exit_code code = read_server(client, &console) ? play(&args, &console) : LS_EXIT_USAGE;
    ls_console_deinit(&console);
    return code;
}
