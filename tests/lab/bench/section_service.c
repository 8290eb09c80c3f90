#define _GNU_SOURCE
/* A service of many rooms: lockstep-server --config on two workers, its players beside it. How late
 * it closes ticks, with few rooms and with many, and whether two workers have the players of two
 * for each processor second that one has. */
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/http_transfer.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/light_crowd.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the service as an operator runs it, in a folder of its own, with rooms of the arena that are
 * full of players, and what its metrics say. Players may give way to the service wherever both want
 * a processor, as they would on machines of their own ---- */

#define ROOM_PLAYERS 4u
#define ROOM_BODIES "20" /* a step of a few microseconds: what is measured is around it */
#define LATENESS_BINS_MAX 32u

typedef struct service_plan {
    uint32_t workers;
    uint32_t rooms;   /* each with ROOM_PLAYERS */
    bool gives_way;   /* players run while nobody else wants the processor */
    bool is_apart;    /* the service has the first core for itself, and the players the second */
    bool is_empty;    /* its rooms stay without players, or get them later */
    uint32_t rate_hz; /* 0: RATE_HZ */
    uint32_t delay_ticks; /* of inputs: so many wait for the next packet. 0: a packet a tick */
    uint32_t step;        /* rooms that are added at a time, where their most is looked for */
} service_plan;

/* From the start of the service on. */
typedef struct service_figures {
    uint64_t taken_ns;
    uint64_t rooms; /* that workers have opened */
    uint64_t players;
    uint64_t ticks; /* of all rooms */
    double cpu_s;   /* of all workers */
    uint32_t bins;  /* of how late ticks were closed */
    double edges_ms[LATENESS_BINS_MAX];
    uint64_t counts[LATENESS_BINS_MAX]; /* of ticks no later than the edge */
} service_figures;

enum {
    RATE_HZ = 60,
    PATIENCE_MS = 300000,
    GLANCE_MS = 50,
    ASK_MS = 10000,
};

static uint32_t rate_of(const service_plan *plan)
{
    return plan->rate_hz > 0 ? plan->rate_hz : RATE_HZ;
}

#define SERVICE_CORE 0u
#define PLAYERS_CORE 1u
#define CONFIG_NAME "lockstep.toml"
#define PORT_NAME "port"
#define HTTP_PORT_NAME "http-port"

typedef struct service_stage {
    service_plan plan;
    char folder[BENCH_PATH_BYTES_MAX / 4]; /* empty: none has been made */
    char program[BENCH_PATH_BYTES_MAX];
    uint16_t port;
    uint16_t http_port;
    bench_child server;
    bench_child crowd;
    bench_light_figures *players;
} service_stage;

/* ---- its folder ---- */

static void path_of(const service_stage *stage, const char *name, char path[BENCH_PATH_BYTES_MAX])
{
    snprintf(path, BENCH_PATH_BYTES_MAX, "%s/%s", stage->folder, name);
}

static ls_status make_folder(service_stage *stage, ls_text *why)
{
    const char *parent = getenv("TMPDIR");
    snprintf(stage->folder, sizeof stage->folder, "%s/lockstep-bench-XXXXXX",
             parent && parent[0] != '\0' ? parent : "/tmp");
    if (!mkdtemp(stage->folder)) {
        ls_text_set(why, "cannot make the folder %s: %s", stage->folder, strerror(errno));
        stage->folder[0] = '\0';
        return LS_IO;
    }
    return LS_OK;
}

static void remove_folder(const service_stage *stage)
{
    static const char *const names[] = {CONFIG_NAME, PORT_NAME, HTTP_PORT_NAME};
    char path[BENCH_PATH_BYTES_MAX];
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_of(stage, names[i], path);
        remove(path);
    }
    rmdir(stage->folder);
}

