#include "lockstep/common/system/shared_memory.h"
#include "lockstep/tools/synctest/input_taps.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/random_inputs.h"
#include "lockstep/tools/synctest/tape.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* ---- synctest_tape ---- */

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

/* ---- synctest_taps ---- */

static synctest_taps taps;
static uint8_t edges[2];
static uint8_t buttons[2];

static void start(void)
{
    memset(&taps, 0, sizeof taps);
    memset(edges, 0, sizeof edges);
    memset(buttons, 0, sizeof buttons);
}

/* One player's inputs, of two bytes each. */
static synctest_tapped found_in(const uint8_t (*inputs)[2], uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        synctest_taps_add(&taps, 1, inputs[i], 2);
    }
    return synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2);
}

static const uint8_t thrice[][2] = {{1, 0}, {1, 8}, {1, 0}, {1, 8}, {1, 0},
                                    {3, 0}, {3, 0}, {1, 0}, {1, 8}, {1, 0}};
enum {
    THRICE = sizeof thrice / sizeof thrice[0]
};

Test(synctest_taps, a_bit_that_is_set_for_one_tick_at_a_time_is_found, .init = start)
{
    synctest_tapped found = found_in(thrice, THRICE);
    cr_assert_eq(found.times, 3);
    cr_assert_eq(found.byte, 1);
    cr_assert_eq(found.bits, 8);
    cr_assert_not(found.is_whole);
}

Test(synctest_taps, an_edge_or_a_button_is_named_already, .init = start)
{
    edges[1] = 8;
    cr_assert_eq(found_in(thrice, THRICE).times, 0);
    edges[1] = 0;
    buttons[1] = 8;
    cr_assert_eq(found_in(thrice, THRICE).times, 0);
}

Test(synctest_taps, a_bit_that_is_ever_held_is_no_move, .init = start)
{
    const uint8_t held[][2] = {{1, 8}, {1, 8}, {1, 0}};
    found_in(thrice, THRICE);
    cr_assert_eq(found_in(held, 3).times, 0);
}

Test(synctest_taps, twice_can_be_chance, .init = start)
{
    cr_assert_eq(found_in(thrice, 6).times, 0);
}

Test(synctest_taps, a_number_that_changes_is_no_move, .init = start)
{
    for (uint32_t i = 0; i < 200; i++) {
        const uint8_t input[2] = {(uint8_t)(i * 37 / 5), (uint8_t)(255 - i)};
        synctest_taps_add(&taps, 0, input, sizeof input);
    }
    cr_assert_eq(synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2).times, 0);
}

/* An order game sends an input when there is an order, and none else. */
Test(synctest_taps, inputs_between_empty_ones_are_found_as_wholes, .init = start)
{
    const uint8_t order[2] = {7, 9};
    for (uint32_t i = 0; i < 12; i++) {
        synctest_taps_add(&taps, 0, order, i % 4 == 1 ? 2 : 0);
    }
    synctest_tapped found = synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2);
    cr_assert(found.is_whole && found.times == 3);
    memset(edges, 0xFF, sizeof edges);
    cr_assert_eq(synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2).times, 0);
}

Test(synctest_taps, an_empty_seat_parts_two_inputs, .init = start)
{
    for (uint32_t i = 0; i < THRICE; i++) {
        synctest_taps_add(&taps, 1, thrice[i], 2);
        synctest_taps_add(&taps, 1, NULL, 0);
    }
    cr_assert_eq(synctest_taps_found(&taps, &(ls_input_bits){edges, buttons}, 2).times, 0);
}

Test(synctest_taps, the_sentence_names_the_bits_and_what_to_do, .init = start)
{
    ls_text words = {""};
    synctest_tapped found = found_in(thrice, THRICE);
    synctest_tapped_describe(&found, &words);
    cr_assert(strstr(words.bytes, "bits 0x08 of byte 1"));
    cr_assert(strstr(words.bytes, "3 times"));
    cr_assert(strstr(words.bytes, "input_bits"));
}

/* ---- synctest_perturbation ---- */

Test(synctest_perturbation, every_perturbation_has_a_name_of_its_own)
{
    for (uint32_t a = 0; a < SYNCTEST_PERTURBATION_COUNT; a++) {
        const synctest_perturbation *perturbation =
            synctest_perturbation_of((synctest_perturbation_id)a);
        cr_assert_gt(strlen(perturbation->name), 0);
        cr_assert_gt(strlen(perturbation->what), 0);
        cr_assert_geq(perturbation->variants, 1);
        for (uint32_t b = 0; b < a; b++) {
            cr_assert_str_neq(perturbation->name,
                              synctest_perturbation_of((synctest_perturbation_id)b)->name);
        }
    }
}

