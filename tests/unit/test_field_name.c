#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/tools/desync/value_order.h"
#include "lockstep/tools/desync/write_trace.h"

#include <criterion/criterion.h>
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
