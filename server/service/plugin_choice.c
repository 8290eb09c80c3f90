#include "lockstep/server/service/plugin_choice.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    DIGITS = 2 * LS_CIPHER_SHA256_BYTES,
};

static ls_status check_digest(const char *path, const char *name, const char *sha256, ls_text *why)
{
    uint8_t digest[LS_CIPHER_SHA256_BYTES];
    char digits[DIGITS + 1];
    ls_mapped_file file;
    if (ls_mapped_file_open(path, &file, why) != LS_OK) {
        return LS_BAD_ARGUMENT;
    }
    ls_cipher_sha256(file.bytes, file.size, digest);
    ls_mapped_file_close(&file);
    ls_hex_write(digits, digest, sizeof digest);
    return strcasecmp(digits, sha256) == 0
               ? LS_OK
               : ls_fail(LS_BAD_ARGUMENT, why,
                         "the plug-in %s is not the one that the room asks for: its SHA-256 is %s",
                         name, digits);
}

bool ls_plugin_choice_is_file(const char *name)
{
    return strstr(name, ".so") != NULL || strchr(name, '/') != NULL;
}

ls_status ls_plugin_choice_find(const ls_plugin_choice *choice, char *path, size_t capacity,
                                ls_text *why)
{
    const char *name = choice->name ? choice->name : "";
    bool is_file = ls_plugin_choice_is_file(name);
    if (choice->sha256 && (!is_file || strlen(choice->sha256) != DIGITS ||
                           strspn(choice->sha256, "0123456789abcdefABCDEF") != DIGITS)) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "sha256 has the %d digits that sha256sum prints of a plug-in, beside its "
                       "name as sim",
                       DIGITS);
    }
    if (is_file && (!choice->directory || strchr(name, '/'))) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the simulation '%s' is no file of the directory of plug-ins", name);
    }
    int bytes = snprintf(path, capacity, "%s%s%s", is_file ? choice->directory : "",
                         is_file ? "/" : "", name);
    if (bytes < 0 || (size_t)bytes >= capacity) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the path of the simulation '%s' is too long", name);
    }
    return choice->sha256 ? check_digest(path, name, choice->sha256, why) : LS_OK;
}
