#include "lockstep/client/view/overlay.h"

#include "lockstep/client/view/letters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PANEL 0x0B0E12C0u
#define TEXT 0xD6DEE8FFu
#define DIM 0x8A96A6FFu
#define GOOD 0x6CC070FFu
#define SLOW 0xE5533DFFu
#define WORK 0x4C8BF5FFu
#define ALARM 0xB3261EF0u
#define NOTICE 0x2B3A4DE0u
#define BOX_EDGE 0x9BE38BFFu
#define BOX_INSIDE 0x9BE38B28u

#define GRAPH_MS 50.0f /* at the top of the graph */
#define MEAN_OF_MS 1000.0f

#define KEYS_OF_VIEW                                                                               \
    "F1 keys   F3 figures   F11 full screen   F follow   Home all   wheel zoom   H no text"
#define KEYS_OF_RECORD "space pause   arrows step, speed   F1 keys   F3 figures   wheel zoom"

enum {
    MARGIN = 10,
    PADDING = 8,
    GRAPH_HEIGHT = 50,
    BAR_HEIGHT = 34,      /* of the seek bar; or that of two letters: a finger has to find it */
    BAR_COLUMNS = 26,     /* of the words to the left of it */
    BAR_COLUMNS_MIN = 60, /* of the canvas; with fewer the words are above it */
    FIGURE_COLUMNS = 50,  /* of figures */
    CHAT_COLUMNS_MAX = 64,
    SEAT_GAP_COLUMNS = 3,
};

/* ---- frame times ---- */

void ls_frame_times_add(ls_frame_times *times, float frame_ms, float work_ms)
{
    times->frame_ms[times->next] = frame_ms;
    times->work_ms[times->next] = work_ms;
    times->next = (times->next + 1) % LS_FRAME_TIMES_MAX;
    times->count += times->count < LS_FRAME_TIMES_MAX;
}

ls_frame_means ls_frame_times_mean(const ls_frame_times *times)
{
    ls_frame_means sum = {0};
    uint32_t taken = 0;
    while (taken < times->count && sum.frame_ms < MEAN_OF_MS) {
        uint32_t at = (times->next + LS_FRAME_TIMES_MAX - 1 - taken) % LS_FRAME_TIMES_MAX;
        sum.frame_ms += times->frame_ms[at];
        sum.work_ms += times->work_ms[at];
        taken++;
    }
    float count = taken > 0 ? (float)taken : 1.0f;
    return (ls_frame_means){sum.frame_ms / count, sum.work_ms / count};
}

/* The graph with its lower right corner at (right, bottom). */
static void paint_frame_times(const ls_overlay *overlay, int32_t right, int32_t bottom,
                              int32_t height)
{
    const ls_frame_times *times = overlay->times;
    int32_t left = right - (int32_t)LS_FRAME_TIMES_MAX;
    for (uint32_t i = 0; i < times->count; i++) {
        uint32_t at = (times->next + LS_FRAME_TIMES_MAX - times->count + i) % LS_FRAME_TIMES_MAX;
        float frame = LS_MIN(times->frame_ms[at] / GRAPH_MS, 1.0f);
        float work = LS_MIN(times->work_ms[at] / GRAPH_MS, frame);
        int32_t frame_height = (int32_t)(frame * (float)height);
        int32_t work_height = (int32_t)(work * (float)height);
        int32_t x = left + (int32_t)(LS_FRAME_TIMES_MAX - times->count + i);
        bool is_slow = times->frame_ms[at] > 1000.0f / 30.0f;
        ls_canvas_fill(overlay->canvas,
                       (ls_canvas_rect){x, bottom - frame_height, 1, frame_height - work_height},
                       is_slow ? SLOW : (GOOD & 0xFFFFFF00u) | 0x90u);
        ls_canvas_fill(overlay->canvas, (ls_canvas_rect){x, bottom - work_height, 1, work_height},
                       WORK);
    }
    int32_t line = bottom - (int32_t)(1000.0f / 60.0f / GRAPH_MS * (float)height);
    ls_canvas_fill(overlay->canvas, (ls_canvas_rect){left, line, (int32_t)LS_FRAME_TIMES_MAX, 1},
                   0xFFFFFF60u);
}

