#include "lockstep/tests/plugins/minimal.h"

/* A likely slip: the entry point has the game's name. */
LS_SIMULATION_EXPORT const ls_simulation *no_symbol_simulation(void);

const ls_simulation *no_symbol_simulation(void)
{
    static ls_simulation simulation;
    simulation = minimal_simulation("no_symbol", NULL);
    return &simulation;
}
