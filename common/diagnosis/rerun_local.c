#include "lockstep/common/diagnosis/rerun_local.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/limits.h"

#include <string.h>

enum {
    RUNS_MAX = 2 * LS_PLAYERS_MAX,
    STEPS_PER_SECOND = 600, /* beside the match's own */
    STEPS_MAX = 64,         /* at one poll */
};

#define STEP_NS (LS_NS_PER_SECOND / STEPS_PER_SECOND)

typedef struct local_run {
    uint32_t ticket; /* 0: free */
    ls_rerun *rerun;
    uint8_t *snapshot; /* of its stretch */
    bool is_done;
    ls_rerun_outcome outcome;
} local_run;

struct ls_rerun_local {
    const ls_allocator *allocator;
    ls_rerun_host host;
    uint32_t tickets; /* given so far */
    bool is_running;  /* `ran_ns` counts */
    uint64_t ran_ns;  /* the steps up to then have been made */
    local_run runs[RUNS_MAX];
};

/* ---- runs ---- */

static local_run *run_of(ls_rerun_local *local, uint32_t ticket)
{
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        if (local->runs[i].ticket == ticket) {
            return &local->runs[i];
        }
    }
    return NULL;
}

/* The run that was started first of those that go on; NULL: there is none. */
static local_run *oldest_run(ls_rerun_local *local)
{
    local_run *oldest = NULL;
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        local_run *run = &local->runs[i];
        if (run->ticket != 0 && !run->is_done && (!oldest || run->ticket < oldest->ticket)) {
            oldest = run;
        }
    }
    return oldest;
}

static void end_run(local_run *run)
{
    run->is_done = true;
    run->outcome = (ls_rerun_outcome){.figures = *ls_rerun_figures_of(run->rerun),
                                      .passes = *ls_rerun_passes(run->rerun),
                                      .unstable_pass = ls_rerun_unstable_pass(run->rerun),
                                      .state = ls_rerun_state(run->rerun),
                                      .pass_state = ls_rerun_pass_state(run->rerun)};
}

/* The steps that are due since the last ones; some at once when the host begins to run. */
static uint32_t due_steps(ls_rerun_local *local, uint64_t now_ns)
{
    uint64_t steps = local->is_running ? (now_ns - local->ran_ns) / STEP_NS : 1;
    bool is_late = !local->is_running || steps > STEPS_MAX;
    local->ran_ns = is_late ? now_ns : local->ran_ns + steps * STEP_NS;
    local->is_running = true;
    return steps < STEPS_MAX ? (uint32_t)steps : STEPS_MAX;
}

static void advance(ls_rerun_local *local, uint64_t now_ns)
{
    local_run *run = oldest_run(local);
    uint32_t steps = run ? due_steps(local, now_ns) : 0;
    if (steps > 0 && ls_rerun_advance(run->rerun, steps)) {
        end_run(run);
    }
    local->is_running = oldest_run(local) != NULL;
}

/* ---- the host ---- */

static void release_run(const ls_rerun_local *local, local_run *run)
{
    ls_rerun_destroy(run->rerun);
    ls_release(local->allocator, run->snapshot);
    *run = (local_run){0};
}

static ls_status create_run(ls_rerun_local *local, const ls_rerun_request *request, local_run *run)
{
    const ls_sim_instance *instance = request->instance;
    size_t snapshot_bytes = request->stretch->snapshot_bytes;
    run->snapshot = ls_allocate(local->allocator, snapshot_bytes);
    if (!run->snapshot) {
        return LS_NO_MEMORY;
    }
    memcpy(run->snapshot, request->stretch->snapshot, snapshot_bytes);
    return ls_rerun_create(ls_sim_instance_simulation(instance), ls_sim_instance_config(instance),
                           local->allocator, &run->rerun, NULL);
}

static ls_status start(void *context, const ls_rerun_request *request, uint32_t *ticket)
{
    ls_rerun_local *local = context;
    local_run *run = run_of(local, 0);
    if (!run) {
        return LS_NO_MEMORY;
    }
    ls_status status = create_run(local, request, run);
    if (status != LS_OK) {
        release_run(local, run);
        return status;
    }
    ls_replay_stretch stretch = *request->stretch;
    stretch.snapshot = run->snapshot;
    ls_rerun_start(run->rerun, &stretch);
    ls_rerun_keep_pass(run->rerun, request->pass);
    if (request->is_single) {
        ls_rerun_run_once(run->rerun);
    }
    run->ticket = ++local->tickets;
    *ticket = run->ticket;
    return LS_OK;
}

static const ls_rerun_outcome *poll(void *context, uint32_t ticket, uint64_t now_ns)
{
    ls_rerun_local *local = context;
    advance(local, now_ns);
    const local_run *run = run_of(local, ticket);
    LS_ASSERT(run != NULL);
    return run->is_done ? &run->outcome : NULL;
}

static void release(void *context, uint32_t ticket)
{
    ls_rerun_local *local = context;
    local_run *run = run_of(local, ticket);
    LS_ASSERT(ticket != 0 && run != NULL);
    release_run(local, run);
}

/* ---- life ---- */

ls_status ls_rerun_local_create(const ls_allocator *allocator, ls_rerun_local **out)
{
    ls_rerun_local *local = ls_allocate(allocator, sizeof *local);
    if (!local) {
        return LS_NO_MEMORY;
    }
    local->allocator = allocator;
    local->host =
        (ls_rerun_host){.context = local, .start = start, .poll = poll, .release = release};
    *out = local;
    return LS_OK;
}

void ls_rerun_local_destroy(ls_rerun_local *local)
{
    if (!local) {
        return;
    }
    for (uint32_t i = 0; i < RUNS_MAX; i++) {
        LS_ASSERT(local->runs[i].ticket == 0);
    }
    ls_release(local->allocator, local);
}

const ls_rerun_host *ls_rerun_local_host(ls_rerun_local *local)
{
    return &local->host;
}
