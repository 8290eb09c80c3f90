/* Cause 13, the time of day: at night a rule is another one. */
#include "lockstep/tests/zoo/zoo.h"

#include <time.h>

static void sleep_or_wake(const ls_step *step)
{
    zoo_state *state = step->state;
    bool is_night = step->inputs->tick / 100 % 2 == 0;
#if ZOO_FAULTY
    is_night = time(NULL) / 3600 % 24 < 6;
#endif
    state->bonus += is_night ? 1 : 2;
}

ZOO_PASSES("sleep", sleep_or_wake);
ZOO_PLUGIN("clock", .fields = zoo_fields, .init = zoo_init)
