#include "lockstep/client/link/client_link.h"
#include "lockstep/client/link/seat_file.h"
#include "lockstep/client/link/session_log.h"
#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/common/game/param_files.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/common/system/machine_fingerprint.h"
#include "lockstep/tools/liblockstep/handle.h"

#include <string.h>
#include <time.h>

enum {
    ONCE_MAX = 64,       /* inputs that wait for a tick of their own */
    FRAMES_PER_TICK = 2, /* of a thread of its own */
    SHAPES_MAX = 1 << 14,
};

typedef struct input {
    uint32_t size;
    uint8_t bytes[LS_INPUT_BYTES_MAX];
} input;

/* One session over a link, on the loop of its handle. */
typedef struct client_part {
    lockstep_self *handle;
    ls_loaded_simulation loaded; /* that "sim" names */
    ls_param_files files;
    ls_build_fingerprint print;
    ls_rerun_local *reruns;
    ls_client_place place;
    ls_client_link *link;
    ls_session *session;
    ls_log log;
    ls_session_log lines;
    ls_loop_source *alarm;
    uint64_t frame_ns; /* when a thread of its own makes its next frame; UINT64_MAX: never */
    ls_status over_status;
    ls_text over_why;
    input held;
    input once[ONCE_MAX]; /* a ring */
    uint32_t once_first;
    uint32_t once_count;
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* that was asked for last */
    uint8_t *shown;     /* of a thread of its own: both states as of the newest frame, `previous` */
    size_t shown_bytes; /* behind `state`; of each */
    bool has_shown;
    uint32_t shown_tick;
    double alpha;
} client_part;

/* ---- what the session asks for ---- */

static const ls_simulation *find_simulation(void *user, const char *name)
{
    const client_part *client = user;
    const ls_simulation *given = client->loaded.simulation;
    const ls_simulation *found = given ? given : ls_builtin_simulation_named(name);
    if (!found || strcmp(found->name, name) != 0) {
        ls_log_line(&client->log, LS_LOG_ERROR, "the server plays '%s', which this client %s", name,
                    given ? "does not" : "does not have: set \"sim\" to its plug-in's file");
        return NULL;
    }
    return found;
}

static uint32_t make_input(void *user, const ls_sim_instance *instance, uint32_t slot, ls_tick tick,
                           uint8_t *bytes)
{
    client_part *client = user;
    const input *from = &client->held;
    (void)slot;
    (void)tick;
    if (client->once_count > 0) {
        from = &client->once[client->once_first];
        client->once_first = (client->once_first + 1) % ONCE_MAX;
        client->once_count--;
    }
    uint32_t size = LS_MIN(from->size, ls_sim_instance_simulation(instance)->input_bytes_max);
    memcpy(bytes, from->bytes, size);
    return size;
}

/* ---- events ---- */

static void add_event(client_part *client, lockstep_event_kind kind, uint32_t slot, uint32_t tick,
                      const char *text)
{
    const lockstep_event event = {.kind = (int32_t)kind, .slot = slot, .tick = tick};
    lockstep_event_queue_add(&client->handle->events, event, text);
}

static uint32_t own_slot(const client_part *client)
{
    const ls_offer *offer = ls_session_offer(client->session);
    return offer && !offer->is_spectator ? offer->slot : LOCKSTEP_NO_SLOT;
}

static void add_notice(client_part *client, const ls_notice *notice)
{
    if (notice->kind == LS_NOTICE_NEXT) { /* the line says which match the room plays next */
        lockstep_event_queue_flush(&client->handle->events, ls_session_tick(client->session));
        return;
    }
    lockstep_event_kind kind = notice->kind == LS_NOTICE_PAUSED     ? LOCKSTEP_PAUSED
                               : notice->kind == LS_NOTICE_UNPAUSED ? LOCKSTEP_UNPAUSED
                                                                    : LOCKSTEP_SAID;
    add_event(client, kind, LOCKSTEP_NO_SLOT, notice->tick, notice->text.bytes);
}

static void add_over(client_part *client, const ls_session_event *event)
{
    client->over_status = event->status;
    lockstep_event_queue *events = &client->handle->events;
    ls_text_set(&client->over_why, "%s",
                events->said[0] != '\0' ? events->said : event->text.bytes);
    const lockstep_event over = {.kind = LOCKSTEP_OVER,
                                 .status = event->status,
                                 .slot = own_slot(client),
                                 .tick = ls_session_tick(client->session)};
    lockstep_event_queue_add(events, over, client->over_why.bytes);
}

