#include "lockstep/common/program/server_identity.h"

#include "lockstep/common/program/key_file.h"
#include "lockstep/common/system/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KIND "lockstep server identity"
#define WARNING "Whoever has this file can pose as this server, and invite others to it."

/* ---- the place ---- */

static ls_status default_path(char path[LS_IDENTITY_PATH_BYTES_MAX], ls_text *why)
{
    const char *service = getenv("STATE_DIRECTORY"); /* several are parted by ':' */
    char user[LS_IDENTITY_PATH_BYTES_MAX];
    int size = 0;
    if (service && service[0] == '/') {
        size = snprintf(path, LS_IDENTITY_PATH_BYTES_MAX, "%.*s/identity",
                        (int)strcspn(service, ":"), service);
    } else if (ls_folder_of_user(user, sizeof user)) {
        size = snprintf(path, LS_IDENTITY_PATH_BYTES_MAX, "%s/lockstep/identity", user);
    }
    if (size > 0 && size < (int)LS_IDENTITY_PATH_BYTES_MAX) {
        return LS_OK;
    }
    return ls_fail(LS_IO, why,
                   "there is no place for the server's identity: give it a file with --identity");
}

/* Makes the directories above the file, for their owner alone. */
static ls_status make_directories(const char *path, ls_text *why)
{
    char above[LS_IDENTITY_PATH_BYTES_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        size_t size = (size_t)(slash - path);
        memcpy(above, path, size);
        above[size] = '\0';
        if (!ls_folder_make(above, true) && errno != EEXIST && errno != EROFS && errno != EACCES) {
            return ls_fail(LS_IO, why, "cannot make the directory %s: %s", above, strerror(errno));
        }
    }
    return LS_OK;
}

/* ---- the file ---- */

static ls_status draw(ls_server_identity *identity, ls_text *why)
{
    if (ls_cipher_init() != LS_OK) {
        return ls_fail(LS_IO, why, "the system has no random bytes to give");
    }
    ls_cipher_random(identity->keys.private_key, sizeof identity->keys.private_key);
    ls_cipher_random(identity->invite_secret, sizeof identity->invite_secret);
    return LS_OK;
}

static ls_status make(ls_server_identity *identity, const ls_key_file *file, ls_text *why)
{
    ls_status status = draw(identity, why);
    LS_THEN(status, ls_key_file_make(identity->path, file, why));
    identity->was_made = status == LS_OK;
    return status;
}

/* Two servers that start together on one machine have one identity: the second reads what the first
 * made. */
static ls_status read_or_make(ls_server_identity *identity, bool has_default_path, ls_text *why)
{
    ls_key_file_secret secrets[] = {
        {.name = "private-key",
         .bytes = identity->keys.private_key,
         .size = sizeof identity->keys.private_key},
        {.name = "invite-secret",
         .bytes = identity->invite_secret,
         .size = sizeof identity->invite_secret},
    };
    const ls_key_file file = {KIND, WARNING, secrets, 2};
    ls_status status = ls_key_file_read(identity->path, &file, why);
    if (status != LS_NOT_FOUND) {
        return status;
    }
    status = has_default_path ? make_directories(identity->path, why) : LS_OK;
    LS_THEN(status, make(identity, &file, why));
    if (status != LS_OK && ls_key_file_read(identity->path, &file, NULL) == LS_OK) {
        status = LS_OK;
    }
    return status;
}

ls_status ls_server_identity_open(const char *path, ls_server_identity *out, ls_text *why)
{
    ls_server_identity identity;
    memset(&identity, 0, sizeof identity);
    ls_status status = LS_OK;
    if (!path) {
        status = default_path(identity.path, why);
    } else if (strlen(path) >= sizeof identity.path) {
        status = ls_fail(LS_BAD_ARGUMENT, why, "the path of the identity is too long");
    } else {
        memcpy(identity.path, path, strlen(path));
    }
    if (status == LS_OK) {
        status =
            identity.path[0] == '\0' ? draw(&identity, why) : read_or_make(&identity, !path, why);
        if (status == LS_IO && !path) {
            ls_text_add(why, "; --identity FILE has it at another place");
        }
    }
    if (status == LS_OK) {
        ls_key_pair_from_private(identity.keys.private_key, &identity.keys);
        *out = identity;
    }
    ls_server_identity_wipe(&identity);
    return status;
}

void ls_server_identity_wipe(ls_server_identity *identity)
{
    ls_cipher_wipe(identity, sizeof *identity);
}
