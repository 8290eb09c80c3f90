#define _POSIX_C_SOURCE 200809L
#include "lockstep/tools/token/token_command.h"

#include "lockstep/common/program/key_file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/tty.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

ls_status token_make(const token_options *options, ls_text *why)
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

ls_status token_new_key(const token_options *options, ls_text *why)
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

ls_status token_show(const token_options *options, ls_text *why)
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
