#include "lockstep/tests/support/counter_simulation.h"

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    return counter_simulation();
}
