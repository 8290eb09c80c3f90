#include "lockstep/server/match/investigation.h"

#include "lockstep/common/base/clock.h"

#include <inttypes.h>
#include <string.h>

#define STALLED_NS (250 * LS_NS_PER_MS)

/* ---- life ---- */

ls_status ls_investigations_create(const ls_sim_instance *instance, const ls_replay_window *window,
                                   const ls_rerun_host *host, const ls_allocator *allocator,
                                   ls_investigations **out)
{
    ls_investigations *all = ls_allocate(allocator, sizeof *all);
    if (!all) {
        return LS_NO_MEMORY;
    }
    all->allocator = allocator;
    all->instance = instance;
    all->window = window;
    all->count = ls_sim_instance_config(instance)->players;
    all->slots = ls_allocate_array(allocator, all->count, sizeof *all->slots);
    ls_status status =
        all->slots ? ls_diff_pool_init(&all->pool, instance, window, allocator) : LS_NO_MEMORY;
    if (status != LS_OK) {
        ls_investigations_destroy(all);
        return status;
    }
    all->reruns = (ls_rerun_share){.host = host, .inspector = &all->pool.held[0].inspector};
    *out = all;
    return LS_OK;
}

void ls_investigations_destroy(ls_investigations *all)
{
    if (!all) {
        return;
    }
    for (uint32_t slot = 0; all->slots && slot < all->count; slot++) {
        ls_investigation_end(all, slot);
    }
    ls_diff_pool_deinit(&all->pool);
    ls_release(all->allocator, all->slots);
    ls_release(all->allocator, all);
}

/* ---- places ---- */

static const ls_rerun_outcome *outcome_of(const ls_investigation *investigation)
{
    return investigation->rerun ? investigation->rerun->outcome : NULL;
}

static void leave_place(ls_investigation *investigation)
{
    if (investigation->place) {
        ls_diff_pool_release(investigation->place);
    }
    investigation->place = NULL;
    investigation->outdated = investigation->unanswered;
}

static void queue(ls_investigations *all, ls_investigation *investigation, ls_tick tick)
{
    leave_place(investigation);
    investigation->tick = tick;
    investigation->comparison = LS_COMPARISON_WAITING;
    investigation->queued = ++all->turns;
}

/* A comparison whose client answers nothing gives its place away, and begins anew later. */
static bool make_room(ls_investigations *all, uint64_t now_ns)
{
    for (uint32_t slot = 0; slot < all->count; slot++) {
        ls_investigation *other = &all->slots[slot];
        uint64_t limit_ns = LS_MAX(STALLED_NS, 2 * other->rtt_ns);
        bool is_reported = other->phase == LS_INVESTIGATION_REPORTED;
        if (!other->place || is_reported || now_ns - other->progress_ns < limit_ns) {
            continue;
        }
        if (other->comparison == LS_COMPARISON_ASKING) {
            queue(all, other, other->tick);
        } else {
            leave_place(other); /* what it found is in the finding */
        }
        return true;
    }
    return false;
}

/* False: it goes on waiting, and so do those behind it. */
static bool give_place(ls_investigations *all, ls_investigation *investigation, uint64_t now_ns)
{
    const ls_rerun_outcome *outcome = outcome_of(investigation);
    ls_status status =
        ls_diff_pool_take(&all->pool, investigation->tick, outcome, &investigation->place);
    if (status == LS_FULL && make_room(all, now_ns)) {
        status = ls_diff_pool_take(&all->pool, investigation->tick, outcome, &investigation->place);
    }
    if (status == LS_OK) {
        investigation->comparison = LS_COMPARISON_ASKING;
        investigation->progress_ns = now_ns;
        return true;
    }
    bool may_come =
        investigation->phase == LS_INVESTIGATION_LOOKING && investigation->rerun && !outcome;
    if (status == LS_NOT_FOUND && !may_come) {
        investigation->comparison = LS_COMPARISON_ENDED;
    } else if (status == LS_NOT_FOUND) {
        investigation->queued = ++all->turns;
    }
    return status != LS_FULL;
}

/* The one that has waited longest; NULL: none waits. */
static ls_investigation *next_waiting(ls_investigations *all, uint64_t after)
{
    ls_investigation *next = NULL;
    for (uint32_t slot = 0; slot < all->count; slot++) {
        ls_investigation *other = &all->slots[slot];
        bool is_waiting = other->comparison == LS_COMPARISON_WAITING &&
                          (other->phase == LS_INVESTIGATION_LOOKING ||
                           other->phase == LS_INVESTIGATION_COMPARING);
        if (is_waiting && other->queued <= after && (!next || other->queued < next->queued)) {
            next = other;
        }
    }
    return next;
}

