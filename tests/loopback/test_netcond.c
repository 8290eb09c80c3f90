#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/base/clock.h"
#include "lockstep/tests/loopback/station.h"
#include "lockstep/tools/netcond/netcond.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PERCENT = 10000, /* in millionths */
    CLIENTS = 4,
    PACKETS_MAX = 1000,
};

#define MS LS_NS_PER_MS

/* The packet that a client sends, and the server sends back. */
typedef struct payload {
    uint32_t client;
    uint32_t number;
    uint64_t sent_ns;
} payload;

/* A datagram that came to one of the ends. */
typedef struct arrival {
    payload payload;
    uint64_t now_ns;
    uint16_t port; /* it came from */
} arrival;

/* One end: a socket and what it has heard. */
typedef struct end {
    int descriptor;
    uint16_t port;
    uint32_t count;
    size_t last_size;
    arrival arrivals[PACKETS_MAX];
} end;

/* By when the packets of a direction have to leave, in the order in which they came. */
typedef struct promises {
    uint64_t latest_ns[PACKETS_MAX];
    uint32_t count;
    uint32_t due;
} promises;

/* Clients, a proxy and a server that sends everything back, in one thread on one loop. */
typedef struct scene {
    ls_event_loop *loop;
    netcond_proxy *proxy;
    netcond_proxy_config config;
    end server;
    end clients[CLIENTS];
    uint32_t sent;
    uint32_t to_send; /* one by each tick */
    uint32_t sender;
    bool echoes;
    bool is_punctual; /* nothing is lost or overtaken, and no delay is longer than it may be */
    promises promises[NETCOND_DIRECTION_COUNT];
    uint64_t tick_ns; /* of the tick before */
    bool (*is_done)(void);
    uint64_t deadline_ns;
} scene;

static scene made;
static netcond_proxy_config config; /* of the scene, until it is opened */

static void on_packet(end *heard, const payload *data, size_t size, uint16_t port, uint64_t now_ns)
{
    heard->last_size = size;
    cr_assert_lt(heard->count, PACKETS_MAX);
    heard->arrivals[heard->count++] = (arrival){*data, now_ns, port};
}

static void on_datagrams(void *user, uint64_t unused_ns)
{
    (void)unused_ns;
    end *heard = user;
    struct sockaddr_in from;
    socklen_t from_bytes = sizeof from;
    uint8_t bytes[4096] = {0};
    ssize_t size;
    while ((size = recvfrom(heard->descriptor, bytes, sizeof bytes, 0, (struct sockaddr *)&from,
                            &from_bytes)) >= 0) {
        payload data;
        memcpy(&data, bytes, sizeof data);
        on_packet(heard, &data, (size_t)size, ntohs(from.sin_port), ls_station_now_ns());
        if (heard == &made.server && made.echoes) {
            sendto(heard->descriptor, bytes, (size_t)size, 0, (struct sockaddr *)&from, from_bytes);
        }
        from_bytes = sizeof from;
    }
}

static void send_from(uint32_t client, uint32_t number)
{
    payload data = {client, number, ls_station_now_ns()};
    ls_send_datagram(made.clients[client].descriptor, netcond_proxy_port(made.proxy), &data,
                     sizeof data);
}

static const netcond_conditioner_figures *figures_of(netcond_direction direction)
{
    return netcond_proxy_figures(made.proxy, direction);
}

/* However busy the machine is, what was due at one tick has left by the next: the same loop calls
 * both. */
static void check_promises(netcond_direction direction)
{
    promises *all = &made.promises[direction];
    const ls_link_config *link = &config.links[direction];
    uint64_t latest_ns = ls_event_loop_now_ns(made.loop) + link->delay_ns + link->jitter_ns;
    while (all->due < all->count && all->latest_ns[all->due] <= made.tick_ns) {
        all->due++;
    }
    cr_assert_geq(figures_of(direction)->forwarded, all->due);
    while (all->count < figures_of(direction)->received) {
        all->latest_ns[all->count++] = latest_ns;
    }
}

static void on_tick(void *user, uint64_t now_ns)
{
    (void)user;
    if (made.is_punctual) {
        check_promises(NETCOND_DIRECTION_UP);
        check_promises(NETCOND_DIRECTION_DOWN);
        made.tick_ns = now_ns;
    }
    if (made.sent < made.to_send) {
        send_from(made.sender, made.sent++);
    }
    cr_assert_lt(now_ns, made.deadline_ns, "nothing happened in time");
    if (made.is_done()) {
        ls_event_loop_stop(made.loop);
    }
}

