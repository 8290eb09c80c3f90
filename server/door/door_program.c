#include "lockstep/server/door/door_program.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/server/broadcast/broadcast_http.h"
#include "lockstep/server/control/http_daemon.h"
#include "lockstep/server/control/tls_files.h"
#include "lockstep/server/door/rtc_peers.h"
#include "lockstep/server/door/web_frames.h"
#include "lockstep/server/door/web_request.h"
#include "lockstep/server/door/web_sockets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Door listener: the port on which a door answers pages over HTTP: the files of the page, and
 * the handshakes of its WebSockets, which it hands to web_sockets. Knows no player. Called by
 * door_program ---- */

typedef struct door_listener_config {
    int descriptor; /* that listens; taken */
    bool is_tls;    /* with the ls_tls_files that are open */
    ls_door_page *page;
    ls_web_sockets *sockets;
    ls_rtc_peers *rtc;            /* NULL: no data channels */
    ls_broadcast_http *broadcast; /* NULL: no match is shown to everybody */
} door_listener_config;

enum {
    CONNECTIONS_MAX = 1536, /* of them LS_DOOR_PLAYERS_MAX are players' */
    CONNECTIONS_PER_ADDRESS = 64,
    IDLE_TIMEOUT_S = 30,
    REQUEST_TIMEOUT_MS = 10000,
    ANSWER_TIMEOUT_MS = 60000, /* of a client that reads a file */
    TEND_MS = 250,
    FILE_BYTES_MAX = 256,
};

#define DOOR_MODULE "/play/door.js"

/* Scripts and the module come from here alone, and nothing is said to anybody else. */
static const char page_policy[] =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' "
    "data: blob:; media-src 'self'; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

typedef struct door_listener {
    door_listener_config config;
    ls_event_loop *loop;
    ls_loop_source *upkeep;
    ls_http_daemon daemon;
} door_listener;

/* A request, from its first line to its end. */
typedef struct request {
    ls_http_head head;
    bool is_answered;
    bool has_head;
    bool is_upgraded; /* its connection is a player's from then on */
    bool is_offer;    /* of a data channel, which has a body */
    char *body;
    size_t body_bytes;
} request;

/* ---- answers ---- */

static void add(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value);
}

static enum MHD_Result queue(struct MHD_Connection *connection, uint32_t status,
                             struct MHD_Response *response)
{
    if (!response) {
        return MHD_NO;
    }
    add(response, "X-Content-Type-Options", "nosniff");
    add(response, "Referrer-Policy", "no-referrer");
    add(response, "Content-Security-Policy", page_policy);
    add(response, "Cross-Origin-Opener-Policy", "same-origin");
    add(response, "Cross-Origin-Embedder-Policy", "require-corp");
    add(response, "Cross-Origin-Resource-Policy", "same-origin");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static struct MHD_Response *sentence(const char *text)
{
    char line[256];
    int size = snprintf(line, sizeof line, "%s\n", text);
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)size, line, MHD_RESPMEM_MUST_COPY);
    if (response) {
        add(response, "Content-Type", "text/plain; charset=utf-8");
        add(response, "Cache-Control", "no-store");
    }
    return response;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, uint32_t status, const char *why)
{
    struct MHD_Response *response = sentence(why);
    if (response) {
        add(response, "Connection", "close");
    }
    return queue(connection, status, response);
}

/* ---- files ---- */

typedef struct page_file {
    ls_mapped_file content;
    const char *encoding; /* NULL: as it is */
    char etag[32];
} page_file;

static bool open_file(const char *folder, const char *name, const char *ending, page_file *out)
{
    char path[FILE_BYTES_MAX];
    snprintf(path, sizeof path, "%s%s", name, ending);
    if (ls_mapped_file_open_beneath(folder, path, &out->content, NULL) != LS_OK) {
        return false;
    }
    snprintf(out->etag, sizeof out->etag, "\"%016" PRIx64 "%s\"",
             ls_hash_bytes(out->content.bytes, out->content.size, 0), ending);
    return true;
}

static void close_file(void *content)
{
    ls_mapped_file_close(content);
    ls_release(ls_allocator_heap(), content);
}

