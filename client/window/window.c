#include "lockstep/client/window/window.h"

#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/client/window/font_writer.h"
#include "lockstep/common/system/file.h"

#include <SDL2/SDL.h>
#include <SDL2/SDL_ttf.h>
#include <errno.h>
#include <inttypes.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

enum {
    FONTS = sizeof(ls_canvas_fonts) / sizeof(ls_canvas_font),
    TEXT_POINTS = 13,
    FONT_PATH_BYTES = 1024,
    CANVAS_PIXELS_MAX = 2560 * 1600, /* a larger window gets a smaller picture, stretched */
    STICK_DEAD_ZONE = 6000,          /* of 32,767 */
};

struct ls_window {
    const ls_allocator *allocator;
    SDL_Window *window;
    SDL_Renderer *renderer; /* of a graphics card; NULL: pictures are copied to the window */
    SDL_Texture *texture;   /* likewise; as large as the canvas */
    bool is_shown;          /* the window has the last picture still */
    SDL_GameController *pad;
    uint32_t display_hz;
    ls_canvas canvas;
    float canvas_per_unit; /* pixels of the canvas for one of the screen's units */
    uint32_t text_points;
    ls_canvas_fonts fonts;
    uint8_t *glyphs[FONTS];
    ls_font_writer *writer; /* of what the fonts have no glyphs for */
    char title[LS_WINDOW_TITLE_BYTES_MAX];
    float axes[SDL_CONTROLLER_AXIS_MAX]; /* as SDL orders them; y down */
    bool is_left_middle; /* the left button went down with alt held, and counts as the middle one */
};

/* ---- the font ---- */

/* Copies the part of a rendered glyph that lies in its cell. */
static void keep_glyph(const SDL_Surface *surface, const ls_canvas_font *font, uint8_t *coverage)
{
    for (int y = 0; y < surface->h && y < (int)font->height; y++) {
        const uint32_t *row =
            (const uint32_t *)(const void *)((const uint8_t *)surface->pixels + y * surface->pitch);
        for (int x = 0; x < surface->w && x < (int)font->width; x++) {
            coverage[(size_t)y * font->width + (size_t)x] = (uint8_t)(row[x] >> 24);
        }
    }
}

static void render_glyphs(TTF_Font *font, const ls_canvas_font *cells, uint8_t *coverage)
{
    for (uint32_t i = 0; i < LS_CANVAS_GLYPHS; i++) {
        SDL_Surface *surface = TTF_RenderGlyph32_Blended(font, ls_canvas_glyph_code(i),
                                                         (SDL_Color){255, 255, 255, 255});
        if (surface && surface->format->BytesPerPixel == 4) {
            keep_glyph(surface, cells, coverage + (size_t)i * cells->width * cells->height);
        }
        SDL_FreeSurface(surface);
    }
}

/* One size; the one before stays where it fails. */
static ls_status load_font(ls_window *window, const char *path, uint32_t points, uint32_t which,
                           ls_text *why)
{
    TTF_Font *font = TTF_OpenFont(path, (int)points);
    int advance = 0;
    if (!font || TTF_GlyphMetrics(font, 'M', NULL, NULL, NULL, NULL, &advance) != 0) {
        ls_text_set(why, "%s: %s", path, TTF_GetError());
        TTF_CloseFont(font);
        return LS_IO;
    }
    ls_canvas_font cells = {.width = (uint32_t)advance,
                            .height = (uint32_t)TTF_FontHeight(font),
                            .writer = ls_font_writer_canvas(window->writer)};
    uint8_t *coverage =
        ls_allocate_array(window->allocator, LS_CANVAS_GLYPHS, (size_t)cells.width * cells.height);
    if (coverage) {
        render_glyphs(font, &cells, coverage);
        cells.coverage = coverage;
        ls_release(window->allocator, window->glyphs[which]);
        window->glyphs[which] = coverage;
        ls_canvas_font *fonts[] = {&window->fonts.figures, &window->fonts.text,
                                   &window->fonts.title, &window->fonts.world};
        *fonts[which] = cells;
    }
    TTF_CloseFont(font);
    return coverage ? LS_OK : LS_NO_MEMORY;
}

