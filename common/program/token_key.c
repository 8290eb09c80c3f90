#include "lockstep/common/program/token_key.h"

#include "lockstep/common/program/key_file.h"

#include <string.h>

#define KIND "lockstep token key"
#define WARNING "Whoever has this file can let anybody in. Your back end and your servers have it."

ls_status ls_token_key_read(const char *path, ls_token_key *out, ls_text *why)
{
    ls_token_key read;
    memset(&read, 0, sizeof read);
    ls_key_file_secret secrets[] = {
        {.name = "key", .bytes = read.keys[0], .size = LS_CIPHER_KEY_BYTES},
        {.name = "old-key",
         .bytes = read.keys[1],
         .size = LS_CIPHER_KEY_BYTES,
         .is_optional = true},
    };
    const ls_key_file file = {KIND, WARNING, secrets, 2};
    ls_status status = ls_key_file_read(path, &file, why);
    if (status == LS_OK) {
        read.count = secrets[1].is_there ? 2 : 1;
        *out = read;
    }
    ls_cipher_wipe(&read, sizeof read);
    return status;
}

ls_status ls_token_key_make(const char *path, const ls_token_key *old, ls_text *why)
{
    uint8_t keys[2][LS_CIPHER_KEY_BYTES] = {{0}};
    ls_key_file_secret secrets[] = {
        {.name = "key", .bytes = keys[0], .size = LS_CIPHER_KEY_BYTES},
        {.name = "old-key",
         .bytes = keys[1],
         .size = LS_CIPHER_KEY_BYTES,
         .is_optional = true,
         .is_there = old != NULL},
    };
    if (ls_cipher_init() != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random bytes to give");
    }
    ls_cipher_random(keys[0], LS_CIPHER_KEY_BYTES);
    if (old) {
        memcpy(keys[1], old->keys[0], LS_CIPHER_KEY_BYTES);
    }
    const ls_key_file file = {KIND, WARNING, secrets, 2};
    ls_status status = ls_key_file_make(path, &file, why);
    ls_cipher_wipe(keys, sizeof keys);
    return status;
}

ls_status ls_token_key_replace(const char *path, const uint8_t key[LS_CIPHER_KEY_BYTES],
                               ls_text *why)
{
    uint8_t bytes[LS_CIPHER_KEY_BYTES];
    memcpy(bytes, key, sizeof bytes);
    ls_key_file_secret secret = {.name = "key", .bytes = bytes, .size = sizeof bytes};
    const ls_key_file file = {KIND, WARNING, &secret, 1};
    ls_status status = ls_key_file_replace(path, &file, why);
    ls_cipher_wipe(bytes, sizeof bytes);
    return status;
}
