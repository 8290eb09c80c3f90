#define _GNU_SOURCE
#include "lockstep/tools/netcond/proxy.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/transport/socket_address.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    BATCH = 64,                        /* datagrams of one socket before the others have a turn */
    SOCKET_BUFFER_BYTES = 4096 * 1024, /* for bursts; the system may give less */
    FORGET_EVERY_MS = 500,
};

typedef struct client {
    netcond_proxy *proxy;
    ls_loop_source *source; /* NULL: a free place */
    int descriptor;         /* connected to the server */
    uint32_t index;
    ls_endpoint endpoint;
    uint64_t heard_ns;
} client;

struct netcond_proxy {
    netcond_proxy_config config;
    const ls_allocator *allocator;
    ls_event_loop *loop;
    int descriptor; /* towards the clients */
    uint16_t port;
    ls_loop_source *clients_source;
    ls_loop_source *alarm;
    ls_loop_source *forget_timer;
    uint64_t alarm_ns; /* when the alarm rings; UINT64_MAX: not set */
    netcond_conditioner *conditioners[NETCOND_DIRECTION_COUNT];
    netcond_proxy_counts counts;
    client *clients; /* clients_max */
    uint8_t datagram[NETCOND_DATAGRAM_BYTES_MAX];
};

netcond_proxy_config netcond_proxy_config_default(void)
{
    return (netcond_proxy_config){
        .listen = ls_endpoint_from_ipv4(htonl(INADDR_LOOPBACK), 0),
        .links = {ls_link_config_default(), ls_link_config_default()},
        .seed = 1,
        .clients_max = 64,
        .idle_ms = 60000,
    };
}

/* ---- sockets ---- */

/* A UDP socket of the endpoint's family that never blocks, or -1. */
static int open_socket(const ls_endpoint *endpoint)
{
    int family = ls_socket_family_of(endpoint);
    int descriptor = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor >= 0) {
        int bytes = SOCKET_BUFFER_BYTES;
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
    return descriptor;
}

static bool bind_to(int descriptor, const ls_endpoint *endpoint)
{
    ls_socket_address address;
    socklen_t bytes = ls_socket_address_of(endpoint, ls_socket_family_of(endpoint), &address);
    return bind(descriptor, &address.any, bytes) == 0;
}

static void close_socket(int descriptor)
{
    if (descriptor >= 0) {
        ls_socket_close(descriptor);
    }
}

/* An address that a socket can be bound to is one of this machine. */
static bool is_own_address(const ls_endpoint *server)
{
    ls_endpoint endpoint = *server;
    endpoint.port = 0;
    int descriptor = open_socket(&endpoint);
    bool is_own = descriptor >= 0 && bind_to(descriptor, &endpoint);
    close_socket(descriptor);
    return is_own;
}

/* ---- packets out ---- */

/* A refusal that was told meanwhile is reported by the next call, which then does nothing: so
 * again. */
static void send_to_server(netcond_proxy *proxy, const client *from,
                           const netcond_conditioned_packet *packet)
{
    ssize_t sent = send(from->descriptor, packet->bytes, packet->size, 0);
    if (sent < 0 && errno == ECONNREFUSED) {
        proxy->counts.unreachable++;
        sent = send(from->descriptor, packet->bytes, packet->size, 0);
    }
    proxy->counts.unsent += sent < 0 ? 1 : 0;
}

static void send_to_client(netcond_proxy *proxy, const client *to,
                           const netcond_conditioned_packet *packet)
{
    ls_socket_address address;
    socklen_t bytes =
        ls_socket_address_of(&to->endpoint, ls_socket_family_of(&proxy->config.listen), &address);
    ssize_t sent = sendto(proxy->descriptor, packet->bytes, packet->size, 0, &address.any, bytes);
    proxy->counts.unsent += sent < 0 ? 1 : 0;
}

static void set_alarm(netcond_proxy *proxy)
{
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        uint64_t due_ns = netcond_conditioner_next_ns(proxy->conditioners[i]);
        next_ns = LS_MIN(due_ns, next_ns);
    }
    if (next_ns != proxy->alarm_ns) {
        ls_loop_alarm_set(proxy->alarm, next_ns);
        proxy->alarm_ns = next_ns;
    }
}

/* Sends what is due. */
static void forward(netcond_proxy *proxy)
{
    netcond_conditioned_packet packet;
    uint64_t now_ns = ls_event_loop_now_ns(proxy->loop);
    while (netcond_conditioner_pop(proxy->conditioners[NETCOND_DIRECTION_UP], now_ns, &packet)) {
        send_to_server(proxy, &proxy->clients[packet.client], &packet);
    }
    while (netcond_conditioner_pop(proxy->conditioners[NETCOND_DIRECTION_DOWN], now_ns, &packet)) {
        send_to_client(proxy, &proxy->clients[packet.client], &packet);
    }
    set_alarm(proxy);
}

static void on_alarm(void *user, uint64_t now_ns)
{
    (void)now_ns;
    netcond_proxy *proxy = user;
    proxy->alarm_ns = UINT64_MAX;
    forward(proxy);
}