static ls_status load_fonts(ls_window *window, uint32_t text_points, ls_text *why)
{
    static const uint32_t quarters[FONTS] = {3, 4, 7, 16}; /* of the text's points */
    char path[FONT_PATH_BYTES];
    if (ls_font_file_find(path, sizeof path) != LS_OK) {
        return ls_fail(LS_IO, why,
                       "no font was found (on Debian: apt-get install fonts-dejavu-core)");
    }
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < FONTS && status == LS_OK; i++) {
        status = load_font(window, path, (quarters[i] * text_points + 2) / 4, i, why);
    }
    window->text_points = text_points;
    if (window->canvas.tiles) {
        ls_canvas_tiles_forget(window->canvas.tiles);
    }
    return status;
}

/* ---- opening ---- */

/* OpenGL that a processor computes takes longer to show a picture than to copy it does. */
static bool is_graphics_card(void)
{
    typedef const unsigned char *(*get_string)(unsigned name);
    const unsigned renderer_name = 0x1F01; /* GL_RENDERER */
    const void *address = SDL_GL_GetProcAddress("glGetString");
    get_string get = NULL;
    memcpy(&get, &address, sizeof get); /* C has no cast from an object to a function */
    const char *name = get ? (const char *)get(renderer_name) : NULL;
    return name && !strstr(name, "llvmpipe") && !strstr(name, "softpipe") && !strstr(name, "SWR") &&
           !strstr(name, "SwiftShader");
}

static bool can_follow_display(ls_window *window)
{
    SDL_RendererInfo info;
    SDL_DisplayMode mode;
    bool can = window->renderer && SDL_GetRendererInfo(window->renderer, &info) == 0 &&
               (info.flags & SDL_RENDERER_PRESENTVSYNC) && strncmp(info.name, "opengl", 6) == 0 &&
               is_graphics_card() && SDL_GetWindowDisplayMode(window->window, &mode) == 0 &&
               mode.refresh_rate > 0;
    window->display_hz = can ? (uint32_t)mode.refresh_rate : 0;
    return can;
}

/* A graphics card shows pictures when the display is ready for one. Otherwise they are copied. */
static void open_renderer(ls_window *window)
{
    window->renderer = SDL_CreateRenderer(window->window, -1,
                                          SDL_RENDERER_ACCELERATED | SDL_RENDERER_PRESENTVSYNC);
    if (!can_follow_display(window)) {
        SDL_DestroyRenderer(window->renderer);
        window->renderer = NULL;
    }
}

/* Where it finds no screen, SDL takes a driver that shows its windows to nobody, unasked. */
static bool is_seen(void)
{
    const char *driver = SDL_GetCurrentVideoDriver();
    bool is_blind = !driver || strcmp(driver, "offscreen") == 0 || strcmp(driver, "dummy") == 0;
    return !is_blind || SDL_GetHint(SDL_HINT_VIDEODRIVER) != NULL;
}

static ls_status open_parts(ls_window *window, const ls_window_config *config, ls_text *why)
{
    SDL_SetHint(SDL_HINT_NO_SIGNAL_HANDLERS, "1"); /* the event loop has them */
    SDL_SetHint(SDL_HINT_VIDEO_ALLOW_SCREENSAVER, "1");
    SDL_SetHint(SDL_HINT_RENDER_SCALE_QUALITY, "1");
    SDL_SetHint(SDL_HINT_FRAMEBUFFER_ACCELERATION, "0");
    SDL_SetMainReady();
    if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_GAMECONTROLLER) != 0 || TTF_Init() != 0) {
        return ls_fail(LS_IO, why,
                       "there is no screen for a window here: %s (--view=text needs none)",
                       SDL_GetError());
    }
    if (!is_seen()) {
        return ls_fail(LS_IO, why,
                       "there is no screen for a window here: is DISPLAY set? (--view=text needs "
                       "none)");
    }
    window->window = SDL_CreateWindow(
        config->title, SDL_WINDOWPOS_UNDEFINED, SDL_WINDOWPOS_UNDEFINED, (int)config->width,
        (int)config->height, SDL_WINDOW_RESIZABLE | SDL_WINDOW_ALLOW_HIGHDPI);
    if (window->window && config->follows_display) {
        open_renderer(window);
    }
    if (!window->renderer && !SDL_GetWindowSurface(window->window)) {
        return ls_fail(LS_IO, why, "no window can be opened: %s", SDL_GetError());
    }
    window->writer = ls_font_writer_create(window->allocator);
    return window->writer ? load_fonts(window, TEXT_POINTS, why) : LS_NO_MEMORY;
}

