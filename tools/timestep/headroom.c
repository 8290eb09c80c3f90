#include "lockstep/tools/timestep/headroom.h"

enum {
    STEPS_MAX = 4,
};

/* Frames this long and longer are no display's any more. */
#define SPIRAL_NS UINT64_C(1000000000)

uint32_t ls_headroom_cases(uint32_t rate_hz, ls_headroom_case *cases, uint32_t capacity)
{
    ls_timestep_config variable = ls_stepper_default(LS_TIMESTEP_VARIABLE, rate_hz).config;
    ls_timestep_config semi_fixed = ls_stepper_default(LS_TIMESTEP_SEMI_FIXED, rate_hz).config;
    ls_timestep_config substeps = ls_stepper_default(LS_TIMESTEP_SUBSTEPS, rate_hz).config;
    ls_timestep_config free = ls_stepper_default(LS_TIMESTEP_ACCUMULATOR, rate_hz).config;
    ls_timestep_config clamped = ls_stepper_default(LS_TIMESTEP_INTERPOLATED, rate_hz).config;
    ls_timestep_config capped = clamped;
    capped.frame_max_ns = 0;
    capped.steps_max = STEPS_MAX;
    const ls_headroom_case all[] = {
        {"variable", variable},
        {"semi-fixed, no limit", semi_fixed},
        {"accumulator, no limit", free},
        {"substeps, at most 6", substeps},
        {"interpolated, at most 4 steps", capped},
        {"interpolated, frames cut at 0.25 s", clamped},
    };
    uint32_t count = sizeof all / sizeof all[0];
    for (uint32_t i = 0; i < count && i < capacity; i++) {
        cases[i] = all[i];
    }
    return count;
}

typedef struct recovery {
    const ls_trace *trace;
    bool has_spiked;
    uint32_t late_frames;
    uint64_t late_ns;
} recovery;

static void on_frame(void *user, const ls_play_frame *frame)
{
    recovery *r = user;
    uint64_t asked_ns = r->trace->frames.frames_ns[frame->index];
    if (r->has_spiked && frame->frame_ns > asked_ns) {
        r->late_frames++;
        r->late_ns += frame->frame_ns;
    }
    r->has_spiked = r->has_spiked || asked_ns >= LS_TRACE_SPIKE_NS;
}

ls_headroom ls_headroom_measure(const ls_timestep_config *config, uint64_t dt_ns,
                                const ls_headroom_traces *traces)
{
    recovery r = {.trace = traces->spike};
    ls_play_result spike = ls_play(config, traces->spike, dt_ns * LS_HEADROOM_PERCENT / 100,
                                   &(ls_play_observer){on_frame, &r});
    ls_play_result overload =
        ls_play(config, traces->overload, dt_ns * LS_TRACE_OVERLOAD_PERCENT / 100, NULL);
    return (ls_headroom){
        .late_frames = r.late_frames,
        .late_ms = (double)r.late_ns / 1e6,
        .spike_dropped_ms = (double)spike.dropped_ns / 1e6,
        .spike_speed = (double)spike.simulated_ns / (double)spike.real_ns,
        .overload_speed = (double)overload.simulated_ns / (double)overload.real_ns,
        .overload_frame_ms = (double)overload.frame_last_ns / 1e6,
        .overload_dropped_ms = (double)overload.dropped_ns / 1e6,
        .is_spiral = overload.frame_last_ns >= SPIRAL_NS,
    };
}
