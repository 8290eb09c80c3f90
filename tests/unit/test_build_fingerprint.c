#define _GNU_SOURCE
#include "lockstep/common/base/build_fingerprint.h"

#include "lockstep/common/system/machine_fingerprint.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef _WIN32
#include <sched.h>
#endif

Test(build_fingerprint, this_machine_knows_itself)
{
    ls_build_fingerprint print;
    ls_build_fingerprint_here(&print);
    const ls_fingerprint_item known[] = {
        LS_PRINT_LOCKSTEP, LS_PRINT_COMPILER,  LS_PRINT_FLAGS,  LS_PRINT_ARCHITECTURE,
        LS_PRINT_FLOAT,    LS_PRINT_SYSTEM,    LS_PRINT_LOCALE, LS_PRINT_CPU_FEATURES,
        LS_PRINT_CORES,    LS_PRINT_DIRECTORY,
#ifndef _WIN32
        LS_PRINT_PRELOADS,
#endif
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_expect_neq(print.items[known[i]][0], '\0', "%s", ls_fingerprint_item_name(known[i]));
    }
    cr_expect_not_null(strstr(print.items[LS_PRINT_FLAGS], "-ffp-contract=off"));
    cr_expect_not_null(strstr(print.items[LS_PRINT_FLOAT], "rounding to nearest, denormals kept"));
    ls_build_fingerprint again;
    ls_build_fingerprint_here(&again);
    cr_expect_eq(memcmp(&print, &again, sizeof print), 0);
}

/* Names the one item that is not what it was at `before`. */
static void expect_only(const ls_build_fingerprint *before, ls_fingerprint_item changed)
{
    ls_build_fingerprint now;
    ls_build_fingerprint_here(&now);
    for (uint32_t i = 0; i < LS_PRINT_ITEM_COUNT; i++) {
        ls_fingerprint_item item = (ls_fingerprint_item)i;
        cr_expect_eq(ls_build_fingerprint_differs(before, &now, item), item == changed, "%s: %s",
                     ls_fingerprint_item_name(item), now.items[i]);
    }
}

#ifndef _WIN32
static void print_in_zone(const char *zone, ls_build_fingerprint *out)
{
    cr_assert_eq(setenv("TZ", zone, 1), 0);
    tzset();
    ls_build_fingerprint_here(out);
}

Test(build_fingerprint, time_zones_of_one_name_differ_by_offset_and_rules)
{
    static const char *const zones[] = {"UTC", "UTC-9", "UTC0DST,M3.5.0,M10.5.0"};
    ls_build_fingerprint first, other;
    print_in_zone(zones[0], &first);
    for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
        print_in_zone(zones[i], &other);
        cr_expect_eq(ls_build_fingerprint_differs(&first, &other, LS_PRINT_LOCALE), i > 0, "%s",
                     other.items[LS_PRINT_LOCALE]);
    }
}
#endif

Test(build_fingerprint, another_directory_is_seen)
{
    ls_build_fingerprint before;
    ls_build_fingerprint_here(&before);
    cr_assert_eq(chdir("/"), 0);
    expect_only(&before, LS_PRINT_DIRECTORY);
}

#ifndef _WIN32
Test(build_fingerprint, fewer_cores_are_seen)
{
    ls_build_fingerprint before;
    cpu_set_t all;
    cpu_set_t one;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) == 1) {
        cr_skip_test("this machine has one core");
    }
    ls_build_fingerprint_here(&before);
    CPU_ZERO(&one);
    for (int core = 0; CPU_COUNT(&one) == 0; core++) {
        if (CPU_ISSET(core, &all)) {
            CPU_SET(core, &one);
        }
    }
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    expect_only(&before, LS_PRINT_CORES);
}
#endif

#if defined(__SSE2__)
Test(build_fingerprint, denormals_that_are_zero_are_seen)
{
    ls_build_fingerprint before;
    ls_build_fingerprint_here(&before);
    const char *const texts[] = {"flushed to zero", "read as zero", "flushed to and read as zero"};
    const unsigned modes[] = {0x8000, 0x0040, 0x8040};
    const unsigned usual = __builtin_ia32_stmxcsr();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        ls_build_fingerprint now;
        __builtin_ia32_ldmxcsr(usual | modes[i]);
        ls_build_fingerprint_here(&now);
        __builtin_ia32_ldmxcsr(usual);
        cr_expect_not_null(strstr(now.items[LS_PRINT_FLOAT], texts[i]), "%s",
                           now.items[LS_PRINT_FLOAT]);
        cr_expect(ls_build_fingerprint_differs(&before, &now, LS_PRINT_FLOAT));
    }
}
#endif

