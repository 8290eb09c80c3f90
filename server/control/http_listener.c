#define _GNU_SOURCE
#include "lockstep/server/control/http_listener.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/server/control/http_guard.h"
#include "lockstep/server/control/http_routes.h"
#include "lockstep/server/control/tls_files.h"
#include "lockstep/server/service/event_ring.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_PER_CONNECTION = 16384, /* for its headers, and a piece of its body */
    SPARE_CONNECTIONS = 64,        /* of the library: new ones, while those that are closed end */
    UPKEEP_MS = 250,
    STREAM_POLL_MS = 100,
    STREAM_PIECE_BYTES = 4096,
    DELAYED_MAX = 32, /* wrong tokens whose answers wait */
    TURNS_MAX = 16,   /* of the library, before others of the loop have theirs */
};

static const uint64_t ns_per_ms = 1000000;
static const uint64_t never_ns = UINT64_MAX;
static const char strictest_policy[] = "default-src 'none'; frame-ancestors 'none'";

/* A connection: when it is to be closed, unless it got further. One that is shut, or waits for the
 * service, or follows the events, has no such time: nothing is gained by closing it. */
typedef struct client {
    struct client *next, *previous;
    int descriptor; /* the library's */
    bool is_shut;
    uint64_t origin;
    uint64_t since_ns; /* its last request was over, or it came */
    uint64_t due_ns;
    uint64_t reply_bytes; /* that it has its share of the listener's for */
} client;

/* A request that is being read, or answered. */
typedef struct work {
    struct work *next, *previous;
    ls_http_listener *listener;
    struct MHD_Connection *connection;
    ls_http_exchange *exchange;
    char *body;
    size_t body_bytes;
    ls_http_head head; /* its target alone */
    bool has_head;
    bool is_routed;
    bool is_delayed;
    bool is_suspended;
    uint64_t due_ns; /* while it is suspended: when the client is told that the service is late */
} work;

/* Somebody who follows the events. */
typedef struct stream {
    struct stream *next, *previous;
    ls_http_listener *listener;
    struct MHD_Connection *connection;
    uint64_t next_event;
    uint64_t heartbeat_ns; /* when one is due */
    bool is_suspended;
    ls_http_text text; /* that is still to be sent */
} stream;

struct ls_http_listener {
    ls_http_listener_config config;
    ls_http_api api;
    ls_event_loop *loop;
    struct MHD_Daemon *daemon;
    ls_loop_source *watch;
    ls_loop_source *alarm;
    ls_loop_source *upkeep;
    ls_loop_source *poll;
    ls_endpoint endpoint;
    bool is_stopping;
    uint32_t stream_count;
    ls_http_guard guard;
    uint64_t reply_bytes;
    client *clients;
    work *works;
    stream *streams;
};

ls_http_listener_config ls_http_listener_config_default(void)
{
    return (ls_http_listener_config){
        .host = "127.0.0.1",
        .descriptor = -1,
        .connections_max = 256,
        .connections_per_address = 64,
        .streams_max = 32,
        .reply_bytes_max = (uint64_t)64 << 20,
        .idle_timeout_s = 30,
        .request_timeout_ms = 20000,
        .answer_timeout_ms = 30000,
        .wrong_token_ms = 1000,
        .heartbeat_ms = 10000,
    };
}

/* The first member of each list is its links. */
#define LIST_ADD(head, item)                                                                       \
    do {                                                                                           \
        (item)->next = (head);                                                                     \
        if (head) {                                                                                \
            (head)->previous = (item);                                                             \
        }                                                                                          \
        (head) = (item);                                                                           \
    } while (0)

#define LIST_REMOVE(head, item)                                                                    \
    do {                                                                                           \
        if ((item)->previous) {                                                                    \
            (item)->previous->next = (item)->next;                                                 \
        } else {                                                                                   \
            (head) = (item)->next;                                                                 \
        }                                                                                          \
        if ((item)->next) {                                                                        \
            (item)->next->previous = (item)->previous;                                             \
        }                                                                                          \
    } while (0)

static uint64_t now_of(const ls_http_listener *listener)
{
    return ls_event_loop_now_ns(listener->loop);
}

/* ---- driving the library ---- */