/* Which event of ours it is, where all that it takes is its kind, a slot and a tick. */
static bool plain_kind(const client_part *client, const ls_session_event *event,
                       lockstep_event_kind *kind, uint32_t *slot, uint32_t *tick)
{
    static const struct {
        ls_session_event_kind from;
        lockstep_event_kind to;
    } kinds[] = {
        {LS_SESSION_EVENT_SEATED, LOCKSTEP_CONNECTED}, {LS_SESSION_EVENT_STARTED, LOCKSTEP_STARTED},
        {LS_SESSION_EVENT_JOINING, LOCKSTEP_JOINING},  {LS_SESSION_EVENT_JOINED, LOCKSTEP_PLAYING},
        {LS_SESSION_EVENT_LOST, LOCKSTEP_LOST},        {LS_SESSION_EVENT_WAITING, LOCKSTEP_WAITING},
        {LS_SESSION_EVENT_LAG, LOCKSTEP_LAG},          {LS_SESSION_EVENT_DESYNC, LOCKSTEP_DESYNC},
        {LS_SESSION_EVENT_CAUSE, LOCKSTEP_CAUSE},      {LS_SESSION_EVENT_HEALED, LOCKSTEP_HEALED},
        {LS_SESSION_EVENT_ENDED, LOCKSTEP_ENDED}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].from == event->kind) {
            bool is_desync = event->kind == LS_SESSION_EVENT_DESYNC;
            bool is_cause = event->kind == LS_SESSION_EVENT_CAUSE;
            *kind = kinds[i].to;
            *slot = is_desync  ? event->desync.slot
                    : is_cause ? event->cause.slot
                               : own_slot(client);
            *tick = is_desync                                 ? event->desync.tick
                    : is_cause                                ? event->cause.tick
                    : event->kind == LS_SESSION_EVENT_ENDED   ? event->end.final_tick
                    : event->kind == LS_SESSION_EVENT_WAITING ? event->waiting.tick
                    : event->tick > 0                         ? event->tick
                                                              : ls_session_tick(client->session);
            return true;
        }
    }
    return false;
}

static void on_event(client_part *client, const ls_session_event *event, uint64_t now_ns)
{
    lockstep_event_kind kind = LOCKSTEP_LOG;
    uint32_t slot = 0;
    uint32_t tick = 0;
    ls_seat_file_receive_event(client->handle->settings.seat_path, client->place.identity,
                               client->session, event, &client->log);
    if (event->kind == LS_SESSION_EVENT_SEATED) {
        ls_client_link_set_match(client->link, ls_session_offer(client->session)->match_id);
    }
    ls_session_log_event(&client->lines, event, now_ns);
    if (event->kind == LS_SESSION_EVENT_CHAT) {
        add_event(client, LOCKSTEP_CHAT, event->chat.slot, ls_session_tick(client->session),
                  event->chat.text);
    } else if (event->kind == LS_SESSION_EVENT_NOTICE) {
        add_notice(client, &event->notice);
    } else if (event->kind == LS_SESSION_EVENT_OVER) {
        add_over(client, event);
    } else if (plain_kind(client, event, &kind, &slot, &tick)) {
        char *said = client->handle->events.said;
        if (kind == LOCKSTEP_LOST) {
            said[strcspn(said, "\n")] = '\0'; /* the rest is for who reads logs */
        }
        ls_text last = {{0}};
        ls_text_set(&last, "the last tick is %u", tick);
        add_event(client, kind, slot, tick, kind == LOCKSTEP_ENDED ? last.bytes : NULL);
    }
}

/* ---- the loop ---- */

static void after_turn(client_part *client, uint64_t now_ns)
{
    lockstep_event_queue *events = &client->handle->events;
    uint64_t added = events->added;
    ls_client_link_advance(client->link, client->session, &client->log, now_ns);
    ls_session_event event;
    while (ls_session_next_event(client->session, &event)) {
        on_event(client, &event, now_ns);
    }
    lockstep_event_queue_flush(events, ls_session_tick(client->session));
    ls_client_link_flush(client->link);
    uint64_t due_ns = LS_MIN(ls_session_next_ns(client->session), client->frame_ns);
    uint64_t link_ns = ls_client_link_next_ns(client->link);
    ls_loop_alarm_set(client->alarm, events->is_over ? UINT64_MAX : LS_MIN(due_ns, link_ns));
    if (events->added != added) {
        ls_event_loop_stop(client->handle->loop);
    }
}

static void on_packets(void *user, uint64_t now_ns)
{
    client_part *client = user;
    ls_client_link_receive(client->link, client->session, now_ns);
    after_turn(client, now_ns);
}

