#define _DEFAULT_SOURCE
#include "lockstep/tests/lab/faultsim/self_test.h"

#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/jobs.h"
#include "lockstep/tests/lab/faultsim/self_test_report.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"

#include <string.h>
#include <sys/mman.h>

enum {
    SIMULATIONS_MAX = 2
};

/* A process that plays every so many-th match. */
typedef struct worker {
    ls_child_process process;
    uint64_t match; /* being played */
    bool is_done;
    faultsim_self_test_counts counts;
} worker;

/* Shared with the processes, but for the pointers, which are set before they start. */
typedef struct test_run {
    const ls_simulation *simulation;
    uint32_t every;
    uint64_t positions;
    uint64_t flips;
    uint64_t flip_matches; /* come first */
    uint64_t matches;
    uint32_t jobs;
    worker *workers;
    faultsim_self_test_flip *out;
} test_run;

/* ---- in a process ---- */

static void play(const test_run *run, ls_match_memory *memory, worker *self)
{
    uint64_t seed = self->match + 1;
    if (self->match >= run->flip_matches) {
        faultsim_self_test_play_clean(memory, run->simulation, seed, &self->counts);
        return;
    }
    uint64_t first = self->match * FAULTSIM_SELF_TEST_PLAYERS;
    faultsim_self_test_play_flips(memory, run->simulation, seed, first * run->every, run->every,
                                  run->positions, &run->out[first], &self->counts);
}

typedef struct worker_task {
    const test_run *run;
    worker *self;
} worker_task;

static int work(const void *user, int channel)
{
    const test_run *run = ((const worker_task *)user)->run;
    worker *self = ((const worker_task *)user)->self;
    (void)channel;
    ls_match_memory *memory = faultsim_match_memory_create();
    if (!memory) {
        return LS_EXIT_ENVIRONMENT;
    }
    const faultsim_config longest = {.scenario = {.ticks = FAULTSIM_SELF_TEST_CLEAN_TICKS}};
    for (; self->match < run->matches; self->match += run->jobs) {
        faultsim_jobs_limit_time(&longest);
        play(run, memory, self);
    }
    self->is_done = true;
    return LS_EXIT_CLEAN;
}

/* ---- around them ---- */

