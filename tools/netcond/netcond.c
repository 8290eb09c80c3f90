#include "lockstep/tools/netcond/netcond.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/udp_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- proxy ---- */

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

static ls_status proxy_build(netcond_proxy *proxy, ls_text *why)
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
    ls_status status = proxy_build(made, &reason);
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

/* ---- the report ---- */

static double ms_of(uint64_t ns)
{
    return (double)ns / 1e6;
}

static double percent_of(uint64_t part, uint64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static double mean_of(uint64_t sum, uint64_t count)
{
    return count > 0 ? (double)sum / (double)count : 0;
}

/* Bits a second that left, in thousands. */
static double kbit_of(uint64_t bytes, uint64_t elapsed_ns)
{
    return elapsed_ns > 0 ? (double)bytes * 8e6 / (double)elapsed_ns : 0;
}

/* ---- JSON ---- */

static void add_percent(ls_json *json, const char *key, uint32_t ppm)
{
    ls_json_number(json, key, ppm / 1e4);
}

static void add_thousands(ls_json *json, const char *key, uint64_t number)
{
    ls_json_number(json, key, (double)number / 1e3);
}

static void add_asked(ls_json *json, const ls_link_config *link)
{
    ls_json_ms(json, "delay_ms", link->delay_ns);
    ls_json_ms(json, "jitter_ms", link->jitter_ns);
    ls_json_bool(json, "overtake", !link->keeps_order);
    add_percent(json, "loss_percent", link->loss_ppm);
    ls_json *burst = ls_json_object(json, "burst");
    add_percent(burst, "percent", link->burst_ppm);
    add_thousands(burst, "packets", link->burst_milli);
    add_percent(burst, "loss_percent", link->burst_loss_ppm);
    add_percent(json, "duplicate_percent", link->duplicate_ppm);
    ls_json *reorder = ls_json_object(json, "reorder");
    add_percent(reorder, "percent", link->reorder_ppm);
    ls_json_ms(reorder, "ms", link->reorder_ns);
    add_thousands(json, "rate_kbit", link->rate_bps);
    add_thousands(json, "bucket_kb", link->bucket_bytes);
    add_thousands(json, "queue_kb", link->queue_bytes);
    ls_json *partition = ls_json_object(json, "partition_ms");
    ls_json_ms(partition, "start", link->partition_start_ns);
    ls_json_ms(partition, "length", link->partition_length_ns);
    ls_json_ms(partition, "every", link->partition_every_ns);
}

static void add_lost(ls_json *json, const netcond_conditioner_figures *figures)
{
    uint64_t total = netcond_conditioner_lost(figures);
    ls_json *lost = ls_json_object(json, "lost");
    ls_json_number(lost, "total", (double)total);
#define ADD_LOSS(name, key) ls_json_number(lost, #key, (double)figures->lost[NETCOND_LOSS_##name]);
    NETCOND_LOSS_MAP(ADD_LOSS)
#undef ADD_LOSS
    ls_json_number(json, "loss_percent", percent_of(total, figures->received));
    ls_json *runs = ls_json_object(json, "loss_run_packets");
    ls_json_number(runs, "mean", mean_of(total, figures->loss_runs));
    ls_json_number(runs, "longest", (double)figures->longest_loss_run);
}

static void add_times(ls_json *json, const netcond_conditioner_times *times)
{
    ls_json_ms(json, "min", times->count > 0 ? times->min_ns : 0);
    ls_json_number(json, "mean", mean_of(times->sum_ns, times->count) / 1e6);
    ls_json_ms(json, "p50", netcond_conditioner_percentile_ns(times, 50));
    ls_json_ms(json, "p90", netcond_conditioner_percentile_ns(times, 90));
    ls_json_ms(json, "p99", netcond_conditioner_percentile_ns(times, 99));
    ls_json_ms(json, "max", times->max_ns);
}

static void add_measured(ls_json *json, const netcond_conditioner_figures *figures,
                         uint64_t elapsed_ns)
{
#define FIELD(member) LS_JSON_FIELD(netcond_conditioner_figures, member)
    static const ls_json_field fields[] = {
        FIELD(received),   FIELD(received_bytes), FIELD(forwarded), FIELD(forwarded_bytes),
        FIELD(duplicated), FIELD(reordered),      FIELD(held),      FIELD(held_max)};
#undef FIELD
    LS_JSON_ADD(json, fields, figures);
    ls_json_number(json, "forwarded_kbit", kbit_of(figures->forwarded_bytes, elapsed_ns));
    add_lost(json, figures);
    add_times(ls_json_object(json, "delay_ms"), &figures->delay);
    add_times(ls_json_object(json, "late_ms"), &figures->late);
}

static void fill_json(ls_json *json, const void *of)
{
    static const char *const directions[] = {"up", "down"};
#define FIELD(key, member) LS_JSON_FIELD_AS(key, netcond_proxy_counts, member)
    static const ls_json_field clients[] = {FIELD("now", clients), FIELD("seen", clients_seen),
                                            FIELD("forgotten", clients_forgotten)};
    static const ls_json_field datagrams[] = {
        FIELD("refused", refused), FIELD("unreachable", unreachable), FIELD("unsent", unsent)};
#undef FIELD
    const netcond_report *report = of;
    char server[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(&report->config->server, server);
    ls_json_text(json, "program", "lockstep-netcond");
    ls_json_text(json, "server", server);
    ls_json_number(json, "port", report->port);
    ls_json_decimal(json, "seed", report->config->seed);
    ls_json_number(json, "seconds", (double)report->elapsed_ns / 1e9);
    LS_JSON_ADD(ls_json_object(json, "clients"), clients, &report->counts);
    LS_JSON_ADD(json, datagrams, &report->counts);
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        ls_json *direction = ls_json_object(json, directions[i]);
        add_asked(ls_json_object(direction, "asked"), &report->config->links[i]);
        add_measured(ls_json_object(direction, "measured"), report->figures[i], report->elapsed_ns);
    }
}

ls_status netcond_report_write(const netcond_report *report, const char *path, ls_text *why)
{
    return ls_json_save(fill_json, report, path, why);
}

/* ---- for people ---- */

/* One direction for people: what became of its packets, and how long they took. */
static void report_packets(const netcond_conditioner_figures *figures, ls_text *line)
{
    uint64_t lost = netcond_conditioner_lost(figures);
    ls_text_set(line,
                "%" PRIu64 " in, %" PRIu64 " out, %.2f %% lost in runs of %.1f, %" PRIu64
                " twice, %" PRIu64 " reordered",
                figures->received, figures->forwarded, percent_of(lost, figures->received),
                mean_of(lost, figures->loss_runs), figures->duplicated, figures->reordered);
}

static void report_delays(const netcond_conditioner_figures *figures, ls_text *line)
{
    const netcond_conditioner_times *delay = &figures->delay;
    const netcond_conditioner_times *late = &figures->late;
    ls_text_set(line, "delay %.1f ms, p50 %.1f, p99 %.1f; sent %.2f ms late, p99 %.2f",
                mean_of(delay->sum_ns, delay->count) / 1e6,
                ms_of(netcond_conditioner_percentile_ns(delay, 50)),
                ms_of(netcond_conditioner_percentile_ns(delay, 99)),
                mean_of(late->sum_ns, late->count) / 1e6,
                ms_of(netcond_conditioner_percentile_ns(late, 99)));
}

/* ---- the run ---- */

enum {
    PROGRESS_MS = 250
};

/* One packet of a hundred sent so late means that the machine, not the settings, shaped the
 * network. */
#define LATE_P99_NS (3 * LS_NS_PER_MS)

typedef struct netcond {
    const netcond_config *config;
    ls_console *console;
    netcond_proxy_config proxy_config;
    ls_event_loop *loop;
    netcond_proxy *proxy;
    uint64_t start_ns;
} netcond;

static netcond_report report_of(const netcond *host, uint64_t now_ns)
{
    return (netcond_report){
        .config = &host->proxy_config,
        .counts = netcond_proxy_counts_of(host->proxy),
        .port = netcond_proxy_port(host->proxy),
        .elapsed_ns = now_ns - host->start_ns,
        .figures = {netcond_proxy_figures(host->proxy, NETCOND_DIRECTION_UP),
                    netcond_proxy_figures(host->proxy, NETCOND_DIRECTION_DOWN)},
    };
}

/* Prints the figures, a line at a time. */
static void each_line(const netcond_report *report, void (*show)(netcond *, const char *),
                      netcond *host)
{
    static const char *const directions[] = {"up  ", "down"};
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        ls_text figures, line;
        report_packets(report->figures[i], &figures);
        ls_text_set(&line, "%s  %s", directions[i], figures.bytes);
        show(host, line.bytes);
        report_delays(report->figures[i], &figures);
        ls_text_set(&line, "      %s", figures.bytes);
        show(host, line.bytes);
    }
}

