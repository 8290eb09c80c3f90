/* Like crash: the second match waits for something that never comes. */
#include "lockstep/tests/zoo/zoo.h"

static void wait_for_it(const ls_step *step)
{
    zoo_state *state = step->state;
#if ZOO_FAULTY
    static volatile uint32_t played;
    played++;
    while (played > 350) { /* not in the reference run */
    }
#endif
    state->bonus++;
}

ZOO_PASSES("wait", wait_for_it);
ZOO_PLUGIN("hang", .fields = zoo_fields, .init = zoo_init)
