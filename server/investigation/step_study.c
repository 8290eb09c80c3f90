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

void ls_step_study_release(ls_step_study *study, ls_rerun_share *reruns)
{
    if (study->rerun) {
        ls_rerun_share_release(reruns, study->rerun);
    }
    study->rerun = NULL;
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
