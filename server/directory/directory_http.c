#include "lockstep/server/directory/directory_http.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/sealed/address_limits.h"
#include "lockstep/server/control/http_daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    CONNECTIONS_MAX = 256,
    CONNECTIONS_PER_ADDRESS = 16,
    IDLE_TIMEOUT_S = 10,
    REQUEST_TIMEOUT_MS = 10000,
    TEND_MS = 250,
    ANSWER_SLOTS = 256, /* addresses may have to share one */
};

static const ls_rate_limit ANSWER_LIMIT = {LS_NS_PER_SECOND / 8, 32};
static const ls_rate_limit ALL_ANSWERS_LIMIT = {LS_NS_PER_SECOND / 64, 256};

/* games.html, and what it loads */
extern const char ls_directory_page[], ls_directory_script[], ls_directory_style[];

static const char text_policy[] = "default-src 'none'; frame-ancestors 'none'";
static const char page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static const struct {
    const char *path, *type, *text;
} files[] = {
    {"/", "text/html; charset=utf-8", ls_directory_page},
    {"/games.js", "text/javascript; charset=utf-8", ls_directory_script},
    {"/games.css", "text/css; charset=utf-8", ls_directory_style},
};

static const char no_such_path[] = "the page with the list of games is at /, the list at "
                                   "/v1/games\n";
static const char too_many[] = "too many ask for the list of games: ask again in a second\n";
static const char no_such_method[] = "the list of games is read with GET\n";

struct ls_directory_http {
    const ls_directory *directory;
    char relay_port[8];
    ls_event_loop *loop;
    ls_loop_source *upkeep;
    ls_http_daemon daemon;
    struct MHD_Response *games; /* that were made last; NULL: none yet */
    uint64_t made_ns;
    uint64_t seed;
    ls_rate_use answers[ANSWER_SLOTS];
    ls_rate_use all_answers;
};

/* ---- answers ---- */

/* Every site's pages may read the list. */
static void add_headers(struct MHD_Response *response, const char *type, const char *caching,
                        const char *policy)
{
    (void)MHD_add_response_header(response, "Content-Type", type);
    (void)MHD_add_response_header(response, "Cache-Control", caching);
    (void)MHD_add_response_header(response, "Access-Control-Allow-Origin", "*");
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "cross-origin");
    (void)MHD_add_response_header(response, "Content-Security-Policy", policy);
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
}

static void release_bytes(void *bytes)
{
    ls_release(ls_allocator_heap(), bytes);
}

static void make_games(ls_directory_http *http, uint64_t now_ns)
{
    size_t size = ls_directory_json_bytes(http->directory);
    char *bytes = ls_allocate(ls_allocator_heap(), size);
    if (!bytes) {
        return;
    }
    ls_directory_write_json(http->directory, bytes);
    struct MHD_Response *made =
        MHD_create_response_from_buffer_with_free_callback_cls(size, bytes, release_bytes, bytes);
    if (!made) {
        release_bytes(bytes);
        return;
    }
    add_headers(made, "application/json", "max-age=1", text_policy);
    (void)MHD_add_response_header(made, "Relay-Port", http->relay_port);
    if (http->games) {
        MHD_destroy_response(http->games);
    }
    http->games = made;
    http->made_ns = now_ns;
}

static bool may_ask(ls_directory_http *http, struct MHD_Connection *connection, uint64_t now_ns)
{
    const ls_http_client *client = ls_http_client_of(connection);
    uint64_t origin = client ? client->origin : 0;
    uint64_t slot = ls_hash_bytes(&origin, sizeof origin, http->seed) % ANSWER_SLOTS;
    return ls_rate_use_spend(&http->answers[slot], &ANSWER_LIMIT, now_ns) &&
           ls_rate_use_spend(&http->all_answers, &ALL_ANSWERS_LIMIT, now_ns);
}