/* ---- text ---- */

static int32_t text_width(const ls_canvas_font *font, const char *text)
{
    return (int32_t)(ls_letters_columns(text) * font->width);
}

/* The larger of the two fonts in which the text fits into the width. */
static const ls_canvas_font *font_that_fits(const ls_canvas_font *larger,
                                            const ls_canvas_font *smaller, const char *text,
                                            int32_t width)
{
    return text_width(larger, text) <= width ? larger : smaller;
}

static void paint_centred(const ls_overlay *overlay, const ls_canvas_font *font, int32_t y,
                          uint32_t colour, const char *text)
{
    int32_t x = ((int32_t)overlay->canvas->width - text_width(font, text)) / 2;
    ls_canvas_text(overlay->canvas, font, x, y, colour, text);
}

/* ---- text in rows ---- */

/* Words over the whole width: in the larger font where they fit into one row, else in the smaller
 * one, in as many rows as it takes. */
typedef struct word_rows {
    const ls_canvas_font *font;
    size_t columns; /* of a row */
    int32_t height;
    int32_t width; /* of the longest */
} word_rows;

/* Bytes before the last `gap` in the first `size` bytes; 0: there is none. */
static size_t last_gap(const char *text, size_t size, const char *gap)
{
    size_t end = size;
    while (end > 0 && strncmp(text + end, gap, strlen(gap)) != 0) {
        end--;
    }
    return end;
}

/* Cuts the first row off, between things that stand apart or behind a word where it can; returns
 * the rest. */
static const char *next_row(const char *text, size_t columns, char row[LS_TEXT_BYTES_MAX])
{
    size_t size = ls_letters_fit(text, columns);
    size = LS_MAX(size, ls_letter_first(text).bytes); /* wider than the row */
    size_t end = text[size] == '\0' ? size : last_gap(text, size, "   ");
    end = end > 0 ? end : last_gap(text, size, " ");
    end = end > 0 ? end : size;
    ls_name_copy(row, end + 1, text);
    return text + end + strspn(text + end, " ");
}

static word_rows rows_of(const ls_overlay *overlay, const char *text)
{
    char row[LS_TEXT_BYTES_MAX];
    int32_t room = (int32_t)overlay->canvas->width - 2 * MARGIN;
    word_rows rows = {font_that_fits(&overlay->fonts->text, &overlay->fonts->figures, text, room),
                      0, 0, 0};
    rows.columns = (size_t)LS_MAX(room / (int32_t)rows.font->width, 1);
    do {
        text = next_row(text, rows.columns, row);
        rows.width = LS_MAX(rows.width, text_width(rows.font, row));
        rows.height += (int32_t)rows.font->height;
    } while (*text);
    return rows;
}

static void paint_rows(const ls_overlay *overlay, int32_t y, uint32_t colour, const char *text)
{
    char row[LS_TEXT_BYTES_MAX];
    word_rows rows = rows_of(overlay, text);
    do {
        text = next_row(text, rows.columns, row);
        paint_centred(overlay, rows.font, y, colour, row);
        y += (int32_t)rows.font->height;
    } while (*text);
}

/* ---- the bar of seats ---- */

static bool has_bar(const ls_overlay *overlay)
{
    return overlay->has_bar && overlay->hud->seat_count > 0 && !overlay->hud->heading.bytes[0];
}

static int32_t banner_height(const ls_overlay *overlay)
{
    return rows_of(overlay, overlay->hud->banner.bytes).height + 2 * PADDING;
}

static bool has_alarm(const ls_overlay *overlay)
{
    return overlay->hud->is_alarm && overlay->hud->banner.bytes[0];
}

