/* The small parts of common/base: bytes, texts of numbers, sets and counts. */
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hex.h"
#include "lockstep/common/base/slot_set.h"
#include "lockstep/common/base/status.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

/* ---- byte_io ---- */

Test(byte_io, stores_are_little_endian)
{
    uint8_t bytes[8];
    ls_store_u16(bytes, 0x0102);
    cr_assert_arr_eq(bytes, ((uint8_t[]){2, 1}), 2);
    ls_store_u32(bytes, 0x01020304);
    cr_assert_arr_eq(bytes, ((uint8_t[]){4, 3, 2, 1}), 4);
    ls_store_u64(bytes, UINT64_C(0x0102030405060708));
    cr_assert_arr_eq(bytes, ((uint8_t[]){8, 7, 6, 5, 4, 3, 2, 1}), 8);
}

Test(byte_io, loads_are_little_endian)
{
    const uint8_t bytes[] = {8, 7, 6, 5, 4, 3, 2, 1};
    cr_assert_eq(ls_load_u16(bytes), 0x0708);
    cr_assert_eq(ls_load_u32(bytes), 0x05060708u);
    cr_assert_eq(ls_load_u64(bytes), UINT64_C(0x0102030405060708));
}

Test(byte_io, extremes_survive_a_round_trip)
{
    uint8_t bytes[8];
    static const uint64_t values[] = {
        0, 1, 0x7fff, 0x8000, 0xffff, 0x80000000, 0xffffffff, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ls_store_u16(bytes, (uint16_t)values[i]);
        cr_assert_eq(ls_load_u16(bytes), (uint16_t)values[i]);
        ls_store_u32(bytes, (uint32_t)values[i]);
        cr_assert_eq(ls_load_u32(bytes), (uint32_t)values[i]);
        ls_store_u64(bytes, values[i]);
        cr_assert_eq(ls_load_u64(bytes), values[i]);
    }
}

Test(byte_io, any_address_will_do_and_no_other_byte_is_touched)
{
    for (size_t at = 0; at < 8; at++) {
        uint8_t bytes[24];
        memset(bytes, 0xa5, sizeof bytes);
        ls_store_u64(bytes + 4 + at, UINT64_C(0x1122334455667788));
        cr_assert_eq(ls_load_u64(bytes + 4 + at), UINT64_C(0x1122334455667788));
        for (size_t i = 0; i < sizeof bytes; i++) {
            bool is_inside = i >= 4 + at && i < 12 + at;
            cr_assert(is_inside || bytes[i] == 0xa5);
        }
    }
}

/* ---- hex ---- */

Test(hex, every_byte_is_written_and_read_as_two_digits)
{
    for (uint32_t value = 0; value < 256; value++) {
        const uint8_t byte = (uint8_t)value;
        uint8_t read = (uint8_t)~byte;
        char text[] = "..!", expected[3];
        snprintf(expected, sizeof expected, "%02x", value);
        ls_hex_write(text, &byte, 1);
        cr_assert_str_eq(text, expected);
        cr_assert(ls_hex_read(text, &read, 1));
        cr_assert_eq(read, byte);
        snprintf(expected, sizeof expected, "%02X", value);
        cr_assert(ls_hex_read(expected, &read, 1));
        cr_assert_eq(read, byte);
    }
}

Test(hex, nothing_is_an_empty_text)
{
    char text[] = "?";
    ls_hex_write(text, NULL, 0);
    cr_assert_str_eq(text, "");
    cr_assert(ls_hex_read("", NULL, 0));
}

Test(hex, only_digits_are_read_and_no_more_than_asked_for)
{
    static const char *const wrong[] = {"0g", "g0", "0G", " 1", "1 ", "0x", "-1", "\xc1\x31"};
    uint8_t bytes[2] = {0, 9};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_not(ls_hex_read(wrong[i], bytes, 1), "%s", wrong[i]);
    }
    const char no_end[] = {'f', '\0'};
    cr_assert_not(ls_hex_read(no_end, bytes, 1));
    cr_assert(ls_hex_read("7fzz", bytes, 1));
    cr_assert_eq(bytes[0], 0x7f);
    cr_assert_eq(bytes[1], 9);
}

Test(hex, number_is_read_of_small_digits_and_whatever_follows_stays)
{
    uint64_t number = 0;
    cr_assert(ls_hex_read_number("0123456789abcdef", 16, &number));
    cr_expect_eq(number, UINT64_C(0x0123456789abcdef));
    cr_assert(ls_hex_read_number("ffffffffffffffff", 16, &number));
    cr_expect_eq(number, UINT64_MAX);
    cr_assert(ls_hex_read_number("7fzz", 2, &number));
    cr_expect_eq(number, 0x7fu);
    static const char *const wrong[] = {"", "7", "7F", "7g", " 7", "0x", "-1", "7\xff"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect_not(ls_hex_read_number(wrong[i], 2, &number), "%s", wrong[i]);
        cr_expect_eq(number, 0x7fu);
    }
}

