#include "lockstep/common/diagnosis/state_inspector.h"

#include <string.h>

/* A pass that writes what was there before is found by an earlier step. */
enum {
    WRITERS_STEPS = 16,
    WRITERS_BYTES_MAX = 1 << 20, /* of a state, for more steps than one */
};

ls_status ls_state_inspector_init(ls_state_inspector *inspector, const ls_sim_instance *instance,
                                  const ls_replay_window *window, const ls_allocator *allocator)
{
    const ls_schema *schema = ls_sim_instance_image_schema(instance);
    inspector->allocator = allocator;
    inspector->instance = instance;
    inspector->window = window;
    if (!schema) {
        return LS_UNSUPPORTED;
    }
    inspector->state = ls_allocate(allocator, ls_schema_state_bytes(schema));
    ls_status status = inspector->state ? LS_OK : LS_NO_MEMORY;
    if (status == LS_OK) {
        status = ls_state_tree_create(schema, allocator, &inspector->tree);
    }
    return status == LS_OK ? ls_state_hasher_create(schema, allocator, &inspector->hasher) : status;
}

void ls_state_inspector_deinit(ls_state_inspector *inspector)
{
    if (!inspector->allocator) {
        return; /* it was never made */
    }
    ls_state_hasher_destroy(inspector->hasher);
    ls_state_tree_destroy(inspector->tree);
    ls_release(inspector->allocator, inspector->state);
}

static void take(ls_state_inspector *inspector, const uint8_t *canonical, ls_tick tick,
                 uint32_t pass)
{
    ls_schema_from_canonical(ls_state_tree_schema(inspector->tree), canonical, inspector->state);
    ls_state_tree_hash(inspector->tree, inspector->state);
    inspector->tick = tick;
    inspector->pass = pass;
    inspector->is_holding = true;
}

bool ls_state_inspector_has(const ls_state_inspector *inspector, ls_tick tick, uint32_t pass)
{
    return inspector->is_holding && inspector->tick == tick && inspector->pass == pass;
}

bool ls_state_inspector_hold(ls_state_inspector *inspector, ls_tick tick)
{
    if (ls_state_inspector_has(inspector, tick, LS_NO_PASS)) {
        return true;
    }
    const uint8_t *state = ls_replay_window_state(inspector->window, tick);
    if (state) {
        take(inspector, state, tick, LS_NO_PASS);
    }
    return state != NULL;
}

bool ls_state_inspector_hold_rerun(ls_state_inspector *inspector, const ls_rerun_outcome *outcome)
{
    const ls_rerun_figures *figures = &outcome->figures;
    if (!outcome->state || (figures->live != 0 && figures->fresh != figures->live)) {
        return false;
    }
    take(inspector, outcome->state, figures->tick, LS_NO_PASS);
    return true;
}

bool ls_state_inspector_hold_pass(ls_state_inspector *inspector, const ls_rerun_outcome *outcome,
                                  uint32_t pass)
{
    if (!outcome->pass_state || pass >= outcome->passes.pass_count) {
        return false;
    }
    take(inspector, outcome->pass_state, outcome->figures.tick, pass);
    inspector->is_holding =
        !ls_sim_instance_schema(inspector->instance) ||
        ls_state_inspector_hash(inspector) == outcome->passes.state_hashes[pass];
    return inspector->is_holding;
}

uint64_t ls_state_inspector_hash(const ls_state_inspector *inspector)
{
    return ls_state_hash(inspector->hasher, inspector->state);
}

ls_status ls_state_inspector_start_rerun(const ls_state_inspector *inspector,
                                         const ls_rerun_host *host, const ls_rerun_subject *subject,
                                         uint32_t time_max_ms, uint32_t *ticket)
{
    ls_replay_stretch stretch;
    bool is_state_had = ls_state_inspector_has(inspector, subject->tick, LS_NO_PASS) ||
                        ls_replay_window_state(inspector->window, subject->tick) != NULL;
    size_t bytes = ls_sim_instance_image_bytes(inspector->instance);
    uint32_t steps = bytes <= WRITERS_BYTES_MAX ? WRITERS_STEPS : 1;
    ls_status status =
        subject->pass == LS_PASS_OF_WRITERS
            ? ls_replay_window_steps(inspector->window, subject->tick, steps, &stretch)
            : ls_replay_window_stretch(inspector->window, subject->agreed, subject->tick, &stretch);
    if (status != LS_OK) {
        return status;
    }
    const ls_rerun_request request = {.instance = inspector->instance,
                                      .stretch = &stretch,
                                      .pass = subject->pass,
                                      .is_single = subject->is_single,
                                      .is_state_had = is_state_had,
                                      .time_max_ms = time_max_ms};
    return host->start(host->context, &request, ticket);
}
