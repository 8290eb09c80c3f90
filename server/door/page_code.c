#include "lockstep/server/door/page_code.h"

#include <qrencode.h>
#include <stdio.h>

enum {
    QUIET = 2,             /* modules around it, which stay light */
    LINE_BYTES_MAX = 1024, /* of at most 177 + 2 * QUIET modules, each of 3 bytes */
};

static bool is_dark(const QRcode *code, int x, int y)
{
    bool is_inside = x >= 0 && x < code->width && y >= 0 && y < code->width;
    return is_inside && (code->data[y * code->width + x] & 1) != 0;
}

/* Two rows in one line of text. */
static const char *block_of(bool is_upper_dark, bool is_lower_dark)
{
    if (is_upper_dark) {
        return is_lower_dark ? " " : "\xe2\x96\x84";
    }
    return is_lower_dark ? "\xe2\x96\x80" : "\xe2\x96\x88";
}

bool ls_page_code_draw(const char *text, void (*line)(void *user, const char *text), void *user)
{
    QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_L);
    if (!code) {
        return false;
    }
    for (int y = -QUIET; y < code->width + QUIET; y += 2) {
        char row[LINE_BYTES_MAX] = "";
        size_t size = 0;
        for (int x = -QUIET; x < code->width + QUIET; x++) {
            size += (size_t)snprintf(row + size, sizeof row - size, "%s",
                                     block_of(is_dark(code, x, y), is_dark(code, x, y + 1)));
        }
        line(user, row);
    }
    QRcode_free(code);
    return true;
}
