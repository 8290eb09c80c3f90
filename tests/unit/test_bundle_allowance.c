#include "lockstep/server/rooms/bundle_allowance.h"

#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    COPIES = 8,
    TAKES = 1000,
};

static ls_bundle_allowance *of(uint64_t bytes)
{
    ls_bundle_allowance *allowance = NULL;
    cr_assert_eq(ls_bundle_allowance_create(bytes, &allowance), LS_OK);
    return allowance;
}

Test(bundle_allowance, what_does_not_fit_takes_nothing)
{
    ls_bundle_allowance *allowance = of(100);
    cr_assert(ls_bundle_allowance_spend(allowance, 60));
    cr_assert_not(ls_bundle_allowance_spend(allowance, 41));
    cr_assert_not(ls_bundle_allowance_spend(allowance, UINT64_MAX));
    cr_assert_not(ls_bundle_allowance_is_spent(allowance));
    cr_assert(ls_bundle_allowance_spend(allowance, 40));
    cr_assert(ls_bundle_allowance_is_spent(allowance));
    ls_bundle_allowance_give_back(allowance, 40);
    cr_assert(ls_bundle_allowance_spend(allowance, 40));
    ls_bundle_allowance_destroy(allowance);
}

Test(bundle_allowance, copies_of_the_process_take_together_what_there_is)
{
    ls_bundle_allowance *allowance = of(COPIES * TAKES / 2);
    for (uint32_t i = 0; i < COPIES; i++) {
        if (fork() == 0) {
            uint32_t taken = 0;
            for (uint32_t take = 0; take < TAKES; take++) {
                taken += ls_bundle_allowance_spend(allowance, 1);
            }
            _exit((int)(taken / 10)); /* up to 100 tens */
        }
    }
    uint32_t tens = 0;
    int how = 0;
    while (wait(&how) > 0) {
        tens += (uint32_t)WEXITSTATUS(how);
    }
    cr_assert_leq(tens * 10, COPIES * TAKES / 2);
    cr_assert_geq(tens * 10, COPIES * TAKES / 2 - 10 * COPIES);
    cr_assert(ls_bundle_allowance_is_spent(allowance));
    ls_bundle_allowance_destroy(allowance);
}
