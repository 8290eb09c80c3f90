#include "lockstep/server/investigation/investigation.h"

#include "lockstep/common/base/clock.h"

#include <inttypes.h>
#include <string.h>

/* ---- a state to come ---- */

#define MARGIN_NS (50 * LS_NS_PER_MS)

enum {
    CHOSEN_MAX = 2,  /* the client may hear of one too late */
    LARGE_TIMES = 8, /* as long for a large state */
};

/* Chooses the next one: so far ahead that the client hears of it before it gets there, and has the
 * window record it. */
static void later_state_choose(ls_later_state *later, ls_replay_window *window,
                               uint32_t tick_rate_hz, uint64_t rtt_ns)
{
    uint64_t ahead_ns = LS_MIN(2 * rtt_ns + MARGIN_NS, LS_NS_PER_SECOND);
    uint32_t ahead_ticks = (uint32_t)(ahead_ns * tick_rate_hz / LS_NS_PER_SECOND) + 1;
    later->tick = ls_replay_window_newest(window) + ahead_ticks;
    later->is_asked = false;
    later->count++;
    ls_replay_window_want(window, later->tick);
}

/* A query that makes the client put the state aside, and whose answer tells nothing else; false: it
 * was sent. */
static bool later_state_next_query(ls_later_state *later, ls_wire_query *out)
{
    if (later->tick == 0 || later->is_asked) {
        return false;
    }
    *out = (ls_wire_query){
        .tick = later->tick, .pass = LS_NO_PASS, .query = {.nodes = {.first = 0, .count = 1}}};
    later->is_asked = true;
    return true;
}

#define STALLED_NS (250 * LS_NS_PER_MS)

/* ---- life ---- */

uint32_t ls_investigation_time_ms(const ls_sim_instance *instance, uint32_t time_ms)
{
    bool is_large = ls_sim_instance_image_bytes(instance) > LS_REPLAY_MEDIUM_STATE_BYTES;
    return is_large ? LS_MIN(LARGE_TIMES * time_ms, LS_EVIDENCE_RUN_MAX_MS) : time_ms;
}

ls_status ls_investigations_create(const ls_sim_instance *instance, ls_replay_window *window,
                                   const ls_rerun_host *host, uint32_t time_ms,
                                   const ls_allocator *allocator, ls_investigations **out)
{
    ls_investigations *all = ls_allocate(allocator, sizeof *all);
    if (!all) {
        return LS_NO_MEMORY;
    }
    all->allocator = allocator;
    all->instance = instance;
    all->window = window;
    all->count = ls_sim_instance_config(instance)->players + 1;
    all->slots = ls_allocate_array(allocator, all->count, sizeof *all->slots);
    ls_status status =
        all->slots ? ls_diff_pool_init(&all->pool, instance, window, allocator) : LS_NO_MEMORY;
    if (status != LS_OK) {
        ls_investigations_destroy(all);
        return status;
    }
    /* The time that runs leave is for answers. */
    all->reruns = (ls_rerun_share){
        .host = host, .inspector = &all->pool.held[0].inspector, .time_max_ms = time_ms / 5 * 3};
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

static void leave_place(ls_investigation *investigation)
{
    if (investigation->place) {
        ls_diff_pool_release(investigation->place);
    }
    investigation->place = NULL;
    investigation->outdated = investigation->unanswered;
}

static void leave_state_place(ls_investigation *investigation)
{
    if (investigation->state_place) {
        ls_diff_pool_release(investigation->state_place);
    }
    investigation->state_place = NULL;
}

static void queue(ls_investigations *all, ls_investigation *investigation,
                  const ls_diff_subject *subject)
{
    leave_place(investigation);
    investigation->compared = *subject;
    investigation->comparison = LS_COMPARISON_WAITING;
    investigation->queued = ++all->turns;
}

static void look_later(ls_investigations *all, ls_investigation *investigation)
{
    uint32_t rate_hz = ls_sim_instance_config(all->instance)->tick_rate_hz;
    later_state_choose(&investigation->later, all->window, rate_hz, investigation->rtt_ns);
    queue(all, investigation, &(ls_diff_subject){investigation->later.tick, LS_NO_PASS});
}

static bool is_comparing_later(const ls_investigation *investigation)
{
    return investigation->compared.tick == investigation->later.tick &&
           investigation->compared.pass == LS_NO_PASS;
}

/* The study whose re-run leads to the state that is compared; NULL: none does. */
static const ls_step_study *study_of_compared(const ls_investigation *investigation)
{
    const ls_diff_subject *compared = &investigation->compared;
    for (uint32_t i = investigation->study_count; i-- > 0;) {
        const ls_step_study *study = &investigation->studies[i];
        bool has_pass = compared->pass == LS_NO_PASS || compared->pass == study->subject.pass;
        if (study->rerun && study->subject.tick == compared->tick && has_pass) {
            return study;
        }
    }
    return NULL;
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
            const ls_diff_subject again = other->compared;
            queue(all, other, &again);
        } else {
            leave_place(other); /* what it found is in the finding */
        }
        return true;
    }
    return false;
}

