#include "lockstep/client/window/screen.h"

#include "lockstep/client/view/view_time.h"
#include "lockstep/client/window/painter.h"
#include "lockstep/client/window/terminal.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/thread.h"

#include <inttypes.h>
#include <stdio.h>

#define PLAIN_PERIOD_NS (500 * LS_NS_PER_MS) /* text in a file is to be read, not watched */

enum {
    FPS_DEFAULT = 60,
    TEXT_FPS = 15,  /* what a line over ssh and a person's eyes can make use of */
    TEXT_LINES = 7, /* of the HUD model, below the picture */
    SOUND_LINES_MAX = 16,
};

/* Looks for the audio device, which takes longer than a tick: inputs are made meanwhile. */
typedef struct sound_search {
    ls_thread thread;
    ls_monitor *monitor;
    bool is_under_way;
    bool is_done; /* guarded; until then all below is the thread's: */
    ls_loudspeaker *found;
    uint32_t line_count;
    struct {
        ls_log_level level;
        ls_text text;
    } lines[SOUND_LINES_MAX]; /* for the log, which is not the thread's */
} sound_search;

struct ls_screen {
    const ls_allocator *allocator;
    ls_screen_config config;
    const ls_log *log;
    ls_clock clock;
    ls_view *view;
    ls_painter *painter; /* of a window; or a terminal: */
    ls_terminal *terminal;
    ls_scene scene;              /* of a terminal */
    ls_loudspeaker *loudspeaker; /* NULL: it is silent */
    bool has_sought_sound;
    sound_search search;
    ls_frame_pace pace;
    uint64_t next_ns;      /* when the next frame is to begin */
    uint64_t work_ns;      /* what the last frame took, without the painter's part */
    ls_canvas_fonts fonts; /* the sizes of the window's */
    uint64_t text_ns;      /* when text was shown last */
    bool has_shown_end;    /* of a record, as text */
    bool wants_picture;    /* a key asked for one */
    uint32_t pictures;     /* that keys asked for so far */
    uint32_t jobs_out;     /* pictures whose files are not written yet */
};

ls_screen_config ls_screen_config_default(void)
{
    return (ls_screen_config){
        .kind = LS_SCREEN_WINDOW, .interpolates = true, .width = 1280, .height = 720, .volume = 50};
}

/* ---- opening ---- */

static ls_status open_terminal(ls_screen *screen)
{
    uint32_t fps = screen->config.fps > 0 ? screen->config.fps : TEXT_FPS;
    screen->pace = ls_frame_pace_make(fps, false, ls_clock_now_ns(&screen->clock));
    ls_terminal_kind kind = !screen->config.is_terminal_live ? LS_TERMINAL_IS_FILE
                            : screen->config.has_true_colour ? LS_TERMINAL_OF_TRUE_COLOUR
                                                             : LS_TERMINAL_OF_256_COLOURS;
    ls_status status = ls_scene_init(&screen->scene, screen->allocator);
    return status == LS_OK ? ls_terminal_open(kind, screen->allocator, &screen->terminal) : status;
}

static ls_status open_window(ls_screen *screen, ls_text *why)
{
    const ls_screen_config *config = &screen->config;
    bool is_apart = ls_ability_is_there(LS_ABILITY_APART_WINDOWS, NULL);
    ls_window_config window = {.title = "Lockstep",
                               .width = config->width,
                               .height = config->height,
                               .follows_display = config->fps == 0 && is_apart,
                               .is_painted_apart = is_apart};
    ls_status status = ls_painter_open(&window, screen->allocator, &screen->painter, why);
    if (status == LS_OK) {
        uint32_t display_hz = ls_painter_look(screen->painter).display_hz;
        uint32_t fps = config->fps > 0 ? config->fps : FPS_DEFAULT;
        screen->pace = ls_frame_pace_make(display_hz > 0 ? display_hz : fps, display_hz > 0,
                                          ls_clock_now_ns(&screen->clock));
    }
    return status;
}

static void play_record(void *user, const ls_sound *sound)
{
    ls_screen_play_sound(user, sound);
}

