#define _GNU_SOURCE
#include "lockstep/common/system/shared_memory.h"
#include "lockstep/tools/synctest/input_taps.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/random_inputs.h"
#include "lockstep/tools/synctest/result.h"
#include "lockstep/tools/synctest/tape.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

/* ---- synctest_result ---- */

static synctest_finding bad_finding(void)
{
    synctest_finding finding = {
        .perturbation = SYNCTEST_PERTURBATION_STACK, .hashes_compared = 35, .took_ns = 1234567890};
    finding.outcome = (synctest_outcome){.kind = SYNCTEST_OUTCOME_DIFFERS,
                                         .tick = 32,
                                         .pass = "think",
                                         .field = "units[0].order",
                                         .expected = "0",
                                         .found = "-1",
                                         .elements = 16};
    return finding;
}

static void expect_described(const synctest_finding *finding, const char *expected)
{
    ls_text where = {""};
    ls_text cause = {""};
    const synctest_evidence evidence = {0};
    synctest_finding_describe(finding, &evidence, &where, &cause);
    cr_expect_str_eq(where.bytes, expected);
}

Test(synctest_result, a_finding_says_where_and_what)
{
    synctest_finding finding = bad_finding();
    expect_described(&finding, "tick 32, think: units[0].order is -1, in the reference 0 "
                               "(and 15 more)");
    finding.outcome.elements = 1;
    expect_described(&finding, "tick 32, think: units[0].order is -1, in the reference 0");
    finding.outcome.field[0] = '\0';
    expect_described(&finding, "tick 32, think");
    finding.outcome.kind = SYNCTEST_OUTCOME_CRASHED;
    finding.outcome.signal = SIGFPE;
    expect_described(&finding, "tick 32, think: SIGFPE");
    ls_text_set(&finding.outcome.text, "game.so");
    expect_described(&finding, "tick 32, think of game.so: SIGFPE");
    ls_text_set(&finding.outcome.text, "%s", "");
    finding.outcome.signal = 0;
    snprintf(finding.words, sizeof finding.words, "bye");
    expect_described(&finding, "tick 32, think: it ended the process itself, saying \"bye\"");
    finding.words[0] = '\0';
    finding.outcome.kind = SYNCTEST_OUTCOME_HUNG;
    expect_described(&finding, "tick 32, think: no progress");
    finding.outcome.kind = SYNCTEST_OUTCOME_FAILED;
    ls_text_set(&finding.outcome.text, "no such file");
    expect_described(&finding, "no such file");
}

Test(synctest_result, only_what_is_the_same_or_skipped_is_not_bad)
{
    for (uint32_t kind = SYNCTEST_OUTCOME_NONE; kind <= SYNCTEST_OUTCOME_SKIPPED; kind++) {
        synctest_finding finding = {.outcome = {.kind = kind}};
        bool is_fine = kind == SYNCTEST_OUTCOME_SAME || kind == SYNCTEST_OUTCOME_SKIPPED;
        cr_expect_eq(synctest_finding_is_bad(&finding), !is_fine);
        cr_expect_gt(strlen(synctest_finding_word(&finding)), 3);
    }
}

Test(synctest_result, a_warning_is_told_and_is_not_bad)
{
    synctest_finding finding = bad_finding();
    finding.is_warning = true;
    cr_assert_not(synctest_finding_is_bad(&finding));
    cr_assert_str_eq(synctest_finding_word(&finding), "warning");
    expect_described(&finding, "tick 32, think: units[0].order is -1, in the reference 0 "
                               "(and 15 more)");
}

Test(synctest_result, signals_have_names_or_numbers)
{
    char name[32];
    synctest_signal_name(SIGSEGV, name, sizeof name);
    cr_assert_str_eq(name, "SIGSEGV");
    synctest_signal_name(99, name, sizeof name);
    cr_assert_str_eq(name, "signal 99");
}

/* The text that a writer wrote, in memory of the caller's. */
static char *written(ls_status (*write)(const synctest_result *, const char *, ls_text *),
                     const synctest_result *result)
{
    char path[] = "/tmp/lockstep-result-XXXXXX";
    int file = mkstemp(path);
    char *text = calloc(1, 65536);
    cr_assert(file >= 0 && text);
    close(file);
    cr_assert_eq(write(result, path, NULL), LS_OK);
    file = open(path, O_RDONLY); /* which is another file now */
    cr_assert_gt(read(file, text, 65535), 0);
    close(file);
    unlink(path);
    return text;
}

static synctest_result result;

