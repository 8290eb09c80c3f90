#include "lockstep/server/investigation/investigation.h"

#include "lockstep/common/diagnosis/hash_tree_diff.h"

#include <inttypes.h>
#include <string.h>

/* Live results are as the windows recorded them: not at all for a state that was not hashed. */
static ls_rerun_figures with_hash(const ls_rerun_figures *figures, uint64_t state_hash)
{
    ls_rerun_figures whole = *figures;
    whole.live = whole.live == 0 ? state_hash : whole.live;
    return whole;
}

/* Surroundings are made equal where a re-run repeats a hash of the match, which only compared
 * states have: what they change of the bad state they also do of the first one. */
static void add_surroundings(const ls_step_result *of_bad, ls_rerun_figures *figures)
{
    bool is_told = of_bad->is_known && figures->tried == 0;
    figures->tried |= is_told ? of_bad->figures.tried : 0;
    figures->moved |= is_told ? of_bad->figures.moved : 0;
}

/* The state hashes that both sides had of the state that the study is about: as they were told, as
 * the states were shown, or as the re-runs gave them, which then do what the match did. */
static void state_hashes_of(const ls_investigation *investigation, const ls_step_study *study,
                            uint64_t out[2])
{
    bool is_bad = study->subject.tick == investigation->bad_tick;
    bool is_shown = !is_bad && investigation->is_exact_shown;
    out[0] = is_bad     ? investigation->server_hash
             : is_shown ? investigation->exact_hashes[0]
                        : study->server.figures.fresh;
    out[1] = is_bad     ? investigation->client_hash
             : is_shown ? investigation->exact_hashes[1]
                        : study->client.figures.fresh;
}

/* ---- the states ---- */

/* Where the states were compared of a tick; NULL: they were not, or their place was
 * given away. */
static const ls_diff_place *place_of_states(const ls_investigation *investigation, ls_tick tick)
{
    const ls_diff_subject *compared = &investigation->compared;
    if (investigation->place && compared->tick == tick && compared->pass == LS_NO_PASS) {
        return investigation->place;
    }
    return investigation->state_tick == tick ? investigation->state_place : NULL;
}

/* ---- the finding ---- */

typedef struct value_writers {
    uint32_t first; /* NO_PASS: no pass writes the value */
    bool has_later; /* other passes write it as well */
} value_writers;

static value_writers writers_of(const ls_schema_place *place, const uint8_t *writers)
{
    value_writers found = {.first = LS_NO_PASS};
    for (size_t i = 0; i < ls_field_type_bytes(place->field->type); i++) {
        uint8_t of_byte = writers[place->offset + i];
        uint32_t first = ls_pass_first_writer(of_byte);
        bool is_other = found.first != LS_NO_PASS && first != LS_NO_PASS && first != found.first;
        found.has_later = found.has_later || is_other || ls_pass_has_later_writers(of_byte);
        found.first = LS_MIN(found.first, first);
    }
    return found;
}

/* The first pass that writes any of the values that differ, of those that are listed. */
static value_writers first_writer(const ls_diff_place *place, const uint8_t *writers)
{
    ls_state_difference difference;
    value_writers found = {.first = LS_NO_PASS};
    ls_hash_tree_diff_result(place->diff, &difference);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        value_writers of_place = writers_of(&difference.places[i], writers);
        found = of_place.first < found.first ? of_place : found;
    }
    return found;
}

/* Values that only passes behind the named one write come last: they are what it spread to. Those
 * that no pass writes here come first, where it is known that the sides part in that pass. */
static void sort_places(const ls_diff_place *place, const uint8_t *writers,
                        ls_desync_finding *finding)
{
    ls_state_difference difference;
    ls_desync_finding old = *finding;
    uint32_t count = 0;
    bool is_known = finding->differing_pass != LS_PASS_WRITES;
    ls_hash_tree_diff_result(place->diff, &difference);
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < old.place_count; i++) {
            uint32_t first = writers_of(&difference.places[i], writers).first;
            bool is_first = first == LS_NO_PASS ? is_known : first <= finding->pass_index;
            if (is_first == (turn == 0)) {
                finding->place_fields[count] = old.place_fields[i];
                finding->places[count++] = old.places[i];
            }
        }
    }
}

/* A run of that step alone has told which pass writes what. Where no pass is known yet, because the
 * passes of the step hide the difference, it is the first that writes a value. */