static ls_status claim_place(ls_investigations *all, ls_investigation *investigation,
                             const ls_rerun_outcome *outcome)
{
    return ls_diff_pool_claim(&all->pool, &investigation->compared, outcome, &investigation->place);
}

/* False: it goes on waiting, and so do those behind it. */
static bool give_place(ls_investigations *all, ls_investigation *investigation, uint64_t now_ns)
{
    const ls_step_study *study = study_of_compared(investigation);
    const ls_rerun_outcome *outcome = study ? study->rerun->outcome : NULL;
    ls_status status = claim_place(all, investigation, outcome);
    bool has_room = status == LS_FULL && make_room(all, now_ns);
    if (status == LS_FULL && !has_room && investigation->state_place &&
        now_ns - investigation->progress_ns >= STALLED_NS) {
        leave_state_place(investigation); /* what it found is in the finding */
        has_room = true;
    }
    if (has_room) {
        status = claim_place(all, investigation, outcome);
    }
    if (status == LS_OK) {
        investigation->comparison = LS_COMPARISON_ASKING;
        investigation->progress_ns = now_ns;
        return true;
    }
    bool is_ahead = is_comparing_later(investigation) && !all->is_at_end &&
                    investigation->later.tick > ls_replay_window_newest(all->window);
    bool may_come =
        investigation->phase == LS_INVESTIGATION_LOOKING && ((study && !outcome) || is_ahead);
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

/* ---- what is to be found out next ---- */

typedef enum next_move {
    MOVE_NONE, /* everything that can be known is */
    MOVE_WAIT,
    MOVE_SEARCH,  /* for the first state that differs */
    MOVE_STUDY,   /* a step */
    MOVE_COMPARE, /* a state, or the one behind a pass */
    MOVE_LATER,   /* compare a state to come */
    MOVE_WRITERS, /* the passes that write what differs */
} next_move;

/* The first state that differs as far as it is known; the bad one otherwise. */
static ls_tick exact_tick_of(const ls_investigation *investigation)
{
    ls_tick found = ls_tick_search_found(&investigation->search);
    return found != 0 ? found : investigation->bad_tick;
}

/* The newest study of a state, with this pass or with any (LS_NO_PASS); NULL: there is none. */
static const ls_step_study *study_of(const ls_investigation *investigation, ls_tick tick,
                                     uint32_t pass)
{
    for (uint32_t i = investigation->study_count; i-- > 0;) {
        const ls_step_study *study = &investigation->studies[i];
        if (study->subject.tick == tick && (pass == LS_NO_PASS || study->subject.pass == pass)) {
            return study;
        }
    }
    return NULL;
}

/* Re-runs tell of states between those that were compared what the match would have told, when they
 * did so of the bad one. */
static bool do_reruns_reproduce(const ls_investigation *investigation)
{
    const ls_step_study *study = &investigation->studies[0];
    return ls_step_result_reproduces(&study->server, investigation->server_hash) &&
           ls_step_result_reproduces(&study->client, investigation->client_hash);
}

const ls_step_study *ls_investigation_main_study(const ls_investigation *investigation)
{
    ls_tick exact = exact_tick_of(investigation);
    bool is_trusted = investigation->is_exact_shown || investigation->search.has_narrowed ||
                      do_reruns_reproduce(investigation);
    for (uint32_t i = 1; is_trusted && i < investigation->study_count; i++) {
        const ls_step_study *study = &investigation->studies[i];
        if (study->subject.tick == exact && exact != investigation->bad_tick &&
            ls_step_study_has_run(study)) {
            return study;
        }
    }
    return &investigation->studies[0];
}

static bool is_compared(const ls_investigation *investigation)
{
    return investigation->comparison == LS_COMPARISON_ENDED ||
           investigation->comparison == LS_COMPARISON_CONTRADICTED;
}

/* Whether the values to be reported are behind a pass: in the last one they are the state's. */
static bool has_inner_pass(const ls_investigation *investigation, uint32_t *pass)
{
    const ls_step_study *study = ls_investigation_main_study(investigation);
    return ls_step_study_compare(study, pass) == LS_PASS_AT &&
           *pass + 1 < study->server.passes.pass_count;
}

static next_move pass_move(const ls_investigation *investigation, ls_diff_subject *subject)
{
    const ls_step_study *study = ls_investigation_main_study(investigation);
    uint32_t pass = 0;
    if (!has_inner_pass(investigation, &pass)) {
        return MOVE_NONE;
    }
    *subject = (ls_diff_subject){study->subject.tick, pass};
    const ls_step_study *once_more = study_of(investigation, subject->tick, pass);
    if (!once_more) {
        return investigation->study_count < LS_STUDIES_MAX ? MOVE_STUDY : MOVE_NONE;
    }
    if (!ls_step_study_is_over(once_more)) {
        return MOVE_WAIT;
    }
    bool is_had = ls_step_study_repeats(once_more, study);
    return is_had && investigation->compared.pass != pass ? MOVE_COMPARE : MOVE_NONE;
}

/* The pass is known, and the values are not those behind it: some may be what later ones spread. */
static bool has_mixed_values(const ls_investigation *investigation, const ls_step_study *study)
{
    uint32_t pass = 0;
    const ls_desync_finding *finding = &investigation->finding;
    return finding->place_count > 1 && !finding->is_after_pass &&
           (has_inner_pass(investigation, &pass) || ls_step_study_unstable(study));
}

/* The difference did not come back: one pass may be all that writes what differs. */
static bool is_gone(const ls_investigation *investigation, const ls_step_study *study)
{
    uint32_t pass = 0;
    return investigation->finding.place_count > 0 &&
           ls_step_study_compare(study, &pass) == LS_PASS_NONE;
}

/* Where the passes tell nothing, or not which values are theirs, it is asked which of them writes
 * what. */
static next_move writers_move(const ls_investigation *investigation)
{
    const ls_step_study *study = ls_investigation_main_study(investigation);
    bool is_first = ls_tick_search_found(&investigation->search) != 0 ||
                    investigation->bad_tick - investigation->agreed_tick == 1;
    bool is_wanted = is_first &&
                     (ls_step_study_is_hidden(study) || is_gone(investigation, study) ||
                      has_mixed_values(investigation, study)) &&
                     investigation->finding.values_tick == study->subject.tick;
    if (!is_wanted || (investigation->has_asked_writers && !investigation->writers)) {
        return MOVE_NONE;
    }
    bool is_told = investigation->writers && investigation->writers->outcome;
    return !investigation->has_asked_writers ? MOVE_WRITERS : is_told ? MOVE_NONE : MOVE_WAIT;
}

/* The first state that differs is older than the one that is known to. */
static next_move exact_move(const ls_investigation *investigation, ls_diff_subject *subject)
{
    ls_tick exact = exact_tick_of(investigation);
    *subject = (ls_diff_subject){exact, LS_NO_PASS};
    if (!study_of(investigation, exact, LS_NO_PASS)) {
        return MOVE_STUDY;
    }
    if (!investigation->is_exact_queued) {
        return MOVE_COMPARE;
    }
    return ls_step_study_is_over(study_of(investigation, exact, LS_NO_PASS)) ? MOVE_NONE
                                                                             : MOVE_WAIT;
}

/* Which state differs first is asked of the states that both sides hold, while re-runs go on. */
static next_move search_move(const ls_investigation *investigation, ls_diff_subject *subject)
{
    const ls_tick_search *search = &investigation->search;
    if (investigation->bad_tick - investigation->agreed_tick <= 1 ||
        investigation->finding.is_trusted) {
        return MOVE_NONE;
    }
    *subject = (ls_diff_subject){ls_tick_search_state(search), LS_NO_PASS};
    return !search->is_begun ? MOVE_SEARCH : subject->tick != 0 ? MOVE_COMPARE : MOVE_NONE;
}

/* A state to come tells more than nothing, and where this side has to run to the bad state again it
 * comes first. */
static next_move later_move(const ls_investigation *investigation, ls_diff_subject *subject)
{
    const ls_step_study *study = &investigation->studies[0];
    const ls_later_state *later = &investigation->later;
    bool is_used_up = later->is_known || later->count >= CHOSEN_MAX;
    if (investigation->finding.place_count == 0 && !is_used_up) {
        return MOVE_LATER;
    }
    *subject = (ls_diff_subject){investigation->bad_tick, LS_NO_PASS};
    if (!investigation->is_bad_put_off) {
        return MOVE_NONE;
    }
    bool is_had = ls_step_result_reproduces(&study->server, investigation->server_hash);
    return !ls_step_study_is_over(study) ? MOVE_WAIT : is_had ? MOVE_COMPARE : MOVE_NONE;
}

/* `subject` is what to study or compare. */
static next_move choose_move(const ls_investigation *investigation, ls_diff_subject *subject)
{
    const ls_step_study *newest = &investigation->studies[investigation->study_count - 1];
    bool is_studied = ls_step_study_is_over(newest) &&
                      (investigation->has_fingerprint || investigation->is_client_gone);
    next_move next = MOVE_NONE;
    if (!is_compared(investigation)) {
        return MOVE_WAIT;
    }
    if (investigation->comparison == LS_COMPARISON_CONTRADICTED) {
        return is_studied ? MOVE_NONE : MOVE_WAIT;
    }
    if (investigation->has_own_hash && investigation->study_count == 1 && !is_studied) {
        return MOVE_WAIT; /* whether re-runs can be trusted it tells alone */
    }
    if ((next = later_move(investigation, subject)) != MOVE_NONE ||
        (next = search_move(investigation, subject)) != MOVE_NONE) {
        return next;
    }
    if (exact_tick_of(investigation) != investigation->bad_tick &&
        (next = exact_move(investigation, subject)) != MOVE_NONE) {
        return next;
    }
    bool is_searching =
        investigation->search.is_begun && !ls_tick_search_is_over(&investigation->search);
    if (!is_studied || is_searching) {
        return MOVE_WAIT;
    }
    next = pass_move(investigation, subject);
    return next != MOVE_NONE ? next : writers_move(investigation);
}

bool ls_investigation_is_done(const ls_investigation *investigation)
{
    ls_diff_subject subject;
    return choose_move(investigation, &subject) == MOVE_NONE;
}

/* ---- finding it out ---- */

/* The comparison is one of those by which the first state that differs is searched for. */
static bool is_probing(const ls_investigation *investigation)
{
    ls_tick probed = ls_tick_search_state(&investigation->search);
    return investigation->phase == LS_INVESTIGATION_LOOKING && probed != 0 &&
           investigation->compared.tick == probed && investigation->compared.pass == LS_NO_PASS;
}

static void end_probe(ls_investigation *investigation, ls_searched_state state)
{
    ls_tick_search_receive_state(&investigation->search, state);
    investigation->comparison = LS_COMPARISON_ENDED;
    leave_place(investigation);
}

static void study_step(ls_investigations *all, ls_investigation *investigation,
                       const ls_diff_subject *step)
{
    const ls_rerun_subject subject = {investigation->agreed_tick, step->tick, step->pass,
                                      step->pass != LS_NO_PASS};
    ls_step_study_release(&investigation->studies[investigation->study_count - 1], &all->reruns);
    ls_step_study *next = &investigation->studies[investigation->study_count++];
    ls_step_study_begin(next, &subject, &all->reruns);
    next->is_client_gone = investigation->is_client_gone;
}

/* The states that go into the bundle are kept: of the bad tick, until the first one is known. */
static void keep_state_place(ls_investigation *investigation, const ls_diff_subject *next)
{
    const ls_diff_subject *newest = &investigation->compared;
    bool is_for_bundle =
        newest->pass == LS_NO_PASS &&
        (newest->tick == investigation->bad_tick || newest->tick == exact_tick_of(investigation));
    if (is_for_bundle && next->tick != newest->tick && next->tick == exact_tick_of(investigation)) {
        is_for_bundle = false; /* the exact one takes its place */
    }
    if (is_for_bundle && investigation->place) {
        leave_state_place(investigation);
        investigation->state_place = investigation->place;
        investigation->state_tick = newest->tick;
        investigation->place = NULL;
    }
}

static void compare(ls_investigations *all, ls_investigation *investigation,
                    const ls_diff_subject *subject)
{
    bool is_put_off = investigation->is_bad_put_off && subject->tick == investigation->bad_tick;
    keep_state_place(investigation, subject);
    investigation->is_exact_queued =
        investigation->is_exact_queued || (ls_tick_search_is_over(&investigation->search) &&
                                           subject->pass == LS_NO_PASS && !is_put_off);
    investigation->is_bad_put_off = investigation->is_bad_put_off && !is_put_off;
    queue(all, investigation, subject);
}

static void ask_writers(ls_investigations *all, ls_investigation *investigation)
{
    ls_tick made = investigation->finding.values_tick;
    const ls_rerun_subject subject = {made - 1, made, LS_PASS_OF_WRITERS, true};
    investigation->has_asked_writers = true;
    investigation->writers = ls_rerun_share_join(&all->reruns, &subject);
}

static void release_writers(ls_investigations *all, ls_investigation *investigation)
{
    if (investigation->writers) {
        ls_rerun_share_release(&all->reruns, investigation->writers);
    }
    investigation->writers = NULL;
    investigation->has_asked_writers = false;
}

static void make_moves(ls_investigations *all, ls_investigation *investigation)
{
    ls_diff_subject subject = {0, LS_NO_PASS};
    if (is_probing(investigation) && investigation->comparison == LS_COMPARISON_ENDED) {
        end_probe(investigation, LS_SEARCHED_GONE);
    }
    if (ls_tick_search_is_held_up(&investigation->search) &&
        ls_step_study_is_over(&investigation->studies[0])) {
        ls_tick_search_go_on(&investigation->search, do_reruns_reproduce(investigation));
    }
    switch (choose_move(investigation, &subject)) {
    case MOVE_SEARCH:
        ls_tick_search_begin(&investigation->search, investigation->agreed_tick,
                             investigation->bad_tick);
        return;
    case MOVE_STUDY:
        study_step(all, investigation, &subject);
        return;
    case MOVE_COMPARE:
        compare(all, investigation, &subject);
        return;
    case MOVE_WRITERS:
        ask_writers(all, investigation);
        return;
    case MOVE_LATER:
        look_later(all, investigation);
        return;
    case MOVE_WAIT:
    case MOVE_NONE:
        return;
    }
}

bool ls_investigation_next_request(ls_investigations *all, uint32_t slot, ls_evidence_request *out)
{
    ls_investigation *investigation = &all->slots[slot];
    if (investigation->phase != LS_INVESTIGATION_LOOKING || investigation->is_client_gone) {
        return false;
    }
    *out = (ls_evidence_request){.pass = LS_NO_PASS, .is_single = true}; /* as a search asks */
    bool is_new =
        ls_step_study_next_request(&investigation->studies[investigation->study_count - 1], out) ||
        ls_tick_search_next(&investigation->search, &all->reruns, &out->tick);
    out->time_max_ms = all->reruns.time_max_ms;
    return is_new;
}

void ls_investigations_advance(ls_investigations *all, uint64_t now_ns)
{
    ls_rerun_share_poll(&all->reruns, now_ns);
    for (uint32_t slot = 0; slot < all->count; slot++) {
        ls_investigation *investigation = &all->slots[slot];
        if (investigation->phase == LS_INVESTIGATION_LOOKING) {
            ls_step_study *newest = &investigation->studies[investigation->study_count - 1];
            bool is_running = newest->rerun && !newest->rerun->outcome;
            investigation->moved_ns = is_running ? now_ns : investigation->moved_ns;
            ls_step_study_advance(newest);
            ls_tick_search_advance(&investigation->search, &all->reruns);
            make_moves(all, investigation);
        }
    }
    ls_diff_pool_advance(&all->pool);
    give_places(all, now_ns);
}

/* ---- one slot's case ---- */

void ls_investigation_end(ls_investigations *all, uint32_t slot)
{
    ls_investigation *investigation = &all->slots[slot];
    leave_place(investigation);
    leave_state_place(investigation);
    for (uint32_t i = 0; i < investigation->study_count; i++) {
        ls_step_study_release(&investigation->studies[i], &all->reruns);
    }
    release_writers(all, investigation);
    ls_tick_search_end(&investigation->search, &all->reruns);
    if (investigation->is_kept) {
        ls_replay_window_let_go(all->window, investigation->agreed_tick);
    }
    investigation->is_kept = false;
    investigation->phase = LS_INVESTIGATION_IDLE;
}

/* Why the state is not held: so much changes that states are copied whole, some ticks apart. 0: it
 * is, or is too old. */
static uint32_t kept_every(const ls_investigations *all, const ls_investigation_subject *subject)
{
    const ls_replay_needs needs = ls_replay_needs_of(all->instance, subject->interval_ticks);
    const ls_replay_window_config kept = ls_replay_window_config_default(&needs);
    bool is_young = ls_replay_window_newest(all->window) - subject->tick <= kept.reach_ticks;
    return is_young && !ls_replay_window_has_state(all->window, subject->tick)
               ? (kept.reach_ticks + kept.snapshots - 1) / kept.snapshots
               : 0;
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
                                   .is_trusted = ls_sim_instance_whole_ticks(all->instance) > 1,
                                   .times = finding->times + 1,
                                   .healed = finding->healed,
                                   .is_lower_bound = true};
    investigation->phase = LS_INVESTIGATION_LOOKING;
    investigation->agreed_tick = subject->agreed;
    ls_replay_window_keep(all->window, subject->agreed, subject->tick);
    investigation->is_kept = true;
    investigation->bad_tick = subject->tick;
    investigation->server_hash = subject->server_hash;
    investigation->client_hash = subject->client_hash;
    investigation->since_ns = now_ns;
    investigation->progress_ns = now_ns;
    investigation->has_answered = false;
    investigation->is_overdue = false;
    investigation->is_client_gone = false;
    investigation->has_own_hash = ls_sim_instance_schema(all->instance) == NULL;
    investigation->has_fingerprint = false;
    investigation->is_save_equal = false;
    investigation->is_exact_queued = false;
    investigation->is_exact_shown = false;
    investigation->server_figures = (ls_rerun_figures){0};
    investigation->client_figures = (ls_rerun_figures){0};
    investigation->study_count = 1;
    investigation->studies[0] = (ls_step_study){0};
    investigation->later = (ls_later_state){.count = all->is_at_end ? UINT32_MAX : 0};
    investigation->kept_every = kept_every(all, subject);
    investigation->is_bad_put_off =
        !all->is_at_end && !ls_replay_window_has_state(all->window, subject->tick);
    if (investigation->is_bad_put_off) {
        look_later(all, investigation);
    } else {
        queue(all, investigation, &(ls_diff_subject){subject->tick, LS_NO_PASS});
    }
    give_places(all, now_ns);
    /* Behind that, since the re-run may have its first state on loan from the window. */
    const ls_rerun_subject run = {subject->agreed, subject->tick, LS_NO_PASS, false};
    ls_step_study_begin(&investigation->studies[0], &run, &all->reruns);
}

