#include "lockstep/tools/desync/value_order.h"

#include "lockstep/common/journal/desync_bundle.h"

#include <criterion/criterion.h>
#include <string.h>

static const ls_field fields[] = {
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
    cr_assert_eq(ls_schema_create(fields, 3, sizeof(state), ls_allocator_heap(), &schema, NULL),
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
