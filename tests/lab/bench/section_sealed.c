#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/builtin.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"
#include "lockstep/tests/lab/virtual/virtual_match.h"

#include <inttypes.h>
#include <string.h>

/* ==== section_sealed ==== */

/* Packets of a batch: they stay in the fastest cache when they are small. */
#define BATCH 64u

/* More than a connection has to open packets from elsewhere, at once. */
#define ATTEMPTS 10000u
/* More REQUESTs than are answered at once. */
#define REQUESTS 20000u

#define SMALL_BYTES 60u
#define LARGE_BYTES LS_PACKET_BYTES_MAX

/* The goal for a packet each way, with warm caches. */
#define PACKET_BUDGET_NS 500

typedef struct datagram {
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    size_t size;
} datagram;

typedef struct sealed_stage {
    ls_sealed_server *server;
    ls_sealed_client *clients[BATCH]; /* one of them is connected, or all try to be */
    ls_endpoint homes[BATCH];
    datagram packets[BATCH];
    uint32_t index; /* of the connection of the first client */
    uint64_t now_ns;
} sealed_stage;

/* ---- making it ---- */

static ls_endpoint address_of(uint32_t number)
{
    ls_endpoint address = ls_endpoint_from_ipv4(0, 4000);
    address.address[12] = 10;
    address.address[14] = (uint8_t)(number >> 8);
    address.address[15] = (uint8_t)number;
    return address;
}

static ls_sealed_received give_server(sealed_stage *stage, const ls_endpoint *from,
                                      datagram *packet)
{
    ls_sealed_received received;
    ls_sealed_server_receive(stage->server, from, packet->bytes, packet->size, stage->now_ns,
                             &received);
    return received;
}

static ls_sealed_client_received give_client(const sealed_stage *stage, ls_sealed_client *client,
                                             const ls_sealed_received *received)
{
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
    ls_sealed_client_received got;
    memcpy(bytes, received->answer, received->answer_bytes);
    ls_sealed_client_receive(client, bytes, received->answer_bytes, stage->now_ns, &got);
    return got;
}

static void pop_due(sealed_stage *stage, uint32_t number)
{
    datagram *packet = &stage->packets[number];
    packet->size = ls_sealed_client_pop_due(stage->clients[number], stage->now_ns, packet->bytes);
    LS_ASSERT(packet->size > 0);
}

/* REQUEST and its answer; then CONFIRM stands in the client's packet. */
static void ask(sealed_stage *stage, uint32_t number)
{
    ls_sealed_client_start(stage->clients[number], stage->now_ns);
    pop_due(stage, number);
    ls_sealed_received received =
        give_server(stage, &stage->homes[number], &stage->packets[number]);
    give_client(stage, stage->clients[number], &received);
    pop_due(stage, number);
}

static void connect_first(sealed_stage *stage)
{
    ask(stage, 0);
    ls_sealed_received received = give_server(stage, &stage->homes[0], &stage->packets[0]);
    ls_sealed_client_received got = give_client(stage, stage->clients[0], &received);
    LS_ASSERT(got.is_opened);
    stage->packets[0].size =
        ls_sealed_client_seal(stage->clients[0], LS_SEALED_PACKET, stage->packets[0].bytes, 0);
    received = give_server(stage, &stage->homes[0], &stage->packets[0]);
    LS_ASSERT(received.is_opened);
    stage->index = received.index;
}

static ls_status create_stage(sealed_stage *stage)
{
    ls_sealed_server_config config = {.connections_max = 2 * BATCH, .per_address_max = 8};
    ls_status status = ls_cipher_init();
    if (status) {
        return status;
    }
    ls_key_pair_random(&config.identity);
    stage->now_ns = 1000 * LS_NS_PER_SECOND;
    status = ls_sealed_server_create(&config, ls_allocator_heap(), &stage->server);
    ls_sealed_client_config client = {.has_server_key = true};
    memcpy(client.server_key, config.identity.public_key, sizeof client.server_key);
    for (uint32_t i = 0; status == LS_OK && i < BATCH; i++) {
        stage->homes[i] = address_of(i);
        status = ls_sealed_client_create(&client, ls_allocator_heap(), &stage->clients[i]);
    }
    if (status == LS_OK) {
        connect_first(stage);
    }
    return status;
}

