#include "lockstep/tools/netcond/proxy.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/udp_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum {
    BATCH = 64, /* datagrams of one socket before the others have a turn */
    FORGET_EVERY_MS = 500,
};

_Static_assert(NETCOND_DATAGRAM_BYTES_MAX <= LS_UDP_RECEIVED_BYTES_MAX, "none is cut");

typedef struct client {
    netcond_proxy *proxy;
    ls_loop_source *source;     /* NULL: a free place */
    ls_datagram_socket *socket; /* connected to the server */
    uint32_t index;
    ls_endpoint endpoint;
    uint64_t heard_ns;
} client;

struct netcond_proxy {
    netcond_proxy_config config;
    const ls_allocator *allocator;
    ls_event_loop *loop;
    ls_datagram_socket *socket; /* towards the clients */
    ls_loop_source *clients_source;
    ls_loop_source *alarm;
    ls_loop_source *forget_timer;
    uint64_t alarm_ns; /* when the alarm rings; UINT64_MAX: not set */
    netcond_conditioner *conditioners[NETCOND_DIRECTION_COUNT];
    netcond_proxy_counts counts;
    client *clients; /* clients_max */
};

netcond_proxy_config netcond_proxy_config_default(void)
{
    return (netcond_proxy_config){
        .listen = {.address = {[10] = 0xff, 0xff, 127, 0, 0, 1}},
        .links = {ls_link_config_default(), ls_link_config_default()},
        .seed = 1,
        .clients_max = 64,
        .idle_ms = 60000,
    };
}

/* ---- sockets ---- */

/* An address that a socket can be bound to is one of this machine. */
static bool is_own_address(const ls_endpoint *server)
{
    ls_endpoint endpoint = *server;
    endpoint.port = 0;
    int descriptor = ls_udp_descriptor_listen(&endpoint, false);
    ls_socket_close(descriptor);
    return descriptor >= 0;
}

/* ---- packets out ---- */

/* A refusal that was told meanwhile is reported by the next call, which then does nothing: so
 * again. */
static void send_packet(netcond_proxy *proxy, ls_datagram_socket *by, const ls_endpoint *to,
                        const netcond_conditioned_packet *packet)
{
    ls_udp_sent sent = {0};
    int tries = 0;
    do {
        ls_datagram_socket_send(by, to, packet->bytes, packet->size);
        sent = ls_datagram_socket_flush(by);
        proxy->counts.unreachable += sent.error == ECONNREFUSED ? 1 : 0;
    } while (sent.error == ECONNREFUSED && tries++ == 0);
    proxy->counts.unsent += sent.lost != 0 ? 1 : 0;
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
        send_packet(proxy, proxy->clients[packet.client].socket, NULL, &packet);
    }
    while (netcond_conditioner_pop(proxy->conditioners[NETCOND_DIRECTION_DOWN], now_ns, &packet)) {
        send_packet(proxy, proxy->socket, &proxy->clients[packet.client].endpoint, &packet);
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

static void put(netcond_proxy *proxy, netcond_direction direction, uint32_t index,
                const ls_udp_datagram *came)
{
    netcond_conditioner_put(proxy->conditioners[direction], index, came->bytes, came->size,
                            ls_event_loop_now_ns(proxy->loop));
}

/* Nothing stays in the socket's own memory, of which no readiness tells. */
static bool receive_next(netcond_proxy *proxy, ls_datagram_socket *from, uint32_t others,
                         ls_udp_datagram *out)
{
    ls_udp_receipt receipt = LS_UDP_ERROR;
    while (receipt == LS_UDP_ERROR && (others < BATCH || ls_datagram_socket_has_received(from))) {
        receipt = ls_datagram_socket_receive(from, out);
        bool is_refused = receipt == LS_UDP_ERROR && out->error == ECONNREFUSED;
        proxy->counts.unreachable += is_refused ? 1 : 0;
        others++;
    }
    return receipt == LS_UDP_RECEIVED;
}

static void on_server(void *user, uint64_t now_ns)
{
    client *to = user;
    ls_udp_datagram came;
    ls_datagram_socket_begin_turn(to->socket, now_ns);
    for (uint32_t i = 0; receive_next(to->proxy, to->socket, i, &came); i++) {
        put(to->proxy, NETCOND_DIRECTION_DOWN, to->index, &came);
    }
    forward(to->proxy);
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
    ls_datagram_socket *made = NULL;
    if (place && ls_udp_socket_connect(server, proxy->allocator, &made) == LS_OK) {
        const ls_loop_handler handler = {on_server, place};
        place->socket = made;
        if (ls_event_loop_watch(proxy->loop, ls_datagram_socket_descriptor(made), handler,
                                &place->source) == LS_OK) {
            seat(proxy, place, endpoint, now_ns);
            return place;
        }
        ls_datagram_socket_close(made);
    }
    if (proxy->counts.refused++ == 0) {
        ls_log_line(proxy->config.log, LS_LOG_WARNING, "no room for another client: there are %u",
                    (unsigned)proxy->counts.clients);
    }
    return NULL;
}

static void on_clients(void *user, uint64_t now_ns)
{
    netcond_proxy *proxy = user;
    ls_udp_datagram came;
    ls_datagram_socket_begin_turn(proxy->socket, now_ns);
    for (uint32_t i = 0; receive_next(proxy, proxy->socket, i, &came); i++) {
        client *sender = find_client(proxy, &came.from);
        if (!sender) {
            sender = admit(proxy, &came.from, now_ns);
        }
        if (sender) {
            sender->heard_ns = now_ns;
            put(proxy, NETCOND_DIRECTION_UP, sender->index, &came);
        }
    }
    forward(proxy);
}

/* ---- clients that leave ---- */

static void unseat(netcond_proxy *proxy, client *leaving)
{
    ls_loop_source_remove(leaving->source);
    ls_datagram_socket_close(leaving->socket);
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
    ls_status status =
        ls_udp_socket_listen(&proxy->config.listen, proxy->allocator, &proxy->socket);
    if (status != LS_OK) {
        char text[LS_ENDPOINT_NUMERIC_BYTES];
        ls_endpoint_format(&proxy->config.listen, text);
        return ls_fail(status, why, "cannot listen on %s: %s", text,
                       status == LS_IO ? strerror(errno) : ls_status_text(status));
    }
    const ls_endpoint *server = &proxy->config.server;
    ls_endpoint own = proxy->config.listen;
    own.port = netcond_proxy_port(proxy);
    if (server->port == own.port && (ls_endpoint_is_equal(&own, server) ||
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
    ls_status status = ls_event_loop_watch(loop, ls_datagram_socket_descriptor(proxy->socket),
                                           clients, &proxy->clients_source);
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
    ls_datagram_socket_close(proxy->socket);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        netcond_conditioner_destroy(proxy->conditioners[i]);
    }
    ls_release(proxy->allocator, proxy->clients);
    ls_release(proxy->allocator, proxy);
}

uint16_t netcond_proxy_port(const netcond_proxy *proxy)
{
    return ls_datagram_socket_port(proxy->socket);
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
