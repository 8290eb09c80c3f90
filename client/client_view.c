#include "lockstep/client/client_view.h"

#include "lockstep/client/view/frame_pace.h"
#include "lockstep/client/view/png_file.h"
#include "lockstep/client/view/terminal.h"
#include "lockstep/client/view/view.h"
#include "lockstep/client/view/window.h"
#include "lockstep/common/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    FPS_DEFAULT = 60,
    TEXT_FPS = 15,  /* what a line over ssh and a person's eyes can make use of */
    TEXT_LINES = 6, /* of facts below the picture */
    PATH_BYTES = 256,
};

/* What the client has noticed about lag in the newest second. */
typedef struct lag_notes {
    uint64_t since_ns;
    uint64_t stalled_before; /* ticks, when the second began */
    uint64_t stalled_ticks;  /* in the second before this one */
    uint64_t longest_frame_ns;
    uint64_t longest_before_ns;
} lag_notes;

struct ls_client_view {
    const ls_allocator *allocator;
    ls_client_view_config config;
    ls_console *console;
    ls_clock clock;
    ls_session *session;
    ls_view *view;
    ls_window *window; /* one of these two */
    ls_terminal *terminal;
    ls_frame_pace pace;
    uint64_t frame_ns;  /* when the frame before began */
    uint64_t work_ns;   /* what it took */
    bool wants_picture; /* a key asked for one */
    uint32_t pictures;  /* that keys asked for so far */
    uint32_t slot;
    bool is_waiting;
    ls_waiting waiting;
    lag_notes lag;
};

ls_client_view_config ls_client_view_config_default(void)
{
    return (ls_client_view_config){
        .kind = LS_VIEW_WINDOW, .interpolates = true, .width = 1280, .height = 720};
}

/* ---- what there is to say ---- */

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void tell_link(ls_view_facts *facts, const char *name, ls_link_figures link)
{
    ls_view_facts_add(facts, "%-9s loss %.1f %%, jitter %.1f ms", name, link.loss * 100.0 / 256.0,
                      link.jitter / 4.0);
}

static void tell_names(const ls_client_view *shown, ls_text *names)
{
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        if (shown->waiting.slot_mask >> slot & 1u) {
            ls_text_add(names, "%s%s (slot %" PRIu32 ")", names->bytes[0] ? ", " : "",
                        ls_session_player_name(shown->session, slot), slot);
        }
    }
}

/* What is known here of why a match does not run smoothly; the whole of it only the server knows.
 */
static void tell_lag(const ls_client_view *shown, const ls_session_report *report, uint64_t dt_ns,
                     ls_view_facts *facts)
{
    const lag_notes *lag = &shown->lag;
    uint64_t frame_ns = lag->longest_frame_ns > lag->longest_before_ns ? lag->longest_frame_ns
                                                                       : lag->longest_before_ns;
    if (shown->is_waiting) {
        ls_text names = {{0}};
        tell_names(shown, &names);
        ls_view_facts_add(facts, "lag       waits for %s since %" PRIu32 " ms", names.bytes,
                          shown->waiting.waited_ms);
    } else if (frame_ns > 50 * LS_NS_PER_MS && frame_ns > 2 * dt_ns) {
        ls_view_facts_add(facts, "lag       this computer: a frame took %.0f ms", ms(frame_ns));
    } else if (lag->stalled_ticks > 0 && report->downlink.loss >= 5) {
        ls_view_facts_add(facts, "lag       the downlink loses packets, ticks late: %" PRIu64,
                          lag->stalled_ticks);
    } else if (lag->stalled_ticks > 0) {
        ls_view_facts_add(facts, "lag       uneven network, ticks late: %" PRIu64,
                          lag->stalled_ticks);
    } else if (report->slack_ns < 0) {
        ls_view_facts_add(facts, "lag       own inputs come %.0f ms late",
                          ms((uint64_t)-report->slack_ns));
    } else {
        ls_view_facts_add(facts, "lag       none");
    }
}

static void tell_hashes(const ls_session_report *report, ls_view_facts *facts)
{
    if (report->is_desynced) {
        ls_view_facts_add(facts, "hashes    DIFFER from tick %" PRIu32 " on",
                          report->own_desync.tick);
    } else if (report->desyncs > 0) {
        ls_view_facts_add(facts, "hashes    agree here; %" PRIu32 " of others differed",
                          report->desyncs);
    } else {
        ls_view_facts_add(facts, "hashes    agree");
    }
}

static void tell_banner(const ls_session_report *report, ls_view_facts *facts)
{
    if (report->is_desynced) {
        facts->is_alarm = true;
        ls_text_set(&facts->banner,
                    "DESYNC: this client differs from the server since tick %" PRIu32,
                    report->own_desync.tick);
        if (report->has_own_cause && report->own_cause.field[0]) {
            ls_text_add(&facts->banner, "   %s: server %s, here %s", report->own_cause.field,
                        report->own_cause.server_value, report->own_cause.client_value);
        }
    } else if (report->state < LS_SESSION_PLAYING) {
        ls_text_set(&facts->banner, "%s", ls_session_state_words(report->state));
    }
}

