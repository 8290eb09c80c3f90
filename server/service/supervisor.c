#define _POSIX_C_SOURCE 200809L
#include "lockstep/server/service/supervisor.h"

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/systemd.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/common/system/child_process.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/mapped_file.h"
#include "lockstep/common/system/output.h"
#include "lockstep/protocol/udp/udp_group.h"
#include "lockstep/server/service/agones.h"
#include "lockstep/server/service/http_listener.h"
#include "lockstep/server/service/room_keeper.h"
#include "lockstep/server/service/room_register.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- journals that leave ---- */

/* Hands closed journals to a command of the operator's, such as rclone, one at a time and again
 * until it succeeds, and keeps so much of them on this machine. Journals that were handed over
 * are moved to the folder "uploaded" beside the others. Never waits: the command is a process
 * beside the loop. */

#define JOURNAL_UPLOAD_PATH_BYTES_MAX 1024u

typedef struct journal_upload_config {
    const char *directory; /* of the journals */
    const char *command;   /* for a shell; {} stands for the file. Borrowed */
    uint32_t keep_mib;     /* of those that were handed over, the newest; 0: all */
    uint32_t limit_s;      /* a command that runs longer is killed, and has failed; 0: never */
    uint32_t retry_ms;     /* after the first failure; doubled with each, to a minute */
    ls_event_loop *loop;
    const ls_log *log;
    /* Whether a file of the directory is a journal that is still written. */
    bool (*is_in_use)(void *user, const char *path);
    void *user;
} journal_upload_config;

typedef struct journal_upload journal_upload;

enum {
    LOOK_MS = 500,
    RETRY_MS_MAX = 60000,
    COMMAND_BYTES_MAX = 2048,
    KEPT_MAX = 4096, /* files that are looked at for the oldest */
};

struct journal_upload {
    journal_upload_config config;
    ls_loop_source *timer;
    ls_child_process process;
    bool is_late; /* it is killed, since it takes too long */
    uint64_t started_ns;
    uint64_t again_ns;
    uint32_t again_ms;
    char path[JOURNAL_UPLOAD_PATH_BYTES_MAX]; /* that the process has */
    char name[JOURNAL_UPLOAD_PATH_BYTES_MAX]; /* of it, without the directory */
    char uploaded[JOURNAL_UPLOAD_PATH_BYTES_MAX];
};