ls_status ls_window_open(const ls_window_config *config, const ls_allocator *allocator,
                         ls_window **out, ls_text *why)
{
    ls_window *window = ls_allocate(allocator, sizeof *window);
    if (!window) {
        return LS_NO_MEMORY;
    }
    window->allocator = allocator;
    ls_status status = open_parts(window, config, why);
    if (status == LS_OK && !ls_window_canvas(window)) {
        status = LS_NO_MEMORY;
    }
    if (status != LS_OK) {
        ls_window_close(window);
        return status;
    }
    *out = window;
    return LS_OK;
}

void ls_window_close(ls_window *window)
{
    if (!window) {
        return;
    }
    SDL_GameControllerClose(window->pad);
    SDL_DestroyTexture(window->texture);
    SDL_DestroyRenderer(window->renderer);
    SDL_DestroyWindow(window->window);
    ls_font_writer_destroy(window->writer);
    TTF_Quit();
    SDL_Quit();
    for (uint32_t i = 0; i < FONTS; i++) {
        ls_release(window->allocator, window->glyphs[i]);
    }
    ls_canvas_tiles_destroy(window->canvas.tiles, window->allocator);
    ls_release(window->allocator, window->canvas.pixels);
    ls_release(window->allocator, window);
}

uint32_t ls_window_display_hz(const ls_window *window)
{
    return window->display_hz;
}

const ls_canvas_fonts *ls_window_fonts(const ls_window *window)
{
    return &window->fonts;
}

void ls_window_set_title(ls_window *window, const char *title)
{
    if (strcmp(title, window->title) != 0) {
        ls_name_copy(window->title, sizeof window->title, title);
        SDL_SetWindowTitle(window->window, window->title);
    }
}

/* ---- events ---- */

/* SDL's scancodes are the usages of the HID tables, and beyond them some of its own. */
_Static_assert((int)SDL_SCANCODE_A == (int)LS_KEY_A && (int)SDL_SCANCODE_UP == (int)LS_KEY_UP &&
                   (int)SDL_SCANCODE_RGUI == (int)LS_KEY_RIGHT_SUPER,
               "the keys of the contract are SDL's");

/* Its pad buttons are the bits of the contract. */
_Static_assert((1 << SDL_CONTROLLER_BUTTON_A) == (int)LS_PAD_SOUTH &&
                   (1 << SDL_CONTROLLER_BUTTON_Y) == (int)LS_PAD_NORTH &&
                   (1 << SDL_CONTROLLER_BUTTON_START) == (int)LS_PAD_START &&
                   (1 << SDL_CONTROLLER_BUTTON_DPAD_RIGHT) == (int)LS_PAD_RIGHT,
               "the buttons of the contract are SDL's");

static bool repeats(uint32_t key)
{
    return key == LS_KEY_LEFT || key == LS_KEY_RIGHT || key == LS_KEY_EQUALS ||
           key == LS_KEY_MINUS || key == LS_KEY_KEYPAD_PLUS || key == LS_KEY_KEYPAD_MINUS;
}

/* F11, and alt with enter: the window's own keys. */
static bool is_for_full_screen(const SDL_KeyboardEvent *key)
{
    SDL_Scancode code = key->keysym.scancode;
    bool is_enter = code == SDL_SCANCODE_RETURN || code == SDL_SCANCODE_KP_ENTER;
    return code == SDL_SCANCODE_F11 || (is_enter && (key->keysym.mod & KMOD_ALT) != 0);
}

static void change_full_screen(ls_window *window, const SDL_KeyboardEvent *key)
{
    if (key->state == SDL_PRESSED && !key->repeat) {
        bool is_full = (SDL_GetWindowFlags(window->window) & SDL_WINDOW_FULLSCREEN_DESKTOP) != 0;
        SDL_SetWindowFullscreen(window->window, is_full ? 0 : SDL_WINDOW_FULLSCREEN_DESKTOP);
    }
}

static bool read_key(ls_window *window, const SDL_KeyboardEvent *key, ls_view_event *event)
{
    uint32_t usage = (uint32_t)key->keysym.scancode;
    if (is_for_full_screen(key)) {
        change_full_screen(window, key);
        return false;
    }
    *event = (ls_view_event){
        .kind = LS_VIEW_EVENT_KEY, .key = usage, .is_down = key->state == SDL_PRESSED};
    return usage != LS_KEY_NONE && usage < LS_KEYS && (!key->repeat || repeats(usage));
}

