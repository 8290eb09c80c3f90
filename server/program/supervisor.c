#define _POSIX_C_SOURCE 200809L
#include "lockstep/server/program/supervisor.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/log_format.h"
#include "lockstep/common/program/systemd.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/machine.h"
#include "lockstep/common/system/output.h"
#include "lockstep/protocol/udp/udp_group.h"
#include "lockstep/server/control/agones.h"
#include "lockstep/server/control/http_listener.h"
#include "lockstep/server/control/tls_files.h"
#include "lockstep/server/door/door_process.h"
#include "lockstep/server/service/journal_disk.h"
#include "lockstep/server/service/journal_upload.h"
#include "lockstep/server/service/room_keeper.h"
#include "lockstep/server/service/room_register.h"
#include "lockstep/server/service/room_settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    TEND_MS = 1000,
    UPLOAD_RETRY_MS = 2000,
    PORT_TRIES = 30, /* while another process has it */
    PORT_PAUSE_MS = 100,
    WAY_OUT_MS = 50,        /* between two looks whether all is over */
    WAY_OUT_MS_MAX = 10000, /* for workers to write what is left */
};

/* ---- the relay beside the service, which goes on without one ---- */

enum {
    RELAY_PATH_BYTES_MAX = 4096,
    RELAY_AGAIN_MS_MIN = 1000, /* until it is started again, doubled up to ... */
    RELAY_AGAIN_MS_MAX = 60000,
    RELAY_LONG_ENOUGH_MS = 60000, /* so long it ran: the next pause is short again */
    RELAY_LEAVE_MS = 1000,
    RELAY_FLAG_BYTES_MAX = sizeof(ls_room_setting) + 8,
};

typedef struct relay_process {
    const ls_room_settings *rows;
    const ls_log *log;
    ls_event_loop *loop;
    char program[RELAY_PATH_BYTES_MAX];
    char flags[LS_ROOM_SETTINGS_MAX + 1][RELAY_FLAG_BYTES_MAX];
    const char *arguments[LS_ROOM_SETTINGS_MAX + 3];
    ls_child_process process; /* none: it is to be started again */
    ls_loop_source *ending;
    ls_loop_source *alarm;
    uint64_t begun_ns;
    uint32_t again_ms;
} relay_process;

static ls_status start_relay_process(relay_process *relay, ls_text *why);

static void on_relay_end(void *user, uint64_t now_ns)
{
    relay_process *relay = user;
    ls_child_process_end end;
    if (!ls_child_process_wait(&relay->process, 0, &end)) {
        return;
    }
    ls_loop_source_remove(relay->ending);
    relay->ending = NULL;
    bool was_long = now_ns - relay->begun_ns >= RELAY_LONG_ENOUGH_MS * LS_NS_PER_MS;
    relay->again_ms = was_long ? RELAY_AGAIN_MS_MIN : relay->again_ms;
    ls_log_line(relay->log, LS_LOG_ERROR,
                "the relay ended (exit code %" PRId64
                ", signal %d): it is started again in %" PRIu32 " s",
                end.exit_code, end.signal, relay->again_ms / 1000);
    ls_loop_alarm_set(relay->alarm, now_ns + relay->again_ms * LS_NS_PER_MS);
    relay->again_ms = LS_MIN(2 * relay->again_ms, RELAY_AGAIN_MS_MAX);
}

static void on_relay_again(void *user, uint64_t now_ns)
{
    relay_process *relay = user;
    ls_text why = {{0}};
    if (start_relay_process(relay, &why) != LS_OK) {
        ls_log_line(relay->log, LS_LOG_ERROR, "the relay cannot be started: %s", why.bytes);
        ls_loop_alarm_set(relay->alarm, now_ns + relay->again_ms * LS_NS_PER_MS);
    }
}

static ls_status start_relay_process(relay_process *relay, ls_text *why)
{
    const ls_child_process_config process = {
        .program = relay->program,
        .arguments = relay->arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .has_group = true, /* what stops this process by the terminal leaves it to say so */
        .dies_with_parent = true};
    relay->begun_ns = ls_event_loop_now_ns(relay->loop);
    ls_status status = ls_child_process_start(&process, &relay->process, why);
    LS_THEN(status, ls_event_loop_watch(relay->loop, relay->process.ended,
                                        (ls_loop_handler){on_relay_end, relay}, &relay->ending));
    return status;
}