static int32_t bar_top(const ls_overlay *overlay)
{
    return has_alarm(overlay) ? banner_height(overlay) : 0;
}

/* Columns that a seat takes, with its colour and the gap behind it. */
static int32_t seat_columns(const ls_hud_seat *seat)
{
    int32_t text = seat->text[0] ? (int32_t)ls_letters_columns(seat->text) + 1 : 0;
    int32_t name = (int32_t)ls_letters_columns(seat->name);
    return name > 0 || text > 0 ? name + text + 2 + SEAT_GAP_COLUMNS : 0;
}

/* The next place in the bar, whose rows are as long as the canvas is wide. */
typedef struct bar_place {
    const ls_canvas_font *font;
    int32_t x;
    int32_t row;
} bar_place;

static void make_room(const ls_overlay *overlay, bar_place *place, int32_t columns)
{
    int32_t end = place->x + (columns - SEAT_GAP_COLUMNS) * (int32_t)place->font->width;
    if (place->x > MARGIN && end > (int32_t)overlay->canvas->width - MARGIN) {
        place->x = MARGIN;
        place->row++;
    }
}

static int32_t match_columns(const ls_overlay *overlay)
{
    int32_t columns = (int32_t)ls_letters_columns(overlay->hud->match.text.bytes);
    return columns > 0 ? columns + SEAT_GAP_COLUMNS : 0;
}

static int32_t rows_in(const ls_overlay *overlay, const ls_canvas_font *font)
{
    bar_place place = {font, MARGIN, 0};
    for (uint32_t i = 0; i < overlay->hud->seat_count; i++) {
        int32_t columns = seat_columns(&overlay->hud->seats[i]);
        make_room(overlay, &place, columns);
        place.x += columns * (int32_t)font->width;
    }
    make_room(overlay, &place, match_columns(overlay));
    return place.row + 1;
}

/* The larger font where one row is enough. */
static const ls_canvas_font *font_of_bar(const ls_overlay *overlay)
{
    const ls_canvas_fonts *fonts = overlay->fonts;
    return rows_in(overlay, &fonts->text) == 1 ? &fonts->text : &fonts->figures;
}

static int32_t bar_height(const ls_overlay *overlay)
{
    const ls_canvas_font *font = font_of_bar(overlay);
    int32_t rows = rows_in(overlay, font) * (int32_t)font->height;
    return LS_MAX(rows, (int32_t)overlay->fonts->text.height) + PADDING;
}

static void paint_seat(const ls_overlay *overlay, uint32_t slot, bar_place at, int32_t y)
{
    const ls_hud_seat *seat = &overlay->hud->seats[slot];
    bool is_own = overlay->hud->owner == slot + 1;
    int32_t side = (int32_t)at.font->height / 2;
    int32_t name_x = at.x + 2 * (int32_t)at.font->width;
    int32_t text_x =
        name_x + ((int32_t)ls_letters_columns(seat->name) + 1) * (int32_t)at.font->width;
    ls_canvas_rect patch = {at.x, y + ((int32_t)at.font->height - side) / 2, side, side};
    ls_canvas_fill(overlay->canvas, patch, seat->colour ? seat->colour : DIM);
    ls_canvas_text(overlay->canvas, at.font, name_x, y, is_own ? 0xFFFFFFFFu : DIM, seat->name);
    ls_canvas_text(overlay->canvas, at.font, text_x, y, 0xFFFFFFFFu, seat->text);
}