static bool is_journal(const char *name)
{
    static const char ending[] = ".journal";
    size_t length = strlen(name);
    return length > sizeof ending - 1 && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

/* ---- choosing ---- */

/* The first journal, in the order of the directory, that is not written any more. */
static bool choose(journal_upload *upload)
{
    ls_folder *folder = ls_folder_open(upload->config.directory);
    bool is_found = false;
    const char *name = NULL;
    while (folder && !is_found && (name = ls_folder_next(folder)) != NULL) {
        int bytes =
            snprintf(upload->path, sizeof upload->path, "%s/%s", upload->config.directory, name);
        is_found = is_journal(name) && bytes > 0 && (size_t)bytes < sizeof upload->path &&
                   !upload->config.is_in_use(upload->config.user, upload->path);
        if (is_found) {
            snprintf(upload->name, sizeof upload->name, "%s", name);
        }
    }
    ls_folder_close(folder);
    return is_found;
}

/* ---- the command ---- */

/* {} becomes "$1", so that no name of a file is read by the shell. */
static bool write_command(const char *command, char out[COMMAND_BYTES_MAX])
{
    static const char argument[] = "\"$1\"";
    size_t filled = 0;
    while (*command != '\0' && filled + sizeof argument < COMMAND_BYTES_MAX) {
        if (strncmp(command, "{}", 2) == 0) {
            memcpy(out + filled, argument, sizeof argument - 1);
            filled += sizeof argument - 1;
            command += 2;
        } else {
            out[filled++] = *command++;
        }
    }
    out[filled] = '\0';
    return *command == '\0';
}

static void start(journal_upload *upload)
{
    char command[COMMAND_BYTES_MAX];
    if (!write_command(upload->config.command, command)) {
        return;
    }
    const char *arguments[] = {"sh", "-c", command, "sh", upload->path, NULL};
    const ls_child_process_config process = {
        .program = "/bin/sh",
        .arguments = arguments,
        .streams = {0, LS_CHILD_OUR_OUTPUT, LS_CHILD_OUR_ERRORS},
        .has_group = true};
    upload->is_late = false;
    upload->started_ns = ls_event_loop_now_ns(upload->config.loop);
    ls_text why = {{0}};
    if (ls_child_process_start(&process, &upload->process, &why) != LS_OK) {
        upload->again_ns = ls_event_loop_now_ns(upload->config.loop) + RETRY_MS_MAX * LS_NS_PER_MS;
        ls_log_line(upload->config.log, LS_LOG_ERROR, "%s", why.bytes);
    }
}

/* ---- what is kept ---- */

/* The oldest of the journals that were handed over, and the bytes of all; false: there is none. */
static bool find_oldest(const journal_upload *upload, char *path, size_t capacity, uint64_t *bytes)
{
    ls_folder *folder = ls_folder_open(upload->uploaded);
    const char *name = NULL;
    int64_t oldest_ns = 0;
    bool is_found = false;
    *bytes = 0;
    for (uint32_t i = 0; folder && i < KEPT_MAX && (name = ls_folder_next(folder)) != NULL; i++) {
        char file[JOURNAL_UPLOAD_PATH_BYTES_MAX];
        ls_file_facts facts;
        int length = snprintf(file, sizeof file, "%s/%s", upload->uploaded, name);
        if (!is_journal(name) || length <= 0 || (size_t)length >= sizeof file ||
            !ls_file_look(file, &facts)) {
            continue;
        }
        *bytes += facts.bytes;
        if (!is_found || facts.changed_ns < oldest_ns) {
            oldest_ns = facts.changed_ns;
            snprintf(path, capacity, "%s", file);
            is_found = true;
        }
    }
    ls_folder_close(folder);
    return is_found;
}

static void remove_oldest(const journal_upload *upload)
{
    char path[JOURNAL_UPLOAD_PATH_BYTES_MAX];
    uint64_t bytes = 0;
    while (upload->config.keep_mib > 0 && find_oldest(upload, path, sizeof path, &bytes) &&
           bytes > (uint64_t)upload->config.keep_mib << 20) {
        if (remove(path) != 0) {
            return;
        }
    }
}

/* ---- the end of a command ---- */

static void note_success(journal_upload *upload)
{
    char moved[2 * JOURNAL_UPLOAD_PATH_BYTES_MAX];
    snprintf(moved, sizeof moved, "%s/%s", upload->uploaded, upload->name);
    upload->again_ms = upload->config.retry_ms;
    upload->again_ns = 0;
    if (rename(upload->path, moved) != 0) {
        ls_log_line(upload->config.log, LS_LOG_WARNING,
                    "the journal %s was uploaded and cannot be moved to %s: %s", upload->path,
                    upload->uploaded, strerror(errno));
        upload->again_ns = ls_event_loop_now_ns(upload->config.loop) + RETRY_MS_MAX * LS_NS_PER_MS;
        return;
    }
    ls_log_line(upload->config.log, LS_LOG_DEBUG, "the journal %s was uploaded", upload->path);
    remove_oldest(upload);
}

static void note_failure(journal_upload *upload, uint64_t now_ns)
{
    ls_log_line(upload->config.log, LS_LOG_WARNING,
                "the journal %s was not uploaded: the command of [upload] %s; it is tried again in "
                "%" PRIu32 " ms",
                upload->path, upload->is_late ? "took longer than time-limit" : "failed",
                upload->again_ms);
    upload->again_ns = now_ns + upload->again_ms * LS_NS_PER_MS;
    upload->again_ms = LS_MIN(upload->again_ms * 2, RETRY_MS_MAX);
}

static bool is_late(const journal_upload *upload, uint64_t now_ns)
{
    uint64_t limit_ns = upload->config.limit_s * LS_NS_PER_SECOND;
    return upload->process.id != 0 && limit_ns > 0 && now_ns - upload->started_ns > limit_ns;
}

static void on_timer(void *user, uint64_t now_ns)
{
    journal_upload *upload = user;
    ls_child_process_end end;
    if (upload->process.id != 0 && ls_child_process_wait(&upload->process, 0, &end)) {
        if (end.exit_code == 0) {
            note_success(upload);
        } else {
            note_failure(upload, now_ns);
        }
    }
    if (is_late(upload, now_ns)) {
        upload->is_late = true;
        ls_child_process_strike(&upload->process);
    }
    if (upload->process.id == 0 && now_ns >= upload->again_ns && choose(upload)) {
        start(upload);
    }
}

/* ---- life ---- */

/* IO with `why` when there is no folder "uploaded" and none can be made; NO_MEMORY. */
static ls_status journal_upload_create(const journal_upload_config *config, journal_upload **out,
                                       ls_text *why)
{
    journal_upload *upload = ls_allocate(ls_allocator_heap(), sizeof *upload);
    if (!upload) {
        return LS_NO_MEMORY;
    }
    upload->config = *config;
    upload->again_ms = config->retry_ms;
    snprintf(upload->uploaded, sizeof upload->uploaded, "%s/uploaded", config->directory);
    ls_loop_handler timer = {on_timer, upload};
    ls_status status = LS_OK;
    if (!ls_folder_make(upload->uploaded, true) && errno != EEXIST) {
        status =
            ls_fail(LS_IO, why, "cannot make the folder %s: %s", upload->uploaded, strerror(errno));
    }
    LS_THEN(status, ls_event_loop_add_timer(config->loop, LOOK_MS, timer, &upload->timer));
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), upload);
        return status;
    }
    *out = upload;
    return LS_OK;
}