void ls_investigation_compare(ls_investigations *all, uint32_t slot, ls_tick tick, uint64_t now_ns)
{
    ls_investigation *investigation = &all->slots[slot];
    ls_investigation_end(all, slot);
    investigation->phase = LS_INVESTIGATION_COMPARING;
    investigation->since_ns = now_ns;
    investigation->progress_ns = now_ns;
    const ls_diff_subject compared = {tick, LS_NO_PASS};
    queue(all, investigation, &compared);
    give_places(all, now_ns);
}

void ls_investigation_forget_client(ls_investigation *investigation)
{
    investigation->unanswered = 0;
    investigation->outdated = 0;
    if (investigation->phase != LS_INVESTIGATION_LOOKING) {
        return;
    }
    investigation->is_client_gone = true;
    if (!is_compared(investigation)) {
        investigation->comparison = LS_COMPARISON_ENDED;
    }
    investigation->later.count = UINT32_MAX;
    investigation->is_bad_put_off = false;
    investigation->is_exact_queued = true;
    investigation->search.is_given_up =
        investigation->search.is_given_up || ls_tick_search_found(&investigation->search) == 0;
    for (uint32_t i = 0; i < investigation->study_count; i++) {
        investigation->studies[i].is_client_gone = true;
    }
}

bool ls_investigation_next_query(ls_investigation *investigation, ls_wire_query *out)
{
    if (investigation->phase == LS_INVESTIGATION_LOOKING && is_comparing_later(investigation) &&
        investigation->comparison == LS_COMPARISON_WAITING &&
        later_state_next_query(&investigation->later, out)) {
        investigation->unanswered++;
        investigation->outdated = investigation->unanswered;
        return true;
    }
    if (investigation->comparison != LS_COMPARISON_ASKING || !investigation->place ||
        !ls_hash_tree_diff_next_query(investigation->place->diff, &out->query)) {
        return false;
    }
    out->tick = investigation->compared.tick;
    out->pass = investigation->compared.pass;
    investigation->unanswered++;
    return true;
}

