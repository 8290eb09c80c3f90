#include "lockstep/server/match/investigation.h"

#include <string.h>

/* ---- life ---- */

static ls_status create_parts(ls_investigation *investigation, const ls_sim_instance *instance,
                              const ls_replay_window *window)
{
    const ls_allocator *allocator = investigation->allocator;
    uint32_t players = ls_sim_instance_config(instance)->players;
    ls_status status =
        ls_state_inspector_init(&investigation->inspector, instance, window, allocator);
    if (status == LS_OK) {
        status = ls_hash_tree_diff_create(investigation->inspector.tree, allocator,
                                          &investigation->diff);
    }
    investigation->evidence =
        ls_allocate_array(allocator, players, sizeof *investigation->evidence);
    investigation->findings =
        ls_allocate_array(allocator, players, sizeof *investigation->findings);
    bool is_whole = investigation->evidence && investigation->findings;
    return status == LS_OK && !is_whole ? LS_NO_MEMORY : status;
}

ls_status ls_investigation_create(const ls_sim_instance *instance, const ls_replay_window *window,
                                  const ls_rerun_host *host, const ls_allocator *allocator,
                                  ls_investigation **out)
{
    ls_investigation *investigation = ls_allocate(allocator, sizeof *investigation);
    if (!investigation) {
        return LS_NO_MEMORY;
    }
    investigation->allocator = allocator;
    investigation->host = host;
    ls_status status = create_parts(investigation, instance, window);
    if (status != LS_OK) {
        ls_investigation_destroy(investigation);
        return status;
    }
    *out = investigation;
    return LS_OK;
}

static void release_rerun(ls_investigation *investigation)
{
    if (investigation->ticket != 0) {
        investigation->host->release(investigation->host->context, investigation->ticket);
    }
    investigation->ticket = 0;
    investigation->outcome = NULL;
}

void ls_investigation_destroy(ls_investigation *investigation)
{
    if (!investigation) {
        return;
    }
    release_rerun(investigation);
    ls_release(investigation->allocator, investigation->findings);
    ls_release(investigation->allocator, investigation->evidence);
    ls_hash_tree_diff_destroy(investigation->diff);
    ls_state_inspector_deinit(&investigation->inspector);
    ls_release(investigation->allocator, investigation);
}

/* ---- what differs ---- */

/* The server's state is held, if it can be had. */
static bool begin_diff(ls_investigation *investigation, bool is_held)
{
    if (is_held) {
        ls_hash_tree_diff_start(investigation->diff, investigation->inspector.state);
    }
    investigation->is_comparing = is_held;
    return is_held;
}

bool ls_investigation_compare(ls_investigation *investigation, ls_tick tick, uint64_t now_ns)
{
    investigation->tick = tick;
    investigation->since_ns = now_ns;
    investigation->is_compared = false;
    return begin_diff(investigation, ls_state_inspector_hold(&investigation->inspector, tick));
}

bool ls_investigation_take_answer(ls_investigation *investigation, const ls_wire_answer *answer)
{
    ls_status status = ls_hash_tree_diff_answer(investigation->diff, &answer->asked.query,
                                                answer->bytes, answer->size);
    bool is_held = answer->size > 0;
    investigation->is_compared = status != LS_OK || ls_hash_tree_diff_is_done(investigation->diff);
    return status == LS_OK || !is_held;
}

bool ls_investigation_can_heal(const ls_investigation *investigation)
{
    ls_state_difference difference;
    if (!ls_hash_tree_diff_is_done(investigation->diff)) {
        return false;
    }
    ls_hash_tree_diff_result(investigation->diff, &difference);
    return !difference.is_lower_bound;
}

/* ---- the investigation of one desync ---- */

void ls_investigation_start(ls_investigation *investigation, uint32_t slot, ls_tick agreed,
                            ls_tick tick, uint64_t now_ns)
{
    investigation->phase = LS_INVESTIGATION_LOOKING;
    investigation->slot = slot;
    investigation->bad_tick = tick;
    investigation->ran_ns = now_ns;
    release_rerun(investigation);
    ls_status status = LS_UNSUPPORTED;
    if (investigation->host) {
        status = ls_state_inspector_start_rerun(&investigation->inspector, investigation->host,
                                                agreed, tick, &investigation->ticket);
    }
    investigation->is_run = status != LS_OK;
    bool is_held = ls_investigation_compare(investigation, tick, now_ns);
    investigation->is_compared = !is_held && investigation->is_run;
}

void ls_investigation_run(ls_investigation *investigation, uint64_t now_ns)
{
    if (investigation->is_run) {
        return;
    }
    const ls_rerun_host *host = investigation->host;
    investigation->outcome = host->poll(host->context, investigation->ticket, now_ns);
    investigation->is_run = investigation->outcome != NULL;
    if (investigation->is_run && !investigation->is_comparing && !investigation->is_compared) {
        /* The state has left the window, but the ticks that led to it were run again. */
        bool is_held =
            ls_state_inspector_hold_rerun(&investigation->inspector, investigation->outcome);
        investigation->is_compared = !begin_diff(investigation, is_held);
    }
}