/* It opens rooms until it has so many, since each is full at once. */
static ls_status write_config(const service_stage *stage, ls_text *why)
{
    char path[BENCH_PATH_BYTES_MAX];
    path_of(stage, CONFIG_NAME, path);
    FILE *file = fopen(path, "w");
    if (!file) {
        return ls_fail(LS_IO, why, "cannot write %s: %s", path, strerror(errno));
    }
    fprintf(file,
            "workers = %" PRIu32 "\n"
            "rooms-max = %" PRIu32 "\n"
            "drain-timeout = 0\n"
            "[server]\n"
            "bind = \"127.0.0.1\"\n"
            "port = 0\n"
            "port-file = \"%s/" PORT_NAME "\"\n"
            "[http]\n"
            "port = 0\n"
            "[[rooms]]\n"
            "name = \"arena\"\n"
            "open = %" PRIu32 "\n"
            "sim = \"arena\"\n"
            "params = {bodies = " ROOM_BODIES "}\n"
            "players = %u\n"
            "seed = 1\n"
            "spectators = 0\n"
            "tick-rate = %" PRIu32 "\n"
            "send-rate = \"%s\"\n"
            "input-delay = %" PRIu32 "\n",
            stage->plan.workers, stage->plan.rooms, stage->folder, stage->plan.rooms, ROOM_PLAYERS,
            rate_of(&stage->plan), stage->plan.delay_ticks > 0 ? "saving" : "auto",
            stage->plan.delay_ticks);
    return fclose(file) == 0 ? LS_OK : ls_fail(LS_IO, why, "cannot write %s", path);
}

/* ---- the programs ---- */

/* Idle processes run while no other wants the processor. */
static void play_idly(const void *user, int pipe)
{
    const struct sched_param nothing = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_IDLE, &nothing);
    bench_light_crowd_play(user, pipe);
}

static void play_apart(const void *user, int pipe)
{
    bench_child_stay_on(PLAYERS_CORE);
    bench_light_crowd_play(user, pipe);
}

static bool read_port(const service_stage *stage, const char *name, uint16_t *port)
{
    char path[BENCH_PATH_BYTES_MAX];
    unsigned read = 0;
    path_of(stage, name, path);
    FILE *file = fopen(path, "r");
    bool is_there = file && fscanf(file, "%u", &read) == 1 && read > 0 && read <= UINT16_MAX;
    if (file) {
        fclose(file);
    }
    *port = (uint16_t)read;
    return is_there;
}

/* A process inherits the cores of the one that starts it. */
static ls_status start_program(service_stage *stage, const char *const *arguments, ls_text *why)
{
    cpu_set_t all;
    bool is_known = sched_getaffinity(0, sizeof all, &all) == 0;
    if (stage->plan.is_apart) {
        bench_child_stay_on(SERVICE_CORE);
    }
    ls_status status = bench_child_start_program(&stage->server, arguments, why);
    if (stage->plan.is_apart && is_known) {
        sched_setaffinity(0, sizeof all, &all);
    }
    return status;
}

static ls_status start_server(service_stage *stage, ls_text *why)
{
    char config[BENCH_PATH_BYTES_MAX];
    char port_file[BENCH_PATH_BYTES_MAX + 32];
    path_of(stage, CONFIG_NAME, config);
    snprintf(port_file, sizeof port_file, "--http-port-file=%s/" HTTP_PORT_NAME, stage->folder);
    const char *const arguments[] = {stage->program, "--config", config, port_file, NULL};
    ls_status status = start_program(stage, arguments, why);
    for (uint32_t ms = 0; status == LS_OK; ms += GLANCE_MS) {
        if (read_port(stage, PORT_NAME, &stage->port) &&
            read_port(stage, HTTP_PORT_NAME, &stage->http_port)) {
            return LS_OK;
        }
        if (ms >= PATIENCE_MS) {
            return ls_fail(LS_TIMED_OUT, why, "lockstep-server does not tell its ports");
        }
        bench_pause_ns(GLANCE_MS * LS_NS_PER_MS);
    }
    return status;
}

static ls_status start_crowd(service_stage *stage, ls_text *why)
{
    bench_child_work play = stage->plan.is_apart    ? play_apart
                            : stage->plan.gives_way ? play_idly
                                                    : bench_light_crowd_play;
    stage->players = bench_light_figures_create();
    if (!stage->players) {
        return LS_NO_MEMORY;
    }
    const bench_light_crowd crowd = {.port = stage->port,
                                     .clients_max = stage->plan.rooms * ROOM_PLAYERS,
                                     .rate_hz = rate_of(&stage->plan),
                                     .figures = stage->players};
    return bench_child_start(&stage->crowd, play, &crowd, why);
}

/* ---- what its metrics say ---- */

