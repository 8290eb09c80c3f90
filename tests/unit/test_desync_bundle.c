/* Bundles of desyncs, and the names of the fields in them. */
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tools/desync/differing_line.h"
#include "lockstep/tools/desync/write_trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- field_name ---- */

static const ls_field fields[] = {
    {"ships.position.x", "m", LS_FIELD_U32, 1, 3, 0, 8},
    {"ships.slots", "", LS_FIELD_U16, 2, 3, 4, 8},
    {"ticks", "", LS_FIELD_U32, 1, 1, 24, 4},
    {"table", "", LS_FIELD_U8, 4, 1, 28, 4},
    {"players[0].rank", "", LS_FIELD_U8, 1, 1, 32, 0},
    {"players[1].rank", "", LS_FIELD_U8, 1, 1, 33, 0},
    {"players[0].statuses[].kind", "", LS_FIELD_U8, 1, 5, 34, 2},
    {"players[0].statuses[].by", "", LS_FIELD_U8, 1, 5, 35, 2},
    {"fleet.ships[].name", "text", LS_FIELD_U8, 4, 1, 44, 0},
};

enum {
    FIELDS = sizeof fields / sizeof fields[0],
    STATE_BYTES = 48,
};

static ls_schema *make_schema(void)
{
    ls_schema *schema = NULL;
    cr_assert_eq(ls_schema_create(fields, FIELDS, STATE_BYTES, ls_allocator_heap(), &schema, NULL),
                 LS_OK);
    return schema;
}

static void expect_choice(const char *name, const char *path, uint32_t item, uint32_t element)
{
    ls_schema *schema = make_schema();
    explain_field_choice choice = {0};
    ls_text why = {{0}};
    cr_assert_eq(explain_field_choice_parse(schema, name, &choice, &why), LS_OK, "%s: %s", name,
                 why.bytes);
    cr_expect_str_eq(choice.field->path, path);
    cr_expect_eq(choice.item, item, "%s", name);
    cr_expect_eq(choice.element, element, "%s", name);
    ls_schema_destroy(schema);
}

Test(field_name, names_as_reports_write_them_are_understood)
{
    expect_choice("ships[2].position.x", "ships.position.x", 2, UINT32_MAX);
    expect_choice("ships[0].slots[1]", "ships.slots", 0, 1);
    expect_choice("table[3]", "table", UINT32_MAX, 3);
    expect_choice("ticks", "ticks", UINT32_MAX, UINT32_MAX);
}

Test(field_name, indices_within_a_path_are_read_as_they_are)
{
    expect_choice("players[0].rank", "players[0].rank", UINT32_MAX, UINT32_MAX);
    expect_choice("players[1].rank", "players[1].rank", UINT32_MAX, UINT32_MAX);
    expect_choice("players[0].statuses[3].kind", "players[0].statuses[].kind", 3, UINT32_MAX);
    expect_choice("players[0].statuses[].kind", "players[0].statuses[].kind", UINT32_MAX,
                  UINT32_MAX);
    expect_choice("players[0].statuses.by", "players[0].statuses[].by", UINT32_MAX, UINT32_MAX);
    expect_choice("fleet.ships[0].name[2]", "fleet.ships[].name", 0, 2);
}

/* The option takes the name of every byte of the state as a report prints it. */
Test(field_name, every_name_that_a_report_prints_means_its_place)
{
    ls_schema *schema = make_schema();
    for (size_t offset = 0; offset < STATE_BYTES; offset++) {
        char name[LS_NAME_BYTES_MAX + 24];
        explain_field_choice choice;
        ls_text why = {{0}};
        ls_schema_place place = ls_schema_at(schema, offset);
        ls_schema_place_name(&place, name, sizeof name);
        cr_assert_eq(explain_field_choice_parse(schema, name, &choice, &why), LS_OK, "%s: %s", name,
                     why.bytes);
        cr_expect(explain_field_choice_has(&choice, &place), "%s", name);
        cr_expect_str_eq(choice.field->path, place.field->path);
    }
    ls_schema_destroy(schema);
}

