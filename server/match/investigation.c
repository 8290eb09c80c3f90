#include "lockstep/server/match/investigation.h"

#include <string.h>

/* ---- life ---- */

static ls_status create_parts(ls_ladder *ladder, const ls_sim_instance *instance,
                              const ls_input_buffer *closed, ls_text *why)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_sim_config *config = ls_sim_instance_config(instance);
    const ls_allocator *allocator = ladder->allocator;
    ls_replay_window_config window =
        ls_replay_window_config_default(ls_sim_instance_state_bytes(instance));
    window.inputs = closed;
    ls_status status = ls_replay_window_create(&window, instance, allocator, &ladder->window);
    if (status == LS_OK) {
        status = ls_rerun_create(simulation, config, allocator, &ladder->rerun, why);
    }
    if (status == LS_OK) {
        status = ls_sim_instance_create(simulation, config, allocator, &ladder->spare, why);
    }
    if (status == LS_OK) {
        status =
            ls_state_tree_create(ls_sim_instance_schema(ladder->spare), allocator, &ladder->tree);
    }
    if (status == LS_OK) {
        status = ls_state_descent_create(ladder->tree, allocator, &ladder->descent);
    }
    ladder->evidence = ls_allocate_array(allocator, config->players, sizeof *ladder->evidence);
    ladder->findings = ls_allocate_array(allocator, config->players, sizeof *ladder->findings);
    bool is_whole = ladder->evidence && ladder->findings;
    return status == LS_OK && !is_whole ? LS_NO_MEMORY : status;
}

ls_status ls_ladder_create(const ls_sim_instance *instance, uint64_t root,
                           const ls_input_buffer *closed, const ls_allocator *allocator,
                           ls_ladder **out, ls_text *why)
{
    if (!ls_sim_instance_schema(instance)) {
        return LS_UNSUPPORTED;
    }
    ls_ladder *ladder = ls_allocate(allocator, sizeof *ladder);
    if (!ladder) {
        return LS_NO_MEMORY;
    }
    ladder->allocator = allocator;
    ladder->players = ls_sim_instance_config(instance)->players;
    ls_status status = create_parts(ladder, instance, closed, why);
    if (status != LS_OK) {
        ls_ladder_destroy(ladder);
        return status;
    }
    ls_replay_window_start(ladder->window, instance, root);
    *out = ladder;
    return LS_OK;
}

void ls_ladder_destroy(ls_ladder *ladder)
{
    if (!ladder) {
        return;
    }
    ls_release(ladder->allocator, ladder->findings);
    ls_release(ladder->allocator, ladder->evidence);
    ls_state_descent_destroy(ladder->descent);
    ls_state_tree_destroy(ladder->tree);
    ls_sim_instance_destroy(ladder->spare);
    ls_rerun_destroy(ladder->rerun);
    ls_replay_window_destroy(ladder->window);
    ls_release(ladder->allocator, ladder);
}

/* ---- what differs ---- */

/* The server's state of `tick` stands in the spare instance. */
static void begin_descent(ls_ladder *ladder)
{
    const void *state = ls_sim_instance_view(ladder->spare);
    ls_state_tree_hash(ladder->tree, state);
    ls_state_descent_start(ladder->descent, state);
    ladder->is_comparing = true;
}

bool ls_ladder_compare(ls_ladder *ladder, ls_tick tick, uint64_t now_ns)
{
    ladder->tick = tick;
    ladder->since_ns = now_ns;
    ladder->is_comparing = false;
    ladder->is_compared = false;
    const uint8_t *state = ls_replay_window_state(ladder->window, tick);
    if (!state || ls_sim_instance_load(ladder->spare, state, tick) != LS_OK) {
        return false;
    }
    begin_descent(ladder);
    return true;
}

/* The state has left the window, but the ticks that led to it can be run again. */
static void compare_state_of_rerun(ls_ladder *ladder)
{
    const void *state = ls_rerun_state(ladder->rerun);
    const ls_rerun_figures *figures = ls_rerun_figures_of(ladder->rerun);
    if (!state || figures->fresh != figures->live) {
        ladder->is_compared = true; /* it cannot be had */
        return;
    }
    memcpy(ls_sim_instance_state(ladder->spare), state, ls_sim_instance_state_bytes(ladder->spare));
    begin_descent(ladder);
}

bool ls_ladder_take_answer(ls_ladder *ladder, const ls_wire_answer *answer)
{
    ls_status status =
        ls_state_descent_answer(ladder->descent, &answer->asked.query, answer->bytes, answer->size);
    bool is_held = answer->size > 0;
    ladder->is_compared = status != LS_OK || ls_state_descent_is_done(ladder->descent);
    return status == LS_OK || !is_held;
}

bool ls_ladder_can_heal(const ls_ladder *ladder)
{
    ls_state_difference difference;
    if (!ls_state_descent_is_done(ladder->descent)) {
        return false;
    }
    ls_state_descent_result(ladder->descent, &difference);
    return !difference.is_lower_bound;
}

/* ---- the ladder of one desync ---- */