/* Adds up the lines of that name, whatever their labels. */
static double sum_of(const char *metrics, const char *name)
{
    double sum = 0;
    size_t size = strlen(name);
    for (const char *line = metrics; line; line = strchr(line, '\n')) {
        line += *line == '\n' ? 1 : 0;
        if (strncmp(line, name, size) == 0 && (line[size] == ' ' || line[size] == '{')) {
            const char *value = strchr(line, ' ');
            sum += value ? strtod(value, NULL) : 0;
        }
    }
    return sum;
}

static void read_lateness(const char *metrics, service_figures *out)
{
    static const char name[] = "lockstep_tick_lateness_seconds_bucket{le=\"";
    const char *line = metrics;
    out->bins = 0;
    while ((line = strstr(line, name)) && out->bins < LATENESS_BINS_MAX) {
        char *end = NULL;
        line += sizeof name - 1;
        double edge_s = strtod(line, &end); /* "+Inf" is infinity */
        const char *value = strchr(end, ' ');
        out->edges_ms[out->bins] = edge_s * 1e3;
        out->counts[out->bins] = value ? strtoull(value, NULL, 10) : 0;
        out->bins++;
    }
}

static ls_status service_stage_read(const service_stage *stage, service_figures *out, ls_text *why)
{
    char url[64];
    ls_http_got got = {0};
    snprintf(url, sizeof url, "http://127.0.0.1:%u/metrics", (unsigned)stage->http_port);
    const ls_http_ask ask = {.method = "GET", .url = url, .timeout_ms = ASK_MS};
    ls_status status = ls_http_client_ask(&ask, &got, why);
    if (status == LS_OK && (got.status != 200 || !got.body)) {
        status = ls_fail(LS_IO, why, "%s answers %u", url, got.status);
    }
    if (status == LS_OK) {
        *out = (service_figures){
            .taken_ns = bench_now_ns(),
            .rooms = (uint64_t)sum_of(got.body, "lockstep_worker_rooms"),
            .players = (uint64_t)sum_of(got.body, "lockstep_players"),
            .ticks = (uint64_t)sum_of(got.body, "lockstep_ticks_total"),
            .cpu_s = sum_of(got.body, "lockstep_worker_cpu_seconds_total"),
        };
        read_lateness(got.body, out);
    }
    ls_http_got_deinit(&got);
    return status;
}

/* Between two readings: so many milliseconds or less is how late that share of the ticks was
 * closed; within a bin it is taken to grow evenly. */
static double lateness_ms(const service_figures *before, const service_figures *after, double share)
{
    uint64_t all =
        after->bins > 0 ? after->counts[after->bins - 1] - before->counts[after->bins - 1] : 0;
    double wanted = share * (double)all;
    double below = 0;
    double edge_ms = 0;
    for (uint32_t i = 0; i < after->bins && all > 0; i++) {
        double count = (double)(after->counts[i] - before->counts[i]);
        if (count >= wanted && count > below && isfinite(after->edges_ms[i])) {
            return edge_ms + (after->edges_ms[i] - edge_ms) * (wanted - below) / (count - below);
        }
        below = count;
        edge_ms = isfinite(after->edges_ms[i]) ? after->edges_ms[i] : edge_ms;
    }
    return edge_ms;
}

/* ---- what the system says of its processes ---- */

#define PROCESSES_MAX 8u

/* The service, and behind it its workers. */
static uint32_t find_processes(const service_stage *stage, int processes[PROCESSES_MAX])
{
    char path[64];
    uint32_t count = 1;
    processes[0] = (int)stage->server.process.id;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", processes[0], processes[0]);
    FILE *file = fopen(path, "r");
    while (file && count < PROCESSES_MAX && fscanf(file, "%d", &processes[count]) == 1) {
        count++;
    }
    if (file) {
        fclose(file);
    }
    return count;
}

static double sum_of_processes(const int *processes, uint32_t count, const char *name,
                               const char *word)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += bench_process_number(processes[i], name, word);
    }
    return sum;
}

/* ---- all of it ---- */

