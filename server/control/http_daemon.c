#define _GNU_SOURCE
#include "lockstep/server/control/http_daemon.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/server/control/tls_files.h"

#include <errno.h>
#include <string.h>

enum {
    MEMORY_PER_CONNECTION = 16384, /* for its headers, and a piece of its body */
    SPARE_CONNECTIONS = 64,        /* of the library: new ones, while those that are closed end */
    TURNS_MAX = 16,                /* of the library, before others of the loop have theirs */
};

static uint64_t now_of(const ls_http_daemon *daemon)
{
    return ls_event_loop_now_ns(daemon->loop);
}

/* ---- driving the library ---- */

static void run_turns(void *user, uint64_t now_ns)
{
    ls_http_daemon *daemon = user;
    unsigned MHD_LONG_LONG wait_ms = 0;
    enum MHD_Result has_timeout = MHD_YES;
    (void)now_ns;
    for (uint32_t i = 0; i < TURNS_MAX && has_timeout == MHD_YES && wait_ms == 0; i++) {
        (void)MHD_run(daemon->library);
        has_timeout = MHD_get_timeout(daemon->library, &wait_ms);
    }
    ls_loop_alarm_set(daemon->alarm, has_timeout == MHD_YES
                                         ? now_of(daemon) + wait_ms * LS_NS_PER_MS
                                         : LS_HTTP_NEVER_NS);
}

void ls_http_daemon_wake(const ls_http_daemon *daemon)
{
    ls_loop_alarm_set(daemon->alarm, 0);
}

/* ---- requests ---- */

const char *ls_http_header_of(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result look_at_header(void *user, enum MHD_ValueKind kind, const char *name,
                                      size_t name_size, const char *value, size_t value_size)
{
    (void)kind;
    ls_http_head_add(user, name, name_size, value, value_size);
    return MHD_YES;
}

bool ls_http_request_is_ambiguous(struct MHD_Connection *connection, const char *method,
                                  const char *version, ls_http_head *head)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    ls_http_head_begin(head, method, version);
    (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look_at_header, head);
    return !info || ls_http_head_is_ambiguous(head, method + info->header_size);
}

/* ---- connections ---- */

ls_http_client *ls_http_client_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void ls_http_client_give_time(const ls_http_daemon *daemon, ls_http_client *client,
                              uint64_t timeout_ms)
{
    if (client && !client->is_shut) {
        client->due_ns = timeout_ms == LS_HTTP_NEVER_NS
                             ? LS_HTTP_NEVER_NS
                             : now_of(daemon) + timeout_ms * LS_NS_PER_MS;
    }
}

static void release_reply(ls_http_daemon *daemon, ls_http_client *client)
{
    daemon->reply_bytes -= client->reply_bytes;
    client->reply_bytes = 0;
}

void ls_http_client_end_request(ls_http_daemon *daemon, ls_http_client *client)
{
    if (client && !client->is_shut) {
        client->since_ns = now_of(daemon);
        ls_http_client_give_time(daemon, client, daemon->config.request_timeout_ms);
        release_reply(daemon, client);
    }
}

void ls_http_client_shut(ls_http_daemon *daemon, ls_http_client *client)
{
    ls_socket_shut(client->descriptor);
    client->is_shut = true;
    client->due_ns = LS_HTTP_NEVER_NS;
    release_reply(daemon, client);
}

/* Of two that may be closed, the one that goes on longer without the end of a request. */
static ls_http_client *slower_of(ls_http_client *a, ls_http_client *b)
{
    if (b->due_ns == LS_HTTP_NEVER_NS) {
        return a;
    }
    return a && a->since_ns <= b->since_ns ? a : b;
}

ls_http_client *ls_http_daemon_slowest_reader(const ls_http_daemon *daemon)
{
    ls_http_client *slowest = NULL;
    for (ls_http_client *of = daemon->clients; of; of = of->next) {
        slowest = of->reply_bytes > 0 ? slower_of(slowest, of) : slowest;
    }
    return slowest;
}

/* A new connection gets in, so that a probe does while others read slowly or not at all: where
 * there are too many, of its own address or in all, the slowest one goes. */
static void make_room(ls_http_daemon *daemon, ls_http_client *newest)
{
    uint32_t neighbours = 0;
    uint32_t all = 0;
    ls_http_client *slowest_neighbour = NULL;
    ls_http_client *slowest = NULL;
    for (ls_http_client *of = newest->next; of; of = of->next) {
        bool is_neighbour = of->origin == newest->origin;
        if (!of->is_shut) {
            all++;
            neighbours += is_neighbour;
            slowest = slower_of(slowest, of);
            slowest_neighbour = is_neighbour ? slower_of(slowest_neighbour, of) : slowest_neighbour;
        }
    }
    if (neighbours >= daemon->config.connections_per_address) {
        ls_http_client_shut(daemon, slowest_neighbour ? slowest_neighbour : newest);
    } else if (all >= daemon->config.connections_max && slowest) {
        ls_http_client_shut(daemon, slowest);
    }
}

