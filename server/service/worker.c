#include "lockstep/server/service/worker.h"
#include "lockstep/protocol/door/door_socket.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/runtime/line_channel.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/udp/transport_udp.h"
#include "lockstep/server/host/publisher.h"
#include "lockstep/server/rooms/crash_log.h"
#include "lockstep/server/service/room_directory.h"
#include "lockstep/server/service/work_mark.h"
#include "lockstep/server/service/worker_message.h"
#include "lockstep/server/service/worker_rooms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    REPORT_MS = 1000,
    LOOK_MS = 50,          /* between two looks whether there are changes, or all is written */
    AWAKE_LOOKS = 20,      /* so many that find nobody, and one with each report is enough */
    CHANGES_MS = 100,      /* between two reports of it at least; seats are told at once */
    WRITING_MS_MAX = 5000, /* without a tick written: then the rest is given up, players have it */
    PLACES_LEAST = 4031,   /* of a worker */
    PLACES_PER_ROOM = 8,
    BACKLOG_MAX = 1 << 20, /* of the channel: reports are left out above it */
};

#define HOLDER_SEED UINT64_C(0x776f726b6572) /* of the numbers that owners of tokens have */

typedef struct worker {
    ls_worker_settings settings;
    ls_json *texts; /* of the settings */
    ls_console *console;
    ls_admission admission;
    ls_publisher *publisher; /* NULL: it is at no relay */
    ls_worker_rooms *rooms;
    ls_door_socket *door; /* NULL: there is none for pages */
    ls_work_mark *mark;
    ls_worker_shared *shared;
    ls_room_directory *directory;
    ls_worker_seats told; /* the own seats, as the others know them */
    ls_line_channel *channel;
    uint64_t leaving_ns; /* since when, or when a tick was written last; 0: it stays */
    uint64_t unwritten;  /* ticks, while it leaves */
    uint64_t cpu_ns;     /* used until the last report */
    uint64_t idle_ns;    /* of the loop, until then */
    uint64_t reported_ns;
    uint64_t changed_ns; /* when changes were told the last time */
    bool is_draining;
    uint64_t looks;
    ls_loop_source *look;
    uint32_t quiet_looks;   /* in a row */
    uint64_t packets_taken; /* until the last look */
    ls_worker_message received;
    ls_worker_message answer;
} worker;

static ls_event_loop *loop_of(const worker *self)
{
    return ls_host_loop(ls_worker_rooms_host(self->rooms));
}

/* ---- out ---- */

static void notify(void *user, const ls_worker_message *message)
{
    worker *self = user;
    char *line = ls_worker_message_write(message);
    if (line) {
        (void)ls_line_channel_send(self->channel, line, strlen(line));
    }
    ls_json_release_line(line);
}

static uint64_t datagrams_dropped(const worker *self)
{
    const ls_transport *transport = ls_host_transport(ls_worker_rooms_host(self->rooms));
    uint64_t sum = 0;
    for (int i = 0; i < LS_SEALED_REJECTION_COUNT; i++) {
        sum += ls_transport_udp_rejections(transport, (ls_sealed_rejection)i);
    }
    return sum;
}

/* One that was sent to another worker was not denied. */
static uint64_t clients_denied(const worker *self)
{
    const ls_transport *transport = ls_host_transport(ls_worker_rooms_host(self->rooms));
    uint64_t sum = 0;
    for (int i = LS_DENIAL_NONE + 1; i < LS_DENIAL_END; i++) {
        sum += i == LS_DENIAL_REDIRECTED ? 0 : ls_transport_udp_denials(transport, (ls_denial)i);
    }
    return sum;
}

static ls_worker_seats own_seats(const worker *self)
{
    uint32_t coming =
        ls_transport_udp_half_open(ls_host_transport(ls_worker_rooms_host(self->rooms)));
    return ls_worker_rooms_seats(self->rooms, coming);
}

/* Since the last report. A step that sleeps or waits for a processor leaves as little time for
 * other rooms as one that computes; helper threads compute while the loop waits. */
static double load_since(const worker *self, uint64_t past_ns, uint64_t used_ns, uint64_t idle_ns)
{
    uint64_t waited_ns = LS_MIN(idle_ns - self->idle_ns, past_ns);
    uint64_t worked_ns = LS_MAX(used_ns - self->cpu_ns, past_ns - waited_ns);
    return past_ns > 0 ? (double)worked_ns / (double)past_ns : 0;
}