ls_status ls_screen_open(const ls_screen_config *config, const ls_view_source *source,
                         const ls_log *log, const ls_allocator *allocator, ls_screen **out,
                         ls_text *why)
{
    ls_screen *screen = ls_allocate(allocator, sizeof *screen);
    if (!screen) {
        return LS_NO_MEMORY;
    }
    screen->allocator = allocator;
    screen->config = *config;
    screen->log = log;
    screen->clock = ls_clock_system();
    ls_status status =
        config->kind == LS_SCREEN_TEXT ? open_terminal(screen) : open_window(screen, why);
    if (status == LS_OK) {
        ls_view_config view = {
            .source = *source, .interpolates = config->interpolates, .has_chat = config->has_chat};
        if (ls_screen_config_has_sound(config)) {
            view.ear = (ls_view_ear){play_record, screen};
        }
        status = ls_view_create(&view, allocator, &screen->view);
    }
    if (status != LS_OK) {
        ls_screen_close(screen);
        return status;
    }
    *out = screen;
    return LS_OK;
}

/* ---- pictures for files ---- */

static void log_files(const ls_screen *screen, const ls_painter_job *job)
{
    const ls_scene *scene = &job->scene;
    for (uint32_t i = 0; i < job->file_count && job->written == LS_OK; i++) {
        ls_log_line(screen->log, LS_LOG_INFO,
                    "%s: tick %" PRIu32 ", alpha %.4f, middle %.4f %.4f m, %.4f pixels a metre",
                    job->files[i], scene->hud.tick, ls_fixed_to_double(scene->hud.alpha),
                    scene->camera.x, scene->camera.y, scene->camera.pixels_per_m);
    }
    if (job->written != LS_OK) {
        ls_log_line(screen->log, LS_LOG_ERROR, "no picture: %s",
                    job->why.bytes[0] ? job->why.bytes : ls_status_text(job->written));
    }
}

static void log_written(ls_screen *screen)
{
    const ls_painter_job *job = NULL;
    while (screen->painter && (job = ls_painter_next_written(screen->painter)) != NULL) {
        log_files(screen, job);
        screen->jobs_out--;
    }
}

static void add_files(ls_screen *screen, ls_painter_job *job)
{
    ls_screen_config *config = &screen->config;
    ls_tick tick = job->scene.hud.tick;
    for (uint32_t i = 0; i < config->screenshot_count; i++) {
        ls_screenshot *wanted = &config->screenshots[i];
        if (wanted->path && tick >= wanted->tick) {
            job->files[job->file_count++] = wanted->path;
            wanted->path = NULL;
        }
    }
    if (screen->wants_picture) {
        snprintf(job->own_path, sizeof job->own_path, "lockstep-%" PRIu32 "-%" PRIu32 ".png", tick,
                 screen->pictures++);
        job->files[job->file_count++] = job->own_path;
        screen->wants_picture = false;
    }
    screen->jobs_out += job->file_count > 0;
}

/* ---- sound ---- */

bool ls_screen_config_has_sound(const ls_screen_config *config)
{
    return config->kind == LS_SCREEN_WINDOW && config->volume > 0;
}

static void keep_line(void *user, ls_log_level level, const char *line)
{
    sound_search *search = user;
    if (search->line_count < SOUND_LINES_MAX) {
        search->lines[search->line_count].level = level;
        ls_text_set(&search->lines[search->line_count++].text, "%s", line);
    }
}

