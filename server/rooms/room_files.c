#include "lockstep/server/rooms/room_files.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    FOLDER_BYTES_MAX = 512,
    DIGITS = 2 * LS_CIPHER_SHA256_BYTES,
};

/* Calls it as often as there are lines until it says that this is the one. */
static bool find_line(const char *lines, const char *wanted,
                      int (*compare)(const char *, const char *, size_t))
{
    size_t size;
    for (const char *line = lines ? lines : ""; *line != '\0'; line += size + 1) {
        size = strcspn(line, "\n");
        if (size == strlen(wanted) && compare(line, wanted, size) == 0) {
            return true;
        }
    }
    return false;
}

/* From the first folder that has it. */
static ls_status open_beneath(const ls_room_files *files, const char *path, ls_mapped_file *out,
                              ls_text *why)
{
    char folder[FOLDER_BYTES_MAX];
    size_t size;
    ls_status status = ls_fail(LS_BAD_ARGUMENT, why,
                               "this service takes no files: its configuration names their "
                               "folders with `files`");
    for (const char *line = files->folders ? files->folders : "";
         *line != '\0' && (status == LS_BAD_ARGUMENT || status == LS_NOT_FOUND); line += size + 1) {
        size = strcspn(line, "\n");
        snprintf(folder, sizeof folder, "%.*s", (int)size, line);
        status = ls_mapped_file_open_beneath(folder, path, out, why);
        if (status == LS_OK || status == LS_BAD_ARGUMENT) {
            return status;
        }
    }
    return status;
}

static ls_status open_file(void *user, const char *assignment, ls_mapped_file *out, ls_text *why)
{
    ls_room_files *files = user;
    const char *path = strchr(assignment, '=') + 1;
    if (find_line(files->named, assignment, strncmp)) {
        return ls_mapped_file_open(path, out, why);
    }
    ls_status status = open_beneath(files, path, out, why);
    files->is_foreign = files->is_foreign || status == LS_OK;
    return status == LS_OK ? LS_OK : LS_BAD_ARGUMENT;
}

static ls_status check_file(void *user, const ls_param *param, const uint8_t *bytes, size_t size,
                            ls_text *why)
{
    const ls_room_files *files = user;
    uint8_t digest[LS_CIPHER_SHA256_BYTES];
    char digits[DIGITS + 1];
    if (strcmp(param->unit, LS_PARAM_UNIT_CODE) != 0) {
        return LS_OK;
    }
    ls_cipher_sha256(bytes, size, digest);
    ls_hex_write(digits, digest, sizeof digest);
    return find_line(files->code, digits, strncasecmp)
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "--param %s: this service runs no code of which its configuration does "
                         "not list the SHA-256 with `code`",
                         param->name);
}

ls_param_gate ls_room_files_gate(ls_room_files *files)
{
    return (ls_param_gate){.open = open_file, .check = check_file, .user = files};
}