Test(field_name, without_indices_all_of_a_field_is_meant)
{
    expect_choice("ships.position.x", "ships.position.x", UINT32_MAX, UINT32_MAX);
    expect_choice("ships.slots[1]", "ships.slots", 1, UINT32_MAX);
    ls_schema *schema = make_schema();
    explain_field_choice choice;
    uint32_t count = 0;
    cr_assert_eq(explain_field_choice_parse(schema, "ships[1].slots", &choice, NULL), LS_OK);
    for (size_t offset = 0; offset < STATE_BYTES; offset += 2) {
        ls_schema_place place = ls_schema_at(schema, offset);
        count += explain_field_choice_has(&choice, &place);
    }
    cr_expect_eq(count, 2);
    ls_schema_destroy(schema);
}

static void expect_refused(const char *name, ls_status expected, const char *words)
{
    ls_schema *schema = make_schema();
    explain_field_choice choice;
    ls_text why = {{0}};
    cr_expect_eq(explain_field_choice_parse(schema, name, &choice, &why), expected, "%s", name);
    cr_expect_not_null(strstr(why.bytes, words), "%s: %s", name, why.bytes);
    ls_schema_destroy(schema);
}

Test(field_name, an_unknown_field_is_refused_with_the_known_ones)
{
    expect_refused("ships.speed", LS_NOT_FOUND, "there are ships.position.x, ships.slots");
    expect_refused("nothing", LS_NOT_FOUND, "there are ships.position.x, ships.slots, ticks");
    expect_refused("ships[3].position.x", LS_BAD_ARGUMENT, "item 3 is out of range: there are 3");
    expect_refused("table[4]", LS_BAD_ARGUMENT, "element 4");
    expect_refused("ships[1].slots[2]", LS_BAD_ARGUMENT, "element 2");
    expect_refused("players[2].rank", LS_NOT_FOUND, "there are players[0].rank, players[1].rank");
    expect_refused("players[0].statuses[5].kind", LS_BAD_ARGUMENT, "item 5 is out of range");
    const char *const nonsense[] = {"",         "[1]",     "table[",         "table[]",
                                    "table[x]", "table[1", "table[1][2][3]", "table[99999999999]"};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        expect_refused(nonsense[i], LS_BAD_ARGUMENT, "is not the name of a field");
    }
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    expect_refused(longer, LS_BAD_ARGUMENT, "is not the name of a field");
}

/* ---- value_order ---- */

static const ls_field value_order_fields[] = {
    {"ships.x", "m", LS_FIELD_U32, 1, 3, 0, 8},
    {"ships.slots", "", LS_FIELD_U16, 2, 3, 4, 8},
    {"ticks", "", LS_FIELD_U32, 1, 1, 24, 0},
};

typedef struct state {
    struct {
        uint32_t x;
        uint16_t slots[2];
    } ships[3];
    uint32_t ticks;
} state;

static const state first = {{{1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}}}, 10};

static bool differ_in_order(const state *a, const state *b)
{
    ls_schema *schema = NULL;
    cr_assert_eq(
        ls_schema_create(value_order_fields, 3, sizeof(state), ls_allocator_heap(), &schema, NULL),
        LS_OK);
    bool is_so = explain_states_differ_in_order(schema, (const uint8_t *)a, (const uint8_t *)b);
    ls_schema_destroy(schema);
    return is_so;
}

Test(value_order, states_with_the_same_values_in_other_places_differ_in_order)
{
    state other = first;
    other.ships[0].x = 7;
    other.ships[2].x = 1;
    cr_expect(differ_in_order(&first, &other));
    other.ships[1].slots[0] = 9;
    other.ships[2].slots[1] = 5;
    cr_expect(differ_in_order(&first, &other), "in two fields");
}

Test(value_order, a_value_that_one_side_alone_has_is_no_order)
{
    state other = first;
    cr_expect_not(differ_in_order(&first, &other), "nothing differs");
    other.ships[0].x = 4;
    other.ships[1].x = 4;
    cr_expect_not(differ_in_order(&first, &other), "one value more often");
    other = first;
    other.ships[0].x = 4;
    other.ships[1].x = 1;
    other.ticks = 11;
    cr_expect_not(differ_in_order(&first, &other), "another field has another value");
    other = first;
    other.ships[0].slots[0] = 4;
    other.ships[1].x = 2;
    cr_expect_not(differ_in_order(&first, &other), "values of two fields");
}

