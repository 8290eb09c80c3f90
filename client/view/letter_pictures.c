#include "lockstep/client/view/letter_pictures.h"

#include "lockstep/common/base/hash.h"

#include <string.h>

enum {
    PICTURES_MAX = 1024,
    KEPT_BYTES_MAX = 32 << 20, /* beyond, nothing is added until all is forgotten */
};

/* `coverage` NULL: no font has the letters. */
typedef struct kept {
    uint64_t key; /* 0: free */
    uint8_t *coverage;
} kept;

struct ls_letter_pictures {
    const ls_allocator *allocator;
    ls_letter_painter painter;
    ls_canvas_writer writer;
    kept table[PICTURES_MAX];
    uint32_t count;
    size_t bytes;
};

static bool is_full(const ls_letter_pictures *pictures)
{
    return pictures->count >= PICTURES_MAX - 1 || pictures->bytes > KEPT_BYTES_MAX;
}

/* The picture's place, or the free one where it belongs. */
static kept *find(ls_letter_pictures *pictures, uint64_t key)
{
    size_t at = key % PICTURES_MAX;
    while (pictures->table[at].key != 0 && pictures->table[at].key != key) {
        at = (at + 1) % PICTURES_MAX;
    }
    return &pictures->table[at];
}

static uint8_t *paint(ls_letter_pictures *pictures, const ls_canvas_font *font, const char *line,
                      uint32_t width)
{
    uint8_t *coverage = ls_allocate_array(pictures->allocator, width, font->height);
    if (!coverage ||
        !pictures->painter.paint(pictures->painter.user, font, line, width, coverage)) {
        ls_release(pictures->allocator, coverage);
        return NULL;
    }
    pictures->bytes += (size_t)width * font->height;
    return coverage;
}

static const uint8_t *write(void *user, const ls_canvas_font *font, const char *text, size_t bytes,
                            uint32_t width)
{
    ls_letter_pictures *pictures = user;
    char line[LS_CANVAS_WRITTEN_BYTES_MAX + 1] = "";
    if (bytes > LS_CANVAS_WRITTEN_BYTES_MAX || width == 0) {
        return NULL;
    }
    memcpy(line, text, bytes);
    uint64_t key = ls_hash_bytes(line, bytes, ls_hash_pair(width, font->height)) | 1u;
    kept *picture = find(pictures, key);
    if (picture->key == 0 && !is_full(pictures)) {
        pictures->count++;
        *picture = (kept){key, paint(pictures, font, line, width)};
    }
    return picture->coverage;
}

static void forget(ls_letter_pictures *pictures)
{
    for (uint32_t i = 0; i < PICTURES_MAX; i++) {
        ls_release(pictures->allocator, pictures->table[i].coverage);
        pictures->table[i] = (kept){0, NULL};
    }
    pictures->count = 0;
    pictures->bytes = 0;
}

void ls_letter_pictures_begin(ls_letter_pictures *pictures)
{
    if (is_full(pictures)) {
        forget(pictures);
    }
}

ls_canvas_writer *ls_letter_pictures_writer(ls_letter_pictures *pictures)
{
    return &pictures->writer;
}

ls_letter_pictures *ls_letter_pictures_create(const ls_letter_painter *painter,
                                              const ls_allocator *allocator)
{
    ls_letter_pictures *pictures = ls_allocate(allocator, sizeof *pictures);
    if (pictures) {
        pictures->allocator = allocator;
        pictures->painter = *painter;
        pictures->writer = (ls_canvas_writer){pictures, write};
    }
    return pictures;
}

void ls_letter_pictures_destroy(ls_letter_pictures *pictures)
{
    if (pictures) {
        forget(pictures);
        ls_release(pictures->allocator, pictures);
    }
}