/* The seats from the left, and at the right end what the game says of the match. */
static void paint_bar(const ls_overlay *overlay)
{
    const ls_hud_text *match = &overlay->hud->match;
    int32_t width = (int32_t)overlay->canvas->width;
    bar_place place = {font_of_bar(overlay), MARGIN, 0};
    int32_t row_height = (int32_t)place.font->height;
    int32_t rows = rows_in(overlay, place.font);
    int32_t top = bar_top(overlay) + (bar_height(overlay) - rows * row_height) / 2;
    ls_canvas_fill(overlay->canvas,
                   (ls_canvas_rect){0, bar_top(overlay), width, bar_height(overlay)}, PANEL);
    for (uint32_t i = 0; i < overlay->hud->seat_count; i++) {
        int32_t columns = seat_columns(&overlay->hud->seats[i]);
        make_room(overlay, &place, columns);
        if (columns > 0) {
            paint_seat(overlay, i, place, top + place.row * row_height);
        }
        place.x += columns * (int32_t)place.font->width;
    }
    make_room(overlay, &place, match_columns(overlay));
    ls_canvas_text(
        overlay->canvas, place.font, width - MARGIN - text_width(place.font, match->text.bytes),
        top + place.row * row_height, match->colour ? match->colour : TEXT, match->text.bytes);
}

void ls_overlay_name(ls_canvas *canvas, const ls_canvas_fonts *fonts, const ls_hud_seat *seat,
                     ls_canvas_point at)
{
    const ls_canvas_font *font = &fonts->figures;
    int32_t x = (int32_t)at.x - text_width(font, seat->name) / 2;
    int32_t y = (int32_t)at.y - (int32_t)font->height;
    ls_canvas_text(canvas, font, x + 1, y + 1, 0x000000C0u, seat->name);
    ls_canvas_text(canvas, font, x, y, TEXT, seat->name);
}

/* ---- figures: lines in as many columns as there is room for, and the graph behind them ---- */

static bool has_figures(const ls_overlay *overlay)
{
    return overlay->times && overlay->hud->line_count > 0;
}

static int32_t column_width(const ls_overlay *overlay)
{
    return FIGURE_COLUMNS * (int32_t)overlay->fonts->figures.width;
}

static int32_t columns_beside(const ls_overlay *overlay, int32_t taken)
{
    int32_t room = (int32_t)overlay->canvas->width - 2 * MARGIN - taken;
    return room / column_width(overlay);
}

/* The graph is left out where there is hardly room for the lines. */
static bool has_graph(const ls_overlay *overlay)
{
    return columns_beside(overlay, (int32_t)LS_FRAME_TIMES_MAX) >= 2;
}

static int32_t figure_rows(const ls_overlay *overlay)
{
    int32_t columns = columns_beside(overlay, has_graph(overlay) ? (int32_t)LS_FRAME_TIMES_MAX : 0);
    columns = LS_MAX(columns, 1);
    return ((int32_t)overlay->hud->line_count + columns - 1) / columns;
}

static int32_t figures_height(const ls_overlay *overlay)
{
    int32_t text = figure_rows(overlay) * (int32_t)overlay->fonts->figures.height;
    return has_figures(overlay) ? text + PADDING : 0;
}

static void paint_figures(const ls_overlay *overlay, int32_t top)
{
    const ls_canvas_font *font = &overlay->fonts->figures;
    int32_t rows = figure_rows(overlay);
    int32_t height = figures_height(overlay);
    int32_t right = (int32_t)overlay->canvas->width;
    ls_canvas_fill(overlay->canvas, (ls_canvas_rect){0, top, right, height}, PANEL);
    for (int32_t i = 0; i < (int32_t)overlay->hud->line_count; i++) {
        int32_t x = MARGIN + i / rows * column_width(overlay);
        int32_t y = top + PADDING / 2 + i % rows * (int32_t)font->height;
        char line[LS_VIEW_LINE_BYTES_MAX];
        ls_name_copy(line, sizeof line, overlay->hud->lines[i]);
        line[ls_letters_fit(line, FIGURE_COLUMNS - 1)] = '\0';
        ls_canvas_text(overlay->canvas, font, x, y, TEXT, line);
    }
    if (has_graph(overlay)) {
        paint_frame_times(overlay, right - MARGIN, top + height - PADDING / 2, height - PADDING);
    }
}

