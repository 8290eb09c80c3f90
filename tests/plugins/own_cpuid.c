/* Own cpuid: asks the processor what it is, by the instruction, and does nothing about it. */
#include "lockstep/tests/plugins/minimal.h"

static uint32_t ask(uint32_t leaf)
{
    uint32_t a = leaf, b = 0, c = 0, d = 0;
    __asm__ __volatile__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return b & c & d;
}

static void run(const ls_step *step)
{
    minimal_state *state = step->state;
    state->ships[0].fuel += ask(7) == 1 ? 1 : 2;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"run", run}};
    static ls_simulation simulation;
    simulation = minimal_simulation("own_cpuid", minimal_fields);
    simulation.passes = passes;
    return &simulation;
}
