#include "lockstep/client/view/overlay.h"

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

enum {
    MARGIN = 10,
    PADDING = 8,
    GRAPH_HEIGHT = 50,
    BAR_HEIGHT = 34,
    BAR_THICKNESS = 6,
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

static int32_t graph_bottom(const ls_overlay *overlay)
{
    return (int32_t)overlay->canvas->height - MARGIN - BAR_HEIGHT;
}

static void paint_frame_times(const ls_overlay *overlay)
{
    const ls_frame_times *times = overlay->times;
    int32_t bottom = graph_bottom(overlay);
    ls_canvas_rect panel = {MARGIN, bottom - GRAPH_HEIGHT, (int32_t)LS_FRAME_TIMES_MAX,
                            GRAPH_HEIGHT};
    ls_canvas_fill(overlay->canvas, panel, PANEL);
    for (uint32_t i = 0; i < times->count; i++) {
        uint32_t at = (times->next + LS_FRAME_TIMES_MAX - times->count + i) % LS_FRAME_TIMES_MAX;
        float frame = fminf(times->frame_ms[at] / GRAPH_MS, 1.0f);
        float work = fminf(times->work_ms[at] / GRAPH_MS, frame);
        int32_t frame_height = (int32_t)(frame * GRAPH_HEIGHT);
        int32_t work_height = (int32_t)(work * GRAPH_HEIGHT);
        int32_t x = MARGIN + (int32_t)(LS_FRAME_TIMES_MAX - times->count + i);
        bool is_slow = times->frame_ms[at] > 1000.0f / 30.0f;
        ls_canvas_fill(overlay->canvas,
                       (ls_canvas_rect){x, bottom - frame_height, 1, frame_height - work_height},
                       is_slow ? SLOW : (GOOD & 0xFFFFFF00u) | 0x90u);
        ls_canvas_fill(overlay->canvas, (ls_canvas_rect){x, bottom - work_height, 1, work_height},
                       WORK);
    }
    int32_t line = bottom - (int32_t)(1000.0f / 60.0f / GRAPH_MS * GRAPH_HEIGHT);
    ls_canvas_fill(overlay->canvas, (ls_canvas_rect){MARGIN, line, (int32_t)LS_FRAME_TIMES_MAX, 1},
                   0xFFFFFF60u);
}

/* ---- text ---- */

static int32_t text_width(const ls_overlay *overlay, const char *text)
{
    int32_t width = 0;
    for (; *text; text += ls_text_fit(text, 1)) {
        width += (int32_t)overlay->font->width;
    }
    return width;
}

static void paint_lines(const ls_overlay *overlay, int32_t top)
{
    const ls_hud_model *hud = overlay->hud;
    int32_t width = 0;
    int32_t line_height = (int32_t)overlay->font->height;
    for (uint32_t i = 0; i < hud->line_count; i++) {
        int32_t needed = text_width(overlay, hud->lines[i]);
        width = LS_MAX(needed, width);
    }
    if (hud->line_count == 0) {
        return;
    }
    ls_canvas_rect panel = {MARGIN, top, width + 2 * PADDING,
                            (int32_t)hud->line_count * line_height + 2 * PADDING};
    ls_canvas_fill(overlay->canvas, panel, PANEL);
    for (uint32_t i = 0; i < hud->line_count; i++) {
        ls_canvas_text(overlay->canvas, overlay->font, MARGIN + PADDING,
                       top + PADDING + (int32_t)i * line_height, TEXT, hud->lines[i]);
    }
}

static void paint_hint(const ls_overlay *overlay)
{
    const char *text = overlay->playhead ? "space pause  arrows step, speed  wheel zoom  H text"
                                         : "wheel zoom  F follow  Home all  N blend  H text";
    int32_t x = (int32_t)overlay->canvas->width - MARGIN - text_width(overlay, text);
    int32_t y = graph_bottom(overlay) - (int32_t)overlay->font->height;
    ls_canvas_text(overlay->canvas, overlay->font, x, y, DIM, text);
}

static int32_t banner_height(const ls_overlay *overlay)
{
    return (int32_t)overlay->font->height + 2 * PADDING;
}

static void paint_banner(const ls_overlay *overlay)
{
    const char *text = overlay->hud->banner.bytes;
    bool is_alarm = overlay->hud->is_alarm;
    int32_t height = banner_height(overlay);
    int32_t width = text_width(overlay, text) + 4 * PADDING;
    int32_t canvas_width = (int32_t)overlay->canvas->width;
    int32_t y = is_alarm ? 0 : (int32_t)overlay->canvas->height / 3;
    int32_t x = width < canvas_width ? (canvas_width - width) / 2 : 0;
    ls_canvas_rect panel = {x, y, width, height};
    if (is_alarm) {
        panel.x = 0;
        panel.width = canvas_width;
    }
    ls_canvas_fill(overlay->canvas, panel, is_alarm ? ALARM : NOTICE);
    ls_canvas_text(overlay->canvas, overlay->font, x + 2 * PADDING, y + PADDING, 0xFFFFFFFFu, text);
}

/* ---- boxes and bars ---- */

void ls_overlay_box(ls_canvas *canvas, ls_canvas_point from, ls_canvas_point to)
{
    int32_t left = (int32_t)fminf(from.x, to.x);
    int32_t top = (int32_t)fminf(from.y, to.y);
    int32_t width = (int32_t)fabsf(to.x - from.x) + 1;
    int32_t height = (int32_t)fabsf(to.y - from.y) + 1;
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top, width, height}, BOX_INSIDE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top, width, 1}, BOX_EDGE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top + height - 1, width, 1}, BOX_EDGE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left, top, 1, height}, BOX_EDGE);
    ls_canvas_fill(canvas, (ls_canvas_rect){left + width - 1, top, 1, height}, BOX_EDGE);
}

