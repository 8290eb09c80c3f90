/* lockstep-client: reads the command line, plays one match, reports. */
#include "lockstep/client/bots.h"
#include "lockstep/client/program/client.h"
#include "lockstep/client/program/view_options.h"
#include "lockstep/client/session/session.h"
#include "lockstep/common/diagnosis/desync_bundle.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/simulation/plugin_loader.h"

#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_FPS = 60,
    DEFAULT_RECONNECT_S = 60,
};

enum option_key {
    KEY_BOT = 'b',
    KEY_NAME = 'n',
    KEY_SIM = 's',
    KEY_TICKS = 't',
    KEY_FPS = 0x100,
    KEY_FLIP_BIT,
    KEY_BOT_DELAY,
    KEY_PREDICT,
    KEY_FIND_CAUSES,
    KEY_RECONNECT,
    KEY_SPECTATE,
    KEY_RECORD_FRAMES,
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "The player:", 1},
    {"bot", KEY_BOT, "SEED", 0,
     "Let a seeded bot play; without it the inputs are empty, or a person's with --view", 1},
    {"bot-delay", KEY_BOT_DELAY, "TICKS", 0,
     "Let the bot answer the state of TICKS ago, 1 to 255: with the server's --late wait the whole "
     "match can then be repeated, at any frame rate (0: the newest state)",
     1},
    {"name", KEY_NAME, "S", 0, "The player's name, up to 31 bytes (player)", 1},
    {"sim", KEY_SIM, "NAME|FILE.so", 0,
     "Simulation that the server must play; needed for a plug-in (the built-in the server names)",
     1},
    {"fps", KEY_FPS, "HZ", 0, "Frames per second, 1 to 1000 (60; in a window the display's)", 1},
    {"ticks", KEY_TICKS, "N", 0, "Leave after N ticks; 0: stay to the end (0)", 1},
    {"predict", KEY_PREDICT, "TICKS", 0,
     "Play your own input at once and guess the others', up to TICKS ahead of the server, 0 to 32; "
     "where a guess was wrong, go back and step again (0: play what the server has confirmed)",
     1},
    {"spectate", KEY_SPECTATE, 0, 0, "Watch the match, and play nothing", 1},
    {"reconnect", KEY_RECONNECT, "SECONDS", 0,
     "When the link is lost, try for so long to come back to the match, 0 to 86400 (60; 0: never)",
     1},
    {"find-causes", KEY_FIND_CAUSES, "on|off", 0,
     "Keep the newest states, up to 64 MiB, so that the cause of a desync of this client can be "
     "told, or healed (on)",
     1},
    {"record-frames", KEY_RECORD_FRAMES, "FILE", 0,
     "Write how long each frame lasted, for lockstep-timestep --trace", 1},
    {0, 0, 0, 0, "Faults, to see what happens:", 9},
    {"flip-bit", KEY_FLIP_BIT, "TICK[:BIT]", 0,
     "Flip one bit of this client's state after the step to TICK: a desync", 9},
    {0},
};

typedef struct arguments {
    const char *server;
    const char *name;
    const char *sim;
    const char *frames_path;
    bool has_bot, is_spectator;
    uint32_t find_causes;
    ls_screen_config view;
    uint64_t reconnect_s, bot_seed, bot_delay, fps, ticks, predict, flip_tick, flip_bit;
    ls_output_options output;
} arguments;

static void parse_flip_bit(struct argp_state *state, arguments *args, char *value)
{
    char *colon = strchr(value, ':');
    if (colon) {
        *colon = '\0';
        ls_command_line_number(state, "flip-bit", colon + 1, (ls_option_range){0, UINT64_MAX},
                               &args->flip_bit);
    }
    ls_command_line_number(state, "flip-bit", value, (ls_option_range){1, UINT32_MAX},
                           &args->flip_tick);
}