static void give_places(ls_investigations *all, uint64_t now_ns)
{
    uint64_t newest = all->turns; /* each is looked at once */
    ls_investigation *next = NULL;
    while ((next = next_waiting(all, newest)) && give_place(all, next, now_ns)) {
    }
}

/* ---- the first state that differs ---- */

/* Live results are as the windows recorded them: not at all for a state that was not hashed. */
static ls_rerun_figures with_hash(const ls_rerun_figures *figures, uint64_t state_hash)
{
    ls_rerun_figures whole = *figures;
    whole.live = whole.live == 0 ? state_hash : whole.live;
    return whole;
}

static bool has_reproduced(const ls_rerun_figures *figures, uint64_t state_hash)
{
    return (figures->known & LS_RERUN_FRESH) && figures->strayed == figures->tick &&
           figures->fresh == state_hash && with_hash(figures, state_hash).live == state_hash;
}

/* Everything is known about the bad state that can be. */
static bool is_known(const ls_investigation *investigation)
{
    bool is_compared = investigation->comparison == LS_COMPARISON_ENDED ||
                       investigation->comparison == LS_COMPARISON_CONTRADICTED;
    bool is_run = !investigation->rerun || investigation->rerun->outcome;
    return is_compared && is_run && investigation->evidence.has_figures &&
           investigation->evidence.has_fingerprint;
}

/* States between those that were compared can only be had from re-runs, which tell of them what
 * the match would have told when they did so of the bad one. */
static bool can_search(const ls_investigation *investigation)
{
    const ls_rerun_outcome *outcome = outcome_of(investigation);
    return investigation->bad_tick - investigation->agreed_tick > 1 && outcome &&
           investigation->comparison == LS_COMPARISON_ENDED &&
           has_reproduced(&outcome->figures, investigation->server_hash) &&
           has_reproduced(&investigation->evidence.figures, investigation->client_hash);
}

static void search_ticks(ls_investigations *all)
{
    for (uint32_t slot = 0; slot < all->count; slot++) {
        ls_investigation *investigation = &all->slots[slot];
        ls_tick_search *search = &investigation->search;
        bool is_due = investigation->phase == LS_INVESTIGATION_LOOKING && !search->is_begun &&
                      is_known(investigation) && can_search(investigation);
        if (is_due) {
            ls_tick_search_begin(search, investigation->agreed_tick, investigation->bad_tick);
        }
        ls_tick_search_advance(search, &all->reruns);
    }
}

bool ls_investigation_next_probe(ls_investigations *all, uint32_t slot, ls_tick *out)
{
    return ls_tick_search_next(&all->slots[slot].search, &all->reruns, out);
}

void ls_investigations_advance(ls_investigations *all, uint64_t now_ns)
{
    ls_rerun_share_poll(&all->reruns, now_ns);
    give_places(all, now_ns);
    search_ticks(all);
}

/* ---- one slot's case ---- */

void ls_investigation_end(ls_investigations *all, uint32_t slot)
{
    ls_investigation *investigation = &all->slots[slot];
    leave_place(investigation);
    if (investigation->rerun) {
        ls_rerun_share_release(&all->reruns, investigation->rerun);
    }
    investigation->rerun = NULL;
    ls_tick_search_end(&investigation->search, &all->reruns);
    investigation->phase = LS_INVESTIGATION_IDLE;
}

void ls_investigation_start(ls_investigations *all, uint32_t slot,
                            const ls_investigation_subject *subject, uint64_t now_ns)
{
    ls_investigation *investigation = &all->slots[slot];
    ls_investigation_end(all, slot);
    ls_desync_finding *finding = &investigation->finding;
    *finding = (ls_desync_finding){.tick = subject->tick,
                                   .interval_ticks = subject->interval_ticks,
                                   .agreed_tick = subject->agreed,
                                   .times = finding->times + 1,
                                   .healed = finding->healed,
                                   .is_lower_bound = true};
    investigation->phase = LS_INVESTIGATION_LOOKING;
    investigation->agreed_tick = subject->agreed;
    investigation->bad_tick = subject->tick;
    investigation->server_hash = subject->server_hash;
    investigation->client_hash = subject->client_hash;
    investigation->since_ns = now_ns;
    investigation->progress_ns = now_ns;
    investigation->has_answered = false;
    investigation->is_overdue = false;
    investigation->evidence = (ls_investigation_evidence){0};
    investigation->figures = (ls_rerun_figures){0};
    investigation->rerun = ls_rerun_share_take(&all->reruns, subject->agreed, subject->tick);
    queue(all, investigation, subject->tick);
    give_places(all, now_ns);
}

