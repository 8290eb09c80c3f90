#include "lockstep/tests/support/engine_simulation.h"

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
#ifdef ENGINE_IS_OBJECTS
    return engine_with_objects(ENGINE_HAS);
#else
    return engine_with_memory(ENGINE_HAS);
#endif
}