static void report_load(worker *self, uint64_t now_ns)
{
    uint64_t used_ns = ls_machine_cpu_ns();
    uint64_t idle_ns = ls_event_loop_idle_ns(loop_of(self));
    ls_worker_message *message = &self->answer;
    memset(message, 0, sizeof *message);
    message->kind = LS_WORKER_LOAD;
    message->load =
        (ls_worker_report){.worker = self->settings.worker,
                           .rooms = ls_worker_rooms_count(self->rooms),
                           .players = own_seats(self).players,
                           .load = load_since(self, now_ns - self->reported_ns, used_ns, idle_ns),
                           .cpu_ms = used_ns / LS_NS_PER_MS,
                           .memory_bytes = ls_machine_memory_bytes(),
                           .datagrams_dropped = datagrams_dropped(self),
                           .clients_denied = clients_denied(self),
                           .tokens_refused = ls_admission_tokens_refused(&self->admission)};
    self->cpu_ns = used_ns;
    self->idle_ns = idle_ns;
    self->reported_ns = now_ns;
    notify(self, message);
}

static void report_seats(worker *self)
{
    ls_worker_message *message = &self->answer;
    memset(message, 0, sizeof *message);
    message->kind = LS_WORKER_SEATS;
    message->worker = self->settings.worker;
    message->seats = own_seats(self);
    self->told = message->seats;
    notify(self, message);
}

static void report_intake(worker *self)
{
    const ls_worker_message message = {.kind = LS_WORKER_INTAKE,
                                       .worker = ls_room_directory_intake(self->directory)};
    notify(self, &message);
}

/* The own rooms are known better here than by the last message. The worker that is given the intake
 * must know them as well, or it could give it back. */
static void review_intake(worker *self)
{
    const ls_worker_seats own = own_seats(self);
    ls_room_directory_note_seats(self->directory, self->settings.worker, &own);
    if (memcmp(&own, &self->told, sizeof own) != 0) {
        report_seats(self);
    }
    if (!self->is_draining && ls_room_directory_hand_on(self->directory, self->settings.worker)) {
        report_intake(self);
    }
}

static void watch_admission(worker *self)
{
    ls_admission_watch(&self->admission, ls_host_transport(ls_worker_rooms_host(self->rooms)),
                       &self->console->log, ls_event_loop_now_ns(loop_of(self)));
}

/* ---- looking ---- */

static bool is_resting(const worker *self)
{
    return self->quiet_looks >= AWAKE_LOOKS;
}

static void note_quiet_looks(worker *self, uint32_t looks)
{
    self->quiet_looks = looks;
    ls_loop_source_set_active(self->look, !is_resting(self));
    ls_worker_rooms_set_resting(self->rooms, is_resting(self));
}

/* Somebody comes, or the supervisor wants something: whatever follows is to be seen at once. */
static void wake(worker *self)
{
    note_quiet_looks(self, 0);
}

static bool has_callers(worker *self)
{
    const ls_transport *transport = ls_host_transport(ls_worker_rooms_host(self->rooms));
    uint64_t taken = ls_transport_udp_total(transport).packets_received;
    bool has_taken = taken != self->packets_taken;
    self->packets_taken = taken;
    return has_taken || ls_transport_udp_half_open(transport) > 0;
}

static void report_changes(worker *self, uint64_t now_ns)
{
    if (now_ns - self->changed_ns < CHANGES_MS * LS_NS_PER_MS) {
        return;
    }
    if (self->is_draining) {
        ls_worker_rooms_drain(self->rooms);
    }
    if (ls_worker_rooms_report_changed(self->rooms)) {
        self->changed_ns = now_ns;
    }
}

/* A disk that is slow is waited for, as long as it takes something. */
static void look_at_leaving(worker *self, uint64_t now_ns)
{
    uint64_t unwritten = ls_worker_rooms_unwritten(self->rooms, now_ns);
    if (unwritten < self->unwritten) {
        self->leaving_ns = now_ns;
    }
    self->unwritten = unwritten;
    if (unwritten > 0 && now_ns - self->leaving_ns < WRITING_MS_MAX * LS_NS_PER_MS) {
        return;
    }
    if (unwritten > 0) {
        ls_log_line(&self->console->log, LS_LOG_WARNING,
                    "the worker ends: its journals lack the newest %" PRIu64
                    " ticks, which could not be written",
                    unwritten);
    }
    ls_event_loop_stop(loop_of(self));
}

