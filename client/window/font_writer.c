#include "lockstep/client/window/font_writer.h"

#include "lockstep/client/view/letters.h"
#include "lockstep/common/base/language.h"

#include <SDL2/SDL_ttf.h>
#include <string.h>

enum {
    FONTS_MAX = 128, /* of all scripts and sizes */
    FONT_PATH_BYTES = 1024,
    CODES_MAX = 64,
};

typedef struct other_font {
    TTF_Font *font;
    uint32_t height; /* of the cells that it is for */
} other_font;

struct ls_font_writer {
    const ls_allocator *allocator;
    ls_letter_pictures *pictures;
    other_font fonts[FONTS_MAX];
    uint32_t font_count;
};

/* ---- scripts ---- */

/* Scripts that are not written letter by letter from left to right: SDL_ttf has to be told of them.
 * By their blocks in Unicode, with the names of ISO 15924. */
static const struct script {
    uint32_t first;
    uint32_t last;
    char name[5];
    bool is_from_right;
} scripts[] = {
    {0x590, 0x5FF, "Hebr", true},    {0x600, 0x6FF, "Arab", true},
    {0x700, 0x74F, "Syrc", true},    {0x750, 0x77F, "Arab", true},
    {0x780, 0x7BF, "Thaa", true},    {0x7C0, 0x7FF, "Nkoo", true},
    {0x8A0, 0x8FF, "Arab", true},    {0x900, 0x97F, "Deva", false},
    {0x980, 0x9FF, "Beng", false},   {0xA00, 0xA7F, "Guru", false},
    {0xA80, 0xAFF, "Gujr", false},   {0xB00, 0xB7F, "Orya", false},
    {0xB80, 0xBFF, "Taml", false},   {0xC00, 0xC7F, "Telu", false},
    {0xC80, 0xCFF, "Knda", false},   {0xD00, 0xD7F, "Mlym", false},
    {0xD80, 0xDFF, "Sinh", false},   {0xE00, 0xE7F, "Thai", false},
    {0xE80, 0xEFF, "Laoo", false},   {0xF00, 0xFFF, "Tibt", false},
    {0x1000, 0x109F, "Mymr", false}, {0x1780, 0x17FF, "Khmr", false},
    {0xFB1D, 0xFB4F, "Hebr", true},  {0xFB50, 0xFDFF, "Arab", true},
    {0xFE70, 0xFEFE, "Arab", true},
};

static const struct script *script_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (code >= scripts[i].first && code <= scripts[i].last) {
            return &scripts[i];
        }
    }
    return NULL;
}

static void set_script(TTF_Font *font, uint32_t code)
{
    const struct script *script = script_of(code);
    TTF_SetFontDirection(font,
                         script && script->is_from_right ? TTF_DIRECTION_RTL : TTF_DIRECTION_LTR);
    TTF_SetFontScriptName(font, script ? script->name : "Zyyy");
}

/* ---- fonts ---- */

/* The first characters of the letters: what a font has to have. */
static size_t codes_of(const char *text, uint32_t codes[CODES_MAX])
{
    size_t count = 0;
    for (; *text && count < CODES_MAX; text += ls_letter_first(text).bytes) {
        codes[count] = ls_letter_first(text).code;
        count += codes[count] != ' ';
    }
    return count;
}

static bool has_all(TTF_Font *font, const uint32_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!TTF_GlyphIsProvided32(font, codes[i])) {
            return false;
        }
    }
    return true;
}

/* NULL: this machine has none with these characters, or too many are open. */
static TTF_Font *font_for(ls_font_writer *writer, uint32_t height, const uint32_t *codes,
                          size_t count)
{
    char path[FONT_PATH_BYTES];
    for (uint32_t i = 0; i < writer->font_count; i++) {
        if (writer->fonts[i].height == height && has_all(writer->fonts[i].font, codes, count)) {
            return writer->fonts[i].font;
        }
    }
    for (uint32_t nth = 0; writer->font_count < FONTS_MAX &&
                           ls_font_file_find_with(codes, count, nth, path, sizeof path) == LS_OK;
         nth++) {
        TTF_Font *font = TTF_OpenFont(path, (int)LS_MAX(height * 4 / 5, 4u));
        if (font && has_all(font, codes, count)) {
            writer->fonts[writer->font_count++] = (other_font){font, height};
            return font;
        }
        TTF_CloseFont(font);
    }
    return NULL;
}

/* ---- pictures ---- */

static uint32_t alpha_at(const SDL_Surface *surface, int x, int y)
{
    const uint8_t *row = (const uint8_t *)surface->pixels + (ptrdiff_t)y * surface->pitch;
    return ((const uint32_t *)(const void *)row)[x] >> 24;
}

/* Rows from `from` on to before `end`. */
typedef struct rows {
    int from;
    int end;
} rows;