/* ---- answers ---- */

static void note_progress(ls_investigation *investigation, uint64_t now_ns)
{
    investigation->has_answered = true;
    investigation->progress_ns = now_ns;
    investigation->moved_ns = now_ns;
}

/* The state hash that the client told of the state that is compared; false: it told none. */
static bool reported_hash(const ls_investigation *investigation, uint64_t *out)
{
    const ls_diff_subject *compared = &investigation->compared;
    const ls_step_study *newest = &investigation->studies[investigation->study_count - 1];
    if (compared->pass != LS_NO_PASS) {
        *out = newest->client.passes.state_hashes[compared->pass];
        return true;
    }
    *out = investigation->client_hash;
    return compared->tick == investigation->bad_tick;
}

static uint64_t shown_hash(const ls_investigation *investigation)
{
    const ls_diff_place *place = investigation->place;
    ls_hash_tree_diff_exchange(place->diff, place->held->inspector.state);
    uint64_t state_hash = ls_state_inspector_hash(&place->held->inspector);
    ls_hash_tree_diff_exchange(place->diff, place->held->inspector.state);
    return state_hash;
}

/* An engine may hash what it does not save: states that differ then have one save. */
static bool has_equal_save(const ls_investigation *investigation)
{
    ls_diff_figures figures = ls_hash_tree_diff_figures(investigation->place->diff);
    return investigation->has_own_hash && figures.rounds == 1 && figures.leaves == 0 &&
           figures.left_out == 0;
}