static void run_turns(void *user, uint64_t now_ns)
{
    ls_http_listener *listener = user;
    unsigned MHD_LONG_LONG wait_ms = 0;
    enum MHD_Result has_timeout = MHD_YES;
    (void)now_ns;
    for (uint32_t i = 0; i < TURNS_MAX && has_timeout == MHD_YES && wait_ms == 0; i++) {
        (void)MHD_run(listener->daemon);
        has_timeout = MHD_get_timeout(listener->daemon, &wait_ms);
    }
    ls_loop_alarm_set(listener->alarm,
                      has_timeout == MHD_YES ? now_of(listener) + wait_ms * ns_per_ms : never_ns);
}

/* Nothing wakes the library after that: it has its turn at once. */
static void resume(const ls_http_listener *listener, struct MHD_Connection *connection)
{
    MHD_resume_connection(connection);
    ls_loop_alarm_set(listener->alarm, 0);
}

/* ---- connections ---- */

static client *client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void give_time(const ls_http_listener *listener, struct MHD_Connection *connection,
                      uint64_t timeout_ms)
{
    client *of = client_of(connection);
    if (of && !of->is_shut) {
        of->due_ns = timeout_ms == never_ns ? never_ns : now_of(listener) + timeout_ms * ns_per_ms;
    }
}

static void release_reply(ls_http_listener *listener, client *of)
{
    listener->reply_bytes -= of->reply_bytes;
    of->reply_bytes = 0;
}

/* The library sees an end of the connection, as if the client had closed it. */
static void shut_client(ls_http_listener *listener, client *of)
{
    ls_socket_shut(of->descriptor);
    of->is_shut = true;
    of->due_ns = never_ns;
    release_reply(listener, of);
}

/* Of two that may be closed, the one that goes on longer without the end of a request. */
static client *slower_of(client *a, client *b)
{
    if (b->due_ns == never_ns) {
        return a;
    }
    return a && a->since_ns <= b->since_ns ? a : b;
}

/* A new connection gets in, so that a probe does while others read slowly or not at all: where
 * there are too many, of its own address or in all, the slowest one goes. */
static void make_room(ls_http_listener *listener, client *newest)
{
    uint32_t neighbours = 0;
    uint32_t all = 0;
    client *slowest_neighbour = NULL;
    client *slowest = NULL;
    for (client *of = newest->next; of; of = of->next) {
        bool is_neighbour = of->origin == newest->origin;
        if (!of->is_shut) {
            all++;
            neighbours += is_neighbour;
            slowest = slower_of(slowest, of);
            slowest_neighbour = is_neighbour ? slower_of(slowest_neighbour, of) : slowest_neighbour;
        }
    }
    if (neighbours >= listener->config.connections_per_address) {
        shut_client(listener, slowest_neighbour ? slowest_neighbour : newest);
    } else if (all >= listener->config.connections_max && slowest) {
        shut_client(listener, slowest);
    }
}

static void add_client(ls_http_listener *listener, client *of, int descriptor)
{
    ls_endpoint from = {.port = 0};
    (void)ls_socket_peer(descriptor, &from);
    of->descriptor = descriptor;
    of->origin = ls_endpoint_origin(&from);
    of->since_ns = now_of(listener);
    of->due_ns = of->since_ns + listener->config.request_timeout_ms * ns_per_ms;
    LIST_ADD(listener->clients, of);
    make_room(listener, of);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    ls_http_listener *listener = user;
    client *of = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        of = info ? ls_allocate(ls_allocator_heap(), sizeof *of) : NULL;
        if (of) {
            add_client(listener, of, info->connect_fd);
        }
        *context = of;
    } else if (of) {
        release_reply(listener, of);
        LIST_REMOVE(listener->clients, of);
        ls_release(ls_allocator_heap(), of);
        *context = NULL;
    }
}

static void close_overdue_clients(ls_http_listener *listener, uint64_t now_ns)
{
    for (client *of = listener->clients; of; of = of->next) {
        if (now_ns >= of->due_ns) {
            shut_client(listener, of);
        }
    }
}

/* ---- streams of events ---- */

static void suspend_stream(stream *to)
{
    to->is_suspended = true;
    MHD_suspend_connection(to->connection);
}

