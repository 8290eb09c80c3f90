#include "lockstep/server/match/investigation_plan.h"

ls_tick ls_investigation_exact_tick(const ls_investigation *investigation)
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

bool ls_investigation_do_reruns_reproduce(const ls_investigation *investigation)
{
    const ls_step_study *study = &investigation->studies[0];
    return ls_step_result_reproduces(&study->server, investigation->server_hash) &&
           ls_step_result_reproduces(&study->client, investigation->client_hash);
}

const ls_step_study *ls_investigation_main_study(const ls_investigation *investigation)
{
    ls_tick exact = ls_investigation_exact_tick(investigation);
    bool is_trusted = investigation->is_exact_shown || investigation->search.has_narrowed ||
                      ls_investigation_do_reruns_reproduce(investigation);
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

static ls_investigation_move pass_move(const ls_investigation *investigation,
                                       ls_diff_subject *subject)
{
    const ls_step_study *study = ls_investigation_main_study(investigation);
    uint32_t pass = 0;
    if (!has_inner_pass(investigation, &pass)) {
        return LS_MOVE_NONE;
    }
    *subject = (ls_diff_subject){study->subject.tick, pass};
    const ls_step_study *once_more = study_of(investigation, subject->tick, pass);
    if (!once_more) {
        return investigation->study_count < LS_STUDIES_MAX ? LS_MOVE_STUDY : LS_MOVE_NONE;
    }
    if (!ls_step_study_is_over(once_more)) {
        return LS_MOVE_WAIT;
    }
    bool is_had = ls_step_study_repeats(once_more, study);
    return is_had && investigation->compared.pass != pass ? LS_MOVE_COMPARE : LS_MOVE_NONE;
}

/* The pass is known, and the values are not those behind it: some may be what later ones spread. */
static bool has_mixed_values(const ls_investigation *investigation, const ls_step_study *study)
{
    uint32_t pass = 0;
    const ls_desync_finding *finding = &investigation->finding;
    return finding->place_count > 1 && !finding->is_after_pass &&
           (has_inner_pass(investigation, &pass) || ls_step_study_unstable(study));
}

/* Where the passes tell nothing, or not which values are theirs, it is asked which of them writes
 * what. */
static ls_investigation_move writers_move(const ls_investigation *investigation)
{
    const ls_step_study *study = ls_investigation_main_study(investigation);
    bool is_first = ls_tick_search_found(&investigation->search) != 0 ||
                    investigation->bad_tick - investigation->agreed_tick == 1;
    bool is_wanted = is_first &&
                     (ls_step_study_is_hidden(study) || has_mixed_values(investigation, study)) &&
                     investigation->finding.values_tick == study->subject.tick;
    if (!is_wanted || (investigation->has_asked_writers && !investigation->writers)) {
        return LS_MOVE_NONE;
    }
    bool is_told = investigation->writers && investigation->writers->outcome;
    return !investigation->has_asked_writers ? LS_MOVE_WRITERS
           : is_told                         ? LS_MOVE_NONE
                                             : LS_MOVE_WAIT;
}

/* The first state that differs is older than the one that is known to. */
static ls_investigation_move exact_move(const ls_investigation *investigation,
                                        ls_diff_subject *subject)
{
    ls_tick exact = ls_investigation_exact_tick(investigation);
    *subject = (ls_diff_subject){exact, LS_NO_PASS};
    if (!study_of(investigation, exact, LS_NO_PASS)) {
        return LS_MOVE_STUDY;
    }
    if (!investigation->is_exact_queued) {
        return LS_MOVE_COMPARE;
    }
    return ls_step_study_is_over(study_of(investigation, exact, LS_NO_PASS)) ? LS_MOVE_NONE
                                                                             : LS_MOVE_WAIT;
}

/* Which state differs first is asked of the states that both sides hold, while re-runs go on. */
static ls_investigation_move search_move(const ls_investigation *investigation,
                                         ls_diff_subject *subject)
{
    const ls_tick_search *search = &investigation->search;
    if (investigation->bad_tick - investigation->agreed_tick <= 1) {
        return LS_MOVE_NONE;
    }
    *subject = (ls_diff_subject){ls_tick_search_state(search), LS_NO_PASS};
    return !search->is_begun ? LS_MOVE_SEARCH : subject->tick != 0 ? LS_MOVE_COMPARE : LS_MOVE_NONE;
}

/* A state to come tells more than nothing, and where this side has to run to the bad state again it
 * comes first. */
static ls_investigation_move later_move(const ls_investigation *investigation,
                                        ls_diff_subject *subject)
{
    const ls_step_study *study = &investigation->studies[0];
    if (investigation->finding.place_count == 0 &&
        !ls_later_state_is_used_up(&investigation->later)) {
        return LS_MOVE_LATER;
    }
    *subject = (ls_diff_subject){investigation->bad_tick, LS_NO_PASS};
    if (!investigation->is_bad_put_off) {
        return LS_MOVE_NONE;
    }
    bool is_had = ls_step_result_reproduces(&study->server, investigation->server_hash);
    return !ls_step_study_is_over(study) ? LS_MOVE_WAIT : is_had ? LS_MOVE_COMPARE : LS_MOVE_NONE;
}

ls_investigation_move ls_investigation_next_move(const ls_investigation *investigation,
                                                 ls_diff_subject *subject)
{
    const ls_step_study *newest = &investigation->studies[investigation->study_count - 1];
    bool is_studied = ls_step_study_is_over(newest) && investigation->has_fingerprint;
    ls_investigation_move next = LS_MOVE_NONE;
    if (!is_compared(investigation)) {
        return LS_MOVE_WAIT;
    }
    if (investigation->comparison == LS_COMPARISON_CONTRADICTED) {
        return is_studied ? LS_MOVE_NONE : LS_MOVE_WAIT;
    }
    if (investigation->has_own_hash && investigation->study_count == 1 && !is_studied) {
        return LS_MOVE_WAIT; /* whether re-runs can be trusted it tells alone */
    }
    if ((next = later_move(investigation, subject)) != LS_MOVE_NONE ||
        (next = search_move(investigation, subject)) != LS_MOVE_NONE) {
        return next;
    }
    if (ls_investigation_exact_tick(investigation) != investigation->bad_tick &&
        (next = exact_move(investigation, subject)) != LS_MOVE_NONE) {
        return next;
    }
    bool is_searching =
        investigation->search.is_begun && !ls_tick_search_is_over(&investigation->search);
    if (!is_studied || is_searching) {
        return LS_MOVE_WAIT;
    }
    next = pass_move(investigation, subject);
    return next != LS_MOVE_NONE ? next : writers_move(investigation);
}

bool ls_investigation_is_done(const ls_investigation *investigation)
{
    ls_diff_subject subject;
    return ls_investigation_next_move(investigation, &subject) == LS_MOVE_NONE;
}
