#include "lockstep/client/program/client.h"

#include "lockstep/client/bots.h"
#include "lockstep/client/link/client_link.h"
#include "lockstep/client/link/seat_file.h"
#include "lockstep/client/link/session_log.h"
#include "lockstep/client/program/client_view.h"
#include "lockstep/client/session/session.h"
#include "lockstep/client/view/view_time.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/program/frame_trace.h"
#include "lockstep/common/program/summary.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/output.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
    PROGRESS_MS = 250,
    BACK_PAUSE_MS = 50,   /* at most, between two tries to come back for the next match */
    WAITING_FPS_MIN = 25, /* with fewer frames packets do not wait for them */
};

typedef struct client {
    const ls_client_config *config;
    ls_console *console;
    ls_event_loop *loop;
    ls_client_place place;
    ls_client_link *link;
    ls_session *session;
    ls_client_view view;
    ls_loop_source *frame_alarm; /* for the view's next frame */
    ls_loop_source *alarm;       /* for inputs that are due between frames; and, without a view, for
                                  * frames */
    uint64_t alarm_ns;
    ls_frame_pace pace; /* of frames without a view */
    uint64_t dt_ns;     /* of the match; 0: not known yet */
    uint64_t seated_ns; /* when it was seated last, and how often the loop had waited by then */
    uint64_t seated_wakes;
    ls_bot bot;
    ls_delayed_bot *delayed_bot; /* its inputs are too large for some stacks */
    ls_bit_flip flip;
    bool has_warned_of_delay;
    ls_session_log lines;
    ls_client_chat chat;
    ls_frame_recorder recorder;
    ls_desync_notice first_desync; /* of this client; the session keeps the newest alone */
    ls_desync_cause first_cause;
    bool has_first_cause;
    ls_text over_why; /* why the match ended early; empty: it did not */
    uint32_t matches; /* played so far */
    bool is_leaving;  /* by its own will */
    ls_text next;     /* what the room plays behind this match; empty: nothing */
    /* Of the match before in the same room; the id is 0 until there was one. */
    uint64_t match_before;
    ls_session_seat seat_before;
    uint64_t back_until_ns; /* until then it tries to come back */
    ls_loop_source *pause;  /* an alarm, before it tries again */
} client;

/* ---- what the session asks for ---- */

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const client *player = user;
    const ls_log *log = &player->console->log;
    const ls_simulation *given = player->config->simulation;
    if (given && strcmp(given->name, name) == 0) {
        return given;
    }
    if (given) {
        ls_log_line(log, LS_LOG_ERROR, "--sim gives '%s', but the server plays '%s'", given->name,
                    name);
        return NULL;
    }
    const ls_simulation *builtin = ls_builtin_simulation_named(name);
    if (!builtin) {
        ls_log_line(log, LS_LOG_ERROR, "'%s' is no built-in: give its plug-in with --sim FILE.so",
                    name);
    }
    return builtin;
}

LS_TICK_CODE static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot,
                                        ls_tick tick, uint8_t *bytes)
{
    client *player = user;
    if (!player->config->has_bot) {
        return player->view.screen ? ls_client_view_input(&player->view, instance, slot, bytes) : 0;
    }
    if (player->config->bot_delay_ticks == 0) {
        return ls_bot_input(&player->bot, instance, slot, bytes);
    }
    uint32_t size = 0;
    if (!ls_delayed_bot_input(player->delayed_bot, tick, bytes, &size) &&
        !player->has_warned_of_delay) {
        player->has_warned_of_delay = true;
        ls_log_line(&player->console->log, LS_LOG_WARNING,
                    "--bot-delay is shorter than the round trip to the server: "
                    "this match cannot be repeated exactly");
    }
    return size;
}

/* A block with a schema is all of the state; of an engine's block, which holds pointers, nothing
 * may be changed but what its save has. False: it cannot save, or refuses what was changed. */