static void open_end(end *opened)
{
    opened->descriptor = ls_open_socket(&opened->port);
    ls_loop_handler handler = {on_datagrams, opened};
    cr_assert_eq(ls_event_loop_watch(made.loop, opened->descriptor, handler, NULL), LS_OK);
}

/* With the config, whose server and log become the scene's. */
static void open_scene(void)
{
    static const ls_log quiet = {.level = LS_LOG_ERROR};
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &made.loop), LS_OK);
    open_end(&made.server);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        open_end(&made.clients[i]);
    }
    config.server = ls_endpoint_from_ipv4(htonl(INADDR_LOOPBACK), made.server.port);
    config.log = &quiet;
    ls_text why = {{0}};
    ls_status status =
        netcond_proxy_open(&config, made.loop, ls_allocator_heap(), &made.proxy, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    ls_loop_handler tick = {on_tick, NULL};
    cr_assert_eq(ls_event_loop_add_timer(made.loop, 1, tick, NULL), LS_OK);
}

static void begin(void)
{
    config = netcond_proxy_config_default();
}

static void close_scene(void)
{
    netcond_proxy_close(made.proxy);
    ls_event_loop_destroy(made.loop);
}

TestSuite(netcond, .init = begin, .fini = close_scene);

static void run_until(bool (*is_done)(void))
{
    made.is_done = is_done;
    made.deadline_ns = ls_station_now_ns() + LS_STATION_PATIENCE_NS;
    ls_event_loop_run(made.loop);
}

/* All was sent and whatever is to come has come. */
static bool all_passed(void)
{
    const netcond_conditioner_figures *up = figures_of(NETCOND_DIRECTION_UP);
    const netcond_conditioner_figures *down = figures_of(NETCOND_DIRECTION_DOWN);
    uint64_t back = made.echoes ? made.server.count : 0;
    uint32_t heard = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        heard += made.clients[i].count;
    }
    return made.sent == made.to_send && up->received >= made.sent && up->held == 0 &&
           made.server.count == up->forwarded && down->received == back && down->held == 0 &&
           heard == down->forwarded;
}

/* ---- what passes, and how ---- */

Test(netcond, each_client_has_a_port_of_its_own_and_gets_its_own_answers)
{
    open_scene();
    made.echoes = true;
    for (uint32_t i = 0; i < 40; i++) {
        send_from(i % CLIENTS, i);
    }
    made.sent = made.to_send = 40;
    run_until(all_passed);
    uint16_t ports[CLIENTS] = {0};
    for (uint32_t i = 0; i < made.server.count; i++) {
        const arrival *heard = &made.server.arrivals[i];
        uint32_t client = heard->payload.client;
        cr_assert(ports[client] == 0 || ports[client] == heard->port);
        cr_assert_neq(heard->port, made.clients[client].port);
        ports[client] = heard->port;
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < i; j++) {
            cr_assert_neq(ports[i], ports[j]);
        }
        cr_assert_eq(made.clients[i].count, 10);
        for (uint32_t k = 0; k < 10; k++) {
            const arrival *heard = &made.clients[i].arrivals[k];
            cr_assert_eq(heard->payload.client, i);
            cr_assert_eq(heard->payload.number, k * CLIENTS + i);
            cr_assert_eq(heard->port, netcond_proxy_port(made.proxy));
        }
    }
    cr_assert_eq(netcond_proxy_counts_of(made.proxy).clients, CLIENTS);
}

/* How often each of the packets of the first client comes out, in virtual time. */
static void predict(netcond_direction direction, uint32_t packets, uint8_t times[PACKETS_MAX])
{
    netcond_conditioner_config asked = {.link = config.links[direction],
                                        .seed = config.seed,
                                        .direction = direction,
                                        .clients_max = 1};
    netcond_conditioner *conditioner = NULL;
    cr_assert_eq(netcond_conditioner_create(&asked, ls_allocator_heap(), &conditioner), LS_OK);
    netcond_conditioner_open(conditioner, 0, 1);
    memset(times, 0, PACKETS_MAX);
    for (uint32_t i = 0; i < packets; i++) {
        netcond_conditioned_packet packet;
        netcond_conditioner_put(conditioner, 0, (const uint8_t *)&i, sizeof i, i);
        while (netcond_conditioner_pop(conditioner, UINT64_MAX - 1, &packet)) {
            times[i]++;
        }
    }
    netcond_conditioner_destroy(conditioner);
}

