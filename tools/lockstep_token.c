/* lockstep-token: reads the command line, makes or shows a connect token, or makes a key. */
#include "lockstep/common/base/log.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/exit_code.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/tools/token/token_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct token_command {
    const char *name;
    const char *help;
    bool has_file;
    ls_status (*work)(const token_options *options, ls_text *why);
} token_command;

static const token_command commands[] = {
    {"make", ": a token, with --key, --client-id and --server, to --out", false, token_make},
    {"show", " FILE|-: what is in a token; with --key in its private part, too", true, token_show},
    {"new-key", " FILE: a file with a new key, which its owner alone can read", true,
     token_new_key},
};

enum {
    COMMAND_COUNT = sizeof commands / sizeof commands[0],
    EXPIRES_S_MAX = 31 * 86400,
};

enum option_group {
    GROUP_ANY = 1,
    GROUP_MAKE,
    GROUP_OTHERS,
};

typedef struct arguments {
    const token_command *command;
    token_options options;
} arguments;

#define FIELD(member) .offset = offsetof(arguments, member)

static ls_status read_protocol_id(void *target, char *value, ls_text *why)
{
    return ls_option_id("protocol-id", value, &((arguments *)target)->options.protocol_id, why);
}

static ls_status read_client_id(void *target, char *value, ls_text *why)
{
    token_options *options = &((arguments *)target)->options;
    options->has_client_id = true;
    return ls_option_id("client-id", value, &options->client_id, why);
}

static ls_status read_seat(void *target, char *value, ls_text *why)
{
    token_options *options = &((arguments *)target)->options;
    ls_token_admission *admission = &options->admission;
    uint64_t seat = 0;
    options->has_admission = true;
    if (strcmp(value, "any") == 0) {
        admission->place = LS_TOKEN_PLACE_ANY;
    } else if (strcmp(value, "spectator") == 0) {
        admission->place = LS_TOKEN_PLACE_SPECTATOR;
    } else if (ls_option_number("seat", value, (ls_option_range){0, LS_PLAYERS_MAX - 1}, &seat,
                                NULL) == LS_OK) {
        admission->place = LS_TOKEN_PLACE_SEAT;
    } else {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "--seat takes a number from 0 to %u, any or spectator, not '%s'",
                       LS_PLAYERS_MAX - 1, value);
    }
    admission->seat = (uint32_t)seat;
    return LS_OK;
}

static ls_status read_match(void *target, char *value, ls_text *why)
{
    token_options *options = &((arguments *)target)->options;
    options->has_admission = true;
    if (strlen(value) >= sizeof options->admission.match) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--match takes up to %zu bytes of UTF-8",
                       sizeof options->admission.match - 1);
    }
    memcpy(options->admission.match, value, strlen(value) + 1);
    return LS_OK;
}

static ls_status read_name(void *target, char *value, ls_text *why)
{
    token_options *options = &((arguments *)target)->options;
    options->has_admission = true;
    return ls_player_name_read(value, options->admission.name, why);
}

