/* A client's cost for its machine: lockstep-client runs as a process of its own, with a bot and
 * without a view, in a match of two on real sockets. Beside it, as a yardstick, runs a process that
 * does nothing but wake once a tick, take in a packet through bare ENet and send one. */
#define _GNU_SOURCE
#include "lockstep/common/base/clock.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/net_server.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <inttypes.h>
#include <time.h>

enum {
    ROUNDS = 5,
    PLAYERS = 2,
    PATIENCE_MS = 60000,
    STARTS = 20,
    PACKET_BYTES = 32, /* payload, about as an INPUTS or TICKS of two has it */
};

#define RATE_HZ 60u
#define TICK_NS (LS_NS_PER_SECOND / RATE_HZ)
#define WARM_NS (3 * LS_NS_PER_SECOND) /* the lead of the inputs is known by then */
#define WINDOW_NS (3 * LS_NS_PER_SECOND)
#define SMOKE_NS (LS_NS_PER_SECOND / 5)
#define SERVER_SPARE_NS (LS_NS_PER_SECOND / 2) /* the clients are looked at before it ends */
#define WAKES_WORD "voluntary_ctxt_switches:"
#define RESIDENT_BUDGET_KB 5120 /* of which the C library alone takes 1,700 */
#define LIBRARIES_BUDGET 15
#define START_BUDGET_MS 3
#define WAKES_BUDGET 1.3 /* one for frame, input and packets, and a few for what comes rarely */
#define KEPT_UP_MIN 0.85
#define KEPT_UP_MAX 1.25

/* ---- the clients ---- */

typedef struct player {
    uint16_t port;
    uint32_t number;
    char program[BENCH_PATH_BYTES_MAX];
} player;

static ls_status start_client(bench_child *child, const player *self, ls_text *why)
{
    char server[32];
    char seed[16];
    const char *const arguments[] = {self->program, server, "--bot", seed, NULL};
    snprintf(server, sizeof server, "127.0.0.1:%u", (unsigned)self->port);
    snprintf(seed, sizeof seed, "%" PRIu32, self->number + 1);
    return bench_child_start_program(child, arguments, why);
}

static void play_plainly(const void *user, int pipe)
{
    const player *self = user;
    bench_plain_client *client = bench_plain_client_connect(self->port);
    uint64_t next_ns = bench_now_ns() + self->number * TICK_NS / PLAYERS;
    (void)pipe;
    while (client) {
        next_ns += TICK_NS;
        struct timespec due = {.tv_sec = (time_t)(next_ns / LS_NS_PER_SECOND),
                               .tv_nsec = (long)(next_ns % LS_NS_PER_SECOND)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        bench_plain_client_turn(client, PACKET_BYTES);
    }
}

static ls_status start_plain_client(bench_child *child, const player *self, ls_text *why)
{
    return bench_child_start(child, play_plainly, self, why);
}

/* ---- what they cost ---- */

typedef struct sample {
    uint64_t taken_ns;
    uint64_t processor_ns;
    uint64_t wakes;
} sample;

static ls_status add_sample(const bench_child *child, sample *sum, ls_text *why)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(child->process.id, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return ls_fail(LS_IO, why, "a client ended before its time");
    }
    sum->processor_ns += (uint64_t)used.tv_sec * LS_NS_PER_SECOND + (uint64_t)used.tv_nsec;
    /* It has slept of its own accord as often as it woke. */
    sum->wakes += (uint64_t)bench_process_number(child->process.id, "status", WAKES_WORD);
    return LS_OK;
}

static ls_status read_sample(const bench_child *clients, sample *out, ls_text *why)
{
    ls_status status = LS_OK;
    *out = (sample){.taken_ns = bench_now_ns()};
    for (uint32_t i = 0; status == LS_OK && i < PLAYERS; i++) {
        status = add_sample(&clients[i], out, why);
    }
    return status;
}

/* Of one client and tick. */
typedef struct cost {
    double processor_ns;
    double wakes;
    double resident_kb;
    uint32_t libraries;
    bool has_kept_up; /* a packet each way, or nearly: the machine had time for every tick */
} cost;

