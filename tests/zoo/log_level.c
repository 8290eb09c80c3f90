/* Cause 10: a cached value is brought up to date only when it is about to be printed. */
#include "lockstep/tests/zoo/zoo.h"

#include "lockstep/common/base/log.h"

static void report(const ls_step *step)
{
    zoo_state *state = step->state;
    bool is_printed = step->tuning->log_level >= LS_LOG_INFO;
    if (!ZOO_FAULTY || is_printed || step->inputs->tick % 64 == 0) {
        state->bonus = state->inputs; /* the cache */
    }
    state->score += state->bonus;
}

ZOO_PASSES("report", report);
ZOO_PLUGIN("log_level", .fields = zoo_fields, .init = zoo_init)