static bool flip_saved_bit(ls_sim_instance *instance, uint64_t *bit)
{
    size_t head = ls_sim_instance_save_head_bytes(instance);
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *saved = size > head ? ls_allocate(ls_allocator_heap(), size) : NULL;
    bool is_flipped = saved && ls_sim_instance_save(instance, saved) == LS_OK;
    if (is_flipped) {
        *bit %= 8 * (size - head);
        saved[head + *bit / 8] ^= (uint8_t)(1u << *bit % 8);
        is_flipped =
            ls_sim_instance_load(instance, saved, size, ls_sim_instance_tick(instance)) == LS_OK;
    }
    ls_release(ls_allocator_heap(), saved);
    return is_flipped;
}

/* After each step, repeated ones too. */
static void flip_bit(ls_bit_flip *flip, ls_sim_instance *instance, const ls_log *log)
{
    if (flip->tick == 0 || ls_sim_instance_tick(instance) != flip->tick) {
        return;
    }
    uint64_t bit = flip->bit;
    bool is_flipped = flip_saved_bit(instance, &bit);
    if (flip->has_told) {
        return; /* a step that was guessed is made again, and the bit with it */
    }
    flip->has_told = true;
    if (is_flipped) {
        ls_log_line(log, LS_LOG_WARNING,
                    "flipped bit %" PRIu64 " of the state at tick %" PRIu32 ", as asked", bit,
                    flip->tick);
    } else {
        ls_log_line(log, LS_LOG_WARNING,
                    "--flip-bit: the simulation cannot save its state, or does not load the state "
                    "with bit %" PRIu64 " flipped; nothing was changed",
                    bit);
    }
}

LS_TICK_CODE static void after_step(void *user, ls_sim_instance *instance)
{
    client *player = user;
    flip_bit(&player->flip, instance, &player->console->log);
    if (player->config->bot_delay_ticks > 0) {
        ls_delayed_bot_observe(player->delayed_bot, instance,
                               ls_session_offer(player->session)->slot);
    }
}

static void on_sound(void *user, ls_tick tick, const ls_sound *sound)
{
    client *player = user;
    (void)tick;
    ls_client_view_play(&player->view, sound);
}

/* ---- events ---- */

/* The summary tells of the first desync of this client; the session keeps the newest alone. */
static void keep_first(client *player, const ls_session_event *event)
{
    ls_session_report report = ls_session_report_of(player->session);
    if (event->subject != LS_DESYNC_OF_THIS_CLIENT || report.own_desyncs > 1) {
        return;
    }
    if (event->kind == LS_SESSION_EVENT_DESYNC) {
        player->first_desync = event->desync;
    } else if (report.own_desyncs == 1) {
        player->first_cause = event->cause;
        player->has_first_cause = true;
    }
}

/* The log leaves out the lines that a view shows. */
static void log_chat(client *player, const ls_chat *said, uint64_t now_ns)
{
    ls_text line = {{0}};
    if (player->config->has_chat && !player->view.screen &&
        ls_client_chat_write(&player->chat, said, &line)) {
        ls_session_log_chat(&player->lines, line.bytes, now_ns);
    }
}

/* The room has closed its last match and not opened the next one: a connection in between is closed
 * without a word. */
static bool may_come_back_again(const client *player)
{
    return player->match_before != 0 && !player->is_leaving && !ls_session_offer(player->session) &&
           ls_session_report_of(player->session).status == LS_DISCONNECTED &&
           ls_event_loop_now_ns(player->loop) < player->back_until_ns;
}

static void log_event(client *player, const ls_session_event *event, uint64_t now_ns)
{
    if (event->kind == LS_SESSION_EVENT_DESYNC || event->kind == LS_SESSION_EVENT_CAUSE) {
        keep_first(player, event);
    } else if (event->kind == LS_SESSION_EVENT_OVER && event->status != LS_OK) {
        player->over_why = event->text;
    } else if (event->kind == LS_SESSION_EVENT_CHAT) {
        log_chat(player, &event->chat, now_ns);
    }
    if (event->kind == LS_SESSION_EVENT_OVER && may_come_back_again(player)) {
        ls_log_line(&player->console->log, LS_LOG_DEBUG,
                    "the next match is not open yet; trying again");
    } else {
        ls_session_log_event(&player->lines, event, now_ns);
    }
}

