/* Kept: what a test made and what goes when the test has ended, newest first, so that no test ends
 * with a list of what it made. Owns what it is given. A suite that keeps something ends its tests
 * with it: TestSuite(name, .fini = destroy_kept). Called by fixtures and by tests. */
#ifndef LOCKSTEP_TESTS_SUPPORT_KEPT_H
#define LOCKSTEP_TESTS_SUPPORT_KEPT_H

#include "lockstep/common/simulation/sim_instance.h"

#include <criterion/criterion.h>

enum {
    KEPT_MAX = 1024
};

typedef struct kept_thing {
    void *thing;
    void (*destroy)(void *thing);
} kept_thing;

static kept_thing kept_things[KEPT_MAX];
static uint32_t kept_count;

/* Returns the thing. */
static inline void *keep_until_end(void *thing, void (*destroy)(void *thing))
{
    cr_assert_lt(kept_count, KEPT_MAX);
    kept_things[kept_count++] = (kept_thing){thing, destroy};
    return thing;
}

static inline void destroy_kept(void)
{
    while (kept_count > 0) {
        kept_count--;
        kept_things[kept_count].destroy(kept_things[kept_count].thing);
    }
}

static inline void destroy_instance(void *instance)
{
    ls_sim_instance_destroy(instance);
}

/* A kept instance of a simulation that outlives the test's function; config NULL: its default. */
static inline ls_sim_instance *keep_instance(const ls_simulation *simulation,
                                             const ls_sim_config *config)
{
    ls_sim_config by_default = ls_sim_config_default(simulation);
    ls_sim_instance *instance = NULL;
    ls_text why = {{0}};
    ls_status status = ls_sim_instance_create(simulation, config ? config : &by_default,
                                              ls_allocator_heap(), &instance, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    return keep_until_end(instance, destroy_instance);
}

#endif
