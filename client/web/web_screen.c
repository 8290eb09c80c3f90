#include "lockstep/client/web/web_screen.h"

#include "lockstep/client/view/letters.h"
#include "lockstep/common/system/system_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FONTS = sizeof(ls_canvas_fonts) / sizeof(ls_canvas_font),
};

struct ls_screen {
    const ls_allocator *allocator;
    ls_view *view;
    ls_scene scene;
    ls_canvas canvas; /* no pixels: its size is not known yet */
    ls_canvas_fonts fonts;
    uint8_t *coverage[FONTS];
    ls_letter_pictures *letters; /* of other scripts */
    uint64_t work_ns;            /* of the frame before */
};

static ls_screen *shown; /* the page's only one */
static uint8_t desk[LS_WEB_DESK_BYTES];

uint8_t *ls_web_desk(void)
{
    return desk;
}

/* The samples of an engine have no built-in that makes them. */
void ls_screen_play_sound(ls_screen *screen, const ls_sound *sound)
{
    if (sound->kind == LS_SOUND_CUE) {
        ls_sound_gain gain = ls_sound_gain_of(sound, ls_view_camera(screen->view));
        ls_page_sound(sound->id, gain.left, gain.right);
    }
}

static void hear(void *user, const ls_sound *sound)
{
    ls_screen_play_sound(user, sound);
}

static bool paint_letters(void *user, const ls_canvas_font *font, const char *text, uint32_t width,
                          uint8_t *coverage)
{
    (void)user;
    ls_page_letters(text, strlen(text), width, font->height, coverage);
    return true;
}

/* ---- opening ---- */

ls_screen_config ls_screen_config_default(void)
{
    return (ls_screen_config){
        .kind = LS_SCREEN_WINDOW, .interpolates = true, .has_chat = true, .volume = 100};
}

ls_status ls_screen_open(const ls_screen_config *config, const ls_view_source *source,
                         const ls_log *log, const ls_allocator *allocator, ls_screen **out,
                         ls_text *why)
{
    ls_screen *screen = ls_allocate(allocator, sizeof *screen);
    (void)log;
    (void)why;
    if (!screen) {
        return LS_NO_MEMORY;
    }
    *screen = (ls_screen){.allocator = allocator};
    const ls_view_config view = {.source = *source,
                                 .interpolates = config->interpolates,
                                 .has_chat = config->has_chat,
                                 .ear = {hear, screen}};
    ls_status status = ls_view_create(&view, allocator, &screen->view);
    LS_THEN(status, ls_scene_init(&screen->scene, allocator));
    screen->letters =
        ls_letter_pictures_create(&(ls_letter_painter){screen, paint_letters}, allocator);
    LS_THEN(status, screen->letters ? LS_OK : LS_NO_MEMORY);
    if (status != LS_OK) {
        ls_screen_close(screen);
        return status;
    }
    *out = screen;
    shown = screen;
    return LS_OK;
}

void ls_screen_close(ls_screen *screen)
{
    if (!screen) {
        return;
    }
    for (uint32_t i = 0; i < FONTS; i++) {
        ls_release(screen->allocator, screen->coverage[i]);
    }
    ls_letter_pictures_destroy(screen->letters);
    ls_release(screen->allocator, screen->canvas.pixels);
    ls_view_destroy(screen->view);
    ls_scene_deinit(&screen->scene);
    ls_release(screen->allocator, screen);
}

ls_view *ls_screen_view(ls_screen *screen)
{
    return screen->view;
}

/* ---- what the page gives ---- */

uint8_t *ls_web_font(uint32_t which, uint32_t width, uint32_t height)
{
    if (!shown || which >= FONTS || width > LS_CANVAS_SIDE_MAX || height > LS_CANVAS_SIDE_MAX) {
        return NULL;
    }
    ls_release(shown->allocator, shown->coverage[which]);
    shown->coverage[which] =
        ls_allocate_array(shown->allocator, LS_CANVAS_GLYPHS, (size_t)width * height);
    ls_canvas_font *fonts[] = {&shown->fonts.figures, &shown->fonts.text, &shown->fonts.title,
                               &shown->fonts.world};
    *fonts[which] = (ls_canvas_font){.width = width,
                                     .height = height,
                                     .coverage = shown->coverage[which],
                                     .writer = ls_letter_pictures_writer(shown->letters)};
    return shown->coverage[which];
}