/* ---- status ---- */

Test(status, every_code_has_a_name_and_a_text_of_its_own)
{
    static const int codes[] = {
#define CODE(name, value, text) value,
        LS_STATUS_MAP(CODE)
#undef CODE
    };
    size_t count = sizeof codes / sizeof codes[0];
    cr_assert_gt(count, 10);
    for (size_t i = 0; i < count; i++) {
        cr_assert_str_neq(ls_status_name(codes[i]), "UNKNOWN");
        for (size_t j = i + 1; j < count; j++) {
            cr_assert_neq(codes[i], codes[j]);
            cr_assert_str_neq(ls_status_text(codes[i]), ls_status_text(codes[j]));
        }
    }
}

Test(status, a_number_outside_the_list_is_unknown)
{
    cr_assert_str_eq(ls_status_name(1), "UNKNOWN");
    cr_assert_str_eq(ls_status_text(-1000), "UNKNOWN");
}

/* ---- slot_set ---- */

enum {
    LAST = LS_PLAYERS_MAX - 1
};

static ls_slot_set set_of(uint32_t a, uint32_t b)
{
    ls_slot_set set = ls_slot_set_of(a);
    ls_slot_set_add(&set, b);
    return set;
}

Test(slot_set, every_slot_is_added_and_removed_alone)
{
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        ls_slot_set set = {{0}};
        ls_slot_set_add(&set, slot);
        for (uint32_t other = 0; other < LS_PLAYERS_MAX; other++) {
            cr_assert_eq(ls_slot_set_has(&set, other), other == slot, "%u of {%u}", other, slot);
        }
        cr_assert_eq(ls_slot_set_next(set, 0), slot);
        cr_assert_eq(ls_slot_set_next(set, slot), slot);
        cr_assert_eq(ls_slot_set_next(set, slot + 1), LS_PLAYERS_MAX);
        ls_slot_set_remove(&set, slot);
        cr_assert(ls_slot_set_is_empty(set));
    }
}

Test(slot_set, a_loop_meets_the_slots_of_a_set_upwards)
{
    ls_slot_set set = {{0}};
    uint32_t met = 0;
    uint32_t from = 0;
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot += 3) {
        ls_slot_set_add(&set, slot);
    }
    LS_EACH_SLOT (slot, set) {
        cr_assert_eq(slot, 3 * met);
        cr_assert_geq(slot, from);
        from = slot + 1;
        met++;
    }
    cr_assert_eq(met, (LS_PLAYERS_MAX + 2) / 3);
    cr_assert_eq(met, ls_slot_set_count(set));
    LS_EACH_SLOT (slot, ((ls_slot_set){{0}})) {
        cr_assert_fail("slot %u of none", slot);
    }
}

Test(slot_set, sets_are_joined_cut_and_compared)
{
    ls_slot_set both = set_of(0, LAST);
    cr_assert(
        ls_slot_set_is_same(ls_slot_set_minus(both, ls_slot_set_of(0)), ls_slot_set_of(LAST)));
    cr_assert(ls_slot_set_is_same(ls_slot_set_common(both, set_of(1, LAST)), ls_slot_set_of(LAST)));
    cr_assert_not(ls_slot_set_is_same(both, ls_slot_set_of(LAST)));
    cr_assert_not(ls_slot_set_is_same(ls_slot_set_of(LAST), both));
    ls_slot_set all = ls_slot_set_of(1);
    ls_slot_set_add_all(&all, &both);
    cr_assert_eq(ls_slot_set_count(all), 3);
    ls_slot_set_put(&all, LAST, false);
    ls_slot_set_put(&all, 2, true);
    cr_assert(ls_slot_set_is_same(all, ls_slot_set_first(3)));
    cr_assert(ls_slot_set_is_empty(ls_slot_set_first(0)));
    cr_assert_eq(ls_slot_set_count(ls_slot_set_first(LS_PLAYERS_MAX)), LS_PLAYERS_MAX);
}

Test(slot_set, a_match_has_a_word_for_each_32_players)
{
    cr_assert_eq(ls_slot_words(1), 1);
    cr_assert_eq(ls_slot_words(32), 1);
    cr_assert_eq(ls_slot_words(33), 2);
    cr_assert_eq(ls_slot_words(LS_PLAYERS_MAX), LS_SLOT_WORDS);
}

/* ---- allocator ---- */

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
