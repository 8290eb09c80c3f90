
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static ls_status create(const ls_field *fields, uint32_t count, size_t bytes, ls_text *why)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_schema *schema = NULL;
    why->bytes[0] = '\0';
    ls_status status = ls_schema_create(fields, count, bytes, &counting.allocator, &schema, why);
    cr_assert_eq(schema != NULL, status == LS_OK);
    ls_schema_destroy(schema);
    cr_assert_eq(counting.live_blocks, 0);
    return status;
}

static void expect_good(const ls_field *fields, uint32_t count, size_t bytes)
{
    ls_text why;
    cr_expect_eq(create(fields, count, bytes, &why), LS_OK, "%s", why.bytes);
}

static void expect_refused(const ls_field *fields, uint32_t count, size_t bytes,
                           const char *sentence)
{
    ls_text why;
    cr_expect_eq(create(fields, count, bytes, &why), LS_SCHEMA);
    cr_expect_str_eq(why.bytes, sentence);
}

static void expect_refused_with(const ls_field *fields, uint32_t count, size_t bytes,
                                const char *words)
{
    ls_text why;
    cr_expect_eq(create(fields, count, bytes, &why), LS_SCHEMA);
    cr_expect(strstr(why.bytes, words), "no \"%s\" in: %s", words, why.bytes);
}

/* Single items are written {path, unit, type, length, count, offset, stride}. */

Test(schema_coverage, fields_that_cover_every_byte_once_are_good)
{
    const ls_field fields[] = {
        {"a", "", LS_FIELD_U32, 1, 1, 0, 0},
        {"b", "", LS_FIELD_U8, 3, 1, 4, 0},
        {"pad", "", LS_FIELD_PADDING, 1, 1, 7, 0},
        {"ships.x", "m", LS_FIELD_FIXED, 1, 2, 8, 12},
        {"ships.angle", "deg", LS_FIELD_ANGLE, 1, 2, 16, 12},
    };
    expect_good(fields, 5, 32);
}

Test(schema_coverage, ranges_not_covered_exactly_once_are_named_by_their_neighbours)
{
    static const struct {
        const char *what;
        ls_field fields[3];
        uint32_t count;
        size_t bytes;
        const char *sentence;
    } cases[] = {
        {"a gap",
         {{"ships.angle", "", LS_FIELD_ANGLE, 1, 1, 8, 0},
          {"ships.x", "", LS_FIELD_FIXED, 1, 1, 0, 0},
          {"ships.fuel", "", LS_FIELD_U32, 1, 1, 16, 0}},
         3,
         20,
         "1 byte range is not covered exactly once: bytes 12..15 (4 bytes) between "
         "\"ships.angle\" and \"ships.fuel\" are covered by no field"},
        {"gaps at the ends",
         {{"middle", "", LS_FIELD_U32, 1, 1, 4, 0}},
         1,
         9,
         "2 byte ranges are not covered exactly once: bytes 0..3 (4 bytes) before "
         "\"middle\" are covered by no field; byte 8 after \"middle\" is covered by no "
         "field"},
        {"a gap in every item",
         {{"ships.x", "", LS_FIELD_FIXED, 1, 3, 0, 16},
          {"ships.fuel", "", LS_FIELD_U32, 1, 3, 12, 16}},
         2,
         48,
         "3 byte ranges are not covered exactly once: bytes 8..11 (4 bytes) between "
         "\"ships.x\" and \"ships.fuel\" are covered by no field, so are 24..27, 40..43"},
        {"an overlap",
         {{"a", "", LS_FIELD_U32, 1, 1, 0, 0},
          {"b", "", LS_FIELD_U32, 1, 1, 2, 0},
          {"c", "", LS_FIELD_U16, 1, 1, 6, 0}},
         3,
         8,
         "1 byte range is not covered exactly once: bytes 2..3 (2 bytes) are covered by "
         "both \"a\" and \"b\""},
        {"an overlap with two fields",
         {{"a", "", LS_FIELD_U32, 1, 1, 0, 0},
          {"b", "", LS_FIELD_U32, 1, 1, 4, 0},
          {"all", "", LS_FIELD_U64, 1, 1, 0, 0}},
         3,
         8,
         "2 byte ranges are not covered exactly once: bytes 0..3 (4 bytes) are covered "
         "by both \"a\" and \"all\"; bytes 4..7 (4 bytes) are covered by both \"all\" "
         "and \"b\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ls_text why;
        cr_expect_eq(create(cases[i].fields, cases[i].count, cases[i].bytes, &why), LS_SCHEMA);
        cr_expect_str_eq(why.bytes, cases[i].sentence, "%s: %s", cases[i].what, why.bytes);
    }
}

Test(schema_coverage, the_first_eight_ranges_are_named_and_all_are_counted)
{
    const ls_field fields[] = {{"even", "", LS_FIELD_U8, 1, 20000, 0, 2}};
    ls_text why;
    cr_assert_eq(create(fields, 1, 40000, &why), LS_SCHEMA);
    cr_expect(strstr(why.bytes, "20000 byte ranges"), "%s", why.bytes);
    cr_expect(strstr(why.bytes, "byte 1 between"), "%s", why.bytes);
    cr_expect(strstr(why.bytes, ", 15; and 19992 more"), "%s", why.bytes);
}

Test(schema_coverage, strided_fields_that_collide_only_late_are_found)
{
    const ls_field fields[] = {
        {"five", "", LS_FIELD_U8, 1, 7, 0, 5},
        {"seven", "", LS_FIELD_U8, 1, 4, 9, 7}, /* 9, 16, 23, 30: 30 is five's as well */
    };
    expect_refused_with(fields, 2, 31, "byte 30 is covered by both \"five\" and \"seven\"");
}

Test(schema_coverage, a_sentence_too_long_still_has_the_count)
{
    ls_field fields[20];
    char paths[20][LS_NAME_BYTES_MAX];
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(paths[i], sizeof paths[i], "a_field_with_a_very_long_name_that_has_number_%u", i);
        fields[i] = (ls_field){paths[i], "", LS_FIELD_U8, 1, 1, 2 * (size_t)i, 0};
    }
    expect_refused_with(fields, 20, 40, "20 byte ranges are not covered exactly once");
}