/* Kills a command that still runs; its journal is handed over the next time. NULL is allowed. */
static void journal_upload_destroy(journal_upload *upload)
{
    if (upload) {
        ls_loop_source_remove(upload->timer);
        ls_child_process_kill(&upload->process);
        ls_release(ls_allocator_heap(), upload);
    }
}

/* ---- the supervisor ---- */

enum {
    TEND_MS = 1000,
    UPLOAD_RETRY_MS = 2000,
    TOKEN_BYTES_MIN = 16,
    TOKEN_BYTES_MAX = 256,
    PORT_TRIES = 30, /* while another process has it */
    PORT_PAUSE_MS = 100,
    WAY_OUT_MS = 50,        /* between two looks whether all is over */
    WAY_OUT_MS_MAX = 10000, /* for workers to write what is left */
};

typedef struct supervisor {
    const ls_supervisor_config *config;
    ls_console *console;
    ls_event_loop *loop;
    ls_udp_group *group;
    ls_room_keeper *keeper;
    journal_upload *upload; /* NULL: journals stay here */
    ls_agones *agones;      /* NULL: there is no sidecar */
    ls_http_listener *http; /* NULL: there is none */
    uint64_t drained_ns;    /* since when; 0: not yet */
    uint64_t leaving_ns;    /* likewise, of leaving */
    uint32_t workers;
    int sockets[LS_SERVICE_WORKERS_MAX];
    char register_path[LS_WORKER_PATH_BYTES_MAX];
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

static void tend(void *user, uint64_t now_ns)
{
    const supervisor *self = user;
    (void)now_ns;
    ls_room_keeper_tend(self->keeper);
    notify(self);
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

static ls_status create_keeper(supervisor *self, ls_text *why)
{
    const ls_service_config *service = self->config->service;
    bool has_journals = service->journal_dir[0] != '\0';
    snprintf(self->register_path, sizeof self->register_path, "%.480s/rooms.json",
             service->journal_dir);
    const ls_room_keeper_config keeper = {.service = service,
                                          .register_path =
                                              has_journals ? self->register_path : NULL,
                                          .workers = self->workers,
                                          .sockets = self->sockets,
                                          .program = self->config->program,
                                          .worker = self->config->worker,
                                          .loop = self->loop,
                                          .log = &self->console->log,
                                          .invite = write_invite,
                                          .on_intake = on_intake,
                                          .user = self};
    ls_status status =
        has_journals ? ls_output_check_directory(service->journal_dir, "journals", why) : LS_OK;
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
    const journal_upload_config upload = {.directory = service->journal_dir,
                                          .command = service->upload_command,
                                          .limit_s = service->upload_limit_s,
                                          .keep_mib = service->journals_keep_mib,
                                          .retry_ms = UPLOAD_RETRY_MS,
                                          .loop = self->loop,
                                          .log = &self->console->log,
                                          .is_in_use = is_in_use,
                                          .user = self};
    return journal_upload_create(&upload, &self->upload, why);
}

/* The file is one line. Its bytes end where the file does, and are NULL of an empty one. */
static ls_status read_token(const char *path, char *out, size_t capacity, ls_text *why)
{
    ls_mapped_file file = {NULL, 0};
    ls_status status = ls_mapped_file_open(path, &file, why);
    if (status != LS_OK) {
        return status;
    }
    size_t length = 0;
    while (length < file.size && file.bytes[length] > ' ' && file.bytes[length] <= '~') {
        length++;
    }
    bool is_end = length == file.size || file.bytes[length] == '\r' || file.bytes[length] == '\n';
    bool is_good = is_end && length >= TOKEN_BYTES_MIN && length < capacity;
    if (is_good) {
        memcpy(out, file.bytes, length);
        out[length] = '\0';
    }
    ls_mapped_file_close(&file);
    return is_good ? LS_OK
                   : ls_fail(LS_BAD_ARGUMENT, why,
                             "%s: a token is one word of %u to %zu printable characters; make one "
                             "with: openssl rand -hex 32",
                             path, TOKEN_BYTES_MIN, capacity - 1);
}

/* No HTTP without a port for it in the file, or with one that was set to 0 and no file to tell of
 * it. */
static ls_status create_http(supervisor *self, ls_text *why)
{
    const ls_supervisor_config *config = self->config;
    const ls_service_config *service = config->service;
    char token[TOKEN_BYTES_MAX] = "";
    if (service->http_port == 0 && !config->http_port_file && config->sockets->stream < 0) {
        return LS_OK;
    }
    ls_status status = LS_OK;
    if (service->http_token_file[0] != '\0') {
        status = read_token(service->http_token_file, token, sizeof token, why);
    }
    ls_http_listener_config http = ls_http_listener_config_default();
    http.host = service->http_bind;
    http.port = (uint16_t)service->http_port;
    http.descriptor = config->sockets->stream;
    http.token = token;
    http.hosts = service->http_hosts;
    http.log = &self->console->log;
    http.view = ls_room_keeper_view(self->keeper);
    LS_THEN(status, ls_http_listener_create(&http, self->loop, &self->http, why));
    ls_cipher_wipe(token, sizeof token);
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

static ls_status add_handlers(supervisor *self)
{
    ls_loop_handler signals = {on_signal, self};
    ls_loop_handler tending = {tend, self};
    ls_loop_handler way_out = {on_way_out, self};
    ls_status status = ls_event_loop_add_stop_signals(self->loop, signals);
    LS_THEN(status, ls_event_loop_add_timer(self->loop, TEND_MS, tending, NULL));
    return status == LS_OK ? ls_event_loop_add_timer(self->loop, WAY_OUT_MS, way_out, NULL)
                           : status;
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

static ls_status build(supervisor *self, ls_text *why)
{
    ls_status status = ls_event_loop_create(ls_allocator_heap(), &self->loop);
    LS_THEN(status, open_port(self, why));
    LS_THEN(status, create_keeper(self, why));
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
        ls_log_line(log, LS_LOG_INFO, "metrics and administration: http://%s/", place);
    }
    ls_admission_log(self->config->admission, ls_udp_group_port(self->group), log);
}

ls_exit_code ls_supervisor_run(const ls_supervisor_config *config, ls_console *console)
{
    supervisor *self = ls_allocate(ls_allocator_heap(), sizeof *self);
    ls_text why = {{0}};
    if (!self) {
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
    ls_agones_destroy(self->agones);
    journal_upload_destroy(self->upload);
    ls_room_keeper_destroy(self->keeper);
    ls_udp_group_close(self->group);
    ls_event_loop_destroy(self->loop);
    ls_release(ls_allocator_heap(), self);
    return ls_exit_code_of(status);
}
