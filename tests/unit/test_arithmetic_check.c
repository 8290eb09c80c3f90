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