/* ---- keys ---- */

static const char *keys_of_view(const ls_overlay *overlay)
{
    if (overlay->playhead || !overlay->hud->has_chat) {
        return overlay->playhead ? KEYS_OF_RECORD : KEYS_OF_VIEW;
    }
    return overlay->hud->game_has_enter ? KEYS_OF_VIEW "   F4 chat" : KEYS_OF_VIEW "   Enter chat";
}

static int32_t keys_height(const ls_overlay *overlay)
{
    const char *own = overlay->hud->keys.text.bytes;
    int32_t height = rows_of(overlay, keys_of_view(overlay)).height + PADDING;
    height += own[0] ? rows_of(overlay, own).height : 0;
    return overlay->has_keys ? height : 0;
}

/* The game's own keys, and below them those of the view. */
static void paint_keys(const ls_overlay *overlay, int32_t top)
{
    const ls_hud_text *own = &overlay->hud->keys;
    int32_t width = (int32_t)overlay->canvas->width;
    int32_t y = top + PADDING / 2;
    ls_canvas_fill(overlay->canvas, (ls_canvas_rect){0, top, width, keys_height(overlay)}, PANEL);
    if (own->text.bytes[0]) {
        paint_rows(overlay, y, own->colour ? own->colour : TEXT, own->text.bytes);
        y += rows_of(overlay, own->text.bytes).height;
    }
    paint_rows(overlay, y, DIM, keys_of_view(overlay));
}

/* ---- chat ---- */

uint32_t ls_overlay_chat_columns(const ls_canvas_fonts *fonts, uint32_t width)
{
    uint32_t room = width > 2 * MARGIN ? width - 2 * MARGIN : 0;
    uint32_t columns = fonts ? room / fonts->text.width : width - 1;
    return LS_MIN(columns, (uint32_t)CHAT_COLUMNS_MAX);
}

/* Above `bottom`, over the picture. */
static void paint_chat(const ls_overlay *overlay, int32_t bottom)
{
    const ls_hud_model *hud = overlay->hud;
    const ls_canvas_font *font = &overlay->fonts->text;
    int32_t y = bottom - (int32_t)hud->chat_count * (int32_t)font->height - PADDING;
    for (uint32_t i = 0; i < hud->chat_count; i++) {
        bool is_typed = hud->is_typing && i + 1 == hud->chat_count;
        int32_t width = text_width(font, hud->chat[i]) + PADDING;
        int32_t height = (int32_t)font->height;
        ls_canvas_fill(overlay->canvas, (ls_canvas_rect){MARGIN - PADDING / 2, y, width, height},
                       PANEL);
        ls_canvas_text(overlay->canvas, font, MARGIN, y, is_typed ? 0xFFFFFFFFu : TEXT,
                       hud->chat[i]);
        y += height;
    }
}

/* ---- heading and banner ---- */

static void paint_alarm(const ls_overlay *overlay)
{
    int32_t width = (int32_t)overlay->canvas->width;
    ls_canvas_rect panel = {0, 0, width, banner_height(overlay)};
    ls_canvas_fill(overlay->canvas, panel, ALARM);
    paint_rows(overlay, PADDING, 0xFFFFFFFFu, overlay->hud->banner.bytes);
}

static void paint_banner(const ls_overlay *overlay)
{
    const char *text = overlay->hud->banner.bytes;
    int32_t width = rows_of(overlay, text).width + 4 * PADDING;
    int32_t x = ((int32_t)overlay->canvas->width - width) / 2;
    int32_t y = (int32_t)overlay->canvas->height / 3;
    ls_canvas_rect panel = {x, y, width, banner_height(overlay)};
    ls_canvas_fill(overlay->canvas, panel, NOTICE);
    paint_rows(overlay, y + PADDING, 0xFFFFFFFFu, text);
}