/* The bytes go with the response; where there is none they are gone. */
static struct MHD_Response *respond_with(ls_mapped_file *content)
{
    ls_mapped_file *kept = ls_allocate(ls_allocator_heap(), sizeof *kept);
    struct MHD_Response *response = NULL;
    if (kept) {
        *kept = *content;
        response = MHD_create_response_from_buffer_with_free_callback_cls(
            kept->size, (void *)(uintptr_t)kept->bytes, close_file, kept);
    }
    if (!response) {
        ls_release(ls_allocator_heap(), kept);
        ls_mapped_file_close(content);
    }
    return response;
}

/* The smallest that the client can read. */
static bool find_file(const char *folder, const char *name, const char *encodings, page_file *out)
{
    out->encoding = "br";
    if (ls_web_list_has(encodings, "br") && open_file(folder, name, ".br", out)) {
        return true;
    }
    out->encoding = "gzip";
    if (ls_web_list_has(encodings, "gzip") && open_file(folder, name, ".gz", out)) {
        return true;
    }
    out->encoding = NULL;
    return open_file(folder, name, "", out);
}

/* The client keeps a file and asks each time whether it is still that one. */
static enum MHD_Result answer_file(const door_listener *listener, struct MHD_Connection *connection,
                                   const char *name)
{
    page_file file;
    if (!find_file(listener->config.page->files, name,
                   ls_http_header_of(connection, "Accept-Encoding"), &file)) {
        bool is_page = strcmp(name, "play.html") == 0;
        return refuse(connection, 404,
                      is_page ? "this server has no page: the folder of its --web-files lacks "
                                "play.html"
                              : "there is no such file");
    }
    const char *known = ls_http_header_of(connection, "If-None-Match");
    bool is_known = known && ls_web_list_has(known, file.etag);
    struct MHD_Response *response = NULL;
    if (is_known) {
        ls_mapped_file_close(&file.content);
        response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    } else {
        response = respond_with(&file.content);
    }
    if (response) {
        add(response, "Content-Type", ls_web_file_type(name));
        add(response, "Cache-Control", "no-cache");
        add(response, "ETag", file.etag);
        add(response, "Vary", "Accept-Encoding");
    }
    if (response && file.encoding) {
        add(response, "Content-Encoding", file.encoding);
    }
    return queue(connection, is_known ? 304 : 200, response);
}

/* A module of the page that says whose door this is. */
static enum MHD_Result answer_door(const door_listener *listener, struct MHD_Connection *connection)
{
    char text[64];
    const ls_door_page *page = listener->config.page;
    int size = snprintf(text, sizeof text, "export const relayPort = %u;\n",
                        page->is_relay ? (unsigned)page->server.port : 0u);
    struct MHD_Response *response =
        MHD_create_response_from_buffer((size_t)size, text, MHD_RESPMEM_MUST_COPY);
    if (response) {
        add(response, "Content-Type", ls_web_file_type(DOOR_MODULE));
        add(response, "Cache-Control", "no-cache");
    }
    return queue(connection, 200, response);
}

/* ---- WebSockets ---- */

static void close_upgraded(void *user)
{
    (void)MHD_upgrade_action(user, MHD_UPGRADE_ACTION_CLOSE);
}

static void on_upgrade(void *user, struct MHD_Connection *connection, void *context,
                       const char *extra, size_t extra_size, MHD_socket descriptor,
                       struct MHD_UpgradeResponseHandle *handle)
{
    const door_listener *listener = user;
    ls_http_client *client = ls_http_client_of(connection);
    (void)context;
    if (!client) {
        close_upgraded(handle);
        return;
    }
    ls_http_client_give_time(&listener->daemon, client, LS_HTTP_NEVER_NS);
    const ls_web_socket_opening opening = {.descriptor = descriptor,
                                           .connection = client->descriptor,
                                           .from = client->from,
                                           .bytes = (const uint8_t *)extra,
                                           .size = extra_size,
                                           .close = close_upgraded,
                                           .user = handle};
    ls_web_sockets_open(listener->config.sockets, &opening);
}

