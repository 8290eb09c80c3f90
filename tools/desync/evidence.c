#include "lockstep/tools/desync/evidence.h"

#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/system/machine_fingerprint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the bundle tells ---- */

static uint8_t *native_copy(const ls_schema *schema, const uint8_t *canonical)
{
    uint8_t *state = canonical && schema ? malloc(ls_schema_state_bytes(schema)) : NULL;
    if (state) {
        ls_schema_from_canonical(schema, canonical, state);
    }
    return state;
}

static bool has_hash(const ls_schema *schema, const uint8_t *state, uint64_t state_hash)
{
    ls_state_hasher *hasher = NULL;
    if (!state || ls_state_hasher_create(schema, ls_allocator_heap(), &hasher) != LS_OK) {
        return false;
    }
    bool has = ls_state_hash(hasher, state) == state_hash;
    ls_state_hasher_destroy(hasher);
    return has;
}

ls_status explain_evidence_init(explain_evidence *evidence, const ls_bundle_reading *reading,
                                const ls_text *missing)
{
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    const ls_schema *schema = ls_bundle_reading_schema(reading);
    *evidence = (explain_evidence){.bundle = bundle, .schema = schema, .missing = *missing};
    evidence->server_state = native_copy(schema, bundle->server.state);
    evidence->client_state = native_copy(schema, bundle->client.state);
    if (schema && ((bundle->server.state && !evidence->server_state) ||
                   (bundle->client.state && !evidence->client_state))) {
        return LS_NO_MEMORY;
    }
    bool has_own_hash = ls_desync_bundle_is_of_saves(bundle); /* which the engine alone computes */
    evidence->is_server_state_proved =
        has_own_hash || has_hash(schema, evidence->server_state, bundle->server_hash);
    evidence->is_client_state_proved =
        has_own_hash || has_hash(schema, evidence->client_state, bundle->client_hash);
    evidence->has_difference = evidence->server_state && evidence->client_state;
    if (evidence->has_difference) {
        ls_state_difference_find(schema, evidence->server_state, evidence->client_state,
                                 &evidence->difference);
    }
    if (evidence->has_difference && bundle->client_state_is_partial) {
        evidence->difference.is_lower_bound = true;
        if (evidence->difference.elements < bundle->elements_differing) {
            evidence->difference.elements = bundle->elements_differing;
        }
    }
    evidence->differing_pass =
        ls_pass_trace_compare(&bundle->server.passes, &bundle->client.passes, &evidence->pass);
    ls_build_fingerprint_here(&evidence->here);
    ls_bundle_print_libraries(&evidence->here);
    return ls_fail(LS_OK, &evidence->not_run, "nobody asked for it");
}

void explain_evidence_release(explain_evidence *evidence)
{
    explain_picture_release(&evidence->picture);
    explain_write_trace_release(&evidence->trace);
    explain_write_trace_release(&evidence->other_trace);
    free(evidence->state_hashes);
    free(evidence->client_state);
    free(evidence->server_state);
    *evidence = (explain_evidence){0};
}

/* ---- what this machine gets ---- */

/* Whether it is the simulation that the bundle tells of. */
static ls_status check_evidence(const ls_desync_bundle *bundle, const ls_simulation *simulation,
                                ls_text *why)
{
    if (strcmp(simulation->name, bundle->simulation) != 0) {
        return ls_fail(LS_SIMULATION_MISMATCH, why,
                       "the bundle is of simulation '%s', this is '%s'", bundle->simulation,
                       simulation->name);
    }
    if (simulation->version != bundle->simulation_version ||
        simulation->param_count != bundle->config.param_count ||
        simulation->input_bytes_max != bundle->input_bytes_max) {
        return ls_fail(LS_SIMULATION_VERSION_MISMATCH, why,
                       "the bundle is of version %" PRIu32 " of '%s', here is version %" PRIu32,
                       bundle->simulation_version, simulation->name, simulation->version);
    }
    ls_sim_instance *instance = NULL;
    ls_status status =
        ls_sim_instance_create(simulation, &bundle->config, ls_allocator_heap(), &instance, why);
    if (status == LS_OK) {
        ls_sim_digests here = ls_sim_instance_digests(instance);
        status = ls_sim_digests_check(&here, &bundle->digests, why);
    }
    ls_sim_instance_destroy(instance);
    return status;
}