static void on_look(void *user, uint64_t now_ns)
{
    worker *self = user;
    if (self->leaving_ns == 0) {
        bool are_quiet = ls_worker_rooms_look(self->rooms);
        review_intake(self);
        report_changes(self, now_ns);
        if (ls_line_channel_backlog(self->channel) < BACKLOG_MAX) {
            ls_worker_rooms_report(self->rooms, self->looks++, REPORT_MS / LOOK_MS);
        }
        bool is_quiet = !has_callers(self) && are_quiet;
        note_quiet_looks(self, is_quiet ? self->quiet_looks + 1 : 0);
    } else {
        look_at_leaving(self, now_ns);
    }
}

static void on_report(void *user, uint64_t now_ns)
{
    worker *self = user;
    watch_admission(self);
    report_load(self, now_ns);
    ls_room_directory_lapse(self->directory);
    if (is_resting(self)) {
        on_look(self, now_ns);
    }
    ls_console_flush(self->console);
}

/* ---- in ---- */

static void leave(worker *self)
{
    wake(self);
    if (self->leaving_ns == 0) {
        self->leaving_ns = ls_event_loop_now_ns(loop_of(self));
        ls_host_freeze(ls_worker_rooms_host(self->rooms));
    }
}

static void on_line(void *user, char *line, size_t size)
{
    worker *self = user;
    const ls_worker_message *message = &self->received;
    if (ls_worker_message_read(line, size, &self->received) != LS_OK) {
        ls_log_line(&self->console->log, LS_LOG_ERROR,
                    "the supervisor said something that is not understood");
        return;
    }
    switch (message->kind) {
    case LS_WORKER_COMMAND:
        wake(self);
        if (message->command.kind == LS_SERVICE_OPEN_ROOM) {
            watch_admission(self); /* an allocation may have brought its key */
        }
        if (ls_worker_rooms_command(self->rooms, message, &self->answer)) {
            notify(self, &self->answer);
        }
        ls_worker_message_deinit(&self->answer);
        break;
    case LS_WORKER_DIRECTORY:
        ls_room_directory_note(self->directory, message->room, message->match_id, message->worker,
                               message->is_open);
        break;
    case LS_WORKER_SEATS:
        ls_room_directory_note_seats(self->directory, message->worker, &message->seats);
        break;
    case LS_WORKER_INTAKE:
        ls_room_directory_set_intake(self->directory, message->worker);
        if (message->worker == self->settings.worker) {
            report_intake(self);
        }
        break;
    case LS_WORKER_DRAIN:
        self->is_draining = true;
        wake(self);
        break;
    case LS_WORKER_LEAVE:
        leave(self);
        break;
    default:
        break;
    }
    ls_worker_message_deinit(&self->received);
}

/* Another service may want the port. */
static void on_broken(void *user)
{
    worker *self = user;
    ls_log_line(&self->console->log, LS_LOG_ERROR,
                "the supervisor is gone: the rooms are left in their journals");
    leave(self);
}

/* The supervisor decides; a signal to the whole group is for it. */
static void on_signal(void *user, uint64_t now_ns)
{
    (void)user;
    (void)now_ns;
}

/* ---- what clients are for ---- */

/* A token for no room in particular is good with one worker alone, always the same one: else it
 * could be used once with each. */
static uint32_t worker_of_token(const worker *self, const ls_sealed_pass *pass)
{
    const char *match = pass->admission.match;
    if (ls_room_directory_is_expected(self->directory, match, 0)) {
        return LS_SEALED_NO_WORKER;
    }
    uint32_t found =
        match[0] != '\0'
            ? ls_room_directory_find(self->directory, match)
            : (uint32_t)(ls_hash_bytes(&pass->client_id, sizeof pass->client_id, HOLDER_SEED) %
                         self->settings.workers);
    return found < self->settings.workers ? found : self->settings.worker;
}

static uint32_t worker_of_newcomer(worker *self, uint64_t attempt)
{
    review_intake(self);
    uint32_t to = ls_room_directory_send(self->directory, self->settings.worker, attempt);
    if (to < self->settings.workers) {
        return to;
    }
    return ls_worker_rooms_can_watch(self->rooms) ? self->settings.worker : LS_SEALED_NO_WORKER;
}

