#include "lockstep/server/investigation/tick_search.h"

#include "lockstep/common/base/assert.h"

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

static void release_rerun(ls_tick_search *search, ls_rerun_share *reruns)
{
    if (search->rerun) {
        ls_rerun_share_release(reruns, search->rerun);
    }
    search->rerun = NULL;
}

void ls_tick_search_end(ls_tick_search *search, ls_rerun_share *reruns)
{
    release_rerun(search, reruns);
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
        release_rerun(search, reruns);
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