static void use_writers(const ls_investigations *all, const ls_investigation *investigation,
                        ls_desync_finding *finding)
{
    const ls_shared_rerun *run = investigation->writers;
    const ls_diff_place *place = place_of_states(investigation, finding->values_tick);
    const uint8_t *writers = run && run->outcome ? run->outcome->pass_state : NULL;
    const ls_simulation *simulation = ls_sim_instance_simulation(all->instance);
    if (!writers || !place || finding->is_after_pass) {
        return;
    }
    value_writers found = first_writer(place, writers);
    if (!finding->pass && found.first < simulation->pass_count) {
        finding->differing_pass = LS_PASS_WRITES;
        finding->pass = simulation->passes[found.first].name;
        finding->pass_index = found.first;
        finding->do_later_passes_write = found.has_later;
    }
    if (finding->pass) {
        sort_places(place, writers, finding);
    }
}

static void name_pass(const ls_investigations *all, const ls_investigation *investigation,
                      ls_desync_finding *finding)
{
    uint32_t pass = 0;
    const ls_tick_search *search = &investigation->search;
    const ls_step_study *study = ls_investigation_main_study(investigation);
    bool is_older = finding->first_tick != 0 && search->has_narrowed &&
                    finding->first_tick != study->subject.tick;
    finding->differing_pass =
        is_older ? ls_pass_trace_compare(&search->passes[0], &search->passes[1], &pass)
                 : ls_step_study_compare(study, &pass);
    const ls_simulation *simulation = ls_sim_instance_simulation(all->instance);
    const ls_step_result *unstable = ls_step_study_unstable(study);
    if (finding->differing_pass == LS_PASS_AT && pass < simulation->pass_count) {
        bool is_whole = simulation->hash && simulation->pass_count == 1;
        finding->pass = is_whole ? "whole step" : simulation->passes[pass].name;
        finding->pass_index = pass;
    } else if (finding->differing_pass != LS_PASS_AT && unstable &&
               study->subject.tick == finding->first_tick &&
               unstable->unstable_pass < simulation->pass_count) {
        finding->differing_pass = LS_PASS_UNSTABLE;
        finding->pass = simulation->passes[unstable->unstable_pass].name;
        finding->pass_index = unstable->unstable_pass;
    }
}

static void add_pass(const ls_investigations *all, const ls_investigation *investigation,
                     ls_desync_finding *finding)
{
    const ls_simulation *simulation = ls_sim_instance_simulation(all->instance);
    name_pass(all, investigation, finding);
    if (finding->differing_pass == LS_PASS_AT && finding->pass &&
        finding->pass_index + 1 == simulation->pass_count &&
        finding->values_tick == ls_desync_finding_step(finding) + 1) {
        finding->is_after_pass = true; /* the state is what the last pass leaves */
    }
    use_writers(all, investigation, finding);
}

void ls_conclusion_add_first_tick(ls_investigation *investigation)
{
    ls_desync_finding *finding = &investigation->finding;
    bool is_every_compared = finding->tick - finding->agreed_tick == 1;
    const ls_tick_search *search = &investigation->search;
    finding->first_tick = is_every_compared ? finding->tick : ls_tick_search_found(search);
    finding->first_tick_min = (search->is_begun ? search->same : finding->agreed_tick) + 1;
    finding->first_tick_max = search->is_begun ? search->differs : finding->tick;
}

/* Only of states that were not all compared. */
static void say_first_tick(const ls_desync_finding *finding, ls_text *why)
{
    uint32_t between = finding->tick - finding->agreed_tick;
    if (between > 1 && finding->is_trusted) {
        ls_text_add(why,
                    "; the first state that differs lies between %" PRIu32 " and %" PRIu32
                    ": what the simulation does not say it writes is hashed once a second",
                    finding->first_tick_min, finding->first_tick_max);
    } else if (between > 1 && finding->first_tick != 0) {
        ls_text_add(why,
                    "; tick %" PRIu32 " made state %" PRIu32
                    ", the first that differs; hashes are compared every %" PRIu32 " ticks",
                    finding->first_tick - 1, finding->first_tick, finding->interval_ticks);
    } else if (between > 1) {
        ls_text_add(why,
                    "; the first state that differs lies between %" PRIu32 " and %" PRIu32
                    ": hashes are compared every %" PRIu32 " ticks",
                    finding->first_tick_min, finding->first_tick_max, finding->interval_ticks);
    }
}

/* The report names the state that was compared where this side had not kept the bad one, and says
 * why it had not. */