static bool find_relay(relay_process *relay)
{
    static const char name[] = "lockstep-relay";
    bool is_known = ls_machine_program_path(relay->program, sizeof relay->program);
    char *last = is_known ? strrchr(relay->program, '/') : NULL;
    size_t before = last ? (size_t)(last + 1 - relay->program) : 0;
    if (!last || before + sizeof name > sizeof relay->program) {
        return false;
    }
    memcpy(last + 1, name, sizeof name);
    return true;
}

static void list_relay_arguments(relay_process *relay, uint32_t log_format)
{
    static const char *const formats[] = {
        [LS_LOG_FORMAT_TEXT] = "text",
        [LS_LOG_FORMAT_JSON] = "json",
        [LS_LOG_FORMAT_JOURNALD] = "journald",
    };
    uint32_t count = 0;
    relay->arguments[0] = "lockstep-relay";
    for (; count < relay->rows->count; count++) {
        const ls_room_setting *row = &relay->rows->rows[count];
        snprintf(relay->flags[count], RELAY_FLAG_BYTES_MAX, "--%s=%s", row->flag, row->value);
        relay->arguments[count + 1] = relay->flags[count];
    }
    snprintf(relay->flags[count], RELAY_FLAG_BYTES_MAX, "--log-format=%s", formats[log_format]);
    relay->arguments[count + 1] = relay->flags[count];
}

/* The loop does not run any more. Lets it say goodbye. NULL is allowed. */
static void relay_process_stop(relay_process *relay)
{
    if (!relay) {
        return;
    }
    if (relay->process.id != 0) {
        ls_child_process_ask(&relay->process);
        (void)ls_child_process_wait(&relay->process, RELAY_LEAVE_MS, NULL);
    }
    ls_child_process_kill(&relay->process);
    ls_release(ls_allocator_heap(), relay);
}

/* Starts the program that lies beside this one. The rows and the log are borrowed. NOT_FOUND, IO,
 * NO_MEMORY; with `why`. */
