#include "lockstep/common/base/build_fingerprint.h"

#include <criterion/criterion.h>
#include <string.h>

Test(build_fingerprint, this_machine_knows_itself)
{
    ls_build_fingerprint print;
    ls_build_fingerprint_here(&print);
    const ls_fingerprint_item known[] = {LS_PRINT_LOCKSTEP,     LS_PRINT_COMPILER, LS_PRINT_FLAGS,
                                         LS_PRINT_ARCHITECTURE, LS_PRINT_FLOAT,    LS_PRINT_SYSTEM,
                                         LS_PRINT_LOCALE};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_expect_neq(print.items[known[i]][0], '\0', "%s", ls_fingerprint_item_name(known[i]));
    }
    cr_expect_not_null(strstr(print.items[LS_PRINT_FLAGS], "-ffp-contract=off"));
    cr_expect_not_null(strstr(print.items[LS_PRINT_FLOAT], "rounding to nearest"));
    ls_build_fingerprint again;
    ls_build_fingerprint_here(&again);
    cr_expect_eq(memcmp(&print, &again, sizeof print), 0);
}

Test(build_fingerprint, items_differ_when_both_are_known_and_not_the_same)
{
    ls_build_fingerprint a = {{{0}}};
    ls_build_fingerprint b = {{{0}}};
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
    ls_build_fingerprint_set(&a, LS_PRINT_CPU, "one");
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
    ls_build_fingerprint_set(&b, LS_PRINT_CPU, "two");
    cr_expect(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_FLAGS));
    ls_build_fingerprint_set(&b, LS_PRINT_CPU, "one");
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_CPU));
}

Test(build_fingerprint, texts_are_cut_and_cleaned)
{
    char text[LS_PRINT_TEXT_BYTES_MAX + 9];
    ls_build_fingerprint print = {{{0}}};
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[3] = '\x1b';
    ls_build_fingerprint_set(&print, LS_PRINT_CPU, text);
    cr_expect_eq(strlen(print.items[LS_PRINT_CPU]), LS_PRINT_TEXT_BYTES_MAX - 1);
    cr_expect_eq(print.items[LS_PRINT_CPU][3], '?');
}

Test(build_fingerprint, reads_as_it_was_written)
{
    ls_build_fingerprint print;
    ls_build_fingerprint read;
    uint8_t bytes[LS_PRINT_BYTES_MAX];
    ls_build_fingerprint_here(&print);
    size_t size = ls_build_fingerprint_write(&print, bytes);
    ls_build_fingerprint_read(bytes, size, &read);
    cr_expect_eq(memcmp(&print, &read, sizeof print), 0);
}

Test(build_fingerprint, reading_takes_what_is_there_and_no_more)
{
    ls_build_fingerprint read;
    ls_build_fingerprint_read(NULL, 0, &read);
    cr_expect_eq(read.items[0][0], '\0');
    const uint8_t open[] = {'1', 0, 'g', 'c', 'c'};
    ls_build_fingerprint_read(open, sizeof open, &read);
    cr_expect_str_eq(read.items[LS_PRINT_LOCKSTEP], "1");
    cr_expect_str_eq(read.items[LS_PRINT_COMPILER], "gcc");
    cr_expect_str_eq(read.items[LS_PRINT_FLAGS], "");
    uint8_t zeros[LS_PRINT_BYTES_MAX + 50] = {0};
    ls_build_fingerprint_read(zeros, sizeof zeros, &read);
    uint8_t longer[300];
    memset(longer, 0xff, sizeof longer);
    ls_build_fingerprint_read(longer, sizeof longer, &read);
    cr_expect_eq(strlen(read.items[0]), LS_PRINT_TEXT_BYTES_MAX - 1);
    cr_expect_eq(read.items[0][0], '?');
}