static void say_limit(const ls_investigations *all, const ls_investigation *investigation,
                      ls_text *why)
{
    const ls_desync_finding *finding = &investigation->finding;
    if (investigation->kept_every == 0) {
        return;
    }
    ls_text_add(why,
                "; state %" PRIu32 " was not kept: of states of %zu KiB in which this much changes "
                "only some are, up to %" PRIu32 " ticks apart",
                investigation->bad_tick, ls_sim_instance_image_bytes(all->instance) / 1024,
                investigation->kept_every);
    if (finding->values_tick > ls_desync_finding_step(finding) + 1) {
        ls_text_add(why, ", and state %" PRIu32 " was compared in its place", finding->values_tick);
    } else {
        ls_text_add(why, "%s",
                    finding->values_tick != 0 ? ", and it was compared as simulated again"
                                              : ", and none was compared");
    }
}

/* Of an engine without a schema: in words what its saves differ in, when all is known of both. */
static void say_bytes(const ls_investigation *investigation, ls_text *why)
{
    const ls_diff_place *place = investigation->place;
    if (investigation->is_save_equal) {
        ls_text_add(why,
                    "; the saves of state %" PRIu32
                    " do not differ: what the engine hashes is not in them",
                    investigation->bad_tick);
        return;
    }
    if (!place || ls_sim_instance_schema(place->held->inspector.instance) ||
        !ls_hash_tree_diff_is_done(place->diff)) {
        return;
    }
    const ls_state_inspector *inspector = &place->held->inspector;
    ls_text bytes =
        ls_state_difference_of_saves(inspector->state, ls_hash_tree_diff_other_state(place->diff),
                                     ls_sim_instance_image_bytes(inspector->instance));
    ls_text_add(why, "; %s%s", investigation->finding.is_lower_bound ? "at least " : "",
                bytes.bytes);
}

/* The container has its name in the debug information, which a server does not read. */
static void say_order(const ls_desync_finding *finding, ls_text *why)
{
    if (ls_state_difference_is_of_order(finding->places, finding->place_count, finding->elements,
                                        finding->is_lower_bound)) {
        ls_text_add(why, "; the values differ in their order alone, as where code goes through a "
                         "hash table or sorts with ties: the next command names which");
    }
}

/* The verdict about the client's conduct; no `why`: the figures of both sides decide. */
static void judge_conduct(const ls_investigations *all, const ls_investigation *investigation,
                          ls_desync_verdict *verdict)
{
    const ls_step_result *client = &investigation->studies[0].client;
    bool is_other_live = client->is_known && (client->figures.known & LS_RERUN_LIVE) &&
                         client->figures.live != 0 &&
                         client->figures.live != investigation->client_hash;
    *verdict = (ls_desync_verdict){.culprit = LS_DESYNC_CULPRIT_CLIENT};
    if (!investigation->has_answered && investigation->is_overdue &&
        !investigation->is_client_gone) {
        verdict->kind = LS_DESYNC_CLASS_SILENT;
        ls_text_set(&verdict->why, "%s: nothing came of what it was asked about its state",
                    ls_desync_class_text(verdict->kind));
    } else if (investigation->comparison == LS_COMPARISON_CONTRADICTED || is_other_live) {
        verdict->kind = LS_DESYNC_CLASS_CONTRADICTION;
        ls_text_set(&verdict->why, "%s: the root it told contradicts the state that it shows",
                    ls_desync_class_text(verdict->kind));
    } else if (!all->reruns.host) {
        verdict->culprit = LS_DESYNC_CULPRIT_UNKNOWN;
        ls_text_set(&verdict->why, "%s: no re-runs are possible here",
                    ls_desync_class_text(verdict->kind));
    }
}

/* Elements are counted where the sides part: later they have spread. */
static uint64_t elements_of(const ls_desync_finding *finding)
{
    bool is_first = finding->first_tick != 0 && finding->values_tick == finding->first_tick;
    return is_first ? finding->elements : 0;
}

static void judge(const ls_investigations *all, const ls_investigation *investigation,
                  const ls_build_fingerprint *own_fingerprint,
                  const ls_desync_circumstances *circumstances, ls_desync_verdict *verdict)
{
    const ls_text *failure = &ls_investigation_main_study(investigation)->failure;
    judge_conduct(all, investigation, verdict);
    if (verdict->why.bytes[0]) {
        return;
    }
    ls_desync_evidence server = {.figures = investigation->server_figures,
                                 .print = own_fingerprint};
    ls_desync_evidence client = {.figures = investigation->client_figures,
                                 .print =
                                     investigation->has_fingerprint ? &investigation->print : NULL};
    ls_desync_classify(&server, &client, circumstances, verdict);
    if (failure->bytes[0]) {
        ls_text_add(&verdict->why, "; the re-run here %s", failure->bytes);
    }
}

