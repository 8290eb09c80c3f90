#include "lockstep/common/base/byte_io.h"

#include <criterion/criterion.h>
#include <string.h>

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