static bool read_text(const SDL_TextInputEvent *text, ls_view_event *event)
{
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_TEXT};
    ls_name_copy(event->text, sizeof event->text, text->text);
    return event->text[0] != '\0';
}

static ls_canvas_point place_of(const ls_window *window, int x, int y)
{
    return (ls_canvas_point){((float)x + 0.5f) * window->canvas_per_unit,
                             ((float)y + 0.5f) * window->canvas_per_unit};
}

/* A laptop has no middle button: alt and the left one stand for it. */
static bool read_button(ls_window *window, const SDL_MouseButtonEvent *button, ls_view_event *event)
{
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_BUTTON,
                             .is_down = button->state == SDL_PRESSED,
                             .at = place_of(window, button->x, button->y)};
    if (button->button == SDL_BUTTON_LEFT) {
        if (event->is_down) {
            window->is_left_middle = (SDL_GetModState() & KMOD_ALT) != 0;
        }
        event->button = window->is_left_middle ? LS_BUTTON_MIDDLE : LS_BUTTON_LEFT;
        return true;
    }
    event->button = button->button == SDL_BUTTON_RIGHT ? LS_BUTTON_RIGHT : LS_BUTTON_MIDDLE;
    return button->button == SDL_BUTTON_RIGHT || button->button == SDL_BUTTON_MIDDLE;
}

static bool read_wheel(const ls_window *window, const SDL_MouseWheelEvent *wheel,
                       ls_view_event *event)
{
    float away = wheel->direction == SDL_MOUSEWHEEL_FLIPPED ? -wheel->preciseY : wheel->preciseY;
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_WHEEL,
                             .amount = away,
                             .at = place_of(window, wheel->mouseX, wheel->mouseY)};
    return true;
}

static float stick_of(int16_t value)
{
    bool is_dead = value > -STICK_DEAD_ZONE && value < STICK_DEAD_ZONE;
    return is_dead ? 0.0f : (float)value / 32767.0f;
}

static bool read_axis(ls_window *window, const SDL_ControllerAxisEvent *axis, ls_view_event *event)
{
    float *axes = window->axes;
    if (axis->axis >= SDL_CONTROLLER_AXIS_MAX) {
        return false;
    }
    bool is_trigger = axis->axis >= SDL_CONTROLLER_AXIS_TRIGGERLEFT;
    axes[axis->axis] = is_trigger ? (float)axis->value / 32767.0f : stick_of(axis->value);
    if (is_trigger) {
        *event = (ls_view_event){
            .kind = LS_VIEW_EVENT_TRIGGERS,
            .at = {axes[SDL_CONTROLLER_AXIS_TRIGGERLEFT], axes[SDL_CONTROLLER_AXIS_TRIGGERRIGHT]}};
    } else if (axis->axis <= SDL_CONTROLLER_AXIS_LEFTY) {
        *event = (ls_view_event){
            .kind = LS_VIEW_EVENT_STICK,
            .at = {axes[SDL_CONTROLLER_AXIS_LEFTX], -axes[SDL_CONTROLLER_AXIS_LEFTY]}};
    } else {
        *event = (ls_view_event){
            .kind = LS_VIEW_EVENT_RIGHT_STICK,
            .at = {axes[SDL_CONTROLLER_AXIS_RIGHTX], -axes[SDL_CONTROLLER_AXIS_RIGHTY]}};
    }
    return true;
}

static bool read_window_change(ls_window *window, const SDL_WindowEvent *change,
                               ls_view_event *event)
{
    bool is_kept = change->event == SDL_WINDOWEVENT_ENTER ||
                   change->event == SDL_WINDOWEVENT_LEAVE || change->event == SDL_WINDOWEVENT_MOVED;
    window->is_shown = window->is_shown && is_kept;
    event->kind = LS_VIEW_EVENT_AWAY;
    return change->event == SDL_WINDOWEVENT_FOCUS_LOST;
}

/* The first pad that there is counts. */
static void open_pad(ls_window *window)
{
    for (int i = 0; i < SDL_NumJoysticks() && !window->pad; i++) {
        window->pad = SDL_IsGameController(i) ? SDL_GameControllerOpen(i) : NULL;
    }
}