static void draw_progress(void *user, uint64_t now_ns)
{
    client *player = user;
    (void)now_ns;
    ls_session_report report = ls_session_report_of(player->session);
    ls_console_begin(player->console);
    ls_console_line(player->console,
                    "tick %" PRIu32 "  %s  rtt %.1f ms  slack %.1f ms  stalled %" PRIu64
                    "  desyncs %" PRIu32,
                    report.tick, ls_session_state_words(report.state), (double)report.rtt_ns / 1e6,
                    (double)report.slack_ns / 1e6, report.stalled_ticks, report.desyncs);
    if (report.state == LS_SESSION_JOINING) {
        ls_console_line(player->console, "received %.1f of %.1f KiB, %" PRIu32 " ticks to catch up",
                        report.transferred_bytes / 1024.0, report.transfer_bytes / 1024.0,
                        report.behind_ticks);
    }
    ls_console_end(player->console);
}

/* ---- the loop ---- */

/* When the next frame is due that is not shown to anybody. */
static uint64_t next_frame_ns(const client *player)
{
    return ls_frame_pace_beside_input(&player->pace, ls_session_next_ns(player->session),
                                      player->dt_ns);
}

/* A client that wakes for every packet spends more on waking than on packets. Without a view frames
 * come evenly, and what has come is taken in before each. */
static void choose_waiting(client *player, uint64_t now_ns)
{
    bool is_soon = !player->view.screen && player->config->fps >= WAITING_FPS_MIN;
    bool may_wait = is_soon && ls_session_may_packets_wait(player->session);
    ls_client_link_let_wait(player->link, may_wait, now_ns);
}

LS_TICK_CODE static void set_alarm(client *player)
{
    uint64_t due_ns = ls_session_next_ns(player->session);
    uint64_t link_ns = ls_client_link_next_ns(player->link);
    due_ns = LS_MIN(due_ns, link_ns);
    if (!player->view.screen) {
        uint64_t frame_ns = next_frame_ns(player);
        due_ns = LS_MIN(due_ns, frame_ns);
    }
    if (due_ns != player->alarm_ns) {
        ls_loop_alarm_set(player->alarm, due_ns);
        player->alarm_ns = due_ns;
    }
}

LS_TICK_CODE static void after_turn(client *player, uint64_t now_ns)
{
    ls_client_link_advance(player->link, player->session, &player->console->log, now_ns);
    ls_session_event event;
    while (ls_session_next_event(player->session, &event)) {
        ls_seat_file_receive_event(player->config->seat_path, player->place.identity,
                                   player->session, &event, &player->console->log);
        if (event.kind == LS_SESSION_EVENT_SEATED) {
            const ls_offer *offer = ls_session_offer(player->session);
            ls_client_link_set_match(player->link, offer->match_id);
            player->dt_ns = LS_NS_PER_SECOND / offer->config.tick_rate_hz;
            player->seated_ns = now_ns;
            player->seated_wakes = ls_event_loop_wakes(player->loop);
            const ls_sim_instance *instance = ls_session_instance(player->session);
            ls_pages_enlarge(ls_sim_instance_view(instance), ls_sim_instance_state_bytes(instance));
        }
        if (event.kind == LS_SESSION_EVENT_NOTICE && event.notice.kind == LS_NOTICE_NEXT) {
            player->next = event.notice.text;
        }
        log_event(player, &event, now_ns);
        ls_client_view_on_event(&player->view, &event);
    }
    ls_session_log_end_waits(&player->lines, now_ns);
    ls_client_link_flush(player->link);
    choose_waiting(player, now_ns);
    player->view.server = ls_client_link_server(player->link);
    set_alarm(player);
    ls_console_flush(player->console);
    if (ls_session_state_of(player->session) == LS_SESSION_OVER) {
        ls_event_loop_stop(player->loop);
    }
}

static void on_packets(void *user, uint64_t now_ns)
{
    client *player = user;
    ls_client_link_receive(player->link, player->session, now_ns);
    after_turn(player, now_ns);
}

