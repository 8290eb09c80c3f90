#include "lockstep/tools/faultsim/scenario_draw.h"

#include "lockstep/common/base/assert.h"

bool ls_draw_one_in(ls_draw *here, uint32_t count)
{
    return ls_rng_below(&here->rng, count) == 0;
}

uint32_t ls_draw_between(ls_draw *here, uint32_t low, uint32_t high)
{
    return low + ls_rng_below(&here->rng, high - low + 1);
}

uint64_t ls_draw_ns_between(ls_draw *here, uint64_t low_ns, uint64_t high_ns)
{
    uint32_t share = ls_rng_next(&here->rng);
    return high_ns <= low_ns ? low_ns : low_ns + (high_ns - low_ns) / 65536 * (share >> 16);
}

uint32_t ls_draw_pick(ls_draw *here, const uint32_t *values, uint32_t count)
{
    return values[ls_rng_below(&here->rng, count)];
}

bool ls_draw_happens(ls_draw *here, ls_fault_class fault, uint32_t one_in_count)
{
    bool is_drawn = ls_draw_one_in(here, one_in_count);
    return is_drawn && (here->options->classes >> fault & 1u);
}

ls_action *ls_draw_add_action(ls_draw *here, uint64_t at_ns, ls_action_kind kind, uint32_t client)
{
    ls_scenario *scenario = here->scenario;
    LS_ASSERT(scenario->action_count < LS_ACTIONS_MAX);
    uint32_t at = scenario->action_count++;
    for (; at > 0 && scenario->actions[at - 1].at_ns > at_ns; at--) {
        scenario->actions[at] = scenario->actions[at - 1];
    }
    scenario->actions[at] = (ls_action){.at_ns = at_ns, .kind = kind, .client = client};
    return &scenario->actions[at];
}

void ls_draw_add_links(ls_draw *here, uint64_t at_ns, ls_action_kind kind, uint32_t client,
                       const ls_memory_link *up, const ls_memory_link *down)
{
    ls_action *action = ls_draw_add_action(here, at_ns, kind, client);
    action->up = *up;
    action->down = *down;
}
