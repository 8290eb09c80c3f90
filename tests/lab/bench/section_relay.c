#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/relay/relay_client.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <stdio.h>

#define PATIENCE_NS (10 * LS_NS_PER_SECOND)
#define PAUSE_NS LS_NS_PER_MS
#define GLANCE_NS (200 * LS_NS_PER_US)
#define LOST_NS (50 * LS_NS_PER_MS)

enum {
    PINGS = 2000, /* each way */
    SMOKE_PINGS = 20,
    BURSTS = 1000,
    CALLS = 8, /* of each: what a busy relay finds when it comes back */
    SMOKE_BURSTS = 20,
    BYTES = 100, /* of a datagram, about what a match sends */
    LIMIT_KB = 1000000,
    STOP_MS = 5000,
};

#define WORK_BUDGET_NS 5000 /* 200,000 a second */
#define ADDED_BUDGET_US 300

/* lockstep-relay, and both sides of it in this process. */
typedef struct relay_stage {
    bench_child relay;
    ls_relay_server *server;
    ls_datagram_socket *server_socket, *player_socket, *plain;
    ls_relay_client *player;
    ls_endpoint server_at; /* without the relay */
} relay_stage;

static ls_endpoint here(uint16_t port)
{
    const ls_endpoint any = ls_endpoint_from_ipv4(0, port);
    return ls_endpoint_loopback_like(&any);
}

/* ---- making it ---- */

static ls_status listen_here(ls_datagram_socket **out, uint16_t *port, ls_text *why)
{
    const ls_endpoint at = here(0);
    ls_status status = ls_udp_socket_listen(&at, ls_allocator_heap(), out);
    if (status == LS_OK) {
        *port = ls_datagram_socket_port(*out);
    }
    return status == LS_OK ? LS_OK : ls_fail(status, why, "no UDP socket");
}

/* On a port that was free just now. */
static ls_status start_relay(relay_stage *stage, ls_endpoint *at, ls_text *why)
{
    char path[BENCH_PATH_BYTES_MAX], port[8], limit[16];
    ls_datagram_socket *probe = NULL;
    uint16_t number = 0;
    ls_status status = bench_child_find_program("lockstep-relay", path, why);
    LS_THEN(status, listen_here(&probe, &number, why));
    ls_datagram_socket_close(probe);
    snprintf(port, sizeof port, "%u", (unsigned)number);
    snprintf(limit, sizeof limit, "%d", LIMIT_KB);
    const char *const arguments[] = {
        path,  "--bind",         "127.0.0.1", "--port", port, "--match-limit",
        limit, "--player-limit", limit,       NULL};
    LS_THEN(status, bench_child_start_program(&stage->relay, arguments, why));
    *at = here(number);
    return status;
}

static bool take_one(ls_datagram_socket *socket)
{
    ls_udp_datagram came;
    ls_datagram_socket_begin_turn(socket, bench_now_ns());
    return ls_datagram_socket_receive(socket, &came) == LS_UDP_RECEIVED && came.size == BYTES;
}

/* Both sides do what is due, until the player has reached the server. */
static ls_status meet(relay_stage *stage, const ls_endpoint *relay, ls_text *why)
{
    const uint64_t until_ns = bench_now_ns() + PATIENCE_NS;
    for (uint64_t now_ns = 0; (now_ns = bench_now_ns()) < until_ns; bench_pause_ns(PAUSE_NS)) {
        ls_relay_server_advance(stage->server, now_ns);
        (void)take_one(stage->server_socket);
        if (stage->player) {
            ls_relay_client_turn(stage->player, now_ns);
            if (ls_relay_client_state_of(stage->player) == LS_RELAY_CLIENT_READY) {
                return LS_OK;
            }
        } else if (ls_relay_server_state_of(stage->server) == LS_RELAY_SERVER_REGISTERED) {
            uint16_t port = 0;
            ls_datagram_socket *inner = NULL;
            const ls_relay_client_config config = {.relay = *relay,
                                                   .code = *ls_relay_server_code(stage->server),
                                                   .has_server_key = true,
                                                   .avoids_direct = true};
            ls_status status = listen_here(&inner, &port, why);
            LS_THEN(status,
                    ls_relay_client_create(&config, inner, ls_allocator_heap(), &stage->player));
            if (status != LS_OK) {
                return status;
            }
            stage->player_socket = ls_relay_client_socket(stage->player);
        }
    }
    return ls_fail(LS_TIMED_OUT, why, "lockstep-relay brings nobody together");
}

static ls_status create_stage(relay_stage *stage, ls_text *why)
{
    ls_relay_server_config config = {.relay = {.port = 0}};
    ls_datagram_socket *inner = NULL;
    uint16_t port = 0, plain_port = 0;
    ls_status status = ls_cipher_init();
    LS_THEN(status, start_relay(stage, &config.relay, why));
    if (status != LS_OK) {
        return status;
    }
    ls_key_pair_random(&config.identity);
    status = ls_relay_server_create(&config, ls_allocator_heap(), &stage->server);
    LS_THEN(status, listen_here(&inner, &port, why));
    if (status == LS_OK) {
        stage->server_socket = ls_relay_server_socket(stage->server, inner);
        stage->server_at = here(port);
    }
    LS_THEN(status, listen_here(&stage->plain, &plain_port, why));
    LS_THEN(status, meet(stage, &config.relay, why));
    return status;
}