static void on_frame(void *user, uint64_t now_ns)
{
    client *player = user;
    ls_frame_recorder_begin_frame(&player->recorder, now_ns);
    ls_client_link_receive(player->link, player->session, now_ns);
    ls_session_frame(player->session, now_ns);
    after_turn(player, now_ns);
}

/* A frame that somebody sees: it begins with what they did and ends with the picture. */
static void on_seen_frame(void *user, uint64_t now_ns)
{
    client *player = user;
    uint64_t again_ns = ls_screen_go_on(player->view.screen, now_ns);
    if (again_ns > 0) {
        ls_loop_alarm_set(player->frame_alarm, again_ns);
        return;
    }
    if (ls_screen_is_closed(player->view.screen, now_ns)) {
        player->is_leaving = true;
        ls_session_leave(player->session, now_ns);
    }
    on_frame(player, now_ns);
    ls_loop_alarm_set(player->frame_alarm, ls_client_view_frame(&player->view, now_ns));
}

/* Without a view. */
static void make_frame_due(client *player, uint64_t now_ns)
{
    (void)ls_frame_pace_next(&player->pace, 0, now_ns, now_ns);
    ls_frame_recorder_begin_frame(&player->recorder, now_ns);
    ls_session_frame(player->session, now_ns);
}

LS_TICK_CODE static void on_alarm(void *user, uint64_t now_ns)
{
    client *player = user;
    uint64_t frame_ns = player->view.screen ? UINT64_MAX : next_frame_ns(player);
    player->alarm_ns = UINT64_MAX; /* it has gone off */
    ls_client_link_receive_waiting(player->link, player->session, now_ns);
    ls_session_update(player->session, now_ns);
    if (now_ns >= frame_ns) {
        make_frame_due(player, now_ns);
    }
    after_turn(player, now_ns);
}

static void on_pause_over(void *user, uint64_t now_ns)
{
    const client *player = user;
    (void)now_ns;
    ls_event_loop_stop(player->loop);
}

static void on_signal(void *user, uint64_t now_ns)
{
    client *player = user;
    player->is_leaving = true;
    ls_session_leave(player->session, now_ns);
    after_turn(player, now_ns);
}

/* ---- the summary ---- */

static double wakes_per_s(const client *player)
{
    uint64_t past_ns = ls_event_loop_now_ns(player->loop) - player->seated_ns;
    uint64_t wakes = ls_event_loop_wakes(player->loop) - player->seated_wakes;
    return past_ns > 0 ? (double)wakes * (double)LS_NS_PER_SECOND / (double)past_ns : 0;
}

static void fill_player(const client *player, const ls_session_report *report,
                        ls_summary_player *own)
{
    *own =
        (ls_summary_player){.is_spectator = player->config->session.is_spectator,
                            .slot = report->slot,
                            .status = ls_status_name(report->status),
                            .why = player->over_why.bytes[0] ? player->over_why.bytes : NULL,
                            .has_client_figures = true,
                            .stalled_ticks = report->stalled_ticks,
                            .rtt_ms = (double)report->rtt_ns / 1e6,
                            .confirm_latency_p50_ms = (double)report->confirm_latency_p50_ns / 1e6,
                            .confirm_latency_p99_ms = (double)report->confirm_latency_p99_ns / 1e6,
                            .confirm_latency_max_ms = (double)report->confirm_latency_max_ns / 1e6,
                            .frames = report->frames,
                            .wakes_per_s = wakes_per_s(player),
                            .bytes_up = ls_client_link_traffic(player->link).bytes_sent,
                            .bytes_down = ls_client_link_traffic(player->link).bytes_received};
    ls_name_copy(own->name, sizeof own->name, player->config->session.name);
}

static void fill_prediction(const client *player, const ls_session_report *report,
                            uint32_t tick_rate_hz, ls_summary_prediction *prediction)
{
    bool has_kept = report->steps > report->rollback_ticks;
    double ticks = has_kept ? (double)(report->steps - report->rollback_ticks) : 1;
    double rollbacks = report->rollbacks > 0 ? (double)report->rollbacks : 1;
    *prediction =
        (ls_summary_prediction){.ticks = player->config->session.predict_ticks,
                                .rollbacks = report->rollbacks,
                                .rollbacks_per_s = (double)report->rollbacks * tick_rate_hz / ticks,
                                .depth_mean = (double)report->rollback_ticks / rollbacks,
                                .depth_p99 = report->rollback_depth_p99,
                                .depth_max = report->rollback_depth_max,
                                .resimulated_ticks = report->rollback_ticks,
                                .steps_per_tick = (double)report->steps / ticks};
}

