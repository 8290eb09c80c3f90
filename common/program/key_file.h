/* Key file: a private file with secrets as text: a line that says what it is, a line that warns,
 * and a line "NAME HEX" for each secret. Called by server_identity. */
#ifndef LOCKSTEP_COMMON_PROGRAM_KEY_FILE_H
#define LOCKSTEP_COMMON_PROGRAM_KEY_FILE_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ls_key_file_secret {
    const char *name; /* without blanks */
    uint8_t *bytes;
    size_t size;      /* 1 .. 32 */
    bool is_optional; /* reading: may be missing; making: is left out unless `is_there` */
    bool is_there;    /* reading: was found */
} ls_key_file_secret;

typedef struct ls_key_file {
    const char *kind;    /* "lockstep token key": the first line, before its version, 1 */
    const char *warning; /* of one line */
    ls_key_file_secret *secrets;
    uint32_t count; /* 1 .. 4 */
} ls_key_file;

/* NOT_FOUND and IO as private_file.h has them; MALFORMED when the file is of another kind or cut
 * short. `why` is a whole sentence. The secrets hold nothing of use after a failure. */
ls_status ls_key_file_read(const char *path, const ls_key_file *file, ls_text *why);

/* IO with the reason, also when there is such a file already. */
ls_status ls_key_file_make(const char *path, const ls_key_file *file, ls_text *why);

/* Reads a secret of `size` bytes that was written as 2 * `size` hexadecimal digits and nothing
 * else; false when it was not, and `bytes` are of no use. */
bool ls_key_file_read_hex(const char *text, uint8_t *bytes, size_t size);

/* ---- Token key: the file with the key that a game's back end and its servers share, for
 * connect tokens (docs/tokens.md). Beside the key there may be the one before it, which
 * still opens tokens ---- */

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
