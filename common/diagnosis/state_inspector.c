#include "lockstep/common/diagnosis/state_inspector.h"

#include <string.h>

/* A pass that writes what was there before is found by an earlier step. */
enum {
    WRITERS_STEPS = 16,
    WRITERS_BYTES_MAX = 1 << 20, /* of a state, for more steps than one */
    NODES_AT_ONCE = 16384,       /* about 8 MiB, which take some milliseconds */
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
    LS_THEN(status, ls_state_tree_create(schema, allocator, &inspector->tree));
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

void ls_state_inspector_touch(ls_state_inspector *inspector)
{
    if (inspector->state) {
        memset(inspector->state, 0, ls_sim_instance_image_bytes(inspector->instance));
    }
}

static void hash_some(ls_state_inspector *inspector, uint32_t nodes)
{
    if (inspector->is_holding) {
        ls_state_tree_hash_some(inspector->tree, inspector->state, nodes, &inspector->unhashed);
    }
}

bool ls_state_inspector_advance(ls_state_inspector *inspector)
{
    hash_some(inspector, NODES_AT_ONCE);
    return ls_state_inspector_is_ready(inspector);
}

bool ls_state_inspector_is_ready(const ls_state_inspector *inspector)
{
    return !inspector->is_holding || inspector->unhashed == 0;
}

void ls_state_inspector_finish(ls_state_inspector *inspector)
{
    hash_some(inspector, inspector->unhashed);
}

/* The state is in the inspector's own block. */
static void note_held(ls_state_inspector *inspector, ls_tick tick, uint32_t pass)
{
    inspector->tick = tick;
    inspector->pass = pass;
    inspector->is_holding = true;
    inspector->unhashed = ls_state_tree_node_count(inspector->tree);
    ls_state_inspector_advance(inspector);
}

static void load_state(ls_state_inspector *inspector, const uint8_t *canonical, ls_tick tick,
                       uint32_t pass)
{
    ls_schema_from_canonical(ls_state_tree_schema(inspector->tree), canonical, inspector->state);
    note_held(inspector, tick, pass);
}

/* Out of memory, or from where the helper has left it: then states lie here as they are canonical.
 */
static bool load_rerun(ls_state_inspector *inspector, const ls_rerun_outcome *outcome,
                       ls_rerun_which which, uint32_t pass)
{
    const uint8_t *state = which == LS_RERUN_REACHED ? outcome->state : outcome->pass_state;
    if (state) {
        load_state(inspector, state, outcome->figures.tick, pass);
        return true;
    }
    if (!outcome->is_left[which]) {
        return false;
    }
    inspector->is_holding = false;
    if (!outcome->copy(outcome->reader, which, inspector->state)) {
        return false;
    }
    note_held(inspector, outcome->figures.tick, pass);
    return true;
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
        load_state(inspector, state, tick, LS_NO_PASS);
    }
    return state != NULL;
}

bool ls_state_inspector_hold_rerun(ls_state_inspector *inspector, const ls_rerun_outcome *outcome)
{
    const ls_rerun_figures *figures = &outcome->figures;
    bool is_recorded = figures->live == 0 || figures->fresh == figures->live;
    return is_recorded && load_rerun(inspector, outcome, LS_RERUN_REACHED, LS_NO_PASS);
}

bool ls_state_inspector_hold_pass(ls_state_inspector *inspector, const ls_rerun_outcome *outcome,
                                  uint32_t pass)
{
    if (pass >= outcome->passes.pass_count ||
        !load_rerun(inspector, outcome, LS_RERUN_BEHIND_PASS, pass)) {
        return false;
    }
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
                        ls_replay_window_has_state(inspector->window, subject->tick);
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
                                      .window = inspector->window,
                                      .pass = subject->pass,
                                      .is_single = subject->is_single,
                                      .is_state_had = is_state_had,
                                      .time_max_ms = time_max_ms};
    return host->start(host->context, &request, ticket);
}
