#include "lockstep/common/diagnosis/state_inspector.h"

#include <string.h>

ls_status ls_state_inspector_init(ls_state_inspector *inspector, const ls_sim_instance *instance,
                                  const ls_replay_window *window, const ls_allocator *allocator,
                                  ls_text *why)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_sim_config *config = ls_sim_instance_config(instance);
    inspector->window = window;
    ls_status status = ls_rerun_create(simulation, config, allocator, &inspector->rerun, why);
    if (status == LS_OK) {
        status = ls_sim_instance_create(simulation, config, allocator, &inspector->held, why);
    }
    if (status == LS_OK) {
        status = ls_state_tree_create(ls_sim_instance_schema(inspector->held), allocator,
                                      &inspector->tree);
    }
    return status;
}

void ls_state_inspector_deinit(ls_state_inspector *inspector)
{
    ls_state_tree_destroy(inspector->tree);
    ls_sim_instance_destroy(inspector->held);
    ls_rerun_destroy(inspector->rerun);
}

bool ls_state_inspector_hold(ls_state_inspector *inspector, ls_tick tick)
{
    if (inspector->is_holding && ls_sim_instance_tick(inspector->held) == tick) {
        return true;
    }
    const uint8_t *state = ls_replay_window_state(inspector->window, tick);
    if (!state || ls_sim_instance_load(inspector->held, state, tick) != LS_OK) {
        return false;
    }
    ls_state_tree_hash(inspector->tree, ls_sim_instance_view(inspector->held));
    inspector->is_holding = true;
    return true;
}

bool ls_state_inspector_hold_rerun(ls_state_inspector *inspector)
{
    const void *state = ls_rerun_state(inspector->rerun);
    const ls_rerun_figures *figures = ls_rerun_figures_of(inspector->rerun);
    if (!state || figures->fresh != figures->live) {
        return false;
    }
    memcpy(ls_sim_instance_state(inspector->held), state,
           ls_sim_instance_state_bytes(inspector->held));
    ls_state_tree_hash(inspector->tree, state);
    inspector->is_holding = false; /* the instance does not know this state's tick */
    return true;
}

ls_status ls_state_inspector_start_rerun(ls_state_inspector *inspector, ls_tick agreed,
                                         ls_tick tick)
{
    ls_replay_stretch stretch;
    ls_status status = ls_replay_window_stretch(inspector->window, agreed, tick, &stretch);
    if (status == LS_OK) {
        ls_rerun_start(inspector->rerun, &stretch);
    }
    return status;
}