/* Real sockets, and yet exactly the packets that the seed says. */
Test(netcond, the_seed_decides_which_packets_are_lost_and_which_come_twice)
{
    static uint8_t predicted[PACKETS_MAX], heard[PACKETS_MAX];
    config.seed = 77;
    ls_link_config *up = &config.links[NETCOND_DIRECTION_UP];
    up->loss_ppm = 10 * PERCENT;
    up->burst_ppm = 10 * PERCENT;
    up->burst_milli = 3000;
    up->duplicate_ppm = 10 * PERCENT;
    up->delay_ns = 5 * MS;
    open_scene();
    made.to_send = 500;
    run_until(all_passed);
    predict(NETCOND_DIRECTION_UP, made.to_send, predicted);
    uint32_t lost = 0, twice = 0;
    for (uint32_t i = 0; i < made.server.count; i++) {
        heard[made.server.arrivals[i].payload.number]++;
    }
    for (uint32_t i = 0; i < made.to_send; i++) {
        cr_assert_eq(heard[i], predicted[i], "packet %u came %u times", i, heard[i]);
        lost += heard[i] == 0 ? 1 : 0;
        twice += heard[i] == 2 ? 1 : 0;
    }
    const netcond_conditioner_figures *figures = figures_of(NETCOND_DIRECTION_UP);
    cr_assert_eq(netcond_conditioner_lost(figures), lost);
    cr_assert_eq(figures->duplicated, twice);
    cr_assert(lost > 60 && lost < 130, "%u lost", lost); /* 19 % of 500 */
    cr_assert(twice > 20 && twice < 65, "%u twice", twice);
}

/* Never earlier than asked; and later only as check_promises allows. */
static void assert_delays(const end *heard, uint64_t min_ns)
{
    for (uint32_t i = 0; i < heard->count; i++) {
        cr_assert_geq(heard->arrivals[i].now_ns, heard->arrivals[i].payload.sent_ns + min_ns);
    }
}

Test(netcond, delays_are_what_was_asked_each_way)
{
    config.links[NETCOND_DIRECTION_UP].delay_ns = 30 * MS;
    config.links[NETCOND_DIRECTION_UP].jitter_ns = 20 * MS;
    config.links[NETCOND_DIRECTION_DOWN].delay_ns = 50 * MS;
    open_scene();
    made.echoes = true;
    made.is_punctual = true;
    made.to_send = 300;
    run_until(all_passed);
    cr_assert_eq(made.server.count, 300);
    cr_assert_eq(made.clients[0].count, 300);
    cr_assert_geq(made.promises[NETCOND_DIRECTION_UP].due, 200);
    cr_assert_geq(made.promises[NETCOND_DIRECTION_DOWN].due, 200);
    assert_delays(&made.server, 30 * MS); /* packets wait for those before them */
    assert_delays(&made.clients[0], 80 * MS);
    cr_assert_geq(figures_of(NETCOND_DIRECTION_DOWN)->delay.min_ns, 50 * MS);
}

/* Packets of one client leave and arrive in the order of their numbers unless asked otherwise. */
static uint32_t count_overtaken(const end *heard)
{
    uint32_t overtaken = 0, next = 0;
    for (uint32_t i = 0; i < heard->count; i++) {
        uint32_t number = heard->arrivals[i].payload.number;
        overtaken += number < next ? 1 : 0;
        next = number >= next ? number + 1 : next;
    }
    return overtaken;
}

Test(netcond, order_is_kept_under_jitter)
{
    config.links[NETCOND_DIRECTION_UP].jitter_ns = 40 * MS;
    open_scene();
    made.to_send = 300;
    run_until(all_passed);
    cr_assert_eq(made.server.count, 300);
    cr_assert_eq(count_overtaken(&made.server), 0);
}

Test(netcond, reordering_is_what_was_asked_and_what_is_reported)
{
    config.links[NETCOND_DIRECTION_UP].reorder_ppm = 10 * PERCENT;
    config.links[NETCOND_DIRECTION_UP].reorder_ns = 100 * MS;
    open_scene();
    made.to_send = 400;
    run_until(all_passed);
    uint32_t overtaken = count_overtaken(&made.server);
    cr_assert_eq(figures_of(NETCOND_DIRECTION_UP)->reordered, overtaken);
    cr_assert(overtaken >= 20 && overtaken <= 65, "%u overtaken", overtaken);
}

