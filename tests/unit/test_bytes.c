/* The small parts of common/base: bytes, texts, sets, counts and secrets. */
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/secret.h"
#include "lockstep/common/base/slot_set.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
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
    const ls_allocator asked = {asked_allocate, NULL, NULL, NULL};
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

/* ==== text ==== */

static void fill(char *bytes, size_t size)
{
    memset(bytes, 'x', size - 1);
    bytes[size - 1] = '\0';
}

Test(text, set_replaces_and_add_appends)
{
    ls_text text;
    ls_text_set(&text, "old");
    ls_text_set(&text, "tick %d", 7);
    ls_text_add(&text, ", slot %d", 3);
    cr_assert_str_eq(text.bytes, "tick 7, slot 3");
}

Test(text, a_sentence_of_the_full_size_is_kept_whole)
{
    char longest[LS_TEXT_BYTES_MAX];
    fill(longest, sizeof longest);
    ls_text text;
    ls_text_set(&text, "%s", longest);
    cr_assert_str_eq(text.bytes, longest);
}

Test(text, one_byte_more_is_cut_and_still_ends)
{
    char too_long[LS_TEXT_BYTES_MAX + 1];
    fill(too_long, sizeof too_long);
    ls_text text;
    ls_text_set(&text, "%s", too_long);
    cr_assert_eq(strlen(text.bytes), LS_TEXT_BYTES_MAX - 1);
    cr_assert_eq(memcmp(text.bytes, too_long, LS_TEXT_BYTES_MAX - 1), 0);
}

Test(text, adding_to_a_full_sentence_changes_nothing)
{
    char longest[LS_TEXT_BYTES_MAX];
    fill(longest, sizeof longest);
    ls_text text;
    ls_text_set(&text, "%s", longest);
    ls_text_add(&text, "more");
    cr_assert_str_eq(text.bytes, longest);
}

Test(text, adding_is_cut_at_the_end)
{
    char long_text[LS_TEXT_BYTES_MAX - 2];
    fill(long_text, sizeof long_text);
    ls_text text;
    ls_text_set(&text, "%s", long_text);
    ls_text_add(&text, "abcdef");
    cr_assert_eq(strlen(text.bytes), LS_TEXT_BYTES_MAX - 1);
    cr_assert_str_eq(text.bytes + LS_TEXT_BYTES_MAX - 4, "xab");
}

Test(text, no_text_is_wanted)
{
    ls_text_set(NULL, "%d", 1);
    ls_text_add(NULL, "%d", 2);
}

Test(text, a_name_that_fits_is_copied)
{
    char field[8];
    ls_name_copy(field, sizeof field, "seven_7");
    cr_assert_str_eq(field, "seven_7");
}

Test(text, a_name_that_is_too_long_is_cut)
{
    char field[9] = "........";
    ls_name_copy(field, 8, "eight__8");
    cr_assert_str_eq(field, "eight__");
    cr_assert_eq(field[8], '\0');
    ls_name_copy(field, 1, "a");
    cr_assert_str_eq(field, "");
}

Test(text, a_hostile_name_cannot_move_a_terminals_cursor)
{
    char field[32];
    ls_name_copy(field, sizeof field, "\x1b[2Jevil\r\n\x7f\x80\xff\x9b");
    cr_assert_str_eq(field, "?[2Jevil??????");
}

Test(text, every_single_byte_comes_out_printable)
{
    for (int byte = 1; byte < 256; byte++) {
        char name[2] = {(char)byte, '\0'};
        char field[4];
        ls_name_copy(field, sizeof field, name);
        cr_assert(field[0] >= 0x20 && field[0] < 0x7f, "byte %d", byte);
        cr_assert_eq(field[1], '\0');
        bool is_printable = byte >= 0x20 && byte < 0x7f;
        cr_assert_eq(field[0] == (char)byte, is_printable || byte == '?', "byte %d", byte);
    }
}

