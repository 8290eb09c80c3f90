/* Canvas: a picture in memory and what can be painted on it: antialiased discs and convex shapes,
 * rectangles and text. The one rasteriser of windows, screenshots and terminals, so that all look
 * the same with any graphics driver or none. Draws what it is told; knows no world, no time and no
 * window. Anything outside is cut off. */
#ifndef LOCKSTEP_CLIENT_VIEW_CANVAS_H
#define LOCKSTEP_CLIENT_VIEW_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_CANVAS_SIDE_MAX 8192u

/* Which parts of a canvas are painted anew: canvas_tiles. */
typedef struct ls_canvas_tiles ls_canvas_tiles;

/* Colours are 0xRRGGBBAA, as in a draw list. Places are in pixels from the top left corner: the
 * middle of the first pixel is (0.5, 0.5). */
typedef struct ls_canvas {
    uint32_t *pixels; /* [height][width], 0xFFRRGGBB; the caller's memory */
    uint32_t width;   /* 1 .. LS_CANVAS_SIDE_MAX */
    uint32_t height;
    ls_canvas_tiles *tiles; /* NULL: each picture is painted as a whole */
} ls_canvas;

typedef struct ls_canvas_point {
    float x;
    float y;
} ls_canvas_point;

#define LS_CANVAS_CORNERS_MAX 4u

/* Glyphs, all of one size: of the letters of Europe, in the order of ls_canvas_glyph_code. */
#define LS_CANVAS_GLYPHS 473u

#define LS_CANVAS_WRITTEN_BYTES_MAX 255u /* of letters that are written together */

typedef struct ls_canvas_writer ls_canvas_writer;

typedef struct ls_canvas_font {
    uint32_t width; /* of a glyph, pixels: a column */
    uint32_t height;
    const uint8_t *coverage;  /* [LS_CANVAS_GLYPHS][height][width], 0 .. 255 */
    ls_canvas_writer *writer; /* of all other letters; NULL: '?' stands in their place */
} ls_canvas_font;

/* Writes letters that a font has no glyphs for: of scripts that are joined, stacked, or written
 * from right to left, and of those with thousands of signs. */
struct ls_canvas_writer {
    void *user;
    /* `bytes` of `text`, whole letters, as a picture [font->height][width] of 0 .. 255. The same
     * letters in the same font and width give the same picture for as long as the canvas is
     * painted, and it stays as it is. NULL: this machine has no such letters. */
    const uint8_t *(*write)(void *user, const ls_canvas_font *font, const char *text, size_t bytes,
                            uint32_t width);
};

/* The same letters in several sizes. */
typedef struct ls_canvas_fonts {
    ls_canvas_font figures; /* the smallest that can be read */
    ls_canvas_font text;
    ls_canvas_font title;
    ls_canvas_font world; /* to be made smaller: four times as high as `text` */
} ls_canvas_fonts;

/* The character of a glyph: its number in Unicode. */
uint32_t ls_canvas_glyph_code(uint32_t glyph);

typedef struct ls_canvas_rect {
    int32_t x;
    int32_t y;
    int32_t width; /* 0 or less: nothing */
    int32_t height;
} ls_canvas_rect;

/* A disc that is smaller than a pixel is painted as one, and fainter. */
void ls_canvas_disc(ls_canvas *canvas, ls_canvas_point centre, float radius, uint32_t colour);

/* A convex shape of 3 .. LS_CANVAS_CORNERS_MAX corners, in either order round. */
void ls_canvas_convex(ls_canvas *canvas, const ls_canvas_point *corners, uint32_t count,
                      uint32_t colour);

/* A triangle of a surface: half a pixel larger on each side, so that nothing shines through between
 * it and the next one. */
void ls_canvas_facet(ls_canvas *canvas, const ls_canvas_point *corners, uint32_t colour);

/* A straight line with square ends, `half_thickness` of at least half a pixel. */
void ls_canvas_line(ls_canvas *canvas, ls_canvas_point from, ls_canvas_point to,
                    float half_thickness, uint32_t colour);

void ls_canvas_fill(ls_canvas *canvas, ls_canvas_rect rect, uint32_t colour);

/* One line of text with its top left corner at (x, y), each letter as wide as its columns. Letters
 * without a glyph, and that no writer knows, are shown as '?'. */
void ls_canvas_text(ls_canvas *canvas, const ls_canvas_font *font, int32_t x, int32_t y,
                    uint32_t colour, const char *text);

/* The same, `height` pixels high (> 0), at any place. */
void ls_canvas_text_stretched(ls_canvas *canvas, const ls_canvas_fonts *fonts,
                              ls_canvas_point top_left, float height, uint32_t colour,
                              const char *text);

/* ---- Bitmap: paints pictures that belong to the world, such as the screen of an emulator, onto
 * a canvas, at any size: smaller ones by means of what lies under a pixel, larger ones as
 * squares. It keeps nothing ---- */

typedef struct ls_bitmap {
    const uint32_t *pixels; /* 0xRRGGBBAA, [rows][columns] */
    uint32_t columns;       /* > 0 */
    uint32_t rows;          /* > 0 */
} ls_bitmap;

/* Stretched between two corners. Every pixel of the canvas has the mean of what lies under it;
 * where the bitmap is made larger its pixels stay squares. */
void ls_bitmap_paint(ls_canvas *canvas, const ls_bitmap *bitmap, ls_canvas_point top_left,
                     ls_canvas_point bottom_right);

#endif
