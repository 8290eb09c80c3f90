#include "lockstep/server/investigation/step_study.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

/* ---- re-runs that are shared ---- */

static bool is_same(const ls_rerun_subject *a, const ls_rerun_subject *b)
{
    return a->agreed == b->agreed && a->tick == b->tick && a->pass == b->pass &&
           a->is_single == b->is_single;
}

static ls_shared_rerun *find_run(ls_rerun_share *share, const ls_rerun_subject *subject)
{
    ls_shared_rerun *unused = NULL;
    for (uint32_t i = 0; i < LS_RERUN_SHARES_MAX; i++) {
        ls_shared_rerun *run = &share->runs[i];
        if (run->users > 0 && is_same(&run->subject, subject)) {
            return run;
        }
        unused = run->users == 0 ? run : unused;
    }
    return unused;
}

ls_shared_rerun *ls_rerun_share_join(ls_rerun_share *share, const ls_rerun_subject *subject)
{
    ls_shared_rerun *run = share->host ? find_run(share, subject) : NULL;
    if (!run) {
        return NULL;
    }
    if (run->users == 0) {
        ls_shared_rerun begun = {.subject = *subject};
        if (ls_state_inspector_start_rerun(share->inspector, share->host, subject,
                                           share->time_max_ms, &begun.ticket) != LS_OK) {
            return NULL;
        }
        *run = begun;
    }
    run->users++;
    return run;
}

void ls_rerun_share_release(ls_rerun_share *share, ls_shared_rerun *run)
{
    LS_ASSERT(run->users > 0);
    if (--run->users == 0) {
        share->host->release(share->host->context, run->ticket);
        *run = (ls_shared_rerun){0};
    }
}

void ls_rerun_share_poll(ls_rerun_share *share, uint64_t now_ns)
{
    for (uint32_t i = 0; i < LS_RERUN_SHARES_MAX; i++) {
        ls_shared_rerun *run = &share->runs[i];
        if (run->users > 0 && !run->outcome) {
            run->outcome = share->host->poll(share->host->context, run->ticket, now_ns);
        }
    }
}

/* ---- the study of a step ---- */

void ls_step_study_begin(ls_step_study *study, const ls_rerun_subject *subject,
                         ls_rerun_share *reruns)
{
    *study = (ls_step_study){.subject = *subject};
    study->rerun = ls_rerun_share_join(reruns, subject);
}

static void release_run(ls_rerun_share *reruns, ls_shared_rerun **run)
{
    if (*run) {
        ls_rerun_share_release(reruns, *run);
    }
    *run = NULL;
}

void ls_step_study_release(ls_step_study *study, ls_rerun_share *reruns)
{
    release_run(reruns, &study->rerun);
}

bool ls_step_study_next_request(ls_step_study *study, ls_evidence_request *out)
{
    if (study->is_asked) {
        return false;
    }
    study->is_asked = true;
    *out = (ls_evidence_request){.tick = study->subject.tick,
                                 .pass = study->subject.pass,
                                 .is_single = study->subject.is_single};
    return true;
}

ls_status ls_step_result_read(const ls_wire_evidence *evidence, ls_step_result *out)
{
    ls_rerun_figures figures;
    ls_status status = ls_rerun_figures_read(evidence->figures, sizeof evidence->figures, &figures);
    if (status != LS_OK || evidence->tick == 0) {
        return LS_MALFORMED;
    }
    *out = (ls_step_result){.is_known = true,
                            .figures = figures,
                            .passes = {.tick = evidence->tick - 1,
                                       .pass_count = evidence->pass_count,
                                       .before = evidence->before}};
    memcpy(out->passes.state_hashes, evidence->state_hashes, sizeof out->passes.state_hashes);
    return LS_OK;
}

ls_status ls_step_study_receive(ls_step_study *study, const ls_wire_evidence *evidence)
{
    bool is_meant = evidence->tick == study->subject.tick && evidence->pass == study->subject.pass;
    if (!is_meant || !study->is_asked || study->client.is_known || study->is_client_gone) {
        return LS_STALE;
    }
    return ls_step_result_read(evidence, &study->client);
}

void ls_step_study_advance(ls_step_study *study)
{
    const ls_rerun_outcome *outcome = study->rerun ? study->rerun->outcome : NULL;
    if (outcome && !study->server.is_known) {
        study->server = (ls_step_result){.is_known = true,
                                         .figures = outcome->figures,
                                         .passes = outcome->passes,
                                         .unstable_pass = outcome->unstable_pass};
        study->failure = outcome->failure;
        study->outside = outcome->outside;
        study->harmless = outcome->harmless;
    }
}

const ls_step_result *ls_step_study_unstable(const ls_step_study *study)
{
    const ls_step_result *server = &study->server;
    bool is_found = server->is_known && server->unstable_pass < server->passes.pass_count;
    return is_found ? server : NULL;
}

static bool is_running(const ls_step_study *study)
{
    return study->rerun && !study->server.is_known;
}

bool ls_step_study_is_over(const ls_step_study *study)
{
    return !is_running(study) && (study->client.is_known || study->is_client_gone);
}

bool ls_step_study_is_known(const ls_step_study *study)
{
    return study->server.is_known && study->client.is_known;
}

ls_differing_pass ls_step_study_compare(const ls_step_study *study, uint32_t *pass)
{
    return ls_step_study_is_known(study)
               ? ls_pass_trace_compare(&study->server.passes, &study->client.passes, pass)
               : LS_PASS_UNKNOWN;
}

static bool is_same_behind(const ls_pass_trace *a, const ls_pass_trace *b, uint32_t pass)
{
    return pass < a->pass_count && pass < b->pass_count && a->tick == b->tick &&
           a->state_hashes[pass] == b->state_hashes[pass];
}