static ls_status wait_for_rooms(const service_stage *stage, ls_text *why)
{
    service_figures now = {0};
    ls_status status = service_stage_read(stage, &now, why);
    for (uint32_t ms = 0; status == LS_OK && now.rooms < stage->plan.rooms; ms += GLANCE_MS) {
        if (ms >= PATIENCE_MS) {
            return ls_fail(LS_TIMED_OUT, why, "%" PRIu64 " of %" PRIu32 " rooms are open",
                           now.rooms, stage->plan.rooms);
        }
        bench_pause_ns(GLANCE_MS * LS_NS_PER_MS);
        status = service_stage_read(stage, &now, why);
    }
    return status;
}

/* Has so many rooms' players come, and waits until they play. */
static ls_status fill_rooms(const service_stage *stage, uint32_t rooms, ls_text *why)
{
    uint32_t wanted = rooms * ROOM_PLAYERS;
    atomic_store(&stage->players->wanted, wanted);
    for (uint32_t ms = 0; atomic_load(&stage->players->playing) < wanted; ms += GLANCE_MS) {
        if (ms >= PATIENCE_MS) {
            return ls_fail(LS_TIMED_OUT, why, "%" PRIu32 " of %" PRIu32 " players play",
                           atomic_load(&stage->players->playing), wanted);
        }
        bench_pause_ns(GLANCE_MS * LS_NS_PER_MS);
    }
    return LS_OK;
}

/* Ends the programs and removes the folder. NULL is allowed. */
static void service_stage_stop(service_stage *stage)
{
    if (!stage) {
        return;
    }
    bench_child_stop(&stage->crowd);
    bench_light_figures_destroy(stage->players);
    bench_child_ask_to_stop(&stage->server, PATIENCE_MS);
    if (stage->folder[0] != '\0') {
        remove_folder(stage);
    }
    ls_release(ls_allocator_heap(), stage);
}

/* Returns when everybody plays. IO when a program does not start, or a file cannot be written;
 * TIMED_OUT; DISCONNECTED and what else the metrics' request gives. */
static ls_status service_stage_start(const service_plan *plan, service_stage **out, ls_text *why)
{
    service_stage *stage = ls_allocate(ls_allocator_heap(), sizeof *stage);
    if (!stage) {
        return LS_NO_MEMORY;
    }
    *stage = (service_stage){.plan = *plan};
    ls_status status = bench_child_find_program("lockstep-server", stage->program, why);
    status = status == LS_OK ? make_folder(stage, why) : status;
    status = status == LS_OK ? write_config(stage, why) : status;
    status = status == LS_OK ? start_server(stage, why) : status;
    status = status == LS_OK ? wait_for_rooms(stage, why) : status;
    status = status == LS_OK ? start_crowd(stage, why) : status;
    if (status == LS_OK && !stage->plan.is_empty) {
        status = fill_rooms(stage, stage->plan.rooms, why);
    }
    if (status != LS_OK) {
        service_stage_stop(stage);
        stage = NULL;
    }
    *out = stage;
    return status;
}

enum {
    WORKERS = 2,
    FEW_ROOMS = 10,
    MANY_ROOMS = 200,
    SHARED_ROOMS = 60, /* of each worker, where their time is compared */
    ROUNDS = 3,
    EMPTY_ROOMS = 10000,
    MOST_ROOMS = 2500,
    SMOKE_ROOMS = 2,
    WINDOWS_MAX = 20, /* on a machine that has no time for the players */
};

#define WARM_NS (4 * LS_NS_PER_SECOND) /* the first inputs, and the workers' next report */
#define WINDOW_NS (10 * LS_NS_PER_SECOND)
#define SMOKE_NS LS_NS_PER_SECOND
#define BEYOND_BUDGET_MS 2.0
#define SCALING_BUDGET 1.9
#define KEPT_UP_MIN 0.97
#define EMPTY_ROOM_BUDGET_KB 70
#define WAKES_BUDGET 2.0
#define LATE_MAX_MS 10.0
#define GOAL_ROOMS 2500.0
#define GOAL_CLIENT_TICKS (GOAL_ROOMS * ROOM_PLAYERS * RATE_HZ) /* a second */
#define ECHO_NS 3000.0 /* of a datagram each way: lockstep-bench net */

typedef struct outcome {
    double late_ms[2]; /* the median, and that of 99 % */
    double ticks_share;
    double cpu_ns;      /* of a player and tick */
    double turns_share; /* of the players' packets: their process has kept up */
    double turn_ns;     /* that one of them took */
} outcome;

