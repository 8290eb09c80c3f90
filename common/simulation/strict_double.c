#include "lockstep/common/simulation/strict_double.h"

#include <fenv.h>

#ifdef __x86_64__
/* Doubles know no other mode here, and the C library's functions are slower: those of mingw run
 * CPUID, which takes 20 us in a virtual machine. */
#undef FE_DFL_ENV
#define fenv_t unsigned
#define fegetenv(mode) (*(mode) = __builtin_ia32_stmxcsr())
#define fesetenv(mode) (__builtin_ia32_ldmxcsr(*(mode)), 0)
#define FE_DFL_ENV (&(const unsigned){0x1f80})
#endif

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
