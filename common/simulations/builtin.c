#include "lockstep/common/simulations/builtin.h"

#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/spring/spring.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"
#include "lockstep/common/simulations/units/units_state.h"

#include <string.h>

const ls_simulation *ls_builtin_simulation(uint32_t index)
{
    switch (index) {
    case 0:
        return ls_arena_simulation();
    case 1:
        return ls_units_simulation();
    case 2:
        return ls_rope_simulation();
    case 3:
        return ls_spring_simulation();
    case 4:
        return ls_tumble_simulation();
    default:
        return NULL;
    }
}

const ls_simulation *ls_builtin_simulation_named(const char *name)
{
    const ls_simulation *simulation = NULL;
    for (uint32_t i = 0; (simulation = ls_builtin_simulation(i)) != NULL; i++) {
        if (strcmp(simulation->name, name) == 0) {
            break;
        }
    }
    return simulation;
}