/* The frames of a thread of its own step what is due while the caller's picture takes its time. */
static void on_alarm(void *user, uint64_t now_ns)
{
    client_part *client = user;
    ls_client_link_receive_waiting(client->link, client->session, now_ns);
    ls_session_update(client->session, now_ns);
    if (now_ns >= client->frame_ns) {
        const ls_offer *offer = ls_session_offer(client->session);
        uint32_t rate_hz = offer ? offer->config.tick_rate_hz : 60;
        client->frame_ns = now_ns + LS_NS_PER_SECOND / rate_hz / FRAMES_PER_TICK;
        ls_session_frame(client->session, now_ns);
    }
    after_turn(client, now_ns);
}

/* The caller looks at a copy: the thread goes on with the states themselves. */
static void copy_states(client_part *client)
{
    ls_sim_instance *instance = ls_session_instance(client->session);
    const void *previous = ls_session_previous(client->session);
    if (!instance || !previous) {
        return;
    }
    size_t bytes = ls_sim_instance_state_bytes(instance);
    if (client->shown_bytes != bytes) {
        ls_release(ls_allocator_heap(), client->shown);
        client->shown = ls_allocate_array(ls_allocator_heap(), 2, bytes);
        client->shown_bytes = client->shown ? bytes : 0;
    }
    if (client->shown) {
        memcpy(client->shown, ls_sim_instance_view(instance), bytes);
        memcpy(client->shown + bytes, previous, bytes);
        client->shown_tick = ls_sim_instance_tick(instance);
        client->has_shown = true;
    }
}

int lockstep_client_frame(lockstep_self *handle, uint32_t wait_ms, ls_text *why)
{
    client_part *client = handle->part;
    ls_event_loop *loop = handle->loop;
    if (!handle->events.is_over && !handle->has_thread) {
        uint64_t now_ns = ls_event_loop_now_ns(loop);
        ls_event_loop_run_until(loop, now_ns + wait_ms * LS_NS_PER_MS);
    }
    if (!handle->events.is_over) {
        uint64_t now_ns = ls_event_loop_now_ns(loop);
        ls_client_link_receive_waiting(client->link, client->session, now_ns);
        ls_session_frame(client->session, now_ns);
        after_turn(client, now_ns);
        client->alpha = (double)ls_session_alpha(client->session) / (double)LS_FIXED_ONE;
    }
    if (handle->has_thread) {
        copy_states(client);
    }
    if (handle->events.is_over && client->over_status != LS_OK) {
        *why = client->over_why;
        return client->over_status;
    }
    return handle->events.is_over ? 0 : 1;
}

/* ---- building it ---- */

static ls_status load(client_part *client, ls_session_config *session, ls_text *why)
{
    const lockstep_settings *settings = &client->handle->settings;
    const char *name = settings->sim && !client->handle->has_game ? settings->sim : NULL;
    client->loaded.simulation = client->handle->has_game ? &client->handle->own : NULL;
    ls_status status = name ? ls_simulation_load(name, &client->loaded, why) : LS_OK;
    LS_THEN(status, ls_param_files_read(&client->files, settings->params.assignments,
                                        settings->params.count, why));
    LS_THEN(status, ls_rerun_local_create(ls_allocator_heap(), &client->reruns));
    if (status != LS_OK) {
        return status;
    }
    ls_build_fingerprint_here(&client->print);
    ls_bundle_print_libraries(&client->print);
    ls_simulation_print(&client->loaded, name ? name : "", &client->print);
    session->print = &client->print;
    session->maths_check = ls_simulation_maths(&client->loaded, name ? name : "");
    session->files = &client->files.files;
    session->rerun_host = ls_rerun_local_host(client->reruns);
    session->find_simulation = find_simulation;
    session->make_input = make_input;
    session->user = client;
    session->makes_inputs_between_frames = true;
    session->keeps_previous_state = true;
    return LS_OK;
}

static ls_status open_network(client_part *client, ls_text *why)
{
    lockstep_self *handle = client->handle;
    const lockstep_settings *settings = &handle->settings;
    const ls_client_place_source from = {.word = settings->server,
                                         .token_path = settings->token_path,
                                         .is_insecure = settings->is_insecure,
                                         .now_s = (uint64_t)time(NULL)};
    if (!settings->server && !settings->token_path) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "set \"server\" to an invite or HOST[:PORT], or \"token\"");
    }
    ls_status status = ls_client_place_read(&from, &client->place, why);
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &handle->loop));
    if (status != LS_OK) {
        return status;
    }
    const ls_client_link_config link = {.place = &client->place,
                                        .loop = handle->loop,
                                        .on_ready = {on_packets, client},
                                        .connect_wait_ms = settings->connect_wait_ms};
    return ls_client_link_open(&link, &client->link, why);
}