static void resume_stream(stream *to)
{
    if (to->is_suspended) {
        to->is_suspended = false;
        resume(to->listener, to->connection);
    }
}

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static ssize_t read_stream(void *user, uint64_t position, char *buffer, size_t capacity)
{
    stream *from = user;
    const ls_http_listener *listener = from->listener;
    (void)position;
    const char *authorization = header_of(from->connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (listener->is_stopping || from->text.is_cut ||
        !ls_http_routes_may_follow(&listener->api, authorization)) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (from->text.size == 0) {
        ls_http_routes_add_events(listener->config.view, &from->next_event, &from->text);
    }
    if (from->text.size == 0) {
        suspend_stream(from);
        return 0;
    }
    size_t size = LS_MIN(from->text.size, capacity);
    memcpy(buffer, from->text.bytes, size);
    ls_http_text_drop(&from->text, size);
    from->heartbeat_ns = now_of(listener) + listener->config.heartbeat_ms * ns_per_ms;
    return (ssize_t)size;
}

static void end_stream(void *user)
{
    stream *of = user;
    ls_http_listener *listener = of->listener;
    LIST_REMOVE(listener->streams, of);
    listener->stream_count--;
    ls_loop_source_set_active(listener->poll, listener->stream_count > 0 && !listener->is_stopping);
    ls_http_text_deinit(&of->text);
    ls_release(ls_allocator_heap(), of);
}

static void poll_streams(void *user, uint64_t now_ns)
{
    const ls_http_listener *listener = user;
    const ls_service_view *view = listener->config.view;
    for (stream *to = listener->streams; to; to = to->next) {
        bool has_event = ls_event_ring_at(view->events, to->next_event) != NULL;
        if (!has_event && now_ns >= to->heartbeat_ns && to->is_suspended) {
            ls_http_text_add(&to->text, ":\n\n"); /* a comment */
        }
        if (has_event || to->text.size > 0) {
            resume_stream(to);
        }
    }
}

/* NULL: memory is out. */
static struct MHD_Response *open_stream(ls_http_listener *listener,
                                        struct MHD_Connection *connection, uint64_t first_event)
{
    stream *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return NULL;
    }
    made->listener = listener;
    made->connection = connection;
    made->next_event = first_event;
    made->heartbeat_ns = now_of(listener) + listener->config.heartbeat_ms * ns_per_ms;
    LIST_ADD(listener->streams, made);
    listener->stream_count++;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_PIECE_BYTES, read_stream, made, end_stream);
    if (!response) {
        end_stream(made);
        return NULL;
    }
    ls_loop_source_set_active(listener->poll, true);
    give_time(listener, connection, never_ns);
    return response;
}

/* ---- replies ---- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && value[0]) {
        (void)MHD_add_response_header(response, name, value);
    }
}

static void add_headers(struct MHD_Response *response, const ls_http_reply *reply)
{
    add_header(response, "Content-Type", reply->type);
    add_header(response, "X-Content-Type-Options", "nosniff");
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "Referrer-Policy", "no-referrer");
    add_header(response, "Content-Security-Policy",
               reply->policy ? reply->policy : strictest_policy);
    add_header(response, "Allow", reply->allow);
    add_header(response, "Location", reply->location);
    add_header(response, "Connection", reply->is_last ? "close" : NULL);
    add_header(response, "WWW-Authenticate", reply->asks_for_token ? "Bearer" : NULL);
}

/* Takes the text out of the reply. */
static struct MHD_Response *move_response(ls_http_reply *reply)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->text.size, reply->text.bytes, MHD_RESPMEM_MUST_FREE);
    if (response) {
        memset(&reply->text, 0, sizeof reply->text);
    }
    return response;
}

static client *slowest_reader(const ls_http_listener *listener)
{
    client *slowest = NULL;
    for (client *of = listener->clients; of; of = of->next) {
        slowest = of->reply_bytes > 0 ? slower_of(slowest, of) : slowest;
    }
    return slowest;
}

/* Clients that do not read cannot make the service keep ever more replies for them, nor keep others
 * from theirs. */
static void hold_reply(const work *of, client *by)
{
    ls_http_listener *listener = of->listener;
    uint64_t size = of->exchange->reply.text.size;
    uint64_t size_max = listener->config.reply_bytes_max;
    client *slowest = NULL;
    while (size <= size_max && size > size_max - listener->reply_bytes &&
           (slowest = slowest_reader(listener)) != NULL) {
        shut_client(listener, slowest);
    }
    if (size > size_max - listener->reply_bytes) {
        of->exchange->is_answered = false;
        of->exchange->answered = NULL;
        ls_http_answer_error(of->exchange, 503, "too many answers are waiting to be read");
        return;
    }
    listener->reply_bytes += size;
    by->reply_bytes += size;
}

