#include "lockstep/common/simulation/tick_chain.h"

#include <criterion/criterion.h>

static uint64_t chain_of(ls_tick tick, const char *first, uint32_t first_size, uint32_t events)
{
    ls_slot_input slots[2] = {
        {.bytes = (const uint8_t *)first, .size = first_size, .events = events},
        {.bytes = (const uint8_t *)"xy", .size = 2},
    };
    ls_tick_inputs inputs = {.tick = tick, .slot_count = 2, .slots = slots};
    return ls_tick_chain_next(LS_TICK_CHAIN_START, &inputs);
}

Test(tick_chain, same_ticks_give_the_same_chain)
{
    cr_assert_eq(chain_of(7, "ab", 2, 0), chain_of(7, "ab", 2, 0));
}

Test(tick_chain, every_part_of_a_tick_is_in_it)
{
    uint64_t plain = chain_of(7, "ab", 2, 0);
    cr_assert_neq(plain, chain_of(8, "ab", 2, 0));
    cr_assert_neq(plain, chain_of(7, "ac", 2, 0));
    cr_assert_neq(plain, chain_of(7, "ab", 1, 0));
    cr_assert_neq(plain, chain_of(7, "ab", 2, LS_EVENT_LEFT));
    cr_assert_neq(chain_of(7, "a", 0, 0), chain_of(7, "\0", 1, 0));
}

Test(tick_chain, a_chain_holds_all_earlier_ticks)
{
    ls_slot_input slot = {0};
    ls_tick_inputs inputs = {.tick = 1, .slot_count = 1, .slots = &slot};
    cr_assert_neq(ls_tick_chain_next(1, &inputs), ls_tick_chain_next(2, &inputs));
}

/* Other implementations compute the same: pinned. */
Test(tick_chain, stays_as_it_is)
{
    cr_assert_eq(chain_of(7, "ab", 2, 0), UINT64_C(0xa2ccf55ebfd89849), "%llx",
                 (unsigned long long)chain_of(7, "ab", 2, 0));
}