static error_t parse_player(int key, char *value, struct argp_state *state, arguments *args)
{
    static const char *const switch_words[] = {"off", "on"};
    switch (key) {
    case KEY_BOT:
        args->has_bot = true;
        ls_command_line_number(state, "bot", value, (ls_option_range){0, UINT64_MAX},
                               &args->bot_seed);
        return 0;
    case KEY_BOT_DELAY:
        ls_command_line_number(state, "bot-delay", value,
                               (ls_option_range){0, LS_BOT_DELAY_TICKS_MAX - 1}, &args->bot_delay);
        return 0;
    case KEY_NAME:
        args->name = value;
        if (strlen(value) >= LS_PLAYER_NAME_BYTES_MAX || value[0] == '\0') {
            argp_error(state, "--name takes 1 to %u bytes", LS_PLAYER_NAME_BYTES_MAX - 1);
        }
        return 0;
    case KEY_SIM:
        args->sim = value;
        return 0;
    case KEY_FPS:
        ls_command_line_number(state, "fps", value, (ls_option_range){1, LS_CLIENT_FPS_MAX},
                               &args->fps);
        return 0;
    case KEY_TICKS:
        ls_command_line_number(state, "ticks", value, (ls_option_range){0, UINT32_MAX - 1},
                               &args->ticks);
        return 0;
    case KEY_PREDICT:
        ls_command_line_number(state, "predict", value, (ls_option_range){0, LS_PREDICT_TICKS_MAX},
                               &args->predict);
        return 0;
    case KEY_FIND_CAUSES:
        ls_command_line_word(state, "find-causes", value, switch_words, 2, &args->find_causes);
        return 0;
    case KEY_SPECTATE:
        args->is_spectator = true;
        return 0;
    case KEY_RECONNECT:
        ls_command_line_number(state, "reconnect", value,
                               (ls_option_range){0, LS_SESSION_RECONNECT_MS_MAX / 1000},
                               &args->reconnect_s);
        return 0;
    case KEY_RECORD_FRAMES:
        args->frames_path = value;
        return 0;
    case KEY_FLIP_BIT:
        parse_flip_bit(state, args, value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *value, struct argp_state *state)
{
    arguments *args = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &args->view;
        state->child_inputs[1] = &args->output;
        return 0;
    case ARGP_KEY_ARG:
        if (args->server) {
            argp_error(state, "unexpected argument '%s'", value);
        }
        args->server = value;
        return 0;
    case ARGP_KEY_END:
        if (!args->server) {
            argp_error(state, "HOST:PORT is missing");
        }
        if (args->is_spectator && args->has_bot) {
            argp_error(state, "--spectate plays nothing, so there is nothing for --bot to do");
        }
        if (args->is_spectator && args->predict > 0) {
            argp_error(state, "--spectate has no inputs of its own, so there is nothing for "
                              "--predict to do");
        }
        if (args->bot_delay > 0 && !args->has_bot) {
            argp_error(state, "--bot-delay needs --bot");
        }
        ls_view_options_check(state, &args->view, &args->output);
        return 0;
    default:
        return parse_player(key, value, state, args);
    }
}

int main(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&ls_view_argp, 0, "To see it:", 5}, {&ls_output_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        .options = options,
        .children = children,
        .parser = parse,
        .args_doc = "HOST:PORT",
        .doc = "Joins a lockstep match.\v"
               "Exit codes: 0 clean, 1 environment, network or refused, 2 usage, "
               "3 this client's state differed from the server's, 4 internal.",
    };
    arguments args = {.name = "player",
                      .view = ls_screen_config_default(),
                      .find_causes = 1,
                      .reconnect_s = DEFAULT_RECONNECT_S,
                      .output = {.level = LS_LOG_INFO}};
    args.view.kind = LS_SCREEN_NONE;
    ls_command_line_parse(&argp, argc, argv, &args);

    args.view.fps = (uint32_t)args.fps;
    args.view.is_terminal_live = ls_console_can_redraw_output();

    ls_console console;
    ls_console_init(&console, "lockstep-client", args.output.level);
    ls_loaded_simulation loaded = {0};
    ls_text why = {{0}};
    if (args.sim && ls_simulation_load(args.sim, &loaded, &why) != LS_OK) {
        ls_log_line(&console.log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_USAGE;
    }
    ls_build_fingerprint print;
    ls_build_fingerprint_here(&print);
    ls_bundle_print_libraries(&print);
    ls_simulation_print(&loaded, args.sim ? args.sim : "", &print);
    ls_client_config config = {.server = args.server,
                               .name = args.name,
                               .simulation = loaded.simulation,
                               .has_bot = args.has_bot,
                               .bot_seed = args.bot_seed,
                               .bot_delay_ticks = (uint32_t)args.bot_delay,
                               .fps = args.fps > 0 ? (uint32_t)args.fps : DEFAULT_FPS,
                               .view = args.view,
                               .ticks = (uint32_t)args.ticks,
                               .predict_ticks = (uint32_t)args.predict,
                               .is_spectator = args.is_spectator,
                               .reconnect_ms = (uint32_t)args.reconnect_s * 1000,
                               .flip_tick = (ls_tick)args.flip_tick,
                               .flip_bit = args.flip_bit,
                               .finds_causes = args.find_causes != 0,
                               .print = &print,
                               .json_path = args.output.json_path,
                               .frames_path = args.frames_path};
    ls_exit_code code = ls_client_run(&config, &console);
    ls_simulation_unload(&loaded);
    return code;
}