/* Measures a window, while so many rooms are played in. */
static ls_status watch(const service_stage *stage, const bench_plan *plan, uint32_t rooms,
                       outcome *out, ls_text *why)
{
    service_figures before = {0};
    service_figures after = {0};
    bench_pause_ns(plan->is_smoke ? SMOKE_NS : WARM_NS);
    ls_status status = service_stage_read(stage, &before, why);
    uint64_t turns = atomic_load(&stage->players->turns);
    uint64_t turns_ns = atomic_load(&stage->players->cpu_ns);
    for (uint32_t i = 0; status == LS_OK && i < WINDOWS_MAX && after.ticks <= before.ticks; i++) {
        bench_pause_ns(plan->is_smoke ? SMOKE_NS : WINDOW_NS);
        status = service_stage_read(stage, &after, why);
    }
    turns = atomic_load(&stage->players->turns) - turns;
    turns_ns = atomic_load(&stage->players->cpu_ns) - turns_ns;
    if (status == LS_OK && after.ticks <= before.ticks) {
        return ls_fail(LS_TIMED_OUT, why, "the rooms close no ticks");
    }
    double due = (double)(after.taken_ns - before.taken_ns) / 1e9 * rooms * rate_of(&stage->plan);
    double ticks = (double)(after.ticks - before.ticks);
    *out = (outcome){
        .late_ms = {lateness_ms(&before, &after, 0.5), lateness_ms(&before, &after, 0.99)},
        .ticks_share = ticks / due,
        .cpu_ns = 1e9 * (after.cpu_s - before.cpu_s) / (ticks * ROOM_PLAYERS),
        .turns_share = (double)turns / (due * ROOM_PLAYERS),
        .turn_ns = (double)turns_ns / (double)LS_MAX(turns, 1u)};
    return status;
}

static ls_status measure(const service_plan *service, const bench_plan *plan, outcome *out,
                         ls_text *why)
{
    service_stage *stage = NULL;
    ls_status status = service_stage_start(service, &stage, why);
    status = status == LS_OK ? watch(stage, plan, service->rooms, out, why) : status;
    service_stage_stop(stage);
    return status;
}

/* ---- how many rooms a core carries ---- */

/* A second, each way. */
static uint32_t packets_of(const service_stage *stage)
{
    return rate_of(&stage->plan) / (stage->plan.delay_ticks + 1);
}

/* Begins the name of a figure: ticks and packets a second. */
static int name_pace(const service_stage *stage, char name[LS_NAME_BYTES_MAX])
{
    return snprintf(name, LS_NAME_BYTES_MAX, "%u Hz, %u pkt/s: ", (unsigned)rate_of(&stage->plan),
                    (unsigned)packets_of(stage));
}

static void report_step(const service_stage *stage, const outcome *found, uint32_t rooms,
                        bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    const struct {
        const char *what;
        const char *unit;
        double value;
    } rows[] = {
        {"late, 99 % of ticks", "ms", found->late_ms[1]},
        {"ticks closed of those due", "", found->ticks_share},
        {"players' turns of those due", "", found->turns_share},
        {"a room and tick", "us", found->cpu_ns * ROOM_PLAYERS / 1e3},
        {"a room's players and tick", "us", found->turn_ns * ROOM_PLAYERS / 1e3},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int size = name_pace(stage, name);
        snprintf(name + size, sizeof name - (size_t)size, "%u rooms: %s", (unsigned)rooms,
                 rows[i].what);
        bench_report_number(report, name, rows[i].unit, rows[i].value, BENCH_UNBUDGETED);
    }
}

static bool is_carried(const outcome *found)
{
    return found->late_ms[1] <= LATE_MAX_MS && found->ticks_share >= KEPT_UP_MIN &&
           found->turns_share >= KEPT_UP_MIN;
}

/* A step is tried again, since other programs on the machine only make it worse. */
static ls_status try_step(const service_stage *stage, const bench_plan *plan, uint32_t rooms,
                          outcome *out, ls_text *why)
{
    ls_status status = fill_rooms(stage, rooms, why);
    for (uint32_t i = 0; status == LS_OK && i < (plan->is_smoke ? 1 : ROUNDS); i++) {
        status = watch(stage, plan, rooms, out, why);
        if (is_carried(out)) {
            break;
        }
    }
    return status;
}

