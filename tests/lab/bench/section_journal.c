#define _XOPEN_SOURCE 700
#include "lockstep/common/base/clock.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/server/journal/recorder.h"
#include "lockstep/tests/lab/bench/journal_maker.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"
#include "lockstep/tools/replay/playback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PLAYERS = 4,
    STEPS_PER_TICK = 4,
    DELAY_MS = 10,
    RECORD_S = 180,
    VERIFY_S = 60,
    SEEK_S = 3600,
    SEEKS = 24,
    SMOKE_S = 3,
    SMOKE_SEEKS = 3,
};

#define VERIFY_BUDGET 100 /* times real time, of units */
#define SEEK_BUDGET_MS 100

typedef const ls_simulation *(*simulation_call)(void);
static const simulation_call simulations[] = {ls_arena_simulation, ls_units_simulation};

enum {
    SIMULATIONS = sizeof simulations / sizeof simulations[0]
};

static void report_number(bench_report *report, const char *of, const char *what, const char *unit,
                          double value, bench_budget budget)
{
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%s: %s", of, what);
    bench_report_number(report, name, unit, value, budget);
}

/* ---- writing ---- */

/* A recorder at work, and the store, which frames and compresses what it is given, and counts. */
typedef struct writing {
    ls_recorder *recorder;
    ls_journal_writer *writer;
    bool has_record; /* that waits to be written */
    ls_journal_raw raw;
    uint64_t bytes[LS_JOURNAL_KIND_COUNT];
    uint64_t recorder_ns; /* in the match's thread */
    uint64_t store_ns;    /* in others */
    uint64_t clock_cost_ns;
    ls_status status; /* the first that failed */
} writing;

static bool submit(void *user, const ls_journal_raw *raw)
{
    writing *work = user;
    bool is_free = !work->has_record;
    work->raw = is_free ? *raw : work->raw;
    work->has_record = true;
    return is_free;
}

static uint64_t lap(const writing *work, uint64_t *since_ns)
{
    uint64_t now_ns = bench_now_ns();
    uint64_t taken_ns = now_ns - *since_ns;
    *since_ns = now_ns;
    return taken_ns > work->clock_cost_ns ? taken_ns - work->clock_cost_ns : 0;
}

static ls_journal_completion write_record(writing *work)
{
    ls_journal_framed record = ls_journal_writer_frame(work->writer, &work->raw);
    ls_journal_writer_keep(work->writer);
    work->bytes[work->raw.kind] += record.size;
    work->has_record = false;
    return (ls_journal_completion){.status = LS_OK, .written_bytes = record.size, .why = ""};
}

static void receive_event(void *user, const ls_match_event *event)
{
    writing *work = user;
    if (work->recorder) {
        uint64_t since_ns = bench_now_ns();
        ls_recorder_receive_event(work->recorder, event);
        work->recorder_ns += lap(work, &since_ns);
    }
}

/* As the server's loop does it behind each turn of the match. */
static void record(void *user, ls_match *match, uint64_t now_ns)
{
    writing *work = user;
    (void)match;
    if (!work->recorder) {
        return;
    }
    uint64_t since_ns = bench_now_ns();
    ls_recorder_pull(work->recorder, now_ns);
    work->recorder_ns += lap(work, &since_ns);
    while (work->has_record) {
        ls_journal_completion done = write_record(work);
        work->store_ns += lap(work, &since_ns);
        ls_recorder_complete(work->recorder, &done, now_ns);
        work->recorder_ns += lap(work, &since_ns);
    }
}

static ls_status start_writing(writing *work, ls_match *match)
{
    ls_recorder_config config = ls_recorder_config_default();
    size_t raw_bytes_max = ls_recorder_raw_bytes_max(&config, match);
    ls_journal_store store = {submit, work};
    work->clock_cost_ns = bench_clock_cost_ns();
    ls_status status =
        ls_journal_writer_create(raw_bytes_max, NULL, ls_allocator_heap(), &work->writer);
    return status == LS_OK
               ? ls_recorder_create(&config, match, &store, ls_allocator_heap(), &work->recorder)
               : status;
}

static void report_writing(const writing *work, const char *of, uint32_t ticks, uint32_t rate_hz,
                           bench_report *report)
{
    uint64_t all = 0;
    for (uint32_t kind = 0; kind < LS_JOURNAL_KIND_COUNT; kind++) {
        all += work->bytes[kind];
    }
    double player_hours = (double)ticks / rate_hz / 3600 * PLAYERS;
    report_number(report, of, "journal, a player and hour", "kB", (double)all / player_hours / 1e3,
                  BENCH_UNBUDGETED);
    report_number(report, of, "of that snapshots", "kB",
                  (double)work->bytes[LS_JOURNAL_SNAPSHOT] / player_hours / 1e3, BENCH_UNBUDGETED);
    report_number(report, of, "recorder, a tick", "ns", (double)work->recorder_ns / ticks,
                  BENCH_UNBUDGETED);
    report_number(report, of, "compressing elsewhere, a tick", "ns", (double)work->store_ns / ticks,
                  BENCH_UNBUDGETED);
}