static void tell_timing(const ls_session_report *report, const ls_offer *offer,
                        ls_view_facts *facts)
{
    uint32_t lead = report->next_input - report->confirmed;
    ls_view_facts_add(facts, "tick      %-8" PRIu32 " alpha %.2f", facts->tick,
                      ls_fixed_to_double(facts->alpha));
    ls_view_facts_add(facts, "lead      %" PRIu32 " ticks = %.0f ms, slack %.1f ms", lead,
                      lead * 1000.0 / offer->config.tick_rate_hz, (double)report->slack_ns / 1e6);
    ls_view_facts_add(facts, "way       %.1f ms there and back, %.1f ms buffered",
                      ms(report->rtt_ns), ms(report->playout_delay_ns));
}

static void tell(void *user, ls_view_facts *facts)
{
    ls_client_view *shown = user;
    ls_session_report report = ls_session_report_of(shown->session);
    const ls_offer *offer = ls_session_offer(shown->session);
    facts->tick = report.shown_tick;
    facts->alpha = ls_session_alpha(shown->session);
    tell_banner(&report, facts);
    if (!offer) {
        return;
    }
    const ls_simulation *simulation =
        ls_sim_instance_simulation(ls_session_instance(shown->session));
    shown->slot = report.slot;
    facts->owner = report.slot + 1;
    facts->is_selecting = simulation->draw_control != NULL;
    ls_view_facts_add(facts, "%s, slot %" PRIu32 " of %" PRIu32 ", %" PRIu32 " Hz, %s",
                      simulation->name, report.slot, offer->config.players,
                      offer->config.tick_rate_hz, ls_session_state_words(report.state));
    tell_timing(&report, offer, facts);
    tell_hashes(&report, facts);
    tell_link(facts, "up", report.uplink);
    tell_link(facts, "down", report.downlink);
    tell_lag(shown, &report, LS_NS_PER_SECOND / offer->config.tick_rate_hz, facts);
    if (report.has_prediction) {
        ls_view_facts_add(facts, "rollbacks %" PRIu64 ", deepest %" PRIu32, report.rollbacks,
                          report.rollback_depth_max);
    }
}

static void draw(void *user, ls_fixed alpha, ls_draw_list *list)
{
    ls_client_view *shown = user;
    ls_sim_instance *instance = ls_session_instance(shown->session);
    ls_session_draw(shown->session, alpha, list);
    const ls_simulation *simulation = instance ? ls_sim_instance_simulation(instance) : NULL;
    if (list->count > 0 && simulation->draw_control) {
        simulation->draw_control(ls_sim_instance_config(instance), ls_sim_instance_view(instance),
                                 shown->slot, ls_view_controls(shown->view), list);
    }
}

/* ---- opening ---- */

static ls_status open_screen(ls_client_view *shown, const ls_allocator *allocator, ls_text *why)
{
    const ls_client_view_config *config = &shown->config;
    if (config->kind == LS_VIEW_TEXT) {
        shown->pace = ls_frame_pace_make(config->fps > 0 ? config->fps : TEXT_FPS, false,
                                         ls_clock_now_ns(&shown->clock));
        return ls_terminal_open(ls_console_can_redraw_output(), allocator, &shown->terminal);
    }
    ls_window_config window = {.title = "Lockstep",
                               .width = config->width,
                               .height = config->height,
                               .follows_display = config->fps == 0};
    ls_status status = ls_window_open(&window, allocator, &shown->window, why);
    if (status == LS_OK) {
        uint32_t display_hz = ls_window_display_hz(shown->window);
        uint32_t fps = config->fps > 0 ? config->fps : FPS_DEFAULT;
        shown->pace = ls_frame_pace_make(display_hz > 0 ? display_hz : fps, display_hz > 0,
                                         ls_clock_now_ns(&shown->clock));
    }
    return status;
}

ls_status ls_client_view_open(const ls_client_view_config *config, ls_console *console,
                              const ls_allocator *allocator, ls_client_view **out, ls_text *why)
{
    ls_client_view *shown = ls_allocate(allocator, sizeof *shown);
    if (!shown) {
        return LS_NO_MEMORY;
    }
    shown->allocator = allocator;
    shown->config = *config;
    shown->console = console;
    shown->clock = ls_clock_system();
    ls_status status = open_screen(shown, allocator, why);
    if (status == LS_OK) {
        ls_view_config view = {.source = {.user = shown, .tell = tell, .draw = draw},
                               .interpolates = config->interpolates,
                               .font = shown->window ? ls_window_font(shown->window) : NULL};
        status = ls_view_create(&view, allocator, &shown->view);
    }
    if (status != LS_OK) {
        ls_client_view_close(shown);
        return status;
    }
    *out = shown;
    return LS_OK;
}

void ls_client_view_close(ls_client_view *shown)
{
    if (shown) {
        ls_view_destroy(shown->view);
        ls_window_close(shown->window);
        ls_terminal_close(shown->terminal);
        ls_release(shown->allocator, shown);
    }
}

void ls_client_view_show(ls_client_view *shown, ls_session *session)
{
    shown->session = session;
}

