#include "lockstep/tools/synctest/compare.h"

#include "lockstep/common/system/shared_memory.h"

#include <criterion/criterion.h>
#include <string.h>

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