static void show_live(netcond *host, const char *line)
{
    ls_console_line(host->console, "%s", line);
}

static void show_logged(netcond *host, const char *line)
{
    ls_log_line(&host->console->log, LS_LOG_INFO, "%s", line);
}

static void show_progress(void *user, uint64_t now_ns)
{
    netcond *host = user;
    ls_console_flush(host->console);
    if (!host->console->is_live) {
        return;
    }
    netcond_report report = report_of(host, now_ns);
    ls_console_begin(host->console);
    ls_console_line(host->console, "%.0f s, %" PRIu32 " clients", (double)report.elapsed_ns / 1e9,
                    report.counts.clients);
    each_line(&report, show_live, host);
    ls_console_end(host->console);
}

static void on_signal(void *user, uint64_t now_ns)
{
    (void)now_ns;
    netcond *host = user;
    ls_event_loop_stop(host->loop);
}

/* Names the causes that made the figures differ from the settings, if any. */
static void warn(const netcond *host, const netcond_report *report)
{
    const ls_log *log = &host->console->log;
    uint64_t late_ns = 0;
    for (uint32_t i = 0; i < NETCOND_DIRECTION_COUNT; i++) {
        uint64_t own_ns = netcond_conditioner_percentile_ns(&report->figures[i]->late, 99);
        late_ns = LS_MAX(own_ns, late_ns);
    }
    if (late_ns > LATE_P99_NS) {
        ls_log_line(log, LS_LOG_WARNING,
                    "this machine was busy: 1 %% of the packets were sent %.1f ms late or more",
                    (double)late_ns / 1e6);
    }
    if (report->counts.unreachable > 0) {
        ls_log_line(log, LS_LOG_WARNING, "%" PRIu64 " times nobody listened at %s",
                    report->counts.unreachable, host->config->server);
    }
    if (report->counts.refused > 0) {
        ls_log_line(log, LS_LOG_WARNING, "%" PRIu64 " packets of clients without a place",
                    report->counts.refused);
    }
}