/* One that asked for this worker stays: its match may be opened again here. */
static uint32_t choose_worker(void *user, const ls_sealed_asker *asker)
{
    worker *self = user;
    wake(self);
    if (asker->pass) {
        return worker_of_token(self, asker->pass);
    }
    if (ls_room_directory_is_expected(self->directory, "", asker->match)) {
        return LS_SEALED_NO_WORKER;
    }
    uint32_t home = ls_room_directory_find_match(self->directory, asker->match);
    if (home < self->settings.workers) {
        return home;
    }
    if (asker->has_asked) {
        return ls_worker_rooms_count(self->rooms) > 0 ? self->settings.worker : LS_SEALED_NO_WORKER;
    }
    return worker_of_newcomer(self, asker->attempt);
}

static bool count_connection(void *user, const ls_endpoint *address, bool has_ended)
{
    const worker *self = user;
    uint64_t origin = ls_endpoint_origin(address);
    if (has_ended) {
        ls_join_limits_disconnect(&self->shared->limits, self->settings.worker, origin);
        return true;
    }
    return ls_join_limits_connect(&self->shared->limits, self->settings.worker, origin,
                                  ls_event_loop_now_ns(loop_of(self)));
}

/* ---- life ---- */

/* Of one that the supervisor hands over. */
static ls_status check_descriptor(ls_status status, ls_text *why)
{
    return status == LS_OK
               ? LS_OK
               : ls_fail(status, why, "a worker is started by lockstep-server --config");
}

/* The relay's layer is above, and lets players of the door through. */
static ls_datagram_socket *wrap_socket(void *user, ls_datagram_socket *inner)
{
    const worker *self = user;
    inner = ls_door_socket_around(self->door, inner);
    return ls_publisher_socket_around(self->publisher, inner);
}

/* The way of players in pages, where the service has a door for them. */
static ls_status open_door(worker *self, ls_text *why)
{
    ls_door_link link;
    if (!self->settings.door) {
        return LS_OK;
    }
    ls_status status = ls_door_link_read(self->settings.door, &link);
    LS_THEN(status, ls_door_socket_create(&link, ls_allocator_heap(), &self->door));
    ls_cipher_wipe(&link, sizeof link);
    return check_descriptor(status, why);
}

/* Of players and spectators. All places are gone through whenever a connection is closed: a service
 * of few rooms has no more of them than it needs. */
static uint32_t places_of(const ls_worker_settings *settings)
{
    uint32_t places = LS_MAX(PLACES_LEAST, settings->rooms_max * PLACES_PER_ROOM);
    places = LS_MIN(places, LS_HOST_PLACES_MAX);
    return LS_MIN(places, LS_SEALED_CONNECTIONS_MAX(settings->workers) - LS_HOST_PENDING_MAX);
}

static ls_status create_rooms(worker *self, ls_text *why)
{
    const ls_worker_settings *settings = &self->settings;
    ls_crash_log_watch(ls_work_mark_place(self->mark));
    ls_worker_rooms_config rooms = {.settings = settings,
                                    .directory = self->directory,
                                    .mark = self->mark,
                                    .limits = &self->shared->limits,
                                    .console = self->console,
                                    .host = {.bind_host = "::",
                                             .descriptor = LS_WORKER_UDP_DESCRIPTOR,
                                             .per_address_max = settings->address_connections,
                                             .sealed = self->admission.sealed,
                                             .around = {wrap_socket, self},
                                             .table.matches_max = settings->rooms_max,
                                             .table.players_max = places_of(settings),
                                             .table.at_work = ls_work_mark_place(self->mark)},
                                    .notify = notify,
                                    .user = self};
    ls_sealed_server_config *sealed = &rooms.host.sealed;
    sealed->worker = settings->worker;
    sealed->workers = settings->workers;
    sealed->choose_worker = choose_worker;
    sealed->count_connection = count_connection;
    sealed->worker_user = self;
    ls_status status = ls_worker_rooms_create(&rooms, &self->rooms, why);
    ls_cipher_wipe(sealed, sizeof *sealed);
    return status;
}

static ls_status open_channel(worker *self, ls_text *why)
{
    const ls_line_channel_config channel = {.descriptor = LS_WORKER_CHANNEL_DESCRIPTOR,
                                            .on_line = on_line,
                                            .on_broken = on_broken,
                                            .user = self};
    ls_status status =
        ls_line_channel_create(&channel, loop_of(self), ls_allocator_heap(), &self->channel);
    return check_descriptor(status, why);
}

static ls_status open_mark(worker *self, ls_text *why)
{
    ls_status status = ls_work_mark_open(LS_WORKER_MARK_DESCRIPTOR, &self->mark);
    return check_descriptor(status, why);
}

