#include "lockstep/server/broadcast/broadcast_path.h"

#include "lockstep/common/base/hex.h"

#include <stddef.h>
#include <string.h>

enum {
    ID_DIGITS = 16,
    NUMBER_DIGITS_MAX = 8,
};

/* Behind the digits; NULL: they are not there. */
static const char *read_id(const char *text, uint64_t *out)
{
    return ls_hex_read_number(text, ID_DIGITS, out) ? text + ID_DIGITS : NULL;
}

/* Without zeros before it. */
static const char *read_number(const char *text, uint32_t *out)
{
    size_t size = strspn(text, "0123456789");
    *out = 0;
    if (size == 0 || size > NUMBER_DIGITS_MAX || (size > 1 && text[0] == '0')) {
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        *out = *out * 10 + (uint32_t)(text[i] - '0');
    }
    return text + size;
}

bool ls_broadcast_path_read(const char *path, ls_broadcast_path *out)
{
    ls_broadcast_path read = {LS_BROADCAST_PATH_LIST, 0, 0};
    size_t root = sizeof LS_BROADCAST_ROOT - 1;
    if (strncmp(path, LS_BROADCAST_ROOT, root) != 0) {
        return false;
    }
    const char *at = path + root;
    if (*at != '\0') {
        at = *at == '/' ? read_id(at + 1, &read.match_id) : NULL;
        read.kind = LS_BROADCAST_PATH_INDEX;
    }
    if (at && *at != '\0') {
        at = *at == '/' ? read_number(at + 1, &read.segment) : NULL;
        read.kind = LS_BROADCAST_PATH_SEGMENT;
    }
    if (!at || *at != '\0') {
        return false;
    }
    *out = read;
    return true;
}
