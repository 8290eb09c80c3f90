#include "lockstep/tools/synctest/tape.h"

#include "lockstep/common/system/shared_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static int make_file(void)
{
    int file = ls_shared_memory_make("tape");
    cr_assert_geq(file, 0);
    return file;
}

/* Slot 0 sends what follows from the tick, from nothing to all that fits; slot 1 only events. */
static void make_slots(ls_tick tick, uint8_t *bytes, ls_slot_input slots[2])
{
    uint32_t size = tick % 3 == 0 ? 0 : tick % 3 == 1 ? 5 : LS_INPUT_BYTES_MAX;
    memset(bytes, (int)tick, LS_INPUT_BYTES_MAX);
    slots[0] = (ls_slot_input){bytes, size, 0};
    slots[1] = (ls_slot_input){NULL, 0, tick % 2 == 0 ? LS_EVENT_JOINED : LS_EVENT_LEFT};
}

Test(synctest_tape, gives_back_what_was_recorded_in_any_order)
{
    enum {
        TICKS = 20
    };
    int file = make_file();
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    ls_slot_input slots[LS_PLAYERS_MAX];
    synctest_tape tape;
    cr_assert_eq(synctest_tape_create(file, TICKS, 2, &tape), LS_OK);
    synctest_tape_set_hash(&tape, 0, 1000);
    for (ls_tick tick = 0; tick < TICKS; tick++) {
        make_slots(tick, bytes, slots);
        cr_assert_eq(synctest_tape_add(&tape, tick, slots), LS_OK);
        synctest_tape_set_hash(&tape, tick + 1, 1001 + tick);
    }
    cr_assert_eq(synctest_tape_open(file, TICKS, 2, &tape), LS_OK);
    for (ls_tick back = 0; back < TICKS; back++) {
        ls_tick tick = TICKS - 1 - back;
        ls_slot_input expected[2];
        make_slots(tick, bytes, expected);
        synctest_tape_inputs(&tape, tick, slots);
        for (uint32_t slot = 0; slot < 2; slot++) {
            cr_assert_eq(slots[slot].size, expected[slot].size);
            cr_assert_eq(slots[slot].events, expected[slot].events);
        }
        cr_assert_eq(memcmp(slots[0].bytes, bytes, slots[0].size), 0);
        cr_assert_eq(synctest_tape_hash(&tape, tick + 1), 1001 + tick);
    }
    cr_assert_eq(synctest_tape_hash(&tape, 0), 1000);
    close(file);
}

Test(synctest_tape, a_file_that_is_too_short_is_refused)
{
    int file = make_file();
    synctest_tape tape;
    cr_assert_eq(synctest_tape_create(file, 10, 2, &tape), LS_OK);
    cr_assert_eq(synctest_tape_open(file, 11, 2, &tape), LS_IO);
    cr_assert_eq(synctest_tape_open(-1, 10, 2, &tape), LS_IO);
    cr_assert_eq(synctest_tape_create(-1, 10, 2, &tape), LS_IO);
    close(file);
}

Test(synctest_tape, a_tick_past_the_end_is_a_mistake, .signal = SIGABRT)
{
    synctest_tape tape;
    ls_slot_input slots[LS_PLAYERS_MAX];
    if (synctest_tape_create(make_file(), 10, 2, &tape) == LS_OK) {
        synctest_tape_inputs(&tape, 10, slots);
    }
}
