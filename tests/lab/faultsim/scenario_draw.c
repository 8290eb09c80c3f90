#include "lockstep/tests/lab/faultsim/scenario_draw.h"

#include "lockstep/common/base/assert.h"

bool faultsim_draw_one_in(faultsim_draw *here, uint32_t count)
{
    return ls_rng_below(&here->rng, count) == 0;
}

uint32_t faultsim_draw_between(faultsim_draw *here, uint32_t low, uint32_t high)
{
    return low + ls_rng_below(&here->rng, high - low + 1);
}

uint64_t faultsim_draw_ns_between(faultsim_draw *here, uint64_t low_ns, uint64_t high_ns)
{
    uint32_t share = ls_rng_next(&here->rng);
    return high_ns <= low_ns ? low_ns : low_ns + (high_ns - low_ns) / 65536 * (share >> 16);
}

uint32_t faultsim_draw_pick(faultsim_draw *here, const uint32_t *values, uint32_t count)
{
    return values[ls_rng_below(&here->rng, count)];
}

bool faultsim_draw_happens(faultsim_draw *here, faultsim_fault_class fault, uint32_t one_in_count)
{
    bool is_drawn = faultsim_draw_one_in(here, one_in_count);
    return is_drawn && (here->options->classes >> fault & 1u);
}

faultsim_action *faultsim_draw_add_action(faultsim_draw *here, uint64_t at_ns,
                                          faultsim_action_kind kind, uint32_t client)
{
    faultsim_scenario *scenario = here->scenario;
    LS_ASSERT(scenario->action_count < FAULTSIM_ACTIONS_MAX);
    uint32_t at = scenario->action_count++;
    for (; at > 0 && scenario->actions[at - 1].at_ns > at_ns; at--) {
        scenario->actions[at] = scenario->actions[at - 1];
    }
    scenario->actions[at] = (faultsim_action){.at_ns = at_ns, .kind = kind, .client = client};
    return &scenario->actions[at];
}

void faultsim_draw_add_links(faultsim_draw *here, uint64_t at_ns, faultsim_action_kind kind,
                             uint32_t client, const ls_link_config *up, const ls_link_config *down)
{
    faultsim_action *action = faultsim_draw_add_action(here, at_ns, kind, client);
    action->up = *up;
    action->down = *down;
}

/* ---- links and computers ---- */

/* The link that a player has for good. */
ls_link_config faultsim_draw_baseline_link(faultsim_draw *here)
{
    static const uint32_t delays_ms[] = {0, 1, 5, 15, 34, 50, 80, 150};
    /* The ticks of a round trip must fit into a packet, or nobody can keep up. */
    bool is_fast = here->scenario->setup.match.sim.tick_rate_hz > 60;
    return (ls_link_config){.delay_ns = faultsim_draw_pick(here, delays_ms, is_fast ? 6 : 8) * MS};
}

ls_link_config faultsim_draw_impairments(faultsim_draw *here, const ls_link_config *baseline)
{
    ls_link_config link = *baseline;
    uint32_t loss_ppm = faultsim_draw_between(here, 1, 30) * PPM_OF_PERCENT;
    uint32_t burst_ppm = faultsim_draw_between(here, 1, 30) * PPM_OF_PERCENT;
    uint32_t burst_milli = faultsim_draw_between(here, 1000, 16000);
    uint64_t jitter_ns = faultsim_draw_ns_between(here, MS, 60 * MS);
    uint32_t duplicate_ppm = faultsim_draw_between(here, 1, 30) * PPM_OF_PERCENT;
    if (faultsim_draw_happens(here, LS_CLASS_LOSS, 3)) {
        link.loss_ppm = loss_ppm;
    }
    if (faultsim_draw_happens(here, LS_CLASS_BURST, 4)) {
        link.burst_ppm = burst_ppm;
        link.burst_milli = burst_milli;
        link.burst_loss_ppm = 100 * PPM_OF_PERCENT;
    }
    if (faultsim_draw_happens(here, LS_CLASS_JITTER, 3)) {
        link.jitter_ns = jitter_ns;
    }
    if (faultsim_draw_happens(here, LS_CLASS_DUPLICATE, 4)) {
        link.duplicate_ppm = duplicate_ppm;
    }
    return link;
}

void faultsim_draw_computer(faultsim_draw *here, uint32_t index)
{
    static const uint32_t usual[] = {60, 60, 60, 60, 72, 144};
    static const uint32_t slow[] = {10, 20, 30, 45};
    virtual_client_setup *setup = &here->scenario->clients[index].setup;
    setup->frame_hz = faultsim_draw_pick(here, usual, 6);
    uint32_t slow_hz = faultsim_draw_pick(here, slow, 4);
    if (faultsim_draw_happens(here, LS_CLASS_SLOW, 8)) {
        setup->frame_hz = slow_hz;
    }
    uint64_t frame_ns = LS_NS_PER_SECOND / setup->frame_hz;
    uint64_t jitter_ns = faultsim_draw_ns_between(here, 0, frame_ns / 2);
    setup->frame_jitter_ns = faultsim_draw_happens(here, LS_CLASS_SLOW, 4) ? jitter_ns : 0;
    int32_t drift_ppm = ls_rng_between(&here->rng, -500, 500);
    setup->drift_ppm = faultsim_draw_happens(here, LS_CLASS_CLOCK, 2) ? drift_ppm : 0;
    setup->session = ls_session_config_default();
    setup->session.keeps_previous_state = faultsim_draw_one_in(here, 8);
    setup->session.makes_inputs_between_frames = !faultsim_draw_one_in(here, 3);
    uint32_t predict_ticks = faultsim_draw_between(here, 1, 12);
    setup->session.predict_ticks = faultsim_draw_one_in(here, 4) ? predict_ticks : 0;
    setup->simulation = here->scenario->setup.match.simulation;
}
