#include "lockstep/common/diagnosis/state_difference.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct sample {
    double numbers[4];
    uint32_t items[50][2];
    float ratio;
    uint32_t serial;
} sample;

static const ls_field fields[] = {
    {"numbers", "m", LS_FIELD_F64, 4, 1, 0, 0},
    {"items.left", "", LS_FIELD_U32, 1, 50, offsetof(sample, items), 8},
    {"items.right", "", LS_FIELD_U32, 1, 50, offsetof(sample, items) + 4, 8},
    {"ratio", "", LS_FIELD_F32, 1, 1, offsetof(sample, ratio), 0},
    {"serial", "", LS_FIELD_U32, 1, 1, offsetof(sample, serial), 0},
};

static ls_schema *make_schema(void)
{
    ls_schema *schema = NULL;
    cr_assert_eq(ls_schema_create(fields, 5, sizeof(sample), ls_allocator_heap(), &schema, NULL),
                 LS_OK);
    return schema;
}

static ls_state_difference difference_of(const sample *a, const sample *b)
{
    ls_schema *schema = make_schema();
    ls_state_difference found;
    ls_state_difference_find(schema, a, b, &found);
    /* Places point into the schema, which must outlive them here. */
    for (uint32_t i = 0; i < found.place_count; i++) {
        for (uint32_t field = 0; field < 5; field++) {
            if (strcmp(fields[field].path, found.places[i].field->path) == 0) {
                found.places[i].field = &fields[field];
            }
        }
    }
    ls_schema_destroy(schema);
    return found;
}

Test(state_difference, equal_states_have_none)
{
    const sample a = {.serial = 1};
    ls_state_difference found = difference_of(&a, &a);
    cr_expect_eq(found.elements, 0);
    cr_expect_eq(found.fields, 0);
    cr_expect_eq(found.place_count, 0);
    cr_expect_not(found.is_lower_bound);
}

Test(state_difference, names_each_element_and_both_values)
{
    sample a = {.numbers = {1, 2.5, 3, 4}};
    sample b = a;
    b.numbers[1] = -2.5;
    b.items[7][1] = 9;
    ls_state_difference found = difference_of(&a, &b);
    cr_assert_eq(found.place_count, 2);
    cr_expect_eq(found.elements, 2);
    cr_expect_eq(found.fields, 2);
    ls_difference_text text = ls_state_difference_text(&found.places[0], &a, &b);
    cr_expect_str_eq(text.name, "numbers[1]");
    cr_expect_str_eq(text.a, "2.5 m");
    cr_expect_str_eq(text.b, "-2.5 m");
    text = ls_state_difference_text(&found.places[1], &a, &b);
    cr_expect_str_eq(text.name, "items[7].right");
    cr_expect_str_eq(text.a, "0");
    cr_expect_str_eq(text.b, "9");
}

static void set_bits(double *number, uint64_t bits)
{
    memcpy(number, &bits, sizeof bits);
}

Test(state_difference, zeros_and_nans_of_different_bits_differ_and_read_so)
{
    sample a = {0};
    sample b = {0};
    set_bits(&b.numbers[0], UINT64_C(0x8000000000000000));
    set_bits(&a.numbers[1], UINT64_C(0x7ff8000000000000));
    set_bits(&b.numbers[1], UINT64_C(0xfff8000000000001));
    const uint32_t quiet = 0x7fc00001;
    memcpy(&a.ratio, &quiet, sizeof quiet);
    const uint32_t negative_zero = 0x80000000;
    memcpy(&b.ratio, &negative_zero, sizeof negative_zero);
    ls_state_difference found = difference_of(&a, &b);
    cr_assert_eq(found.place_count, 3);
    ls_difference_text text = ls_state_difference_text(&found.places[0], &a, &b);
    cr_expect_str_eq(text.a, "0 m");
    cr_expect_str_eq(text.b, "-0 (negative zero) m");
    text = ls_state_difference_text(&found.places[1], &a, &b);
    cr_expect_str_eq(text.a, "nan 0x7ff8000000000000 m");
    cr_expect_str_eq(text.b, "nan 0xfff8000000000001 m");
    text = ls_state_difference_text(&found.places[2], &a, &b);
    cr_expect_str_eq(text.a, "nan 0x7fc00001");
    cr_expect_str_eq(text.b, "-0 (negative zero)");
}