/* The state hash of every state on the way. */
static void collect_hashes(explain_evidence *evidence, const ls_replay_stretch *stretch,
                           const ls_simulation *simulation)
{
    ls_sim_instance *instance = NULL;
    uint32_t count = stretch->last - stretch->first + 1;
    if (ls_sim_instance_create(simulation, &evidence->bundle->config, ls_allocator_heap(),
                               &instance, NULL) != LS_OK) {
        return;
    }
    evidence->state_hashes = calloc(count, sizeof *evidence->state_hashes);
    ls_status status = ls_replay_stretch_load(stretch, instance);
    for (uint32_t i = 0; i < count && evidence->state_hashes && status == LS_OK; i++) {
        status = ls_replay_stretch_run(stretch, instance, stretch->first + i);
        evidence->state_hashes[i] = ls_sim_instance_hash(instance);
        evidence->hash_count = i + 1;
    }
    ls_sim_instance_destroy(instance);
}

explain_agreement explain_agreement_with(const ls_desync_bundle *bundle, uint64_t state_hash)
{
    return state_hash == bundle->server_hash   ? EXPLAIN_AGREES_SERVER
           : state_hash == bundle->client_hash ? EXPLAIN_AGREES_CLIENT
                                               : EXPLAIN_AGREES_NEITHER;
}

static explain_agreement agreement_of(const explain_evidence *evidence)
{
    const uint32_t runs = LS_RERUN_FRESH | LS_RERUN_AGAIN | LS_RERUN_RELOADED;
    const ls_rerun_figures *figures = &evidence->figures;
    if ((figures->known & runs) != runs) {
        return EXPLAIN_AGREES_NOT_RUN;
    }
    if (figures->again != figures->fresh || figures->reloaded != figures->fresh) {
        return EXPLAIN_AGREES_UNSTABLE;
    }
    return explain_agreement_with(evidence->bundle, figures->fresh);
}

/* The two sides may agree in every pass, run again, and each be unstable by itself. */
static void note_unstable_pass(explain_evidence *evidence, const ls_rerun *rerun)
{
    uint32_t pass = ls_rerun_unstable_pass(rerun);
    if (evidence->differing_pass != LS_PASS_AT && pass != LS_NO_PASS) {
        evidence->differing_pass = LS_PASS_UNSTABLE;
        evidence->pass = pass;
    }
}

/* Of a refused client no more is known than the hash, and what a machine makes that has the same:
 * so this one's state is taken for the client's, unless it is the server's. */
static void use_first_state(explain_evidence *evidence, const ls_sim_instance *first)
{
    evidence->agreement =
        explain_agreement_with(evidence->bundle, ls_sim_instance_digests(first).initial);
    if (!evidence->schema || !evidence->server_state ||
        evidence->agreement == EXPLAIN_AGREES_SERVER || evidence->client_state) {
        return;
    }
    uint8_t *image = malloc(ls_sim_instance_image_bytes(first));
    if (image && ls_sim_instance_image(first, image) == LS_OK) {
        evidence->client_state = native_copy(evidence->schema, image);
    }
    free(image);
    evidence->has_difference = evidence->client_state != NULL;
    evidence->is_client_state_proved = evidence->agreement == EXPLAIN_AGREES_CLIENT;
    if (evidence->has_difference) {
        ls_state_difference_find(evidence->schema, evidence->server_state, evidence->client_state,
                                 &evidence->difference);
    }
}

bool explain_is_of_arithmetic(const ls_desync_bundle *bundle)
{
    return bundle->tick == 0 && bundle->server_hash != bundle->digests.initial;
}

/* The first state, or the arithmetic check, on this machine. */
static void make_first_state(explain_evidence *evidence, const ls_simulation *simulation)
{
    ls_sim_instance *first = NULL;
    const ls_desync_bundle *bundle = evidence->bundle;
    ls_text_set(&evidence->not_run, "no tick was run: the client was refused before the first");
    if (explain_is_of_arithmetic(bundle)) {
        evidence->agreement = explain_agreement_with(bundle, evidence->arithmetic_here);
    } else if (ls_sim_instance_create(simulation, &bundle->config, ls_allocator_heap(), &first,
                                      &evidence->not_run) == LS_OK) {
        use_first_state(evidence, first);
    }
    ls_sim_instance_destroy(first);
}