/* ---- packets in ---- */

static void put(netcond_proxy *proxy, netcond_direction direction, uint32_t index, size_t size)
{
    netcond_conditioner_put(proxy->conditioners[direction], index, proxy->datagram, size,
                            ls_event_loop_now_ns(proxy->loop));
}

static void on_server(void *user, uint64_t now_ns)
{
    (void)now_ns;
    client *to = user;
    netcond_proxy *proxy = to->proxy;
    for (uint32_t i = 0; i < BATCH; i++) {
        ssize_t size = recv(to->descriptor, proxy->datagram, sizeof proxy->datagram, MSG_TRUNC);
        if (size >= 0) {
            put(proxy, NETCOND_DIRECTION_DOWN, to->index, (size_t)size);
        } else if (errno == ECONNREFUSED) {
            proxy->counts.unreachable++;
        } else {
            break;
        }
    }
    forward(proxy);
}

static client *find_client(netcond_proxy *proxy, const ls_endpoint *endpoint)
{
    for (uint32_t i = 0; i < proxy->config.clients_max; i++) {
        client *seated = &proxy->clients[i];
        if (seated->source && ls_endpoint_is_equal(&seated->endpoint, endpoint)) {
            return seated;
        }
    }
    return NULL;
}

static client *find_place(netcond_proxy *proxy)
{
    for (uint32_t i = 0; i < proxy->config.clients_max; i++) {
        if (!proxy->clients[i].source) {
            return &proxy->clients[i];
        }
    }
    return NULL;
}

static void log_client(const netcond_proxy *proxy, const client *about, const char *what)
{
    char text[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(&about->endpoint, text);
    ls_log_line(proxy->config.log, LS_LOG_INFO, "%s %s, %" PRIu32 " now", text, what,
                proxy->counts.clients);
}

/* Partitions count from the first packet: a script cannot know when the proxy began to wait. */
static void seat(netcond_proxy *proxy, client *place, const ls_endpoint *endpoint, uint64_t now_ns)
{
    place->endpoint = *endpoint;
    proxy->counts.clients++;
    proxy->counts.clients_seen++;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        if (proxy->counts.clients_seen == 1) {
            netcond_conditioner_set_origin(proxy->conditioners[i], now_ns);
        }
        netcond_conditioner_open(proxy->conditioners[i], place->index, proxy->counts.clients_seen);
    }
    log_client(proxy, place, "joined");
}

/* A place and a socket for somebody new, or NULL. */
static client *admit(netcond_proxy *proxy, const ls_endpoint *endpoint, uint64_t now_ns)
{
    client *place = find_place(proxy);
    const ls_endpoint *server = &proxy->config.server;
    int descriptor = place ? open_socket(server) : -1;
    ls_socket_address address;
    socklen_t bytes = ls_socket_address_of(server, ls_socket_family_of(server), &address);
    if (descriptor >= 0) {
        place->descriptor = descriptor;
        bool is_connected = connect(descriptor, &address.any, bytes) == 0;
        ls_loop_handler handler = {on_server, place};
        if (is_connected &&
            ls_event_loop_watch(proxy->loop, descriptor, handler, &place->source) == LS_OK) {
            seat(proxy, place, endpoint, now_ns);
            return place;
        }
        close_socket(descriptor);
    }
    if (proxy->counts.refused++ == 0) {
        ls_log_line(proxy->config.log, LS_LOG_WARNING, "no room for another client: there are %u",
                    (unsigned)proxy->counts.clients);
    }
    return NULL;
}

static void receive_from_client(netcond_proxy *proxy, const ls_socket_address *from, size_t size)
{
    ls_endpoint endpoint = ls_socket_address_endpoint(from);
    uint64_t now_ns = ls_event_loop_now_ns(proxy->loop);
    client *sender = find_client(proxy, &endpoint);
    if (!sender) {
        sender = admit(proxy, &endpoint, now_ns);
    }
    if (sender) {
        sender->heard_ns = now_ns;
        put(proxy, NETCOND_DIRECTION_UP, sender->index, size);
    }
}

static void on_clients(void *user, uint64_t now_ns)
{
    (void)now_ns;
    netcond_proxy *proxy = user;
    for (uint32_t i = 0; i < BATCH; i++) {
        ls_socket_address from;
        socklen_t from_bytes = sizeof from;
        ssize_t size = recvfrom(proxy->descriptor, proxy->datagram, sizeof proxy->datagram,
                                MSG_TRUNC, &from.any, &from_bytes);
        if (size < 0) {
            break;
        }
        receive_from_client(proxy, &from, (size_t)size);
    }
    forward(proxy);
}

/* ---- clients that leave ---- */

static void unseat(netcond_proxy *proxy, client *leaving)
{
    ls_loop_source_remove(leaving->source);
    close_socket(leaving->descriptor);
    leaving->source = NULL;
    proxy->counts.clients--;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        netcond_conditioner_close(proxy->conditioners[i], leaving->index);
    }
}