/* The game's words to the person, below the bar and over the picture. */
static void paint_person(const ls_overlay *overlay)
{
    const ls_hud_text *person = &overlay->hud->person;
    const ls_canvas_font *font =
        font_that_fits(&overlay->fonts->title, &overlay->fonts->text, person->text.bytes,
                       (int32_t)overlay->canvas->width / 2);
    int32_t width = text_width(font, person->text.bytes) + 4 * PADDING;
    int32_t x = ((int32_t)overlay->canvas->width - width) / 2;
    int32_t y = ls_overlay_measure(overlay).top + 2 * MARGIN;
    ls_canvas_fill(overlay->canvas, (ls_canvas_rect){x, y, width, (int32_t)font->height + PADDING},
                   PANEL);
    paint_centred(overlay, font, y + PADDING / 2, person->colour ? person->colour : 0xFFFFFFFFu,
                  person->text.bytes);
}

/* Before the match: its name, and what it waits for. */
static void paint_heading(const ls_overlay *overlay)
{
    const char *heading = overlay->hud->heading.bytes;
    int32_t width = (int32_t)overlay->canvas->width;
    const ls_canvas_font *font =
        font_that_fits(&overlay->fonts->world, &overlay->fonts->title, heading, width / 2);
    int32_t top = (int32_t)overlay->canvas->height / 3;
    const char *waiting = overlay->hud->waiting.bytes;
    int32_t height = (int32_t)font->height + rows_of(overlay, waiting).height + 3 * PADDING;
    ls_canvas_fill(overlay->canvas, (ls_canvas_rect){0, top - PADDING, width, height}, PANEL);
    paint_centred(overlay, font, top, 0xFFFFFFFFu, heading);
    paint_rows(overlay, top + (int32_t)font->height, TEXT, waiting);
}

/* ---- boxes and bars ---- */

void ls_overlay_box(ls_canvas *canvas, ls_canvas_point from, ls_canvas_point to)
{
    int32_t left = (int32_t)LS_MIN(from.x, to.x);
    int32_t top = (int32_t)LS_MIN(from.y, to.y);
    int32_t width = (int32_t)fabsf(to.x - from.x) + 1;
    int32_t height = (int32_t)fabsf(to.y - from.y) + 1;
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top, width, height}, BOX_INSIDE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top, width, 1}, BOX_EDGE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top + height - 1, width, 1}, BOX_EDGE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top, 1, height}, BOX_EDGE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left + width - 1, top, 1, height}, BOX_EDGE);
}

/* The seek bar with its words. */
typedef struct seek_panel {
    ls_canvas_rect whole, bar;
    int32_t bar_height; /* that can be clicked */
} seek_panel;

static seek_panel seek_panel_of(const ls_overlay *overlay)
{
    const ls_canvas_font *font = &overlay->fonts->text;
    int32_t width = (int32_t)overlay->canvas->width - 2 * MARGIN;
    int32_t letter = (int32_t)font->height;
    bool has_row = overlay->canvas->width < BAR_COLUMNS_MIN * font->width;
    int32_t words = has_row ? 0 : BAR_COLUMNS * (int32_t)font->width;
    int32_t bar_height = LS_MAX(BAR_HEIGHT, 2 * letter);
    int32_t height = bar_height + (has_row ? letter : 0);
    int32_t bottom = (int32_t)overlay->canvas->height - MARGIN;
    int32_t thickness = LS_MAX(6, letter / 4);
    return (seek_panel){.whole = {MARGIN, bottom - height, width, height},
                        .bar = {MARGIN + PADDING + words, bottom - bar_height / 2 - thickness / 2,
                                LS_MAX(width - words - 2 * PADDING, 1), thickness},
                        .bar_height = bar_height};
}

