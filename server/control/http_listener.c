#define _GNU_SOURCE
#include "lockstep/server/control/http_listener.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/server/control/http_daemon.h"
#include "lockstep/server/control/http_routes.h"
#include "lockstep/server/service/service_view.h"

#include <stdlib.h>
#include <string.h>

enum {
    UPKEEP_MS = 250,
    STREAM_POLL_MS = 100,
    STREAM_PIECE_BYTES = 4096,
    DELAYED_MAX = 32, /* wrong tokens whose answers wait */
    TURN_MAX = 8,     /* answers between two looks at who else is there */
};

static const char strictest_policy[] = "default-src 'none'; frame-ancestors 'none'";

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
    bool is_queued; /* until others had their turn */
    bool has_turn;
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
    ls_http_daemon daemon;
    ls_loop_source *upkeep;
    ls_loop_source *poll;
    ls_loop_source *next_turn;
    uint32_t turn_count; /* answers of this turn, and those that wait */
    bool is_stopping;
    uint32_t stream_count;
    ls_http_guard guard;
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

static uint64_t now_of(const ls_http_listener *listener)
{
    return ls_event_loop_now_ns(listener->loop);
}

/* Nothing wakes the library after that. */
static void resume(const ls_http_listener *listener, struct MHD_Connection *connection)
{
    MHD_resume_connection(connection);
    ls_http_daemon_wake(&listener->daemon);
}

/* ---- streams of events ---- */

static void resume_stream(stream *to)
{
    if (to->is_suspended) {
        to->is_suspended = false;
        resume(to->listener, to->connection);
    }
}

static ssize_t read_stream(void *user, uint64_t position, char *buffer, size_t capacity)
{
    stream *from = user;
    const ls_http_listener *listener = from->listener;
    (void)position;
    const char *authorization = ls_http_header_of(from->connection, MHD_HTTP_HEADER_AUTHORIZATION);
    if (listener->is_stopping || from->text.is_cut ||
        !ls_http_routes_may_follow(&listener->api, authorization)) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (from->text.size == 0) {
        ls_http_routes_add_events(listener->config.view, &from->next_event, &from->text);
    }
    if (from->text.size == 0) {
        from->is_suspended = true;
        MHD_suspend_connection(from->connection);
        return 0;
    }
    size_t size = LS_MIN(from->text.size, capacity);
    memcpy(buffer, from->text.bytes, size);
    ls_http_text_drop(&from->text, size);
    from->heartbeat_ns = now_of(listener) + listener->config.heartbeat_ms * LS_NS_PER_MS;
    return (ssize_t)size;
}

static void end_stream(void *user)
{
    stream *of = user;
    ls_http_listener *listener = of->listener;
    LS_HTTP_LIST_REMOVE(listener->streams, of);
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
    made->heartbeat_ns = now_of(listener) + listener->config.heartbeat_ms * LS_NS_PER_MS;
    LS_HTTP_LIST_ADD(listener->streams, made);
    listener->stream_count++;
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, STREAM_PIECE_BYTES, read_stream, made, end_stream);
    if (!response) {
        end_stream(made);
        return NULL;
    }
    ls_loop_source_set_active(listener->poll, true);
    ls_http_client_give_time(&listener->daemon, ls_http_client_of(connection), LS_HTTP_NEVER_NS);
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

/* Clients that do not read cannot make the service keep ever more replies for them, nor keep others
 * from theirs. */
static void hold_reply(const work *of, ls_http_client *by)
{
    ls_http_listener *listener = of->listener;
    uint64_t size = of->exchange->reply.text.size;
    uint64_t size_max = listener->config.reply_bytes_max;
    ls_http_client *slowest = NULL;
    while (size <= size_max && size > size_max - listener->daemon.reply_bytes &&
           (slowest = ls_http_daemon_slowest_reader(&listener->daemon)) != NULL) {
        ls_http_client_shut(&listener->daemon, slowest);
    }
    if (size > size_max - listener->daemon.reply_bytes) {
        of->exchange->is_answered = false;
        of->exchange->answered = NULL;
        ls_http_answer_error(of->exchange, 503, "too many answers are waiting to be read");
        return;
    }
    listener->daemon.reply_bytes += size;
    by->reply_bytes += size;
}

