/* Cause 13: a rule of the game is read from the environment of each machine. With ZOO_DECLARED it
 * says so in its content digest, as it should. */
#include "lockstep/tests/zoo/zoo.h"

#include <stdlib.h>

static uint32_t tax_rate(void)
{
#if ZOO_FAULTY
    const char *difficulty = getenv("ZOO_DIFFICULTY");
    return difficulty ? (uint32_t)difficulty[0] : 2;
#else
    return 2;
#endif
}

static void tax(const ls_step *step)
{
    zoo_state *state = step->state;
    state->bonus += state->inputs % 11 * tax_rate();
}

#if defined(ZOO_DECLARED)
#define CONTENT_DIGEST content_digest

static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    return tax_rate();
}
#else
#define CONTENT_DIGEST NULL
#endif

ZOO_PASSES("tax", tax);
ZOO_PLUGIN("environment", .fields = zoo_fields, .init = zoo_init, .content_digest = CONTENT_DIGEST)
