#include "lockstep/common/game/drawing.h"

#include "lockstep/common/base/allocator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BMP_HEADER_BYTES 122u
#define SIDE 1000.0 /* of the longer side of the view, in the drawing's units */
#define DEGREES (360.0 / 0x1p32)
#define RADIANS (DEGREES * 0.017453292519943295)
#define RING_RADIUS_MIN 14.0

typedef struct spot {
    double x;
    double y;
} spot;

static double metres(ls_fixed value)
{
    return (double)value / 0x1p32;
}

ls_drawing ls_drawing_of(ls_html *html, ls_vec2 view_min, ls_vec2 view_max)
{
    double width = metres(view_max.x) - metres(view_min.x);
    double height = metres(view_max.y) - metres(view_min.y);
    bool has_view = width > 0 && height > 0;
    double scale = has_view ? SIDE / LS_MAX(width, height) : 1.0;
    return (ls_drawing){.html = html,
                        .left = has_view ? metres(view_min.x) : -SIDE / 2,
                        .top = has_view ? metres(view_max.y) : SIDE / 2,
                        .scale = scale,
                        .width = has_view ? width * scale : SIDE,
                        .height = has_view ? height * scale : SIDE};
}

void ls_drawing_begin(const ls_drawing *on)
{
    char box[64];
    snprintf(box, sizeof box, "0 0 %.1f %.1f", on->width, on->height);
    ls_html_begin(on->html, "svg");
    ls_html_attribute(on->html, "viewBox", box);
    ls_html_attribute(on->html, "role", "img");
}

static spot place(const ls_drawing *on, ls_vec2 at)
{
    return (spot){(metres(at.x) - on->left) * on->scale, (on->top - metres(at.y)) * on->scale};
}

static void number(const ls_drawing *on, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.1f", value);
    ls_html_attribute(on->html, name, text);
}

static void colour(const ls_drawing *on, const char *name, uint32_t rgba)
{
    char text[12];
    snprintf(text, sizeof text, "#%08" PRIx32, rgba);
    ls_html_attribute(on->html, name, text);
}

/* ---- shapes ---- */

static spot along(const ls_draw_shape *shape, spot from, double length)
{
    double radians = shape->angle * RADIANS;
    return (spot){from.x + length * cos(radians), from.y - length * sin(radians)};
}

static void write_line(const ls_drawing *on, spot from, spot to, double thickness, uint32_t rgba)
{
    ls_html_begin(on->html, "line");
    number(on, "x1", from.x);
    number(on, "y1", from.y);
    number(on, "x2", to.x);
    number(on, "y2", to.y);
    number(on, "stroke-width", LS_MAX(thickness, 1.0));
    colour(on, "stroke", rgba);
    ls_html_end(on->html);
}

static void write_disc(const ls_drawing *on, const ls_draw_shape *shape, spot at, double radius)
{
    ls_html_begin(on->html, "circle");
    number(on, "cx", at.x);
    number(on, "cy", at.y);
    number(on, "r", radius);
    colour(on, "fill", shape->colour);
    ls_html_end(on->html);
    if (radius > 4.0 && (shape->colour & 0xffu) == 0xffu) {
        write_line(on, at, along(shape, at, 0.85 * radius), radius / 7, 0x00000080u);
    }
}

static void write_box(const ls_drawing *on, const ls_draw_shape *shape, spot at)
{
    double half_width = metres(shape->half_width) * on->scale;
    double half_height = metres(shape->half_height) * on->scale;
    ls_html_begin(on->html, "rect");
    number(on, "x", at.x - half_width);
    number(on, "y", at.y - half_height);
    number(on, "width", LS_MAX(2 * half_width, 0.5));
    number(on, "height", LS_MAX(2 * half_height, 0.5));
    if (shape->angle != 0) {
        char turn[96];
        snprintf(turn, sizeof turn, "rotate(%.2f %.1f %.1f)", -(shape->angle * DEGREES), at.x,
                 at.y);
        ls_html_attribute(on->html, "transform", turn);
    }
    colour(on, "fill", shape->colour);
    ls_html_end(on->html);
}

static void write_triangle(const ls_drawing *on, const ls_draw_shape *shape)
{
    char points[160];
    spot corners[3];
    for (uint32_t i = 0; i < 3; i++) {
        corners[i] = place(on, shape->corners[i]);
    }
    snprintf(points, sizeof points, "%.1f,%.1f %.1f,%.1f %.1f,%.1f", corners[0].x, corners[0].y,
             corners[1].x, corners[1].y, corners[2].x, corners[2].y);
    ls_html_begin(on->html, "polygon");
    ls_html_attribute(on->html, "points", points);
    colour(on, "fill", shape->colour);
    ls_html_end(on->html);
}

/* ---- bitmaps: as a BMP with an alpha channel, within the drawing ---- */

static void put_bytes(uint8_t **at, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        *(*at)++ = (uint8_t)(value >> 8 * i);
    }
}