static void fill_result(void)
{
    static const synctest_match match = {.sim = "tag.so", .seed = UINT64_MAX, .ticks = 600};
    result.match = &match;
    result.status = "differs";
    result.has_reference = true;
    result.reference.outcome.kind = SYNCTEST_OUTCOME_SAME;
    result.findings[0] = bad_finding();
    result.findings[1] = (synctest_finding){.perturbation = SYNCTEST_PERTURBATION_WORKERS};
    result.findings[1].outcome.kind = SYNCTEST_OUTCOME_SKIPPED;
    ls_text_set(&result.findings[1].outcome.text, "none & nothing");
    result.finding_count = 2;
    result.failed = 1;
}

static void expect_in(const char *text, const char *part)
{
    cr_expect(strstr(text, part), "no %s in:\n%s", part, text);
}

Test(synctest_result, xml_holds_no_byte_with_a_meaning_of_its_own)
{
    fill_result();
    snprintf(result.findings[0].outcome.field, 32, "<a>&\"'\x01");
    char *text = written(synctest_result_write_junit, &result);
    expect_in(text, "tests=\"3\" failures=\"1\" skipped=\"1\"");
    expect_in(text, "&lt;a&gt;&amp;&quot;'? is -1");
    expect_in(text, "none &amp; nothing");
    expect_in(text, "name=\"stack\" time=\"1.234\"");
    free(text);
}

Test(synctest_result, json_has_every_value)
{
    fill_result();
    snprintf(result.findings[0].outcome.field, 32, "a\"b\\");
    char *text = written(synctest_result_write_json, &result);
    expect_in(text, "\"18446744073709551615\"");
    expect_in(text, "\"a\\\"b\\\\\"");
    expect_in(text, "\"class\":\t\"uninitialised memory\"");
    expect_in(text, "\"reason\":\t\"none & nothing\"");
    expect_in(text, "\"hashes_compared\":\t35");
    free(text);
}

/* A difference at the tick, to the state, in the field. */
static void find(uint32_t index, synctest_perturbation_id perturbation, ls_tick tick,
                 uint64_t found_hash, const char *field)
{
    result.findings[index] = (synctest_finding){.perturbation = perturbation};
    synctest_outcome *outcome = &result.findings[index].outcome;
    *outcome = (synctest_outcome){.kind = SYNCTEST_OUTCOME_DIFFERS,
                                  .tick = tick,
                                  .found_hash = found_hash,
                                  .repeats = {.played = 4, .differing = 4, .alike = 4}};
    snprintf(outcome->field, sizeof outcome->field, "%s", field);
    result.finding_count = index + 1;
}

static void expect_class(uint32_t index, const char *class)
{
    cr_expect_str_eq(synctest_finding_class(&result.findings[index], &result.evidence), class);
}

Test(synctest_result, equal_findings_have_the_cause_of_the_most_basic_one)
{
    find(0, SYNCTEST_PERTURBATION_ADDRESSES, 8, 111, "bonus");
    find(1, SYNCTEST_PERTURBATION_CPU, 8, 111, "bonus");
    find(2, SYNCTEST_PERTURBATION_ENVIRONMENT, 8, 222, "bonus"); /* it moves addresses as well */
    find(3, SYNCTEST_PERTURBATION_CLOCK, 8, 222, "bonus");
    find(4, SYNCTEST_PERTURBATION_LOG, 9, 111, "bonus");
    find(5, SYNCTEST_PERTURBATION_AGAINST, 8, 111, "bonus");
    synctest_result_merge(&result);
    cr_expect_null(result.findings[0].lead);
    cr_expect_eq(result.findings[1].lead, &result.findings[0]);
    cr_expect_eq(result.findings[2].lead, &result.findings[0]);
    cr_expect_null(result.findings[3].lead);
    cr_expect_null(result.findings[4].lead);
    cr_expect_null(result.findings[5].lead);
    expect_class(1, "order of addresses");
    expect_class(2, "order of addresses");
    expect_class(3, "outside world");
    expect_class(5, "build differs");
}

Test(synctest_result, races_are_one_wherever_they_show)
{
    find(0, SYNCTEST_PERTURBATION_SAVE, 3, 111, "bonus");
    find(1, SYNCTEST_PERTURBATION_DRAW, 70, 333, "bonus");
    find(2, SYNCTEST_PERTURBATION_STACK, 41, 222, "score");
    result.findings[1].outcome.repeats.alike = result.findings[2].outcome.repeats.alike = 1;
    synctest_result_merge(&result);
    cr_expect_null(result.findings[0].lead);
    cr_expect_eq(result.findings[1].lead, &result.findings[2]);
    cr_expect_null(result.findings[2].lead);
    expect_class(0, "outside the saved state");
    expect_class(1, "race");
}

