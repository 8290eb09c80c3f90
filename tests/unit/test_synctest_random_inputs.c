#include "lockstep/tools/synctest/random_inputs.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    SIZE_MAX_BYTES = 5,
    TICKS = 5000,
};

Test(synctest_random_inputs, begin_in_the_last_third_of_a_match)
{
    cr_expect_not(synctest_inputs_are_random(300, 199));
    cr_expect(synctest_inputs_are_random(300, 200));
    cr_expect(synctest_inputs_are_random(300, 299));
    cr_expect_not(synctest_inputs_are_random(2, 1));
}

Test(synctest_random_inputs, are_the_same_of_the_same_seed)
{
    synctest_random_player a = synctest_random_player_make(7);
    synctest_random_player b = synctest_random_player_make(7);
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        uint8_t left[LS_INPUT_BYTES_MAX] = {1, 2, 3};
        uint8_t right[LS_INPUT_BYTES_MAX] = {1, 2, 3};
        uint32_t size = synctest_random_player_input(&a, left, 3, SIZE_MAX_BYTES);
        cr_assert_eq(synctest_random_player_input(&b, right, 3, SIZE_MAX_BYTES), size);
        cr_assert_eq(memcmp(left, right, size), 0);
    }
}

/* Each size, each byte, and often the bot's own. */
Test(synctest_random_inputs, reach_whatever_a_player_can_send)
{
    synctest_random_player player = synctest_random_player_make(3);
    bool has_size[SIZE_MAX_BYTES + 1] = {false};
    bool has_byte[256] = {false};
    uint32_t kept = 0;
    for (uint32_t tick = 0; tick < 20 * TICKS; tick++) {
        uint8_t bytes[LS_INPUT_BYTES_MAX] = {1, 2, 3};
        uint32_t size = synctest_random_player_input(&player, bytes, 3, SIZE_MAX_BYTES);
        cr_assert_leq(size, SIZE_MAX_BYTES);
        has_size[size] = true;
        has_byte[bytes[0]] = true;
        kept += size == 3 && memcmp(bytes, "\1\2\3", 3) == 0;
    }
    for (uint32_t size = 0; size <= SIZE_MAX_BYTES; size++) {
        cr_expect(has_size[size], "%u bytes", size);
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        cr_expect(has_byte[byte], "byte %u", byte);
    }
    cr_expect_gt(kept, 3 * TICKS);
    cr_expect_lt(kept, 8 * TICKS);
}

Test(synctest_random_inputs, a_simulation_without_inputs_gets_none)
{
    synctest_random_player player = synctest_random_player_make(1);
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    for (uint32_t tick = 0; tick < TICKS; tick++) {
        cr_assert_eq(synctest_random_player_input(&player, bytes, 0, 0), 0);
    }
}