void ls_ladder_start(ls_ladder *ladder, uint32_t slot, ls_tick agreed, ls_tick tick,
                     uint64_t now_ns)
{
    ls_replay_stretch stretch;
    ladder->phase = LS_LADDER_LOOKING;
    ladder->slot = slot;
    ladder->bad_tick = tick;
    ladder->ran_ns = now_ns;
    ls_status status = ls_replay_window_stretch(ladder->window, agreed, tick, &stretch);
    ladder->is_run = status != LS_OK;
    if (status == LS_OK) {
        ls_rerun_start(ladder->rerun, &stretch);
    }
    bool is_held = ls_ladder_compare(ladder, tick, now_ns);
    ladder->is_compared = !is_held && ladder->is_run;
}

void ls_ladder_run(ls_ladder *ladder, uint32_t steps)
{
    if (ladder->is_run) {
        return;
    }
    ladder->is_run = ls_rerun_advance(ladder->rerun, steps);
    if (ladder->is_run && !ladder->is_comparing && !ladder->is_compared) {
        compare_state_of_rerun(ladder);
    }
}

ls_status ls_ladder_take_evidence(ls_ladder *ladder, uint32_t slot,
                                  const ls_wire_evidence *evidence)
{
    ls_ladder_evidence *kept = &ladder->evidence[slot];
    ls_rerun_figures figures;
    ls_status status = ls_rerun_figures_read(evidence->figures, sizeof evidence->figures, &figures);
    if (status != LS_OK) {
        return status;
    }
    kept->figures = figures;
    kept->passes = (ls_pass_trace){
        .tick = evidence->tick - 1, .pass_count = evidence->pass_count, .before = evidence->before};
    memcpy(kept->passes.roots, evidence->roots, sizeof kept->passes.roots);
    kept->has_figures = true;
    return LS_OK;
}

void ls_ladder_take_print(ls_ladder *ladder, uint32_t slot, const ls_wire_print *print)
{
    ls_ladder_evidence *kept = &ladder->evidence[slot];
    ls_build_print_read(print->bytes, print->size, &kept->print);
    kept->has_print = true;
}

bool ls_ladder_is_through(const ls_ladder *ladder)
{
    const ls_ladder_evidence *evidence = &ladder->evidence[ladder->slot];
    return ladder->is_compared && ladder->is_run && evidence->has_figures && evidence->has_print;
}

/* ---- the finding ---- */

static void add_places(const ls_ladder *ladder, ls_desync_finding *finding)
{
    ls_state_difference difference;
    ls_state_descent_result(ladder->descent, &difference);
    bool is_whole = ls_state_descent_is_done(ladder->descent);
    finding->elements = difference.elements;
    finding->fields = difference.fields;
    finding->is_lower_bound = difference.is_lower_bound || !is_whole;
    finding->place_count = difference.place_count;
    const void *server_state = ls_sim_instance_view(ladder->spare);
    const void *client_state = ls_state_descent_other_state(ladder->descent);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        finding->place_fields[i] = difference.places[i].field;
        finding->places[i] =
            ls_state_difference_text(&difference.places[i], server_state, client_state);
    }
}

static void add_pass(const ls_ladder *ladder, ls_desync_finding *finding)
{
    uint32_t pass = 0;
    finding->parting = ls_pass_trace_compare(ls_rerun_passes(ladder->rerun),
                                             &ladder->evidence[ladder->slot].passes, &pass);
    const ls_simulation *simulation = ls_sim_instance_simulation(ladder->spare);
    if (finding->parting == LS_PASS_AT && pass < simulation->pass_count) {
        finding->pass = simulation->passes[pass].name;
    }
}

/* Live results are as the windows recorded them: not at all for a state that was not hashed. */
static ls_rerun_figures with_root(const ls_rerun_figures *figures, uint64_t root)
{
    ls_rerun_figures whole = *figures;
    whole.live = whole.live == 0 ? root : whole.live;
    return whole;
}

ls_desync_finding *ls_ladder_conclude(ls_ladder *ladder, uint64_t server_root, uint64_t client_root,
                                      const ls_build_print *own_print)
{
    ls_desync_finding *finding = &ladder->findings[ladder->slot];
    ls_ladder_evidence *kept = &ladder->evidence[ladder->slot];
    uint32_t times = finding->times + 1;
    uint32_t healed = finding->healed;
    *finding = (ls_desync_finding){.tick = ladder->bad_tick, .times = times, .healed = healed};
    if (ladder->is_comparing) {
        add_places(ladder, finding);
    }
    ladder->figures = (ls_rerun_figures){0};
    if (ls_rerun_figures_of(ladder->rerun)->tick == ladder->bad_tick) {
        ladder->figures = with_root(ls_rerun_figures_of(ladder->rerun), server_root);
    }
    ls_desync_evidence server = {.figures = ladder->figures, .print = own_print};
    ls_desync_evidence client = {.print = kept->has_print ? &kept->print : NULL};
    if (kept->has_figures) {
        kept->figures = with_root(&kept->figures, client_root);
        client.figures = kept->figures;
        add_pass(ladder, finding);
    }
    ls_desync_classify(&server, &client, &finding->verdict);
    return finding;
}
