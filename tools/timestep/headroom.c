#include "lockstep/tools/timestep/headroom.h"

enum {
    STEPS_MAX = 4,
};

/* Frames this long and longer are no display's any more. */
#define SPIRAL_NS UINT64_C(1000000000)

uint32_t stepping_headroom_cases(uint32_t rate_hz, stepping_headroom_case *cases, uint32_t capacity)
{
    ls_timestep_config variable = stepping_stepper_default(LS_TIMESTEP_VARIABLE, rate_hz).config;
    ls_timestep_config semi_fixed =
        stepping_stepper_default(LS_TIMESTEP_SEMI_FIXED, rate_hz).config;
    ls_timestep_config substeps = stepping_stepper_default(LS_TIMESTEP_SUBSTEPS, rate_hz).config;
    ls_timestep_config free = stepping_stepper_default(LS_TIMESTEP_ACCUMULATOR, rate_hz).config;
    ls_timestep_config clamped = stepping_stepper_default(LS_TIMESTEP_INTERPOLATED, rate_hz).config;
    ls_timestep_config capped = clamped;
    capped.frame_max_ns = 0;
    capped.steps_max = STEPS_MAX;
    const stepping_headroom_case all[] = {
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
    const stepping_trace *trace;
    bool has_spiked;
    uint32_t late_frames;
    uint64_t late_ns;
} recovery;

static void on_frame(void *user, const stepping_play_frame *frame)
{
    recovery *r = user;
    uint64_t asked_ns = r->trace->frames.frames_ns[frame->index];
    if (r->has_spiked && frame->frame_ns > asked_ns) {
        r->late_frames++;
        r->late_ns += frame->frame_ns;
    }
    r->has_spiked = r->has_spiked || asked_ns >= STEPPING_TRACE_SPIKE_NS;
}

stepping_headroom stepping_headroom_measure(const ls_timestep_config *config, uint64_t dt_ns,
                                            const stepping_headroom_traces *traces)
{
    recovery r = {.trace = traces->spike};
    stepping_play_result spike =
        stepping_play(config, traces->spike, dt_ns * STEPPING_HEADROOM_PERCENT / 100,
                      &(stepping_play_observer){on_frame, &r});
    stepping_play_result overload = stepping_play(
        config, traces->overload, dt_ns * STEPPING_TRACE_OVERLOAD_PERCENT / 100, NULL);
    return (stepping_headroom){
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