Test(schema_coverage, paths_are_present_short_and_unique)
{
    char longest[LS_NAME_BYTES_MAX + 1];
    memset(longest, 'p', sizeof longest);
    longest[LS_NAME_BYTES_MAX] = '\0';
    ls_field fields[] = {
        {"a", "", LS_FIELD_U8, 1, 1, 0, 0},
        {NULL, "", LS_FIELD_U8, 1, 1, 1, 0},
    };
    expect_refused(fields, 2, 2, "field 1 of the state schema has no path");
    fields[1].path = "";
    expect_refused(fields, 2, 2, "field 1 of the state schema has no path");
    fields[1].path = longest;
    expect_refused_with(fields, 2, 2, "field 1 of the state schema has a path of more than 63");
    longest[LS_NAME_BYTES_MAX - 1] = '\0';
    expect_good(fields, 2, 2);
    fields[1].path = "a";
    expect_refused(fields, 2, 2, "fields 0 and 1 of the state schema have one path, \"a\"");
}

Test(schema_coverage, a_field_that_makes_no_sense_is_named)
{
    static const struct {
        ls_field field;
        const char *words;
    } bad[] = {
        {{"f", NULL, LS_FIELD_U8, 1, 1, 0, 0}, "field \"f\" has no unit"},
        {{"f", "", LS_FIELD_TYPE_COUNT, 1, 1, 0, 0}, "field \"f\" has an unknown type"},
        {{"f", "", (ls_field_type)77, 1, 1, 0, 0}, "field \"f\" has an unknown type"},
        {{"f", "", LS_FIELD_U8, 0, 1, 0, 0}, "length or a count of 0"},
        {{"f", "", LS_FIELD_U8, 1, 0, 0, 0}, "length or a count of 0"},
        {{"f", "", LS_FIELD_U32, 1, 2, 0, 3}, "stride smaller than its item"},
        {{"f", "", LS_FIELD_U32, 2, 2, 0, 7}, "stride smaller than its item"},
        {{"f", "", LS_FIELD_U64, 1, 1, 1, 0}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 1, 1, 8, 0}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 1, 1, SIZE_MAX, 0}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 9, 1, 0, 0}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 1, 9, 0, 1}, "ends outside the state"},
        {{"f", "", LS_FIELD_U64, UINT32_MAX, 1, 0, 0}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 1, UINT32_MAX, 0, SIZE_MAX}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 1, 2, 0, SIZE_MAX}, "ends outside the state"},
        {{"f", "", LS_FIELD_U8, 1, 3, 0, SIZE_MAX / 2 + 1}, "ends outside the state"},
        {{"f", "", LS_FIELD_U32, 1, 2, 1, 4}, "ends outside the state"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_refused_with(&bad[i].field, 1, 8, bad[i].words);
    }
}

Test(schema_coverage, a_field_that_ends_with_the_state_is_inside)
{
    const ls_field whole[] = {{"f", "", LS_FIELD_U32, 1, 2, 0, 4}};
    expect_good(whole, 1, 8);
    const ls_field ignored_stride[] = {{"f", "", LS_FIELD_U64, 1, 1, 0, 3}};
    expect_good(ignored_stride, 1, 8);
}

Test(schema_coverage, a_schema_of_nothing_or_of_too_much_is_refused)
{
    static ls_field many[LS_FIELDS_MAX + 1];
    static char paths[LS_FIELDS_MAX + 1][8];
    for (uint32_t i = 0; i <= LS_FIELDS_MAX; i++) {
        snprintf(paths[i], sizeof paths[i], "f%u", i);
        many[i] = (ls_field){paths[i], "", LS_FIELD_U8, 1, 1, i, 0};
    }
    expect_good(many, LS_FIELDS_MAX, LS_FIELDS_MAX);
    expect_refused_with(many, LS_FIELDS_MAX + 1, LS_FIELDS_MAX + 1, "above the limits");
    expect_refused_with(many, 1, (size_t)LS_STATE_BYTES_MAX + 1, "above the limits");
    expect_refused_with(many, 0, 8, "says nothing");
    expect_refused_with(many, 1, 0, "says nothing");
}