static void on_forget(void *user, uint64_t now_ns)
{
    netcond_proxy *proxy = user;
    for (uint32_t i = 0; i < proxy->config.clients_max; i++) {
        client *seated = &proxy->clients[i];
        if (seated->source && now_ns >= seated->heard_ns &&
            now_ns - seated->heard_ns >= proxy->config.idle_ms * LS_NS_PER_MS) {
            unseat(proxy, seated);
            proxy->counts.clients_forgotten++;
            log_client(proxy, seated, "is silent and was forgotten");
        }
    }
}

/* ---- opening and closing ---- */

static ls_status bind_listener(netcond_proxy *proxy, ls_text *why)
{
    ls_socket_address address;
    socklen_t bytes = sizeof address;
    proxy->descriptor = open_socket(&proxy->config.listen);
    if (proxy->descriptor < 0 || !bind_to(proxy->descriptor, &proxy->config.listen) ||
        getsockname(proxy->descriptor, &address.any, &bytes) != 0) {
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&proxy->config.listen, text);
        return ls_fail(LS_IO, why, "cannot listen on %s: %s", text, strerror(errno));
    }
    proxy->port = ls_socket_address_endpoint(&address).port;
    const ls_endpoint *server = &proxy->config.server;
    ls_endpoint own = proxy->config.listen;
    own.port = proxy->port;
    if (server->port == proxy->port && (ls_endpoint_is_equal(&own, server) ||
                                        (ls_endpoint_is_any(&own) && is_own_address(server)))) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the server is the proxy itself: give one of them another port");
    }
    return LS_OK;
}

static ls_status make_conditioners(netcond_proxy *proxy)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT && status == LS_OK; i++) {
        netcond_conditioner_config config = {.link = proxy->config.links[i],
                                             .seed = proxy->config.seed,
                                             .direction = (netcond_direction)i,
                                             .clients_max = proxy->config.clients_max};
        status = netcond_conditioner_create(&config, proxy->allocator, &proxy->conditioners[i]);
    }
    return status;
}

static ls_status add_sources(netcond_proxy *proxy)
{
    ls_event_loop *loop = proxy->loop;
    ls_loop_handler clients = {on_clients, proxy};
    ls_loop_handler alarm = {on_alarm, proxy};
    ls_loop_handler forget = {on_forget, proxy};
    ls_status status =
        ls_event_loop_watch(loop, proxy->descriptor, clients, &proxy->clients_source);
    LS_THEN(status, ls_event_loop_add_alarm(loop, alarm, &proxy->alarm));
    LS_THEN(status, ls_event_loop_add_timer(loop, FORGET_EVERY_MS, forget, &proxy->forget_timer));
    return status;
}

static ls_status build(netcond_proxy *proxy, ls_text *why)
{
    uint32_t places = proxy->config.clients_max;
    proxy->clients = ls_allocate_array(proxy->allocator, places, sizeof *proxy->clients);
    if (!proxy->clients) {
        return LS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < places; i++) {
        proxy->clients[i].proxy = proxy;
        proxy->clients[i].index = i;
    }
    ls_status status = make_conditioners(proxy);
    LS_THEN(status, bind_listener(proxy, why));
    return status == LS_OK ? add_sources(proxy) : status;
}

ls_status netcond_proxy_open(const netcond_proxy_config *config, ls_event_loop *loop,
                             const ls_allocator *allocator, netcond_proxy **out, ls_text *why)
{
    LS_ASSERT(config->idle_ms > 0 && config->log);
    netcond_proxy *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    made->config = *config;
    if (ls_endpoint_is_any(&config->server)) { /* what the system makes of it */
        made->config.server = ls_endpoint_loopback_like(&config->server);
    }
    made->allocator = allocator;
    made->loop = loop;
    made->descriptor = -1;
    made->alarm_ns = UINT64_MAX;
    ls_text reason = {{0}};
    ls_status status = build(made, &reason);
    if (status != LS_OK) {
        ls_text_set(why, "%s", reason.bytes[0] ? reason.bytes : ls_status_text(status));
        netcond_proxy_close(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void netcond_proxy_close(netcond_proxy *proxy)
{
    if (!proxy) {
        return;
    }
    for (uint32_t i = 0; proxy->clients && i < proxy->config.clients_max; i++) {
        if (proxy->clients[i].source) {
            unseat(proxy, &proxy->clients[i]);
        }
    }
    ls_loop_source_remove(proxy->clients_source);
    ls_loop_source_remove(proxy->alarm);
    ls_loop_source_remove(proxy->forget_timer);
    close_socket(proxy->descriptor);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        netcond_conditioner_destroy(proxy->conditioners[i]);
    }
    ls_release(proxy->allocator, proxy->clients);
    ls_release(proxy->allocator, proxy);
}

uint16_t netcond_proxy_port(const netcond_proxy *proxy)
{
    return proxy->port;
}

netcond_proxy_counts netcond_proxy_counts_of(const netcond_proxy *proxy)
{
    return proxy->counts;
}

const netcond_conditioner_figures *netcond_proxy_figures(const netcond_proxy *proxy,
                                                         netcond_direction direction)
{
    return netcond_conditioner_figures_of(proxy->conditioners[direction]);
}
