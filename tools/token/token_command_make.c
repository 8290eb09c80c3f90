#include "lockstep/common/program/token_key.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/private_file.h"
#include "lockstep/common/system/tty.h"
#include "lockstep/tools/token/token_command.h"

#include <stdio.h>
#include <string.h>

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
    if (status == LS_OK) {
        status = save(options->out_path, token, why);
    }
    ls_token_wipe(&key, sizeof key);
    ls_token_wipe(&config, sizeof config);
    ls_token_wipe(token, sizeof token);
    return status;
}

ls_status token_new_key(const token_options *options, ls_text *why)
{
    ls_token_key old = {.count = 0};
    ls_status status = options->old_path ? ls_token_key_read(options->old_path, &old, why) : LS_OK;
    if (status == LS_OK) {
        status = ls_token_key_make(options->file, options->old_path ? &old : NULL, why);
    }
    ls_token_wipe(&old, sizeof old);
    if (status == LS_OK) {
        printf("%s is a new key for connect tokens. Give it to your back end and your servers.\n",
               options->file);
    }
    return status;
}