/* Where the bar itself lies: right of its text. */
static ls_canvas_rect bar_of(const ls_overlay *overlay)
{
    int32_t text = 26 * (int32_t)overlay->font->width;
    int32_t x = MARGIN + PADDING + text;
    int32_t y = (int32_t)overlay->canvas->height - MARGIN - BAR_HEIGHT / 2;
    int32_t width = (int32_t)overlay->canvas->width - x - MARGIN - PADDING;
    return (ls_canvas_rect){x, y - BAR_THICKNESS / 2, LS_MAX(width, 1), BAR_THICKNESS};
}

bool ls_overlay_seek_share(const ls_overlay *overlay, ls_canvas_point at, double *share)
{
    ls_canvas_rect bar = bar_of(overlay);
    int32_t bottom = (int32_t)overlay->canvas->height - MARGIN;
    *share = ((double)at.x - bar.x) / bar.width;
    return at.x >= (float)(bar.x - PADDING) && at.x <= (float)(bar.x + bar.width + PADDING) &&
           at.y >= (float)(bottom - BAR_HEIGHT) && at.y <= (float)bottom;
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
    ls_canvas_rect bar = bar_of(overlay);
    int32_t top = (int32_t)canvas->height - MARGIN - BAR_HEIGHT;
    ls_canvas_rect panel = {MARGIN, top, (int32_t)canvas->width - 2 * MARGIN, BAR_HEIGHT};
    ls_canvas_fill(canvas, panel, PANEL);
    char speed[16];
    char words[64];
    speed_words(playhead, speed, sizeof speed);
    snprintf(words, sizeof words, "%-6s %-6s %" PRIu32, playhead->is_paused ? "paused" : "plays",
             speed, ls_playhead_tick(playhead));
    ls_canvas_text(canvas, overlay->font, MARGIN + PADDING,
                   top + (BAR_HEIGHT - (int32_t)overlay->font->height) / 2, TEXT, words);
    int32_t done = (int32_t)(ls_playhead_share(playhead) * bar.width);
    ls_canvas_fill(canvas, bar, 0x3A4655FFu);
    ls_canvas_fill(canvas, (ls_canvas_rect){bar.x, bar.y, done, bar.height}, WORK);
    ls_canvas_point knob = {(float)(bar.x + done), (float)bar.y + (float)BAR_THICKNESS / 2.0f};
    ls_canvas_disc(canvas, knob, 7.0f, 0xFFFFFFFFu);
}

void ls_overlay_paint(const ls_overlay *overlay)
{
    bool has_banner = overlay->hud->banner.bytes[0] != '\0';
    if (overlay->times) {
        bool is_alarm = overlay->hud->is_alarm && has_banner;
        paint_lines(overlay, MARGIN + (is_alarm ? banner_height(overlay) : 0));
        paint_frame_times(overlay);
        paint_hint(overlay);
    }
    if (overlay->playhead) {
        paint_seek_bar(overlay);
    }
    if (has_banner) {
        paint_banner(overlay);
    }
}