ls_status ls_investigation_take_evidence(ls_investigation *investigation, uint32_t slot,
                                         const ls_wire_evidence *evidence)
{
    ls_investigation_evidence *kept = &investigation->evidence[slot];
    ls_rerun_figures figures;
    ls_status status = ls_rerun_figures_read(evidence->figures, sizeof evidence->figures, &figures);
    if (status != LS_OK) {
        return status;
    }
    kept->figures = figures;
    kept->passes = (ls_pass_trace){
        .tick = evidence->tick - 1, .pass_count = evidence->pass_count, .before = evidence->before};
    memcpy(kept->passes.state_hashes, evidence->state_hashes, sizeof kept->passes.state_hashes);
    kept->has_figures = true;
    return LS_OK;
}

void ls_investigation_take_fingerprint(ls_investigation *investigation, uint32_t slot,
                                       const ls_wire_fingerprint *print)
{
    ls_investigation_evidence *kept = &investigation->evidence[slot];
    ls_build_fingerprint_read(print->bytes, print->size, &kept->print);
    kept->has_fingerprint = true;
}

bool ls_investigation_is_done(const ls_investigation *investigation)
{
    const ls_investigation_evidence *evidence = &investigation->evidence[investigation->slot];
    return investigation->is_compared && investigation->is_run && evidence->has_figures &&
           evidence->has_fingerprint;
}

/* ---- the finding ---- */

static void add_places(const ls_investigation *investigation, ls_desync_finding *finding)
{
    ls_state_difference difference;
    ls_hash_tree_diff_result(investigation->diff, &difference);
    bool is_whole = ls_hash_tree_diff_is_done(investigation->diff);
    finding->elements = difference.elements;
    finding->fields = difference.fields;
    finding->is_lower_bound = difference.is_lower_bound || !is_whole;
    finding->place_count = difference.place_count;
    const void *server_state = investigation->inspector.state;
    const void *client_state = ls_hash_tree_diff_other_state(investigation->diff);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        finding->place_fields[i] = difference.places[i].field;
        finding->places[i] =
            ls_state_difference_text(&difference.places[i], server_state, client_state);
    }
}

static void add_pass(const ls_investigation *investigation, ls_desync_finding *finding)
{
    uint32_t pass = 0;
    if (!investigation->outcome) {
        return;
    }
    finding->differing_pass =
        ls_pass_trace_compare(&investigation->outcome->passes,
                              &investigation->evidence[investigation->slot].passes, &pass);
    const ls_simulation *simulation = ls_sim_instance_simulation(investigation->inspector.instance);
    if (finding->differing_pass == LS_PASS_AT && pass < simulation->pass_count) {
        finding->pass = simulation->passes[pass].name;
    }
}

/* Live results are as the windows recorded them: not at all for a state that was not hashed. */
static ls_rerun_figures with_hash(const ls_rerun_figures *figures, uint64_t state_hash)
{
    ls_rerun_figures whole = *figures;
    whole.live = whole.live == 0 ? state_hash : whole.live;
    return whole;
}

/* Says why the server's re-run ended early, if it did. */
static void add_failure(const ls_investigation *investigation, ls_text *why)
{
    if (investigation->outcome && investigation->outcome->failure.bytes[0]) {
        ls_text_add(why, "; the re-run here %s", investigation->outcome->failure.bytes);
    }
}

ls_desync_finding *ls_investigation_conclude(ls_investigation *investigation, uint64_t server_hash,
                                             uint64_t client_hash,
                                             const ls_build_fingerprint *own_fingerprint)
{
    ls_desync_finding *finding = &investigation->findings[investigation->slot];
    ls_investigation_evidence *kept = &investigation->evidence[investigation->slot];
    uint32_t times = finding->times + 1;
    uint32_t healed = finding->healed;
    *finding =
        (ls_desync_finding){.tick = investigation->bad_tick, .times = times, .healed = healed};
    if (investigation->is_comparing) {
        add_places(investigation, finding);
    }
    investigation->figures = (ls_rerun_figures){0};
    if (investigation->outcome) {
        investigation->figures = with_hash(&investigation->outcome->figures, server_hash);
    }
    ls_desync_evidence server = {.figures = investigation->figures, .print = own_fingerprint};
    ls_desync_evidence client = {.print = kept->has_fingerprint ? &kept->print : NULL};
    if (kept->has_figures) {
        kept->figures = with_hash(&kept->figures, client_hash);
        client.figures = kept->figures;
        add_pass(investigation, finding);
    }
    if (investigation->host) {
        ls_desync_classify(&server, &client, &finding->verdict);
        add_failure(investigation, &finding->verdict.why);
    } else {
        ls_text_set(&finding->verdict.why, "%s: no re-runs are possible here",
                    ls_desync_class_text(finding->verdict.kind));
    }
    return finding;
}