/* Whether the state that the client has shown is the one whose hash it told: only where all of it
 * is known. The hash of an engine's state is the engine's own, which is not run here. */
static bool is_contradicted(const ls_investigation *investigation)
{
    uint64_t told = 0;
    ls_diff_figures figures = ls_hash_tree_diff_figures(investigation->place->diff);
    if (figures.unfounded > 0) {
        return !has_equal_save(investigation);
    }
    return figures.left_out == 0 && !investigation->has_own_hash &&
           reported_hash(investigation, &told) && shown_hash(investigation) != told;
}

static uint64_t bits_of(const ls_schema_place *place, const uint8_t *state)
{
    uint64_t bits = 0;
    memcpy(&bits, state + place->offset, ls_field_type_bytes(place->field->type));
    return bits;
}

static uint32_t count_bits(uint64_t bits)
{
    uint32_t count = 0;
    for (; bits != 0; bits &= bits - 1) {
        count++;
    }
    return count;
}

void ls_investigation_add_places(ls_desync_finding *finding, ls_hash_tree_diff *diff,
                                 void *server_state)
{
    ls_state_difference difference;
    ls_hash_tree_diff_result(diff, &difference);
    finding->elements = difference.elements;
    finding->fields = difference.fields;
    finding->is_lower_bound = difference.is_lower_bound || !ls_hash_tree_diff_is_done(diff);
    finding->place_count = difference.place_count;
    uint64_t own[LS_DIFFERENCES_MAX];
    for (uint32_t i = 0; i < difference.place_count; i++) {
        own[i] = bits_of(&difference.places[i], server_state);
        finding->place_fields[i] = difference.places[i].field;
        finding->places[i] =
            ls_state_difference_text(&difference.places[i], server_state, server_state);
    }
    ls_hash_tree_diff_exchange(diff, server_state);
    finding->bits = 0;
    finding->is_beyond_bit = difference.place_count > 0;
    for (uint32_t i = 0; i < difference.place_count; i++) {
        uint64_t other = bits_of(&difference.places[i], server_state);
        uint64_t distance = own[i] > other ? own[i] - other : other - own[i];
        finding->bits += count_bits(own[i] ^ other);
        finding->is_beyond_bit = finding->is_beyond_bit && count_bits(distance) > 1;
        ls_schema_place_value(&difference.places[i], server_state, finding->places[i].b,
                              sizeof finding->places[i].b);
    }
    ls_hash_tree_diff_exchange(diff, server_state);
}