/* `cause` is NULL when it is not known, and else lives as long as the summary. */
static void fill_desync(const client *player, const ls_desync_notice *notice,
                        const ls_desync_cause *cause, ls_summary_desync *desync)
{
    const ls_offer *offer = ls_session_offer(player->session);
    *desync = (ls_summary_desync){.tick = notice->tick,
                                  .slot = notice->slot,
                                  .is_spectator = offer->is_spectator,
                                  .server_hash = notice->server_hash,
                                  .client_hash = notice->client_hash};
    if (!cause) {
        return;
    }
    desync->has_cause = true;
    desync->times = 1;
    desync->elements = cause->elements;
    desync->is_lower_bound = cause->is_lower_bound;
    desync->pass = cause->pass[0] ? cause->pass : NULL;
    desync->values_after_pass = cause->is_behind_pass ? desync->pass : NULL;
    desync->why = LS_DESYNC_CLASS_OPEN;
    if (!ls_desync_cause_is_open(cause)) {
        desync->class_word = ls_desync_class_word((ls_desync_class)cause->kind);
        desync->culprit = ls_desync_culprit_word((ls_desync_culprit)cause->culprit);
        desync->why = cause->why.bytes;
        desync->next = ls_desync_lines_command(player->session, cause);
    }
    size_t part_bytes = strcspn(cause->field, ".[");
    if (part_bytes > 0 && part_bytes < sizeof desync->places[0].part) {
        desync->place_count = 1;
        desync->places[0] = (ls_summary_place){.field = cause->field,
                                               .server_value = cause->server_value,
                                               .client_value = cause->client_value};
        memcpy(desync->places[0].part, cause->field, part_bytes);
    }
}

static void fill_summary(client *player, ls_summary *summary)
{
    static ls_session_report report; /* the summary borrows its texts */
    report = ls_session_report_of(player->session);
    const ls_offer *offer = ls_session_offer(player->session);
    *summary = (ls_summary){.program = "lockstep-client",
                            .status = ls_status_name(report.status),
                            .ticks = player->config->session.ticks,
                            .packets_rejected = report.packets_rejected};
    if (!offer) {
        return;
    }
    ls_sim_instance *instance = ls_session_instance(player->session);
    summary->sim = ls_sim_instance_simulation(instance)->name;
    summary->seed = offer->config.seed;
    summary->tick_rate_hz = ls_rate_hz(ls_sim_config_rate(&offer->config));
    summary->final_tick = report.tick;
    summary->final_hash = ls_sim_instance_hash(instance);
    summary->player_count = 1;
    fill_player(player, &report, &summary->players[0]);
    if (report.has_prediction) {
        fill_prediction(player, &report, offer->config.tick_rate_hz,
                        &summary->players[0].prediction);
    }
    if (report.is_desynced) {
        summary->desync_count = 1;
        const ls_desync_cause *first = player->has_first_cause ? &player->first_cause : NULL;
        const ls_desync_cause *newest = report.has_own_cause ? &report.own_cause : NULL;
        fill_desync(player, &player->first_desync, first, &summary->firsts[0]);
        fill_desync(player, &report.own_desync, newest, &summary->desyncs[0]);
        summary->desyncs[0].times = report.own_desyncs;
        summary->desyncs[0].healed = report.healed;
    }
}