static void destroy_stage(sealed_stage *stage)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        ls_sealed_client_destroy(stage->clients[i]);
    }
    ls_sealed_server_destroy(stage->server);
}

/* ---- packets ---- */

typedef struct packet_times {
    bench_times seal, open;
} packet_times;

static void seal_batch(sealed_stage *stage, bool is_up, size_t size)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        datagram *packet = &stage->packets[i];
        packet->size =
            is_up ? ls_sealed_client_seal(stage->clients[0], LS_SEALED_PACKET, packet->bytes, size)
                  : ls_sealed_server_seal(stage->server, stage->index, LS_SEALED_PACKET,
                                          packet->bytes, size);
    }
}

static void open_batch(sealed_stage *stage, bool is_up)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        datagram *packet = &stage->packets[i];
        if (is_up) {
            LS_ASSERT(give_server(stage, &stage->homes[0], packet).has_content);
        } else {
            ls_sealed_client_received got;
            ls_sealed_client_receive(stage->clients[0], packet->bytes, packet->size, stage->now_ns,
                                     &got);
            LS_ASSERT(got.has_content);
        }
    }
}

/* Seals and opens batches in turns for as long as a round lasts. */
static void measure_round(sealed_stage *stage, bool is_up, size_t size, const bench_plan *plan,
                          packet_times *times)
{
    double slowdown = bench_slowdown();
    uint64_t clock_ns = bench_clock_cost_ns(), seal_ns = 0, open_ns = 0, batches = 0;
    while (batches == 0 || seal_ns + open_ns < plan->round_ns) {
        uint64_t start_ns = bench_now_ns();
        seal_batch(stage, is_up, size);
        uint64_t sealed_ns = bench_now_ns();
        open_batch(stage, is_up);
        open_ns += bench_now_ns() - sealed_ns - clock_ns;
        seal_ns += sealed_ns - start_ns - clock_ns;
        batches++;
    }
    bench_times_add(&times->seal, (double)seal_ns / (double)(batches * BATCH), slowdown);
    bench_times_add(&times->open, (double)open_ns / (double)(batches * BATCH), slowdown);
}

static void measure_packets(sealed_stage *stage, bool is_up, size_t size, const bench_plan *plan,
                            bench_report *report)
{
    packet_times times = {0};
    for (uint32_t round = 0; round < plan->rounds; round++) {
        measure_round(stage, is_up, size, plan, &times);
    }
    char name[LS_NAME_BYTES_MAX];
    bench_budget budget = size == SMALL_BYTES ? BENCH_MOST(PACKET_BUDGET_NS) : BENCH_UNBUDGETED;
    snprintf(name, sizeof name, "%s seals %zu B", is_up ? "client" : "server", size);
    bench_report_times(report, name, "ns", 1, &times.seal, budget);
    snprintf(name, sizeof name, "%s opens %zu B", is_up ? "server" : "client", size);
    bench_report_times(report, name, "ns", 1, &times.open, budget);
}

/* ---- key exchanges ---- */

/* Server's time for a client that is let in, from CONFIRM to ACCEPT. */
static void measure_exchanges(sealed_stage *stage, const bench_plan *plan, bench_report *report)
{
    bench_times times = {0};
    for (uint32_t round = 0; round < plan->rounds; round++) {
        stage->now_ns += 6 * LS_NS_PER_SECOND; /* those of the round before are forgotten */
        for (uint32_t i = 1; i < BATCH; i++) {
            ask(stage, i);
        }
        double slowdown = bench_slowdown();
        uint64_t start_ns = bench_now_ns();
        for (uint32_t i = 1; i < BATCH; i++) {
            LS_ASSERT(give_server(stage, &stage->homes[i], &stage->packets[i]).answer_bytes > 0);
        }
        double ns = (double)(bench_now_ns() - start_ns) / (BATCH - 1);
        bench_times_add(&times, ns, slowdown);
    }
    bench_report_times(report, "key exchange, server", "us", 1000, &times, BENCH_UNBUDGETED);
    double exchanges = 1e9 / bench_series_median(&times.ns);
    bench_report_number(report, "key exchanges a second", "", exchanges, BENCH_UNBUDGETED);
}

/* ---- floods ---- */

