#include "lockstep/client/program/client_view.h"

#include "lockstep/client/link/session_log.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/plugin_place.h"

#include <inttypes.h>

#define ENTER_PERIOD_TICKS 60u

/* ---- what there is to say ---- */

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void add_link(ls_hud_model *hud, const char *name, ls_link_figures link)
{
    ls_hud_model_add(hud, "%-9s loss %.1f %%, jitter %.1f ms", name, link.loss * 100.0 / 256.0,
                     link.jitter / 4.0);
}

/* The server's verdict, but where nothing comes from there. */
static void add_lag(const ls_client_view *shown, const ls_session_report *report, ls_hud_model *hud)
{
    ls_text words = {{0}};
    ls_session_lag_text(shown->session, &report->lag, &words);
    if (shown->is_waiting) {
        ls_text names = {{0}};
        ls_session_add_names(shown->session, shown->waiting.slots, &names);
        ls_hud_model_add(hud, "lag       waiting for %s (%" PRIu32 " ms)", names.bytes,
                         shown->waiting.waited_ms);
    } else if (report->silence_ns >= LS_NS_PER_SECOND) {
        ls_hud_model_add(hud, "lag       nothing comes from the server for %.0f s",
                         (double)report->silence_ns / 1e9);
    } else {
        ls_hud_model_add(hud, "lag       %s", words.bytes);
    }
}

/* The newest words of the match's host. */
static void add_notice(const ls_notice *notice, ls_hud_model *hud)
{
    const char *text = notice->text.bytes;
    if (notice->kind == LS_NOTICE_PAUSED) {
        ls_hud_model_add(hud, "server    has paused the match%s%s", text[0] != '\0' ? ": " : "",
                         text);
    } else if (text[0] != '\0') {
        ls_hud_model_add(hud, "server    %s", text);
    }
}

static void add_hashes(const ls_session_report *report, ls_hud_model *hud)
{
    if (report->is_desynced) {
        ls_hud_model_add(hud, "hashes    DIFFER from tick %" PRIu32 " on", report->own_desync.tick);
    } else if (report->server_desyncs > 0) {
        ls_hud_model_add(hud, "hashes    the clients agree; the server DIFFERED");
    } else if (report->desyncs > 0) {
        ls_hud_model_add(hud, "hashes    agree here; %" PRIu32 " of others differed",
                         report->desyncs);
    } else if (report->tick <= report->joined_tick) {
        ls_hud_model_add(hud, "hashes    none was compared yet");
    } else {
        ls_hud_model_add(hud, "hashes    agree");
    }
}

static void set_banner(const ls_session_report *report, ls_hud_model *hud)
{
    if (report->is_desynced) {
        hud->is_alarm = true;
        ls_text_set(&hud->banner,
                    "DESYNC: this client differs from the server from tick %" PRIu32 " on",
                    report->own_desync.tick);
        if (report->has_own_cause && report->own_cause.field[0]) {
            ls_text_add(&hud->banner, "   %s: server %s, here %s", report->own_cause.field,
                        report->own_cause.server_value, report->own_cause.client_value);
        }
    } else if (report->state == LS_SESSION_JOINING || report->state == LS_SESSION_RECONNECTING) {
        ls_text_set(&hud->banner, "%s", ls_session_state_words(report->state));
    }
}

static void add_lobby(const ls_client_view *shown, const ls_session_report *report,
                      ls_hud_model *hud)
{
    ls_session_lobby lobby = ls_session_lobby_of(shown->session);
    if (ls_slot_set_is_empty(lobby.here)) {
        return;
    }
    ls_text_add(&hud->waiting, ": ");
    ls_session_log_add_lobby(shown->session, &hud->waiting);
    hud->asks_ready = !lobby.asks_nobody;
    if (hud->asks_ready) {
        bool is_ready = ls_slot_set_has(&lobby.ready, report->slot);
        ls_text_add(&hud->waiting,
                    is_ready ? ". You are ready (R: not yet)" : ". Press R when ready");
    }
}