/* The differences behind a pass, or in the first state that differs, take the place of those in the
 * bad state once they are whole. */
static void add_places(const ls_investigation *investigation, ls_desync_finding *finding)
{
    const ls_diff_subject *compared = &investigation->compared;
    ls_hash_tree_diff *diff = investigation->place->diff;
    bool is_bad_state = compared->tick == investigation->bad_tick && compared->pass == LS_NO_PASS &&
                        finding->values_tick <= investigation->bad_tick;
    bool is_whole = ls_hash_tree_diff_is_done(diff) && ls_hash_tree_diff_leaf_count(diff) > 0 &&
                    investigation->comparison != LS_COMPARISON_CONTRADICTED;
    if (is_bad_state || is_whole) {
        ls_investigation_add_places(finding, diff, investigation->place->held->inspector.state);
        finding->values_tick = compared->tick;
        finding->is_after_pass = compared->pass != LS_NO_PASS;
    }
}

static void note_exact_state(ls_investigation *investigation)
{
    const ls_diff_subject *compared = &investigation->compared;
    const ls_hash_tree_diff *diff = investigation->place->diff;
    bool is_exact = !investigation->has_own_hash && investigation->is_exact_queued &&
                    compared->pass == LS_NO_PASS;
    if (is_exact && investigation->comparison == LS_COMPARISON_ENDED &&
        ls_hash_tree_diff_is_done(diff) && ls_hash_tree_diff_leaf_count(diff) > 0) {
        investigation->is_exact_shown = true;
        investigation->exact_hashes[0] =
            ls_state_inspector_hash(&investigation->place->held->inspector);
        investigation->exact_hashes[1] = shown_hash(investigation);
    }
}