static void log_prediction(const client *player, const ls_summary_prediction *prediction,
                           uint32_t suggested_ticks)
{
    if (prediction->ticks == 0) {
        return;
    }
    ls_log_line(&player->console->log, LS_LOG_INFO,
                "prediction: %.1f rollbacks a second, depth %.1f ticks (p99 %" PRIu32
                ", max %" PRIu32 "), %.2f steps a tick",
                prediction->rollbacks_per_s, prediction->depth_mean, prediction->depth_p99,
                prediction->depth_max, prediction->steps_per_tick);
    if (suggested_ticks > 0) {
        ls_log_line(&player->console->log, LS_LOG_INFO,
                    "prediction: inputs showed late, as they are confirmed later than %" PRIu32
                    " ticks; try --predict %" PRIu32,
                    prediction->ticks, suggested_ticks);
    }
}

static void log_unwritten(const client *player, ls_status status, const ls_text *why,
                          ls_exit_code *code)
{
    if (status != LS_OK) {
        ls_log_line(&player->console->log, LS_LOG_ERROR, "%s", why->bytes);
        *code = *code == LS_EXIT_CLEAN ? LS_EXIT_ENVIRONMENT : *code;
    }
}

static ls_exit_code finish(client *player)
{
    static ls_summary summary;
    ls_text why = {{0}};
    ls_session_report report = ls_session_report_of(player->session);
    ls_exit_code code = report.is_desynced || report.status == LS_DESYNCED ? LS_EXIT_DESYNC
                        : report.status == LS_OK                           ? LS_EXIT_CLEAN
                                                                           : LS_EXIT_ENVIRONMENT;
    ls_console_clear(player->console);
    fill_summary(player, &summary);
    log_prediction(player, &summary.players[0].prediction, report.suggested_predict_ticks);
    if (summary.final_tick > 0) {
        ls_log_line(&player->console->log, LS_LOG_INFO, "tick %" PRIu32 ", hash %016" PRIx64,
                    summary.final_tick, summary.final_hash);
    }
    const char *json_path = player->config->json_path;
    ls_status written = json_path ? ls_summary_write(&summary, json_path, &why) : LS_OK;
    log_unwritten(player, written, &why, &code);
    return code;
}

/* ---- building it ---- */

static ls_status open_link(client *player, ls_text *why)
{
    const ls_client_link_config link = {.place = &player->place,
                                        .loop = player->loop,
                                        .on_ready = {on_packets, player},
                                        .connect_wait_ms = player->config->connect_wait_ms};
    return ls_client_link_open(&link, &player->link, why);
}

static ls_status open_network(client *player, ls_text *why)
{
    const ls_client_config *config = player->config;
    const ls_client_place_source from = {.word = config->server,
                                         .token_path = config->token_path,
                                         .is_insecure = config->is_insecure,
                                         .avoids_direct = config->avoids_direct,
                                         .now_s = (uint64_t)time(NULL)};
    ls_status status = ls_client_place_read(&from, &player->place, why);
    if (status == LS_OK && player->place.is_token_expired) {
        ls_log_line(&player->console->log, LS_LOG_WARNING,
                    "by this machine's clock the token has expired: get a new one");
    }
    if (status == LS_OK) {
        status = ls_event_loop_create(ls_allocator_heap(), &player->loop);
        ls_text_set(why, "%s", status == LS_IO ? LS_EVENT_LOOP_LACKS_FILES : "");
    }
    if (status == LS_OK && config->reruns) {
        ls_rerun_process_attach(config->reruns, player->loop);
    }
    return status == LS_OK ? open_link(player, why) : status;
}

static ls_status add_frames(client *player)
{
    uint64_t now_ns = ls_event_loop_now_ns(player->loop);
    if (!player->view.screen) {
        player->pace = ls_frame_pace_make(player->config->fps, false, now_ns);
        set_alarm(player);
        return LS_OK;
    }
    ls_loop_handler frame = {on_seen_frame, player};
    ls_status status = ls_event_loop_add_alarm(player->loop, frame, &player->frame_alarm);
    if (status == LS_OK) {
        player->view.session = player->session;
        ls_loop_alarm_set(player->frame_alarm, now_ns);
    }
    return status;
}