static void add_client(ls_http_daemon *daemon, ls_http_client *client, int descriptor)
{
    (void)ls_socket_peer(descriptor, &client->from);
    client->descriptor = descriptor;
    client->origin = ls_endpoint_origin(&client->from);
    client->since_ns = now_of(daemon);
    client->due_ns = client->since_ns + daemon->config.request_timeout_ms * LS_NS_PER_MS;
    LS_HTTP_LIST_ADD(daemon->clients, client);
    make_room(daemon, client);
}

static void remove_client(ls_http_daemon *daemon, ls_http_client *client)
{
    release_reply(daemon, client);
    LS_HTTP_LIST_REMOVE(daemon->clients, client);
    ls_release(ls_allocator_heap(), client);
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    ls_http_daemon *daemon = user;
    ls_http_client *client = *context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        client = info ? ls_allocate(ls_allocator_heap(), sizeof *client) : NULL;
        if (client) {
            add_client(daemon, client, info->connect_fd);
        }
        *context = client;
    } else if (client) {
        remove_client(daemon, client);
        *context = NULL;
    }
}

/* The library, when it had as many connections as it may have, looks for new ones again in a turn
 * behind the one in which others ended: nothing but this gives it that turn. */
void ls_http_daemon_keep_up(ls_http_daemon *daemon)
{
    uint64_t now_ns = now_of(daemon);
    for (ls_http_client *of = daemon->clients; of; of = of->next) {
        if (now_ns >= of->due_ns) {
            ls_http_client_shut(daemon, of);
        }
    }
    run_turns(daemon, now_ns);
}

/* ---- opening and closing ---- */

static ls_status fail_io(ls_text *why, const char *host)
{
    return ls_fail(LS_IO, why, "HTTP cannot listen on %s: %s", host, strerror(errno));
}

/* A socket that listens. */
static ls_status open_socket(const ls_http_daemon_config *config, int *out, ls_text *why)
{
    ls_endpoint endpoint;
    ls_status status = ls_endpoint_resolve(config->host, config->port, &endpoint, why);
    if (status != LS_OK) {
        return LS_BAD_ARGUMENT;
    }
    *out = ls_socket_listen(&endpoint);
    return *out >= 0 ? LS_OK : fail_io(why, config->host);
}

/* Takes the socket. */
static ls_status start(ls_http_daemon *daemon, int descriptor, ls_text *why)
{
    const ls_http_daemon_config *config = &daemon->config;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, ls_tls_files_priorities()},
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, ls_tls_files_retrieve()},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem *options = config->is_tls ? tls : &tls[2];
    daemon->library = MHD_start_daemon(
        MHD_USE_EPOLL | config->flags | (config->is_tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
        config->on_request, config->user, MHD_OPTION_LISTEN_SOCKET, descriptor,
        MHD_OPTION_NOTIFY_COMPLETED, config->completed, config->user, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, daemon, MHD_OPTION_URI_LOG_CALLBACK, config->begin, config->user,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)config->connections_max + SPARE_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)config->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_PER_CONNECTION,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    return daemon->library ? LS_OK : fail_io(why, config->host);
}

static ls_status watch(ls_http_daemon *daemon)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(daemon->library, MHD_DAEMON_INFO_EPOLL_FD);
    const ls_loop_handler turns = {run_turns, daemon};
    ls_status status = info ? LS_OK : LS_IO;
    LS_THEN(status, ls_event_loop_watch(daemon->loop, info->epoll_fd, turns, &daemon->watch));
    LS_THEN(status, ls_event_loop_add_alarm(daemon->loop, turns, &daemon->alarm));
    return status;
}

ls_status ls_http_daemon_open(ls_http_daemon *daemon, const ls_http_daemon_config *config,
                              ls_event_loop *loop, ls_text *why)
{
    daemon->config = *config;
    daemon->loop = loop;
    int descriptor = config->descriptor;
    ls_status status = descriptor < 0 ? open_socket(config, &descriptor, why) : LS_OK;
    if (status == LS_OK && !ls_socket_listen_ready(descriptor, &daemon->endpoint)) {
        status = fail_io(why, "its socket");
    }
    LS_THEN(status, start(daemon, descriptor, why));
    if (status == LS_OK) {
        status = watch(daemon);
        if (status != LS_OK) {
            ls_text_set(why, "HTTP: %s", ls_status_text(status));
        }
    }
    return status;
}

void ls_http_daemon_close(ls_http_daemon *daemon)
{
    ls_loop_source_remove(daemon->watch);
    if (daemon->library) {
        MHD_stop_daemon(daemon->library);
    }
    ls_loop_source_remove(daemon->alarm);
}
