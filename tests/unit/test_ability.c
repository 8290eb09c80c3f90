#include "lockstep/common/system/ability.h"

#include <criterion/criterion.h>
#include <string.h>

Test(ability, each_one_that_is_missing_is_told_in_a_sentence)
{
    for (int each = LS_ABILITY_PERTURBED_PROCESSES; each <= LS_ABILITY_APART_WINDOWS; each++) {
        ls_text why = {{0}};
        bool is_there = ls_ability_is_there((ls_ability)each, &why);
        cr_expect_eq(ls_ability_is_there((ls_ability)each, NULL), is_there);
        size_t size = strlen(why.bytes);
        cr_expect(is_there ? size == 0 : size > 0 && why.bytes[size - 1] == '.', "%d: %s", each,
                  why.bytes);
    }
}