static ls_status add_handlers(client *player)
{
    ls_loop_handler alarm = {on_alarm, player};
    ls_loop_handler signal_handler = {on_signal, player};
    ls_loop_handler progress = {draw_progress, player};
    player->alarm_ns = UINT64_MAX;
    ls_loop_handler pause = {on_pause_over, player};
    ls_status status = ls_event_loop_add_alarm(player->loop, alarm, &player->alarm);
    LS_THEN(status, ls_event_loop_add_alarm(player->loop, pause, &player->pause));
    if (status == LS_OK) {
        status = add_frames(player);
    }
    if (status == LS_OK) {
        status = ls_event_loop_add_stop_signals(player->loop, signal_handler);
    }
    if (status == LS_OK && player->console->is_live) {
        status = ls_event_loop_add_timer(player->loop, PROGRESS_MS, progress, NULL);
    }
    return status;
}

/* A file of before has it by the server's name. */
static ls_status read_seat(const client *player, ls_session_seat *seat, ls_text *why)
{
    const char *path = player->config->seat_path;
    ls_status status = ls_seat_file_read(path, player->place.identity, seat, why);
    return status == LS_NOT_FOUND ? ls_seat_file_read(path, player->place.name, seat, why) : status;
}

/* Whether a person sits before the view: not of text in a file. */
static bool has_keys(const ls_screen_config *view)
{
    return view->kind == LS_SCREEN_WINDOW || view->is_terminal_live;
}

/* One that has a seat comes back to it, and is let in as a newcomer when it is gone. */
static ls_status create_session(client *player, const ls_session_seat *seat, ls_text *why)
{
    ls_session_config session = player->config->session;
    session.find_simulation = find_simulation;
    session.make_input = make_input;
    session.after_step = after_step;
    session.on_sound = ls_screen_config_has_sound(&player->config->view) ? on_sound : NULL;
    session.user = player;
    memcpy(session.room, player->place.room, sizeof session.room);
    session.makes_inputs_between_frames = true;
    session.asks_when_ready =
        player->view.screen && !player->config->has_bot && has_keys(&player->config->view);
    session.keeps_previous_state = player->view.screen != NULL;
    session.seat = *seat;
    ls_packet_sink sink = ls_client_link_sink(player->link);
    ls_status status =
        ls_session_create(&session, &sink, ls_allocator_paired(), &player->session, why);
    player->lines = (ls_session_log){.log = &player->console->log,
                                     .session = player->session,
                                     .link = player->link,
                                     .place = &player->place,
                                     .has_picture = player->view.screen != NULL,
                                     .budget = player->lines.budget};
    return status;
}

static ls_status build(client *player, ls_text *why)
{
    const char *json_path = player->config->json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    if (status == LS_OK && player->config->view.kind != LS_SCREEN_NONE) {
        status = ls_client_view_open(&player->view, &player->config->view, player->console, why);
    }
    if (status == LS_OK && player->config->frames_path) {
        status = ls_frame_recorder_open(&player->recorder, player->config->frames_path, why);
    }
    if (status == LS_OK) {
        status = open_network(player, why);
    }
    if (status != LS_OK) {
        return status;
    }
    ls_session_seat seat = {.match_id = 0};
    player->view.chat = player->config->has_chat ? &player->chat : NULL;
    status = read_seat(player, &seat, why);
    if (status != LS_OK && status != LS_NOT_FOUND) {
        return status;
    }
    why->bytes[0] = '\0'; /* that there is no seat yet is no reason for anything */
    ls_client_link_return_to(player->link, seat.match_id, player->config->session.reconnect_ms);
    status = create_session(player, &seat, why);
    return status == LS_OK ? add_handlers(player) : status;
}

/* ---- the next match of the room ---- */

static bool has_next(const client *player)
{
    const ls_client_config *config = player->config;
    bool is_enough = config->matches_max > 0 && player->matches >= config->matches_max;
    return player->next.bytes[0] != '\0' && !player->is_leaving && !is_enough &&
           ls_session_report_of(player->session).status == LS_OK &&
           (config->session.ticks == 0 ||
            ls_session_report_of(player->session).tick < config->session.ticks);
}

