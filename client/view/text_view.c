#include "lockstep/client/view/text_view.h"

#include "lockstep/client/view/letters.h"
#include "lockstep/common/base/language.h"

#include <stdio.h>
#include <string.h>

/* "\033[38;2;255;255;255m\033[48;2;255;255;255m" and a letter. */
enum {
    LETTER_BYTES_MAX = 26, /* with its marks; '?' stands for a longer one */
    CELL_BYTES = 38 + LETTER_BYTES_MAX,
    LINE_BYTES = 16,
    ENDS_BYTES = 16
};

#define UPPER_HALF_BLOCK "\xE2\x96\x80"

/* The letter of a cell. One that is two cells wide stands in the first. */
typedef struct letter {
    const char *bytes; /* NULL: none does */
    size_t size;       /* 0: the second half of the letter before */
    uint32_t colour;
} letter;

size_t ls_text_view_bytes(const ls_canvas *canvas)
{
    size_t rows = (canvas->height + 1) / 2;
    return rows * (canvas->width * (size_t)CELL_BYTES + LINE_BYTES) + ENDS_BYTES;
}

/* A letter of which one half is painted over, or beyond the edge, is not shown. */
static void lay_letter(letter *letters, int64_t column, int64_t columns, const ls_letter *laid,
                       const letter *shown)
{
    static const letter blank = {" ", 1, 0};
    if (column < 0 || column + laid->columns > columns) {
        return;
    }
    int64_t end = column + laid->columns;
    if (letters[column].bytes && letters[column].size == 0) {
        letters[column - 1] = blank;
    }
    if (end < columns && letters[end].bytes && letters[end].size == 0) {
        letters[end] = blank;
    }
    letters[column] = *shown;
    if (laid->columns == 2) {
        letters[column + 1] = (letter){shown->bytes, 0, shown->colour};
    }
}

/* The letters of a row; later runs lie on top of earlier ones. */
static void lay_row(const ls_text_page *page, uint32_t row, letter *letters)
{
    uint32_t columns = LS_MIN(page->canvas->width, LS_TEXT_VIEW_COLUMNS_MAX);
    memset(letters, 0, columns * sizeof *letters);
    for (uint32_t i = 0; i < page->run_count; i++) {
        const ls_text_run *run = &page->runs[i];
        const char *text = run->text;
        for (int64_t column = run->column; run->row == (int64_t)row && *text;) {
            ls_letter next = ls_letter_first(text);
            letter shown = {text, next.bytes, run->colour};
            if (next.bytes > LETTER_BYTES_MAX) {
                shown = (letter){"?", 1, run->colour};
                next.columns = 1;
            }
            lay_letter(letters, column, columns, &next, &shown);
            column += next.columns;
            text += next.bytes;
        }
    }
}

static letter letter_in(const letter *letters, uint32_t column)
{
    return column < LS_TEXT_VIEW_COLUMNS_MAX ? letters[column] : (letter){NULL, 0, 0};
}

/* ---- in colour ---- */

/* Levels of the colour cube: 0, 95, 135, 175, 215, 255. */
static uint32_t cube_level(uint32_t value)
{
    return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40;
}

static uint32_t level_value(uint32_t level)
{
    return level == 0 ? 0 : 55 + 40 * level;
}

static uint32_t distance(uint32_t pixel, uint32_t red, uint32_t green, uint32_t blue)
{
    int32_t to_red = (int32_t)(pixel >> 16 & 0xFFu) - (int32_t)red;
    int32_t to_green = (int32_t)(pixel >> 8 & 0xFFu) - (int32_t)green;
    int32_t to_blue = (int32_t)(pixel & 0xFFu) - (int32_t)blue;
    return (uint32_t)(to_red * to_red + to_green * to_green + to_blue * to_blue);
}

/* Of 256 colours the nearest: one of the cube, or one of 24 greys, 8 to 238. */
static uint32_t colour_number(uint32_t pixel)
{
    uint32_t red = cube_level(pixel >> 16 & 0xFFu);
    uint32_t green = cube_level(pixel >> 8 & 0xFFu);
    uint32_t blue = cube_level(pixel & 0xFFu);
    uint32_t mean = ((pixel >> 16 & 0xFFu) + (pixel >> 8 & 0xFFu) + (pixel & 0xFFu)) / 3;
    uint32_t step = mean < 8 ? 0 : LS_MIN((mean - 3) / 10, 23u);
    uint32_t grey = 8 + 10 * step;
    bool is_grey = distance(pixel, grey, grey, grey) <
                   distance(pixel, level_value(red), level_value(green), level_value(blue));
    return is_grey ? 232 + step : 16 + 36 * red + 6 * green + blue;
}

