/* lockstep-token: reads the command line, makes or shows a connect token, or makes a key. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/command_line.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/key_file.h"
#include "lockstep/common/program/player_name.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/tty.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/token_user_data.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- commands: each prints its answer on standard output ---- */

typedef struct token_options {
    const char *file;     /* the word behind the command; NULL: none */
    const char *key_path; /* NULL: none */
    const char *old_path; /* new-key: the file with the key that the new one takes over from */
    const char *out_path; /* make; "-": standard output */
    const char *servers;  /* make: "HOST[:PORT],..." */
    uint64_t protocol_id;
    uint64_t client_id;
    bool has_client_id;
    uint32_t expires_s;
    uint32_t timeout_s;
    bool has_no_timeout;
    bool shows_secrets;
    ls_token_admission admission;
    bool has_admission; /* otherwise the user data is zeros */
    uint64_t now_s;     /* seconds since 1970 */
} token_options;

/* ---- making ---- */

static ls_status fill(const token_options *options, ls_token_config *config, ls_text *why)
{
    *config = ls_token_config_default();
    config->protocol_id = options->protocol_id;
    config->create_s = options->now_s;
    config->expire_s = options->now_s + options->expires_s;
    config->claims.client_id = options->client_id;
    config->claims.timeout_s = options->has_no_timeout ? -1 : (int32_t)options->timeout_s;
    if (options->has_admission) {
        ls_status status =
            ls_token_user_data_write(&options->admission, config->claims.user_data, why);
        if (status != LS_OK) {
            return status;
        }
    }
    return ls_token_servers_parse(options->servers, "server", &config->claims.list, why);
}

static ls_status save(const char *path, const uint8_t token[LS_TOKEN_BYTES], ls_text *why)
{
    if (strcmp(path, "-") == 0) {
        return ls_output_write_bytes(path, "token", token, LS_TOKEN_BYTES, why);
    }
    return ls_private_file_make(path, "token", token, LS_TOKEN_BYTES, why);
}

/* Refused with a sentence in `why`: BAD_ARGUMENT for a line that cannot be right, MALFORMED for a
 * token that is none, REFUSED for one whose private part does not open, IO and others. */
static ls_status token_make(const token_options *options, ls_text *why)
{
    ls_token_key key;
    ls_token_config config;
    uint8_t token[LS_TOKEN_BYTES];
    if (strcmp(options->out_path, "-") == 0 && ls_tty_is(LS_TTY_OUTPUT)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a token is no text for a terminal: give --out FILE");
    }
    ls_status status = fill(options, &config, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_token_key_read(options->key_path, &key, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_token_make(&config, key.keys[0], token, why);
    LS_THEN(status, save(options->out_path, token, why));
    ls_token_wipe(&key, sizeof key);
    ls_token_wipe(&config, sizeof config);
    ls_token_wipe(token, sizeof token);
    return status;
}

static ls_status token_new_key(const token_options *options, ls_text *why)
{
    ls_token_key old = {.count = 0};
    ls_status status = options->old_path ? ls_token_key_read(options->old_path, &old, why) : LS_OK;
    LS_THEN(status, ls_token_key_make(options->file, options->old_path ? &old : NULL, why));
    ls_token_wipe(&old, sizeof old);
    if (status == LS_OK) {
        printf("%s is a new key for connect tokens. Give it to your back end and your servers.\n",
               options->file);
    }
    return status;
}

/* ---- showing ---- */

enum {
    NAME_COLUMNS = 15,
};

static ls_status load(const char *path, uint8_t bytes[LS_TOKEN_BYTES], size_t *size, ls_text *why)
{
    bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "rb");
    if (!file) {
        return ls_fail(LS_IO, why, "cannot read %s: %s", path, strerror(errno));
    }
    *size = fread(bytes, 1, LS_TOKEN_BYTES, file);
    bool has_more = *size == LS_TOKEN_BYTES && fgetc(file) != EOF;
    bool has_failed = ferror(file) != 0;
    int error = errno;
    if (!is_input) {
        fclose(file);
    }
    if (has_failed) {
        return ls_fail(LS_IO, why, "cannot read %s: %s", path, strerror(error));
    }
    return has_more || *size < LS_TOKEN_BYTES
               ? ls_fail(LS_MALFORMED, why, "%s is no connect token: a token has %u bytes, %s",
                         path, LS_TOKEN_BYTES,
                         has_more ? "and this has more" : "and this has fewer")
               : LS_OK;
}

static void say_bytes(const char *name, const uint8_t *bytes, size_t size)
{
    printf("%-*s", NAME_COLUMNS, name);
    for (size_t i = 0; i < size; i++) {
        printf("%02x", bytes[i]);
    }
    printf("\n");
}

/* "2026-11-23 03:05:11 UTC", or the number where a calendar has no such day. */
static void say_time(const char *name, uint64_t seconds)
{
    char text[64];
    struct tm parts;
    time_t when = (time_t)seconds;
    printf("%-*s", NAME_COLUMNS, name);
    if (seconds < UINT64_C(1) << 40 && gmtime_r(&when, &parts) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) > 0) {
        printf("%s", text);
    } else {
        printf("%" PRIu64 " s after 1970", seconds);
    }
}