static struct MHD_Response *respond_with(const char *text)
{
    return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
                                           MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response = respond_with(text);
    if (!response) {
        return MHD_NO;
    }
    add_headers(response, "text/plain; charset=utf-8", "no-store", text_policy);
    (void)MHD_add_response_header(response, "Connection", "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_games(ls_directory_http *http, struct MHD_Connection *connection,
                                    uint64_t now_ns)
{
    if (!http->games || now_ns >= http->made_ns + LS_NS_PER_SECOND) {
        make_games(http, now_ns);
    }
    return http->games ? MHD_queue_response(connection, MHD_HTTP_OK, http->games) : MHD_NO;
}

static enum MHD_Result answer_file(struct MHD_Connection *connection, size_t file)
{
    struct MHD_Response *response = respond_with(files[file].text);
    if (!response) {
        return MHD_NO;
    }
    add_headers(response, files[file].type, "max-age=60", page_policy);
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer(ls_directory_http *http, struct MHD_Connection *connection,
                              const char *path)
{
    uint64_t now_ns = ls_event_loop_now_ns(http->loop);
    bool is_list = strcmp(path, "/v1/games") == 0;
    size_t file = 0, count = sizeof files / sizeof files[0];
    while (file < count && strcmp(path, files[file].path) != 0) {
        file++;
    }
    if (!is_list && file == count) {
        return refuse(connection, MHD_HTTP_NOT_FOUND, no_such_path);
    }
    if (!may_ask(http, connection, now_ns)) {
        return refuse(connection, MHD_HTTP_TOO_MANY_REQUESTS, too_many);
    }
    return is_list ? answer_games(http, connection, now_ns) : answer_file(connection, file);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    ls_directory_http *http = user;
    bool is_read = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    (void)version;
    (void)upload;
    if (*upload_size > 0) { /* a body, for which nothing here has a use */
        return MHD_NO;
    }
    if (is_read && !*context) { /* the library closes a connection that is answered so early */
        *context = http;
        return MHD_YES;
    }
    if (!is_read) {
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, no_such_method);
    }
    return answer(http, connection, path);
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code)
{
    ls_directory_http *http = user;
    (void)context;
    (void)code;
    ls_http_client_end_request(&http->daemon, ls_http_client_of(connection));
}

static void keep_up(void *user, uint64_t now_ns)
{
    ls_directory_http *http = user;
    (void)now_ns;
    ls_http_daemon_keep_up(&http->daemon);
}

/* ---- the whole ---- */

static ls_status open_daemon(ls_directory_http *http, const char *place, ls_text *why)
{
    ls_endpoint at;
    ls_status status = ls_endpoint_parse_bound(place, &at, why);
    if (status != LS_OK) {
        return status;
    }
    int descriptor = ls_socket_listen(&at);
    if (descriptor < 0) {
        return ls_fail(LS_IO, why, "the games cannot be served at %s: %s", place, strerror(errno));
    }
    const ls_http_daemon_config daemon = {.host = place,
                                          .descriptor = descriptor,
                                          .connections_max = CONNECTIONS_MAX,
                                          .connections_per_address = CONNECTIONS_PER_ADDRESS,
                                          .idle_timeout_s = IDLE_TIMEOUT_S,
                                          .request_timeout_ms = REQUEST_TIMEOUT_MS,
                                          .on_request = on_request,
                                          .completed = on_completed,
                                          .user = http};
    return ls_http_daemon_open(&http->daemon, &daemon, http->loop, why);
}

ls_status ls_directory_http_open(const char *place, uint16_t relay_port,
                                 const ls_directory *directory, ls_event_loop *loop,
                                 ls_directory_http **out, ls_text *why)
{
    ls_directory_http *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    snprintf(made->relay_port, sizeof made->relay_port, "%u", (unsigned)relay_port);
    made->directory = directory;
    made->loop = loop;
    ls_cipher_random((uint8_t *)&made->seed, sizeof made->seed);
    const ls_loop_handler upkeep = {keep_up, made};
    ls_status status = open_daemon(made, place, why);
    LS_THEN(status, ls_event_loop_add_timer(loop, TEND_MS, upkeep, &made->upkeep));
    if (status != LS_OK) {
        ls_directory_http_close(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_directory_http_close(ls_directory_http *http)
{
    if (!http) {
        return;
    }
    ls_loop_source_remove(http->upkeep);
    ls_http_daemon_close(&http->daemon);
    if (http->games) {
        MHD_destroy_response(http->games);
    }
    ls_release(ls_allocator_heap(), http);
}

uint16_t ls_directory_http_port(const ls_directory_http *http)
{
    return http->daemon.endpoint.port;
}