static bool is_own_pad(const ls_window *window, SDL_JoystickID id)
{
    return window->pad && SDL_JoystickInstanceID(SDL_GameControllerGetJoystick(window->pad)) == id;
}

static bool read_pad(ls_window *window, const SDL_Event *from, ls_view_event *event)
{
    switch (from->type) {
    case SDL_CONTROLLERDEVICEADDED:
        open_pad(window);
        return false;
    case SDL_CONTROLLERDEVICEREMOVED:
        if (!is_own_pad(window, from->cdevice.which)) {
            return false;
        }
        SDL_GameControllerClose(window->pad);
        window->pad = NULL;
        memset(window->axes, 0, sizeof window->axes);
        open_pad(window);
        *event = (ls_view_event){.kind = LS_VIEW_EVENT_PAD_AWAY};
        return true;
    case SDL_CONTROLLERBUTTONDOWN:
    case SDL_CONTROLLERBUTTONUP:
        *event = (ls_view_event){.kind = LS_VIEW_EVENT_PAD,
                                 .pad = from->cbutton.button < 32 ? 1u << from->cbutton.button : 0,
                                 .is_down = from->cbutton.state == SDL_PRESSED};
        return event->pad != LS_PAD_NONE;
    case SDL_CONTROLLERAXISMOTION:
        return read_axis(window, &from->caxis, event);
    default:
        return false;
    }
}

static bool translate(ls_window *window, const SDL_Event *from, ls_view_event *event)
{
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_CLOSE};
    switch (from->type) {
    case SDL_QUIT:
        return true;
    case SDL_KEYDOWN:
    case SDL_KEYUP:
        return read_key(window, &from->key, event);
    case SDL_TEXTINPUT:
        return read_text(&from->text, event);
    case SDL_MOUSEBUTTONDOWN:
    case SDL_MOUSEBUTTONUP:
        return read_button(window, &from->button, event);
    case SDL_MOUSEMOTION:
        event->kind = LS_VIEW_EVENT_MOTION;
        event->at = place_of(window, from->motion.x, from->motion.y);
        return true;
    case SDL_MOUSEWHEEL:
        return read_wheel(window, &from->wheel, event);
    case SDL_WINDOWEVENT:
        return read_window_change(window, &from->window, event);
    case SDL_RENDER_TARGETS_RESET:
    case SDL_RENDER_DEVICE_RESET:
        window->is_shown = false;
        return false;
    default:
        return read_pad(window, from, event);
    }
}

bool ls_window_next_event(ls_window *window, ls_view_event *event)
{
    SDL_Event from;
    while (SDL_PollEvent(&from)) {
        if (translate(window, &from, event)) {
            return true;
        }
    }
    return false;
}

/* ---- pictures ---- */

static void resize(ls_window *window, uint32_t width, uint32_t height)
{
    SDL_Texture *texture =
        window->renderer ? SDL_CreateTexture(window->renderer, SDL_PIXELFORMAT_ARGB8888,
                                             SDL_TEXTUREACCESS_STREAMING, (int)width, (int)height)
                         : NULL;
    uint32_t *pixels = ls_allocate_array(window->allocator, (size_t)width * height, sizeof *pixels);
    if ((window->renderer && !texture) ||
        !pixels) { /* the picture keeps its size and is stretched */
        SDL_DestroyTexture(texture);
        ls_release(window->allocator, pixels);
        return;
    }
    if (texture) {
        SDL_SetTextureBlendMode(texture, SDL_BLENDMODE_NONE);
    }
    SDL_DestroyTexture(window->texture);
    ls_canvas_tiles_destroy(window->canvas.tiles, window->allocator);
    ls_release(window->allocator, window->canvas.pixels);
    window->texture = texture;
    window->canvas = (ls_canvas){pixels, width, height,
                                 ls_canvas_tiles_create(width, height, window->allocator)};
    window->is_shown = false;
}

static void measure(ls_window *window, int *width, int *height)
{
    const SDL_Surface *surface = window->renderer ? NULL : SDL_GetWindowSurface(window->window);
    if (window->renderer) {
        SDL_GetRendererOutputSize(window->renderer, width, height);
    } else if (surface) {
        *width = surface->w;
        *height = surface->h;
    }
}