static void end_comparison(ls_investigation *investigation, ls_comparison how)
{
    bool is_done = ls_hash_tree_diff_is_done(investigation->place->diff);
    investigation->comparison = how;
    if (investigation->phase != LS_INVESTIGATION_LOOKING) {
        return;
    }
    investigation->later.is_known =
        investigation->later.is_known || (is_done && is_comparing_later(investigation));
    if (how == LS_COMPARISON_ENDED && is_done && is_contradicted(investigation)) {
        investigation->comparison = LS_COMPARISON_CONTRADICTED;
    }
    if (is_done && investigation->compared.tick == investigation->bad_tick &&
        has_equal_save(investigation)) {
        investigation->is_save_equal = true;
    }
    add_places(investigation, &investigation->finding);
    note_exact_state(investigation);
}

/* Whether the state differs is known after the first round. */
static bool advance_probe(ls_investigation *investigation)
{
    const ls_hash_tree_diff *diff = investigation->place->diff;
    bool is_done = ls_hash_tree_diff_is_done(diff);
    if (!is_probing(investigation) || (!is_done && ls_hash_tree_diff_figures(diff).rounds < 2)) {
        return false;
    }
    bool is_same = is_done && ls_hash_tree_diff_leaf_count(diff) == 0;
    end_probe(investigation, is_same ? LS_SEARCHED_SAME : LS_SEARCHED_DIFFERS);
    return true;
}

