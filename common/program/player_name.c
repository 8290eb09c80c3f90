#include "lockstep/common/program/player_name.h"

#include <utf8proc.h>

enum {
    COLUMNS = 16,
    COMPOSED_MAX = 128, /* code points: more than a name has bytes */
};

static bool is_space(utf8proc_int32_t point)
{
    return utf8proc_category(point) == UTF8PROC_CATEGORY_ZS;
}

/* Letters, marks, numbers, punctuation, symbols and spaces: the categories in Unicode's order. */
static bool is_seen(utf8proc_int32_t point)
{
    utf8proc_category_t category = utf8proc_category(point);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ZS;
}

/* Where the text without the spaces around it begins and how long it is. */
static ls_status trim(const char **text, size_t *size, ls_text *why)
{
    const char *begin = NULL;
    const char *end = *text;
    for (const char *at = *text; *at != '\0';) {
        utf8proc_int32_t point = 0;
        utf8proc_ssize_t bytes = utf8proc_iterate((const utf8proc_uint8_t *)at, -1, &point);
        if (bytes <= 0) {
            return ls_fail(LS_BAD_ARGUMENT, why, "--name takes UTF-8, and byte %zu is none",
                           (size_t)(at - *text) + 1);
        }
        if (!is_seen(point)) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "--name takes visible characters, and U+%04X is none", (unsigned)point);
        }
        if (!is_space(point)) {
            begin = begin ? begin : at;
            end = at + bytes;
        }
        at += bytes;
    }
    if (!begin) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--name takes a name, not blanks");
    }
    *text = begin;
    *size = (size_t)(end - begin);
    return LS_OK;
}

ls_status ls_player_name_read(const char *text, char out[LS_PLAYER_NAME_BYTES_MAX], ls_text *why)
{
    size_t size = 0;
    ls_status status = trim(&text, &size, why);
    if (status != LS_OK) {
        return status;
    }
    /* Code points, which become bytes in their place. */
    utf8proc_int32_t composed[COMPOSED_MAX + 1];
    const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    utf8proc_ssize_t bytes = utf8proc_decompose(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size, composed, COMPOSED_MAX, how);
    if (bytes >= 0 && bytes <= COMPOSED_MAX) {
        bytes = utf8proc_reencode(composed, bytes, how);
    }
    if (bytes < 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--name: %s", utf8proc_errmsg(bytes));
    }
    if (bytes >= (utf8proc_ssize_t)LS_PLAYER_NAME_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "--name takes up to %u bytes of UTF-8",
                       LS_PLAYER_NAME_BYTES_MAX - 1);
    }
    ls_name_copy(out, LS_PLAYER_NAME_BYTES_MAX, (const char *)composed);
    return LS_OK;
}

int ls_player_name_width(const char *name)
{
    int hidden = 0; /* bytes that take no column */
    utf8proc_int32_t point = 0;
    for (utf8proc_ssize_t bytes; *name != '\0'; name += bytes) {
        bytes = utf8proc_iterate((const utf8proc_uint8_t *)name, -1, &point);
        if (bytes <= 0) {
            return COLUMNS + hidden;
        }
        hidden += (int)bytes - utf8proc_charwidth(point);
    }
    return COLUMNS + hidden;
}