static enum MHD_Result answer_socket(door_listener *listener, request *of,
                                     struct MHD_Connection *connection)
{
    const ls_door_page *page = listener->config.page;
    const ls_web_site site = {.names = page->hosts, .is_tls = listener->config.is_tls};
    const ls_web_handshake handshake = {
        .host = ls_http_header_of(connection, "Host"),
        .origin = ls_http_header_of(connection, "Origin"),
        .upgrade = ls_http_header_of(connection, "Upgrade"),
        .version = ls_http_header_of(connection, "Sec-WebSocket-Version"),
        .key = ls_http_header_of(connection, "Sec-WebSocket-Key"),
        .protocols = ls_http_header_of(connection, "Sec-WebSocket-Protocol")};
    const char *why = NULL;
    uint32_t status = ls_web_handshake_check(&site, &handshake, &why);
    if (status == 0 && !ls_web_list_has(ls_http_header_of(connection, "Connection"), "upgrade")) {
        status = 400;
        why = "a WebSocket is opened here";
    }
    if (status != 0) {
        ls_door_count(&listener->config.page->refused);
        return refuse(connection, status, why);
    }
    struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgrade, listener);
    if (!response) {
        return MHD_NO;
    }
    char accept[LS_WEB_ACCEPT_BYTES];
    ls_web_accept(handshake.key, accept);
    add(response, "Upgrade", "websocket");
    add(response, "Sec-WebSocket-Accept", accept);
    add(response, "Sec-WebSocket-Protocol", LS_WEB_PROTOCOL);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_SWITCHING_PROTOCOLS, response);
    MHD_destroy_response(response);
    of->is_upgraded = result == MHD_YES;
    return result;
}

/* ---- offers of data channels ---- */

static enum MHD_Result answer_offer(const door_listener *listener, const request *of,
                                    struct MHD_Connection *connection)
{
    const ls_http_client *client = ls_http_client_of(connection);
    const ls_web_site site = {.names = listener->config.page->hosts,
                              .is_tls = listener->config.is_tls};
    char answer[LS_SDP_ANSWER_BYTES_MAX];
    const char *why = NULL;
    uint32_t status = 501;
    ls_endpoint own;
    if (!ls_web_origin_is_good(&site, ls_http_header_of(connection, "Host"),
                               ls_http_header_of(connection, "Origin"))) {
        ls_door_count(&listener->config.page->refused);
        return refuse(connection, 403, "the page is another site's");
    }
    if (!listener->config.rtc || !ls_socket_own(client->descriptor, &own)) {
        return refuse(connection, status, "this server has no data channels");
    }
    const ls_rtc_offer offer = {
        .text = of->body, .size = of->body_bytes, .from = &client->from, .own = &own};
    size_t size = ls_rtc_peers_answer(listener->config.rtc, &offer, answer, &status, &why);
    if (size == 0) {
        return refuse(connection, status, why);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, answer, MHD_RESPMEM_MUST_COPY);
    if (response) {
        add(response, "Content-Type", "application/sdp");
        add(response, "Cache-Control", "no-store");
    }
    return queue(connection, 200, response);
}

static enum MHD_Result store_body(request *of, const char *bytes, size_t size)
{
    if (!of->body) {
        of->body = ls_allocate(ls_allocator_heap(), LS_SDP_BYTES_MAX);
    }
    if (!of->body || size > LS_SDP_BYTES_MAX - of->body_bytes) {
        return MHD_NO;
    }
    memcpy(of->body + of->body_bytes, bytes, size);
    of->body_bytes += size;
    return MHD_YES;
}

static bool is_offer(struct MHD_Connection *connection, const char *path, const char *method)
{
    const char *type = ls_http_header_of(connection, "Content-Type");
    const char *length = ls_http_header_of(connection, "Content-Length");
    return strcmp(method, "POST") == 0 && strcmp(path, "/play/rtc") == 0 && type &&
           strcmp(type, "application/sdp") == 0 && length &&
           strtoull(length, NULL, 10) <= LS_SDP_BYTES_MAX;
}

/* ---- requests ---- */

static void *begin_request(void *user, const char *target, struct MHD_Connection *connection)
{
    request *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    (void)user;
    (void)connection;
    if (made) {
        made->head = ls_http_head_of(target);
    }
    return made;
}

/* Of a request that has a body, or that a proxy in front could read in another way. */
static bool is_odd(const request *of, struct MHD_Connection *connection, const char *method,
                   const char *version)
{
    ls_http_head head = of->head;
    return ls_http_request_is_ambiguous(connection, method, version, &head) || head.encodings > 0 ||
           (head.lengths > 0 && !of->is_offer);
}

static enum MHD_Result redirect(struct MHD_Connection *connection)
{
    struct MHD_Response *response = sentence("the page is at /play");
    if (response) {
        add(response, "Location", "/play");
    }
    return queue(connection, 302, response);
}