static size_t put(char *text, const char *bytes)
{
    size_t size = strlen(bytes);
    memcpy(text, bytes, size);
    return size;
}

/* The colours that the terminal was told last, and whose part it has shown. */
typedef struct brush {
    const ls_text_page *page;
    uint32_t above; /* as colour_of makes them; UINT32_MAX: none yet */
    uint32_t below;
} brush;

/* Of pixels that look the same on this terminal it is the same. */
static uint32_t colour_of(const ls_text_page *page, uint32_t pixel)
{
    return page->has_true_colour ? pixel & 0xFFFFFFu : colour_number(pixel);
}

static size_t put_colour(const ls_text_page *page, char *text, uint32_t ground, uint32_t colour)
{
    char bytes[24];
    if (page->has_true_colour) {
        snprintf(bytes, sizeof bytes, "\033[%u;2;%u;%u;%um", ground, colour >> 16 & 0xFFu,
                 colour >> 8 & 0xFFu, colour & 0xFFu);
    } else {
        snprintf(bytes, sizeof bytes, "\033[%u;5;%um", ground, colour & 0xFFu);
    }
    return put(text, bytes);
}

static size_t choose(brush *with, char *text, uint32_t above, uint32_t below)
{
    size_t size = 0;
    if (above != with->above) {
        with->above = above;
        size += put_colour(with->page, text + size, 38, above);
    }
    if (below != with->below) {
        with->below = below;
        size += put_colour(with->page, text + size, 48, below);
    }
    return size;
}

/* A letter stands before the lower of the two pixels. */
static size_t put_cell(brush *with, char *text, const uint32_t *upper, uint32_t width,
                       const letter *shown)
{
    uint32_t below = colour_of(with->page, upper[width]);
    if (shown->bytes && shown->size == 0) {
        return 0;
    }
    if (shown->bytes) {
        size_t size = choose(with, text, colour_of(with->page, shown->colour >> 8), below);
        memcpy(text + size, shown->bytes, shown->size);
        return size + shown->size;
    }
    uint32_t above = colour_of(with->page, upper[0]);
    size_t size = choose(with, text, above, below);
    return size + put(text + size, above == below ? " " : UPPER_HALF_BLOCK);
}

size_t ls_text_view_colour(const ls_text_page *page, char *text)
{
    const ls_canvas *canvas = page->canvas;
    letter letters[LS_TEXT_VIEW_COLUMNS_MAX];
    size_t size = put(text, "\033[H");
    for (uint32_t y = 0; y + 1 < canvas->height; y += 2) {
        const uint32_t *upper = canvas->pixels + (size_t)y * canvas->width;
        brush with = {.page = page, .above = UINT32_MAX, .below = UINT32_MAX};
        lay_row(page, y / 2, letters);
        for (uint32_t x = 0; x < canvas->width; x++) {
            letter shown = letter_in(letters, x);
            size += put_cell(&with, text + size, upper + x, canvas->width, &shown);
        }
        size += put(text + size, "\033[0m\033[K\r\n");
    }
    text[size] = '\0';
    return size;
}

/* ---- without colour ---- */

static uint32_t lightness(uint32_t pixel)
{
    return ((pixel >> 16 & 0xFFu) * 3 + (pixel >> 8 & 0xFFu) * 4 + (pixel & 0xFFu)) / 8;
}

size_t ls_text_view_plain(const ls_text_page *page, char *text)
{
    static const char shades[] = ".:-=+o*#%@";
    const ls_canvas *canvas = page->canvas;
    letter letters[LS_TEXT_VIEW_COLUMNS_MAX];
    uint32_t dark = lightness(page->background >> 8);
    size_t size = 0;
    for (uint32_t y = 0; y < canvas->height; y += 2) {
        size_t end = size; /* of what is not blank */
        lay_row(page, y / 2, letters);
        for (uint32_t x = 0; x < canvas->width; x++) {
            letter shown = letter_in(letters, x);
            uint32_t light = lightness(canvas->pixels[(size_t)y * canvas->width + x]);
            bool is_blank = light < dark + 8 && !shown.bytes;
            if (shown.bytes) {
                memcpy(text + size, shown.bytes, shown.size);
                size += shown.size;
            } else {
                text[size++] = is_blank ? ' ' : shades[light * (sizeof shades - 1) / 256];
            }
            end = is_blank ? end : size;
        }
        size = end;
        text[size++] = '\n';
    }
    text[size] = '\0';
    return size;
}
