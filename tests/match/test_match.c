#include "lockstep/common/base/clock.h"
#include "lockstep/common/sims/arena.h"
#include "lockstep/tests/support/virtual_match.h"

#include <criterion/criterion.h>
#include <stdio.h>

static ls_match_config arena_config(uint32_t players, uint32_t ticks)
{
    ls_match_config config = ls_match_config_default(ls_arena_simulation());
    config.sim.players = players;
    config.ticks = ticks;
    return config;
}

Test(match, four_clients_agree_on_every_tick)
{
    ls_match_config config = arena_config(4, 600);
    virtual_match *run = virtual_match_create(&config, 4, 10 * LS_NS_PER_MS, 1);
    virtual_match_run(run, 60 * LS_NS_PER_SECOND);
    cr_assert(virtual_match_is_over(run));
    cr_assert_eq(ls_match_tick(run->match), 600);
    for (uint32_t slot = 0; slot < 4; slot++) {
        ls_match_slot report = ls_match_slot_of(run->match, slot);
        ls_session_report session = ls_session_report_of(run->clients[slot].session);
        cr_assert(report.has_finished);
        cr_assert_not(report.is_desynced);
        cr_assert_eq(report.hashes_compared, 601);
        cr_assert_eq(report.finished.root, ls_match_root(run->match));
        cr_assert_eq(session.status, LS_OK);
        cr_assert_eq(session.tick, 600);
        fprintf(stderr,
                "on time %lu late %lu subst %lu stalled %lu slack %ld rtt %lu p50 %lu p99 %lu max "
                "%lu skipped %lu\n",
                report.inputs_on_time, report.inputs_late, report.inputs_substituted,
                session.stalled_ticks, report.slack_ns, report.rtt_ns,
                session.confirm_latency_p50_ns, session.confirm_latency_p99_ns,
                session.confirm_latency_max_ns, session.inputs_skipped);
    }
    virtual_match_destroy(run);
}

Test(match, bad)
{
    ls_match_config config = arena_config(4, 1200);
    virtual_match *run = virtual_match_create(&config, 4, 33 * LS_NS_PER_MS, 1);
    ls_memory_link link = {
        .delay_ns = 33 * LS_NS_PER_MS, .jitter_ns = 10 * LS_NS_PER_MS, .loss_ppm = 50000};
    virtual_match_set_links(run, &link);
    virtual_match_run(run, 60 * LS_NS_PER_SECOND);
    for (uint32_t slot = 0; slot < 4; slot++) {
        ls_match_slot report = ls_match_slot_of(run->match, slot);
        ls_session_report session = ls_session_report_of(run->clients[slot].session);
        fprintf(stderr,
                "on time %lu late %lu subst %lu stalled %lu slack %ld rtt %lu p50 %lu p99 %lu max "
                "%lu skipped %lu status %s state %d cmp %lu\n",
                report.inputs_on_time, report.inputs_late, report.inputs_substituted,
                session.stalled_ticks, report.slack_ns, report.rtt_ns,
                session.confirm_latency_p50_ns, session.confirm_latency_p99_ns,
                session.confirm_latency_max_ns, session.inputs_skipped,
                ls_status_name(session.status), session.state, report.hashes_compared);
    }
    virtual_match_destroy(run);
}
