/* Near: the assertion that a measured value is as wanted but for a tolerance, which says the value
 * when it fails. It owns nothing and must never be given an expression with a side effect. Called
 * by tests of links, which measure shares and times. */
#ifndef LOCKSTEP_TESTS_SUPPORT_NEAR_H
#define LOCKSTEP_TESTS_SUPPORT_NEAR_H

#include <criterion/criterion.h>

#define ASSERT_NEAR(value, wanted, tolerance)                                                      \
    do {                                                                                           \
        double near_value = (double)(value);                                                       \
        double near_wanted = (double)(wanted);                                                     \
        double near_tolerance = (double)(tolerance);                                               \
        cr_assert(near_value >= near_wanted - near_tolerance &&                                    \
                      near_value <= near_wanted + near_tolerance,                                  \
                  "%s is %f, not %f by %f", #value, near_value, near_wanted, near_tolerance);      \
    } while (0)

#endif