static ls_status map_shared(worker *self, ls_text *why)
{
    self->shared = ls_shared_memory_map(LS_WORKER_SHARED_DESCRIPTOR, sizeof *self->shared);
    return check_descriptor(self->shared ? LS_OK : LS_IO, why);
}

static ls_status add_handlers(worker *self)
{
    ls_event_loop *loop = loop_of(self);
    ls_loop_handler report = {on_report, self};
    ls_loop_handler look = {on_look, self};
    ls_loop_handler signals = {on_signal, self};
    ls_status status = ls_event_loop_add_timer(loop, REPORT_MS, report, NULL);
    LS_THEN(status, ls_event_loop_add_timer(loop, LOOK_MS, look, &self->look));
    return status == LS_OK ? ls_event_loop_add_stop_signals(loop, signals) : status;
}

static ls_status create_publisher(worker *self, ls_text *why)
{
    const ls_publisher_config publisher = {.relay = self->settings.relay,
                                           .key_path = self->settings.relay_key,
                                           .public_name = self->settings.public_name,
                                           .region = self->settings.region,
                                           .page = self->settings.page,
                                           .admission = &self->admission,
                                           .log = &self->console->log,
                                           .shared = &self->shared->published,
                                           .worker = self->settings.worker};
    return publisher.relay ? ls_publisher_create(&publisher, &self->publisher, why) : LS_OK;
}

static ls_status build(worker *self, ls_text *why)
{
    ls_status status = open_mark(self, why);
    LS_THEN(status, map_shared(self, why));
    LS_THEN(status, ls_room_directory_create(&self->directory));
    LS_THEN(status, open_door(self, why));
    LS_THEN(status, create_publisher(self, why));
    LS_THEN(status, create_rooms(self, why));
    LS_THEN(status, open_channel(self, why));
    LS_THEN(status, ls_publisher_attach(self->publisher, ls_worker_rooms_host(self->rooms)));
    return status == LS_OK ? add_handlers(self) : status;
}

/* Reads no further than the first line: the channel has the rest. The supervisor has sent it before
 * it started this process. */
static ls_status read_settings(worker *self)
{
    char *line = ls_allocate(ls_allocator_heap(), LS_LINE_BYTES_MAX);
    size_t size = 0;
    while (line && size < LS_LINE_BYTES_MAX &&
           ls_socket_receive_all(LS_WORKER_CHANNEL_DESCRIPTOR, line + size, 1, UINT32_MAX) ==
               LS_OK &&
           line[size] != '\n') {
        size++;
    }
    ls_status status =
        line ? ls_worker_settings_read(line, size, &self->settings, &self->texts) : LS_NO_MEMORY;
    ls_release(ls_allocator_heap(), line);
    return status;
}

static ls_status settle(worker *self, ls_text *why)
{
    const ls_worker_settings *settings = &self->settings;
    ls_status status = check_descriptor(read_settings(self), why);
    if (status != LS_OK) {
        return status;
    }
    self->console->log.level = (ls_log_level)settings->log_level;
    ls_console_set_format(self->console, (ls_log_format)settings->log_format);
    return ls_admission_open(&settings->admission, settings->bind_host, &self->admission, why);
}

ls_exit_code ls_worker_run(ls_console *console)
{
    worker *self = ls_allocate(ls_allocator_heap(), sizeof *self);
    ls_text why = {{0}};
    if (!self) {
        return LS_EXIT_ENVIRONMENT;
    }
    self->console = console;
    ls_status status = settle(self, &why);
    LS_THEN(status, build(self, &why));
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "worker %" PRIu32 ": %s", self->settings.worker,
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        self->answer.kind = LS_WORKER_READY;
        self->reported_ns = ls_event_loop_now_ns(loop_of(self));
        notify(self, &self->answer);
        ls_host_run(ls_worker_rooms_host(self->rooms));
    }
    ls_line_channel_destroy(self->channel);
    ls_publisher_withdraw(self->publisher);
    ls_worker_rooms_destroy(self->rooms);
    ls_door_socket_destroy(self->door);
    ls_publisher_destroy(self->publisher);
    ls_room_directory_destroy(self->directory);
    ls_work_mark_destroy(self->mark);
    ls_shared_memory_release(self->shared, sizeof *self->shared);
    ls_admission_wipe(&self->admission);
    ls_json_destroy(self->texts);
    ls_release(ls_allocator_heap(), self);
    return ls_exit_code_of(status);
}