Test(text, a_name_of_any_script_stays)
{
    static const char *const names[] = {"Zo\xc3\xab",
                                        "\xe4\xb8\xad\xe6\x96\x87",
                                        "\xf0\x9f\x8e\xae",
                                        "\xd0\x96\xd0\xb5\xd0\xbd\xd1\x8f",
                                        "e\xcc\x81",
                                        "\u0645\u06cc\u200c\u062e",
                                        "\U0001f469\u200d\U0001f680",
                                        ("\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c"
                                         "\U000e0073\U000e007f")};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char field[32];
        ls_name_copy(field, sizeof field, names[i]);
        cr_assert_str_eq(field, names[i]);
    }
}

Test(text, what_cannot_be_seen_is_replaced)
{
    static const struct {
        const char *name, *shown;
    } rows[] = {
        {"a\xc2\x9b", "a??"}, /* a control character of ISO 6429 */
        {"\xe2\x80\xae"
         "b",
         "???b"},                     /* right-to-left override */
        {"\xe2\x80\x8b", "???"},      /* zero-width space */
        {"\xc0\xaf", "??"},           /* longer than needed */
        {"\xed\xa0\x80", "???"},      /* half of a surrogate pair */
        {"\xf4\x90\x80\x80", "????"}, /* beyond the last character */
        {"\xef\xbf\xbf", "???"},      /* no character */
        {"\xc3", "?"},                /* cut */
        {"\xe4\xb8", "??"},
        {"\xe4\xb8z", "??z"},
        {"a\u200db", "a???b"}, /* nothing to join */
        {"\U0001f469\u200d\u200d", "\U0001f469\u200d???"},
        {"\U0001f3f4\U000e0067", "\U0001f3f4????"}, /* no whole flag */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char field[32];
        ls_name_copy(field, sizeof field, rows[i].name);
        cr_assert_str_eq(field, rows[i].shown, "row %zu: %s", i, field);
    }
}

Test(text, a_cut_name_ends_with_a_whole_character)
{
    char field[6];
    ls_name_copy(field, sizeof field, "abcd\xc3\xab");
    cr_assert_str_eq(field, "abcd");
    ls_name_copy(field, sizeof field,
                 "abc\xc3\xab"
                 "d");
    cr_assert_str_eq(field, "abc\xc3\xab");
}

Test(text, failing_sets_the_reason_and_returns_the_status)
{
    ls_text why = {"before"};
    cr_expect_eq(ls_fail(LS_IO, &why, "cannot read %s: line %d", "a.txt", 3), LS_IO);
    cr_expect_str_eq(why.bytes, "cannot read a.txt: line 3");
    cr_expect_eq(ls_fail(LS_NO_MEMORY, NULL, "no memory"), LS_NO_MEMORY);
}

/* ---- secret ---- */

static ls_secret_key key_of(uint8_t byte)
{
    ls_secret_key key;
    memset(key.bytes, byte, sizeof key.bytes);
    return key;
}

Test(secret, same_seat_gives_same_secret)
{
    ls_secret_key key = key_of(7);
    uint8_t a[LS_SECRET_BYTES], b[LS_SECRET_BYTES];
    ls_secret_derive(&key, 99, 3, 1, a);
    ls_secret_derive(&key, 99, 3, 1, b);
    cr_assert(ls_secret_is_equal(a, b));
}

Test(secret, everything_it_is_made_of_counts)
{
    ls_secret_key keys[2] = {key_of(7), key_of(8)};
    const struct {
        uint32_t key;
        uint64_t match_id;
        uint32_t slot, turn;
    } others[] = {{1, 99, 3, 1}, {0, 98, 3, 1}, {0, 99, 2, 1}, {0, 99, 3, 2}};
    uint8_t usual[LS_SECRET_BYTES], other[LS_SECRET_BYTES];
    ls_secret_derive(&keys[0], 99, 3, 1, usual);
    for (size_t i = 0; i < 4; i++) {
        ls_secret_derive(&keys[others[i].key], others[i].match_id, others[i].slot, others[i].turn,
                         other);
        cr_assert_not(ls_secret_is_equal(usual, other), "%zu", i);
    }
}

