#include "lockstep/common/diagnosis/step_noise.h"
#include "lockstep/common/system/float_mode.h"
#include "lockstep/tools/synctest/page_memory.h"
#include "lockstep/tools/synctest/player.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <signal.h>
#include <string.h>

static synctest_page_memory memory;

/* Hardly two of its bytes are the same, as they are when one byte fills all. */
static void expect_noise(const uint8_t *bytes, size_t byte_count)
{
    uint32_t repeated = 0;
    for (size_t i = 1; i < byte_count; i++) {
        repeated += bytes[i] == bytes[i - 1];
    }
    cr_expect_lt(repeated, byte_count / 8);
}

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

Test(synctest_memory, noise_is_around_a_block_that_touches_a_forbidden_page)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_END);
    uint8_t *block = ls_allocate(&memory.allocator, 5003);
    cr_assert_eq((uintptr_t)(block + 5003 + 5) % 4096, 0, "the rest is for the alignment");
    cr_assert(block[0] == 0 && block[5002] == 0);
    expect_noise(block - 100, 100);
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_BEGINNING);
    block = ls_allocate(&memory.allocator, 5003);
    cr_assert_eq((uintptr_t)block % 4096, 0);
    cr_assert(block[0] == 0 && block[5002] == 0);
    expect_noise(block + 5003, 100);
}

Test(synctest_memory, a_block_that_is_not_used_whole_has_noise_around_what_is_used)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_END);
    uint8_t *block = ls_allocate(&memory.allocator, 1000);
    synctest_page_memory_surround(&memory, block + 100, 800);
    cr_assert(block[100] == 0 && block[899] == 0);
    expect_noise(block, 100);
    expect_noise(block + 900, 100);
    synctest_page_memory_init(&memory, 0);
    block = ls_allocate(&memory.allocator, 1000);
    synctest_page_memory_surround(&memory, block + 100, 800);
    cr_assert(block[99] == 0 && block[900] == 0, "not in the reference");
}

Test(synctest_memory, the_byte_behind_a_block_at_the_end_is_forbidden, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_END);
    uint8_t *block = ls_allocate(&memory.allocator, 5008);
    *(volatile uint8_t *)(block + 5008) = 1;
}

Test(synctest_memory, the_byte_before_a_block_at_the_beginning_is_forbidden, .signal = SIGSEGV)
{
    synctest_page_memory_init(&memory, SYNCTEST_PAGE_LAYOUT_BEGINNING);
    uint8_t *block = ls_allocate(&memory.allocator, 5008);
    *(volatile uint8_t *)(block - 1) = 1;
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

/* ---- inputs ---- */

static const uint8_t some_bytes[] = {7, 8, 9};

/* Two slots, the first with three bytes. */
static ls_tick_inputs lay_inputs(synctest_inputs_layout layout)
{
    static synctest_laid_inputs laid;
    const ls_slot_input slots[] = {{some_bytes, 3, LS_EVENT_JOINED}, {NULL, 0, 0}};
    cr_assert_eq(synctest_laid_inputs_init(&laid, layout), LS_OK);
    return synctest_laid_inputs_set(&laid, &(ls_tick_inputs){5, 2, slots});
}

Test(synctest_memory, laid_inputs_are_the_same_in_every_layout)
{
    for (uint32_t i = SYNCTEST_INPUTS_BEFORE_ZEROES; i <= SYNCTEST_INPUTS_BEFORE_NOISE; i++) {
        ls_tick_inputs inputs = lay_inputs((synctest_inputs_layout)i);
        cr_assert(inputs.tick == 5 && inputs.slot_count == 2);
        cr_assert(inputs.slots[0].size == 3 && inputs.slots[0].events == LS_EVENT_JOINED);
        cr_assert_arr_eq(inputs.slots[0].bytes, some_bytes, 3);
        cr_assert_eq(inputs.slots[1].size, 0);
    }
}

Test(synctest_memory, zeroes_follow_an_input_in_the_reference_and_noise_elsewhere)
{
    ls_tick_inputs inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_ZEROES);
    cr_expect(inputs.slots[0].bytes[3] == 0 && inputs.slots[0].bytes[500] == 0);
    cr_expect(inputs.slots[2].size == 0 && inputs.slots[2].bytes == NULL);
    inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_NOISE);
    expect_noise(inputs.slots[0].bytes + 3, 500);
    expect_noise((const uint8_t *)&inputs.slots[2], sizeof inputs.slots[2]);
}