static void destroy_stage(relay_stage *stage)
{
    ls_datagram_socket_close(stage->player_socket); /* which destroys the player */
    ls_datagram_socket_close(stage->plain);
    ls_datagram_socket_close(stage->server_socket);
    ls_relay_server_destroy(stage->server);
    bench_child_stop(&stage->relay);
}

/* ---- measuring ---- */

static void send_some(ls_datagram_socket *from, const ls_endpoint *to, uint32_t count)
{
    static const uint8_t bytes[BYTES] = {0x81};
    for (uint32_t i = 0; i < count; i++) {
        ls_datagram_socket_send(from, to, bytes, sizeof bytes);
    }
    (void)ls_datagram_socket_flush(from);
}

/* Returns how many of so many have come; `wait` passes the time until there are more. */
static uint32_t take_some(const relay_stage *stage, uint32_t count, void (*wait)(int descriptor))
{
    const int descriptor = ls_datagram_socket_descriptor(stage->server_socket);
    const uint64_t until_ns = bench_now_ns() + LOST_NS;
    uint32_t came = 0;
    while (came < count && bench_now_ns() < until_ns) {
        if (take_one(stage->server_socket)) {
            came++;
        } else if (!ls_datagram_socket_has_received(stage->server_socket)) {
            wait(descriptor);
        }
    }
    return came;
}

static void wait_for_datagram(int descriptor)
{
    (void)ls_socket_await(descriptor, LOST_NS);
}

/* A receiver on another machine is not woken by the relay's processor, and nor is this one. */
static void wait_unwoken(int descriptor)
{
    (void)descriptor;
    bench_pause_ns(GLANCE_NS);
}

static double ping_us(relay_stage *stage, ls_datagram_socket *from, const ls_endpoint *to)
{
    const uint64_t begun_ns = bench_now_ns();
    send_some(from, to, 1);
    (void)take_some(stage, 1, wait_for_datagram);
    return (double)(bench_now_ns() - begun_ns) / (double)LS_NS_PER_US;
}

/* In turns, so that both find the machine alike. A series holds fewer than there are: of each
 * group of pings the median. */
static void measure_delay(relay_stage *stage, const bench_plan *plan, bench_report *report)
{
    bench_series direct = {0}, carried = {0};
    uint32_t groups = plan->is_smoke ? 1 : PINGS / BENCH_ROUNDS_MAX;
    for (uint32_t group = 0; group < groups; group++) {
        bench_series plain = {0}, relayed = {0};
        for (uint32_t i = 0; i < (plan->is_smoke ? SMOKE_PINGS : BENCH_ROUNDS_MAX); i++) {
            bench_series_add(&plain, ping_us(stage, stage->plain, &stage->server_at));
            bench_series_add(&relayed, ping_us(stage, stage->player_socket,
                                               ls_relay_client_server(stage->player)));
            ls_relay_server_advance(stage->server, bench_now_ns());
        }
        bench_series_add(&direct, bench_series_median(&plain));
        bench_series_add(&carried, bench_series_median(&relayed));
    }
    double direct_us = bench_series_median(&direct);
    bench_report_number(report, "a datagram directly, p50", "us", direct_us, BENCH_UNBUDGETED);
    bench_report_number(report, "added by the relay, p50", "us",
                        bench_series_median(&carried) - direct_us, BENCH_MOST(ADDED_BUDGET_US));
}

/* By the processor time that the relay takes for them, whoever else has the processors. */
static ls_status measure_rate(relay_stage *stage, const bench_plan *plan, bench_report *report,
                              ls_text *why)
{
    ls_child_process_end end = {.exit_code = 1};
    bench_times times = {{0}, {0}};
    const double slowdown = bench_slowdown();
    uint64_t sent = 0, came = 0;
    for (uint32_t i = 0; i < (plan->is_smoke ? SMOKE_BURSTS : BURSTS); i++) {
        for (uint32_t k = 0; k < CALLS; k++) {
            send_some(stage->player_socket, ls_relay_client_server(stage->player),
                      LS_UDP_WAITING_MAX);
        }
        came += take_some(stage, CALLS * LS_UDP_WAITING_MAX, wait_unwoken);
        sent += CALLS * LS_UDP_WAITING_MAX;
        ls_relay_server_advance(stage->server, bench_now_ns());
    }
    ls_child_process_ask(&stage->relay.process);
    if (!ls_child_process_wait(&stage->relay.process, STOP_MS, &end) || end.exit_code != 0) {
        return ls_fail(LS_IO, why, "lockstep-relay does not end as it should");
    }
    double work_ns = (double)end.worked_ns / (double)LS_MAX(came, UINT64_C(1));
    bench_times_add(&times, work_ns, slowdown);
    bench_report_times(report, "a datagram, processor time of the relay", "ns", 1, &times,
                       BENCH_MOST(WORK_BUDGET_NS));
    bench_report_number(report, "datagrams a second on one core", "/s",
                        (double)LS_NS_PER_SECOND / work_ns, BENCH_UNBUDGETED);
    bench_report_number(report, "of them lost", "", (double)(sent - came) / (double)sent,
                        BENCH_UNBUDGETED);
    return LS_OK;
}

ls_status bench_relay(const bench_plan *plan, bench_report *report, ls_text *why)
{
    relay_stage stage = {.relay = {.pipe = -1}};
    ls_status status = create_stage(&stage, why);
    if (status == LS_OK) {
        measure_delay(&stage, plan, report);
        status = measure_rate(&stage, plan, report, why);
    }
    destroy_stage(&stage);
    return status;
}