ls_canvas *ls_window_canvas(ls_window *window)
{
    int width = 1;
    int height = 1;
    int units = 1;
    measure(window, &width, &height);
    SDL_GetWindowSize(window->window, &units, NULL);
    while (width > 1 && height > 1 && (long long)width * height > CANVAS_PIXELS_MAX) {
        width /= 2;
        height /= 2;
    }
    if (width > 0 && height > 0 && width <= (int)LS_CANVAS_SIDE_MAX &&
        height <= (int)LS_CANVAS_SIDE_MAX &&
        ((uint32_t)width != window->canvas.width || (uint32_t)height != window->canvas.height)) {
        resize(window, (uint32_t)width, (uint32_t)height);
    }
    window->canvas_per_unit = units > 0 ? (float)window->canvas.width / (float)units : 1.0f;
    uint32_t points = (uint32_t)(TEXT_POINTS * window->canvas_per_unit + 0.5f);
    if (points > 0 && points != window->text_points) {
        load_fonts(window, points, NULL);
    }
    ls_font_writer_begin(window->writer);
    return window->canvas.pixels ? &window->canvas : NULL;
}

static bool has_our_pixels(const SDL_Surface *surface)
{
    return surface->format->format == SDL_PIXELFORMAT_RGB888 ||
           surface->format->format == SDL_PIXELFORMAT_ARGB8888;
}

/* A picture that is smaller than the window, or a screen with other pixels. */
static void stretch(const ls_window *window, SDL_Surface *surface)
{
    const ls_canvas *canvas = &window->canvas;
    SDL_Surface *picture = SDL_CreateRGBSurfaceWithFormatFrom(
        canvas->pixels, (int)canvas->width, (int)canvas->height, 32,
        (int)(canvas->width * sizeof *canvas->pixels),
        has_our_pixels(surface) ? surface->format->format : SDL_PIXELFORMAT_RGB888);
    if (picture && SDL_SoftStretchLinear(picture, NULL, surface, NULL) != 0) {
        SDL_BlitScaled(picture, NULL, surface, NULL);
    }
    SDL_FreeSurface(picture);
    SDL_UpdateWindowSurface(window->window);
}

/* The parts of the canvas that are not in the window yet. */
static uint32_t parts_to_show(const ls_window *window, SDL_Rect places[LS_CANVAS_PARTS_MAX])
{
    const ls_canvas *canvas = &window->canvas;
    ls_canvas_rect parts[LS_CANVAS_PARTS_MAX] = {
        {0, 0, (int32_t)canvas->width, (int32_t)canvas->height}};
    uint32_t count =
        window->is_shown && canvas->tiles ? ls_canvas_tiles_parts(canvas->tiles, parts) : 1;
    for (uint32_t i = 0; i < count; i++) {
        places[i] = (SDL_Rect){parts[i].x, parts[i].y, parts[i].width, parts[i].height};
    }
    return count;
}

static const uint32_t *pixels_at(const ls_canvas *canvas, const SDL_Rect *place)
{
    return canvas->pixels + (size_t)place->y * canvas->width + place->x;
}

static void copy(const ls_canvas *canvas, const SDL_Rect *place, SDL_Surface *surface)
{
    uint8_t *to = (uint8_t *)surface->pixels + (size_t)place->y * (size_t)surface->pitch +
                  (size_t)place->x * sizeof *canvas->pixels;
    const uint32_t *from = pixels_at(canvas, place);
    for (int y = 0; y < place->h; y++, to += surface->pitch, from += canvas->width) {
        memcpy(to, from, (size_t)place->w * sizeof *from);
    }
}

static void show_copy(ls_window *window)
{
    SDL_Surface *surface = SDL_GetWindowSurface(window->window);
    SDL_Rect places[LS_CANVAS_PARTS_MAX];
    bool is_as_large = surface && surface->w == (int)window->canvas.width &&
                       surface->h == (int)window->canvas.height && has_our_pixels(surface);
    uint32_t count = is_as_large ? parts_to_show(window, places) : 0;
    for (uint32_t i = 0; i < count; i++) {
        copy(&window->canvas, &places[i], surface);
    }
    if (count > 0) {
        SDL_UpdateWindowSurfaceRects(window->window, places, (int)count);
    }
    if (surface && !is_as_large) { /* else the window changes its size just now */
        stretch(window, surface);
    }
    window->is_shown = is_as_large;
}

