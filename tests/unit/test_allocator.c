#include "lockstep/common/base/allocator.h"

#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <stdalign.h>

Test(allocator, memory_comes_zeroed_and_aligned)
{
    const ls_allocator *heap = ls_allocator_heap();
    for (size_t bytes = 1; bytes < 300; bytes += 13) {
        uint8_t *memory = ls_allocate(heap, bytes);
        cr_assert_not_null(memory);
        cr_assert_eq((uintptr_t)memory % alignof(max_align_t), 0);
        for (size_t i = 0; i < bytes; i++) {
            cr_assert_eq(memory[i], 0);
            memory[i] = 0xff;
        }
        ls_release(heap, memory);
    }
}

Test(allocator, nothing_can_be_released)
{
    ls_release(ls_allocator_heap(), NULL);
}

Test(allocator, an_array_of_nothing_is_null)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    cr_assert_null(ls_allocate_array(&counting.allocator, 0, 8));
    cr_assert_null(ls_allocate_array(&counting.allocator, 8, 0));
    cr_assert_null(ls_allocate(&counting.allocator, 0));
    cr_assert_eq(counting.allocations + counting.refusals, 0, "the allocator was asked");
}

Test(allocator, a_product_that_overflows_is_null)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    cr_assert_null(ls_allocate_array(&counting.allocator, SIZE_MAX / 8 + 1, 8));
    cr_assert_null(ls_allocate_array(&counting.allocator, 8, SIZE_MAX / 8 + 1));
    cr_assert_null(ls_allocate_array(&counting.allocator, SIZE_MAX, SIZE_MAX));
    cr_assert_eq(counting.allocations + counting.refusals, 0, "the allocator was asked");
}

static size_t asked_bytes;

static void *asked_allocate(void *user, size_t bytes)
{
    (void)user;
    asked_bytes = bytes;
    return NULL;
}

Test(allocator, the_largest_product_that_fits_is_asked_for)
{
    const ls_allocator asked = {asked_allocate, NULL, NULL};
    cr_assert_null(ls_allocate_array(&asked, SIZE_MAX / 8, 8));
    cr_assert_eq(asked_bytes, SIZE_MAX / 8 * 8);
}

Test(allocator, the_counting_one_counts_and_refuses)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    uint64_t calls = heap_calls();
    void *first = ls_allocate(&counting.allocator, 100);
    cr_assert_gt(heap_calls(), calls, "heap calls are not seen");
    counting.allowed = 1;
    void *second = ls_allocate_array(&counting.allocator, 3, 10);
    cr_assert_null(ls_allocate(&counting.allocator, 1));
    cr_assert_eq(counting.live_blocks, 2);
    cr_assert_eq(counting.live_bytes, 130);
    ls_release(&counting.allocator, first);
    ls_release(&counting.allocator, second);
    cr_assert_eq(counting.live_blocks, 0);
    cr_assert_eq(counting.live_bytes, 0);
    cr_assert_eq(counting.peak_bytes, 130);
    cr_assert_eq(counting.allocations, 2);
    cr_assert_eq(counting.refusals, 1);
}
