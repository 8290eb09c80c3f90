/* Token key: the file with the key that a game's back end and its servers share, for connect tokens
 * (docs/tokens.md). Beside the key there may be the one before it, which still opens tokens. Called
 * by servers and lockstep-token. */
#ifndef LOCKSTEP_COMMON_PROGRAM_TOKEN_KEY_H
#define LOCKSTEP_COMMON_PROGRAM_TOKEN_KEY_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdint.h>

typedef struct ls_token_key {
    uint32_t count;                       /* 1 or 2 */
    uint8_t keys[2][LS_CIPHER_KEY_BYTES]; /* the key, and the old one */
} ls_token_key;

/* As ls_key_file_read. The caller wipes `out`. */
ls_status ls_token_key_read(const char *path, ls_token_key *out, ls_text *why);

/* Puts a file with this key alone in place of one that may be there. IO. */
ls_status ls_token_key_replace(const char *path, const uint8_t key[LS_CIPHER_KEY_BYTES],
                               ls_text *why);

/* Makes a file with a new key, and with `old`'s key beside it unless that is NULL. IO. */
ls_status ls_token_key_make(const char *path, const ls_token_key *old, ls_text *why);

#endif
