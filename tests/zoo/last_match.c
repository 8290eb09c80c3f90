/* Cause 14: the best score of all matches is kept beside the state, and the next one begins with
 * it. No step reads it, so no save and no rollback shows it. */
#include "lockstep/tests/zoo/zoo.h"

#if ZOO_FAULTY
static uint64_t record;
#endif

static ls_status init(const ls_sim_config *config, void *block)
{
    ls_status status = zoo_init(config, block);
#if ZOO_FAULTY
    ((zoo_state *)block)->bonus = (uint32_t)record;
#endif
    return status;
}

static void note(const ls_step *step)
{
#if ZOO_FAULTY
    const zoo_state *state = step->state;
    record = state->score > record ? state->score : record;
#else
    (void)step;
#endif
}

ZOO_PASSES("note", note);
ZOO_PLUGIN("last_match", .fields = zoo_fields, .init = init)
