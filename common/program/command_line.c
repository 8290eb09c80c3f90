#define _GNU_SOURCE
#include "lockstep/common/program/command_line.h"

#include "lockstep/common/program/exit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SETTING_GROUP = 1,
    OUTPUT_GROUP = 8, /* in --help: behind what a program does, before what is odd */
};

enum output_key {
    KEY_QUIET = 'q',
    KEY_VERBOSE = 'v',
    KEY_JSON = 0x100,
};

enum setting_key {
    KEY_PARAM = 'p',
    KEY_PLAYERS = 'n',
    KEY_TICK_RATE = 0x100,
    KEY_SEED,
};

static error_t parse_output(int key, char *value, struct argp_state *state)
{
    ls_output_options *output = state->input;
    switch (key) {
    case KEY_JSON:
        output->json_path = value;
        return 0;
    case KEY_QUIET:
        output->level = LS_LOG_WARNING;
        return 0;
    case KEY_VERBOSE:
        output->level = LS_LOG_DEBUG;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp ls_output_argp = {
    .options =
        (const struct argp_option[]){
            {0, 0, 0, 0, "Output:", OUTPUT_GROUP},
            {"json", KEY_JSON, "FILE|-", 0, "Write a summary as JSON at the end", OUTPUT_GROUP},
            {"quiet", KEY_QUIET, 0, 0, "Show warnings and errors only", OUTPUT_GROUP},
            {"verbose", KEY_VERBOSE, 0, 0, "Show more", OUTPUT_GROUP},
            {0}},
    .parser = parse_output,
};

static error_t parse_setting(int key, char *value, struct argp_state *state)
{
    ls_setting_options *settings = state->input;
    switch (key) {
    case KEY_PARAM:
        if (settings->assignment_count == LS_PARAMS_MAX) {
            argp_error(state, "--param may be given %u times at most", LS_PARAMS_MAX);
            return 0;
        }
        settings->assignments[settings->assignment_count++] = value;
        return 0;
    case KEY_PLAYERS:
        ls_command_line_number(state, "players", value, (ls_option_range){1, LS_PLAYERS_MAX},
                               &settings->players);
        return 0;
    case KEY_TICK_RATE:
        ls_command_line_number(state, "tick-rate", value,
                               (ls_option_range){LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ},
                               &settings->tick_rate);
        return 0;
    case KEY_SEED:
        ls_command_line_number(state, "seed", value, (ls_option_range){0, UINT64_MAX},
                               &settings->seed);
        settings->has_seed = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp ls_setting_argp = {
    .options =
        (const struct argp_option[]){
            {"param", KEY_PARAM, "NAME=VALUE", 0, "Set a parameter of the simulation; repeatable",
             SETTING_GROUP},
            {"players", KEY_PLAYERS, "N", 0,
             "Seats, 1 to 32; a match starts when all are taken (the simulation's default)",
             SETTING_GROUP},
            {"tick-rate", KEY_TICK_RATE, "HZ", 0,
             "Steps per second, 1 to 1000 (the simulation's default)", SETTING_GROUP},
            {"seed", KEY_SEED, "S", 0, "Seed of the simulation and of what bots do (1)",
             SETTING_GROUP},
            {0}},
    .parser = parse_setting,
};

void ls_command_line_number(struct argp_state *state, const char *name, const char *value,
                            ls_option_range range, uint64_t *out)
{
    ls_text why;
    if (ls_option_number(name, value, range, out, &why) != LS_OK) {
        argp_error(state, "%s", why.bytes);
    }
}

void ls_command_line_word(struct argp_state *state, const char *name, const char *value,
                          const char *const *words, uint32_t count, uint32_t *out)
{
    ls_text why;
    if (ls_option_word(name, value, words, count, out, &why) != LS_OK) {
        argp_error(state, "%s", why.bytes);
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    fprintf(stream, "%s %s\n", state->name, LS_VERSION);
}

static void on_abort(int signal_number)
{
    (void)signal_number;
    _exit(LS_EXIT_INTERNAL);
}

/* The caller of the program may have closed a standard stream. A socket would get its number, and
 * everything that is printed. Opened for reading, so that writing to it still fails. */
static void fill_standard_streams(void)
{
    int descriptor = open("/dev/null", O_RDONLY);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO) {
        descriptor = open("/dev/null", O_RDONLY);
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
}

/* An answer that did not get out is no answer: --help and results alike. Any other failure has been
 * reported already. */
static void check_output(int code, void *user)
{
    (void)user;
    errno = 0;
    bool has_failed = fflush(stdout) != 0 || ferror(stdout);
    if (has_failed && code == LS_EXIT_CLEAN) {
        fprintf(stderr, "%s: error: cannot write to standard output%s%s\n",
                program_invocation_short_name, errno ? ": " : "", errno ? strerror(errno) : "");
        _exit(LS_EXIT_ENVIRONMENT);
    }
}

void ls_command_line_parse(const struct argp *argp, int argc, char **argv, void *input)
{
    fill_standard_streams();
    struct sigaction action = {.sa_handler = on_abort};
    sigaction(SIGABRT, &action, NULL);
    on_exit(check_output, NULL);
    argp_err_exit_status = LS_EXIT_USAGE;
    argp_program_version_hook = print_version;
    if (argp_parse(argp, argc, argv, 0, NULL, input) != 0) {
        exit(LS_EXIT_ENVIRONMENT); /* argp ends the program itself when the line is wrong */
    }
}