Test(state_difference, fields_share_the_room_as_far_as_they_can_fill_it)
{
    sample a = {0};
    sample b = {.serial = 1, .ratio = 1, .numbers = {1, 1, 1, 1}};
    for (uint32_t i = 0; i < 50; i++) {
        b.items[i][0] = 1;
        b.items[i][1] = 1;
    }
    ls_state_difference found = difference_of(&a, &b);
    cr_expect_eq(found.elements, 4 + 50 + 50 + 1 + 1);
    cr_expect_eq(found.fields, 5);
    cr_assert_eq(found.place_count, LS_DIFFERENCES_MAX);
    uint32_t counts[5] = {0};
    for (uint32_t i = 0; i < found.place_count; i++) {
        counts[found.places[i].field - fields]++;
        cr_expect(i == 0 || found.places[i].field != found.places[i - 1].field ||
                  found.places[i].offset > found.places[i - 1].offset);
    }
    const uint32_t expected[] = {4, 13, 13, 1, 1};
    cr_expect_eq(memcmp(counts, expected, sizeof counts), 0);
}

Test(state_difference, one_field_fills_all_the_room_but_no_more)
{
    for (uint32_t differing = 31; differing <= 33; differing++) {
        sample a = {0};
        sample b = {0};
        for (uint32_t i = 0; i < differing; i++) {
            b.items[i + 3][0] = 1;
        }
        ls_state_difference found = difference_of(&a, &b);
        cr_expect_eq(found.elements, differing);
        cr_expect_eq(found.place_count, differing < 32 ? differing : 32);
        cr_expect_eq(found.places[0].item, 3);
    }
}

Test(state_difference, its_extent_says_how_much_differs_and_never_nothing)
{
    cr_expect_str_eq(ls_state_difference_extent(1, 1, false).bytes, "1 value in 1 field");
    cr_expect_str_eq(ls_state_difference_extent(7, 2, true).bytes, "at least 7 values in 2 fields");
    cr_expect_str_eq(ls_state_difference_extent(0, 0, true).bytes, "the fields are not known");
    cr_expect_str_eq(ls_state_difference_extent(0, 0, false).bytes, "the fields are not known");
    cr_expect_str_eq(ls_state_difference_extent(3, 0, true).bytes, "at least 3 values");
}

Test(state_difference, a_text_is_one_value_however_many_of_its_bytes_differ)
{
    const ls_field names = {"names.text", "text", LS_FIELD_U8, 8, 3, 0, 8};
    const char a[25] = "Ada\0\0\0\0\0Bo\0\0\0\0\0\0Cy";
    const char b[25] = "Ade\0\0\0\0xBo\0\0\0\0\0\0Dora";
    ls_schema *schema = NULL;
    ls_state_difference found;
    cr_assert_eq(ls_schema_create(&names, 1, 24, ls_allocator_heap(), &schema, NULL), LS_OK);
    ls_state_difference_find(schema, a, b, &found);
    cr_expect_eq(found.elements, 2);
    cr_expect_eq(found.fields, 1);
    cr_assert_eq(found.place_count, 2);
    ls_difference_text text = ls_state_difference_text(&found.places[1], a, b);
    cr_expect_str_eq(text.name, "names[2].text");
    cr_expect_str_eq(text.a, "\"Cy\"");
    cr_expect_str_eq(text.b, "\"Dora\"");
    text = ls_state_difference_text(&found.places[0], a, b);
    cr_expect_str_eq(text.b, "\"Ade\\x00\\x00\\x00\\x00x\"");
    ls_schema_destroy(schema);
}
