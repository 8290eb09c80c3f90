#include "lockstep/server/broadcast/broadcast_http.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/broadcast/broadcasts.h"

#include <string.h>

enum {
    KEEP_UP_MS = 500,
    SHARED = 16, /* segments that are sent to many at the moment */
};

/* Of all replies that were read from journals and are not sent yet. */
#define REPLY_BYTES_MAX ((size_t)512 << 20)

static const char lasting[] = "public, max-age=31536000, immutable";
static const char passing[] = "public, max-age=1";

/* A reply that many get: most spectators want the newest segment. */
typedef struct shared_reply {
    uint64_t match_id;
    uint32_t number;
    struct MHD_Response *response; /* NULL: none */
} shared_reply;

struct ls_broadcast_http {
    ls_event_loop *loop;
    ls_loop_source *upkeep;
    ls_broadcasts *broadcasts;
    size_t reply_bytes;
    shared_reply shared[SHARED];
    uint32_t next_shared;
};

/* ---- replies ---- */

/* Every site's pages may read them, and no browser takes one for a page. */
static void add_headers(struct MHD_Response *response, const char *type, const char *caching)
{
    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Cache-Control", caching);
    (void)MHD_add_response_header(response, "Access-Control-Allow-Origin", "*");
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "cross-origin");
    (void)MHD_add_response_header(response, "Content-Security-Policy",
                                  "default-src 'none'; frame-ancestors 'none'");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

static enum MHD_Result queue_once(struct MHD_Connection *connection, unsigned status,
                                  struct MHD_Response *response)
{
    enum MHD_Result result = response ? MHD_queue_response(connection, status, response) : MHD_NO;
    if (response) {
        MHD_destroy_response(response);
    }
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (response) {
        add_headers(response, "text/plain; charset=utf-8", passing);
    }
    return queue_once(connection, status, response);
}

static enum MHD_Result answer_json(struct MHD_Connection *connection, char *line)
{
    struct MHD_Response *response =
        line ? MHD_create_response_from_buffer(strlen(line), line, MHD_RESPMEM_MUST_COPY) : NULL;
    ls_json_release_line(line);
    if (response) {
        add_headers(response, "application/json", passing);
    }
    return queue_once(connection, MHD_HTTP_OK, response);
}

/* ---- segments ---- */

/* The bytes of a reply, and whom they count for. */
typedef struct reply_bytes {
    ls_broadcast_http *http;
    uint8_t *bytes;
    size_t size;
} reply_bytes;

static void release_reply(void *user)
{
    reply_bytes *reply = user;
    reply->http->reply_bytes -= reply->size;
    ls_release(ls_allocator_heap(), reply->bytes);
    ls_release(ls_allocator_heap(), reply);
}

static struct MHD_Response *find_shared(const ls_broadcast_http *http,
                                        const ls_broadcast_path *path)
{
    for (uint32_t i = 0; i < SHARED; i++) {
        const shared_reply *reply = &http->shared[i];
        if (reply->response && reply->match_id == path->match_id &&
            reply->number == path->segment) {
            return reply->response;
        }
    }
    return NULL;
}

static void share(ls_broadcast_http *http, const ls_broadcast_path *path,
                  struct MHD_Response *response)
{
    shared_reply *place = &http->shared[http->next_shared++ % SHARED];
    if (place->response) {
        MHD_destroy_response(place->response);
    }
    *place = (shared_reply){path->match_id, path->segment, response};
}

static void forget_shared(ls_broadcast_http *http)
{
    for (uint32_t i = 0; i < SHARED; i++) {
        if (http->shared[i].response) {
            MHD_destroy_response(http->shared[i].response);
        }
        http->shared[i].response = NULL;
    }
}

