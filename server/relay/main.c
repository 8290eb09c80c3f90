/* lockstep-relay: reads the command line, introduces players to servers behind routers, reports. */
#include "lockstep/common/program/command_line.h"
#include "lockstep/server/door/door_program.h"
#include "lockstep/server/relay/relay_options.h"

typedef struct arguments {
    ls_relay_program_config config;
    ls_output_options output;
} arguments;

static ls_status check(void *user, ls_text *why)
{
    return ls_relay_options_check(&((const arguments *)user)->config, why);
}

int main(int argc, char **argv)
{
    arguments args = {.config = ls_relay_options_default(), .output = {.level = LS_LOG_INFO}};
    const ls_command_line line = {
        .summary = "Brings players to servers behind routers, directly or through itself.",
        .ending = "A server registers with lockstep-server --publish HOST[:PORT]; its code joins: "
                  "lockstep-client CODE@HOST[:PORT].\n\n"
                  "Exit codes: 0 stopped by SIGINT or SIGTERM, 1 environment or network, 2 usage, "
                  "4 internal.",
        .parts = {{&ls_relay_settings, &args.config, NULL},
                  {&ls_output_settings, &args.output, NULL}},
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);
    args.config.json_path = args.output.json_path;

    ls_console console;
    ls_console_init(&console, "lockstep-relay", args.output.level);
    ls_console_set_format(&console, args.config.log_format);
    ls_console_never_wait(&console);
    ls_exit_code code = args.config.is_door ? ls_door_program_run(&console)
                                            : ls_relay_program_run(&args.config, &console);
    ls_console_deinit(&console);
    return code;
}