/* Those in which something is painted; none at all are all. */
static rows painted_rows(const SDL_Surface *surface)
{
    rows painted = {surface->h, 0};
    for (int y = 0; y < surface->h; y++) {
        for (int x = 0; x < surface->w; x++) {
            if (alpha_at(surface, x, y) > 0) {
                painted = (rows){LS_MIN(painted.from, y), y + 1};
            }
        }
    }
    return painted.end > 0 ? painted : (rows){0, surface->h};
}

/* The mean of what lies under a pixel: columns from[0] .. end[0], rows from[1] .. end[1]. */
static uint8_t mean_of(const SDL_Surface *surface, const int from[2], const int end[2])
{
    uint32_t sum = 0;
    uint32_t count = 0;
    for (int y = from[1]; y < end[1] && y < surface->h; y++) {
        for (int x = from[0]; x < end[0] && x < surface->w; x++) {
            sum += alpha_at(surface, x, y);
            count++;
        }
    }
    return (uint8_t)(count > 0 ? sum / count : 0);
}

/* In the middle of its place and on the line that all letters stand on, as far as it goes in there;
 * made smaller, in each direction, where it is larger. `ascent` is above that line. */
static void lay_out(const SDL_Surface *surface, int ascent, uint8_t *coverage, int width,
                    int height)
{
    rows painted = painted_rows(surface);
    int rows_there = painted.end - painted.from;
    int wide = LS_MIN(surface->w, width);
    int high = LS_MIN(rows_there, height);
    int left = (width - wide) / 2;
    int top = LS_MIN(LS_MAX(height * 4 / 5 - ascent + painted.from, 0), height - high);
    for (int y = 0; y < high; y++) {
        for (int x = 0; x < wide; x++) {
            const int from[2] = {x * surface->w / wide, painted.from + y * rows_there / high};
            const int end[2] = {LS_MAX((x + 1) * surface->w / wide, from[0] + 1),
                                LS_MAX(painted.from + (y + 1) * rows_there / high, from[1] + 1)};
            coverage[(size_t)(top + y) * (size_t)width + (size_t)(left + x)] =
                mean_of(surface, from, end);
        }
    }
}

/* Leaves out what fonts of one colour have no sign for: skin tones and requests for colours. */
static void leave_out_colours(char *text)
{
    char *to = text;
    while (*text) {
        size_t bytes = strncmp(text, "\xEF\xB8\x8F", 3) == 0 ? 3 : 0;
        if (strncmp(text, "\xF0\x9F\x8F", 3) == 0 && (unsigned char)text[3] >= 0xBB) {
            bytes = 4;
        }
        if (bytes == 0) {
            *to++ = *text++;
        }
        text += bytes;
    }
    *to = '\0';
}

static bool paint(void *user, const ls_canvas_font *cell, const char *text, uint32_t width,
                  uint8_t *coverage)
{
    ls_font_writer *writer = user;
    char line[LS_CANVAS_WRITTEN_BYTES_MAX + 1];
    uint32_t codes[CODES_MAX];
    memcpy(line, text, strlen(text) + 1);
    leave_out_colours(line);
    size_t count = codes_of(line, codes);
    TTF_Font *font = count > 0 ? font_for(writer, cell->height, codes, count) : NULL;
    if (!font) {
        return false;
    }
    set_script(font, codes[0]);
    SDL_Surface *surface = TTF_RenderUTF8_Blended(font, line, (SDL_Color){255, 255, 255, 255});
    bool is_painted =
        surface && surface->w > 0 && surface->h > 0 && surface->format->BytesPerPixel == 4;
    if (is_painted) {
        lay_out(surface, TTF_FontAscent(font), coverage, (int)width, (int)cell->height);
    }
    SDL_FreeSurface(surface);
    return is_painted;
}

/* ---- life ---- */

static void close_fonts(ls_font_writer *writer)
{
    for (uint32_t i = 0; i < writer->font_count; i++) {
        TTF_CloseFont(writer->fonts[i].font);
    }
    writer->font_count = 0;
}

void ls_font_writer_begin(ls_font_writer *writer)
{
    if (writer->font_count == FONTS_MAX) {
        close_fonts(writer);
    }
    ls_letter_pictures_begin(writer->pictures);
}

ls_canvas_writer *ls_font_writer_canvas(ls_font_writer *writer)
{
    return ls_letter_pictures_writer(writer->pictures);
}

ls_font_writer *ls_font_writer_create(const ls_allocator *allocator)
{
    ls_font_writer *writer = ls_allocate(allocator, sizeof *writer);
    if (!writer || TTF_Init() != 0) { /* SDL_ttf counts */
        ls_release(allocator, writer);
        return NULL;
    }
    writer->allocator = allocator;
    writer->pictures = ls_letter_pictures_create(&(ls_letter_painter){writer, paint}, allocator);
    if (!writer->pictures) {
        ls_font_writer_destroy(writer);
        return NULL;
    }
    return writer;
}

void ls_font_writer_destroy(ls_font_writer *writer)
{
    if (writer) {
        ls_letter_pictures_destroy(writer->pictures);
        close_fonts(writer);
        TTF_Quit();
        ls_release(writer->allocator, writer);
    }
}
