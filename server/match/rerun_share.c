#include "lockstep/server/match/rerun_share.h"

#include "lockstep/common/base/assert.h"

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