Test(netcond, nothing_passes_faster_than_the_rate)
{
    ls_link_config *up = &config.links[NETCOND_DIRECTION_UP];
    up->rate_bps = 176000; /* 44 bytes, headers counted, take 2 ms */
    up->bucket_bytes = 0;
    open_scene();
    uint64_t start_ns = ls_station_now_ns();
    for (uint32_t i = 0; i < 100; i++) {
        send_from(0, i);
    }
    made.sent = made.to_send = 100;
    run_until(all_passed);
    cr_assert_eq(made.server.count, 100);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_geq(made.server.arrivals[i].now_ns - start_ns, (i + 1) * 2 * MS);
    }
}

static bool all_received(void)
{
    return made.sent == made.to_send && figures_of(NETCOND_DIRECTION_UP)->received == made.sent;
}

Test(netcond, a_partition_lets_nothing_pass)
{
    config.links[NETCOND_DIRECTION_UP].partition_start_ns = 0;
    config.links[NETCOND_DIRECTION_UP].partition_length_ns = 3600 * LS_NS_PER_SECOND;
    open_scene();
    made.to_send = 50;
    run_until(all_received);
    cr_assert_eq(made.server.count, 0);
    cr_assert_eq(figures_of(NETCOND_DIRECTION_UP)->lost[NETCOND_LOSS_PARTITION], 50);
}

Test(netcond, datagrams_of_every_size_pass_up_to_the_limit)
{
    static const size_t sizes[] = {0, 1, 1472, NETCOND_DATAGRAM_BYTES_MAX};
    static const uint8_t bytes[NETCOND_DATAGRAM_BYTES_MAX + 1];
    open_scene();
    made.echoes = true;
    for (uint32_t i = 0; i < 4; i++) {
        ls_send_datagram(made.clients[0].descriptor, netcond_proxy_port(made.proxy), bytes,
                         sizes[i]);
        made.sent = made.to_send = i + 1;
        run_until(all_passed);
        cr_assert_eq(made.server.last_size, sizes[i]);
        cr_assert_eq(made.clients[0].last_size, sizes[i]);
    }
    ls_send_datagram(made.clients[0].descriptor, netcond_proxy_port(made.proxy), bytes,
                     sizeof bytes);
    made.sent = made.to_send = 5;
    run_until(all_passed);
    cr_assert_eq(made.server.count, 4);
    cr_assert_eq(figures_of(NETCOND_DIRECTION_UP)->lost[NETCOND_LOSS_TOO_LARGE], 1);
}

/* ---- clients ---- */

static bool two_were_refused(void)
{
    return netcond_proxy_counts_of(made.proxy).refused >= 2;
}

Test(netcond, clients_beyond_the_limit_are_refused_and_the_others_stay)
{
    config.clients_max = 2;
    open_scene();
    for (uint32_t i = 0; i < CLIENTS; i++) {
        send_from(i, 0);
    }
    run_until(two_were_refused);
    send_from(0, 1);
    made.sent = made.to_send = 3;
    run_until(all_passed);
    netcond_proxy_counts counts = netcond_proxy_counts_of(made.proxy);
    cr_assert_eq(counts.clients, 2);
    cr_assert_eq(counts.clients_seen, 2);
    cr_assert_eq(counts.refused, 2);
    cr_assert_eq(made.server.count, 3);
    cr_assert_eq(made.server.arrivals[2].payload.client, 0);
}

static bool somebody_was_forgotten(void)
{
    return netcond_proxy_counts_of(made.proxy).clients_forgotten > 0;
}

static bool nothing_is_held(void)
{
    return figures_of(NETCOND_DIRECTION_DOWN)->held == 0;
}

static bool server_received_two(void)
{
    return made.server.count >= 2;
}

