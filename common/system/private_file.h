/* Private file: a small file that its owner alone may read: keys, tokens, secrets. Is written whole
 * or not at all, or grows at its end; is refused where others could have read or changed it:
 * anybody but its owner, who is this user or root, and, of root's, the group that it is for.
 * Called by key_file and by programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_PRIVATE_FILE_H
#define LOCKSTEP_COMMON_SYSTEM_PRIVATE_FILE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/file.h"

#include <stddef.h>
#include <stdint.h>

/* A path that begins so is one below the folder where systemd, or what starts this program in its
 * place, has put the secrets of the service. */
#define LS_PRIVATE_FILE_CREDENTIALS "$CREDENTIALS_DIRECTORY"

/* The path; or the place of such a one, in `whole`; NULL: the system gave none. */
#define LS_PRIVATE_FILE_PATH_BYTES_MAX 4096u
const char *ls_private_file_path(const char *path, char whole[LS_PRIVATE_FILE_PATH_BYTES_MAX]);

/* ls_file_look of such a path, or of another one. */
bool ls_private_file_look(const char *path, ls_file_facts *out);

/* Up to `capacity` bytes of the file; *size says how many. NOT_FOUND when there is none, IO with
 * the reason when it cannot be read, is longer, belongs to another user, or others may read it. */
ls_status ls_private_file_read(const char *path, uint8_t *bytes, size_t capacity, size_t *size,
                               ls_text *why);

/* Makes the file with mode 0600; `what` it is stands in the sentence about a failure. IO with the
 * reason, also when there is one already. */
ls_status ls_private_file_make(const char *path, const char *what, const uint8_t *bytes,
                               size_t size, ls_text *why);

/* The same in place of a file that is there: at any moment the old one or the new one is there,
 * whole. */
ls_status ls_private_file_replace(const char *path, const char *what, const uint8_t *bytes,
                                  size_t size, ls_text *why);

/* Adds to the end of a file that is there, and waits for the disk. After a failure some of the
 * bytes may be there. */
ls_status ls_private_file_append(const char *path, const char *what, const uint8_t *bytes,
                                 size_t size, ls_text *why);

#endif
