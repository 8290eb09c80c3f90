#include "lockstep/tests/support/fault_simulation.h"

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    fault = (fault_knob){.kind = PLUGIN_FAULT, .from = 0};
    return fault_simulation();
}