/* All that is of one match. */
static void forget_match(client *player)
{
    const client fresh = {.flip = player->config->flip,
                          .bot = ls_bot_make(player->config->bot_seed)};
    player->flip = fresh.flip;
    player->bot = fresh.bot;
    if (player->config->bot_delay_ticks > 0) {
        ls_delayed_bot_init(player->delayed_bot, player->config->bot_seed,
                            player->config->bot_delay_ticks);
    }
    player->has_warned_of_delay = false;
    player->has_first_cause = false;
    player->over_why = fresh.over_why;
    player->next = fresh.next;
    player->view.notice = fresh.view.notice;
    player->view.is_ready = false;
    player->view.is_waiting = false;
}

static void keep_seat(client *player)
{
    const ls_offer *offer = ls_session_offer(player->session);
    ls_text room = {{0}};
    ls_text_set(&room, "%.*s", (int)strcspn(player->next.bytes, ":"), player->next.bytes);
    ls_name_copy(player->place.room, sizeof player->place.room, room.bytes);
    player->match_before = offer->match_id;
    player->seat_before = (ls_session_seat){.match_id = offer->is_spectator ? 0 : offer->match_id};
    memcpy(player->seat_before.secret, offer->secret, sizeof offer->secret);
    player->back_until_ns = ls_event_loop_now_ns(player->loop) +
                            player->config->connect_wait_ms * (uint64_t)LS_NS_PER_MS;
}

/* Over a connection of its own, with the seat of the match that is over. */
static ls_status come_back(client *player, ls_text *why)
{
    forget_match(player);
    ls_session_destroy(player->session);
    ls_client_link_close(player->link);
    player->session = NULL;
    player->link = NULL;
    player->view.session = NULL;
    ls_status status = open_link(player, why);
    if (status == LS_OK) {
        ls_client_link_set_match(player->link, player->match_before);
        status = create_session(player, &player->seat_before, why);
    }
    player->view.session = player->session;
    return status;
}

static ls_exit_code worse(ls_exit_code one, ls_exit_code other)
{
    return other == LS_EXIT_CLEAN || one == LS_EXIT_DESYNC ? one : other;
}

/* One match after the other. */
static ls_exit_code play_all(client *player, ls_text *why)
{
    ls_exit_code code = LS_EXIT_CLEAN;
    ls_status status = LS_OK;
    bool goes_on = true;
    while (goes_on && status == LS_OK) {
        ls_event_loop_run(player->loop);
        goes_on = may_come_back_again(player);
        if (goes_on) {
            ls_loop_alarm_set(player->pause, ls_event_loop_now_ns(player->loop) +
                                                 BACK_PAUSE_MS * (uint64_t)LS_NS_PER_MS);
            ls_event_loop_run(player->loop);
            ls_loop_alarm_set(player->pause, UINT64_MAX);
        } else {
            player->matches++;
            code = worse(code, finish(player));
            goes_on = has_next(player);
        }
        if (goes_on && player->next.bytes[0] != '\0') {
            keep_seat(player);
        }
        status = goes_on ? come_back(player, why) : LS_OK;
    }
    return status == LS_OK ? code : ls_exit_code_of(status);
}

ls_exit_code ls_client_run(const ls_client_config *config, ls_console *console)
{
    static ls_delayed_bot delayed_bot;
    client player = {.config = config,
                     .flip = config->flip,
                     .console = console,
                     .bot = ls_bot_make(config->bot_seed),
                     .delayed_bot = &delayed_bot};
    if (config->bot_delay_ticks > 0) {
        ls_delayed_bot_init(player.delayed_bot, config->bot_seed, config->bot_delay_ticks);
    }
    ls_text why = {{0}};
    ls_status status = build(&player, &why);
    ls_exit_code code = status == LS_OK ? play_all(&player, &why) : ls_exit_code_of(status);
    if (why.bytes[0] != '\0' || status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    log_unwritten(&player, ls_frame_recorder_close(&player.recorder, &why), &why, &code);
    ls_screen_close(player.view.screen);
    ls_session_destroy(player.session);
    ls_client_link_close(player.link);
    ls_cipher_wipe(&player.place, sizeof player.place);
    ls_rerun_process_detach(player.config->reruns);
    ls_event_loop_destroy(player.loop);
    return code;
}
