#include "lockstep/client/view/canvas_changes.h"

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <string.h>

enum {
    CHUNK = 32, /* pixels that are compared at once */
};

typedef struct row_pair {
    const uint32_t *made;
    const uint8_t *shown;
} row_pair;

static bool differs(row_pair row, uint32_t first, uint32_t end)
{
    return memcmp(row.made + first, row.shown + first * sizeof *row.made,
                  (end - first) * sizeof *row.made) != 0;
}

/* Widens the columns `first` .. `end` by those of the row that differ. */
static void widen(row_pair row, uint32_t width, uint32_t *first, uint32_t *end)
{
    uint32_t left = 0;
    uint32_t right = width;
    while (left < *first && !differs(row, left, LS_MIN(left + CHUNK, width))) {
        left += CHUNK;
    }
    while (right > LS_MAX(*end, left) && !differs(row, right - LS_MIN(CHUNK, right), right)) {
        right -= LS_MIN(CHUNK, right);
    }
    *first = LS_MIN(left, *first);
    *end = LS_MAX(right, *end);
}

uint32_t ls_canvas_copy_changes(const ls_canvas *canvas, uint8_t *shown, size_t pitch,
                                ls_canvas_part parts[LS_CANVAS_BANDS_MAX])
{
    uint32_t count = 0;
    for (uint32_t top = 0; top < canvas->height; top += LS_CANVAS_BAND_ROWS) {
        uint32_t bottom = LS_MIN(top + LS_CANVAS_BAND_ROWS, canvas->height);
        uint32_t first = canvas->width;
        uint32_t end = 0;
        for (uint32_t y = top; y < bottom; y++) {
            row_pair row = {canvas->pixels + (size_t)y * canvas->width, shown + y * pitch};
            if (differs(row, 0, canvas->width)) {
                widen(row, canvas->width, &first, &end);
            }
        }
        for (uint32_t y = top; y < bottom && first < end; y++) {
            memcpy(shown + y * pitch + first * sizeof *canvas->pixels,
                   canvas->pixels + (size_t)y * canvas->width + first,
                   (end - first) * sizeof *canvas->pixels);
        }
        if (first < end) {
            parts[count++] = (ls_canvas_part){first, top, end - first, bottom - top};
        }
    }
    return count;
}