static void set_place(ls_bundle_pass_places *places, const char *name, const char *a, const char *b)
{
    ls_difference_text *place = &places->places[places->count++];
    ls_name_copy(place->name, sizeof place->name, name);
    ls_name_copy(place->a, sizeof place->a, a);
    ls_name_copy(place->b, sizeof place->b, b);
    places->elements = places->count;
}

static bool is_of_order(const ls_bundle_pass_places *places)
{
    return ls_state_difference_is_of_order(places->places, places->count, places->elements,
                                           places->is_lower_bound);
}

Test(value_order, places_are_compared_field_by_field)
{
    ls_bundle_pass_places places = {0};
    cr_expect_not(is_of_order(&places), "none is known");
    set_place(&places, "ships[0].x", "1 m", "7 m");
    set_place(&places, "ships[12].x", "7 m", "1 m");
    cr_expect(is_of_order(&places));
    places.is_lower_bound = true;
    cr_expect_not(is_of_order(&places), "others may differ");
    places.is_lower_bound = false;
    places.elements = 3;
    cr_expect_not(is_of_order(&places), "one is not listed");
    set_place(&places, "ships[0].y", "1 m", "2 m");
    cr_expect_not(is_of_order(&places), "another field has another value");
}

/* ==== desync_bundle ==== */

enum {
    BAD_TICK = 90,
};

static struct sample {
    diagnosed_match match;
    diagnosed_memory memory;
    ls_desync_bundle bundle;
    uint8_t *bytes;
    size_t size;
} made;

static void open_sample(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&made.match, fault_simulation(), &config);
    made.match.client.knob = (fault_knob){.kind = FAULT_BUILD, .from = BAD_TICK};
    diagnosed_match_run(&made.match, BAD_TICK + 30);
    diagnosed_match_bundle(&made.match, &made.memory, &made.bundle);
    cr_assert_eq(ls_desync_bundle_write(&made.bundle, ls_allocator_heap(), &made.bytes, &made.size),
                 LS_OK);
}

static void close_sample(void)
{
    ls_release(ls_allocator_heap(), made.bytes);
    diagnosed_match_close(&made.match);
}

TestSuite(desync_bundle, .init = open_sample, .fini = close_sample);

static ls_bundle_reading *open_bytes(const uint8_t *bytes, size_t size, ls_text *why)
{
    ls_bundle_reading *reading = NULL;
    cr_assert_eq(ls_bundle_reading_open(bytes, size, ls_allocator_heap(), &reading, why), LS_OK,
                 "%s", why->bytes);
    return reading;
}

static void expect_same_side(const ls_bundle_side *a, const ls_bundle_side *b, size_t state_bytes)
{
    cr_expect_eq(memcmp(&a->print, &b->print, sizeof a->print), 0);
    cr_expect_eq(memcmp(&a->figures, &b->figures, sizeof a->figures), 0);
    cr_expect_eq(memcmp(&a->passes, &b->passes, sizeof a->passes), 0);
    cr_expect_eq(a->hashes_first, b->hashes_first);
    cr_assert_eq(a->hash_count, b->hash_count);
    cr_expect_eq(memcmp(a->state_hashes, b->state_hashes, a->hash_count * sizeof *a->state_hashes),
                 0);
    cr_expect_eq(memcmp(a->state, b->state, state_bytes), 0);
}

Test(desync_bundle, reads_as_it_was_written)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(made.bytes, made.size, &why);
    const ls_desync_bundle *a = &made.bundle;
    const ls_desync_bundle *b = ls_bundle_reading_bundle(reading);
    cr_expect_str_eq(why.bytes, "");
    cr_expect_str_eq(b->simulation, "fault");
    cr_expect_str_eq(b->player, "Ada");
    cr_expect_eq(memcmp(&a->config, &b->config, sizeof a->config), 0);
    cr_expect_eq(memcmp(&a->digests, &b->digests, sizeof a->digests), 0);
    cr_expect_eq(b->tick, a->tick);
    cr_expect_eq(b->slot, 1);
    cr_expect_eq(b->later_ticks, LS_BUNDLE_LATER_MAX);
    cr_expect_eq(b->server_hash, a->server_hash);
    cr_expect_eq(b->client_hash, a->client_hash);
    cr_expect_eq(b->verdict.kind, LS_DESYNC_CLASS_BUILD);
    cr_expect_str_eq(b->verdict.why.bytes, a->verdict.why.bytes);
    cr_expect_eq(b->pass_count, 3);
    cr_expect_str_eq(b->passes[FAULT_PASS], "spread");
    cr_expect_eq(ls_schema_digest(ls_bundle_reading_schema(reading)), a->digests.schema);
    cr_expect_eq(memcmp(b->snapshot, a->snapshot, a->state_bytes), 0);
    expect_same_side(&b->server, &a->server, a->state_bytes);
    expect_same_side(&b->client, &a->client, a->state_bytes);
    cr_expect_eq(b->after_pass.count, 0);
    ls_bundle_reading_close(reading);
}

