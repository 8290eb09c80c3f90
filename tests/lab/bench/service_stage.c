#define _GNU_SOURCE
#include "lockstep/tests/lab/bench/service_stage.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/program/http_client.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/crowd.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CROWDS = 2, /* processes that the players are spread over */
    RATE_HZ = 60,
    PATIENCE_MS = 60000,
    GLANCE_MS = 50,
    ASK_MS = 10000,
};

#define CONFIG_NAME "lockstep.toml"
#define PORT_NAME "port"
#define HTTP_PORT_NAME "http-port"
#define COMING_NS (20 * LS_NS_PER_MS) /* between two players of a crowd */

struct bench_service_stage {
    bench_service_plan plan;
    char folder[BENCH_PATH_BYTES_MAX / 4]; /* empty: none has been made */
    char program[BENCH_PATH_BYTES_MAX];
    uint16_t port;
    uint16_t http_port;
    bench_child server;
    bench_child crowds[CROWDS];
};

/* ---- its folder ---- */

static void path_of(const bench_service_stage *stage, const char *name,
                    char path[BENCH_PATH_BYTES_MAX])
{
    snprintf(path, BENCH_PATH_BYTES_MAX, "%s/%s", stage->folder, name);
}

static ls_status make_folder(bench_service_stage *stage, ls_text *why)
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

static void remove_folder(const bench_service_stage *stage)
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
static ls_status write_config(const bench_service_stage *stage, ls_text *why)
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
            "players = %u\n"
            "seed = 1\n"
            "spectators = 0\n",
            stage->plan.workers, stage->plan.rooms, stage->folder, stage->plan.rooms,
            BENCH_ROOM_PLAYERS);
    return fclose(file) == 0 ? LS_OK : ls_fail(LS_IO, why, "cannot write %s", path);
}

/* ---- the programs ---- */

/* Idle processes run while no other wants the processor. */
static void play_idly(const void *user, int pipe)
{
    const struct sched_param nothing = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_IDLE, &nothing);
    bench_crowd_play(user, pipe);
}

static bool read_port(const bench_service_stage *stage, const char *name, uint16_t *port)
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

static ls_status start_server(bench_service_stage *stage, ls_text *why)
{
    char config[BENCH_PATH_BYTES_MAX];
    char port_file[BENCH_PATH_BYTES_MAX + 32];
    path_of(stage, CONFIG_NAME, config);
    snprintf(port_file, sizeof port_file, "--http-port-file=%s/" HTTP_PORT_NAME, stage->folder);
    const char *const arguments[] = {stage->program, "--config", config, port_file, NULL};
    ls_status status = bench_child_start_program(&stage->server, arguments, why);
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

static ls_status start_crowds(bench_service_stage *stage, ls_text *why)
{
    bench_child_work play = stage->plan.gives_way ? play_idly : bench_crowd_play;
    uint32_t total = stage->plan.rooms * BENCH_ROOM_PLAYERS;
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < CROWDS; i++) {
        uint32_t first = total * i / CROWDS;
        bench_crowd crowd = {.port = stage->port,
                             .first = first,
                             .clients = total * (i + 1) / CROWDS - first,
                             .total = total,
                             .rate_hz = RATE_HZ,
                             .is_arena = true,
                             .pause_ns = COMING_NS};
        status = bench_child_start(&stage->crowds[i], play, &crowd, why);
    }
    return status;
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

static void read_lateness(const char *metrics, bench_service_figures *out)
{
    static const char name[] = "lockstep_tick_lateness_seconds_bucket{le=\"";
    const char *line = metrics;
    out->bins = 0;
    while ((line = strstr(line, name)) && out->bins < BENCH_LATENESS_BINS_MAX) {
        char *end = NULL;
        line += sizeof name - 1;
        double edge_s = strtod(line, &end); /* "+Inf" is infinity */
        const char *value = strchr(end, ' ');
        out->edges_ms[out->bins] = edge_s * 1e3;
        out->counts[out->bins] = value ? strtoull(value, NULL, 10) : 0;
        out->bins++;
    }
}

ls_status bench_service_stage_read(const bench_service_stage *stage, bench_service_figures *out,
                                   ls_text *why)
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
        *out = (bench_service_figures){
            .taken_ns = bench_now_ns(),
            .players = (uint64_t)sum_of(got.body, "lockstep_players"),
            .ticks = (uint64_t)sum_of(got.body, "lockstep_ticks_total"),
            .cpu_s = sum_of(got.body, "lockstep_worker_cpu_seconds_total"),
        };
        read_lateness(got.body, out);
    }
    ls_http_got_deinit(&got);
    return status;
}

double bench_service_lateness_ms(const bench_service_figures *before,
                                 const bench_service_figures *after, double share)
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

/* ---- all of it ---- */

static ls_status wait_for_players(const bench_service_stage *stage, ls_text *why)
{
    bench_service_figures now = {0};
    uint64_t wanted = (uint64_t)stage->plan.rooms * BENCH_ROOM_PLAYERS;
    ls_status status = bench_service_stage_read(stage, &now, why);
    for (uint32_t ms = 0; status == LS_OK && now.players < wanted; ms += GLANCE_MS) {
        if (ms >= PATIENCE_MS) {
            return ls_fail(LS_TIMED_OUT, why, "%" PRIu64 " of %" PRIu64 " players have a seat",
                           now.players, wanted);
        }
        bench_pause_ns(GLANCE_MS * LS_NS_PER_MS);
        status = bench_service_stage_read(stage, &now, why);
    }
    return status;
}

ls_status bench_service_stage_start(const bench_service_plan *plan, bench_service_stage **out,
                                    ls_text *why)
{
    bench_service_stage *stage = ls_allocate(ls_allocator_heap(), sizeof *stage);
    if (!stage) {
        return LS_NO_MEMORY;
    }
    *stage = (bench_service_stage){.plan = *plan};
    ls_status status = bench_child_find_program("lockstep-server", stage->program, why);
    status = status == LS_OK ? make_folder(stage, why) : status;
    status = status == LS_OK ? write_config(stage, why) : status;
    status = status == LS_OK ? start_server(stage, why) : status;
    status = status == LS_OK ? start_crowds(stage, why) : status;
    status = status == LS_OK ? wait_for_players(stage, why) : status;
    if (status != LS_OK) {
        bench_service_stage_stop(stage);
        stage = NULL;
    }
    *out = stage;
    return status;
}

void bench_service_stage_stop(bench_service_stage *stage)
{
    if (!stage) {
        return;
    }
    for (uint32_t i = 0; i < CROWDS; i++) {
        bench_child_stop(&stage->crowds[i]);
    }
    bench_child_ask_to_stop(&stage->server, PATIENCE_MS);
    if (stage->folder[0] != '\0') {
        remove_folder(stage);
    }
    ls_release(ls_allocator_heap(), stage);
}
