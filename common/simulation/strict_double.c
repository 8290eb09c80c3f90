#include "lockstep/common/simulation/strict_double.h"

#include <fenv.h>

/* The pass is behind a pointer and in another file: no compiler moves a sum of its out of here,
 * as it may where it sees both (gcc ignores FENV_ACCESS). */
void ls_strict_double_pass(void (*run)(const ls_step *step), const ls_step *step)
{
    fenv_t before;
    (void)fegetenv(&before);
    (void)fesetenv(FE_DFL_ENV);
    run(step);
    (void)fesetenv(&before);
}

ls_status ls_strict_double_init(ls_status (*init)(const ls_sim_config *config, void *state,
                                                  ls_text *why),
                                const ls_sim_config *config, void *state, ls_text *why)
{
    fenv_t before;
    (void)fegetenv(&before);
    (void)fesetenv(FE_DFL_ENV);
    ls_status status = init(config, state, why);
    (void)fesetenv(&before);
    return status;
}
