#include "lockstep/common/base/clock.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/time/timestep.h"
#include "lockstep/tests/lab/bench/sections.h"

enum {
    FRAMES = 1024
};

/* Frames of a display of about 144 Hz, one in 256 of them a hitch of 0.3 s. */
typedef struct frame_trace {
    ls_timestep timestep;
    uint64_t frames_ns[FRAMES];
} frame_trace;

static void make_frames(frame_trace *trace)
{
    ls_rng rng = ls_rng_make(1, 1);
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint64_t jitter_ns = ls_rng_below(&rng, 2 * (uint32_t)LS_NS_PER_MS);
        bool is_hitch = i % 256 == 255;
        trace->frames_ns[i] = is_hitch ? 300 * LS_NS_PER_MS : 6 * LS_NS_PER_MS + jitter_ns;
    }
}

static void advance(void *user, uint64_t repetitions)
{
    frame_trace *trace = user;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < repetitions; i++) {
        sum += ls_timestep_advance(&trace->timestep, trace->frames_ns[i % FRAMES]).step_count;
    }
    bench_keep(sum);
}

ls_status bench_timestep(const bench_plan *plan, bench_report *report, ls_text *why)
{
    (void)why;
    frame_trace trace;
    make_frames(&trace);
    for (int strategy = 0; strategy < LS_TIMESTEP_STRATEGY_COUNT; strategy++) {
        ls_timestep_config config = ls_timestep_config_default(60);
        config.strategy = (ls_timestep_strategy)strategy;
        config.steps_max = 6;
        trace.timestep = ls_timestep_make(&config);
        bench_times times = bench_measure(plan, (bench_work){advance, &trace});
        bench_report_times(report, ls_timestep_strategy_name(config.strategy), "ns", 1, &times,
                           BENCH_UNBUDGETED);
    }
    return LS_OK;
}
