#include "lockstep/common/sims/builtin.h"

#include "lockstep/common/sims/arena.h"
#include "lockstep/common/sims/units.h"

const ls_simulation *ls_builtin_simulation(uint32_t index)
{
    switch (index) {
    case 0:
        return ls_arena_simulation();
    case 1:
        return ls_units_simulation();
    default:
        return NULL;
    }
}
