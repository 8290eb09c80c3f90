/* The simulations that tests share (tests/support), as plug-ins. */
#include "lockstep/common/simulation/simulation.h"

#if defined(PLUGIN_FAULT)
#include "lockstep/tests/support/fault_simulation.h"
#elif defined(ENGINE_HAS)
#include "lockstep/tests/support/engine_simulation.h"
#else
#include "lockstep/tests/support/counter_simulation.h"
#endif

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
#if defined(PLUGIN_FAULT)
    fault = (fault_knob){.kind = PLUGIN_FAULT, .from = 0};
    return fault_simulation();
#elif defined(ENGINE_IS_OBJECTS)
    return engine_with_objects(ENGINE_HAS);
#elif defined(ENGINE_HAS)
    return engine_with_memory(ENGINE_HAS);
#else
    return counter_simulation();
#endif
}
