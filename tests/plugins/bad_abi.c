#include "lockstep/tests/plugins/minimal.h"

const ls_simulation *lockstep_simulation(void)
{
    static ls_simulation simulation;
    simulation = minimal_simulation("bad_abi", NULL);
    simulation.abi = LS_SIMULATION_ABI + 1;
    return &simulation;
}