static enum MHD_Result queue_reply(work *of)
{
    ls_http_listener *listener = of->listener;
    ls_http_reply *reply = &of->exchange->reply;
    struct MHD_Response *response = NULL;
    client *by = client_of(of->connection);
    if (!by || by->is_shut) {
        return MHD_NO;
    }
    hold_reply(of, by);
    give_time(listener, of->connection, listener->config.answer_timeout_ms);
    if (reply->is_event_stream) {
        response = open_stream(listener, of->connection, reply->first_event);
    } else if (!reply->text.is_cut) {
        response = move_response(reply);
    }
    if (!response) {
        return MHD_NO;
    }
    add_headers(response, reply);
    enum MHD_Result result = MHD_queue_response(of->connection, reply->status, response);
    MHD_destroy_response(response);
    return result;
}

/* ---- requests ---- */

static void on_answered(void *user)
{
    work *of = user;
    if (of->is_suspended) {
        of->is_suspended = of->is_delayed = false;
        resume(of->listener, of->connection);
    }
}

/* The answer to a wrong token waits, unless the address, or all, gave too many: it is no use to
 * keep their connections. */
static void slow_down(work *of)
{
    ls_http_listener *listener = of->listener;
    const client *by = client_of(of->connection);
    ls_endpoint from = {.port = 0};
    (void)(by && ls_socket_peer(by->descriptor, &from));
    uint32_t delayed = 0;
    for (const work *other = listener->works; other; other = other->next) {
        delayed += other->is_delayed;
    }
    of->is_delayed =
        ls_http_guard_count(&listener->guard, &from, now_of(listener)) && delayed < DELAYED_MAX;
    if (of->is_delayed) {
        return;
    }
    of->exchange->is_answered = false;
    of->exchange->reply.asks_for_token = false;
    of->exchange->reply.is_last = true;
    ls_http_answer_error(of->exchange, 429, "too many wrong tokens");
}

static void route(work *of, const char *method, const char *path)
{
    ls_http_listener *listener = of->listener;
    const ls_http_request request = {
        .method = method,
        .path = path,
        .host = header_of(of->connection, MHD_HTTP_HEADER_HOST),
        .authorization = header_of(of->connection, MHD_HTTP_HEADER_AUTHORIZATION),
        .last_event_id = header_of(of->connection, "Last-Event-ID"),
        .content_type = header_of(of->connection, MHD_HTTP_HEADER_CONTENT_TYPE),
        .body = of->body,
        .body_bytes = of->body_bytes,
    };
    of->is_routed = true;
    ls_http_routes_answer(&listener->api, &request, of->exchange);
    ls_http_reply *reply = &of->exchange->reply;
    if (of->exchange->is_answered && reply->is_token_wrong) {
        slow_down(of);
    }
    if (of->exchange->is_answered && reply->is_event_stream &&
        listener->stream_count >= listener->config.streams_max) {
        reply->is_event_stream = false;
        of->exchange->is_answered = false;
        ls_http_answer_error(of->exchange, 503, "%u clients follow the events already",
                             listener->config.streams_max);
    }
}

/* The target as it came: decoded, a NUL would end it. The library hands the work on. */
static void *begin_work(void *user, const char *target, struct MHD_Connection *connection)
{
    ls_http_listener *listener = user;
    work *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    ls_http_exchange *exchange = ls_http_exchange_create();
    if (!made || !exchange) {
        ls_http_exchange_release(exchange);
        ls_release(ls_allocator_heap(), made);
        return NULL;
    }
    exchange->answered = on_answered;
    exchange->user = made;
    made->listener = listener;
    made->connection = connection;
    made->exchange = exchange;
    made->head = ls_http_head_of(target);
    LIST_ADD(listener->works, made);
    return made;
}

static enum MHD_Result look_at_header(void *user, enum MHD_ValueKind kind, const char *name,
                                      size_t name_size, const char *value, size_t value_size)
{
    (void)kind;
    ls_http_head_add(user, name, name_size, value, value_size);
    return MHD_YES;
}