Test(synctest_perturbation, every_perturbation_has_a_rank_of_its_own_and_still_has_the_first)
{
    cr_assert_eq(synctest_perturbation_rank(SYNCTEST_PERTURBATION_STILL), 0);
    for (uint32_t a = 0; a < SYNCTEST_PERTURBATION_COUNT; a++) {
        uint32_t rank = synctest_perturbation_rank((synctest_perturbation_id)a);
        cr_assert_lt(rank, SYNCTEST_PERTURBATION_COUNT);
        for (uint32_t b = 0; b < a; b++) {
            cr_assert_neq(rank, synctest_perturbation_rank((synctest_perturbation_id)b));
        }
    }
}

Test(synctest_perturbation, a_list_adds_what_it_names)
{
    uint32_t set = UINT32_C(1) << SYNCTEST_PERTURBATION_DRAW;
    bool has_lint = false;
    cr_assert_eq(synctest_perturbation_parse_list("only", "save,stack", &set, &has_lint, NULL),
                 LS_OK);
    cr_assert_eq(set, UINT32_C(1) << SYNCTEST_PERTURBATION_DRAW |
                          UINT32_C(1) << SYNCTEST_PERTURBATION_SAVE |
                          UINT32_C(1) << SYNCTEST_PERTURBATION_STACK);
    cr_assert_not(has_lint);
    cr_assert_eq(synctest_perturbation_parse_list("only", "lint", &set, &has_lint, NULL), LS_OK);
    cr_assert(has_lint);
}

Test(synctest_perturbation, every_name_can_be_listed)
{
    for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
        uint32_t set = 0;
        bool has_lint = false;
        const char *name = synctest_perturbation_of((synctest_perturbation_id)id)->name;
        cr_assert_eq(synctest_perturbation_parse_list("only", name, &set, &has_lint, NULL), LS_OK);
        cr_assert_eq(set, UINT32_C(1) << id);
    }
}

Test(synctest_perturbation, a_list_with_an_unknown_name_adds_nothing_and_says_what_there_is)
{
    const char *bad[] = {"",    "save,", ",save",        "Save",
                         "sav", "saves", "save,nothing", "save stack"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t set = 0;
        bool has_lint = false;
        ls_text why = {""};
        cr_expect_eq(synctest_perturbation_parse_list("only", bad[i], &set, &has_lint, &why),
                     LS_BAD_ARGUMENT);
        cr_expect_eq(set, 0);
        cr_expect(strstr(why.bytes, "rollback"), "%s", why.bytes);
    }
}

Test(synctest_perturbation, joins_are_spread_over_the_match)
{
    cr_assert_eq(synctest_perturbation_join_tick(600, 0), 150);
    cr_assert_eq(synctest_perturbation_join_tick(600, 2), 450);
    cr_assert_eq(synctest_perturbation_join_tick(1, 2), 0);
    cr_assert_eq(synctest_perturbation_join_tick(4000000000u, 2), 3000000000u);
}

/* ---- synctest_random_inputs ---- */

enum {
    SIZE_MAX_BYTES = 5,
    SYNCTEST_RANDOM_INPUTS_TICKS = 5000,
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
    for (uint32_t tick = 0; tick < SYNCTEST_RANDOM_INPUTS_TICKS; tick++) {
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
    for (uint32_t tick = 0; tick < 20 * SYNCTEST_RANDOM_INPUTS_TICKS; tick++) {
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
    cr_expect_gt(kept, 3 * SYNCTEST_RANDOM_INPUTS_TICKS);
    cr_expect_lt(kept, 8 * SYNCTEST_RANDOM_INPUTS_TICKS);
}

Test(synctest_random_inputs, a_simulation_without_inputs_gets_none)
{
    synctest_random_player player = synctest_random_player_make(1);
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    for (uint32_t tick = 0; tick < SYNCTEST_RANDOM_INPUTS_TICKS; tick++) {
        cr_assert_eq(synctest_random_player_input(&player, bytes, 0, 0), 0);
    }
}

/* ---- synctest_script ---- */

enum {
    SYNCTEST_SCRIPT_TICKS = 2000,
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
    for (ls_tick tick = 0; tick < SYNCTEST_SCRIPT_TICKS; tick++) {
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
    for (ls_tick tick = 0; tick < SYNCTEST_SCRIPT_TICKS; tick++) {
        uint32_t events[3][LS_PLAYERS_MAX];
        synctest_script_advance(&a, tick, events[0]);
        synctest_script_advance(&b, tick, events[1]);
        synctest_script_advance(&c, tick, events[2]);
        cr_assert_arr_eq(events[0], events[1], sizeof events[0]);
        differences += memcmp(events[0], events[2], sizeof events[0]) != 0;
    }
    cr_assert_gt(differences, 0);
}
