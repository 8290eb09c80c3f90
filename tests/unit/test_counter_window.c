#include "lockstep/protocol/sealed/sealed_packet.h"

#include <criterion/criterion.h>

/* Whether the packet is taken, and which counter it has. */
static bool admit(ls_counter_window *window, uint64_t counter)
{
    uint64_t found;
    if (!ls_counter_window_find(window, (uint16_t)counter, &found)) {
        return false;
    }
    cr_assert_eq(found, counter);
    ls_counter_window_mark(window, found);
    return true;
}

Test(counter_window, each_counter_is_taken_once)
{
    ls_counter_window window = {0};
    for (uint64_t counter = 0; counter < 1000; counter++) {
        cr_assert(admit(&window, counter));
        cr_assert_not(admit(&window, counter));
        cr_assert_not(admit(&window, counter / 2));
    }
}

Test(counter_window, last_256_are_taken_in_any_order)
{
    ls_counter_window window = {0};
    cr_assert(admit(&window, 300));
    for (uint64_t counter = 299; counter > 44; counter--) {
        cr_assert(admit(&window, counter), "%llu", (unsigned long long)counter);
        cr_assert_not(admit(&window, counter));
    }
    cr_assert_not(admit(&window, 44), "256 behind the newest");
}

Test(counter_window, nothing_comes_before_the_first)
{
    ls_counter_window window = {0};
    uint64_t found;
    cr_assert_not(ls_counter_window_find(&window, 0xffff, &found));
    cr_assert(admit(&window, 3));
    cr_assert_not(ls_counter_window_find(&window, 0xfffe, &found));
    cr_assert(admit(&window, 0));
}

Test(counter_window, newest_is_told_from_late_ones)
{
    ls_counter_window window = {0};
    cr_assert(ls_counter_window_mark(&window, 5));
    cr_assert_not(ls_counter_window_mark(&window, 3));
    cr_assert(ls_counter_window_mark(&window, 6));
    cr_assert(ls_counter_window_mark(&window, 1006));
    cr_assert_not(ls_counter_window_mark(&window, 900));
}

Test(counter_window, jump_of_any_size_forgets_what_was_seen_before_only)
{
    for (uint64_t jump = 1; jump <= 600; jump++) {
        ls_counter_window window = {0};
        for (uint64_t counter = 0; counter < 400; counter++) {
            cr_assert(admit(&window, counter));
        }
        uint64_t newest = 399 + jump;
        cr_assert(admit(&window, newest));
        for (uint64_t behind = 0; behind < 300; behind++) {
            uint64_t counter = newest - behind;
            bool is_new = counter > 399 && counter < newest && behind < 256;
            cr_assert_eq(admit(&window, counter), is_new, "%llu behind after a jump of %llu",
                         (unsigned long long)behind, (unsigned long long)jump);
        }
    }
}

Test(counter_window, counter_goes_on_past_16_bits_with_loss)
{
    ls_counter_window window = {0};
    for (uint64_t counter = 7; counter < 400000; counter += 1 + counter % 977) {
        cr_assert(admit(&window, counter));
        cr_assert_not(admit(&window, counter));
    }
}

Test(counter_window, up_to_half_of_16_bits_may_be_lost)
{
    ls_counter_window window = {0};
    cr_assert(admit(&window, 10));
    uint64_t found;
    cr_assert(ls_counter_window_find(&window, 11 + 0x7fff, &found));
    cr_assert_eq(found, 11 + 0x7fff);
    cr_assert_not(ls_counter_window_find(&window, (uint16_t)(11 + 0x8000), &found));
}