int32_t ls_web_resize(uint32_t width, uint32_t height)
{
    if (!shown || width == 0 || height == 0 || width > LS_CANVAS_SIDE_MAX ||
        height > LS_CANVAS_SIDE_MAX) {
        return false;
    }
    uint32_t *pixels = ls_allocate_array(shown->allocator, height, width * sizeof *pixels);
    if (!pixels) {
        return false;
    }
    ls_release(shown->allocator, shown->canvas.pixels);
    shown->canvas = (ls_canvas){.pixels = pixels, .width = width, .height = height};
    return true;
}

void ls_web_event(uint32_t kind, uint32_t code, uint32_t is_down, float x, float y)
{
    if (!shown || kind > LS_VIEW_EVENT_CLOSE) {
        return;
    }
    ls_view_event event = {.kind = (ls_view_event_kind)kind,
                           .key = LS_MIN(code, LS_KEYS - 1),
                           .pad = code,
                           .button = (ls_view_button)LS_MIN(code, (uint32_t)LS_BUTTON_RIGHT),
                           .is_down = is_down != 0,
                           .at = {x, y},
                           .amount = x};
    if (event.kind == LS_VIEW_EVENT_WHEEL) {
        event.amount = code == 0 ? -1.0f : 1.0f;
    }
    ls_name_copy(event.text, sizeof event.text, (const char *)desk);
    ls_view_receive(shown->view, &event);
}

/* They have been received as they came. */
void ls_screen_receive(ls_screen *screen, uint64_t now_ns)
{
    (void)screen;
    (void)now_ns;
}

/* ---- sound ---- */

void ls_screen_start_sound(ls_screen *screen)
{
    (void)screen;
}

const int16_t *ls_web_cue(uint32_t id)
{
    static int16_t pairs[2 * LS_WEB_CUE_FRAMES];
    const ls_sound cue = {.kind = LS_SOUND_CUE, .id = id, .volume = LS_FIXED_ONE};
    const ls_sound_gain gain = {1.0f, 1.0f};
    ls_sound_mixer *mixer = NULL;
    if (ls_sound_mixer_create(LS_WEB_CUE_HZ, 1.0f, ls_allocator_heap(), &mixer) != LS_OK) {
        return NULL;
    }
    ls_sound_mixer_play(mixer, &cue, gain);
    ls_sound_mixer_mix(mixer, pairs, LS_WEB_CUE_FRAMES);
    ls_sound_mixer_destroy(mixer);
    return pairs;
}

/* ---- pictures ---- */

/* From 0xFFRRGGBB to the bytes that a page shows. */
static void swap_colours(ls_canvas *canvas)
{
    size_t count = (size_t)canvas->width * canvas->height;
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = canvas->pixels[i];
        canvas->pixels[i] = (pixel & 0xFF00FF00u) | (pixel >> 16 & 0xFFu) | (pixel & 0xFFu) << 16;
    }
}

uint64_t ls_screen_frame(ls_screen *screen, uint64_t now_ns)
{
    const ls_clock clock = ls_clock_system();
    const ls_canvas_fonts *fonts = screen->coverage[FONTS - 1] ? &screen->fonts : NULL;
    if (!screen->canvas.pixels) {
        return now_ns;
    }
    const ls_view_frame frame = {.now_ns = now_ns,
                                 .work_ns = screen->work_ns,
                                 .width = screen->canvas.width,
                                 .height = screen->canvas.height,
                                 .fonts = fonts};
    ls_view_compose(screen->view, &frame, &screen->scene);
    ls_letter_pictures_begin(screen->letters);
    ls_scene_paint(&screen->scene, fonts, &screen->canvas);
    swap_colours(&screen->canvas);
    screen->work_ns = ls_clock_now_ns(&clock) - now_ns;
    return now_ns;
}

const uint32_t *ls_web_screen_pixels(const ls_screen *screen)
{
    return screen->canvas.pixels;
}

/* ---- reports ---- */

/* A text has no line of its own. */
void ls_web_add_line(ls_text *out, const char *name, const char *text)
{
    ls_text line = {{0}};
    ls_text_set(&line, "%s", text);
    for (char *at = line.bytes; *at; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
    ls_text_add(out, "%s %s\n", name, line.bytes);
}

void ls_web_add_number(ls_text *out, const char *name, uint32_t number)
{
    ls_text_add(out, "%s %" PRIu32 "\n", name, number);
}

uint32_t ls_web_put_text(const char *text)
{
    return (uint32_t)snprintf((char *)desk, sizeof desk, "%s", text);
}