static bool is_kept_up(const bench_net_window *window)
{
    double up = (double)window->packets_up / (double)window->client_ticks;
    double down = (double)window->packets_down / (double)window->client_ticks;
    return up > KEPT_UP_MIN && up < KEPT_UP_MAX && down > KEPT_UP_MIN && down < KEPT_UP_MAX;
}

static ls_status measure(const bench_child *clients, uint64_t window_ns, cost *out, ls_text *why)
{
    sample before;
    sample after;
    ls_status status = read_sample(clients, &before, why);
    bench_pause_ns(window_ns);
    if (status == LS_OK) {
        status = read_sample(clients, &after, why);
    }
    if (status == LS_OK) {
        double ticks = (double)PLAYERS * (double)(after.taken_ns - before.taken_ns) / TICK_NS;
        out->processor_ns = (double)(after.processor_ns - before.processor_ns) / ticks;
        out->wakes = (double)(after.wakes - before.wakes) / ticks;
        out->resident_kb = bench_process_number(clients[0].process.id, "status", "VmRSS:");
        out->libraries = bench_process_libraries(clients[0].process.id);
    }
    return status;
}

/* ---- a server and its clients ---- */

typedef struct side {
    bench_child_work serve;
    ls_status (*start_player)(bench_child *child, const player *self, ls_text *why);
} side;

static const side ours = {bench_net_host_serve, start_client};
static const side plain = {bench_net_relay_serve, start_plain_client};

typedef struct stage {
    bench_child server;
    bench_child clients[PLAYERS];
} stage;

/* Until the window begins. */
static ls_status set_up(stage *on, const side *of, const bench_net_plan *plan, ls_text *why)
{
    player players[PLAYERS];
    uint16_t word = 0;
    ls_status status = bench_child_start(&on->server, of->serve, plan, why);
    if (status == LS_OK) {
        status = bench_child_receive(&on->server, &word, sizeof word, PATIENCE_MS, why);
    }
    for (uint32_t i = 0; status == LS_OK && i < PLAYERS; i++) {
        players[i] = (player){.port = word, .number = i};
        status = bench_child_find_program("lockstep-client", players[i].program, why);
        if (status == LS_OK) {
            status = of->start_player(&on->clients[i], &players[i], why);
        }
    }
    return status == LS_OK ? bench_child_receive(&on->server, &word, sizeof word, PATIENCE_MS, why)
                           : status;
}

static ls_status run_side(const side *of, const bench_plan *bench, cost *out, ls_text *why)
{
    stage on = {0};
    bench_net_window window = {0};
    uint64_t window_ns = bench->is_smoke ? SMOKE_NS : WINDOW_NS;
    bench_net_plan plan = {.clients = PLAYERS,
                           .players = PLAYERS,
                           .rate_hz = RATE_HZ,
                           .down_bytes = PACKET_BYTES,
                           .warm_ns = bench->is_smoke ? SMOKE_NS : WARM_NS,
                           .window_ns = window_ns + SERVER_SPARE_NS,
                           .is_arena = true,
                           .tells_begin = true};
    ls_status status = set_up(&on, of, &plan, why);
    if (status == LS_OK) {
        status = measure(on.clients, window_ns, out, why);
    }
    if (status == LS_OK) {
        status = bench_child_receive(&on.server, &window, sizeof window, PATIENCE_MS, why);
    }
    for (uint32_t i = 0; i < PLAYERS; i++) {
        bench_child_stop(&on.clients[i]);
    }
    bench_child_stop(&on.server);
    if (status == LS_OK && (!window.is_sound || window.client_ticks == 0)) {
        return ls_fail(LS_DESYNCED, why, "not both clients played on");
    }
    out->has_kept_up = status == LS_OK && is_kept_up(&window);
    return status;
}

/* ---- what comes of it ---- */

typedef struct comparison {
    bench_times ours;
    bench_times plain;
    bench_ratios ratios;
    bench_series our_wakes;
    bench_series plain_wakes;
    double resident_kb;
    uint32_t libraries;
    bool has_kept_up;
} comparison;