static void show_texture(ls_window *window)
{
    SDL_Rect places[LS_CANVAS_PARTS_MAX];
    uint32_t count = parts_to_show(window, places);
    for (uint32_t i = 0; i < count; i++) {
        SDL_UpdateTexture(window->texture, &places[i], pixels_at(&window->canvas, &places[i]),
                          (int)(window->canvas.width * sizeof *window->canvas.pixels));
    }
    SDL_RenderCopy(window->renderer, window->texture, NULL, NULL);
    SDL_RenderPresent(window->renderer);
    window->is_shown = true;
}

void ls_window_show(ls_window *window)
{
    if (window->renderer) {
        show_texture(window);
    } else {
        show_copy(window);
    }
}

/* ---- PNG files ---- */

/* Without alpha: every pixel of a canvas is solid. */
static uint8_t *colours_of(const ls_canvas *canvas, const ls_allocator *allocator)
{
    size_t count = (size_t)canvas->width * canvas->height;
    uint8_t *bytes = ls_allocate_array(allocator, count, 3);
    for (size_t i = 0; bytes && i < count; i++) {
        bytes[3 * i] = (uint8_t)(canvas->pixels[i] >> 16);
        bytes[3 * i + 1] = (uint8_t)(canvas->pixels[i] >> 8);
        bytes[3 * i + 2] = (uint8_t)canvas->pixels[i];
    }
    return bytes;
}

ls_status ls_png_file_write(const char *path, const ls_canvas *canvas,
                            const ls_allocator *allocator, ls_text *why)
{
    uint8_t *bytes = colours_of(canvas, allocator);
    if (!bytes) {
        return LS_NO_MEMORY;
    }
    /* Fast: the match goes on meanwhile, and flat colours need no filter to be small. */
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = canvas->width,
                       .height = canvas->height,
                       .format = PNG_FORMAT_RGB,
                       .flags = PNG_IMAGE_FLAG_FAST};
    int is_written = png_image_write_to_file(&image, path, 0, bytes, 0, NULL);
    if (!is_written) {
        ls_text_set(why, "%s: %s", path, image.message);
    }
    png_image_free(&image);
    ls_release(allocator, bytes);
    return is_written ? LS_OK : LS_IO;
}

/* ---- loudspeaker ---- */

enum {
    RATE_HZ = 48000,
    BUFFER_FRAMES = 1024, /* 21 ms */
    PATH_BYTES = 1024,
    FILE_BYTES_MAX = 32 << 20,
    PAIR_BYTES = 2 * sizeof(int16_t),
};

struct ls_loudspeaker {
    const ls_allocator *allocator;
    ls_sound_mixer *mixer; /* the device's thread mixes: locked by the others */
    SDL_AudioDeviceID device;
};

/* ---- waves ---- */

/* Files are named by the cue's id and nothing else: 7.wav. */
static bool id_of(const char *name, uint32_t *id)
{
    char again[32];
    uint32_t number = 0;
    if (sscanf(name, "%9" SCNu32, &number) != 1) {
        return false;
    }
    snprintf(again, sizeof again, "%" PRIu32 ".wav", number);
    *id = number;
    return strcmp(name, again) == 0;
}

/* As the device plays it. NULL: SDL_GetError says why. */
static uint8_t *load_wave(const char *path, uint32_t *frames)
{
    SDL_AudioSpec spec;
    SDL_AudioCVT change;
    uint8_t *bytes = NULL;
    uint32_t size = 0;
    if (!SDL_LoadWAV(path, &spec, &bytes, &size)) {
        return NULL;
    }
    int is_known =
        SDL_BuildAudioCVT(&change, spec.format, spec.channels, spec.freq, AUDIO_S16SYS, 2, RATE_HZ);
    uint8_t *room = is_known >= 0 ? SDL_malloc((size_t)size * (size_t)change.len_mult + 1) : NULL;
    if (room) {
        memcpy(room, bytes, size);
        change.buf = room;
        change.len = (int)size;
        change.len_cvt = (int)size;
        if (is_known > 0 && SDL_ConvertAudio(&change) != 0) {
            change.len_cvt = 0;
        }
        *frames = (uint32_t)change.len_cvt / PAIR_BYTES;
    }
    SDL_FreeWAV(bytes);
    return room;
}