/* Takes the bytes. */
static struct MHD_Response *respond_with(ls_broadcast_http *http, uint8_t *bytes, size_t size)
{
    reply_bytes *reply = ls_allocate(ls_allocator_heap(), sizeof *reply);
    struct MHD_Response *response = reply ? MHD_create_response_from_buffer_with_free_callback_cls(
                                                size, bytes, release_reply, reply)
                                          : NULL;
    if (!response) {
        ls_release(ls_allocator_heap(), bytes);
        ls_release(ls_allocator_heap(), reply);
        return NULL;
    }
    *reply = (reply_bytes){http, bytes, size};
    http->reply_bytes += size;
    add_headers(response, "application/octet-stream", lasting);
    return response;
}

static enum MHD_Result answer_segment(ls_broadcast_http *http, struct MHD_Connection *connection,
                                      ls_broadcast *broadcast, const ls_broadcast_path *path)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct MHD_Response *response = find_shared(http, path);
    if (response) {
        return MHD_queue_response(connection, MHD_HTTP_OK, response);
    }
    if (http->reply_bytes > REPLY_BYTES_MAX) {
        forget_shared(http); /* those that nobody is being sent go at once */
    }
    if (http->reply_bytes > REPLY_BYTES_MAX) {
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "too many read old segments: ask again in a second\n");
    }
    ls_status status = ls_broadcast_segment(http->broadcasts, broadcast, path->segment,
                                            ls_event_loop_now_ns(http->loop), &bytes, &size);
    if (status == LS_NOT_FOUND) {
        return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such segment by now\n");
    }
    response = status == LS_OK ? respond_with(http, bytes, size) : NULL;
    if (!response) {
        return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "the segment cannot be read\n");
    }
    share(http, path, response);
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

bool ls_broadcast_http_has(const char *path)
{
    size_t size = sizeof LS_BROADCAST_ROOT - 1;
    return strncmp(path, LS_BROADCAST_ROOT, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

enum MHD_Result ls_broadcast_http_answer(ls_broadcast_http *http, struct MHD_Connection *connection,
                                         const char *path)
{
    uint64_t now_ns = ls_event_loop_now_ns(http->loop);
    ls_broadcast_path asked;
    if (!ls_broadcast_path_read(path, &asked)) {
        return refuse(connection, MHD_HTTP_NOT_FOUND, "broadcasts are listed at /broadcast\n");
    }
    if (asked.kind == LS_BROADCAST_PATH_LIST) {
        return answer_json(connection, ls_broadcasts_list(http->broadcasts, now_ns));
    }
    ls_broadcast *broadcast = ls_broadcasts_find(http->broadcasts, asked.match_id, now_ns);
    if (!broadcast) {
        return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such broadcast by now\n");
    }
    return asked.kind == LS_BROADCAST_PATH_INDEX
               ? answer_json(connection, ls_broadcast_index(http->broadcasts, broadcast, now_ns))
               : answer_segment(http, connection, broadcast, &asked);
}

/* ---- the whole ---- */

static void keep_up(void *user, uint64_t now_ns)
{
    ls_broadcast_http *http = user;
    ls_broadcasts_keep_up(http->broadcasts, now_ns, (int64_t)(ls_clock_unix_ms() * LS_NS_PER_MS));
}

ls_status ls_broadcast_http_create(const char *folder, uint32_t delay_s, ls_event_loop *loop,
                                   ls_broadcast_http **out)
{
    ls_broadcast_http *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->loop = loop;
    const ls_loop_handler upkeep = {keep_up, made};
    ls_status status =
        ls_broadcasts_create(folder, delay_s, ls_allocator_heap(), &made->broadcasts);
    LS_THEN(status, ls_event_loop_add_timer(loop, KEEP_UP_MS, upkeep, &made->upkeep));
    if (status != LS_OK) {
        ls_broadcast_http_destroy(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_broadcast_http_destroy(ls_broadcast_http *http)
{
    if (!http) {
        return;
    }
    ls_loop_source_remove(http->upkeep);
    forget_shared(http);
    ls_broadcasts_destroy(http->broadcasts);
    ls_release(ls_allocator_heap(), http);
}
