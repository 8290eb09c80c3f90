/* Borrowed: a pass takes numbers from a variable of a library that the plug-in came with, which is
 * the fault, and keeps in a variable of its own what it reads in the same call alone. The library
 * is made of the same file. */
#include "lockstep/tests/plugins/minimal.h"

uint32_t borrowed_next(void);

#ifdef BORROWED_LIBRARY
LS_SIMULATION_EXPORT uint32_t borrowed_next(void)
{
    static volatile uint32_t turns;
    turns = turns + 1;
    return turns;
}
#else
static const ls_step *volatile current;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity >= 3) {
        out[0] = MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m");
        out[1] = MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, "deg");
        out[2] = MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg");
    }
    return 3;
}

static void burn(void)
{
    ((minimal_state *)current->state)->ships[0].fuel = borrowed_next();
}

static void lend(const ls_step *step)
{
    current = step;
    burn();
    current = step + 1;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"lend", lend}};
    static ls_simulation simulation;
    simulation = minimal_simulation("borrowed", fields);
    simulation.passes = passes;
    return &simulation;
}
#endif