static void add_file(ls_loudspeaker *loudspeaker, const char *path, uint32_t id, const ls_log *log)
{
    ls_file_facts file;
    uint32_t frames = 0;
    if (!ls_file_look(path, &file) || file.bytes > FILE_BYTES_MAX) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s cannot be read, or is larger than 32 MiB",
                    path);
        return;
    }
    uint8_t *wave = load_wave(path, &frames);
    if (!wave || frames == 0) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s: %s; a tone is played instead", path,
                    wave ? "there is nothing in it" : SDL_GetError());
    } else if (ls_sound_mixer_add_wave(loudspeaker->mixer, id, (const void *)wave, frames) !=
               LS_OK) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s: there is no room for more sounds", path);
    }
    SDL_free(wave);
}

static void add_files(ls_loudspeaker *loudspeaker, const char *folder, const ls_log *log)
{
    ls_folder *files = ls_folder_open(folder);
    if (!files) {
        ls_log_line(log, LS_LOG_WARNING, "--sounds: %s: %s; tones are played instead", folder,
                    strerror(errno));
        return;
    }
    for (const char *name = NULL; (name = ls_folder_next(files)) != NULL;) {
        char path[PATH_BYTES];
        uint32_t id = 0;
        int size = snprintf(path, sizeof path, "%s/%s", folder, name);
        if (id_of(name, &id) && size > 0 && (size_t)size < sizeof path) {
            add_file(loudspeaker, path, id, log);
        }
    }
    ls_folder_close(files);
}

/* ---- the device ---- */

static void mix(void *user, uint8_t *bytes, int size)
{
    const ls_loudspeaker *loudspeaker = user;
    ls_sound_mixer_mix(loudspeaker->mixer, (int16_t *)(void *)bytes, (uint32_t)size / PAIR_BYTES);
}

static ls_status open_device(ls_loudspeaker *loudspeaker, ls_text *why)
{
    SDL_AudioSpec wanted = {.freq = RATE_HZ,
                            .format = AUDIO_S16SYS,
                            .channels = 2,
                            .samples = BUFFER_FRAMES,
                            .callback = mix,
                            .userdata = loudspeaker};
    SDL_SetMainReady();
    if (SDL_InitSubSystem(SDL_INIT_AUDIO) != 0) {
        return ls_fail(LS_IO, why, "there is no audio device here: %s", SDL_GetError());
    }
    loudspeaker->device = SDL_OpenAudioDevice(NULL, 0, &wanted, NULL, 0);
    if (loudspeaker->device == 0) {
        return ls_fail(LS_IO, why, "no audio device can be opened: %s", SDL_GetError());
    }
    return LS_OK;
}

ls_status ls_loudspeaker_open(const ls_loudspeaker_config *config, const ls_log *log,
                              const ls_allocator *allocator, ls_loudspeaker **out, ls_text *why)
{
    ls_loudspeaker *loudspeaker = ls_allocate(allocator, sizeof *loudspeaker);
    if (!loudspeaker) {
        return LS_NO_MEMORY;
    }
    loudspeaker->allocator = allocator;
    float volume = (float)config->volume / (float)LS_LOUDSPEAKER_VOLUME_MAX;
    ls_status status = ls_sound_mixer_create(RATE_HZ, volume, allocator, &loudspeaker->mixer);
    if (status == LS_OK) {
        status = open_device(loudspeaker, why);
    }
    if (status != LS_OK) {
        ls_loudspeaker_close(loudspeaker);
        return status;
    }
    if (config->folder) {
        add_files(loudspeaker, config->folder, log);
    }
    SDL_PauseAudioDevice(loudspeaker->device, 0);
    *out = loudspeaker;
    return LS_OK;
}

void ls_loudspeaker_close(ls_loudspeaker *loudspeaker)
{
    if (!loudspeaker) {
        return;
    }
    if (loudspeaker->device != 0) {
        SDL_CloseAudioDevice(loudspeaker->device);
    }
    SDL_QuitSubSystem(SDL_INIT_AUDIO);
    ls_sound_mixer_destroy(loudspeaker->mixer);
    ls_release(loudspeaker->allocator, loudspeaker);
}

void ls_loudspeaker_play(ls_loudspeaker *loudspeaker, const ls_sound *sound, ls_sound_gain gain)
{
    SDL_LockAudioDevice(loudspeaker->device);
    ls_sound_mixer_play(loudspeaker->mixer, sound, gain);
    SDL_UnlockAudioDevice(loudspeaker->device);
}