static bool is_ambiguous(const work *of, const char *method, const char *version)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(of->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    ls_http_head head = of->head;
    ls_http_head_begin(&head, version);
    (void)MHD_get_connection_values_n(of->connection, MHD_HEADER_KIND, look_at_header, &head);
    return !info || ls_http_head_is_ambiguous(&head, method + info->header_size);
}

/* The headers are there: a body that is said to be too large is not read at all, nor anything of a
 * request that can be read in two ways. In a body of chunks the library takes an LF alone for the
 * end of a line, and nothing shows it. */
static enum MHD_Result check_head(work *of, const char *method, const char *version)
{
    const char *length = header_of(of->connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    bool is_odd = is_ambiguous(of, method, version);
    bool is_chunked = header_of(of->connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
    of->has_head = true;
    if (!is_odd && !is_chunked &&
        (!length || strtoull(length, NULL, 10) <= LS_HTTP_BODY_BYTES_MAX)) {
        return MHD_YES;
    }
    of->is_routed = true;
    of->exchange->reply.is_last = true;
    if (is_odd) {
        ls_http_answer_error(of->exchange, 400, "the request can be read in two ways");
    } else if (is_chunked) {
        ls_http_answer_error(of->exchange, 411, "a body has a Content-Length");
    } else {
        ls_http_answer_error(of->exchange, 413, "a request has at most %zu bytes",
                             LS_HTTP_BODY_BYTES_MAX);
    }
    return queue_reply(of);
}

/* As many as the head has said. */
static enum MHD_Result store_body(work *of, const char *bytes, size_t size)
{
    if (!of->body) {
        of->body = ls_allocate(ls_allocator_heap(), LS_HTTP_BODY_BYTES_MAX);
    }
    if (!of->body || size > LS_HTTP_BODY_BYTES_MAX - of->body_bytes) {
        return MHD_NO;
    }
    memcpy(of->body + of->body_bytes, bytes, size);
    of->body_bytes += size;
    return MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    ls_http_listener *listener = user;
    work *of = *context;
    if (!of || !of->has_head) {
        return of ? check_head(of, method, version) : MHD_NO;
    }
    if (*upload_size > 0) {
        enum MHD_Result result = store_body(of, upload, *upload_size);
        *upload_size = 0;
        return result;
    }
    if (!of->is_routed) {
        give_time(listener, connection, never_ns);
        route(of, method, path);
    }
    if (of->exchange->is_answered && !of->is_delayed) {
        return queue_reply(of);
    }
    uint64_t wait_ms =
        of->is_delayed ? listener->config.wrong_token_ms : listener->config.answer_timeout_ms;
    of->due_ns = now_of(listener) + wait_ms * ns_per_ms;
    of->is_suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void end_request(ls_http_listener *listener, client *of)
{
    if (of && !of->is_shut) {
        of->since_ns = now_of(listener);
        of->due_ns = of->since_ns + listener->config.request_timeout_ms * ns_per_ms;
        release_reply(listener, of);
    }
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    ls_http_listener *listener = user;
    work *of = *context;
    (void)code;
    if (!of) {
        return;
    }
    *context = NULL;
    end_request(listener, client_of(connection));
    LIST_REMOVE(listener->works, of);
    of->exchange->answered = NULL;
    ls_http_exchange_release(of->exchange);
    ls_release(ls_allocator_heap(), of->body);
    ls_release(ls_allocator_heap(), of);
}

static void answer_overdue_works(ls_http_listener *listener, uint64_t now_ns)
{
    for (work *of = listener->works; of; of = of->next) {
        if (of->is_delayed && now_ns >= of->due_ns) {
            on_answered(of);
        } else if (of->is_suspended && now_ns >= of->due_ns) {
            ls_http_answer_error(of->exchange, 504, "the service did not answer in time");
        }
    }
}

/* The library, when it had as many connections as it may have, looks for new ones again in a turn
 * behind the one in which others ended: nothing but this gives it that turn. */
static void keep_up(void *user, uint64_t now_ns)
{
    ls_http_listener *listener = user;
    ls_http_guard_log(&listener->guard, listener->config.log, now_ns);
    answer_overdue_works(listener, now_ns);
    close_overdue_clients(listener, now_ns);
    run_turns(listener, now_ns);
}

/* ---- making and unmaking ---- */

static ls_status fail_io(ls_text *why, const char *host)
{
    return ls_fail(LS_IO, why, "HTTP cannot listen on %s: %s", host, strerror(errno));
}

/* A socket that listens. */
static ls_status open_socket(const ls_http_listener *listener, int *out, ls_text *why)
{
    const char *host = listener->config.host;
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_resolve(host, listener->config.port, &endpoint, why);
    if (status != LS_OK) {
        return LS_BAD_ARGUMENT;
    }
    *out = ls_socket_listen(&endpoint);
    return *out >= 0 ? LS_OK : fail_io(why, host);
}

/* Takes the socket. */
static ls_status start_daemon(ls_http_listener *listener, int descriptor, ls_text *why)
{
    const ls_http_listener_config *config = &listener->config;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, ls_tls_files_priorities()},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, ls_tls_files_retrieve()},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem *options = config->is_tls ? tls : &tls[2];
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (config->is_tls ? MHD_USE_TLS : 0), 0, NULL,
        NULL, on_request, listener, MHD_OPTION_LISTEN_SOCKET, descriptor,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, listener, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, listener, MHD_OPTION_URI_LOG_CALLBACK, begin_work, listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)config->connections_max + SPARE_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)config->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_PER_CONNECTION,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    return listener->daemon ? LS_OK : fail_io(why, config->host);
}