static ls_status open_session(client_part *client, ls_session_config *session, ls_text *why)
{
    lockstep_self *handle = client->handle;
    memcpy(session->room, client->place.room, sizeof session->room);
    ls_status status =
        ls_seat_file_read(handle->settings.seat_path, client->place.identity, &session->seat, why);
    if (status != LS_OK && status != LS_NOT_FOUND) {
        return status;
    }
    ls_client_link_return_to(client->link, session->seat.match_id, session->reconnect_ms);
    ls_packet_sink sink = ls_client_link_sink(client->link);
    status = ls_session_create(session, &sink, ls_allocator_heap(), &client->session, why);
    client->lines = (ls_session_log){.log = &client->log,
                                     .session = client->session,
                                     .link = client->link,
                                     .place = &client->place};
    const ls_loop_handler alarm = {on_alarm, client};
    return status == LS_OK ? ls_event_loop_add_alarm(handle->loop, alarm, &client->alarm) : status;
}

ls_status lockstep_client_open(lockstep_self *handle, ls_text *why)
{
    client_part *client = ls_allocate(ls_allocator_heap(), sizeof *client);
    handle->part = client;
    if (!client) {
        return LS_NO_MEMORY;
    }
    client->handle = handle;
    client->log = lockstep_event_queue_log(&handle->events);
    client->frame_ns = handle->settings.has_thread ? 0 : UINT64_MAX;
    ls_session_config session = handle->settings.session;
    ls_status status = load(client, &session, why);
    LS_THEN(status, open_network(client, why));
    LS_THEN(status, open_session(client, &session, why));
    if (status == LS_OK) {
        after_turn(client, ls_event_loop_now_ns(handle->loop));
    }
    return status;
}

void lockstep_client_close(lockstep_self *handle)
{
    client_part *client = handle->part;
    if (!client) {
        return;
    }
    if (client->session && !handle->events.is_over) {
        ls_session_leave(client->session, ls_event_loop_now_ns(handle->loop));
        ls_client_link_flush(client->link);
    }
    ls_session_destroy(client->session);
    ls_client_link_close(client->link);
    ls_cipher_wipe(&client->place, sizeof client->place);
    ls_event_loop_destroy(handle->loop);
    handle->loop = NULL;
    ls_rerun_local_destroy(client->reruns);
    ls_param_files_release(&client->files);
    ls_simulation_unload(&client->loaded);
    ls_release(ls_allocator_heap(), client->shown);
    ls_release(ls_allocator_heap(), client);
    handle->part = NULL;
}

/* ---- what callers ask for ---- */

void lockstep_client_leave(lockstep_self *handle)
{
    client_part *client = handle->part;
    uint64_t now_ns = ls_event_loop_now_ns(handle->loop);
    if (!handle->events.is_over) {
        ls_session_leave(client->session, now_ns);
        after_turn(client, now_ns);
    }
}

ls_status lockstep_client_say(lockstep_self *handle, const char *text)
{
    client_part *client = handle->part;
    ls_status status = ls_session_chat(client->session, 0, text);
    ls_client_link_flush(client->link);
    return status;
}

static uint32_t input_bytes_max(const client_part *client)
{
    const ls_sim_instance *instance = ls_session_instance(client->session);
    return instance                   ? ls_sim_instance_simulation(instance)->input_bytes_max
           : client->handle->has_game ? client->handle->game.input_bytes
                                      : LS_INPUT_BYTES_MAX;
}

ls_status lockstep_client_input(lockstep_self *handle, const void *bytes, uint32_t size,
                                bool is_once, ls_text *why)
{
    client_part *client = handle->part;
    uint32_t most = input_bytes_max(client);
    if (size > most) {
        return ls_fail(LS_BAD_ARGUMENT, why, "an input has up to %u bytes, not %u", most, size);
    }
    if (is_once && client->once_count == ONCE_MAX) {
        return ls_fail(LS_FULL, why, "%d inputs wait for ticks of their own", ONCE_MAX);
    }
    input *to = is_once ? &client->once[(client->once_first + client->once_count++) % ONCE_MAX]
                        : &client->held;
    to->size = size;
    if (size > 0) {
        memcpy(to->bytes, bytes, size);
    }
    return LS_OK;
}

static double lost_percent(const ls_session_report *report)
{
    return (double)(report->uplink.loss + report->downlink.loss) * 100.0 / 256.0 / 2.0;
}

