/* Server identity: the key pair by which clients know a server, and the secret of its invites, in a
 * file that is made on first use. Owns the place of that file and nothing else. Called by
 * lockstep-server. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SERVER_IDENTITY_H
#define LOCKSTEP_COMMON_PROGRAM_SERVER_IDENTITY_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_IDENTITY_PATH_BYTES_MAX 4096u

typedef struct ls_server_identity {
    ls_key_pair keys;
    uint8_t invite_secret[LS_SECRET_BYTES]; /* for a server that lets only the invited in */
    bool was_made;                          /* just now: there was none */
    char path[LS_IDENTITY_PATH_BYTES_MAX];
} ls_server_identity;

/* Reads the identity from `path`, or makes it there. NULL: "identity" in the first place that there
 * is of $STATE_DIRECTORY, where systemd keeps a service's files, and "lockstep" in
 * ls_folder_of_user, whose directories are made too; "": one that no file keeps. Statuses and
 * sentences as ls_key_file_read; IO as well when it cannot be made. The caller wipes `out`. */
ls_status ls_server_identity_open(const char *path, ls_server_identity *out, ls_text *why);

void ls_server_identity_wipe(ls_server_identity *identity);

#endif