/* A comparison of the bad state that was not ended still tells something. */
static void add_unfinished_places(const ls_investigation *investigation, ls_desync_finding *finding)
{
    const ls_diff_place *place = investigation->place;
    const ls_diff_subject *compared = &investigation->compared;
    bool is_bad_state = compared->tick == investigation->bad_tick && compared->pass == LS_NO_PASS;
    if (place && is_bad_state && finding->values_tick <= investigation->bad_tick) {
        ls_investigation_add_places(finding, place->diff, place->held->inspector.state);
        finding->values_tick = compared->tick;
    }
}

ls_desync_finding *ls_conclusion_draw(ls_investigations *all, uint32_t slot,
                                      const ls_build_fingerprint *own_fingerprint,
                                      ls_desync_circumstances circumstances)
{
    ls_investigation *investigation = &all->slots[slot];
    ls_desync_finding *finding = &investigation->finding;
    const ls_step_study *study = ls_investigation_main_study(investigation);
    uint64_t state_hashes[2];
    add_unfinished_places(investigation, finding);
    ls_conclusion_add_first_tick(investigation);
    state_hashes_of(investigation, study, state_hashes);
    investigation->server_figures = with_hash(&study->server.figures, state_hashes[0]);
    investigation->client_figures = with_hash(&study->client.figures, state_hashes[1]);
    add_surroundings(&investigation->studies[0].server, &investigation->server_figures);
    add_surroundings(&investigation->studies[0].client, &investigation->client_figures);
    if (ls_step_study_is_known(study)) {
        add_pass(all, investigation, finding);
    }
    circumstances.elements = elements_of(finding);
    circumstances.bits = finding->differing_pass == LS_PASS_WRITES ? finding->bits : 0;
    circumstances.is_beyond_bit =
        finding->is_beyond_bit && finding->values_tick == finding->first_tick;
    circumstances.harmless = study->harmless.bytes[0] ? study->harmless.bytes : NULL;
    circumstances.outside = study->outside.bytes[0] ? study->outside.bytes : NULL;
    judge(all, investigation, own_fingerprint, &circumstances, &finding->verdict);
    say_bytes(investigation, &finding->verdict.why);
    say_order(finding, &finding->verdict.why);
    say_first_tick(finding, &finding->verdict.why);
    say_limit(all, investigation, &finding->verdict.why);
    return finding;
}

/* ---- the bundle ---- */

/* Both states as they were at the end of the tick. */
static void add_states(const ls_investigation *investigation, ls_desync_evidence_set *out)
{
    const ls_diff_place *place = place_of_states(investigation, out->tick);
    if (!place) {
        return;
    }
    ls_state_difference difference;
    ls_hash_tree_diff_result(place->diff, &difference);
    out->elements = difference.elements;
    out->is_lower_bound = difference.is_lower_bound;
    out->server_state = place->held->inspector.state;
    out->client_state = ls_hash_tree_diff_other_state(place->diff);
}

void ls_conclusion_evidence(const ls_investigations *all, uint32_t slot,
                            ls_desync_evidence_set *out)
{
    const ls_investigation *investigation = &all->slots[slot];
    const ls_step_study *study = ls_investigation_main_study(investigation);
    const ls_step_result *server = &study->server;
    const ls_step_result *client = &study->client;
    bool is_exact = study->subject.tick == investigation->finding.first_tick;
    uint64_t state_hashes[2];
    state_hashes_of(investigation, study, state_hashes);
    *out = (ls_desync_evidence_set){
        .tick = study->subject.tick,
        .agreed = is_exact ? study->subject.tick - 1 : investigation->agreed_tick,
        .window = all->window,
        .server_hash = state_hashes[0],
        .client_hash = state_hashes[1],
        .elements = investigation->finding.elements,
        .is_lower_bound = investigation->finding.is_lower_bound,
        .server_figures = &investigation->server_figures,
        .server_passes = server->is_known ? &server->passes : NULL,
        .client_figures = client->is_known ? &investigation->client_figures : NULL,
        .client_passes = client->is_known ? &client->passes : NULL,
        .client_fingerprint = investigation->has_fingerprint ? &investigation->print : NULL};
    add_states(investigation, out);
}