bool ls_step_study_repeats(const ls_step_study *study, const ls_step_study *before)
{
    uint32_t pass = study->subject.pass;
    return ls_step_study_is_known(study) && ls_step_study_is_known(before) &&
           is_same_behind(&study->server.passes, &before->server.passes, pass) &&
           is_same_behind(&study->client.passes, &before->client.passes, pass);
}

/* By itself this side gets different results. */
static bool is_unsteady(const ls_rerun_figures *figures)
{
    uint32_t known = figures->known;
    return figures->strayed < figures->tick || (known & LS_RERUN_RACES) ||
           ((known & LS_RERUN_AGAIN) && figures->again != figures->fresh) ||
           ((known & LS_RERUN_RELOADED) && figures->reloaded != figures->fresh) ||
           ((known & LS_RERUN_APART) && figures->apart != figures->fresh);
}

bool ls_step_study_is_hidden(const ls_step_study *study)
{
    uint32_t pass = 0;
    ls_differing_pass found = ls_step_study_compare(study, &pass);
    bool is_either = is_unsteady(&study->server.figures) || is_unsteady(&study->client.figures);
    return found == LS_PASS_BEFORE ||
           (found == LS_PASS_NONE && is_either && !ls_step_study_unstable(study));
}

bool ls_step_study_has_run(const ls_step_study *study)
{
    return ls_step_study_is_known(study) &&
           (study->server.figures.known & study->client.figures.known & LS_RERUN_FRESH);
}

bool ls_step_result_reproduces(const ls_step_result *result, uint64_t state_hash)
{
    const ls_rerun_figures *figures = &result->figures;
    return result->is_known && (figures->known & LS_RERUN_FRESH) &&
           figures->strayed == figures->tick && figures->fresh == state_hash &&
           (figures->live == 0 || figures->live == state_hash);
}

/* ---- tick search ---- */

void ls_tick_search_begin(ls_tick_search *search, ls_tick agreed, ls_tick differs)
{
    LS_ASSERT(agreed < differs);
    search->is_begun = true;
    search->agreed = agreed;
    search->same = agreed;
    search->differs = differs;
}

static ls_tick middle(const ls_tick_search *search)
{
    return search->same + (search->differs - search->same) / 2;
}

ls_tick ls_tick_search_state(const ls_tick_search *search)
{
    bool is_on = search->is_begun && !search->is_by_rerun && !ls_tick_search_is_over(search);
    return is_on ? middle(search) : 0;
}

void ls_tick_search_receive_state(ls_tick_search *search, ls_searched_state state)
{
    LS_ASSERT(ls_tick_search_state(search) != 0);
    if (state == LS_SEARCHED_SAME) {
        search->same = middle(search);
    } else if (state == LS_SEARCHED_DIFFERS) {
        search->differs = middle(search);
    } else {
        search->is_by_rerun = true;
    }
}

bool ls_tick_search_is_held_up(const ls_tick_search *search)
{
    return search->is_by_rerun && !search->can_run && !search->is_given_up;
}

void ls_tick_search_go_on(ls_tick_search *search, bool can_run)
{
    LS_ASSERT(ls_tick_search_is_held_up(search));
    search->can_run = can_run;
    search->is_given_up = !can_run;
}

void ls_tick_search_end(ls_tick_search *search, ls_rerun_share *reruns)
{
    release_run(reruns, &search->rerun);
    *search = (ls_tick_search){0};
}

bool ls_tick_search_next(ls_tick_search *search, ls_rerun_share *reruns, ls_tick *out)
{
    if (!search->can_run || search->asked != 0 || ls_tick_search_is_over(search)) {
        return false;
    }
    const ls_rerun_subject subject = {search->agreed, middle(search), LS_NO_PASS, true};
    search->rerun = ls_rerun_share_join(reruns, &subject);
    search->is_given_up = !search->rerun;
    if (search->is_given_up) {
        return false;
    }
    search->asked = subject.tick;
    search->is_answered = false;
    *out = subject.tick;
    return true;
}

ls_status ls_tick_search_receive(ls_tick_search *search, const ls_rerun_figures *figures,
                                 const ls_pass_trace *passes)
{
    bool is_asked = search->asked != 0 && !search->is_answered;
    if (!is_asked || passes->tick + 1 != search->asked) {
        return LS_STALE;
    }
    search->is_answered = true;
    search->is_given_up = !(figures->known & LS_RERUN_FRESH) || figures->tick != search->asked;
    search->client_hash = figures->fresh;
    search->answer = *passes;
    return LS_OK;
}

static void narrow(ls_tick_search *search, const ls_rerun_outcome *outcome)
{
    if (outcome->figures.fresh == search->client_hash) {
        search->same = search->asked;
        return;
    }
    search->differs = search->asked;
    search->has_narrowed = true;
    search->passes[0] = outcome->passes;
    search->passes[1] = search->answer;
}

void ls_tick_search_advance(ls_tick_search *search, ls_rerun_share *reruns)
{
    const ls_rerun_outcome *outcome = search->rerun ? search->rerun->outcome : NULL;
    if (outcome && !(outcome->figures.known & LS_RERUN_FRESH)) {
        search->is_given_up = true;
    }
    if (outcome && search->is_answered && !search->is_given_up) {
        narrow(search, outcome);
        release_run(reruns, &search->rerun);
        search->asked = 0;
    }
}

bool ls_tick_search_is_over(const ls_tick_search *search)
{
    return search->is_given_up || (search->is_begun && search->differs - search->same == 1);
}

ls_tick ls_tick_search_found(const ls_tick_search *search)
{
    return ls_tick_search_is_over(search) && !search->is_given_up ? search->differs : 0;
}
