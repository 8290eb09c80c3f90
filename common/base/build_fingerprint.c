#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/build_fingerprint.h"

#include "lockstep/common/base/language.h"

#include <string.h>

#define CUT '~' /* the end of a text that was longer */

/* Those of version 0.1.0 are always written, so that files without newer ones stay as they were. */
#define FIRST_ITEMS (LS_PRINT_LOCALE + 1)

#define CASE_ITEM(name, text, kind) LS_CASE(LS_PRINT_##name, text)
#define CASE_KIND(name, text, kind) LS_CASE(LS_PRINT_##name, LS_FINGERPRINT_OF_##kind)
LS_CASE_FUNCTION(const char *, ls_fingerprint_item_name, ls_fingerprint_item, LS_PRINT_ITEM_MAP,
                 CASE_ITEM, "unknown")
LS_CASE_FUNCTION(ls_fingerprint_kind, ls_fingerprint_item_kind, ls_fingerprint_item,
                 LS_PRINT_ITEM_MAP, CASE_KIND, LS_FINGERPRINT_OF_BUILD)

void ls_build_fingerprint_set(ls_build_fingerprint *print, ls_fingerprint_item item,
                              const char *text)
{
    ls_name_copy(print->items[item], sizeof print->items[item], text);
}

/* The part of a text that is compared: of a simulation's file its hash and size, not its name; of a
 * text that was cut what is left of it. */
static size_t compared_bytes(const char *text, ls_fingerprint_item item, bool *is_cut)
{
    size_t size = strlen(text);
    const char *bytes = item == LS_PRINT_SIMULATION ? strstr(text, " bytes, ") : NULL;
    *is_cut = size > 0 && text[size - 1] == CUT && !bytes;
    return bytes ? (size_t)(bytes - text) : size - *is_cut;
}

bool ls_build_fingerprint_differs(const ls_build_fingerprint *a, const ls_build_fingerprint *b,
                                  ls_fingerprint_item item)
{
    const char *left = a->items[item];
    const char *right = b->items[item];
    bool is_left_cut = false;
    bool is_right_cut = false;
    size_t left_bytes = compared_bytes(left, item, &is_left_cut);
    size_t right_bytes = compared_bytes(right, item, &is_right_cut);
    bool is_same = memcmp(left, right, LS_MIN(left_bytes, right_bytes)) == 0 &&
                   (left_bytes >= right_bytes || is_left_cut) &&
                   (right_bytes >= left_bytes || is_right_cut);
    return left[0] != '\0' && right[0] != '\0' && !is_same;
}

/* The most that a text may have for all of them to fit, each with its NUL. */
static size_t text_bytes_max(const ls_build_fingerprint *print)
{
    for (size_t most = LS_PRINT_TEXT_BYTES_MAX;; most--) {
        size_t size = 0;
        for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
            size += LS_MIN(strlen(print->items[item]) + 1, most);
        }
        if (size <= LS_PRINT_BYTES_MAX) {
            return most;
        }
    }
}

size_t ls_build_fingerprint_write(const ls_build_fingerprint *print,
                                  uint8_t bytes[LS_PRINT_BYTES_MAX])
{
    size_t most = text_bytes_max(print);
    uint32_t count = LS_PRINT_ITEM_COUNT;
    size_t size = 0;
    while (count > FIRST_ITEMS && print->items[count - 1][0] == '\0') {
        count--;
    }
    for (uint32_t item = 0; item < count; item++) {
        size_t text_bytes = strlen(print->items[item]) + 1;
        size_t kept = LS_MIN(text_bytes, most);
        memcpy(bytes + size, print->items[item], kept);
        size += kept;
        bytes[size - 1] = '\0';
        if (kept < text_bytes) {
            bytes[size - 2] = CUT;
        }
    }
    return size;
}

void ls_build_fingerprint_read(const uint8_t *bytes, size_t size, ls_build_fingerprint *out)
{
    *out = (ls_build_fingerprint){0};
    size_t at = 0;
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT && at < size; item++) {
        char text[LS_PRINT_TEXT_BYTES_MAX] = "";
        size_t length = strnlen((const char *)bytes + at, size - at);
        memcpy(text, bytes + at, length < sizeof text - 1 ? length : sizeof text - 1);
        ls_build_fingerprint_set(out, (ls_fingerprint_item)item, text);
        at += length + 1;
    }
}