static ls_status measure_writing(const ls_simulation *simulation, const bench_plan *plan,
                                 bench_report *report, ls_text *why)
{
    writing work = {0};
    bench_memory_match_config config = {.players = PLAYERS,
                                        .delay_ns = DELAY_MS * LS_NS_PER_MS,
                                        .steps_per_tick = STEPS_PER_TICK,
                                        .seed = 1,
                                        .simulation = simulation,
                                        .after_server = record,
                                        .on_event = receive_event,
                                        .user = &work};
    uint32_t rate_hz = simulation->default_tick_rate_hz;
    uint32_t ticks = (plan->is_smoke ? SMOKE_S : RECORD_S) * rate_hz;
    ls_memory_match *match = bench_memory_match_create(&config);
    ls_status status = start_writing(&work, bench_memory_match_host(match));
    if (status == LS_OK) {
        bench_memory_match_run(match, ticks);
        status = bench_memory_match_check(match, why);
    }
    status = status == LS_OK ? work.status : status;
    if (status == LS_OK) {
        report_writing(&work, simulation->name, ticks, rate_hz, report);
    }
    ls_recorder_destroy(work.recorder);
    ls_journal_writer_destroy(work.writer);
    bench_memory_match_destroy(match);
    return status;
}

/* ---- reading ---- */

/* A journal in a file that nobody else sees. */
static ls_status open_made(const ls_simulation *simulation, uint32_t seconds, replay_playback *out,
                           ls_text *why)
{
    char path[] = "/tmp/lockstep-bench-XXXXXX";
    int file = mkstemp(path);
    if (file < 0) {
        return ls_fail(LS_IO, why, "%s: %s", path, strerror(errno));
    }
    close(file);
    bench_journal_maker_config config = bench_journal_maker_config_default(simulation);
    config.sim.players = PLAYERS;
    config.ticks = seconds * config.sim.tick_rate_hz;
    ls_status status = bench_journal_make(&config, path, why);
    if (status == LS_OK) {
        status = replay_playback_open(path, LS_JOURNAL_TRUST_INDEX, out, why);
    }
    if (status == LS_OK) {
        status = replay_playback_load(out, NULL, NULL, why);
    }
    unlink(path);
    return status;
}

/* Does with every tick as lockstep-replay verify does; returns how many there were. */
static ls_status verify(replay_playback *playback, uint32_t *ticks)
{
    ls_status status = LS_OK;
    while ((status = replay_playback_step(playback)) == LS_OK) {
        if (ls_sim_instance_hash(playback->instance) != playback->state_hash) {
            return LS_DESYNCED;
        }
        ++*ticks;
    }
    return status == LS_NOT_FOUND ? LS_OK : status;
}

static ls_status measure_verify(const ls_simulation *simulation, const bench_plan *plan,
                                bench_report *report, ls_text *why)
{
    replay_playback playback = {0};
    ls_status status = open_made(simulation, plan->is_smoke ? SMOKE_S : VERIFY_S, &playback, why);
    if (status == LS_OK) {
        uint32_t ticks = 0;
        uint64_t begun_ns = bench_processor_ns();
        status = verify(&playback, &ticks);
        double seconds = (double)(bench_processor_ns() - begun_ns) / 1e9;
        double played = (double)ticks / simulation->default_tick_rate_hz;
        bool is_units = simulation == ls_units_simulation();
        report_number(report, simulation->name, "verify", "x real time", played / seconds,
                      is_units ? BENCH_LEAST(VERIFY_BUDGET) : BENCH_UNBUDGETED);
    }
    replay_playback_close(&playback);
    return status;
}

/* Every second time the worst tick: the one before a snapshot. */
static ls_tick tick_to_seek(ls_rng *rng, uint32_t turn, ls_tick end, uint32_t snapshot_ticks)
{
    ls_tick tick = ls_rng_below(rng, end);
    ls_tick worst = tick / snapshot_ticks * snapshot_ticks + snapshot_ticks - 1;
    return turn % 2 == 0 || worst > end ? tick : worst;
}

static ls_status measure_seeks(const ls_simulation *simulation, const bench_plan *plan,
                               bench_report *report, ls_text *why)
{
    replay_playback playback = {0};
    bench_series took_ms = {0};
    ls_rng rng = ls_rng_make(1, 1);
    double worst_ms = 0;
    ls_status status = open_made(simulation, plan->is_smoke ? SMOKE_S : SEEK_S, &playback, why);
    uint32_t seeks = plan->is_smoke ? SMOKE_SEEKS : SEEKS;
    for (uint32_t i = 0; status == LS_OK && i < seeks; i++) {
        const ls_journal_info *info = ls_journal_info_of(playback.journal);
        ls_tick to = tick_to_seek(&rng, i, info->end_tick, 10 * simulation->default_tick_rate_hz);
        status = replay_playback_seek(&playback, info->end_tick, why); /* nothing is near */
        uint64_t begun_ns = bench_processor_ns();
        status = status == LS_OK ? replay_playback_seek(&playback, to, why) : status;
        double ms = (double)(bench_processor_ns() - begun_ns) / 1e6;
        bench_series_add(&took_ms, ms);
        worst_ms = LS_MAX(ms, worst_ms);
    }
    replay_playback_close(&playback);
    if (status == LS_OK) {
        report_number(report, simulation->name, "seek in an hour, median", "ms",
                      bench_series_median(&took_ms), BENCH_UNBUDGETED);
        report_number(report, simulation->name, "seek in an hour, longest", "ms", worst_ms,
                      BENCH_MOST(SEEK_BUDGET_MS));
    }
    return status;
}

ls_status bench_journal(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < SIMULATIONS; i++) {
        status = measure_writing(simulations[i](), plan, report, why);
        if (status == LS_OK) {
            status = measure_verify(simulations[i](), plan, report, why);
        }
        if (status == LS_OK) {
            status = measure_seeks(simulations[i](), plan, report, why);
        }
    }
    return status;
}
