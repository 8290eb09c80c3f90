#include "lockstep/common/base/status.h"

#include <criterion/criterion.h>
#include <string.h>

Test(status, every_code_has_a_name_and_a_text_of_its_own)
{
    static const int codes[] = {
#define CODE(name, value, text) value,
        LS_STATUS_MAP(CODE)
#undef CODE
    };
    size_t count = sizeof codes / sizeof codes[0];
    cr_assert_gt(count, 10);
    for (size_t i = 0; i < count; i++) {
        cr_assert_str_neq(ls_status_name(codes[i]), "UNKNOWN");
        for (size_t j = i + 1; j < count; j++) {
            cr_assert_neq(codes[i], codes[j]);
            cr_assert_str_neq(ls_status_text(codes[i]), ls_status_text(codes[j]));
        }
    }
}

Test(status, a_number_outside_the_list_is_unknown)
{
    cr_assert_str_eq(ls_status_name(1), "UNKNOWN");
    cr_assert_str_eq(ls_status_text(-1000), "UNKNOWN");
}