void lockstep_client_info(lockstep_self *handle, lockstep_info *info)
{
    client_part *client = handle->part;
    const ls_session_report report = ls_session_report_of(client->session);
    const ls_offer *offer = ls_session_offer(client->session);
    const ls_transport_traffic traffic = ls_client_link_traffic(client->link);
    info->status = handle->events.is_over ? client->over_status : LS_OK;
    info->is_over = handle->events.is_over;
    info->is_running = report.state == LS_SESSION_PLAYING;
    info->slot = own_slot(client);
    info->tick = report.tick;
    info->input_delay_ticks = report.input_delay_ticks;
    info->desyncs = report.desyncs;
    info->rollback_depth_max = report.rollback_depth_max;
    info->rtt_ms = (double)report.rtt_ns / 1e6;
    info->lost_percent = lost_percent(&report);
    info->stalled_ticks = report.stalled_ticks;
    info->rollback_ticks = report.rollback_ticks;
    info->bytes_up = traffic.bytes_sent;
    info->bytes_down = traffic.bytes_received;
    if (offer) {
        info->players = offer->config.players;
        info->tick_rate_hz = offer->config.tick_rate_hz;
        info->sim = offer->simulation;
        info->input_bytes = input_bytes_max(client);
    }
}

ls_status lockstep_client_player(lockstep_self *handle, uint32_t slot, lockstep_player *player)
{
    client_part *client = handle->part;
    const ls_offer *offer = ls_session_offer(client->session);
    if (!offer || slot >= offer->config.players) {
        return LS_NOT_FOUND;
    }
    ls_name_copy(client->name, sizeof client->name, ls_session_player_name(client->session, slot));
    player->name = client->name;
    return LS_OK;
}

ls_sim_instance *lockstep_client_instance(lockstep_self *handle)
{
    return ls_session_instance(((client_part *)handle->part)->session);
}

ls_status lockstep_client_view(lockstep_self *handle, lockstep_view *view)
{
    client_part *client = handle->part;
    ls_sim_instance *instance = ls_session_instance(client->session);
    const void *previous = ls_session_previous(client->session);
    if (!instance || !previous || (handle->has_thread && !client->has_shown)) {
        return LS_NOT_FOUND;
    }
    if (!ls_sim_instance_schema(instance)) {
        return LS_UNSUPPORTED;
    }
    view->state_bytes = ls_sim_instance_state_bytes(instance);
    view->alpha = client->alpha;
    view->tick = handle->has_thread ? client->shown_tick : ls_sim_instance_tick(instance);
    view->state = handle->has_thread ? client->shown : ls_sim_instance_view(instance);
    view->previous = handle->has_thread ? client->shown + client->shown_bytes : previous;
    return LS_OK;
}

/* ---- the picture ---- */

static float number(ls_fixed fixed)
{
    return (float)((double)fixed / (double)LS_FIXED_ONE);
}

static lockstep_shape shape_of(const ls_draw_shape *from)
{
    lockstep_shape shape = {.kind = (int32_t)from->kind,
                            .id = from->id,
                            .colour = from->colour,
                            .slot = from->owner > 0 ? from->owner - 1 : LOCKSTEP_NO_SLOT,
                            .x = number(from->x),
                            .y = number(from->y),
                            .half_width = number(from->half_width),
                            .half_height = number(from->half_height),
                            .angle =
                                (float)((double)from->angle * 6.283185307179586 / 4294967296.0)};
    for (int i = 0; i < 3; i++) {
        shape.corners[2 * i] = number(from->corners[i].x);
        shape.corners[2 * i + 1] = number(from->corners[i].y);
    }
    ls_name_copy(shape.text, sizeof shape.text,
                 from->kind == LS_DRAW_TEXT && from->text ? from->text : "");
    return shape;
}

int lockstep_client_draw(lockstep_self *handle, lockstep_shape *shapes, uint32_t capacity)
{
    client_part *client = handle->part;
    uint32_t room = LS_MIN(capacity, (uint32_t)SHAPES_MAX);
    ls_draw_list list = {.capacity = room};
    list.shapes = ls_allocate_array(ls_allocator_heap(), room > 0 ? room : 1, sizeof *list.shapes);
    if (!list.shapes) {
        return LS_NO_MEMORY;
    }
    ls_session_draw(client->session, ls_session_alpha(client->session), &list);
    uint32_t count = 0;
    for (uint32_t i = 0; i < list.count; i++) {
        if (list.shapes[i].kind != LS_DRAW_BITMAP) {
            shapes[count++] = shape_of(&list.shapes[i]);
        }
    }
    ls_release(ls_allocator_heap(), list.shapes);
    return (int)count;
}