/* Before the match: what it is, where it is, and what it waits for. */
static void set_heading(const ls_client_view *shown, const ls_session_report *report,
                        const ls_offer *offer, ls_hud_model *hud)
{
    if (report->state > LS_SESSION_SEATED) {
        return;
    }
    ls_text_set(&hud->heading, "%s", offer ? offer->simulation : "Lockstep");
    ls_text_set(&hud->waiting, "%s at %s", ls_session_state_words(report->state), shown->server);
    add_lobby(shown, report, hud);
}

static void set_title(const ls_client_view *shown, const ls_offer *offer, ls_hud_model *hud)
{
    ls_text title = {{0}};
    ls_text_set(&title, "%s%s%s - Lockstep", offer ? offer->simulation : "", offer ? " - " : "",
                shown->server);
    ls_name_copy(hud->title, sizeof hud->title, title.bytes);
}

static void add_seats(const ls_client_view *shown, const ls_offer *offer, ls_hud_model *hud)
{
    hud->seat_count = offer->config.players;
    for (uint32_t slot = 0; slot < hud->seat_count; slot++) {
        ls_hud_seat *seat = &hud->seats[slot];
        ls_name_copy(seat->name, sizeof seat->name, ls_session_player_name(shown->session, slot));
    }
}

static void add_timing(const ls_session_report *report, const ls_offer *offer, ls_hud_model *hud)
{
    /* A spectator makes no inputs, and a client on the way into a match makes none yet. */
    bool is_ahead = report->next_input > report->confirmed;
    uint32_t lead = is_ahead ? report->next_input - report->confirmed : 0;
    ls_hud_model_add(hud, "tick      %-8" PRIu32 " alpha %.2f", hud->tick,
                     ls_fixed_to_double(hud->alpha));
    ls_hud_model_add(hud, "lead      %" PRIu32 " ticks = %.0f ms, slack %.1f ms", lead,
                     lead * 1000.0 / offer->config.tick_rate_hz, (double)report->slack_ns / 1e6);
    ls_hud_model_add(hud, "network   %.1f ms round trip, %.1f ms buffered", ms(report->rtt_ns),
                     ms(report->jitter_buffer_delay_ns));
}

static void add_match(const ls_session_report *report, const ls_offer *offer,
                      const ls_simulation *simulation, ls_hud_model *hud)
{
    uint32_t players = offer->config.players;
    ls_text place = {{0}};
    if (offer->is_spectator) {
        ls_text_set(&place, "spectator of %" PRIu32 " players", players);
    } else {
        ls_text_set(&place, "slot %" PRIu32 " of %" PRIu32, report->slot, players);
    }
    bool is_watching = offer->is_spectator && report->state == LS_SESSION_PLAYING;
    ls_text rate = {{0}};
    ls_rate_add_text(ls_sim_config_rate(&offer->config), &rate);
    ls_hud_model_add(hud, "%s, %s, %s Hz, %s", simulation->name, place.bytes, rate.bytes,
                     is_watching ? "watching" : ls_session_state_words(report->state));
    if (!simulation->draw && !hud->banner.bytes[0]) {
        ls_text_set(&hud->banner, "simulation %s has no draw function: there is no picture of it",
                    simulation->name);
    }
}

/* Whether Enter changes an input of the game, now or earlier: then it is the game's. */
static bool game_has_enter(ls_client_view *shown, const ls_session_report *report)
{
    const ls_sim_instance *instance = ls_session_instance(shown->session);
    bool is_due =
        instance && report->state == LS_SESSION_PLAYING && report->shown_tick >= shown->enter_tick;
    if (is_due && !shown->game_has_enter) {
        shown->game_has_enter = ls_game_uses_key(instance, report->slot, LS_KEY_ENTER);
        shown->enter_tick = report->shown_tick + ENTER_PERIOD_TICKS;
    }
    return shown->game_has_enter;
}