const ls_desync_finding *ls_investigation_note_withheld(ls_investigation *investigation,
                                                        ls_tick tick)
{
    ls_desync_finding *finding = &investigation->finding;
    *finding = (ls_desync_finding){
        .tick = tick,
        .times = finding->times + 1,
        .healed = finding->healed,
        .is_lower_bound = true,
        .verdict = {.kind = LS_DESYNC_CLASS_SILENT, .culprit = LS_DESYNC_CULPRIT_CLIENT}};
    ls_text_set(&finding->verdict.why,
                "%s: it withheld the root of the state from which on it differs",
                ls_desync_class_text(finding->verdict.kind));
    return finding;
}

void ls_investigation_compare(ls_investigations *all, uint32_t slot, ls_tick tick, uint64_t now_ns)
{
    ls_investigation *investigation = &all->slots[slot];
    ls_investigation_end(all, slot);
    investigation->phase = LS_INVESTIGATION_COMPARING;
    investigation->since_ns = now_ns;
    investigation->progress_ns = now_ns;
    queue(all, investigation, tick);
    give_places(all, now_ns);
}

void ls_investigation_forget_client(ls_investigation *investigation)
{
    investigation->unanswered = 0;
    investigation->outdated = 0;
}

bool ls_investigation_next_query(ls_investigation *investigation, ls_wire_query *out)
{
    if (investigation->comparison != LS_COMPARISON_ASKING || !investigation->place ||
        !ls_hash_tree_diff_next_query(investigation->place->diff, &out->query)) {
        return false;
    }
    out->tick = investigation->tick;
    investigation->unanswered++;
    return true;
}

/* ---- answers ---- */

static void note_progress(ls_investigation *investigation, uint64_t now_ns)
{
    investigation->has_answered = true;
    investigation->progress_ns = now_ns;
}

/* Whether the state that the client has shown is the one whose hash it told: only where all of it
 * is known. */
static bool is_contradicted(const ls_investigation *investigation)
{
    const ls_hash_tree_diff *diff = investigation->place->diff;
    ls_diff_figures figures = ls_hash_tree_diff_figures(diff);
    if (figures.unfounded > 0) {
        return true;
    }
    const ls_state_inspector *inspector = &investigation->place->held->inspector;
    return figures.left_out == 0 &&
           ls_state_hash(inspector->hasher, ls_hash_tree_diff_other_state(diff)) !=
               investigation->client_hash;
}

static void add_places(const ls_investigation *investigation, ls_desync_finding *finding)
{
    ls_state_difference difference;
    const ls_hash_tree_diff *diff = investigation->place->diff;
    ls_hash_tree_diff_result(diff, &difference);
    finding->elements = difference.elements;
    finding->fields = difference.fields;
    finding->is_lower_bound = difference.is_lower_bound || !ls_hash_tree_diff_is_done(diff);
    finding->place_count = difference.place_count;
    const void *server_state = investigation->place->held->inspector.state;
    const void *client_state = ls_hash_tree_diff_other_state(diff);
    for (uint32_t i = 0; i < difference.place_count; i++) {
        finding->place_fields[i] = difference.places[i].field;
        finding->places[i] =
            ls_state_difference_text(&difference.places[i], server_state, client_state);
    }
}

static void end_comparison(ls_investigation *investigation, ls_comparison how)
{
    bool is_done = ls_hash_tree_diff_is_done(investigation->place->diff);
    investigation->comparison = how;
    if (investigation->phase != LS_INVESTIGATION_LOOKING) {
        return;
    }
    add_places(investigation, &investigation->finding);
    if (how == LS_COMPARISON_ENDED && is_done && is_contradicted(investigation)) {
        investigation->comparison = LS_COMPARISON_CONTRADICTED;
    }
}