static void *share(size_t count, size_t bytes)
{
    void *memory =
        mmap(NULL, count * bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool start(const test_run *run, worker *self)
{
    const worker_task task = {run, self};
    const ls_child_process_work copy = {.run = work, .user = &task};
    fflush(NULL);
    return ls_child_process_fork(&copy, &self->process, NULL, NULL) == LS_OK;
}

/* False when it cannot go on. One that dies is replaced, and the match it died of left out. */
static bool wait_for(const test_run *run, worker *self, uint64_t *deaths)
{
    ls_child_process_end end;
    while (ls_child_process_wait(&self->process, LS_CHILD_WAIT_FOREVER, &end) && !self->is_done) {
        if (end.exit_code == LS_EXIT_ENVIRONMENT) {
            return false;
        }
        ++*deaths;
        self->match += run->jobs;
        if (!start(run, self)) {
            return false;
        }
    }
    return self->is_done;
}

static bool play_all(const test_run *run, faultsim_self_test_score *score)
{
    bool is_well = true;
    for (uint32_t i = 0; i < run->jobs; i++) {
        run->workers[i].match = i;
        is_well = start(run, &run->workers[i]) && is_well;
    }
    for (uint32_t i = 0; i < run->jobs; i++) {
        worker *self = &run->workers[i];
        is_well = self->process.id != 0 && wait_for(run, self, &score->deaths) && is_well;
        score->counts.matches += self->counts.matches;
        score->counts.clean_ticks += self->counts.clean_ticks;
        score->counts.false_alarms += self->counts.false_alarms;
        score->counts.unsound += self->counts.unsound;
    }
    return is_well;
}

static uint64_t parts(uint64_t whole, uint64_t part)
{
    return (whole + part - 1) / part;
}

static test_run run_of(const faultsim_self_test_config *config, const ls_simulation *simulation)
{
    test_run run = {.simulation = simulation,
                    .every = config->every,
                    .positions = 8 * (uint64_t)faultsim_self_test_state_bytes(simulation),
                    .jobs = config->jobs};
    run.flips = parts(run.positions, run.every);
    run.flip_matches = parts(run.flips, FAULTSIM_SELF_TEST_PLAYERS);
    run.matches = run.flip_matches + parts(config->clean_ticks, FAULTSIM_SELF_TEST_CLEAN_TICKS);
    return run;
}

static bool test(const faultsim_self_test_config *config, const ls_simulation *simulation,
                 FILE *file, faultsim_self_test_score *score)
{
    ls_clock clock = ls_clock_system();
    uint64_t start_ns = ls_clock_now_ns(&clock);
    test_run run = run_of(config, simulation);
    *score = (faultsim_self_test_score){.simulation = simulation->name,
                                        .positions = run.positions,
                                        .every = run.every,
                                        .flips = run.flips,
                                        .clean_ticks_wanted = config->clean_ticks,
                                        .jobs = run.jobs};
    run.workers = share(run.jobs, sizeof *run.workers);
    run.out = share(run.flips, sizeof *run.out);
    bool is_well = run.workers && run.out && play_all(&run, score);
    score->elapsed_ns = ls_clock_now_ns(&clock) - start_ns;
    if (is_well) {
        faultsim_self_test_score_flips(score, run.out);
        faultsim_self_test_print_misses(file, score, run.out);
        faultsim_self_test_print(file, score);
        fflush(file);
    }
    if (run.workers) {
        munmap(run.workers, run.jobs * sizeof *run.workers);
    }
    if (run.out) {
        munmap(run.out, run.flips * sizeof *run.out);
    }
    return is_well;
}

static ls_exit_code judge(const faultsim_self_test_score *scores, uint32_t count)
{
    ls_exit_code code = LS_EXIT_CLEAN;
    for (uint32_t i = 0; i < count; i++) {
        if (!faultsim_self_test_is_perfect(&scores[i])) {
            return LS_EXIT_DESYNC;
        }
        code = faultsim_self_test_is_conclusive(&scores[i]) ? code : LS_EXIT_INTERNAL;
    }
    return code;
}

ls_exit_code faultsim_self_test_run(const faultsim_self_test_config *config, ls_console *console)
{
    static faultsim_self_test_score scores[SIMULATIONS_MAX];
    const ls_simulation *simulations[SIMULATIONS_MAX] = {test_simulation(), ls_arena_simulation()};
    uint32_t count = SIMULATIONS_MAX;
    if (config->simulation) {
        simulations[0] = config->simulation;
        count = 1;
    }
    FILE *file = config->json_path && strcmp(config->json_path, "-") == 0 ? stderr : stdout;
    ls_text why = {{0}};
    ls_status status = config->json_path ? ls_output_check_path(config->json_path, &why) : LS_OK;
    for (uint32_t i = 0; i < count && status == LS_OK; i++) {
        if (!test(config, simulations[i], file, &scores[i])) {
            ls_text_set(&why, "no processes or no memory to play the matches");
            status = LS_NO_MEMORY;
        }
    }
    if (status == LS_OK && config->json_path) {
        status = faultsim_self_test_write(config->json_path, scores, count, &why);
    }
    if (status != LS_OK) {
        ls_log_line(&console->log, LS_LOG_ERROR, "%s", why.bytes);
        return LS_EXIT_ENVIRONMENT;
    }
    ls_exit_code code = judge(scores, count);
    if (code == LS_EXIT_INTERNAL) {
        ls_log_line(&console->log, LS_LOG_ERROR,
                    "nothing was flipped, or too few clean ticks were compared: that proves "
                    "nothing");
    }
    return code;
}
