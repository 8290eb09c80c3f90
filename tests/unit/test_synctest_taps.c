#include "lockstep/tools/synctest/input_taps.h"

#include <criterion/criterion.h>
#include <string.h>

static synctest_taps taps;
static uint8_t edges[2];
static uint8_t buttons[2];

static void start(void)
{
    memset(&taps, 0, sizeof taps);
    memset(edges, 0, sizeof edges);
    memset(buttons, 0, sizeof buttons);
}

/* One player's inputs, of two bytes each. */
static synctest_tapped found_in(const uint8_t (*inputs)[2], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        synctest_taps_add(&taps, 1, inputs[i], 2);
    }
    return synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2);
}

static const uint8_t thrice[][2] = {{1, 0}, {1, 8}, {1, 0}, {1, 8}, {1, 0},
                                    {3, 0}, {3, 0}, {1, 0}, {1, 8}, {1, 0}};
enum {
    THRICE = sizeof thrice / sizeof thrice[0]
};

Test(synctest_taps, a_bit_that_is_set_for_one_tick_at_a_time_is_found, .init = start)
{
    synctest_tapped found = found_in(thrice, THRICE);
    cr_assert_eq(found.times, 3);
    cr_assert_eq(found.byte, 1);
    cr_assert_eq(found.bits, 8);
    cr_assert_not(found.is_whole);
}

Test(synctest_taps, an_edge_or_a_button_is_named_already, .init = start)
{
    edges[1] = 8;
    cr_assert_eq(found_in(thrice, THRICE).times, 0);
    edges[1] = 0;
    buttons[1] = 8;
    cr_assert_eq(found_in(thrice, THRICE).times, 0);
}

Test(synctest_taps, a_bit_that_is_ever_held_is_no_move, .init = start)
{
    const uint8_t held[][2] = {{1, 8}, {1, 8}, {1, 0}};
    found_in(thrice, THRICE);
    cr_assert_eq(found_in(held, 3).times, 0);
}

Test(synctest_taps, twice_can_be_chance, .init = start)
{
    cr_assert_eq(found_in(thrice, 6).times, 0);
}

Test(synctest_taps, a_number_that_changes_is_no_move, .init = start)
{
    for (uint32_t i = 0; i < 200; i++) {
        const uint8_t input[2] = {(uint8_t)(i * 37 / 5), (uint8_t)(255 - i)};
        synctest_taps_add(&taps, 0, input, sizeof input);
    }
    cr_assert_eq(synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2).times, 0);
}

/* An order game sends an input when there is an order, and none else. */
Test(synctest_taps, inputs_between_empty_ones_are_found_as_wholes, .init = start)
{
    const uint8_t order[2] = {7, 9};
    for (uint32_t i = 0; i < 12; i++) {
        synctest_taps_add(&taps, 0, order, i % 4 == 1 ? 2 : 0);
    }
    synctest_tapped found = synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2);
    cr_assert(found.is_whole && found.times == 3);
    memset(edges, 0xFF, sizeof edges);
    cr_assert_eq(synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2).times, 0);
}

Test(synctest_taps, an_empty_seat_parts_two_inputs, .init = start)
{
    for (uint32_t i = 0; i < THRICE; i++) {
        synctest_taps_add(&taps, 1, thrice[i], 2);
        synctest_taps_add(&taps, 1, NULL, 0);
    }
    cr_assert_eq(synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2).times, 0);
}

Test(synctest_taps, the_sentence_names_the_bits_and_what_to_do, .init = start)
{
    ls_text words = {""};
    synctest_tapped found = found_in(thrice, THRICE);
    synctest_tapped_describe(&found, &words);
    cr_assert(strstr(words.bytes, "bits 0x08 of byte 1"));
    cr_assert(strstr(words.bytes, "3 times"));
    cr_assert(strstr(words.bytes, "input_bits"));
}