static ls_exit_code finish(netcond *host)
{
    netcond_report report = report_of(host, ls_event_loop_now_ns(host->loop));
    const ls_log *log = &host->console->log;
    ls_console_clear(host->console);
    ls_text why = {{0}};
    each_line(&report, show_logged, host);
    warn(host, &report);
    if (host->config->json_path &&
        netcond_report_write(&report, host->config->json_path, &why) != LS_OK) {
        ls_log_line(log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    return LS_EXIT_CLEAN;
}

/* ---- building it ---- */

static ls_status find_addresses(netcond *host, ls_text *why)
{
    const netcond_config *config = host->config;
    host->proxy_config = config->proxy;
    host->proxy_config.log = &host->console->log;
    ls_status status = ls_endpoint_resolve(config->listen_host, config->listen_port,
                                           &host->proxy_config.listen, why);
    return status == LS_OK ? ls_endpoint_parse(config->server, &host->proxy_config.server, why)
                           : status;
}

static ls_status add_handlers(netcond *host)
{
    ls_loop_handler signal_handler = {on_signal, host};
    ls_loop_handler progress = {show_progress, host};
    ls_status status = ls_event_loop_add_stop_signals(host->loop, signal_handler);
    if (status == LS_OK) {
        status = ls_event_loop_add_timer(host->loop, PROGRESS_MS, progress, NULL);
    }
    return status;
}

static ls_status write_port_file(const netcond *host, ls_text *why)
{
    const char *path = host->config->port_file;
    return path ? ls_output_write_port(path, netcond_proxy_port(host->proxy), why) : LS_OK;
}

static ls_status build(netcond *host, ls_text *why)
{
    const char *json_path = host->config->json_path;
    ls_status status = json_path ? ls_output_check_path(json_path, why) : LS_OK;
    LS_THEN(status, find_addresses(host, why));
    LS_THEN(status, ls_event_loop_create(ls_allocator_heap(), &host->loop));
    LS_THEN(status, netcond_proxy_open(&host->proxy_config, host->loop, ls_allocator_heap(),
                                       &host->proxy, why));
    LS_THEN(status, add_handlers(host));
    return status == LS_OK ? write_port_file(host, why) : status;
}

ls_exit_code netcond_run(const netcond_config *config, ls_console *console)
{
    netcond host = {.config = config, .console = console};
    ls_text why = {{0}};
    ls_status status = build(&host, &why);
    ls_exit_code code = ls_exit_report(&console->log, status, &why);
    if (status == LS_OK) {
        ls_log_line(&console->log, LS_LOG_INFO, "listening on %s:%u, passing on to %s",
                    config->listen_host, netcond_proxy_port(host.proxy), config->server);
        host.start_ns = ls_event_loop_now_ns(host.loop);
        ls_event_loop_run(host.loop);
        code = finish(&host);
    }
    netcond_proxy_close(host.proxy);
    ls_event_loop_destroy(host.loop);
    return code;
}