ls_overlay_place ls_overlay_place_at(const ls_overlay *overlay, ls_canvas_point at, double *share)
{
    const seek_panel panel = seek_panel_of(overlay);
    double x = (double)at.x - panel.bar.x;
    double above_bottom = (double)(panel.whole.y + panel.whole.height) - (double)at.y;
    *share = x / panel.bar.width;
    if (above_bottom < 0 || above_bottom > panel.whole.height || at.x < (float)MARGIN ||
        x > panel.bar.width + PADDING) {
        return LS_OVERLAY_PICTURE;
    }
    return x >= -PADDING && above_bottom <= panel.bar_height ? LS_OVERLAY_SEEK_BAR
                                                             : LS_OVERLAY_SEEK_WORDS;
}

static void speed_words(const ls_playhead *playhead, char *words, size_t capacity)
{
    if (playhead->speed >= 0) {
        snprintf(words, capacity, "x%d", 1 << playhead->speed);
    } else {
        snprintf(words, capacity, "x1/%d", 1 << -playhead->speed);
    }
}

static void paint_seek_bar(const ls_overlay *overlay)
{
    const ls_playhead *playhead = overlay->playhead;
    ls_canvas *canvas = overlay->canvas;
    const seek_panel panel = seek_panel_of(overlay);
    const ls_canvas_rect bar = panel.bar;
    ls_canvas_fill(canvas, panel.whole, PANEL);
    char speed[16];
    char words[64];
    speed_words(playhead, speed, sizeof speed);
    snprintf(words, sizeof words, "%-6s %-6s %" PRIu32, playhead->is_paused ? "paused" : "plays",
             speed, ls_playhead_tick(playhead));
    bool has_row = panel.whole.height > panel.bar_height;
    int32_t room = panel.bar_height - (int32_t)overlay->fonts->text.height;
    ls_canvas_text(canvas, &overlay->fonts->text, MARGIN + PADDING,
                   panel.whole.y + (has_row ? PADDING : room / 2), TEXT, words);
    int32_t done = (int32_t)(ls_playhead_share(playhead) * bar.width);
    ls_canvas_fill(canvas, bar, 0x3A4655FFu);
    ls_canvas_fill(canvas, (ls_canvas_rect){bar.x, bar.y, done, bar.height}, WORK);
    ls_canvas_point knob = {(float)(bar.x + done), (float)bar.y + (float)bar.height / 2.0f};
    ls_canvas_disc(canvas, knob, (float)bar.height * 1.2f, 0xFFFFFFFFu);
}

/* ---- all of it ---- */

static int32_t seek_height(const ls_overlay *overlay)
{
    return overlay->playhead ? seek_panel_of(overlay).whole.height + 2 * MARGIN : 0;
}

ls_overlay_margins ls_overlay_measure(const ls_overlay *overlay)
{
    return (ls_overlay_margins){.top = (has_bar(overlay) ? bar_height(overlay) : 0) +
                                       (has_alarm(overlay) ? banner_height(overlay) : 0),
                                .bottom = figures_height(overlay) + keys_height(overlay) +
                                          seek_height(overlay)};
}

void ls_overlay_paint(const ls_overlay *overlay)
{
    int32_t bottom = (int32_t)overlay->canvas->height - seek_height(overlay);
    if (overlay->playhead) {
        paint_seek_bar(overlay);
    }
    if (has_figures(overlay)) {
        bottom -= figures_height(overlay);
        paint_figures(overlay, bottom);
    }
    if (overlay->has_keys) {
        bottom -= keys_height(overlay);
        paint_keys(overlay, bottom);
    }
    paint_chat(overlay, bottom);
    if (has_bar(overlay)) {
        paint_bar(overlay);
    }
    if (overlay->hud->heading.bytes[0]) {
        paint_heading(overlay);
    } else if (overlay->has_bar && overlay->hud->person.text.bytes[0]) {
        paint_person(overlay);
    }
    if (has_alarm(overlay)) {
        paint_alarm(overlay);
    } else if (overlay->hud->banner.bytes[0]) {
        paint_banner(overlay);
    }
}
