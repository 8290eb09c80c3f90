#include "lockstep/tools/synctest/random_inputs.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    TICKS = 2000,
    PLAYERS = 8,
};

typedef struct seats {
    uint32_t joins;
    uint32_t leaves;
    bool is_present[LS_PLAYERS_MAX];
} seats;

/* Plays the script, and sees that nobody joins twice or leaves an empty seat. */
static seats play(uint64_t seed, uint32_t players)
{
    synctest_script script = synctest_script_make(seed, players);
    seats seen;
    memset(&seen, 0, sizeof seen);
    for (ls_tick tick = 0; tick < TICKS; tick++) {
        uint32_t events[LS_PLAYERS_MAX];
        synctest_script_advance(&script, tick, events);
        for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
            bool joins = events[slot] == LS_EVENT_JOINED;
            bool leaves = events[slot] == LS_EVENT_LEFT;
            cr_assert(joins || leaves || events[slot] == 0);
            cr_assert(!(joins && seen.is_present[slot]) && !(leaves && !seen.is_present[slot]));
            seen.is_present[slot] = joins || (seen.is_present[slot] && !leaves);
            seen.joins += joins;
            seen.leaves += leaves;
            cr_assert_eq(script.is_present[slot], seen.is_present[slot]);
        }
        cr_assert(tick > 0 || seen.is_present[0]);
    }
    return seen;
}

Test(synctest_script, seats_are_taken_left_and_taken_again)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        seats seen = play(seed, PLAYERS);
        cr_assert_gt(seen.leaves, PLAYERS);
        cr_assert_gt(seen.joins, seen.leaves);
        for (uint32_t slot = PLAYERS; slot < LS_PLAYERS_MAX; slot++) {
            cr_assert_not(seen.is_present[slot]);
        }
    }
    play(1, 1);
    play(1, LS_PLAYERS_MAX);
}

Test(synctest_script, the_same_seed_seats_the_same)
{
    synctest_script a = synctest_script_make(7, PLAYERS);
    synctest_script b = synctest_script_make(7, PLAYERS);
    synctest_script c = synctest_script_make(8, PLAYERS);
    uint32_t differences = 0;
    for (ls_tick tick = 0; tick < TICKS; tick++) {
        uint32_t events[3][LS_PLAYERS_MAX];
        synctest_script_advance(&a, tick, events[0]);
        synctest_script_advance(&b, tick, events[1]);
        synctest_script_advance(&c, tick, events[2]);
        cr_assert_arr_eq(events[0], events[1], sizeof events[0]);
        differences += memcmp(events[0], events[2], sizeof events[0]) != 0;
    }
    cr_assert_gt(differences, 0);
}