ls_status ls_investigation_take_answer(ls_investigations *all, uint32_t slot,
                                       const ls_wire_answer *answer, uint64_t now_ns)
{
    ls_investigation *investigation = &all->slots[slot];
    if (investigation->unanswered == 0) {
        return LS_STALE;
    }
    investigation->unanswered--;
    note_progress(investigation, now_ns);
    if (investigation->outdated > 0) {
        investigation->outdated--;
        return LS_OK; /* it was asked for, before the comparison began anew */
    }
    bool is_open = investigation->phase == LS_INVESTIGATION_LOOKING ||
                   investigation->phase == LS_INVESTIGATION_COMPARING;
    if (!is_open || investigation->comparison != LS_COMPARISON_ASKING ||
        answer->asked.tick != investigation->tick) {
        return LS_STALE;
    }
    ls_hash_tree_diff *diff = investigation->place->diff;
    ls_status status =
        ls_hash_tree_diff_answer(diff, &answer->asked.query, answer->bytes, answer->size);
    bool is_held = answer->size > 0;
    if (status != LS_OK) {
        end_comparison(investigation, is_held ? LS_COMPARISON_CONTRADICTED : LS_COMPARISON_ENDED);
        return is_held ? LS_MALFORMED : LS_OK;
    }
    if (ls_hash_tree_diff_is_done(diff)) {
        end_comparison(investigation, LS_COMPARISON_ENDED);
    }
    return LS_OK;
}

ls_status ls_investigation_take_evidence(ls_investigation *investigation,
                                         const ls_wire_evidence *evidence, uint64_t now_ns)
{
    ls_investigation_evidence *kept = &investigation->evidence;
    bool is_probe = evidence->tick != investigation->bad_tick;
    if (investigation->phase != LS_INVESTIGATION_LOOKING || evidence->tick == 0 ||
        (!is_probe && kept->has_figures)) {
        return LS_STALE;
    }
    ls_rerun_figures figures;
    ls_status status = ls_rerun_figures_read(evidence->figures, sizeof evidence->figures, &figures);
    ls_pass_trace passes = {
        .tick = evidence->tick - 1, .pass_count = evidence->pass_count, .before = evidence->before};
    memcpy(passes.state_hashes, evidence->state_hashes, sizeof passes.state_hashes);
    if (status == LS_OK && is_probe) {
        status = ls_tick_search_take(&investigation->search, &figures, &passes);
    } else if (status == LS_OK) {
        kept->figures = figures;
        kept->passes = passes;
        kept->has_figures = true;
    }
    if (status == LS_OK) {
        note_progress(investigation, now_ns);
    }
    return status;
}

ls_status ls_investigation_take_fingerprint(ls_investigation *investigation,
                                            const ls_wire_fingerprint *print, uint64_t now_ns)
{
    ls_investigation_evidence *kept = &investigation->evidence;
    if (investigation->phase != LS_INVESTIGATION_LOOKING) {
        return LS_STALE;
    }
    note_progress(investigation, now_ns);
    ls_build_fingerprint_read(print->bytes, print->size, &kept->print);
    kept->has_fingerprint = true;
    return LS_OK;
}

bool ls_investigation_is_done(const ls_investigation *investigation)
{
    return is_known(investigation) &&
           (!can_search(investigation) || ls_tick_search_is_over(&investigation->search));
}

bool ls_investigation_can_heal(const ls_investigation *investigation)
{
    ls_state_difference difference;
    if (!investigation->place || !ls_hash_tree_diff_is_done(investigation->place->diff)) {
        return false;
    }
    ls_hash_tree_diff_result(investigation->place->diff, &difference);
    return !difference.is_lower_bound;
}

/* ---- the finding ---- */

static void add_pass(const ls_investigations *all, const ls_investigation *investigation,
                     ls_desync_finding *finding)
{
    uint32_t pass = 0;
    const ls_tick_search *search = &investigation->search;
    bool is_older = finding->first_tick != 0 && search->has_narrowed;
    const ls_pass_trace *own = is_older ? &search->passes[0] : &outcome_of(investigation)->passes;
    const ls_pass_trace *other = is_older ? &search->passes[1] : &investigation->evidence.passes;
    finding->differing_pass = ls_pass_trace_compare(own, other, &pass);
    const ls_simulation *simulation = ls_sim_instance_simulation(all->instance);
    if (finding->differing_pass == LS_PASS_AT && pass < simulation->pass_count) {
        finding->pass = simulation->passes[pass].name;
    }
}