static void report_most(const service_stage *stage, uint32_t carried, bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    const struct {
        const char *what;
        double value;
    } rows[] = {
        {"rooms of a core, p99 of lateness 10 ms", carried},
        {"cores of 2,500 rooms", carried > 0 ? GOAL_ROOMS / carried : 0},
        {"floor of that: a bare echo",
         GOAL_ROOMS * ROOM_PLAYERS * packets_of(stage) * ECHO_NS / 1e9},
        {"players who left",
         atomic_load(&stage->players->strayed) + atomic_load(&stage->players->lost)},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int size = name_pace(stage, name);
        snprintf(name + size, sizeof name - (size_t)size, "%s", rows[i].what);
        bench_report_number(report, name, "", rows[i].value, BENCH_UNBUDGETED);
    }
}

/* To the last step whose ticks were in time, while the players kept up. */
static ls_status climb(const service_stage *stage, const bench_plan *plan, bench_report *report,
                       ls_text *why)
{
    uint32_t carried = 0;
    ls_status status = LS_OK;
    for (uint32_t rooms = 0; status == LS_OK && rooms < stage->plan.rooms;) {
        outcome found = {.ticks_share = 0};
        rooms =
            LS_MIN(rooms + (plan->is_smoke ? SMOKE_ROOMS : stage->plan.step), stage->plan.rooms);
        status = try_step(stage, plan, rooms, &found, why);
        if (status != LS_OK) {
            break;
        }
        report_step(stage, &found, rooms, report);
        if (!is_carried(&found)) {
            break;
        }
        carried = rooms;
    }
    if (status == LS_OK) {
        report_most(stage, carried, report);
    }
    return status;
}

/* Ticks a second, packets a second each way: 60 and 60, as by default; 60 and 15, of games that
 * give inputs 50 ms; 30 and 15, of slow ones and phones. */
ls_status bench_rooms(const bench_plan *plan, bench_report *report, ls_text *why)
{
    static const service_plan paces[] = {
        {.rate_hz = 60, .step = 50},
        {.rate_hz = 60, .delay_ticks = 3, .step = 125},
        {.rate_hz = 30, .delay_ticks = 1, .step = 250},
    };
    const uint32_t count = sizeof paces / sizeof paces[0];
    ls_status status = LS_OK;
    for (uint32_t i = plan->is_smoke ? count - 1 : 0; status == LS_OK && i < count; i++) {
        service_plan service = paces[i];
        service_stage *stage = NULL;
        service.workers = 1;
        service.rooms = plan->is_smoke ? 2 * SMOKE_ROOMS : MOST_ROOMS;
        service.is_apart = true;
        service.is_empty = true;
        status = service_stage_start(&service, &stage, why);
        status = status == LS_OK ? climb(stage, plan, report, why) : status;
        service_stage_stop(stage);
    }
    return status;
}

/* ---- how late ticks are ---- */