typedef struct flood {
    sealed_stage *stage;
    ls_endpoint from;
    datagram sent;
    uint64_t gap_ns;               /* between two of them */
    ls_sealed_rejection rejection; /* that each of them gets */
} flood;

static void receive_flood(void *user, uint64_t repetitions)
{
    flood *of = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        of->stage->now_ns += of->gap_ns;
        bench_keep((uint64_t)give_server(of->stage, &of->from, &of->sent).rejection);
    }
}

static void measure_flood(flood *of, const char *name, const bench_plan *plan, bench_report *report)
{
    bench_times times = bench_measure(plan, (bench_work){receive_flood, of});
    LS_ASSERT(give_server(of->stage, &of->from, &of->sent).rejection == of->rejection);
    bench_report_times(report, name, "ns", 1, &times, BENCH_UNBUDGETED);
}

static void measure_sealed_floods(sealed_stage *stage, const bench_plan *plan, bench_report *report)
{
    flood of = {.stage = stage, .from = stage->homes[0], .rejection = LS_SEALED_REJECT_FORGED};
    of.sent.size =
        ls_sealed_client_seal(stage->clients[0], LS_SEALED_PACKET, of.sent.bytes, SMALL_BYTES);
    of.sent.bytes[of.sent.size - 1] ^= 1;
    measure_flood(&of, "forged, from its address", plan, report);
    of.from = address_of(5000);
    of.rejection = LS_SEALED_REJECT_LIMITED;
    receive_flood(&of, ATTEMPTS); /* no others are left */
    measure_flood(&of, "forged, from elsewhere", plan, report);
    of.sent.bytes[0] |= 0x0f; /* an index past all */
    of.rejection = LS_SEALED_REJECT_UNKNOWN_PEER;
    measure_flood(&of, "of no connection", plan, report);
    of.sent.bytes[0] = 0x7f;
    of.rejection = LS_SEALED_REJECT_MALFORMED;
    measure_flood(&of, "junk", plan, report);
}

static void measure_exchange_floods(sealed_stage *stage, const bench_plan *plan,
                                    bench_report *report)
{
    stage->now_ns += 6 * LS_NS_PER_SECOND;
    ls_sealed_client_start(stage->clients[1], stage->now_ns);
    pop_due(stage, 1);
    flood of = {.stage = stage, .from = stage->homes[1], .rejection = LS_SEALED_ACCEPTED};
    of.sent = stage->packets[1];
    of.gap_ns = LS_NS_PER_MS; /* within the limit of an address */
    measure_flood(&of, "REQUEST that is answered", plan, report);
    of.gap_ns = 0;
    of.rejection = LS_SEALED_REJECT_LIMITED;
    receive_flood(&of, REQUESTS); /* no more are answered now */
    measure_flood(&of, "REQUEST beyond the limit", plan, report);
    stage->now_ns += 6 * LS_NS_PER_SECOND;
    ask(stage, 1);
    of.sent = stage->packets[1];
    of.from = address_of(5000);
    of.rejection = LS_SEALED_REJECT_COOKIE;
    measure_flood(&of, "CONFIRM, of another address", plan, report);
}

ls_status bench_sealed(const bench_plan *plan, bench_report *report, ls_text *why)
{
    static sealed_stage stage;
    memset(&stage, 0, sizeof stage);
    ls_status status = create_stage(&stage);
    if (status == LS_OK) {
        measure_packets(&stage, true, SMALL_BYTES, plan, report);
        measure_packets(&stage, false, SMALL_BYTES, plan, report);
        measure_packets(&stage, true, LARGE_BYTES, plan, report);
        measure_packets(&stage, false, LARGE_BYTES, plan, report);
        measure_exchanges(&stage, plan, report);
        measure_sealed_floods(&stage, plan, report);
        measure_exchange_floods(&stage, plan, report);
    } else {
        ls_fail(status, why, "%s", ls_status_text(status));
    }
    destroy_stage(&stage);
    return status;
}

/* ==== section_start ==== */

/* How soon a match begins after its players have started to connect, and how far ahead they make
 * inputs in its first second, over the transport of the programs (key exchange, seal, ENet) in
 * virtual time: the same in every run. No player is to be further ahead than a packet takes there
 * and back and four ticks, however much is lost. */