Test(synctest_memory, the_byte_behind_an_input_at_a_fence_is_forbidden, .signal = SIGSEGV)
{
    ls_tick_inputs inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_FENCE);
    (void)*(const volatile uint8_t *)&inputs.slots[0].bytes[3];
}

Test(synctest_memory, the_slot_behind_the_last_is_forbidden_at_a_fence, .signal = SIGSEGV)
{
    ls_tick_inputs inputs = lay_inputs(SYNCTEST_INPUTS_BEFORE_FENCE);
    (void)*(const volatile uint32_t *)&inputs.slots[2].events;
}

/* ---- the stack ---- */

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
    static const stack_seen zeroes;
    stack_seen seen[3];
    ls_step_noise noise = {.kind = LS_NOISE_ZERO};
    ls_step_noise_run(&noise, look, &seen[0]);
    cr_expect_eq(memcmp(&seen[0], &zeroes, sizeof zeroes), 0);
    for (uint32_t i = 0; i < 3; i++) {
        noise = (ls_step_noise){.seed = 1 + i, .kind = LS_NOISE_RANDOM, .is_deep = i == 2};
        ls_step_noise_run(&noise, look, &seen[i]);
        expect_noise(seen[i].bytes, sizeof seen[i].bytes);
        for (uint32_t other = 0; other < i; other++) {
            cr_expect_neq(memcmp(&seen[i], &seen[other], sizeof seen[i]), 0);
        }
    }
}

Test(synctest_memory, the_reference_is_filled_with_zero_and_nothing_else_is)
{
    for (uint32_t tick = 0; tick < 20; tick++) {
        uint64_t noise = synctest_noise(true, 0, tick, 1);
        cr_assert_eq(synctest_noise(false, 0, tick, 1), 0);
        cr_assert_neq(noise, 0);
        cr_assert_neq(noise, synctest_noise(true, 1, tick, 1), "other in each run");
        cr_assert_neq(noise, synctest_noise(true, 0, tick + 1, 1));
        cr_assert_neq(noise, synctest_noise(true, 0, tick, 2));
    }
}

Test(synctest_memory, a_fill_of_any_size_stays_in_its_bytes)
{
    for (size_t size = 0; size < 40; size++) {
        uint8_t bytes[64] = {0};
        synctest_noise_fill(bytes, size, 7);
        for (size_t i = size; i < sizeof bytes; i++) {
            cr_assert_eq(bytes[i], 0);
        }
        synctest_noise_fill(bytes, size, 0);
        cr_assert_eq(size == 0 ? 0 : bytes[size - 1], 0);
    }
}

static double third(void)
{
    volatile double one = 1, three = 3;
    return one / three;
}

Test(synctest_memory, moved_rounding_gives_other_results_and_can_be_set_back)
{
    ls_float_mode kept = ls_float_mode_now();
    double usual = third();
    uint32_t differences = 0;
    for (uint32_t tick = 0; tick < 3; tick++) {
        ls_float_mode moved = ls_float_mode_moved(tick);
        ls_float_mode_set(moved);
        cr_expect_not(ls_float_mode_equal(kept, ls_float_mode_now()), "tick %u", tick);
        differences += third() != usual;
        ls_float_mode_set(kept);
        cr_assert(ls_float_mode_equal(kept, ls_float_mode_now()));
        cr_assert_eq(third(), usual);
    }
    cr_assert_eq(fegetround(), FE_TONEAREST);
    cr_assert_gt(differences, 0);
}

Test(synctest_memory, flushed_denormals_are_zero)
{
    if (!ls_float_mode_can_flush()) {
        cr_skip_test("how this processor flushes denormals is not known");
    }
    ls_float_mode kept = ls_float_mode_now();
    volatile double small = DBL_MIN;
    cr_expect_gt(small / 4, 0);
    ls_float_mode_flush();
    volatile double flushed = small / 4;
    ls_float_mode_set(kept);
    cr_expect_eq(flushed, 0);
    cr_expect_gt(small / 4, 0);
}