static void report_lateness(const outcome *found, uint32_t rooms, bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%u rooms of 4: late, median of ticks", (unsigned)rooms);
    bench_report_number(report, name, "ms", found->late_ms[0], BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%u rooms of 4: late, 99 %% of ticks", (unsigned)rooms);
    bench_report_number(report, name, "ms", found->late_ms[1], BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%u rooms of 4: ticks closed of those due", (unsigned)rooms);
    bench_report_number(report, name, "", found->ticks_share, BENCH_UNBUDGETED);
}

/* A machine that is too small for so many rooms and their players says nothing about lateness. */
static ls_status compare_lateness(const bench_plan *plan, bench_report *report, ls_text *why)
{
    const uint32_t rooms[] = {FEW_ROOMS, MANY_ROOMS};
    outcome found[2];
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < 2; i++) {
        const service_plan service = {.workers = WORKERS,
                                      .rooms = plan->is_smoke ? SMOKE_ROOMS : rooms[i],
                                      .gives_way = !plan->is_smoke};
        status = measure(&service, plan, &found[i], why);
        if (status == LS_OK) {
            report_lateness(&found[i], rooms[i], report);
        }
    }
    if (status == LS_OK) {
        bool is_kept_up = found[1].ticks_share >= KEPT_UP_MIN;
        bench_report_number(report, "2,500 rooms of 4: cores, by the time of the many", "",
                            found[1].cpu_ns * GOAL_CLIENT_TICKS / 1e9, BENCH_UNBUDGETED);
        bench_report_number(report, "99 % of ticks: later with the many", "ms",
                            found[1].late_ms[1] - found[0].late_ms[1],
                            is_kept_up ? BENCH_MOST(BEYOND_BUDGET_MS) : BENCH_UNBUDGETED);
    }
    return status;
}

/* ---- one worker and two ---- */

/* How many players two workers have for the processor time of one. */
static ls_status compare_workers(const bench_plan *plan, bench_report *report, ls_text *why)
{
    bench_series ratios = {0};
    bench_series of_one = {0};
    ls_status status = LS_OK;
    for (uint32_t round = 0; status == LS_OK && round < (plan->is_smoke ? 1 : ROUNDS); round++) {
        outcome found[2];
        for (uint32_t i = 0; status == LS_OK && i < 2; i++) {
            uint32_t workers = (i == round % 2) ? 1 : 2;
            uint32_t each = plan->is_smoke ? SMOKE_ROOMS : SHARED_ROOMS;
            const service_plan service = {
                .workers = workers, .rooms = workers * each, .gives_way = !plan->is_smoke};
            status = measure(&service, plan, &found[workers - 1], why);
        }
        if (status == LS_OK) {
            bench_series_add(&of_one, found[0].cpu_ns);
            bench_series_add(&ratios, 2 * found[0].cpu_ns / found[1].cpu_ns);
        }
    }
    if (status == LS_OK) {
        bench_report_number(report, "one worker: a player and tick", "us",
                            bench_series_median(&of_one) / 1e3, BENCH_UNBUDGETED);
        bench_report_number(report, "two workers: players against one's", "",
                            bench_series_median(&ratios), BENCH_LEAST(SCALING_BUDGET));
    }
    return status;
}

/* ---- rooms that wait for players ---- */

static void report_empty(const service_stage *stage, uint64_t window_ns, bench_report *report)
{
    static const char waking[] = "voluntary_ctxt_switches:";
    int processes[PROCESSES_MAX];
    uint32_t count = find_processes(stage, processes);
    uint32_t workers = count - 1;
    double wakes = -sum_of_processes(processes + 1, workers, "status", waking);
    bench_pause_ns(window_ns);
    wakes += sum_of_processes(processes + 1, workers, "status", waking);
    double kb = sum_of_processes(processes, count, "smaps_rollup", "Pss:");
    bool is_smoke = stage->plan.rooms < EMPTY_ROOMS;
    bench_report_number(report, "empty rooms of 4: memory of all processes", "KB",
                        kb / stage->plan.rooms,
                        is_smoke ? BENCH_UNBUDGETED : BENCH_MOST(EMPTY_ROOM_BUDGET_KB));
    bench_report_number(report, "floor of that: a page each in worker and service", "KB", 8,
                        BENCH_UNBUDGETED);
    bench_report_number(report, "empty rooms: wakes of a worker", "1/s",
                        wakes / LS_MAX(workers, 1u) / ((double)window_ns / 1e9),
                        is_smoke ? BENCH_UNBUDGETED : BENCH_MOST(WAKES_BUDGET));
    bench_report_number(report, "floor of that: a sign of life a second", "1/s", 1,
                        BENCH_UNBUDGETED);
}

static ls_status measure_empty(const bench_plan *plan, bench_report *report, ls_text *why)
{
    const service_plan service = {
        .workers = WORKERS, .rooms = plan->is_smoke ? SMOKE_ROOMS : EMPTY_ROOMS, .is_empty = true};
    service_stage *stage = NULL;
    ls_status status = service_stage_start(&service, &stage, why);
    if (status == LS_OK) {
        bench_pause_ns(plan->is_smoke ? SMOKE_NS : WARM_NS);
        report_empty(stage, plan->is_smoke ? SMOKE_NS : WINDOW_NS, report);
    }
    service_stage_stop(stage);
    return status;
}

ls_status bench_service(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = measure_empty(plan, report, why);
    status = status == LS_OK ? compare_lateness(plan, report, why) : status;
    return status == LS_OK ? compare_workers(plan, report, why) : status;
}