enum {
    PLAYERS = 4,
    RTT_MS = 60,
    LEAD_TICKS_MAX = 4, /* beyond the round trip */
    MATCHES = 50,
    SMOKE_MATCHES = 2,
};

static const uint64_t GLANCE_NS = LS_NS_PER_MS;
static const uint64_t PATIENCE_NS = 30 * LS_NS_PER_SECOND;

typedef struct loss_plan {
    uint32_t percent; /* each way */
    double took_max_ms;
} loss_plan;

static const loss_plan plans[] = {{0, 500}, {5, 1500}, {20, 3000}};

/* Of all matches the slowest, and of all players the one that was furthest ahead. */
typedef struct slowest {
    double took_ms;
    double lead_ms;
    double lead_max_ms; /* that is allowed */
} slowest;

static bool do_all_play(const virtual_match *run)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        if (ls_session_report_of(run->clients[i]->session).state != LS_SESSION_PLAYING) {
            return false;
        }
    }
    return true;
}

static double tick_ms(const virtual_match *run)
{
    return 1000.0 / run->setup.match.sim.tick_rate_hz;
}

/* By how much the player's newest input is ahead of the tick that the server closes next. */
static double lead_ms(const virtual_match *run, const virtual_client *client)
{
    ls_tick next_input = ls_session_report_of(client->session).next_input;
    ls_tick next_close = ls_match_tick(run->match);
    return next_input > next_close ? (next_input - 1 - next_close) * tick_ms(run) : 0;
}

static void watch_first_second(virtual_match *run, slowest *out)
{
    uint64_t end_ns = run->now_ns + LS_NS_PER_SECOND;
    while (run->now_ns < end_ns) {
        virtual_match_run(run, GLANCE_NS);
        for (uint32_t i = 0; i < run->client_count; i++) {
            out->lead_ms = LS_MAX(out->lead_ms, lead_ms(run, run->clients[i]));
        }
    }
}

static ls_status begin_match(const loss_plan *plan, uint64_t seed, slowest *out, ls_text *why)
{
    virtual_setup setup = virtual_setup_default(ls_builtin_simulation_named("arena"), PLAYERS, 0);
    setup.network = virtual_network_of_datagrams;
    setup.seed = seed;
    setup.runs_nothing_again = true;
    setup.link =
        (ls_link_config){.delay_ns = RTT_MS * LS_NS_PER_MS / 2, .loss_ppm = plan->percent * 10000};
    virtual_match *run = virtual_match_create(&setup);
    while (!do_all_play(run) && run->now_ns < PATIENCE_NS) {
        virtual_match_run(run, GLANCE_NS);
    }
    bool has_begun = do_all_play(run);
    out->lead_max_ms = RTT_MS + LEAD_TICKS_MAX * tick_ms(run);
    out->took_ms = LS_MAX(out->took_ms, (double)run->now_ns / 1e6);
    if (has_begun) {
        watch_first_second(run, out);
    }
    virtual_match_destroy(run);
    return has_begun
               ? LS_OK
               : ls_fail(LS_TIMED_OUT, why, "match %" PRIu64 " has not begun after %" PRIu64 " s",
                         seed, PATIENCE_NS / LS_NS_PER_SECOND);
}

static ls_status measure(const loss_plan *plan, uint32_t matches, bench_report *report,
                         ls_text *why)
{
    slowest found = {0};
    ls_status status = LS_OK;
    for (uint64_t seed = 1; status == LS_OK && seed <= matches; seed++) {
        status = begin_match(plan, seed, &found, why);
    }
    if (status == LS_OK) {
        char name[LS_NAME_BYTES_MAX];
        snprintf(name, sizeof name, "%" PRIu32 " %% lost: slowest of %" PRIu32, plan->percent,
                 matches);
        bench_report_number(report, name, "ms", found.took_ms, BENCH_MOST(plan->took_max_ms));
        snprintf(name, sizeof name, "%" PRIu32 " %% lost: largest lead of inputs", plan->percent);
        bench_report_number(report, name, "ms", found.lead_ms, BENCH_MOST(found.lead_max_ms));
    }
    return status;
}

ls_status bench_start(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof plans / sizeof plans[0]; i++) {
        status = measure(&plans[i], plan->is_smoke ? SMOKE_MATCHES : MATCHES, report, why);
    }
    return status;
}