static enum MHD_Result route(door_listener *listener, request *of,
                             struct MHD_Connection *connection, const char *path)
{
    if (strcmp(path, "/") == 0) {
        return redirect(connection);
    }
    if (strcmp(path, "/play/socket") == 0) {
        return answer_socket(listener, of, connection);
    }
    if (listener->config.broadcast && ls_broadcast_http_has(path)) {
        return ls_broadcast_http_answer(listener->config.broadcast, connection, path);
    }
    if (strcmp(path, DOOR_MODULE) == 0) {
        return answer_door(listener, connection);
    }
    const char *file = ls_web_path_file(path);
    return file ? answer_file(listener, connection, file)
                : refuse(connection, 404, "the page is at /play");
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    door_listener *listener = user;
    request *of = *context;
    ls_http_client *client = ls_http_client_of(connection);
    if (!of || of->is_answered || !client || client->is_shut) {
        return MHD_NO;
    }
    if (*upload_size > 0) {
        size_t size = *upload_size;
        *upload_size = 0;
        return of->is_offer ? store_body(of, upload, size) : MHD_NO;
    }
    if (!of->has_head) {
        of->has_head = true;
        of->is_offer = is_offer(connection, path, method);
        if (is_odd(of, connection, method, version)) {
            of->is_answered = true;
            return refuse(connection, 400, "the request can be read in two ways, or has a body");
        }
        return MHD_YES;
    }
    of->is_answered = true;
    ls_http_client_give_time(&listener->daemon, client, ANSWER_TIMEOUT_MS);
    if (of->is_offer && of->body) {
        return answer_offer(listener, of, connection);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return refuse(connection, 405, "a page is read with GET");
    }
    return route(listener, of, connection, path);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    door_listener *listener = user;
    request *of = *context;
    (void)code;
    if (of && !of->is_upgraded) {
        ls_http_client_end_request(&listener->daemon, ls_http_client_of(connection));
    }
    if (of) {
        ls_release(ls_allocator_heap(), of->body);
    }
    ls_release(ls_allocator_heap(), of);
    *context = NULL;
}

static void keep_up(void *user, uint64_t now_ns)
{
    door_listener *listener = user;
    ls_web_sockets_tend(listener->config.sockets, now_ns);
    ls_http_daemon_keep_up(&listener->daemon);
}

/* ---- the whole ---- */

/* NULL is allowed. */
static void destroy_listener(door_listener *listener)
{
    if (listener) {
        ls_loop_source_remove(listener->upkeep);
        ls_http_daemon_close(&listener->daemon);
        ls_release(ls_allocator_heap(), listener);
    }
}

