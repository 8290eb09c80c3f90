#include "lockstep/common/loader/maths_check.h"

#include "lockstep/common/system/library.h"

#include <criterion/criterion.h>
#include <fenv.h>

static void *maths;

/* Elsewhere it is a part of the C library, and found without it. */
static void open_maths(void)
{
    maths = ls_library_open_installed("libm.so.6");
}

static void close_maths(void)
{
    ls_library_close(maths);
}

TestSuite(maths_check, .init = open_maths, .fini = close_maths);

Test(maths_check, a_function_is_known_by_each_form_of_its_name)
{
    uint64_t sin_bit = ls_maths_functions_named("sin");
    uint64_t cos_bit = ls_maths_functions_named("cos");
    cr_assert_neq(sin_bit, 0);
    cr_expect_neq(sin_bit, cos_bit);
    cr_expect_eq(ls_maths_functions_named("sincos"), sin_bit | cos_bit);
    cr_expect_eq(ls_maths_functions_named("sinl"), sin_bit);
    cr_expect_eq(ls_maths_functions_named("_ZGVdN4v_sin"), sin_bit);
    cr_expect_eq(ls_maths_functions_named("__pow_finite"), ls_maths_functions_named("pow"));
    cr_expect_eq(ls_maths_functions_named("lgamma_r"), ls_maths_functions_named("lgamma"));
    cr_expect_neq(ls_maths_functions_named("sinf"), sin_bit);
    cr_expect_eq(ls_maths_functions_named("sincosf"),
                 ls_maths_functions_named("sinf") | ls_maths_functions_named("cosf"));
}

Test(maths_check, what_is_exact_and_what_is_no_maths_is_left_out)
{
    static const char *const names[] = {"",     "f",     "sqrt",  "sqrtf",    "floor",
                                        "fma",  "si",    "since", "sin_",     "_ZGV",
                                        "fmod", "powf_", "l",     "__finite", "memcpy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_expect_eq(ls_maths_functions_named(names[i]), 0, "%s", names[i]);
    }
}

Test(maths_check, a_simulation_that_calls_none_is_not_compared)
{
    cr_expect_eq(ls_maths_check(0, maths), 0);
    cr_expect_neq(ls_maths_check(ls_maths_functions_named("sin"), maths), 0);
}

Test(maths_check, every_function_is_part_of_it_and_gives_the_same_again)
{
    uint64_t all = ls_maths_check(UINT64_MAX, maths);
    cr_expect_eq(ls_maths_check(UINT64_MAX, maths), all);
    for (uint32_t bit = 0; bit < 64; bit++) {
        cr_expect_neq(ls_maths_check(~(UINT64_C(1) << bit), maths), all, "bit %u", bit);
    }
}

/* As another processor or another version of the library would. */
Test(maths_check, other_last_bits_are_found)
{
    uint64_t used = ls_maths_functions_named("pow");
    uint64_t usual = ls_maths_check(used, maths);
    cr_assert_eq(fesetround(FE_UPWARD), 0);
    uint64_t upward = ls_maths_check(used, maths);
    fesetround(FE_TONEAREST);
    cr_expect_neq(upward, usual);
}