Test(synctest_result, a_path_that_cannot_be_written_is_an_error)
{
    ls_text why = {""};
    fill_result();
    cr_expect_eq(synctest_result_write_json(&result, "/does/not/exist", &why), LS_IO);
    cr_expect(strstr(why.bytes, "/does/not/exist"));
    cr_expect_eq(synctest_result_write_junit(&result, "/does/not/exist", &why), LS_IO);
}

/* ---- synctest_compare ---- */

enum {
    UNITS = 4,
    PASSES = 2,
};

typedef struct unit {
    double heat;
    uint32_t order;
    float charge;
} unit;

typedef struct game_state {
    uint64_t score;
    unit units[UNITS];
} game_state;

static ls_schema *make_schema(void)
{
    const ls_field fields[] = {
        LS_FIELD_OF(game_state, score, LS_FIELD_U64, "points"),
        LS_FIELD_EACH("units", offsetof(game_state, units), UNITS, unit, heat, LS_FIELD_F64, "K"),
        LS_FIELD_EACH("units", offsetof(game_state, units), UNITS, unit, order, LS_FIELD_U32, ""),
        LS_FIELD_EACH("units", offsetof(game_state, units), UNITS, unit, charge, LS_FIELD_F32, "C"),
    };
    ls_schema *schema = NULL;
    cr_assert_eq(
        ls_schema_create(fields, 4, sizeof(game_state), ls_allocator_heap(), &schema, NULL), LS_OK);
    return schema;
}

static const uint8_t *bytes_of(const game_state *state)
{
    return (const uint8_t *)state;
}

static synctest_trace make_trace(synctest_trace_shape shape)
{
    synctest_trace trace;
    int file = ls_shared_memory_make("trace");
    shape.pass_count = PASSES;
    cr_assert_eq(synctest_trace_open(file, shape, &trace), LS_OK);
    return trace;
}

Test(synctest_compare, counts_elements_and_not_bytes)
{
    ls_schema *schema = make_schema();
    game_state a, b;
    memset(&a, 0, sizeof a);
    b = a;
    cr_assert_eq(synctest_compare_count(schema, bytes_of(&a), bytes_of(&b)), 0);
    b.score = UINT64_MAX;
    b.units[3].order = 0x01000001; /* its first and last byte */
    cr_assert_eq(synctest_compare_count(schema, bytes_of(&a), bytes_of(&b)), 2);
    memset(&b, 0xff, sizeof b);
    cr_assert_eq(synctest_compare_count(schema, bytes_of(&a), bytes_of(&b)), 1 + 3 * UNITS);
    ls_schema_destroy(schema);
}

Test(synctest_compare, finds_the_first_pass_and_field_that_differ)
{
    ls_schema *schema = make_schema();
    const synctest_trace_shape shape = {.state_bytes = sizeof(game_state)};
    synctest_trace a = make_trace(shape), b = make_trace(shape);
    game_state state;
    memset(&state, 0, sizeof state);
    for (uint32_t place = 0; place <= PASSES; place++) {
        synctest_trace_set(&a, place, 1, &state);
        synctest_trace_set(&b, place, 2, &state); /* with a schema state hashes are not looked at */
    }
    synctest_difference difference = {.place = 77};
    cr_assert_not(synctest_compare_traces(schema, &a, &b, &difference));
    state.units[2].order = 5;
    state.units[1].heat = 1;
    synctest_trace_set(&b, PASSES, 2, &state);
    cr_assert(synctest_compare_traces(schema, &a, &b, &difference));
    cr_assert_eq(difference.place, PASSES);
    cr_assert_eq(difference.elements, 2);
    cr_assert_str_eq(difference.first.field->path, "units.heat");
    cr_assert_eq(difference.first.item, 1);
    synctest_trace_set(&b, 0, 2, &state);
    cr_assert(synctest_compare_traces(schema, &a, &b, &difference));
    cr_assert_eq(difference.place, 0);
    ls_schema_destroy(schema);
}

Test(synctest_compare, without_a_schema_hashes_are_compared)
{
    synctest_trace a = make_trace((synctest_trace_shape){0});
    synctest_trace b = make_trace((synctest_trace_shape){0});
    for (uint32_t place = 0; place <= PASSES; place++) {
        synctest_trace_set(&a, place, 7 + place, NULL);
        synctest_trace_set(&b, place, 7 + place, NULL);
    }
    synctest_difference difference;
    cr_assert_not(synctest_compare_traces(NULL, &a, &b, &difference));
    synctest_trace_set(&b, 1, 0, NULL);
    cr_assert(synctest_compare_traces(NULL, &a, &b, &difference));
    cr_assert_eq(difference.place, 1);
    cr_assert_eq(difference.elements, 0);
}

