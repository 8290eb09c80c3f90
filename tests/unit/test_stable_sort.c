#include "lockstep/common/maths/stable_sort.h"

#include "lockstep/common/maths/rng.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#define COUNT_MAX 3000

/* Where a run of scratch memory must not be written any more. */
static const ls_key_index guard = {UINT32_C(0xdeadbeef), UINT32_C(0xcafef00d)};

typedef struct arrays {
    ls_key_index pairs[COUNT_MAX + 1];
    ls_key_index expected[COUNT_MAX + 1];
    ls_key_index scratch[COUNT_MAX + 1];
} arrays;

static arrays work;

static int compare_keys(const void *a, const void *b, const void *context)
{
    uint32_t left = ((const ls_key_index *)a)->key;
    uint32_t right = ((const ls_key_index *)b)->key;
    int order = (left > right) - (left < right);
    return context != NULL ? -order : order;
}

static void insertion_sort(ls_key_index *pairs, size_t count, bool is_descending)
{
    for (size_t i = 1; i < count; i++) {
        ls_key_index moved = pairs[i];
        size_t at = i;
        for (; at > 0; at--) {
            uint32_t before = pairs[at - 1].key;
            if (is_descending ? before >= moved.key : before <= moved.key) {
                break;
            }
            pairs[at] = pairs[at - 1];
        }
        pairs[at] = moved;
    }
}

static void fill(ls_rng *rng, size_t count, uint32_t key_bound)
{
    for (size_t i = 0; i < count; i++) {
        work.pairs[i] = (ls_key_index){ls_rng_below(rng, key_bound), (uint32_t)i};
    }
    work.pairs[count] = guard;
    work.scratch[count] = guard;
    memcpy(work.expected, work.pairs, sizeof work.expected);
}

static void assert_as_expected(size_t count, uint32_t key_bound)
{
    cr_assert_eq(memcmp(work.pairs, work.expected, (count + 1) * sizeof guard), 0,
                 "%zu keys below %u", count, key_bound);
    cr_assert_eq(memcmp(&work.scratch[count], &guard, sizeof guard), 0);
}

static const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000};
static const uint32_t key_bounds[] = {1, 2, 10, 256, 257, 65536, 1u << 24, UINT32_MAX};

Test(stable_sort, matches_an_insertion_sort_with_many_and_few_ties)
{
    ls_rng rng = ls_rng_make(21, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof key_bounds / sizeof key_bounds[0]; j++) {
            fill(&rng, counts[i], key_bounds[j]);
            insertion_sort(work.expected, counts[i], false);
            ls_stable_sort(work.pairs, counts[i], sizeof guard, work.scratch, compare_keys, NULL);
            assert_as_expected(counts[i], key_bounds[j]);
        }
    }
}

Test(stable_sort, keys_are_sorted_as_an_insertion_sort_does)
{
    ls_rng rng = ls_rng_make(22, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof key_bounds / sizeof key_bounds[0]; j++) {
            fill(&rng, counts[i], key_bounds[j]);
            insertion_sort(work.expected, counts[i], false);
            ls_stable_sort_keys(work.pairs, counts[i], work.scratch);
            assert_as_expected(counts[i], key_bounds[j]);
        }
    }
}

Test(stable_sort, keys_that_differ_in_one_byte_alone_are_sorted)
{
    ls_rng rng = ls_rng_make(23, 1);
    for (int byte = 0; byte < 4; byte++) {
        fill(&rng, 500, 256);
        for (size_t i = 0; i < 500; i++) {
            work.pairs[i].key = work.pairs[i].key << (8 * byte) | UINT32_C(0x40) << (8 * byte ^ 8);
        }
        memcpy(work.expected, work.pairs, sizeof work.expected);
        insertion_sort(work.expected, 500, false);
        ls_stable_sort_keys(work.pairs, 500, work.scratch);
        assert_as_expected(500, 256);
    }
}

Test(stable_sort, the_context_reaches_the_comparison)
{
    ls_rng rng = ls_rng_make(24, 1);
    fill(&rng, 777, 50);
    insertion_sort(work.expected, 777, true);
    ls_stable_sort(work.pairs, 777, sizeof guard, work.scratch, compare_keys, &rng);
    assert_as_expected(777, 50);
}

Test(stable_sort, no_elements_need_no_memory)
{
    ls_stable_sort(NULL, 0, 8, NULL, compare_keys, NULL);
    ls_stable_sort_keys(NULL, 0, NULL);
}

static int compare_first_bytes(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

Test(stable_sort, elements_of_any_size_move_whole)
{
    for (size_t bytes = 1; bytes <= 40; bytes += 13) {
        uint8_t elements[100 * 40], scratch[100 * 40];
        for (size_t i = 0; i < 100; i++) {
            memset(elements + i * bytes, (int)(i * 37 % 100), bytes);
        }
        ls_stable_sort(elements, 100, bytes, scratch, compare_first_bytes, NULL);
        for (size_t i = 0; i < 100 * bytes; i++) {
            cr_assert_eq(elements[i], i / bytes);
        }
    }
}
