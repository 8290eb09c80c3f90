#include "lockstep/common/arithmetic_check.h"

#include <criterion/criterion.h>
#include <fenv.h>

/* On x86-64 with gcc 12 and clang 14, at -O0, -O2 and -O3. Another number means machines that must
 * not share a match with those: change it only together with LS_PROTOCOL_VERSION. */
#define GOLDEN UINT64_C(0x288af0bc32f8c51f)

Test(arithmetic_check, is_the_same_on_every_machine)
{
    cr_assert_eq(ls_arithmetic_check(), GOLDEN, "0x%016llx",
                 (unsigned long long)ls_arithmetic_check());
}

Test(arithmetic_check, keeps_nothing_from_one_call_to_the_next)
{
    uint64_t first = ls_arithmetic_check();
    cr_assert_eq(ls_arithmetic_check(), first);
}

Test(arithmetic_check, finds_a_machine_that_rounds_differently)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        fesetround(modes[i]);
        uint64_t check = ls_arithmetic_check();
        fesetround(FE_TONEAREST);
        cr_assert_neq(check, GOLDEN, "mode %zu", i);
    }
}