static ls_status create_listener(const door_listener_config *config, ls_event_loop *loop,
                                 door_listener **out, ls_text *why)
{
    door_listener *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->config = *config;
    made->loop = loop;
    const ls_http_daemon_config daemon = {.host = "the door",
                                          .descriptor = config->descriptor,
                                          .is_tls = config->is_tls,
                                          .flags = MHD_ALLOW_UPGRADE,
                                          .connections_max = CONNECTIONS_MAX,
                                          .connections_per_address = CONNECTIONS_PER_ADDRESS,
                                          .idle_timeout_s = IDLE_TIMEOUT_S,
                                          .request_timeout_ms = REQUEST_TIMEOUT_MS,
                                          .on_request = on_request,
                                          .begin = begin_request,
                                          .completed = on_completed,
                                          .user = made};
    ls_status status = ls_http_daemon_open(&made->daemon, &daemon, loop, why);
    LS_THEN(status, ls_event_loop_add_timer(loop, TEND_MS, (ls_loop_handler){keep_up, made},
                                            &made->upkeep));
    if (status != LS_OK) {
        destroy_listener(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

enum {
    WATCH_MS = 1000, /* between two looks at the files of TLS */
    LEAVE_MS = 50,   /* for the last words of the server, and then for those of the door */
};

typedef struct door_program {
    ls_console *console;
    ls_door_page *page;
    ls_event_loop *loop;
    ls_tls_files *tls; /* NULL: none */
    ls_door_switch *to;
    ls_web_sockets *sockets;
    ls_rtc_peers *rtc;            /* NULL: no data channels */
    ls_broadcast_http *broadcast; /* NULL: none */
    door_listener *listener;
    ls_loop_source *leaving;
} door_program;

static void on_watch(void *user, uint64_t now_ns)
{
    const door_program *self = user;
    (void)now_ns;
    ls_tls_files_watch(self->tls, &self->console->log);
    ls_console_flush(self->console);
}

/* Sealed bytes leave in turns of the loop. */
static void on_leaving(void *user, uint64_t now_ns)
{
    const door_program *self = user;
    if (ls_web_sockets_close(self->sockets)) {
        ls_loop_alarm_set(self->leaving, now_ns + LEAVE_MS * LS_NS_PER_MS);
    } else {
        ls_event_loop_stop(self->loop);
    }
}

/* The signal may have been sent to all processes of a service, which drains then: its players play
 * on, those in pages too. */
static void on_signal(void *user, uint64_t now_ns)
{
    const door_program *self = user;
    if (atomic_load_explicit(&self->page->is_over, memory_order_acquire)) {
        ls_loop_alarm_set(self->leaving, now_ns + LEAVE_MS * LS_NS_PER_MS);
    }
}

static ls_status open_page(door_program *self, ls_text *why)
{
    self->page = ls_shared_memory_map(LS_DOOR_PAGE_DESCRIPTOR, sizeof *self->page);
    if (!self->page || self->page->server.port == 0) {
        return ls_fail(LS_IO, why, "a door is opened by lockstep-server or lockstep-relay --web");
    }
    self->console->log.level = (ls_log_level)self->page->log_level;
    ls_console_set_format(self->console, (ls_log_format)self->page->log_format);
    return LS_OK;
}

static ls_status open_tls(door_program *self, ls_text *why)
{
    const ls_tls_files_config tls = {self->page->certificate, self->page->certificate_key};
    return self->page->certificate[0] != '\0' ? ls_tls_files_open(&tls, &self->tls, why) : LS_OK;
}

static ls_status build(door_program *self, ls_text *why)
{
    ls_status status = open_page(self, why);
    LS_THEN(status, open_tls(self, why));
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &self->loop));
    LS_THEN(status,
            ls_door_switch_create(LS_DOOR_UDP_DESCRIPTOR, self->page, self->loop, &self->to));
    LS_THEN(status, ls_web_sockets_create(self->to, self->page, self->loop, &self->sockets));
    if (status == LS_OK && self->page->has_rtc) {
        (void)ls_rtc_peers_create(LS_DOOR_RTC_DESCRIPTOR, self->to, self->page, self->loop,
                                  &self->rtc);
    }
    if (status == LS_OK && self->page->broadcast_delay_s > 0) {
        status = ls_broadcast_http_create(self->page->journals, self->page->broadcast_delay_s,
                                          self->loop, &self->broadcast);
    }
    const door_listener_config listener = {.descriptor = LS_DOOR_LISTEN_DESCRIPTOR,
                                           .is_tls = self->tls != NULL,
                                           .page = self->page,
                                           .sockets = self->sockets,
                                           .rtc = self->rtc,
                                           .broadcast = self->broadcast};
    LS_THEN(status, create_listener(&listener, self->loop, &self->listener, why));
    LS_THEN(status,
            ls_event_loop_add_timer(self->loop, WATCH_MS, (ls_loop_handler){on_watch, self}, NULL));
    LS_THEN(status, ls_event_loop_add_alarm(self->loop, (ls_loop_handler){on_leaving, self},
                                            &self->leaving));
    LS_THEN(status, ls_event_loop_add_stop_signals(self->loop, (ls_loop_handler){on_signal, self}));
    return status;
}

ls_exit_code ls_door_program_run(ls_console *console)
{
    door_program self = {.console = console};
    ls_text why = {{0}};
    ls_status status = build(&self, &why);
    if (status == LS_OK) {
        ls_event_loop_run(self.loop);
    } else {
        ls_log_line(&console->log, LS_LOG_ERROR, "the door for pages: %s",
                    why.bytes[0] ? why.bytes : ls_status_text(status));
    }
    ls_web_sockets_destroy(self.sockets);
    destroy_listener(self.listener);
    ls_broadcast_http_destroy(self.broadcast);
    ls_rtc_peers_destroy(self.rtc);
    ls_door_switch_destroy(self.to);
    ls_event_loop_destroy(self.loop);
    ls_tls_files_close(self.tls);
    ls_shared_memory_release(self.page, sizeof *self.page);
    return ls_exit_code_of(status);
}