static ls_status relay_process_start(const ls_room_settings *rows, uint32_t log_format,
                                     ls_event_loop *loop, const ls_log *log, relay_process **out,
                                     ls_text *why)
{
    relay_process *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->rows = rows;
    made->log = log;
    made->loop = loop;
    made->again_ms = RELAY_AGAIN_MS_MIN;
    list_relay_arguments(made, log_format);
    ls_status status =
        find_relay(made)
            ? ls_event_loop_add_alarm(loop, (ls_loop_handler){on_relay_again, made}, &made->alarm)
            : ls_fail(LS_NOT_FOUND, why, "lockstep-relay is not beside this program");
    LS_THEN(status, start_relay_process(made, why));
    if (status != LS_OK) {
        relay_process_stop(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

typedef struct supervisor {
    const ls_supervisor_config *config;
    ls_console *console;
    ls_event_loop *loop;
    ls_udp_group *group;
    ls_room_keeper *keeper;
    ls_journal_upload *upload; /* NULL: journals stay here */
    ls_upload_report uploads;
    ls_door_report door_report;
    ls_journal_disk *disk; /* NULL: there are no journals */
    ls_storage_report storage;
    ls_agones *agones;      /* NULL: there is no sidecar */
    ls_http_listener *http; /* NULL: there is none */
    ls_tls_files *tls;      /* NULL: HTTP is not sealed */
    ls_operator_files operator_files;
    ls_operators operators;
    ls_audit_log audit;
    uint64_t drained_ns;     /* since when; 0: not yet */
    uint64_t leaving_ns;     /* likewise, of leaving */
    ls_loop_source *way_out; /* active while a way out is looked for */
    uint32_t workers;
    int sockets[LS_SERVICE_WORKERS_MAX];
    char register_path[LS_WORKER_PATH_BYTES_MAX];
    ls_door *door; /* NULL: there is none for pages */
    char door_link[LS_DOOR_LINK_BYTES];
    char page[LS_PAGE_LINK_BYTES_MAX];
    ls_worker_settings worker; /* with the door and the page */
    relay_process *relay;      /* NULL: the service is none */
    uint64_t announced;        /* the code of the relay: publisher.h */
} supervisor;

/* ---- rooms ---- */

static void on_intake(void *user, uint32_t worker)
{
    const supervisor *self = user;
    (void)ls_udp_group_set_default(self->group, worker); /* else it sends them on */
}

static void write_invite(void *user, const ls_room_report *room, char *out, size_t capacity)
{
    const supervisor *self = user;
    ls_invite to = {.port = ls_udp_group_port(self->group), .worker = room->worker};
    ls_name_copy(to.room, sizeof to.room, room->name);
    ls_admission_invite(self->config->admission, &to, out, capacity);
}

static void write_link(void *user, const char *invite, char *out, size_t capacity)
{
    const supervisor *self = user;
    char text[LS_PAGE_LINK_BYTES_MAX] = "";
    if (self->door) {
        ls_door_write_link(self->door, invite, text);
    }
    ls_name_copy(out, capacity, text);
}

/* The keeper looks after workers that hang; systemd looks after this process. */
static void notify(const supervisor *self)
{
    const ls_service_view *view = ls_room_keeper_view(self->keeper);
    ls_text sentence = {{0}};
    ls_text_add(&sentence, "%" PRIu32 " rooms on %" PRIu32 " workers%s",
                ls_room_register_count(view->rooms), self->workers,
                self->drained_ns > 0 ? ", draining" : "");
    ls_service_notify_status(sentence.bytes);
    ls_service_notify_alive();
}

static void log_page(const supervisor *self);

static void tend(void *user, uint64_t now_ns)
{
    supervisor *self = user;
    (void)now_ns;
    ls_room_keeper_tend(self->keeper);
    if (self->worker.relay &&
        ls_publisher_announce(ls_room_keeper_published(self->keeper), self->worker.relay,
                              self->config->admission, &self->announced, &self->console->log)) {
        log_page(self);
    }
    ls_tls_files_watch(self->tls, &self->console->log);
    ls_operators_watch(&self->operator_files, &self->operators, &self->console->log);
    if (self->door) {
        ls_door_look(self->door, &self->door_report);
    }
    notify(self);
    ls_loop_source_set_active(self->way_out, ls_room_keeper_view(self->keeper)->is_draining);
    ls_console_flush(self->console);
}

/* ---- the way out ---- */

static void begin_leaving(supervisor *self, uint64_t now_ns)
{
    if (self->leaving_ns == 0) {
        self->leaving_ns = now_ns;
        ls_room_keeper_leave(self->keeper);
    }
}

static void on_way_out(void *user, uint64_t now_ns)
{
    supervisor *self = user;
    uint64_t limit_ns = self->config->service->drain_timeout_s * LS_NS_PER_SECOND;
    const ls_service_view *view = ls_room_keeper_view(self->keeper);
    bool is_over = view->is_draining && ls_room_keeper_is_empty(self->keeper);
    bool is_late = self->drained_ns > 0 && now_ns - self->drained_ns >= limit_ns;
    bool has_to_wait = self->agones && !is_late && !ls_agones_has_said_goodbye(self->agones);
    if ((is_over && !has_to_wait) || is_late) {
        begin_leaving(self, now_ns);
    }
    if (self->leaving_ns > 0 && (ls_room_keeper_has_left(self->keeper) ||
                                 now_ns - self->leaving_ns > WAY_OUT_MS_MAX * LS_NS_PER_MS)) {
        ls_event_loop_stop(self->loop);
    }
}

static void on_signal(void *user, uint64_t now_ns)
{
    supervisor *self = user;
    const ls_log *log = &self->console->log;
    if (self->drained_ns > 0) {
        ls_log_line(log, LS_LOG_INFO, "leaving at once: the rooms are left in their journals");
        begin_leaving(self, now_ns);
        return;
    }
    self->drained_ns = now_ns;
    ls_service_notify_stopping();
    ls_log_line(log, LS_LOG_INFO,
                "draining: no more rooms are opened; rooms that still play in %" PRIu32
                " s are left in their journals, and go on when the service is started again",
                self->config->service->drain_timeout_s);
    ls_room_keeper_drain(self->keeper);
    ls_loop_source_set_active(self->way_out, true);
}

/* ---- the summary ---- */

static void fill_summary(ls_json *json, const void *report)
{
    const supervisor *self = report;
    const ls_service_view *view = ls_room_keeper_view(self->keeper);
    ls_json_text(json, "program", "lockstep-server");
    ls_json_text(json, "status", ls_status_name(LS_OK));
    ls_json_number(json, "workers", self->workers);
    ls_json_number(json, "rooms_opened", (double)ls_room_register_opened(view->rooms));
    ls_json_number(json, "rooms_ended", (double)ls_room_register_ended(view->rooms));
    ls_json_number(json, "rooms_left", ls_room_register_count(view->rooms));
    ls_room_counters_write(ls_room_register_gone(view->rooms), ls_json_object(json, "counters"));
}

static ls_status write_summary(const supervisor *self, ls_text *why)
{
    const char *path = self->config->json_path;
    return path ? ls_json_save(fill_summary, self, path, why) : LS_OK;
}

/* ---- life ---- */

/* Workers of a service that was killed have the port until their journals are written. */
static ls_status open_group(supervisor *self, const ls_endpoint *endpoint)
{
    const struct timespec pause = {.tv_nsec = PORT_PAUSE_MS * (long)LS_NS_PER_MS};
    ls_status status = LS_IO;
    for (uint32_t i = 0; i < PORT_TRIES && status == LS_IO; i++) {
        if (i > 0) {
            nanosleep(&pause, NULL);
        }
        status = ls_udp_group_open(endpoint, self->workers, ls_allocator_heap(), &self->group);
        if (status == LS_IO && errno != EADDRINUSE) {
            return status;
        }
    }
    return status;
}

/* Those that systemd has opened: there is one for each worker. */
static ls_status adopt_port(supervisor *self, ls_text *why)
{
    ls_status status = ls_udp_group_adopt(self->config->sockets->datagrams, self->workers,
                                          ls_allocator_heap(), &self->group);
    if (status == LS_BAD_ARGUMENT) {
        return ls_fail(status, why,
                       "the UDP sockets that systemd has opened do not share one port: give the "
                       "socket unit the same ListenDatagram for each worker, and ReusePort=yes");
    }
    return status == LS_OK ? LS_OK
                           : ls_fail(status, why, "the UDP sockets that systemd has opened: %s",
                                     status == LS_IO ? strerror(errno) : ls_status_text(status));
}

static ls_status bind_port(supervisor *self, ls_text *why)
{
    const ls_supervisor_config *config = self->config;
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_resolve(config->bind_host, config->port, &endpoint, why);
    if (status != LS_OK) {
        return status;
    }
    status = open_group(self, &endpoint);
    if (status != LS_OK) {
        return ls_fail(status, why, "cannot listen on %s, UDP port %u: %s", config->bind_host,
                       (unsigned)config->port,
                       status == LS_IO ? strerror(errno) : ls_status_text(status));
    }
    return LS_OK;
}

static ls_status open_port(supervisor *self, ls_text *why)
{
    bool is_bound = self->config->sockets->datagram_count > 0;
    if (self->workers > 1 && !ls_ability_is_there(LS_ABILITY_SHARED_PORTS, why)) {
        return LS_UNSUPPORTED;
    }
    ls_status status = is_bound ? adopt_port(self, why) : bind_port(self, why);
    for (uint32_t i = 0; i < self->workers && status == LS_OK; i++) {
        self->sockets[i] = ls_udp_group_descriptor(self->group, i);
    }
    return status;
}

static const char *text_or(const char *text, const char *other)
{
    return text[0] != '\0' ? text : other[0] != '\0' ? other : NULL;
}

/* Pages are answered once there are workers. */
static ls_status open_door(supervisor *self, ls_text *why)
{
    const ls_service_config *service = self->config->service;
    bool has_own = service->web_certificate[0] != '\0';
    self->worker = *self->config->worker;
    if (service->web[0] == '\0') {
        return LS_OK;
    }
    const ls_door_config door = {
        .program = "lockstep-server",
        .place = service->web,
        .files = text_or(service->web_files, ""),
        .hosts = text_or(service->web_hosts, ""),
        .certificate = text_or(service->web_certificate, service->http_certificate),
        .certificate_key = has_own ? service->web_key : text_or(service->http_key, ""),
        .journals = service->journal_dir,
        .broadcast_delay_s = service->web_broadcast_s,
        .bind_host = self->config->bind_host,
        .log_format = self->worker.log_format,
        .log = &self->console->log};
    ls_status status = ls_door_open(&door, &self->door, why);
    if (status == LS_OK) {
        ls_door_link_write(ls_door_link_of(self->door), self->door_link);
        self->worker.door = self->door_link;
        ls_door_write_public_link(self->door, self->page);
        self->worker.page = self->page[0] != '\0' ? self->page : NULL;
    }
    return status;
}

static ls_status start_door(supervisor *self, ls_text *why)
{
    const char *port_file = self->config->web_port_file;
    if (!self->door) {
        return LS_OK;
    }
    ls_status status = ls_door_start(self->door, ls_udp_group_port(self->group), self->loop, why);
    return status == LS_OK && port_file
               ? ls_output_write_port(port_file, ls_door_endpoint(self->door).port, why)
               : status;
}

static ls_status start_relay(supervisor *self, ls_text *why)
{
    const ls_service_config *service = self->config->service;
    return service->is_relay
               ? relay_process_start(&service->relay, self->worker.log_format, self->loop,
                                     &self->console->log, &self->relay, why)
               : LS_OK;
}

static ls_status create_keeper(supervisor *self, ls_text *why)
{
    const ls_service_config *service = self->config->service;
    bool has_journals = service->journal_dir[0] != '\0';
    snprintf(self->register_path, sizeof self->register_path, "%.480s/rooms.json",
             service->journal_dir);
    const ls_room_keeper_config keeper = {
        .service = service,
        .register_path = has_journals ? self->register_path : NULL,
        .workers = self->workers,
        .sockets = self->sockets,
        .program = self->config->program,
        .worker = &self->worker,
        .storage = has_journals ? &self->storage : NULL,
        .door = self->door ? &self->door_report : NULL,
        .uploads = service->upload_command[0] != '\0' && has_journals ? &self->uploads : NULL,
        .loop = self->loop,
        .log = &self->console->log,
        .invite = write_invite,
        .link = write_link,
        .on_intake = on_intake,
        .user = self};
    ls_status status =
        has_journals ? ls_output_check_directory(service->journal_dir, "journals", why) : LS_OK;
    const ls_journal_disk_config disk = {.directory = service->journal_dir,
                                         .bytes_min = LS_JOURNAL_DISK_BYTES_MIN,
                                         .loop = self->loop,
                                         .log = &self->console->log,
                                         .report = &self->storage};
    if (status == LS_OK && has_journals) {
        status = ls_journal_disk_create(&disk, &self->disk);
    }
    return status == LS_OK ? ls_room_keeper_create(&keeper, &self->keeper, why) : status;
}

static bool is_in_use(void *user, const char *path)
{
    const supervisor *self = user;
    return ls_room_keeper_has_journal(self->keeper, path);
}

static ls_status create_upload(supervisor *self, ls_text *why)
{
    const ls_service_config *service = self->config->service;
    if (service->upload_command[0] == '\0' || service->journal_dir[0] == '\0') {
        return LS_OK;
    }
    const ls_journal_upload_config upload = {.directory = service->journal_dir,
                                             .command = service->upload_command,
                                             .parallel = service->upload_parallel,
                                             .limit_s = service->upload_limit_s,
                                             .keep_mib = service->journals_keep_mib,
                                             .retry_ms = UPLOAD_RETRY_MS,
                                             .loop = self->loop,
                                             .log = &self->console->log,
                                             .is_in_use = is_in_use,
                                             .user = self,
                                             .report = &self->uploads};
    return ls_journal_upload_create(&upload, &self->upload, why);
}

/* No HTTP without a port for it in the file, or with one that was set to 0 and no file to tell of
 * it. */
static ls_status create_http(supervisor *self, ls_text *why)
{
    const ls_supervisor_config *config = self->config;
    const ls_service_config *service = config->service;
    if (service->http_port == 0 && !config->http_port_file && config->sockets->stream < 0) {
        return LS_OK;
    }
    self->audit.log = &self->console->log;
    self->operator_files = (ls_operator_files){.token_path = service->http_token_file,
                                               .operators_path = service->http_operators};
    ls_status status = ls_operators_read(&self->operator_files, &self->operators, why);
    if (status == LS_OK && service->http_certificate[0] != '\0') {
        const ls_tls_files_config tls = {service->http_certificate, service->http_key};
        status = ls_tls_files_open(&tls, &self->tls, why);
    }
    ls_http_listener_config http = ls_http_listener_config_default();
    http.host = service->http_bind;
    http.port = (uint16_t)service->http_port;
    http.descriptor = config->sockets->stream;
    http.is_tls = self->tls != NULL;
    http.operators = &self->operators;
    http.audit = &self->audit;
    http.hosts = service->http_hosts;
    http.log = &self->console->log;
    http.view = ls_room_keeper_view(self->keeper);
    LS_THEN(status, ls_http_listener_create(&http, self->loop, &self->http, why));
    return status;
}

static ls_status create_agones(supervisor *self, ls_text *why)
{
    ls_agones_config agones = {.join_timeout_s = self->config->service->join_timeout_s,
                               .token_key_path = self->config->admission->options.token_key_path,
                               .view = ls_room_keeper_view(self->keeper),
                               .loop = self->loop,
                               .log = &self->console->log};
    ls_status status = ls_agones_find_port(&agones.port, why);
    return status == LS_OK ? ls_agones_create(&agones, &self->agones) : status;
}

/* ---- the configuration, read again ---- */

static void tell_fixed(void *user, const char *sentence)
{
    const supervisor *self = user;
    ls_log_line(&self->console->log, LS_LOG_WARNING, "%s", sentence);
}

/* Tokens that cannot be read leave those before. */
static void renew_operators(supervisor *self)
{
    ls_text why = {{0}};
    ls_status status =
        self->http ? ls_operators_read(&self->operator_files, &self->operators, &why) : LS_OK;
    if (status != LS_OK) {
        ls_log_line(&self->console->log, LS_LOG_ERROR,
                    "the tokens of the API stay as they were: %s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
}

static void take_config(supervisor *self, ls_service_config *fresh)
{
    ls_text why = {{0}};
    ls_service_config_keep_fixed(self->config->service, fresh, tell_fixed, self);
    ls_room_keeper_reconfigure(self->keeper, fresh);
    *self->config->service = *fresh;
    const ls_journal_upload_config upload = {.command = fresh->upload_command,
                                             .parallel = fresh->upload_parallel,
                                             .keep_mib = fresh->journals_keep_mib,
                                             .limit_s = fresh->upload_limit_s};
    if (self->upload && ls_journal_upload_change(self->upload, &upload, &why) != LS_OK) {
        tell_fixed(self, why.bytes);
    }
    renew_operators(self);
    ls_room_keeper_tend(self->keeper);
    ls_log_line(&self->console->log, LS_LOG_INFO, "the configuration was read again");
}

static void on_hangup(void *user, uint64_t now_ns)
{
    supervisor *self = user;
    ls_service_config *fresh = ls_allocate(ls_allocator_heap(), sizeof *fresh);
    (void)now_ns;
    if (fresh && self->config->read_again(self->config->user, fresh) == LS_OK) {
        take_config(self, fresh);
    } else {
        ls_log_line(&self->console->log, LS_LOG_ERROR,
                    "the configuration is not read again: the service goes on with the one before");
    }
    ls_release(ls_allocator_heap(), fresh);
}

static ls_status add_handlers(supervisor *self)
{
    ls_loop_handler signals = {on_signal, self};
    ls_loop_handler tending = {tend, self};
    ls_loop_handler way_out = {on_way_out, self};
    ls_loop_handler hangup = {on_hangup, self};
    ls_status status = ls_event_loop_add_signals(self->loop, signals, hangup);
    LS_THEN(status, ls_event_loop_add_timer(self->loop, TEND_MS, tending, NULL));
    LS_THEN(status, ls_event_loop_add_timer(self->loop, WAY_OUT_MS, way_out, &self->way_out));
    if (status == LS_OK) {
        ls_loop_source_set_active(self->way_out, false);
    }
    return status;
}

/* The invite first: scripts wait for the port. */
static ls_status write_files(const supervisor *self, ls_text *why)
{
    const ls_supervisor_config *config = self->config;
    uint16_t port = ls_udp_group_port(self->group);
    ls_status status = ls_admission_write_invite(config->admission, port, why);
    if (status == LS_OK && config->http_port_file) {
        status = ls_output_write_port(config->http_port_file,
                                      ls_http_listener_endpoint(self->http).port, why);
    }
    return status == LS_OK && config->port_file ? ls_output_write_port(config->port_file, port, why)
                                                : status;
}

static void log_page(const supervisor *self)
{
    char invite[LS_INVITE_TEXT_BYTES_MAX];
    const ls_invite to = {.port = ls_udp_group_port(self->group)};
    if (self->door) {
        ls_admission_invite(self->config->admission, &to, invite, sizeof invite);
        ls_door_log(self->door, invite, self->config->admission->sealed.needs_secret);
        ls_cipher_wipe(invite, sizeof invite);
    }
}

/* Players of a relay prove the way before they take it; of an invite it is all that they have. */
static void on_mapped(void *user, const ls_endpoint *outside)
{
    supervisor *self = user;
    if (self->worker.relay) {
        ls_room_keeper_set_outside(self->keeper, outside);
        return;
    }
    ls_admission_map(self->config->admission, outside, ls_udp_group_port(self->group),
                     &self->console->log);
    log_page(self);
}

static ls_status begin_mapping(supervisor *self)
{
    const ls_port_keeper_site site = {.loop = self->loop,
                                      .port = ls_udp_group_port(self->group),
                                      .on_mapped = on_mapped,
                                      .user = self};
    return ls_port_keeper_attach(self->config->ports, &site);
}

static ls_status build(supervisor *self, ls_text *why)
{
    ls_status status = ls_event_loop_create(ls_allocator_heap(), &self->loop);
    LS_THEN(status, open_port(self, why));
    LS_THEN(status, open_door(self, why));
    LS_THEN(status, start_relay(self, why));
    LS_THEN(status, create_keeper(self, why));
    LS_THEN(status, start_door(self, why));
    LS_THEN(status, begin_mapping(self));
    LS_THEN(status, create_upload(self, why));
    LS_THEN(status, create_http(self, why));
    if (status == LS_OK && self->config->is_on_agones) {
        status = create_agones(self, why);
    }
    LS_THEN(status, add_handlers(self));
    return status == LS_OK ? write_files(self, why) : status;
}

static void log_listening(const supervisor *self)
{
    const ls_log *log = &self->console->log;
    ls_endpoint bound = ls_udp_group_endpoint(self->group);
    char place[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(&bound, place);
    ls_log_line(log, LS_LOG_INFO, "listening on %s with %" PRIu32 " workers", place, self->workers);
    if (self->http) {
        bound = ls_http_listener_endpoint(self->http);
        ls_endpoint_format(&bound, place);
        ls_log_line(log, LS_LOG_INFO, "metrics and administration: http%s://%s/",
                    self->tls ? "s" : "", place);
    }
    ls_admission_log(self->config->admission, ls_udp_group_port(self->group), log);
    log_page(self);
}

ls_exit_code ls_supervisor_run(const ls_supervisor_config *config, ls_console *console)
{
    supervisor *self = ls_allocate(ls_allocator_heap(), sizeof *self);
    ls_text why = {{0}};
    if (!self) {
        ls_port_keeper_destroy(config->ports);
        return LS_EXIT_ENVIRONMENT;
    }
    self->config = config;
    self->console = console;
    self->workers = LS_MIN(config->service->workers, LS_SERVICE_WORKERS_MAX);
    ls_status status = build(self, &why);
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    } else {
        log_listening(self);
        ls_service_notify_ready();
        ls_event_loop_run(self->loop);
        ls_log_line(&console->log, LS_LOG_INFO, "the service has ended");
        status = write_summary(self, &why);
        if (status != LS_OK) {
            ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        }
    }
    ls_http_listener_destroy(self->http);
    ls_tls_files_close(self->tls);
    ls_agones_destroy(self->agones);
    ls_journal_upload_destroy(self->upload);
    ls_journal_disk_destroy(self->disk);
    ls_port_keeper_destroy(config->ports);
    ls_room_keeper_destroy(self->keeper);
    ls_door_close(self->door);
    relay_process_stop(self->relay);
    ls_cipher_wipe(self->door_link, sizeof self->door_link);
    ls_udp_group_close(self->group);
    ls_event_loop_destroy(self->loop);
    ls_release(ls_allocator_heap(), self);
    return ls_exit_code_of(status);
}
