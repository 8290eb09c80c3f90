#include "lockstep/common/pass_trace.h"

static void note_root(void *user, ls_sim_instance *instance, uint32_t pass)
{
    ls_pass_trace *trace = user;
    trace->roots[pass] = ls_sim_instance_hash(instance);
    trace->pass_count = pass + 1;
}

void ls_pass_trace_step(ls_sim_instance *instance, const ls_tick_inputs *inputs, ls_pass_trace *out)
{
    const ls_pass_observer observer = {note_root, out};
    *out = (ls_pass_trace){.tick = inputs->tick, .before = ls_sim_instance_hash(instance)};
    ls_sim_instance_step_observed(instance, inputs, &observer);
}

ls_pass_parting ls_pass_trace_compare(const ls_pass_trace *a, const ls_pass_trace *b,
                                      uint32_t *pass)
{
    if (a->pass_count == 0 || a->pass_count != b->pass_count || a->tick != b->tick) {
        return LS_PASS_UNKNOWN;
    }
    if (a->before != b->before) {
        return LS_PASS_BEFORE;
    }
    for (uint32_t i = 0; i < a->pass_count; i++) {
        if (a->roots[i] != b->roots[i]) {
            *pass = i;
            return LS_PASS_AT;
        }
    }
    return LS_PASS_NONE;
}