/* In every second round the other way round. */
static ls_status run_round(comparison *both, const bench_plan *bench, uint32_t round, ls_text *why)
{
    cost of_ours = {0};
    cost of_plain = {0};
    ls_status status = LS_OK;
    for (uint32_t turn = 0; status == LS_OK && turn < 2; turn++) {
        bool is_ours = turn == round % 2;
        cost *now = is_ours ? &of_ours : &of_plain;
        double slowdown = bench_slowdown();
        status = run_side(is_ours ? &ours : &plain, bench, now, why);
        bench_times_add(is_ours ? &both->ours : &both->plain, now->processor_ns, slowdown);
        both->has_kept_up = both->has_kept_up && now->has_kept_up;
    }
    bench_series_add(&both->ratios.rounds, of_ours.processor_ns / of_plain.processor_ns);
    both->resident_kb = of_ours.resident_kb;
    both->libraries = of_ours.libraries;
    bench_series_add(&both->our_wakes, of_ours.wakes);
    bench_series_add(&both->plain_wakes, of_plain.wakes);
    return status;
}

/* ---- what it weighs ---- */

/* The shortest of several runs, from the start to the end. */
static ls_status time_start(const char *program, bool is_smoke, double *ms, ls_text *why)
{
    const char *const arguments[] = {program, "--version", NULL};
    const ls_child_process_config config = {.program = program, .arguments = arguments};
    bench_series runs = {0};
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < (is_smoke ? 1 : STARTS); i++) {
        ls_child_process_end end;
        uint8_t output[256];
        const ls_child_process_exchange exchange = {
            .output = output, .output_bytes_max = sizeof output, .time_max_ms = PATIENCE_MS};
        uint64_t begun_ns = bench_now_ns();
        status = ls_child_process_run(&config, &exchange, &end, why);
        bench_series_add(&runs, (double)(bench_now_ns() - begun_ns));
    }
    *ms = bench_series_min(&runs) / LS_NS_PER_MS;
    return status;
}

static ls_status report_weight(const comparison *both, bool is_smoke, bench_report *report,
                               ls_text *why)
{
    char program[BENCH_PATH_BYTES_MAX];
    double ours_ms = 0;
    double floor_ms = 0;
    ls_status status = bench_child_find_program("lockstep-client", program, why);
    status = status == LS_OK ? time_start(program, is_smoke, &ours_ms, why) : status;
    status = status == LS_OK ? time_start("/bin/true", is_smoke, &floor_ms, why) : status;
    if (status != LS_OK) {
        return status;
    }
    bench_report_number(report, "headless client in the arena: resident memory", "KB",
                        both->resident_kb, BENCH_MOST(RESIDENT_BUDGET_KB));
    bench_report_number(report, "headless client: libraries", "", both->libraries,
                        BENCH_MOST(LIBRARIES_BUDGET));
    bench_report_number(report, "client, from start to end", "ms", ours_ms,
                        is_smoke ? BENCH_UNBUDGETED : BENCH_MOST(START_BUDGET_MS));
    bench_report_number(report, "floor of that: a program that does nothing", "ms", floor_ms,
                        BENCH_UNBUDGETED);
    return LS_OK;
}

ls_status bench_client(const bench_plan *plan, bench_report *report, ls_text *why)
{
    static comparison both;
    ls_status status = LS_OK;
    uint32_t rounds = plan->is_smoke ? 1 : ROUNDS;
    both = (comparison){.has_kept_up = true};
    for (uint32_t round = 0; status == LS_OK && round < rounds; round++) {
        status = run_round(&both, plan, round, why);
    }
    if (status != LS_OK) {
        return status;
    }
    both.ratios.of_bests = bench_series_min(&both.ours.ns) / bench_series_min(&both.plain.ns);
    bench_report_times(report, "2 players: client, a tick", "us", 1000, &both.ours,
                       BENCH_UNBUDGETED);
    bench_report_times(report, "2 players: bare ENet client, a tick", "us", 1000, &both.plain,
                       BENCH_UNBUDGETED);
    bench_report_ratios(report, "2 players: client against bare ENet", &both.ratios,
                        BENCH_UNBUDGETED);
    bench_report_number(report, "2 players: client, wake-ups a tick", "",
                        bench_series_median(&both.our_wakes),
                        both.has_kept_up ? BENCH_MOST(WAKES_BUDGET) : BENCH_UNBUDGETED);
    bench_report_number(report, "2 players: bare ENet client, wake-ups a tick", "",
                        bench_series_median(&both.plain_wakes), BENCH_UNBUDGETED);
    return report_weight(&both, plan->is_smoke, report, why);
}