static void add_first_tick(const ls_investigation *investigation, ls_desync_finding *finding)
{
    bool is_every_compared = finding->tick - finding->agreed_tick == 1;
    finding->first_tick =
        is_every_compared ? finding->tick : ls_tick_search_found(&investigation->search);
}

/* Only of states that were not all compared. */
static void say_first_tick(const ls_desync_finding *finding, ls_text *why)
{
    uint32_t between = finding->tick - finding->agreed_tick;
    if (between > 1 && finding->first_tick != 0) {
        ls_text_add(why,
                    "; tick %" PRIu32 " made state %" PRIu32
                    ", the first that differs; hashes are compared every %" PRIu32 " ticks",
                    finding->first_tick - 1, finding->first_tick, finding->interval_ticks);
    } else if (between > 1) {
        ls_text_add(why,
                    "; the first state that differs lies between %" PRIu32 " and %" PRIu32
                    ": hashes are compared every %" PRIu32 " ticks",
                    finding->agreed_tick + 1, finding->tick, finding->interval_ticks);
    }
}

/* The verdict about the client's conduct; no `why`: the figures of both sides decide. */
static void judge_conduct(const ls_investigations *all, const ls_investigation *investigation,
                          ls_desync_verdict *verdict)
{
    const ls_investigation_evidence *kept = &investigation->evidence;
    bool is_other_live = kept->has_figures && (kept->figures.known & LS_RERUN_LIVE) &&
                         kept->figures.live != investigation->client_hash;
    *verdict = (ls_desync_verdict){.culprit = LS_DESYNC_CULPRIT_CLIENT};
    if (!investigation->has_answered && investigation->is_overdue) {
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

static void judge(const ls_investigations *all, const ls_investigation *investigation,
                  const ls_build_fingerprint *own_fingerprint, ls_desync_verdict *verdict)
{
    const ls_investigation_evidence *kept = &investigation->evidence;
    const ls_rerun_outcome *outcome = outcome_of(investigation);
    judge_conduct(all, investigation, verdict);
    if (verdict->why.bytes[0]) {
        return;
    }
    ls_desync_evidence server = {.figures = investigation->figures, .print = own_fingerprint};
    ls_desync_evidence client = {.figures = kept->figures,
                                 .print = kept->has_fingerprint ? &kept->print : NULL};
    ls_desync_classify(&server, &client, verdict);
    if (outcome && outcome->failure.bytes[0]) {
        ls_text_add(&verdict->why, "; the re-run here %s", outcome->failure.bytes);
    }
}

ls_desync_finding *ls_investigation_conclude(ls_investigations *all, uint32_t slot,
                                             const ls_build_fingerprint *own_fingerprint)
{
    ls_investigation *investigation = &all->slots[slot];
    ls_investigation_evidence *kept = &investigation->evidence;
    ls_desync_finding *finding = &investigation->finding;
    const ls_rerun_outcome *outcome = outcome_of(investigation);
    if (investigation->place) {
        add_places(investigation, finding);
    }
    if (outcome) {
        investigation->figures = with_hash(&outcome->figures, investigation->server_hash);
    }
    if (kept->has_figures) {
        kept->figures = with_hash(&kept->figures, investigation->client_hash);
    }
    add_first_tick(investigation, finding);
    if (outcome && kept->has_figures) {
        add_pass(all, investigation, finding);
    }
    judge(all, investigation, own_fingerprint, &finding->verdict);
    say_first_tick(finding, &finding->verdict.why);
    return finding;
}

void ls_investigation_evidence_of(const ls_investigations *all, uint32_t slot,
                                  ls_desync_evidence_set *out)
{
    const ls_investigation *investigation = &all->slots[slot];
    const ls_investigation_evidence *kept = &investigation->evidence;
    const ls_rerun_outcome *outcome = outcome_of(investigation);
    const ls_diff_place *place = investigation->place;
    *out = (ls_desync_evidence_set){
        .window = all->window,
        .client_hash = investigation->client_hash,
        .server_figures = &investigation->figures,
        .server_passes = outcome ? &outcome->passes : NULL,
        .client_figures = kept->has_figures ? &kept->figures : NULL,
        .client_passes = kept->has_figures ? &kept->passes : NULL,
        .client_fingerprint = kept->has_fingerprint ? &kept->print : NULL,
        .server_state = place ? place->held->inspector.state : NULL,
        .client_state = place ? ls_hash_tree_diff_other_state(place->diff) : NULL};
}