static void fill_hud(void *user, ls_hud_model *hud)
{
    ls_client_view *shown = user;
    ls_session_report report = ls_session_report_of(shown->session);
    const ls_offer *offer = ls_session_offer(shown->session);
    hud->tick = report.shown_tick;
    hud->alpha = ls_session_alpha(shown->session);
    set_banner(&report, hud);
    set_heading(shown, &report, offer, hud);
    set_title(shown, offer, hud);
    if (!offer) {
        return;
    }
    const ls_simulation *simulation =
        ls_sim_instance_simulation(ls_session_instance(shown->session));
    shown->slot = report.slot;
    hud->owner = offer->is_spectator ? 0 : report.slot + 1;
    hud->is_selecting = simulation->draw_control != NULL;
    hud->game_has_enter = !offer->is_spectator && game_has_enter(shown, &report);
    add_seats(shown, offer, hud);
    ls_hud_model_add_status(hud, ls_session_instance(shown->session),
                            offer->is_spectator ? offer->config.players : report.slot);
    add_match(&report, offer, simulation, hud);
    add_timing(&report, offer, hud);
    add_hashes(&report, hud);
    add_link(hud, "up", report.uplink);
    add_link(hud, "down", report.downlink);
    add_lag(shown, &report, hud);
    add_notice(&shown->notice, hud);
    if (report.has_prediction) {
        ls_hud_model_add(hud, "rollbacks %" PRIu64 ", deepest %" PRIu32, report.rollbacks,
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
                                 shown->slot, ls_view_controls(ls_screen_view(shown->screen)),
                                 list);
    }
}

/* ---- opening ---- */

ls_status ls_client_view_open(ls_client_view *shown, const ls_screen_config *config,
                              ls_console *console, ls_text *why)
{
    ls_view_source source = {.user = shown, .fill_hud = fill_hud, .draw = draw};
    return ls_screen_open(config, &source, &console->log, ls_allocator_heap(), &shown->screen, why);
}

void ls_client_view_on_event(ls_client_view *shown, const ls_session_event *event)
{
    ls_text line = {{0}};
    if (event->kind == LS_SESSION_EVENT_NOTICE) {
        shown->notice = event->notice;
    }
    bool is_chat = event->kind == LS_SESSION_EVENT_CHAT && shown->chat && shown->screen;
    if (is_chat && ls_client_chat_write(shown->chat, &event->chat, &line)) {
        ls_view_add_chat(ls_screen_view(shown->screen), line.bytes);
    }
    if (event->kind == LS_SESSION_EVENT_WAITING) {
        shown->is_waiting = true;
        shown->waiting = event->waiting;
    }
}

void ls_client_view_play(ls_client_view *shown, const ls_sound *sound)
{
    ls_screen_play_sound(shown->screen, sound);
}

/* ---- frames ---- */

uint32_t ls_client_view_input(ls_client_view *shown, const ls_sim_instance *instance, uint32_t slot,
                              uint8_t *bytes)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    ls_screen_receive(shown->screen, shown->frame_ns);
    const ls_controls *controls = ls_view_next_controls(ls_screen_view(shown->screen));
    if (!simulation->control) {
        return 0;
    }
    ls_plugin_place_enter(LS_PLUGIN_CALL_CONTROL);
    uint32_t size = simulation->control(ls_sim_instance_config(instance),
                                        ls_sim_instance_view(instance), slot, controls, bytes);
    ls_plugin_place_leave();
    return size;
}

/* Carries out the person's words: a line to the others or a command, and being ready. */
static void carry_out(ls_client_view *shown)
{
    ls_view *view = ls_screen_view(shown->screen);
    ls_chat_box_said said;
    ls_text answer = {{0}};
    if (shown->chat && ls_view_pop_said(view, &said)) {
        if (said.quick_line > 0) {
            ls_client_chat_say(shown->session, said.quick_line, &answer);
        } else {
            ls_client_chat_type(shown->chat, shown->session, said.text, &answer);
        }
    }
    if (answer.bytes[0] != '\0') {
        ls_view_add_chat(view, answer.bytes);
    }
    if (ls_view_pop_ready(view)) {
        shown->is_ready = !shown->is_ready;
        ls_session_set_ready(shown->session, shown->is_ready);
    }
}

uint64_t ls_client_view_frame(ls_client_view *shown, uint64_t now_ns)
{
    const ls_sim_instance *instance = ls_session_instance(shown->session);
    if (instance && ls_sim_instance_simulation(instance)->sounds) {
        ls_screen_start_sound(shown->screen);
    }
    shown->is_waiting =
        shown->is_waiting && ls_session_report_of(shown->session).confirmed <= shown->waiting.tick;
    carry_out(shown);
    shown->frame_ns = now_ns;
    return ls_screen_frame(shown->screen, now_ns);
}