Test(secret, a_seat_has_as_many_secrets_as_returns)
{
    ls_secret_key keys[2] = {key_of(7), key_of(8)};
    uint8_t first[LS_SECRET_BYTES], second[LS_SECRET_BYTES], other[LS_SECRET_BYTES];
    ls_secret_derive(&keys[0], 99, 3, 1, first);
    ls_secret_renew(&keys[0], first, 0, other);
    cr_assert(ls_secret_is_equal(first, other));
    ls_secret_renew(&keys[0], first, 1, second);
    cr_assert_not(ls_secret_is_equal(first, second));
    ls_secret_renew(&keys[0], first, 2, other);
    cr_assert_not(ls_secret_is_equal(second, other));
    ls_secret_renew(&keys[1], first, 1, other);
    cr_assert_not(ls_secret_is_equal(second, other), "who has one has not the next");
}

Test(secret, a_seal_is_of_one_key_match_tick_and_chain)
{
    ls_secret_key keys[2] = {key_of(7), key_of(8)};
    uint32_t usual = ls_secret_seal(&keys[0], 99, 500, 77);
    cr_assert_eq(usual, ls_secret_seal(&keys[0], 99, 500, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[1], 99, 500, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[0], 98, 500, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[0], 99, 501, 77));
    cr_assert_neq(usual, ls_secret_seal(&keys[0], 99, 500, 76));
}

Test(secret, one_bit_makes_two_of_them_unequal)
{
    uint8_t a[LS_SECRET_BYTES] = {0}, b[LS_SECRET_BYTES] = {0};
    for (size_t bit = 0; bit < 8 * LS_SECRET_BYTES; bit++) {
        b[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_not(ls_secret_is_equal(a, b), "bit %zu", bit);
        b[bit / 8] = 0;
    }
}

Test(secret, keys_and_matches_differ)
{
    ls_secret_key a, b;
    cr_assert_eq(ls_secret_key_random(&a), LS_OK);
    cr_assert_eq(ls_secret_key_random(&b), LS_OK);
    cr_assert_neq(memcmp(&a, &b, sizeof a), 0);
    cr_assert_neq(ls_secret_match_id(&a), ls_secret_match_id(&b));
    cr_assert_neq(ls_secret_match_id(&a), UINT64_C(0));
}

/* ---- hidden_secret ---- */

#define KEY_TEXT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define SECRET_TEXT "8PHy8_T19vf4-fr7_P3-_w"

Test(hidden_secret, of_an_invite_is_all_that_goes)
{
    static const char *const texts[][2] = {
        {"'lockstep://a:1/#" KEY_TEXT "." SECRET_TEXT ".gWVS' is none",
         "'lockstep://a:1/#...' is none"},
        {"a#AAEC." SECRET_TEXT ".gWVS", "a#..."},
        {KEY_TEXT "." SECRET_TEXT ".gWVS, " KEY_TEXT "." SECRET_TEXT, "..., ..."},
        {"#7 of a.b, room #arena-1", "#7 of a.b, room #arena-1"},
        {"" KEY_TEXT "x." SECRET_TEXT, "" KEY_TEXT "x." SECRET_TEXT}, /* as a checksum may be */
        {"" KEY_TEXT ".journal", "" KEY_TEXT ".journal"},             /* a file may be called so */
        {"" KEY_TEXT ".journal: cannot be read at all",
         "" KEY_TEXT ".journal: cannot be read at all"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_text text;
        ls_text_set(&text, "%s", texts[i][0]);
        ls_hidden_secret_apply(text.bytes);
        cr_assert_str_eq(text.bytes, texts[i][1]);
    }
}
