#include "lockstep/common/system/memory.h"

#include <criterion/criterion.h>

enum {
    LARGE = 2 << 20,
    BYTES = 3 * LARGE,
};

static uint8_t block[BYTES];

static uint8_t byte_at(size_t at)
{
    return (uint8_t)(at * 31 + at / 4096);
}

Test(pages, what_moves_into_larger_ones_stays_as_it_is)
{
    static const struct {
        size_t first, bytes;
    } pieces[] = {{0, BYTES}, {1, BYTES - 1}, {0, 0}, {4096, LARGE - 1}, {LARGE - 5, LARGE + 10}};
    for (size_t at = 0; at < BYTES; at++) {
        block[at] = byte_at(at);
    }
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        ls_pages_enlarge(block + pieces[i].first, pieces[i].bytes);
        for (size_t at = 0; at < BYTES; at++) {
            cr_assert_eq(block[at], byte_at(at), "piece %zu, byte %zu", i, at);
        }
    }
}

Test(pages, closed_pages_open_to_writing_and_are_zeros)
{
    size_t bytes = 2 * ls_pages_size();
    uint8_t *pages = ls_pages_acquire(0, bytes);
    cr_assert_not_null(pages);
    cr_assert(ls_pages_allow(pages, bytes, LS_PAGES_WRITTEN));
    cr_assert_eq(pages[0] | pages[bytes - 1], 0);
    pages[bytes - 1] = 7;
    cr_assert(ls_pages_allow(pages, bytes, LS_PAGES_READ));
    cr_assert_eq(pages[bytes - 1], 7);
    ls_pages_release(pages, bytes);
}