void explain_evidence_rerun(explain_evidence *evidence, const ls_bundle_reading *reading,
                            const ls_simulation *simulation)
{
    ls_replay_stretch stretch;
    ls_rerun *rerun = NULL;
    ls_text *why = &evidence->not_run;
    if (evidence->bundle->tick == 0) {
        make_first_state(evidence, simulation);
        return;
    }
    if (ls_bundle_reading_stretch(reading, &stretch) != LS_OK) {
        ls_text_set(why, "the bundle has no snapshot, or not the inputs since");
        return;
    }
    if (check_evidence(evidence->bundle, simulation, why) != LS_OK ||
        ls_rerun_create(simulation, &evidence->bundle->config, ls_allocator_heap(), &rerun, why) !=
            LS_OK) {
        return;
    }
    ls_rerun_start(rerun, &stretch);
    ls_rerun_advance(rerun, UINT32_MAX);
    evidence->figures = *ls_rerun_figures_of(rerun);
    evidence->passes = *ls_rerun_passes(rerun);
    note_unstable_pass(evidence, rerun);
    evidence->agreement = agreement_of(evidence);
    ls_rerun_destroy(rerun);
    collect_hashes(evidence, &stretch, simulation);
}

ls_status explain_evidence_check_traced(const ls_desync_bundle *bundle,
                                        const ls_simulation *simulation, ls_text *why)
{
    if (simulation->hash) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "writes are traced in the state block, and '%s' keeps its state elsewhere",
                       simulation->name);
    }
    return check_evidence(bundle, simulation, why);
}

static void trace_writes(const explain_evidence *evidence, const ls_bundle_reading *reading,
                         const ls_simulation *simulation, explain_write_trace *out, ls_text *why)
{
    ls_replay_stretch stretch;
    explain_field_choice choice;
    if (!evidence->schema || ls_bundle_reading_stretch(reading, &stretch) != LS_OK) {
        ls_text_set(why, "the bundle has no schema, no snapshot, or not the inputs since");
        return;
    }
    if (explain_evidence_check_traced(evidence->bundle, simulation, why) != LS_OK ||
        explain_field_choice_parse(evidence->schema, evidence->trace_name, &choice, why) != LS_OK) {
        return;
    }
    const explain_write_request request = {
        .choices = &choice, .choice_count = 1, .wants_watch = true};
    explain_write_trace_run(simulation, &evidence->bundle->config, &stretch, &request, out, why);
}

void explain_evidence_trace(explain_evidence *evidence, const ls_bundle_reading *reading,
                            const ls_simulation *simulation, const char *field)
{
    if (!field && evidence->bundle->after_pass.count > 0) {
        field = evidence->bundle->after_pass.places[0].name; /* one that the pass wrote */
    } else if (!field && evidence->has_difference && evidence->difference.place_count > 0) {
        ls_schema_place_name(&evidence->difference.places[0], evidence->first_name,
                             sizeof evidence->first_name);
        field = evidence->first_name;
    }
    evidence->trace_name = field;
    if (field) {
        trace_writes(evidence, reading, simulation, &evidence->trace, &evidence->not_traced);
    }
}

void explain_evidence_trace_other(explain_evidence *evidence, const ls_bundle_reading *reading,
                                  const ls_simulation *other)
{
    evidence->has_other = true;
    if (evidence->trace_name) {
        trace_writes(evidence, reading, other, &evidence->other_trace, &evidence->not_compared);
    }
}

static bool is_same_write(const explain_field_write *a, const explain_field_write *b)
{
    return a->pass == b->pass && a->place.offset == b->place.offset &&
           memcmp(a->after, b->after, sizeof a->after) == 0;
}