static void say_servers(const ls_token_server_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&list->servers[i], text);
        printf("%-*s%s\n", NAME_COLUMNS, i == 0 ? "servers" : "", text);
    }
}

static void say_keys(const ls_token_keys *keys)
{
    say_bytes("client key", keys->client_to_server, LS_TOKEN_KEY_BYTES);
    say_bytes("server key", keys->server_to_client, LS_TOKEN_KEY_BYTES);
}

static void say_public(const ls_token *token, const token_options *options)
{
    printf("%-*s0x%016" PRIx64 "\n", NAME_COLUMNS, "protocol id", token->protocol_id);
    say_time("made", token->create_s);
    printf("\n");
    say_time("expires", token->expire_s);
    bool has_expired = token->expire_s <= options->now_s;
    if (has_expired) {
        printf(", %" PRIu64 " s ago\n", options->now_s - token->expire_s);
    } else {
        printf(", in %" PRIu64 " s\n", token->expire_s - options->now_s);
    }
    if (token->timeout_s < 0) {
        printf("%-*snone\n", NAME_COLUMNS, "timeout");
    } else {
        printf("%-*s%" PRId32 " s\n", NAME_COLUMNS, "timeout", token->timeout_s);
    }
    say_servers(&token->list);
    say_bytes("token", token->private_part + LS_TOKEN_PRIVATE_BYTES - LS_TOKEN_ID_BYTES,
              LS_TOKEN_ID_BYTES);
    if (options->shows_secrets) {
        say_keys(&token->keys);
    }
}

static void say_user_data(const uint8_t user_data[LS_TOKEN_USER_DATA_BYTES])
{
    static const char *const places[] = {"any", "", "spectator"};
    ls_token_admission admission;
    ls_text why = {{0}};
    if (ls_token_user_data_read(user_data, &admission, &why) != LS_OK) {
        printf("%-*snot of Lockstep: %s\n", NAME_COLUMNS, "user data", why.bytes);
        return;
    }
    if (admission.place == LS_TOKEN_PLACE_SEAT) {
        printf("%-*s%" PRIu32 "\n", NAME_COLUMNS, "seat", admission.seat);
    } else {
        printf("%-*s%s\n", NAME_COLUMNS, "seat", places[admission.place]);
    }
    printf("%-*s%s\n", NAME_COLUMNS, "match", admission.match[0] ? admission.match : "any");
    printf("%-*s%s\n", NAME_COLUMNS, "name",
           admission.name[0] ? admission.name : "as the player says");
}

/* Whether the two parts say the same, as those of an unaltered token do. */
static bool agrees(const ls_token *token, const ls_token_claims *claims)
{
    bool is_same = token->timeout_s == claims->timeout_s &&
                   token->list.count == claims->list.count &&
                   memcmp(&token->keys, &claims->keys, sizeof token->keys) == 0;
    for (uint32_t i = 0; is_same && i < token->list.count; i++) {
        is_same = ls_endpoint_is_equal(&token->list.servers[i], &claims->list.servers[i]);
    }
    return is_same;
}

static ls_status show_private(const ls_token *token, const token_options *options, ls_text *why)
{
    ls_token_key key;
    ls_token_claims claims;
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    ls_status status = ls_token_key_read(options->key_path, &key, why);
    if (status != LS_OK) {
        return status;
    }
    ls_token_check check = {.protocol_id = token->protocol_id, .key_count = key.count};
    memcpy(check.keys, key.keys, sizeof check.keys);
    ls_token_write_envelope(token, envelope);
    /* One that has expired can be looked at like any other. */
    ls_token_refusal refusal = ls_token_open(envelope, &check, 0, &claims);
    ls_token_wipe(&key, sizeof key);
    ls_token_wipe(&check, sizeof check);
    if (refusal != LS_TOKEN_REFUSAL_NONE) {
        return ls_fail(LS_REFUSED, why, "its private part does not open with %s: %s",
                       options->key_path, ls_token_refusal_text(refusal));
    }
    printf("%-*s0x%016" PRIx64 "\n", NAME_COLUMNS, "client id", claims.client_id);
    say_user_data(claims.user_data);
    if (!agrees(token, &claims)) {
        status = ls_fail(LS_REFUSED, why,
                         "its public part was altered: it differs from the private one");
    }
    ls_token_wipe(&claims, sizeof claims);
    return status;
}

static ls_status token_show(const token_options *options, ls_text *why)
{
    uint8_t bytes[LS_TOKEN_BYTES];
    ls_token token;
    size_t size = 0;
    ls_status status = load(options->file, bytes, &size, why);
    if (status != LS_OK) {
        return status;
    }
    ls_token_refusal refusal = ls_token_read(bytes, size, options->now_s, &token);
    ls_token_wipe(bytes, sizeof bytes);
    if (refusal == LS_TOKEN_REFUSAL_MALFORMED) {
        return ls_fail(LS_MALFORMED, why, "%s cannot be used: %s", options->file,
                       ls_token_refusal_text(refusal));
    }
    say_public(&token, options);
    if (options->key_path) {
        status = show_private(&token, options, why);
    }
    ls_token_wipe(&token, sizeof token);
    return status;
}

/* ---- the program ---- */

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
