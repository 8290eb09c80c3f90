#include "lockstep/common/simulation/arithmetic_check.h"

#include <criterion/criterion.h>
#include <fenv.h>

Test(arithmetic_check, keeps_nothing_from_one_call_to_the_next)
{
    uint64_t first = ls_arithmetic_check();
    cr_assert_eq(ls_arithmetic_check(), first);
}

Test(arithmetic_check, finds_a_machine_that_rounds_differently)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    uint64_t nearest = ls_arithmetic_check();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        fesetround(modes[i]);
        uint64_t check = ls_arithmetic_check();
        fesetround(FE_TONEAREST);
        cr_assert_neq(check, nearest, "mode %zu", i);
    }
}

#if defined(__SSE2__)
Test(arithmetic_check, finds_a_processor_that_treats_denormals_as_zero)
{
    enum {
        FLUSHES = 0x8000,
        READS_AS_ZERO = 0x0040,
    };
    static const unsigned modes[] = {FLUSHES, READS_AS_ZERO, FLUSHES | READS_AS_ZERO};
    const unsigned usual = __builtin_ia32_stmxcsr();
    uint64_t kept = ls_arithmetic_check();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        __builtin_ia32_ldmxcsr(usual | modes[i]);
        uint64_t check = ls_arithmetic_check();
        __builtin_ia32_ldmxcsr(usual);
        cr_expect_neq(check, kept, "mode %zu", i);
    }
}
#endif
