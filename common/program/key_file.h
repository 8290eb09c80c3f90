/* Key file: a private file with secrets as text: a line that says what it is, a line that warns,
 * and a line "NAME HEX" for each secret. Called by server_identity and token_key. */
#ifndef LOCKSTEP_COMMON_PROGRAM_KEY_FILE_H
#define LOCKSTEP_COMMON_PROGRAM_KEY_FILE_H

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

/* The same in place of a file that may be there. IO. */
ls_status ls_key_file_replace(const char *path, const ls_key_file *file, ls_text *why);

/* Reads a secret of `size` bytes that was written as 2 * `size` hexadecimal digits and nothing
 * else; false when it was not, and `bytes` are of no use. */
bool ls_key_file_read_hex(const char *text, uint8_t *bytes, size_t size);

#endif