void ls_client_view_hear(ls_client_view *shown, const ls_session_event *event)
{
    if (event->kind == LS_SESSION_EVENT_WAITING) {
        shown->is_waiting = true;
        shown->waiting = event->waiting;
    }
}

/* ---- frames ---- */

bool ls_client_view_is_closed(ls_client_view *shown, uint64_t now_ns)
{
    ls_view_event event;
    while (shown->window ? ls_window_next_event(shown->window, &event)
                         : ls_terminal_next_event(shown->terminal, now_ns, &event)) {
        ls_view_take(shown->view, &event);
    }
    ls_view_wishes wishes = ls_view_take_wishes(shown->view);
    shown->wants_picture |= wishes.wants_picture;
    return wishes.wants_close;
}

uint32_t ls_client_view_input(ls_client_view *shown, const ls_sim_instance *instance, uint32_t slot,
                              uint8_t *bytes)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_controls *controls = ls_view_next_controls(shown->view);
    if (!simulation->control) {
        return 0;
    }
    return simulation->control(ls_sim_instance_config(instance), ls_sim_instance_view(instance),
                               slot, controls, bytes);
}

static void note_lag(ls_client_view *shown, uint64_t now_ns)
{
    lag_notes *lag = &shown->lag;
    ls_session_report report = ls_session_report_of(shown->session);
    uint64_t frame_ns = shown->frame_ns > 0 ? now_ns - shown->frame_ns : 0;
    lag->longest_frame_ns = frame_ns > lag->longest_frame_ns ? frame_ns : lag->longest_frame_ns;
    if (now_ns - lag->since_ns >= LS_NS_PER_SECOND) {
        lag->since_ns = now_ns;
        lag->stalled_ticks = report.stalled_ticks - lag->stalled_before;
        lag->stalled_before = report.stalled_ticks;
        lag->longest_before_ns = lag->longest_frame_ns;
        lag->longest_frame_ns = 0;
    }
    shown->is_waiting = shown->is_waiting && report.confirmed <= shown->waiting.tick;
}

static void save_picture(ls_client_view *shown, const ls_canvas *canvas, const char *path)
{
    ls_text why = {{0}};
    const ls_view_facts *facts = ls_view_facts_of(shown->view);
    const ls_camera *camera = ls_view_camera(shown->view);
    if (ls_png_file_write(path, canvas, shown->allocator, &why) != LS_OK) {
        ls_log_line(&shown->console->log, LS_LOG_ERROR, "no picture: %s", why.bytes);
        return;
    }
    ls_log_line(&shown->console->log, LS_LOG_INFO,
                "%s: tick %" PRIu32 ", alpha %.4f, middle %.4f %.4f m, %.4f pixels a metre", path,
                facts->tick, ls_fixed_to_double(facts->alpha), camera->x, camera->y,
                camera->pixels_per_m);
}

static void save_pictures(ls_client_view *shown, const ls_canvas *canvas)
{
    ls_client_view_config *config = &shown->config;
    ls_tick tick = ls_view_facts_of(shown->view)->tick;
    for (uint32_t i = 0; i < config->screenshot_count; i++) {
        ls_screenshot *wanted = &config->screenshots[i];
        if (wanted->path && tick >= wanted->tick) {
            save_picture(shown, canvas, wanted->path);
            wanted->path = NULL;
        }
    }
    if (shown->wants_picture) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "lockstep-%" PRIu32 "-%" PRIu32 ".png", tick,
                 shown->pictures++);
        save_picture(shown, canvas, path);
        shown->wants_picture = false;
    }
}

static void show_text(ls_client_view *shown)
{
    const ls_view_facts *facts = ls_view_facts_of(shown->view);
    const char *lines[TEXT_LINES] = {"", "", "", "", "", ""};
    lines[0] = facts->banner.bytes;
    for (uint32_t i = 0; i + 1 < TEXT_LINES && i < facts->line_count; i++) {
        lines[i + 1] = facts->lines[i];
    }
    ls_terminal_show(shown->terminal, LS_VIEW_BACKGROUND, lines, TEXT_LINES);
}

uint64_t ls_client_view_frame(ls_client_view *shown, uint64_t now_ns)
{
    ls_canvas *canvas = shown->window ? ls_window_canvas(shown->window)
                                      : ls_terminal_canvas(shown->terminal, TEXT_LINES);
    note_lag(shown, now_ns);
    if (canvas) {
        ls_view_set_font(shown->view, shown->window ? ls_window_font(shown->window) : NULL);
        ls_view_paint(shown->view, now_ns, shown->work_ns, canvas);
    }
    uint64_t painted_ns = ls_clock_now_ns(&shown->clock);
    shown->frame_ns = now_ns;
    shown->work_ns = painted_ns - now_ns;
    if (canvas && shown->window) {
        save_pictures(shown, canvas);
        ls_window_show(shown->window);
    } else if (canvas) {
        show_text(shown);
    }
    return ls_frame_pace_next(&shown->pace, shown->work_ns, ls_clock_now_ns(&shown->clock));
}