/* Another thread makes the file of it while the match goes on. */
Test(desync_bundle, a_draft_needs_nothing_more_of_the_match)
{
    ls_bundle_draft draft;
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_bundle_draft_make(&made.bundle, ls_allocator_heap(), &draft), LS_OK);
    diagnosed_match_run(&made.match, BAD_TICK + 60);
    memset(&made.memory, 0x5a, sizeof made.memory);
    memset(&made.bundle, 0x5a, sizeof made.bundle);
    cr_assert_eq(ls_bundle_draft_pack(&draft, ls_allocator_heap(), &bytes, &size), LS_OK);
    cr_assert_eq(size, made.size);
    cr_expect_eq(memcmp(bytes, made.bytes, size), 0);
    ls_release(ls_allocator_heap(), draft.bytes);
    ls_release(ls_allocator_heap(), bytes);
}

Test(desync_bundle, what_differs_after_the_pass_reads_as_it_was_written)
{
    ls_desync_bundle bundle = made.bundle;
    bundle.after_pass = (ls_bundle_pass_places){
        .pass = FAULT_PASS, .elements = 700, .fields = 2, .is_lower_bound = 1, .count = 2};
    ls_difference_text *place = &bundle.after_pass.places[1];
    ls_name_copy(place->name, sizeof place->name, "cells[3]");
    ls_name_copy(place->b, sizeof place->b, "7 points");
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(bytes, size, &why);
    const ls_bundle_pass_places *read = &ls_bundle_reading_bundle(reading)->after_pass;
    cr_expect_str_eq(why.bytes, "");
    cr_expect_eq(memcmp(read, &bundle.after_pass, sizeof *read), 0);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

Test(desync_bundle, keeps_which_surroundings_change_the_result)
{
    ls_text why = {{0}};
    ls_desync_bundle bundle = made.bundle;
    bundle.server.figures.tried = LS_SURROUNDINGS_ALL;
    bundle.server.figures.moved = LS_SURROUNDING_BIT(LS_SURROUNDING_CORES);
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    ls_bundle_reading *reading = open_bytes(bytes, size, &why);
    const ls_desync_bundle *read = ls_bundle_reading_bundle(reading);
    cr_expect_str_eq(why.bytes, "");
    cr_expect_eq(read->server.figures.tried, LS_SURROUNDINGS_ALL);
    cr_expect_eq(read->server.figures.moved, LS_SURROUNDING_BIT(LS_SURROUNDING_CORES));
    cr_expect_eq(read->client.figures.tried, 0);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

Test(desync_bundle, can_be_simulated_again)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(made.bytes, made.size, &why);
    ls_replay_stretch stretch;
    cr_assert_eq(ls_bundle_reading_stretch(reading, &stretch), LS_OK);
    ls_rerun_start(made.match.server.rerun, &stretch);
    fault = (fault_knob){.kind = FAULT_NONE};
    cr_assert(ls_rerun_advance(made.match.server.rerun, UINT32_MAX));
    const ls_rerun_figures *figures = ls_rerun_figures_of(made.match.server.rerun);
    cr_expect_eq(figures->live, made.bundle.server_hash);
    cr_expect_eq(figures->fresh, made.bundle.server_hash);
    cr_expect_eq(figures->strayed, made.bundle.tick);
    ls_bundle_reading_close(reading);
}

Test(desync_bundle, unknown_facts_are_left_out_and_named)
{
    ls_desync_bundle bundle = made.bundle;
    uint8_t *bytes = NULL;
    size_t size = 0;
    bundle.snapshot = NULL;
    bundle.client.state = NULL;
    bundle.client.hash_count = 0;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(bytes, size, &why);
    cr_expect_str_eq(why.bytes, "missing from the bundle, or damaged: snapshot, inputs, "
                                "client's hashes, client's state");
    cr_expect_null(ls_bundle_reading_bundle(reading)->client.state);
    cr_expect_null(ls_bundle_reading_bundle(reading)->snapshot);
    ls_replay_stretch stretch;
    cr_expect_eq(ls_bundle_reading_stretch(reading, &stretch), LS_NOT_FOUND);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

/* ---- damage ---- */

Test(desync_bundle, cut_anywhere_it_opens_with_a_sentence_or_is_refused)
{
    uint32_t opened = 0;
    for (size_t size = 0; size < made.size; size++) {
        /* Memory of just that size, so that reading past it is found. */
        uint8_t *cut = malloc(size > 0 ? size : 1);
        memcpy(cut, made.bytes, size);
        ls_text why = {{0}};
        ls_bundle_reading *reading = NULL;
        ls_status status = ls_bundle_reading_open(cut, size, ls_allocator_heap(), &reading, &why);
        cr_assert(status == LS_OK || status == LS_MALFORMED);
        cr_assert_neq(why.bytes[0], '\0', "%zu bytes", size);
        opened += status == LS_OK;
        ls_bundle_reading_close(reading);
        free(cut);
    }
    cr_expect_gt(opened, made.size / 2);
}

Test(desync_bundle, any_flipped_bit_is_refused_or_costs_one_section)
{
    uint32_t opened = 0;
    for (size_t bit = 0; bit < made.size * 8; bit += 3) {
        ls_text why = {{0}};
        ls_bundle_reading *reading = NULL;
        made.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bool is_reserved = bit / 8 >= 12 && bit / 8 < 16;
        ls_status status =
            ls_bundle_reading_open(made.bytes, made.size, ls_allocator_heap(), &reading, &why);
        cr_assert(status == LS_OK || status == LS_MALFORMED);
        cr_assert(is_reserved || why.bytes[0] != '\0', "bit %zu went unnoticed", bit);
        opened += status == LS_OK;
        ls_bundle_reading_close(reading);
        made.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_expect_gt(opened, 0);
}

static void expect_no_bundle(uint8_t *bytes, size_t size, const char *sentence)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = NULL;
    cr_expect_eq(ls_bundle_reading_open(bytes, size, ls_allocator_heap(), &reading, &why),
                 LS_MALFORMED);
    cr_expect_str_eq(why.bytes, sentence);
}

Test(desync_bundle, other_files_are_refused_by_name)
{
    expect_no_bundle(made.bytes, 0, "this is no desync bundle");
    expect_no_bundle(made.bytes, 15, "this is no desync bundle");
    expect_no_bundle(made.bytes, 16, "the bundle is damaged: not even its match can be read");
    made.bytes[8] = 2;
    expect_no_bundle(made.bytes, made.size,
                     "this is a desync bundle of format 2, and this build reads 1");
    made.bytes[0] = 'X';
    expect_no_bundle(made.bytes, made.size, "this is no desync bundle");
}

Test(desync_bundle, refused_memory_is_survived)
{
    uint32_t whole = 0;
    for (uint64_t allowed = 0; whole == 0 && allowed < 100; allowed++) {
        counting_allocator counting;
        counting_allocator_init(&counting);
        counting.allowed = allowed;
        ls_text why = {{0}};
        ls_bundle_reading *reading = NULL;
        ls_status status =
            ls_bundle_reading_open(made.bytes, made.size, &counting.allocator, &reading, &why);
        cr_assert(status == LS_OK || reading == NULL);
        whole += status == LS_OK && why.bytes[0] == '\0';
        ls_bundle_reading_close(reading);
        cr_assert_eq(counting.live_blocks, 0);
    }
    cr_expect_eq(whole, 1);
    counting_allocator counting;
    counting_allocator_init(&counting);
    counting.allowed = 1;
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_expect_eq(ls_desync_bundle_write(&made.bundle, &counting.allocator, &bytes, &size),
                 LS_NO_MEMORY);
    cr_expect_eq(counting.live_blocks, 0);
}
