#include "lockstep/client/view/text_view.h"

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* "\033[38;5;255m\033[48;5;255m" and three bytes of U+2580, the upper half block. */
enum {
    CELL_BYTES = 25,
    LINE_BYTES = 16,
    ENDS_BYTES = 16
};

size_t ls_text_view_bytes(const ls_canvas *canvas)
{
    size_t rows = (canvas->height + 1) / 2;
    return rows * (canvas->width * (size_t)CELL_BYTES + LINE_BYTES) + ENDS_BYTES;
}

/* The levels of the colour cube are 0, 95, 135, 175, 215 and 255. */
static uint32_t cube_level(uint32_t value)
{
    return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
}

/* The nearest of 24 greys for what has hardly any colour, else of the cube. */
static uint32_t colour_number(uint32_t pixel)
{
    uint32_t red = pixel >> 16 & 0xFFu;
    uint32_t green = pixel >> 8 & 0xFFu;
    uint32_t blue = pixel & 0xFFu;
    uint32_t most = LS_MAX(LS_MAX(red, green), blue);
    uint32_t least = LS_MIN(LS_MIN(red, green), blue);
    if (most - least < 16 && most < 244) {
        return 232 + (most < 8 ? 0 : (most - 8) / 10);
    }
    return 16 + 36 * cube_level(red) + 6 * cube_level(green) + cube_level(blue);
}

static size_t put(char *text, const char *bytes)
{
    size_t size = strlen(bytes);
    memcpy(text, bytes, size);
    return size;
}

static size_t put_colour(char *text, uint32_t ground, uint32_t number)
{
    char bytes[16];
    snprintf(bytes, sizeof bytes, "\033[%u;5;%um", ground, number);
    return put(text, bytes);
}

size_t ls_text_view_colour(const ls_canvas *canvas, char *text)
{
    size_t size = put(text, "\033[H");
    for (uint32_t y = 0; y + 1 < canvas->height; y += 2) {
        const uint32_t *upper = canvas->pixels + (size_t)y * canvas->width;
        const uint32_t *lower = upper + canvas->width;
        uint32_t above = UINT32_MAX;
        uint32_t below = UINT32_MAX;
        for (uint32_t x = 0; x < canvas->width; x++) {
            if (colour_number(upper[x]) != above) {
                above = colour_number(upper[x]);
                size += put_colour(text + size, 38, above);
            }
            if (colour_number(lower[x]) != below) {
                below = colour_number(lower[x]);
                size += put_colour(text + size, 48, below);
            }
            size += put(text + size, above == below ? " " : "\xE2\x96\x80");
        }
        size += put(text + size, "\033[0m\033[K\r\n");
    }
    text[size] = '\0';
    return size;
}

static uint32_t lightness(uint32_t pixel)
{
    return ((pixel >> 16 & 0xFFu) * 3 + (pixel >> 8 & 0xFFu) * 4 + (pixel & 0xFFu)) / 8;
}

size_t ls_text_view_plain(const ls_canvas *canvas, uint32_t background, char *text)
{
    static const char shades[] = ".:-=+o*#%@";
    uint32_t dark = lightness(background >> 8);
    size_t size = 0;
    for (uint32_t y = 0; y < canvas->height; y += 2) {
        size_t end = size; /* of what is not blank */
        for (uint32_t x = 0; x < canvas->width; x++) {
            uint32_t light = lightness(canvas->pixels[(size_t)y * canvas->width + x]);
            bool is_blank = light < dark + 8;
            text[size++] = is_blank ? ' ' : shades[light * (sizeof shades - 1) / 256];
            end = is_blank ? end : size;
        }
        size = end;
        text[size++] = '\n';
    }
    text[size] = '\0';
    return size;
}
