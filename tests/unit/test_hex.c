#include "lockstep/common/base/hex.h"

#include <criterion/criterion.h>
#include <stdio.h>

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