static void keep_image(synctest_trace *trace, const game_state *image)
{
    memcpy(synctest_trace_image_room(trace), image, sizeof *image);
    synctest_trace_note_image(trace);
}

Test(synctest_compare, images_of_saves_are_compared_once_both_are_there)
{
    ls_schema *schema = make_schema();
    const synctest_trace_shape shape = {.image_bytes = sizeof(game_state)};
    synctest_trace a = make_trace(shape), b = make_trace(shape);
    synctest_difference difference = {.place = 1};
    game_state image;
    memset(&image, 0, sizeof image);
    synctest_trace_set(&b, PASSES, UINT64_MAX, NULL); /* lies before the image */
    cr_assert_null(synctest_trace_image(&b));
    keep_image(&a, &image);
    cr_assert_not(synctest_compare_images(schema, &a, &b, &difference), "one has none");
    keep_image(&b, &image);
    cr_assert_not(synctest_compare_images(schema, &a, &b, &difference), "they are equal");
    image.units[2].order = 5;
    image.units[UNITS - 1].charge = 1;
    keep_image(&b, &image);
    cr_assert(synctest_compare_images(schema, &a, &b, &difference));
    cr_assert_str_eq(difference.first.field->path, "units.order");
    cr_assert_eq(difference.first.item, 2);
    cr_assert_eq(difference.elements, 2);
    cr_assert_eq(difference.place, 1);
    cr_assert_eq(synctest_trace_hash(&b, PASSES), UINT64_MAX);
    ls_schema_destroy(schema);
}

static synctest_oddity oddity_at(const ls_schema *schema, size_t offset, const game_state *state)
{
    ls_schema_place place = ls_schema_at(schema, offset);
    return synctest_compare_oddity(&place, bytes_of(state));
}

Test(synctest_compare, knows_odd_numbers_by_their_bits)
{
    static const struct {
        uint64_t bits;
        synctest_oddity oddity;
    } cases[] = {
        {0, SYNCTEST_ODDITY_NONE},
        {UINT64_C(0x8000000000000000), SYNCTEST_ODDITY_NEGATIVE_ZERO},
        {UINT64_C(0x8000000000000001), SYNCTEST_ODDITY_NONE}, /* the smallest negative number */
        {UINT64_C(0x7ff0000000000000), SYNCTEST_ODDITY_NONE}, /* infinity */
        {UINT64_C(0xfff0000000000000), SYNCTEST_ODDITY_NONE},
        {UINT64_C(0x7ff0000000000001), SYNCTEST_ODDITY_NAN},
        {UINT64_C(0xfff8000000000000), SYNCTEST_ODDITY_NAN},
    };
    ls_schema *schema = make_schema();
    size_t heat = offsetof(game_state, units) + sizeof(unit) + offsetof(unit, heat);
    size_t charge = offsetof(game_state, units) + sizeof(unit) + offsetof(unit, charge);
    game_state state;
    memset(&state, 0, sizeof state);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memcpy(&state.units[1].heat, &cases[i].bits, sizeof cases[i].bits);
        cr_expect_eq(oddity_at(schema, heat, &state), cases[i].oddity, "case %zu", i);
    }
    const uint32_t bits[] = {0x80000000, 0x7f800000, 0x7f800001};
    const synctest_oddity oddities[] = {SYNCTEST_ODDITY_NEGATIVE_ZERO, SYNCTEST_ODDITY_NONE,
                                        SYNCTEST_ODDITY_NAN};
    for (size_t i = 0; i < 3; i++) {
        memcpy(&state.units[1].charge, &bits[i], sizeof bits[i]);
        cr_expect_eq(oddity_at(schema, charge, &state), oddities[i], "case %zu", i);
    }
    memset(&state.score, 0xff, sizeof state.score);
    cr_assert_eq(oddity_at(schema, 0, &state), SYNCTEST_ODDITY_NONE); /* no floating point at all */
    ls_schema_destroy(schema);
}

Test(synctest_compare, finds_the_one_value_that_is_not_a_number)
{
    const uint64_t bits = UINT64_C(0x7ff8000000000000);
    ls_schema *schema = make_schema();
    game_state state;
    ls_schema_place place;
    memset(&state, 0, sizeof state);
    state.score = bits; /* harmless: it is a count */
    cr_assert_not(synctest_compare_find_nan(schema, bytes_of(&state), &place));
    memcpy(&state.units[UNITS - 1].heat, &bits, sizeof bits);
    cr_assert(synctest_compare_find_nan(schema, bytes_of(&state), &place));
    cr_assert_str_eq(place.field->path, "units.heat");
    cr_assert_eq(place.item, UNITS - 1);
    ls_schema_destroy(schema);
}