ls_status ls_investigation_receive_answer(ls_investigations *all, uint32_t slot,
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
        if (answer->size == 0 && investigation->comparison == LS_COMPARISON_WAITING &&
            is_comparing_later(investigation) && answer->asked.tick == investigation->later.tick) {
            investigation->comparison = LS_COMPARISON_ENDED; /* the client has it not */
        }
        return LS_OK; /* it was asked for, before the comparison began anew */
    }
    bool is_open = investigation->phase == LS_INVESTIGATION_LOOKING ||
                   investigation->phase == LS_INVESTIGATION_COMPARING;
    if (!is_open || investigation->comparison != LS_COMPARISON_ASKING ||
        answer->asked.tick != investigation->compared.tick ||
        answer->asked.pass != investigation->compared.pass) {
        return LS_STALE;
    }
    ls_hash_tree_diff *diff = investigation->place->diff;
    ls_state_inspector_finish(&investigation->place->held->inspector);
    ls_status status =
        ls_hash_tree_diff_answer(diff, &answer->asked.query, answer->bytes, answer->size);
    bool is_held = answer->size > 0;
    if (status != LS_OK && !is_held && is_probing(investigation)) {
        end_probe(investigation, LS_SEARCHED_GONE);
        return LS_OK;
    }
    if (status != LS_OK) {
        end_comparison(investigation, is_held ? LS_COMPARISON_CONTRADICTED : LS_COMPARISON_ENDED);
        return is_held ? LS_MALFORMED : LS_OK;
    }
    if (!advance_probe(investigation) && ls_hash_tree_diff_is_done(diff)) {
        end_comparison(investigation, LS_COMPARISON_ENDED);
    }
    return LS_OK;
}

static ls_status receive_probe(ls_investigation *investigation, const ls_wire_evidence *evidence)
{
    ls_step_result result;
    ls_status status = ls_step_result_read(evidence, &result);
    return status == LS_OK
               ? ls_tick_search_receive(&investigation->search, &result.figures, &result.passes)
               : status;
}

ls_status ls_investigation_receive_evidence(ls_investigation *investigation,
                                            const ls_wire_evidence *evidence, uint64_t now_ns)
{
    ls_status status = LS_STALE;
    if (investigation->phase != LS_INVESTIGATION_LOOKING || evidence->tick == 0) {
        return LS_STALE;
    }
    for (uint32_t i = 0; status == LS_STALE && i < investigation->study_count; i++) {
        status = ls_step_study_receive(&investigation->studies[i], evidence);
    }
    if (status == LS_STALE && evidence->tick != investigation->bad_tick) {
        status = receive_probe(investigation, evidence);
    }
    if (status == LS_OK) {
        note_progress(investigation, now_ns);
    }
    return status;
}

ls_status ls_investigation_receive_fingerprint(ls_investigation *investigation,
                                               const ls_wire_fingerprint *print, uint64_t now_ns)
{
    if (investigation->phase != LS_INVESTIGATION_LOOKING || investigation->is_client_gone) {
        return LS_STALE;
    }
    note_progress(investigation, now_ns);
    ls_build_fingerprint_read(print->bytes, print->size, &investigation->print);
    investigation->has_fingerprint = true;
    return LS_OK;
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