static void search_sound(void *user)
{
    ls_screen *screen = user;
    sound_search *search = &screen->search;
    const ls_log log = {screen->log->level, keep_line, search};
    ls_loudspeaker_config config = {.folder = screen->config.sounds,
                                    .volume = screen->config.volume};
    ls_text why = {{0}};
    ls_status status = ls_loudspeaker_open(&config, &log, screen->allocator, &search->found, &why);
    if (status != LS_OK) {
        ls_log_line(&log, LS_LOG_WARNING, "no sound: %s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_monitor_enter(search->monitor);
    search->is_done = true;
    ls_monitor_leave(search->monitor);
}

static bool has_found_sound(sound_search *search)
{
    ls_monitor_enter(search->monitor);
    bool is_done = search->is_done;
    ls_monitor_leave(search->monitor);
    return is_done;
}

/* Waits for its end. */
static void end_search(ls_screen *screen)
{
    sound_search *search = &screen->search;
    if (!search->is_under_way) {
        return;
    }
    ls_thread_join(&search->thread);
    search->is_under_way = false;
    screen->loudspeaker = search->found;
    for (uint32_t i = 0; i < search->line_count; i++) {
        ls_log_line(screen->log, search->lines[i].level, "%s", search->lines[i].text.bytes);
    }
}

void ls_screen_start_sound(ls_screen *screen)
{
    sound_search *search = &screen->search;
    if (screen->has_sought_sound || !ls_screen_config_has_sound(&screen->config)) {
        return;
    }
    screen->has_sought_sound = true;
    search->monitor = ls_monitor_create();
    search->is_under_way =
        search->monitor && ls_thread_start(&search->thread, search_sound, screen);
    if (!search->is_under_way) {
        ls_log_line(screen->log, LS_LOG_WARNING, "no sound: no thread can be started for it");
    }
}

void ls_screen_play_sound(ls_screen *screen, const ls_sound *sound)
{
    if (screen->loudspeaker) {
        ls_loudspeaker_play(screen->loudspeaker, sound,
                            ls_sound_gain_of(sound, ls_view_camera(screen->view)));
    }
}

void ls_screen_close(ls_screen *screen)
{
    if (screen) {
        end_search(screen);
        ls_painter_stop(screen->painter);
        log_written(screen);
        ls_view_destroy(screen->view);
        ls_loudspeaker_close(screen->loudspeaker);
        ls_monitor_destroy(screen->search.monitor);
        ls_painter_close(screen->painter);
        ls_terminal_close(screen->terminal);
        ls_scene_deinit(&screen->scene);
        ls_release(screen->allocator, screen);
    }
}

ls_view *ls_screen_view(ls_screen *screen)
{
    return screen->view;
}

bool ls_screen_is_done(const ls_screen *screen)
{
    const ls_screen_config *config = &screen->config;
    if (config->kind == LS_SCREEN_TEXT) {
        return !config->is_terminal_live && screen->has_shown_end;
    }
    uint32_t written = 0;
    for (uint32_t i = 0; i < config->screenshot_count; i++) {
        written += config->screenshots[i].path == NULL;
    }
    return written > 0 && written == config->screenshot_count && screen->jobs_out == 0;
}

/* ---- frames ---- */

void ls_screen_receive(ls_screen *screen, uint64_t now_ns)
{
    ls_view_event event;
    while (screen->painter ? ls_painter_next_event(screen->painter, &event)
                           : ls_terminal_next_event(screen->terminal, now_ns, &event)) {
        ls_view_receive(screen->view, &event);
        if (screen->terminal) {
            ls_terminal_set_typing(screen->terminal, ls_view_is_typing(screen->view));
        }
    }
}

bool ls_screen_is_closed(ls_screen *screen, uint64_t now_ns)
{
    ls_screen_receive(screen, now_ns);
    ls_view_requests requests = ls_view_pop_requests(screen->view);
    screen->wants_picture = screen->wants_picture || requests.wants_picture;
    return requests.wants_close;
}

/* Between the headline and the seats: the lines of players stand in place of the last figures. */
static void choose_lines(const ls_hud_model *hud, const char *lines[TEXT_LINES])
{
    uint32_t said = LS_MIN(hud->chat_count, (uint32_t)TEXT_LINES - 3);
    uint32_t figures = TEXT_LINES - 2 - said;
    for (uint32_t i = 0; i < figures && i < hud->line_count; i++) {
        lines[1 + i] = hud->lines[i];
    }
    for (uint32_t i = 0; i < said; i++) {
        lines[1 + figures + i] = hud->chat[hud->chat_count - said + i];
    }
}

/* The words that a window shows over the picture. */
static const char *headline_of(const ls_hud_model *hud)
{
    if (hud->banner.bytes[0]) {
        return hud->banner.bytes;
    }
    return hud->waiting.bytes[0] ? hud->waiting.bytes : hud->person.text.bytes;
}

/* "ann 10   bob 4   half-time" */
static ls_text seats_of(const ls_hud_model *hud)
{
    ls_text line = {{0}};
    for (uint32_t i = 0; i < hud->seat_count; i++) {
        const ls_hud_seat *seat = &hud->seats[i];
        if (seat->name[0]) {
            ls_text_add(&line, "%s%s%s   ", seat->name, seat->text[0] ? " " : "", seat->text);
        }
    }
    ls_text_add(&line, "%s", hud->match.text.bytes);
    return line;
}

static void show_text(ls_screen *screen, uint64_t now_ns)
{
    const ls_hud_model *hud = ls_view_hud(screen->view);
    ls_text seats = seats_of(hud);
    const char *lines[TEXT_LINES] = {headline_of(hud), "", "", "", "", "", seats.bytes};
    bool is_due = screen->config.is_terminal_live || now_ns - screen->text_ns >= PLAIN_PERIOD_NS;
    if (!is_due && (screen->has_shown_end || !ls_view_is_at_end(screen->view))) {
        return;
    }
    choose_lines(hud, lines);
    if (ls_terminal_show(screen->terminal, &screen->scene, lines, TEXT_LINES)) {
        screen->text_ns = now_ns;
        screen->has_shown_end = ls_view_is_at_end(screen->view);
    }
}

static uint64_t when_again(ls_screen *screen, uint64_t now_ns)
{
    uint64_t again_ns = screen->terminal ? ls_terminal_go_on(screen->terminal, now_ns) : UINT64_MAX;
    return LS_MIN(again_ns, screen->next_ns);
}

static void frame_of_terminal(ls_screen *screen, uint64_t now_ns)
{
    ls_canvas *canvas = ls_terminal_canvas(screen->terminal, TEXT_LINES);
    if (canvas) { /* else there is no memory for one now */
        ls_view_frame frame = {.now_ns = now_ns,
                               .work_ns = screen->work_ns,
                               .width = canvas->width,
                               .height = canvas->height};
        ls_view_compose(screen->view, &frame, &screen->scene);
        ls_scene_paint(&screen->scene, NULL, canvas);
        screen->work_ns = ls_clock_now_ns(&screen->clock) - now_ns;
        show_text(screen, now_ns);
    }
    uint64_t end_ns = ls_clock_now_ns(&screen->clock);
    screen->next_ns = ls_frame_pace_next(&screen->pace, screen->work_ns, end_ns, end_ns);
}

static void frame_of_window(ls_screen *screen, uint64_t now_ns)
{
    log_written(screen);
    if (screen->search.is_under_way && has_found_sound(&screen->search)) {
        end_search(screen);
    }
    ls_painter_state state = ls_painter_look(screen->painter);
    ls_painter_job *job = ls_painter_take(screen->painter);
    screen->fonts = state.fonts;
    if (job) {
        ls_view_frame frame = {.now_ns = now_ns,
                               .work_ns = screen->work_ns + state.work_ns,
                               .width = state.width,
                               .height = state.height,
                               .fonts = &screen->fonts};
        ls_view_compose(screen->view, &frame, &job->scene);
        add_files(screen, job);
        ls_painter_put(screen->painter, job);
        screen->work_ns = ls_clock_now_ns(&screen->clock) - now_ns;
    }
    screen->next_ns = ls_frame_pace_next(&screen->pace, screen->work_ns + state.work_ns,
                                         state.shown_ns, ls_clock_now_ns(&screen->clock));
}

uint64_t ls_screen_frame(ls_screen *screen, uint64_t now_ns)
{
    if (screen->painter) {
        frame_of_window(screen, now_ns);
    } else {
        frame_of_terminal(screen, now_ns);
    }
    return when_again(screen, now_ns);
}

uint64_t ls_screen_go_on(ls_screen *screen, uint64_t now_ns)
{
    return now_ns < screen->next_ns ? when_again(screen, now_ns) : 0;
}