Test(schema_coverage, every_failed_allocation_is_survived)
{
    const ls_field fields[] = {{"f", "", LS_FIELD_U32, 1, 2, 0, 4}};
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_schema *schema = NULL;
        ls_text why = {""};
        refused.status = ls_schema_create(fields, 1, 8, &refused.counting.allocator, &schema, &why);
        cr_assert_eq(schema != NULL, refused.status == LS_OK);
        cr_assert_eq(refused.status == LS_OK, why.bytes[0] == '\0');
        ls_schema_destroy(schema);
    }
}

/* The largest built-in simulations: 20,000 items of 20 fields each. */
Test(schema_coverage, many_items_of_many_fields_are_checked)
{
    enum {
        ITEMS = 20000,
        FIELDS = 20
    };
    ls_field fields[FIELDS];
    char paths[FIELDS][16];
    for (uint32_t i = 0; i < FIELDS; i++) {
        snprintf(paths[i], sizeof paths[i], "units.f%u", i);
        fields[i] = (ls_field){paths[i], "", LS_FIELD_FIXED, 1, ITEMS, 8 * (size_t)i, 8 * FIELDS};
    }
    expect_good(fields, FIELDS, (size_t)8 * FIELDS * ITEMS);
    fields[7].count--;
    expect_refused_with(fields, FIELDS, (size_t)8 * FIELDS * ITEMS,
                        "1 byte range is not covered exactly once: bytes 3199896..3199903");
}

/* ---- any schema ---- */

enum {
    RANDOM_FIELDS = 12,
    RANDOM_BYTES = 400,
};

/* Single values and arrays of structs, one behind the other. */
static uint32_t make_random(ls_rng *rng, ls_field *fields, size_t *state_bytes)
{
    static const char *const names[RANDOM_FIELDS] = {"a", "b", "c", "d", "e", "f",
                                                     "g", "h", "i", "j", "k", "l"};
    uint32_t count = 0;
    size_t at = 0;
    while (count < RANDOM_FIELDS - 3) {
        uint32_t members = 1 + ls_rng_below(rng, 3);
        uint32_t items = ls_rng_below(rng, 2) == 0 ? 1 : 2 + ls_rng_below(rng, 4);
        uint32_t first = count;
        size_t end = at;
        for (uint32_t i = 0; i < members; i++) {
            uint32_t length = 1 + ls_rng_below(rng, 3);
            fields[count] = (ls_field){names[count], "", LS_FIELD_U16, length, items, end, 0};
            end += 2 * (size_t)length;
            count++;
        }
        for (uint32_t i = first; i < count; i++) {
            fields[i].stride = end - at;
        }
        at += items * (end - at);
    }
    *state_bytes = at;
    return count;
}

static void spoil(ls_rng *rng, ls_field *field, size_t *state_bytes)
{
    switch (ls_rng_below(rng, 6)) {
    case 0:
        field->offset += 2;
        break;
    case 1:
        field->length++;
        break;
    case 2:
        field->count++;
        break;
    case 3:
        field->stride += 2;
        break;
    case 4:
        *state_bytes += 2;
        break;
    default:
        break; /* it stays good */
    }
}

static bool is_covered_once(const ls_field *fields, uint32_t count, size_t state_bytes)
{
    uint8_t owners[4 * RANDOM_BYTES] = {0};
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t item = 0; item < fields[i].count; item++) {
            size_t begin = fields[i].offset + item * fields[i].stride;
            for (size_t byte = 0; byte < 2 * (size_t)fields[i].length; byte++) {
                owners[begin + byte]++;
            }
        }
    }
    for (size_t byte = 0; byte < state_bytes; byte++) {
        if (owners[byte] != 1) {
            return false;
        }
    }
    return true;
}

Test(schema_coverage, is_found_out_right_whatever_the_fields_are)
{
    ls_rng rng = ls_rng_make(12, 1);
    uint32_t good = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        ls_field fields[RANDOM_FIELDS];
        size_t state_bytes = 0;
        ls_text why;
        uint32_t count = make_random(&rng, fields, &state_bytes);
        cr_assert_leq(state_bytes, RANDOM_BYTES);
        spoil(&rng, &fields[ls_rng_below(&rng, count)], &state_bytes);
        if (ls_schema_check_fields(fields, count, state_bytes, &why) != LS_OK) {
            continue;
        }
        bool is_good = is_covered_once(fields, count, state_bytes);
        good += is_good;
        cr_assert_eq(create(fields, count, state_bytes, &why), is_good ? LS_OK : LS_SCHEMA,
                     "round %u: %s", round, why.bytes);
    }
    cr_assert(good > 500 && good < 2500, "%u", good);
}