static ls_status watch_daemon(ls_http_listener *listener)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (!info) {
        return LS_IO;
    }
    ls_event_loop *loop = listener->loop;
    const ls_loop_handler turns = {run_turns, listener};
    ls_status status = ls_event_loop_watch(loop, info->epoll_fd, turns, &listener->watch);
    LS_THEN(status, ls_event_loop_add_alarm(loop, turns, &listener->alarm));
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(loop, UPKEEP_MS, (ls_loop_handler){keep_up, listener},
                                         &listener->upkeep);
    }
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(
            loop, STREAM_POLL_MS, (ls_loop_handler){poll_streams, listener}, &listener->poll);
    }
    if (status == LS_OK) {
        ls_loop_source_set_active(listener->poll, false);
    }
    return status;
}

static ls_status open_port(ls_http_listener *listener, ls_text *why)
{
    int descriptor = listener->config.descriptor;
    ls_status status = descriptor < 0 ? open_socket(listener, &descriptor, why) : LS_OK;
    if (status == LS_OK && !ls_socket_listen_ready(descriptor, &listener->endpoint)) {
        status = fail_io(why, "its socket");
    }
    LS_THEN(status, start_daemon(listener, descriptor, why));
    if (status == LS_OK) {
        status = watch_daemon(listener);
        if (status != LS_OK) {
            ls_text_set(why, "HTTP: %s", ls_status_text(status));
        }
    }
    return status;
}

ls_status ls_http_listener_create(const ls_http_listener_config *config, ls_event_loop *loop,
                                  ls_http_listener **out, ls_text *why)
{
    ls_http_listener *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    LS_ASSERT(config->heartbeat_ms < config->idle_timeout_s * 1000);
    made->config = *config;
    made->api.view = config->view;
    made->api.operators = config->operators;
    made->api.audit = config->audit;
    made->api.hosts = config->hosts;
    made->loop = loop;
    ls_status status = open_port(made, why);
    if (status != LS_OK) {
        ls_http_listener_destroy(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_http_listener_destroy(ls_http_listener *listener)
{
    if (!listener) {
        return;
    }
    listener->is_stopping = true;
    for (work *of = listener->works; of; of = of->next) {
        of->exchange->answered = NULL;
        on_answered(of);
    }
    for (stream *of = listener->streams; of; of = of->next) {
        resume_stream(of);
    }
    ls_loop_source_remove(listener->watch);
    if (listener->daemon) {
        MHD_stop_daemon(listener->daemon);
    }
    ls_loop_source_remove(listener->poll);
    ls_loop_source_remove(listener->upkeep);
    ls_loop_source_remove(listener->alarm);
    ls_http_api_deinit(&listener->api);
    ls_release(ls_allocator_heap(), listener);
}

ls_endpoint ls_http_listener_endpoint(const ls_http_listener *listener)
{
    return listener->endpoint;
}
