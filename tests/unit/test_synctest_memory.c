#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/surroundings.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <signal.h>
#include <string.h>

static synctest_page_memory memory;

Test(synctest_memory, blocks_come_zeroed_and_can_be_given_back)
{
    for (uint32_t layout = 0; layout < 4; layout++) {
        synctest_page_memory_init(&memory, layout);
        uint8_t *blocks[SYNCTEST_PAGE_BLOCKS_MAX];
        for (uint32_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
            blocks[i] = ls_allocate(&memory.allocator, 100 + 50 * i);
            cr_assert_not_null(blocks[i]);
            cr_assert_eq((uintptr_t)blocks[i] % 64, 0);
            cr_assert_eq(blocks[i][99 + 50 * i], 0);
            memset(blocks[i], 1, 100 + 50 * i);
        }
        cr_assert_null(ls_allocate(&memory.allocator, 1), "there is no place for one more");
        for (uint32_t i = 0; i < SYNCTEST_PAGE_BLOCKS_MAX; i++) {
            ls_release(&memory.allocator, blocks[i]);
        }
        ls_release(&memory.allocator, NULL);
        cr_assert_null(ls_allocate(&memory.allocator, SIZE_MAX / 2 + 1));
        cr_assert_not_null(ls_allocate(&memory.allocator, 1));
    }
}

Test(synctest_memory, layouts_lie_at_other_addresses_and_places_in_a_page)
{
    static synctest_page_memory memories[4];
    uintptr_t places[4];
    for (uint32_t layout = 0; layout < 4; layout++) {
        synctest_page_memory_init(&memories[layout], layout);
        places[layout] = (uintptr_t)ls_allocate(&memories[layout].allocator, 5000);
        for (uint32_t other = 0; other < layout; other++) {
            cr_assert_neq(places[layout] % 4096, places[other] % 4096);
        }
    }
}

Test(synctest_memory, a_block_can_be_written_again_after_it_was_forbidden)
{
    synctest_page_memory_init(&memory, 0);
    uint8_t *block = ls_allocate(&memory.allocator, 10000);
    synctest_page_memory_set_writable(&memory, block + 9999, false);
    cr_assert_eq(block[5000], 0);
    synctest_page_memory_set_writable(&memory, block, true);
    block[5000] = 1;
}

Test(synctest_memory, a_forbidden_block_cannot_be_written, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, 0);
    uint8_t *block = ls_allocate(&memory.allocator, 10000);
    synctest_page_memory_set_writable(&memory, block, false);
    *(volatile uint8_t *)&block[9999] = 1;
}

Test(synctest_memory, the_page_behind_a_block_is_forbidden, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, 0);
    uint8_t *block = ls_allocate(&memory.allocator, 4096);
    *(volatile uint8_t *)(block + 4096) = 1;
}

typedef struct stack_seen {
    uint8_t bytes[64];
} stack_seen;

/* Looks at a local that it never wrote. */
__attribute__((noinline)) static void look(void *user)
{
    stack_seen *seen = user;
    uint8_t unwritten[sizeof seen->bytes];
    __asm__ volatile("" : "=m"(unwritten)); /* for all the compiler knows it was written here */
    memcpy(seen->bytes, unwritten, sizeof unwritten);
}

Test(synctest_memory, a_step_on_a_filled_stack_finds_the_filling)
{
    const uint8_t fillings[] = {0x00, 0xa5, 0xff};
    for (size_t i = 0; i < sizeof fillings; i++) {
        stack_seen seen;
        stack_seen expected;
        memset(&expected, fillings[i], sizeof expected);
        synctest_surroundings_run_on_stack(fillings[i], look, &seen);
        cr_expect_eq(memcmp(&seen, &expected, sizeof seen), 0, "filling %02x", fillings[i]);
    }
}

Test(synctest_memory, the_reference_is_filled_with_zero_and_nothing_else_is)
{
    for (uint32_t tick = 0; tick < 20; tick++) {
        cr_assert_eq(synctest_surroundings_filling(false, tick), 0);
        cr_assert_neq(synctest_surroundings_filling(true, tick), 0);
    }
}

static double third(void)
{
    volatile double one = 1, three = 3;
    return one / three;
}

Test(synctest_memory, moved_rounding_gives_other_results_and_can_be_set_back)
{
    synctest_float_mode kept = synctest_float_mode_now();
    double usual = third();
    uint32_t differences = 0;
    for (uint32_t tick = 0; tick < 4; tick++) {
        synctest_float_mode moved = synctest_float_mode_moved(tick);
        synctest_float_mode_set(moved);
        cr_expect_not(synctest_float_mode_equal(kept, synctest_float_mode_now()), "tick %u", tick);
        differences += third() != usual;
        synctest_float_mode_set(kept);
        cr_assert(synctest_float_mode_equal(kept, synctest_float_mode_now()));
        cr_assert_eq(third(), usual);
    }
    cr_assert_eq(fegetround(), FE_TONEAREST);
    cr_assert_gt(differences, 0);
}