static const ls_setting_row rows[] = {
    {LS_SETTING_IS_TEXT, FIELD(options.key_path), .flag = "key", .letter = 'k', .argument = "FILE",
     .group = GROUP_ANY, .help = "The key that your back end and your servers share"},
    {LS_SETTING_IS_HEADING, .group = GROUP_MAKE, .help = "With make:"},
    {LS_SETTING_IS_TEXT, FIELD(options.servers), .flag = "server", .argument = "HOST[:PORT],...",
     .group = GROUP_MAKE, .help = "Servers that the player may try, in this order, up to 32"},
    {LS_SETTING_IS_READ, .read = read_client_id, .flag = "client-id", .argument = "N",
     .default_text = "", .group = GROUP_MAKE,
     .help = "The player's number in your accounts, in decimal or behind 0x in hexadecimal"},
    {LS_SETTING_IS_READ, .read = read_protocol_id, .flag = "protocol-id", .argument = "N",
     .default_text = "\"LOCKSTEP\" as a number", .group = GROUP_MAKE,
     .help = "Your game's number, likewise: servers take tokens of theirs alone"},
    {LS_SETTING_IS_U32, FIELD(options.expires_s), .min = 1, .max = EXPIRES_S_MAX, .flag = "expires",
     .argument = "S", .group = GROUP_MAKE, .help = "The token is good for so many seconds"},
    {LS_SETTING_IS_U32, FIELD(options.timeout_s), .min = 1, .max = 3600, .flag = "timeout",
     .argument = "S|none", .other = "none",
     .other_offset = offsetof(arguments, options.has_no_timeout), .group = GROUP_MAKE,
     .help = "The client gives a server up that does not answer for so many seconds"},
    {LS_SETTING_IS_READ, .read = read_seat, .flag = "seat", .argument = "N|any|spectator",
     .default_text = "any", .group = GROUP_MAKE,
     .help = "The seat that the token opens, from 0 on, or none but to watch"},
    {LS_SETTING_IS_READ, .read = read_match, .flag = "match", .argument = "NAME",
     .default_text = "any", .group = GROUP_MAKE, .help = "The match, by its name or its id"},
    {LS_SETTING_IS_READ, .read = read_name, .flag = "name", .argument = "NAME",
     .default_text = "as the player says", .group = GROUP_MAKE, .help = "The player's name"},
    {LS_SETTING_IS_TEXT, FIELD(options.out_path), .flag = "out", .letter = 'o',
     .argument = "FILE|-", .group = GROUP_MAKE,
     .help = "A new file for the token, which its owner alone can read, or standard output"},
    {LS_SETTING_IS_HEADING, .group = GROUP_OTHERS, .help = "With the other commands:"},
    {LS_SETTING_IS_SWITCH, FIELD(options.shows_secrets), .flag = "show-secrets",
     .group = GROUP_OTHERS, .help = "show: print the keys of the connection as well"},
    {LS_SETTING_IS_TEXT, FIELD(options.old_path), .flag = "old", .argument = "FILE",
     .group = GROUP_OTHERS,
     .help = "new-key: keep the key of this file beside the new one, so that servers with the new "
             "file still take its tokens"},
};

static const ls_setting_table table = {rows, sizeof rows / sizeof rows[0]};

static ls_status read_word(void *user, char *word, ls_text *why)
{
    arguments *args = user;
    for (uint32_t i = 0; !args->command && i < COMMAND_COUNT; i++) {
        if (strcmp(word, commands[i].name) == 0) {
            args->command = &commands[i];
            return LS_OK;
        }
    }
    if (!args->command) {
        return ls_fail(LS_BAD_ARGUMENT, why, "'%s' is no command: make, show, new-key", word);
    }
    if (!args->command->has_file || args->options.file) {
        return ls_fail(LS_BAD_ARGUMENT, why, "unexpected argument '%s'", word);
    }
    args->options.file = word;
    return LS_OK;
}

static ls_status check(void *user, ls_text *why)
{
    arguments *args = user;
    const token_options *options = &args->options;
    if (!args->command) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the command is missing: make, show, new-key");
    }
    if (args->command->has_file && !options->file) {
        return ls_fail(LS_BAD_ARGUMENT, why, "%s takes a FILE", args->command->name);
    }
    if (args->command->work == token_make &&
        (!options->key_path || !options->servers || !options->has_client_id)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "make takes %s",
                       !options->key_path  ? "--key FILE"
                       : !options->servers ? "--server HOST[:PORT]"
                                           : "--client-id N");
    }
    return LS_OK;
}

static void print_commands(FILE *file)
{
    fprintf(file, "Commands:\n");
    for (uint32_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(file, "  %s%s\n", commands[i].name, commands[i].help);
    }
}

int main(int argc, char **argv)
{
    arguments args = {.options = {.out_path = "-",
                                  .protocol_id = LS_TOKEN_PROTOCOL_ID,
                                  .expires_s = 300,
                                  .timeout_s = 15,
                                  .now_s = (uint64_t)time(NULL)}};
    const ls_command_line line = {
        .summary = "Makes and shows connect tokens, with which a game's back end lets players in.",
        .words = "COMMAND [FILE]",
        .print_lists = print_commands,
        .ending = "A token lets anybody in who has it, once: hand it to its player over TLS "
                  "alone.\n\n"
                  "Exit codes: 0 done, 1 a file cannot be read or made, or a token is malformed, "
                  "altered or of another key, 2 usage, 4 internal.",
        .parts = {{&table, &args, NULL}},
        .read_word = read_word,
        .check = check,
        .user = &args,
    };
    ls_command_line_read(&line, argc, argv);

    const ls_log log = ls_log_stderr("lockstep-token", LS_LOG_INFO);
    ls_text why = {{0}};
    ls_status status = args.command->work(&args.options, &why);
    return ls_exit_report(&log, status, &why);
}