Test(build_fingerprint, equal_bytes_in_another_file_are_the_same_simulation)
{
    ls_build_fingerprint a = {{{0}}};
    ls_build_fingerprint b = {{{0}}};
    ls_build_fingerprint_set(&a, LS_PRINT_SIMULATION, "0123, 456 bytes, game.so");
    ls_build_fingerprint_set(&b, LS_PRINT_SIMULATION, "0123, 456 bytes, copy.so");
    cr_expect_not(ls_build_fingerprint_differs(&a, &b, LS_PRINT_SIMULATION));
    ls_build_fingerprint_set(&b, LS_PRINT_SIMULATION, "0123, 45 bytes, game.so");
    cr_expect(ls_build_fingerprint_differs(&a, &b, LS_PRINT_SIMULATION));
    ls_build_fingerprint_set(&b, LS_PRINT_SIMULATION, "built in");
    cr_expect(ls_build_fingerprint_differs(&a, &b, LS_PRINT_SIMULATION));
}

Test(build_fingerprint, texts_that_are_too_many_for_a_message_are_cut_and_still_compared)
{
    ls_build_fingerprint print = {{{0}}};
    ls_build_fingerprint read;
    uint8_t bytes[LS_PRINT_BYTES_MAX];
    char longest[LS_PRINT_TEXT_BYTES_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    for (uint32_t item = 1; item < LS_PRINT_ITEM_COUNT; item++) {
        ls_build_fingerprint_set(&print, (ls_fingerprint_item)item, longest);
    }
    ls_build_fingerprint_set(&print, LS_PRINT_LOCKSTEP, "short");
    size_t size = ls_build_fingerprint_write(&print, bytes);
    cr_expect_leq(size, LS_PRINT_BYTES_MAX);
    cr_expect_gt(size, LS_PRINT_BYTES_MAX - LS_PRINT_ITEM_COUNT);
    ls_build_fingerprint_read(bytes, size, &read);
    cr_expect_str_eq(read.items[LS_PRINT_LOCKSTEP], "short");
    for (uint32_t item = 0; item < LS_PRINT_ITEM_COUNT; item++) {
        cr_expect_not(ls_build_fingerprint_differs(&print, &read, (ls_fingerprint_item)item));
    }
    size_t kept = strlen(read.items[LS_PRINT_CPU]);
    cr_expect_eq(read.items[LS_PRINT_CPU][kept - 1], '~');
    cr_expect_lt(kept, LS_PRINT_TEXT_BYTES_MAX - 1);
    read.items[LS_PRINT_CPU][kept - 2] = 'y';
    cr_expect(ls_build_fingerprint_differs(&print, &read, LS_PRINT_CPU));
    ls_build_fingerprint_set(&print, LS_PRINT_CPU, "xxx");
    cr_expect(ls_build_fingerprint_differs(&print, &read, LS_PRINT_CPU));
}

/* Older versions knew eleven items. */
Test(build_fingerprint, a_shorter_list_leaves_the_new_items_unknown)
{
    ls_build_fingerprint print;
    ls_build_fingerprint read;
    uint8_t bytes[LS_PRINT_BYTES_MAX];
    ls_build_fingerprint_here(&print);
    (void)ls_build_fingerprint_write(&print, bytes);
    size_t size = 0;
    for (uint32_t item = 0; item <= LS_PRINT_LOCALE; item++) {
        size += strlen(print.items[item]) + 1;
    }
    ls_build_fingerprint_read(bytes, size, &read);
    cr_expect_str_eq(read.items[LS_PRINT_LOCALE], print.items[LS_PRINT_LOCALE]);
    for (uint32_t item = LS_PRINT_LOCALE + 1; item < LS_PRINT_ITEM_COUNT; item++) {
        cr_expect_str_eq(read.items[item], "");
        cr_expect_not(ls_build_fingerprint_differs(&print, &read, (ls_fingerprint_item)item));
    }
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