bool explain_evidence_differing_write(const explain_evidence *evidence,
                                      const explain_field_write **here,
                                      const explain_field_write **other)
{
    const explain_write_trace *a = &evidence->trace;
    const explain_write_trace *b = &evidence->other_trace;
    uint32_t at = 0;
    while (at < a->list_count && at < b->list_count &&
           is_same_write(&a->writes[at], &b->writes[at])) {
        at++;
    }
    *here = at < a->list_count ? &a->writes[at] : NULL;
    *other = at < b->list_count ? &b->writes[at] : NULL;
    bool are_both_traced = a->writes && b->writes;
    return are_both_traced && (*here || *other);
}

void explain_evidence_draw(explain_evidence *evidence, const ls_bundle_reading *reading,
                           const ls_simulation *const builds[2])
{
    ls_text *why = &evidence->picture.why_not;
    bool has_other = builds[1] && check_evidence(evidence->bundle, builds[1], NULL) == LS_OK;
    const ls_simulation *const usable[2] = {builds[0], has_other ? builds[1] : NULL};
    if (check_evidence(evidence->bundle, builds[0], why) == LS_OK) {
        explain_picture_make(&evidence->picture, reading, usable);
    }
}

/* ---- words ---- */

const char *explain_agreement_word(explain_agreement agreement)
{
    static const char *const words[] = {"not-run", "server", "client", "neither", "unstable"};
    return words[agreement];
}

const char *explain_agreement_text(explain_agreement agreement)
{
    static const char *const texts[] = {
        "this machine did not simulate it again",     "this machine agrees with the server",
        "this machine agrees with the client",        "this machine gets a third result",
        "this machine gets another result each time",
    };
    return texts[agreement];
}

const char *explain_machine_name(explain_machine machine)
{
    static const char *const names[EXPLAIN_MACHINE_COUNT] = {"server", "client", "here"};
    return names[machine];
}

static const ls_bundle_side *side_of(const explain_evidence *evidence, explain_machine machine)
{
    return machine == EXPLAIN_SERVER ? &evidence->bundle->server : &evidence->bundle->client;
}

bool explain_evidence_hash(const explain_evidence *evidence, explain_machine machine, ls_tick tick,
                           uint64_t *out)
{
    const ls_bundle_side *side = side_of(evidence, machine);
    bool is_here = machine == EXPLAIN_HERE;
    ls_tick first = is_here ? evidence->bundle->snapshot_tick : side->hashes_first;
    uint32_t count = is_here ? evidence->hash_count : side->hash_count;
    if (tick < first || tick - first >= count) {
        return false;
    }
    *out = (is_here ? evidence->state_hashes : side->state_hashes)[tick - first];
    return is_here || *out != 0;
}

const ls_pass_trace *explain_evidence_passes(const explain_evidence *evidence,
                                             explain_machine machine)
{
    return machine == EXPLAIN_HERE ? &evidence->passes : &side_of(evidence, machine)->passes;
}

const ls_build_fingerprint *explain_evidence_print(const explain_evidence *evidence,
                                                   explain_machine machine)
{
    return machine == EXPLAIN_HERE ? &evidence->here : &side_of(evidence, machine)->print;
}

void explain_evidence_pass_text(const explain_evidence *evidence, ls_text *out)
{
    const ls_desync_bundle *bundle = evidence->bundle;
    switch (evidence->differing_pass) {
    case LS_PASS_AT:
        ls_text_set(out, "%s, pass %" PRIu32 " of %" PRIu32,
                    evidence->pass < bundle->pass_count ? bundle->passes[evidence->pass] : "?",
                    evidence->pass + 1, bundle->server.passes.pass_count);
        break;
    case LS_PASS_BEFORE:
    case LS_PASS_WRITES: /* a match alone says this, which holds the state before */
        ls_text_set(out, "before the first pass: run again, the two begin the tick differently");
        break;
    case LS_PASS_NONE:
        ls_text_set(out, "none: run again, the two agree in every pass");
        break;
    case LS_PASS_UNSTABLE:
        ls_text_set(out, "%s: run again here, it gets different results from one state",
                    evidence->pass < bundle->pass_count ? bundle->passes[evidence->pass] : "?");
        break;
    case LS_PASS_UNKNOWN:
        ls_text_set(out, "not known: a side did not run the tick again");
        break;
    }
}