Test(netcond, a_silent_client_is_forgotten_and_may_come_again)
{
    config.clients_max = 1;
    config.idle_ms = 50;
    config.links[NETCOND_DIRECTION_DOWN].delay_ns = 2 * LS_NS_PER_SECOND;
    open_scene();
    made.echoes = true;
    send_from(0, 0);
    run_until(somebody_was_forgotten);
    cr_assert_eq(netcond_proxy_counts_of(made.proxy).clients, 0);
    cr_assert_eq(made.server.count, 1);
    run_until(nothing_is_held); /* the answer comes to nobody */
    cr_assert_eq(figures_of(NETCOND_DIRECTION_DOWN)->lost[NETCOND_LOSS_NO_CLIENT], 1);
    cr_assert_eq(made.clients[0].count, 0);
    made.sender = 1; /* the only place is free again */
    made.to_send = UINT32_MAX;
    run_until(server_received_two);
    cr_assert_eq(made.server.arrivals[1].payload.client, 1);
    cr_assert_eq(netcond_proxy_counts_of(made.proxy).clients_seen, 2);
}

static bool nobody_listens(void)
{
    return netcond_proxy_counts_of(made.proxy).unreachable > 0;
}

static bool server_received(void)
{
    return made.server.count > 0;
}

/* A proxy may be started before its server, and survive it. */
Test(netcond, a_server_that_is_not_there_yet_is_counted_and_reached_later)
{
    open_scene();
    netcond_proxy_close(made.proxy);
    uint16_t port;
    int late = ls_open_socket(&port);
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    cr_assert_eq(getsockname(late, (struct sockaddr *)&address, &bytes), 0);
    close(late);
    config.server.port = port;
    cr_assert_eq(netcond_proxy_open(&config, made.loop, ls_allocator_heap(), &made.proxy, NULL),
                 LS_OK);
    made.to_send = 1; /* told without sending again */
    run_until(nobody_listens);
    cr_assert_eq(netcond_proxy_counts_of(made.proxy).unreachable, 1);
    made.to_send = UINT32_MAX;
    late = socket(AF_INET, SOCK_DGRAM, 0);
    cr_assert_eq(bind(late, (struct sockaddr *)&address, sizeof address), 0);
    ls_loop_handler handler = {on_datagrams, &made.server};
    int unused = made.server.descriptor;
    made.server.descriptor = late;
    cr_assert_eq(ls_event_loop_watch(made.loop, late, handler, NULL), LS_OK);
    run_until(server_received);
    cr_assert_eq(made.server.arrivals[0].payload.client, 0);
    close(unused);
}

/* ---- opening ---- */

static void assert_cannot_open(ls_status expected, const char *word)
{
    ls_event_loop *loop = NULL;
    netcond_proxy *proxy = NULL;
    ls_text why = {{0}};
    cr_assert_eq(ls_event_loop_create(ls_allocator_heap(), &loop), LS_OK);
    cr_assert_eq(netcond_proxy_open(&config, loop, ls_allocator_heap(), &proxy, &why), expected);
    cr_assert(strstr(why.bytes, word), "'%s' does not say '%s'", why.bytes, word);
    cr_assert_null(proxy);
    ls_event_loop_destroy(loop);
}

Test(netcond, a_proxy_that_cannot_be_opened_says_why)
{
    static const ls_log quiet = {.level = LS_LOG_ERROR};
    uint16_t port;
    int taken = ls_open_socket(&port);
    config.log = &quiet;
    config.server = ls_endpoint_from_ipv4(htonl(INADDR_LOOPBACK), 9);
    config.listen.port = port;
    assert_cannot_open(LS_IO, "cannot listen on 127.0.0.1:");
    close(taken);
    /* An address of nobody here (RFC 5737). */
    config.listen = ls_endpoint_from_ipv4(htonl(0xc0000201), 0);
    assert_cannot_open(LS_IO, "cannot listen on 192.0.2.1:0:");
}

Test(netcond, a_proxy_to_itself_is_refused)
{
    static const ls_log quiet = {.level = LS_LOG_ERROR};
    static const uint32_t addresses[][2] = {{INADDR_LOOPBACK, INADDR_LOOPBACK},
                                            {INADDR_ANY, INADDR_LOOPBACK},
                                            {INADDR_LOOPBACK, INADDR_ANY},
                                            {INADDR_ANY, INADDR_ANY}};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        uint16_t port;
        int probe = ls_open_socket(&port);
        close(probe);
        config.log = &quiet;
        config.listen = ls_endpoint_from_ipv4(htonl(addresses[i][0]), port);
        config.server = ls_endpoint_from_ipv4(htonl(addresses[i][1]), port);
        assert_cannot_open(LS_BAD_ARGUMENT, "the proxy itself");
    }
}