/* The file's header, one of version 4, and the masks of the channels. */
static void put_bmp_header(uint8_t **at, const ls_draw_shape *shape)
{
    uint32_t pixel_bytes = shape->columns * shape->rows * 4;
    uint8_t *begin = *at;
    put_bytes(at, 0x4d42, 2);
    put_bytes(at, BMP_HEADER_BYTES + pixel_bytes, 4);
    put_bytes(at, 0, 4);
    put_bytes(at, BMP_HEADER_BYTES, 4);
    put_bytes(at, BMP_HEADER_BYTES - 14, 4);
    put_bytes(at, shape->columns, 4);
    put_bytes(at, 0u - shape->rows, 4); /* from the top */
    put_bytes(at, 1, 2);
    put_bytes(at, 32, 2);
    put_bytes(at, 3, 4); /* with masks */
    put_bytes(at, pixel_bytes, 4);
    memset(*at, 0, 16);
    *at += 16;
    put_bytes(at, 0xff000000u, 4);
    put_bytes(at, 0x00ff0000u, 4);
    put_bytes(at, 0x0000ff00u, 4);
    put_bytes(at, 0x000000ffu, 4);
    put_bytes(at, 0x73524742u, 4); /* sRGB */
    memset(*at, 0, (size_t)(begin + BMP_HEADER_BYTES - *at));
    *at = begin + BMP_HEADER_BYTES;
}

static void put_base64(char *text, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        uint32_t left = size - i < 3 ? (uint32_t)(size - i) : 3;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        for (uint32_t j = 0; j < 4; j++) {
            *text++ = j <= left ? digits[group >> (18 - 6 * j) & 63u] : '=';
        }
    }
    *text = '\0';
}

/* For the caller to release; NULL: no memory. */
static char *data_address(const ls_draw_shape *shape)
{
    static const char begin[] = "data:image/bmp;base64,";
    size_t pixels = (size_t)shape->columns * shape->rows;
    size_t size = BMP_HEADER_BYTES + pixels * 4;
    uint8_t *bytes = ls_allocate(ls_allocator_heap(), size);
    char *text = ls_allocate(ls_allocator_heap(), sizeof begin + (size + 2) / 3 * 4);
    if (bytes && text) {
        uint8_t *at = bytes;
        put_bmp_header(&at, shape);
        for (size_t i = 0; i < pixels; i++) {
            put_bytes(&at, shape->pixels[i], 4);
        }
        memcpy(text, begin, sizeof begin);
        put_base64(text + sizeof begin - 1, bytes, size);
    } else {
        ls_release(ls_allocator_heap(), text);
        text = NULL;
    }
    ls_release(ls_allocator_heap(), bytes);
    return text;
}

static void write_bitmap(const ls_drawing *on, const ls_draw_shape *shape, spot at)
{
    double half_width = metres(shape->half_width) * on->scale;
    double half_height = metres(shape->half_height) * on->scale;
    char *address = ls_draw_is_bitmap(shape) ? data_address(shape) : NULL;
    if (!address) {
        return;
    }
    ls_html_begin(on->html, "image");
    number(on, "x", at.x - half_width);
    number(on, "y", at.y - half_height);
    number(on, "width", 2 * half_width);
    number(on, "height", 2 * half_height);
    ls_html_attribute(on->html, "preserveAspectRatio", "none");
    ls_html_attribute(on->html, "style", "image-rendering:pixelated");
    ls_html_attribute(on->html, "href", address);
    ls_html_end(on->html);
    ls_release(ls_allocator_heap(), address);
}

static void write_text(const ls_drawing *on, const ls_draw_shape *shape, spot at)
{
    char text[LS_TEXT_BYTES_MAX];
    if (!shape->text) {
        return;
    }
    ls_name_copy(text, sizeof text, shape->text);
    ls_html_begin(on->html, "text");
    number(on, "x", at.x);
    number(on, "y", at.y);
    number(on, "font-size", 2 * metres(shape->half_height) * on->scale);
    ls_html_attribute(on->html, "font-family", "monospace");
    ls_html_attribute(on->html, "dominant-baseline", "central");
    colour(on, "fill", shape->colour);
    ls_html_text(on->html, text);
    ls_html_end(on->html);
}

void ls_drawing_shape(const ls_drawing *on, const ls_draw_shape *shape)
{
    spot at = place(on, (ls_vec2){shape->x, shape->y});
    double length = metres(shape->half_width) * on->scale;
    switch (shape->kind) {
    case LS_DRAW_DISC:
    case LS_DRAW_WHEEL:
        write_disc(on, shape, at, fabs(length));
        break;
    case LS_DRAW_BOX:
        write_box(on, shape, at);
        break;
    case LS_DRAW_LINE:
        write_line(on, at, along(shape, at, length), 2 * metres(shape->half_height) * on->scale,
                   shape->colour);
        break;
    case LS_DRAW_TRIANGLE:
        write_triangle(on, shape);
        break;
    case LS_DRAW_BITMAP:
        write_bitmap(on, shape, at);
        break;
    case LS_DRAW_TEXT:
        write_text(on, shape, at);
        break;
    default: /* a plug-in's own */
        break;
    }
}

void ls_drawing_ring(const ls_drawing *on, const ls_draw_shape *shape, const char *class_name)
{
    spot at = place(on, (ls_vec2){shape->x, shape->y});
    double reach = LS_MAX(metres(shape->half_width), metres(shape->half_height)) * on->scale;
    if (shape->kind == LS_DRAW_TRIANGLE) {
        at = place(on, shape->corners[0]);
        reach = 0;
    }
    ls_html_begin(on->html, "circle");
    ls_html_attribute(on->html, "class", class_name);
    number(on, "cx", at.x);
    number(on, "cy", at.y);
    number(on, "r", LS_MIN(LS_MAX(1.3 * reach, RING_RADIUS_MIN), SIDE / 2));
    ls_html_end(on->html);
}