static enum MHD_Result queue_reply(work *of)
{
    ls_http_listener *listener = of->listener;
    ls_http_reply *reply = &of->exchange->reply;
    struct MHD_Response *response = NULL;
    ls_http_client *by = ls_http_client_of(of->connection);
    if (!by || by->is_shut) {
        return MHD_NO;
    }
    hold_reply(of, by);
    ls_http_client_give_time(&listener->daemon, ls_http_client_of(of->connection),
                             listener->config.answer_timeout_ms);
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
    const ls_http_client *by = ls_http_client_of(of->connection);
    const ls_endpoint from = by ? by->from : (ls_endpoint){.port = 0};
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

/* However many ask for how much, a probe is answered in between: what a turn has no time for waits,
 * the oldest first. */
static bool has_turn(work *of, const char *path)
{
    ls_http_listener *listener = of->listener;
    if (of->has_turn || ls_http_routes_is_cheap(path)) {
        return true;
    }
    ls_loop_alarm_set(listener->next_turn, 0);
    of->is_queued = listener->turn_count++ >= TURN_MAX;
    return !of->is_queued;
}

static work *oldest_queued(const ls_http_listener *listener)
{
    work *oldest = NULL;
    for (work *of = listener->works; of; of = of->next) {
        oldest = of->is_queued ? of : oldest;
    }
    return oldest;
}

static void begin_turn(void *user, uint64_t now_ns)
{
    ls_http_listener *listener = user;
    work *next = oldest_queued(listener);
    (void)now_ns;
    for (uint32_t i = 0; i < TURN_MAX && next; i++) {
        next->is_queued = false;
        next->has_turn = true;
        on_answered(next);
        next = oldest_queued(listener);
    }
    listener->turn_count = next ? TURN_MAX : 0; /* new requests are behind it */
    if (next) {
        ls_loop_alarm_set(listener->next_turn, 0);
    }
}

static void route(work *of, const char *method, const char *path)
{
    ls_http_listener *listener = of->listener;
    const ls_http_request request = {
        .method = method,
        .path = path,
        .host = ls_http_header_of(of->connection, MHD_HTTP_HEADER_HOST),
        .authorization = ls_http_header_of(of->connection, MHD_HTTP_HEADER_AUTHORIZATION),
        .last_event_id = ls_http_header_of(of->connection, "Last-Event-ID"),
        .content_type = ls_http_header_of(of->connection, MHD_HTTP_HEADER_CONTENT_TYPE),
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
    LS_HTTP_LIST_ADD(listener->works, made);
    return made;
}

/* The headers are there: a body that is said to be too large is not read at all, nor anything of a
 * request that can be read in two ways. In a body of chunks the library takes an LF alone for the
 * end of a line, and nothing shows it. */
static enum MHD_Result check_head(work *of, const char *method, const char *version)
{
    const char *length = ls_http_header_of(of->connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    ls_http_head head = of->head;
    bool is_odd = ls_http_request_is_ambiguous(of->connection, method, version, &head);
    bool is_chunked = ls_http_header_of(of->connection, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
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
    if (!of->is_routed && has_turn(of, path)) {
        ls_http_client_give_time(&listener->daemon, ls_http_client_of(connection),
                                 LS_HTTP_NEVER_NS);
        route(of, method, path);
    }
    if (of->exchange->is_answered && !of->is_delayed) {
        return queue_reply(of);
    }
    uint64_t wait_ms =
        of->is_delayed ? listener->config.wrong_token_ms : listener->config.answer_timeout_ms;
    of->due_ns = now_of(listener) + wait_ms * LS_NS_PER_MS;
    of->is_suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
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
    ls_http_client_end_request(&listener->daemon, ls_http_client_of(connection));
    LS_HTTP_LIST_REMOVE(listener->works, of);
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

static void keep_up(void *user, uint64_t now_ns)
{
    ls_http_listener *listener = user;
    ls_http_guard_log(&listener->guard, listener->config.log, now_ns);
    answer_overdue_works(listener, now_ns);
    ls_http_daemon_keep_up(&listener->daemon);
}

/* ---- making and unmaking ---- */

static ls_status open_daemon(ls_http_listener *listener, ls_text *why)
{
    const ls_http_listener_config *config = &listener->config;
    const ls_http_daemon_config daemon = {.host = config->host,
                                          .port = config->port,
                                          .descriptor = config->descriptor,
                                          .is_tls = config->is_tls,
                                          .flags = MHD_ALLOW_SUSPEND_RESUME,
                                          .connections_max = config->connections_max,
                                          .connections_per_address =
                                              config->connections_per_address,
                                          .idle_timeout_s = config->idle_timeout_s,
                                          .request_timeout_ms = config->request_timeout_ms,
                                          .on_request = on_request,
                                          .begin = begin_work,
                                          .completed = on_completed,
                                          .user = listener};
    return ls_http_daemon_open(&listener->daemon, &daemon, listener->loop, why);
}

static ls_status add_timers(ls_http_listener *listener)
{
    ls_event_loop *loop = listener->loop;
    const ls_loop_handler upkeep = {keep_up, listener};
    const ls_loop_handler poll = {poll_streams, listener};
    const ls_loop_handler turn = {begin_turn, listener};
    ls_status status = ls_event_loop_add_timer(loop, UPKEEP_MS, upkeep, &listener->upkeep);
    LS_THEN(status, ls_event_loop_add_timer(loop, STREAM_POLL_MS, poll, &listener->poll));
    LS_THEN(status, ls_event_loop_add_alarm(loop, turn, &listener->next_turn));
    if (status == LS_OK) {
        ls_loop_source_set_active(listener->poll, false);
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
    ls_status status = open_daemon(made, why);
    LS_THEN(status, add_timers(made));
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
    ls_http_daemon_close(&listener->daemon);
    ls_loop_source_remove(listener->poll);
    ls_loop_source_remove(listener->next_turn);
    ls_loop_source_remove(listener->upkeep);
    ls_http_text_deinit(&listener->api.metrics);
    ls_release(ls_allocator_heap(), listener);
}

ls_endpoint ls_http_listener_endpoint(const ls_http_listener *listener)
{
    return listener->daemon.endpoint;
}
