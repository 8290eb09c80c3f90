/* Not a cause of a desync, but a plug-in that crashes or hangs must be named, not take the tool
 * with it. */
#include "lockstep/tests/zoo/zoo.h"

static void stumble(const ls_step *step)
{
    zoo_state *state = step->state;
#if ZOO_FAULTY
    static uint32_t played;
    volatile uint32_t *volatile nothing = NULL;
    if (++played > 350) { /* not in the reference run */
        *nothing = 1;
    }
#endif
    state->bonus++;
}

ZOO_PASSES("stumble", stumble);
ZOO_PLUGIN("crash", .fields = zoo_fields, .init = zoo_init)
