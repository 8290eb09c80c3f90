/* The clocks of a virtual match: the server's and each client's may drift, and jump forward; and
 * the moments between which a core is at work. */
#include "lockstep/tests/lab/virtual/virtual_match.h"

#define UNSTEADY_NS (LS_NS_PER_SECOND / 10) /* after a pause or a jump of the server's clock */

static uint64_t shown_ns(uint64_t epoch_ns, int32_t drift_ppm, uint64_t now_ns)
{
    int64_t drift_ns = (int64_t)(now_ns / 1000) * drift_ppm / 1000;
    return (uint64_t)((int64_t)(epoch_ns + now_ns) + drift_ns);
}

uint64_t virtual_match_server_ns(const virtual_match *run)
{
    return shown_ns(run->server_epoch_ns, run->server_drift_ppm, run->now_ns);
}

uint64_t virtual_client_ns(const virtual_client *client)
{
    return shown_ns(client->epoch_ns, client->drift_ppm, client->run->now_ns);
}

/* About the first moment, in the run's time, at which the server's clock shows `local_ns`. */
static uint64_t when_server_shows(const virtual_match *run, uint64_t local_ns)
{
    if (local_ns <= run->server_epoch_ns + LS_NS_PER_US) {
        return 0; /* drift is reckoned from there */
    }
    uint64_t moment_ns = local_ns - run->server_epoch_ns;
    int64_t drift_ppm = run->server_drift_ppm;
    if (drift_ppm == 0 || local_ns == VIRTUAL_NEVER) {
        return moment_ns;
    }
    int64_t drift_ns = (int64_t)(moment_ns / 1000) * drift_ppm / (1000000 + drift_ppm) * 1000;
    moment_ns = (uint64_t)((int64_t)moment_ns - drift_ns - LS_NS_PER_US);
    uint64_t shown = shown_ns(run->server_epoch_ns, run->server_drift_ppm, moment_ns);
    while (shown < local_ns) {
        moment_ns += local_ns - shown;
        shown = shown_ns(run->server_epoch_ns, run->server_drift_ppm, moment_ns);
    }
    return moment_ns;
}

uint64_t virtual_match_find_server_due_ns(const virtual_match *run)
{
    bool is_still = run->is_server_paused || run->is_server_dead;
    if (is_still || ls_match_state_of(run->match) == LS_MATCH_OVER) {
        return VIRTUAL_NEVER;
    }
    uint64_t due_ns = when_server_shows(run, ls_match_next_ns(run->match));
    if (run->server_loop_ns > 0) {
        due_ns = (due_ns + run->server_loop_ns - 1) / run->server_loop_ns * run->server_loop_ns;
    }
    return due_ns;
}

uint64_t virtual_client_find_due_ns(const virtual_client *client)
{
    if (client->is_paused || client->is_gone || client->is_absent) {
        return VIRTUAL_NEVER;
    }
    uint64_t due_ns = ls_session_next_ns(client->session);
    if (due_ns == VIRTUAL_NEVER) {
        return client->next_frame_ns;
    }
    uint64_t local_ns = virtual_client_ns(client);
    due_ns = client->run->now_ns + (due_ns > local_ns ? due_ns - local_ns : 0);
    return LS_MIN(due_ns, client->next_frame_ns);
}

void virtual_client_step_clock(virtual_client *client, uint64_t ns)
{
    client->epoch_ns += ns;
}

void virtual_match_step_clock(virtual_match *run, uint64_t ns)
{
    run->server_epoch_ns += ns;
    VIRTUAL_OBSERVE(run, server_unscheduled, run->now_ns + UNSTEADY_NS);
}

void virtual_match_pause_server(virtual_match *run)
{
    run->is_server_paused = true;
    VIRTUAL_OBSERVE(run, server_unscheduled, VIRTUAL_NEVER);
}

void virtual_match_resume_server(virtual_match *run)
{
    run->is_server_paused = false;
    VIRTUAL_OBSERVE(run, server_unscheduled, run->now_ns + UNSTEADY_NS);
}

virtual_work virtual_match_set_work(virtual_match *run, virtual_work work)
{
    virtual_work before = run->work;
    run->work = work;
    if (run->setup.on_work && work != before) {
        run->setup.on_work(run->setup.work_user, work);
    }
    return before;
}
