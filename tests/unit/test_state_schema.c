#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* ---- schema_coverage ---- */

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

/* ---- state_schema ---- */

/* ---- a state with every type ---- */

typedef struct item {
    uint32_t id;
    uint16_t cells[3];
    uint8_t flag;
    uint8_t padding;
} item;

typedef struct sample {
    ls_fixed fixed;
    double f64;
    uint64_t u64;
    int64_t i64;
    ls_angle angle;
    float f32;
    uint32_t u32;
    int32_t i32;
    uint16_t u16;
    int16_t i16;
    uint8_t u8;
    int8_t i8;
    uint8_t padding[6];
    item items[3];
} sample;

#define ITEM_FIELD(member, type, length)                                                           \
    {                                                                                              \
        "items." #member, "", type, length, 3, offsetof(sample, items) + offsetof(item, member),   \
            sizeof(item)                                                                           \
    }

/* Not in the order of their offsets, which the schema must put right. */
static const ls_field sample_fields[] = {
    ITEM_FIELD(padding, LS_FIELD_PADDING, 1),
    ITEM_FIELD(flag, LS_FIELD_U8, 1),
    ITEM_FIELD(cells, LS_FIELD_U16, 3),
    ITEM_FIELD(id, LS_FIELD_U32, 1),
    {"fixed", "m", LS_FIELD_FIXED, 1, 1, offsetof(sample, fixed), 0},
    {"f64", "m/s", LS_FIELD_F64, 1, 1, offsetof(sample, f64), 0},
    {"u64", "", LS_FIELD_U64, 1, 1, offsetof(sample, u64), 0},
    {"i64", "ticks", LS_FIELD_I64, 1, 1, offsetof(sample, i64), 0},
    {"angle", "", LS_FIELD_ANGLE, 1, 1, offsetof(sample, angle), 0},
    {"f32", "", LS_FIELD_F32, 1, 1, offsetof(sample, f32), 0},
    {"u32", "", LS_FIELD_U32, 1, 1, offsetof(sample, u32), 0},
    {"i32", "", LS_FIELD_I32, 1, 1, offsetof(sample, i32), 0},
    {"u16", "", LS_FIELD_U16, 1, 1, offsetof(sample, u16), 0},
    {"i16", "", LS_FIELD_I16, 1, 1, offsetof(sample, i16), 0},
    {"u8", "", LS_FIELD_U8, 1, 1, offsetof(sample, u8), 0},
    {"i8", "", LS_FIELD_I8, 1, 1, offsetof(sample, i8), 0},
    {"padding", "", LS_FIELD_PADDING, 6, 1, offsetof(sample, padding), 0},
};

enum {
    SAMPLE_FIELDS = sizeof sample_fields / sizeof sample_fields[0]
};

static void destroy_schema(void *schema)
{
    ls_schema_destroy(schema);
}

static ls_schema *make(const ls_field *fields, uint32_t count, size_t bytes)
{
    ls_schema *schema = NULL;
    ls_text why = {""};
    ls_status status = ls_schema_create(fields, count, bytes, ls_allocator_heap(), &schema, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    return keep_until_end(schema, destroy_schema);
}

static ls_schema *make_sample(void)
{
    return make(sample_fields, SAMPLE_FIELDS, sizeof(sample));
}

/* ---- fields ---- */

TestSuite(state_schema, .fini = destroy_kept);

Test(state_schema, fields_are_kept_by_offset)
{
    ls_schema *schema = make_sample();
    cr_assert_eq(ls_schema_field_count(schema), SAMPLE_FIELDS);
    cr_assert_eq(ls_schema_state_bytes(schema), sizeof(sample));
    for (uint32_t i = 1; i < SAMPLE_FIELDS; i++) {
        cr_assert_lt(ls_schema_field(schema, i - 1)->offset, ls_schema_field(schema, i)->offset);
    }
    cr_assert_str_eq(ls_schema_field(schema, 0)->path, "fixed");
    cr_assert_str_eq(ls_schema_field(schema, SAMPLE_FIELDS - 1)->path, "items.padding");
    ls_schema_destroy(NULL);
}

Test(state_schema, types_have_sizes_and_names)
{
    cr_assert_eq(ls_field_type_bytes(LS_FIELD_PADDING), 1);
    cr_assert_eq(ls_field_type_bytes(LS_FIELD_FIXED), sizeof(ls_fixed));
    cr_assert_eq(ls_field_type_bytes(LS_FIELD_ANGLE), sizeof(ls_angle));
    cr_assert_eq(ls_field_type_bytes(LS_FIELD_I16), 2);
    cr_assert_eq(ls_field_type_bytes(LS_FIELD_TYPE_COUNT), 0);
    cr_assert_str_eq(ls_field_type_name(LS_FIELD_FIXED), "fixed");
    cr_assert_str_eq(ls_field_type_name(LS_FIELD_TYPE_COUNT), "unknown");
}

Test(state_schema, every_byte_has_exactly_one_place)
{
    ls_schema *schema = make_sample();
    for (size_t byte = 0; byte < sizeof(sample); byte++) {
        ls_schema_place place = ls_schema_at(schema, byte);
        const ls_field *field = place.field;
        uint32_t bytes = ls_field_type_bytes(field->type);
        size_t begin = field->offset + place.item * field->stride + place.element * bytes;
        cr_assert_lt(place.item, field->count);
        cr_assert_lt(place.element, field->length);
        cr_assert_eq(place.offset, begin);
        cr_assert(byte >= begin && byte < begin + bytes, "byte %zu", byte);
    }
}

Test(state_schema, a_byte_outside_the_state_is_a_mistake, .signal = SIGABRT)
{
    ls_schema_at(make_sample(), sizeof(sample));
}

/* ---- names ---- */

static void expect_name(const ls_schema *schema, size_t byte, const char *name)
{
    char text[128];
    ls_schema_place place = ls_schema_at(schema, byte);
    int size = ls_schema_place_name(&place, text, sizeof text);
    cr_expect_str_eq(text, name);
    cr_expect_eq(size, (int)strlen(name));
}

Test(state_schema, places_are_named_with_their_indices)
{
    ls_schema *schema = make_sample();
    expect_name(schema, offsetof(sample, fixed) + 7, "fixed");
    expect_name(schema, offsetof(sample, padding) + 1, "padding[1]");
    expect_name(schema, offsetof(sample, items[0].id), "items[0].id");
    expect_name(schema, offsetof(sample, items[2].id) + 3, "items[2].id");
    expect_name(schema, offsetof(sample, items[1].cells[2]) + 1, "items[1].cells[2]");
}

Test(state_schema, a_path_of_many_parts_takes_the_index_after_the_first)
{
    const ls_field fields[] = {
        {"ships.position.x", "m", LS_FIELD_U8, 1, 4, 0, 2},
        {"grid", "", LS_FIELD_U8, 1, 4, 1, 2},
    };
    ls_schema *schema = make(fields, 2, 8);
    expect_name(schema, 6, "ships[3].position.x");
    expect_name(schema, 7, "grid[3]");
}

Test(state_schema, an_index_stands_where_the_path_has_its_mark)
{
    const ls_field fields[] = {
        {"players[0].statuses[].kind", "", LS_FIELD_U8, 1, 2, 0, 2},
        {"players[0].statuses[].ticks", "", LS_FIELD_U8, 1, 2, 1, 2},
        {"players[0].rank", "", LS_FIELD_U8, 1, 1, 4, 0},
        {"fleet.ships[].slots", "", LS_FIELD_U8, 3, 1, 5, 0},
    };
    ls_schema *schema = make(fields, 4, 8);
    expect_name(schema, 2, "players[0].statuses[1].kind");
    expect_name(schema, 1, "players[0].statuses[0].ticks");
    expect_name(schema, 4, "players[0].rank");
    expect_name(schema, 7, "fleet.ships[0].slots[2]");
}

static void expect_text(const char *state, size_t byte, const char *name, const char *value)
{
    const ls_field fields[] = {{"players.name", "text", LS_FIELD_U8, 40, 2, 0, 40}};
    ls_schema *schema = make(fields, 1, 80);
    ls_schema_place place = ls_schema_at(schema, byte);
    char text[128];
    expect_name(schema, byte, name);
    int size = ls_schema_place_value(&place, state, text, sizeof text);
    cr_expect_str_eq(text, value);
    cr_expect_eq(size, (int)strlen(value));
}

Test(state_schema, an_array_of_bytes_with_the_unit_text_reads_as_one)
{
    char state[81] = "Ada \"q\"\\";
    expect_text(state, 3, "players[0].name", "\"Ada \\x22q\\x22\\x5c\"");
    expect_text(state, 45, "players[1].name", "\"\"");
    memcpy(state + 40, "Zo\xc3\xab\0rest", 9);
    expect_text(state, 41, "players[1].name", "\"Zo\\xc3\\xab\\x00rest\"");
    memset(state, 'x', 40);
    state[39] = 'y';
    expect_text(state, 39, "players[0].name", "...\"xxxxxxxxxxxxy\"");
    memset(state, 1, 40);
    expect_text(state, 12, "players[0].name",
                "\"\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01\\x01"
                "\\x01\\x01\\x01\\x01\"...");
}

Test(state_schema, names_and_values_that_do_not_fit_are_cut_like_snprintf)
{
    ls_schema *schema = make_sample();
    sample state = {.i64 = -12345};
    ls_schema_place place = ls_schema_at(schema, offsetof(sample, items[1].cells[2]));
    char text[32] = "................";
    cr_assert_eq(ls_schema_place_name(&place, text, 8), (int)strlen("items[1].cells[2]"));
    cr_assert_str_eq(text, "items[1");
    cr_assert_eq(text[8], '.');
    cr_assert_eq(ls_schema_place_name(&place, NULL, 0), (int)strlen("items[1].cells[2]"));
    cr_assert_eq(ls_schema_place_name(&place, text, 1), (int)strlen("items[1].cells[2]"));
    cr_assert_str_eq(text, "");
    place = ls_schema_at(schema, offsetof(sample, i64));
    cr_assert_eq(ls_schema_place_value(&place, &state, text, 5), (int)strlen("-12345 ticks"));
    cr_assert_str_eq(text, "-123");
}

/* ---- values ---- */

static void expect_value(const sample *state, size_t offset, const char *value)
{
    ls_schema *schema = make_sample();
    char text[128];
    ls_schema_place place = ls_schema_at(schema, offset);
    int size = ls_schema_place_value(&place, state, text, sizeof text);
    cr_expect_str_eq(text, value);
    cr_expect_eq(size, (int)strlen(value));
}

Test(state_schema, values_of_every_type_are_read_with_their_unit)
{
    sample state = {
        .fixed = LS_FIXED_INT(25) / 2,
        .f64 = 0.1,
        .u64 = UINT64_MAX,
        .i64 = INT64_MIN,
        .angle = LS_ANGLE_QUARTER,
        .f32 = 0.5f,
        .u32 = UINT32_MAX,
        .i32 = INT32_MIN,
        .u16 = UINT16_MAX,
        .i16 = INT16_MIN,
        .u8 = 255,
        .i8 = -128,
        .padding = {0, 7},
    };
    state.items[2].cells[1] = 513;
    expect_value(&state, offsetof(sample, fixed), "12.500000 m");
    expect_value(&state, offsetof(sample, f64), "0.10000000000000001 m/s");
    expect_value(&state, offsetof(sample, u64), "18446744073709551615");
    expect_value(&state, offsetof(sample, i64), "-9223372036854775808 ticks");
    expect_value(&state, offsetof(sample, angle), "90.000 deg");
    expect_value(&state, offsetof(sample, f32), "0.5");
    expect_value(&state, offsetof(sample, u32), "4294967295");
    expect_value(&state, offsetof(sample, i32), "-2147483648");
    expect_value(&state, offsetof(sample, u16), "65535");
    expect_value(&state, offsetof(sample, i16), "-32768");
    expect_value(&state, offsetof(sample, u8), "255");
    expect_value(&state, offsetof(sample, i8), "-128");
    expect_value(&state, offsetof(sample, padding) + 1, "0x07");
    expect_value(&state, offsetof(sample, items[2].cells[1]), "513");
}

static void expect_fixed(ls_fixed value, const char *text)
{
    sample state = {.fixed = value};
    expect_value(&state, offsetof(sample, fixed), text);
}

Test(state_schema, fixed_values_are_exact_to_the_last_bit)
{
    expect_fixed(0, "0.000000 m");
    expect_fixed(-1, "-0.0000000002 m");
    expect_fixed(1, "0.0000000002 m");
    expect_fixed(2, "0.0000000004 m");
    expect_fixed(LS_FIXED_ONE + 1, "1.0000000002 m");
    expect_fixed(-LS_FIXED_INT(3) - LS_FIXED_HALF, "-3.500000 m");
    expect_fixed(LS_FIXED_RATIO(1, 1024), "0.0009765625 m");
    expect_fixed(LS_FIXED_MAX, "2147483647.9999999997 m");
    expect_fixed(LS_FIXED_MIN, "-2147483648.000000 m");
}

Test(state_schema, values_one_bit_apart_read_differently)
{
    ls_schema *schema = make_sample();
    ls_schema_place fixed = ls_schema_at(schema, offsetof(sample, fixed));
    ls_schema_place angle = ls_schema_at(schema, offsetof(sample, angle));
    ls_rng rng = ls_rng_make(1, 1);
    for (int i = 0; i < 20000; i++) {
        char texts[2][64];
        sample state = {.fixed = ls_rng_unit(&rng), .angle = ls_rng_next(&rng)};
        sample next = {.fixed = state.fixed + 1, .angle = state.angle + 1};
        ls_schema_place_value(&fixed, &state, texts[0], sizeof texts[0]);
        ls_schema_place_value(&fixed, &next, texts[1], sizeof texts[1]);
        cr_assert_str_neq(texts[0], texts[1]);
        ls_schema_place_value(&angle, &state, texts[0], sizeof texts[0]);
        ls_schema_place_value(&angle, &next, texts[1], sizeof texts[1]);
        cr_assert_str_neq(texts[0], texts[1]);
    }
}

Test(state_schema, angles_are_degrees_whatever_their_unit)
{
    const ls_field fields[] = {
        {"none", "", LS_FIELD_ANGLE, 1, 1, 0, 0},
        {"turn", "turn", LS_FIELD_ANGLE, 1, 1, 4, 0},
        {"speed", "turn/s", LS_FIELD_ANGLE, 1, 1, 8, 0},
    };
    const ls_angle angles[] = {UINT32_MAX, LS_ANGLE_HALF, LS_ANGLE_QUARTER / 2};
    static const char *const values[] = {"359.99999991 deg", "180.000 deg", "45.000 deg/s"};
    ls_schema *schema = make(fields, 3, 12);
    for (size_t i = 0; i < 3; i++) {
        char text[64];
        ls_schema_place place = ls_schema_at(schema, 4 * i);
        ls_schema_place_value(&place, angles, text, sizeof text);
        cr_expect_str_eq(text, values[i]);
    }
}

Test(state_schema, odd_doubles_are_told_apart)
{
    sample state = {.f64 = -0.0};
    expect_value(&state, offsetof(sample, f64), "-0 (negative zero) m/s");
    const uint64_t nan_bits = UINT64_C(0x7ff800000000002a);
    memcpy(&state.f64, &nan_bits, sizeof nan_bits);
    expect_value(&state, offsetof(sample, f64), "nan 0x7ff800000000002a m/s");
    state.f64 = HUGE_VAL;
    expect_value(&state, offsetof(sample, f64), "inf m/s");
    state.f64 = 5e-324;
    expect_value(&state, offsetof(sample, f64), "4.9406564584124654e-324 m/s");
}

Test(state_schema, values_at_odd_addresses_can_be_read)
{
    const ls_field fields[] = {
        {"byte", "", LS_FIELD_U8, 1, 1, 0, 0},
        {"number", "", LS_FIELD_I64, 1, 1, 1, 0},
    };
    const uint8_t state[9] = {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    ls_schema *schema = make(fields, 2, sizeof state);
    char text[64];
    ls_schema_place place = ls_schema_at(schema, 5);
    ls_schema_place_value(&place, state, text, sizeof text);
    cr_assert_str_eq(text, "-1");
}

/* ---- differences ---- */

Test(state_schema, equal_states_have_no_difference)
{
    ls_schema *schema = make_sample();
    sample a = {.u32 = 7};
    sample b = a;
    ls_schema_place place;
    cr_assert_not(ls_schema_first_difference(schema, &a, &b, &place));
}

Test(state_schema, a_difference_in_any_byte_is_found)
{
    ls_schema *schema = make_sample();
    for (size_t byte = 0; byte < sizeof(sample); byte++) {
        uint8_t a[sizeof(sample)] = {0};
        uint8_t b[sizeof(sample)] = {0};
        b[byte] = 0x80;
        ls_schema_place found;
        cr_assert(ls_schema_first_difference(schema, a, b, &found));
        ls_schema_place place = ls_schema_at(schema, byte);
        cr_assert(found.field == place.field && found.offset == place.offset);
    }
}

Test(state_schema, the_first_of_several_differences_is_given)
{
    ls_schema *schema = make_sample();
    sample a = {.u32 = 7};
    sample b = {.u32 = 8, .i8 = 3};
    b.items[1].id = 4;
    ls_schema_place place;
    cr_assert(ls_schema_first_difference(schema, &a, &b, &place));
    cr_assert_str_eq(place.field->path, "u32");
}

Test(state_schema, differences_in_a_large_state_are_found_at_any_place)
{
    enum {
        BYTES = 20000
    };
    const ls_field fields[] = {{"bytes", "", LS_FIELD_U8, BYTES, 1, 0, 0}};
    static uint8_t a[BYTES];
    static uint8_t b[BYTES];
    ls_schema *schema = make(fields, 1, BYTES);
    static const size_t places[] = {0, 1, 4095, 4096, 4097, 8191, 16384, 19999};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        b[places[i]] = 1;
        ls_schema_place place;
        cr_assert(ls_schema_first_difference(schema, a, b, &place));
        cr_assert_eq(place.element, places[i]);
        b[places[i]] = 0;
    }
}

/* ---- padding ---- */

Test(state_schema, clean_padding_is_clean)
{
    ls_schema *schema = make_sample();
    sample state;
    memset(&state, 0xff, sizeof state);
    memset(state.padding, 0, sizeof state.padding);
    for (size_t i = 0; i < 3; i++) {
        state.items[i].padding = 0;
    }
    size_t offset = 77;
    cr_assert_not(ls_schema_dirty_padding(schema, &state, &offset));
    cr_assert_eq(offset, 77);
}

Test(state_schema, dirty_padding_is_found_wherever_it_is)
{
    static const size_t places[] = {offsetof(sample, padding), offsetof(sample, padding) + 1,
                                    offsetof(sample, items[0].padding),
                                    offsetof(sample, items[2].padding)};
    ls_schema *schema = make_sample();
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint8_t state[sizeof(sample)] = {0};
        state[places[i]] = 1;
        size_t offset = 0;
        cr_assert(ls_schema_dirty_padding(schema, state, &offset));
        cr_assert_eq(offset, places[i]);
    }
}

/* ---- digests ---- */

static uint64_t digest_of(const ls_field *fields, uint32_t count, size_t bytes)
{
    return ls_schema_digest(make(fields, count, bytes));
}

Test(state_schema, the_digest_depends_on_texts_and_not_on_where_they_lie)
{
    char path[] = "a";
    char unit[] = "m";
    const ls_field here[] = {{"a", "m", LS_FIELD_U32, 1, 2, 0, 4}};
    const ls_field there[] = {{path, unit, LS_FIELD_U32, 1, 2, 0, 4}};
    cr_assert_eq(digest_of(here, 1, 8), digest_of(there, 1, 8));
}

Test(state_schema, the_digest_does_not_depend_on_order_or_on_an_unused_stride)
{
    const ls_field one[] = {
        {"a", "", LS_FIELD_U32, 1, 1, 0, 0},
        {"b", "", LS_FIELD_U32, 1, 1, 4, 0},
    };
    const ls_field other[] = {
        {"b", "", LS_FIELD_U32, 1, 1, 4, 99},
        {"a", "", LS_FIELD_U32, 1, 1, 0, 4},
    };
    cr_assert_eq(digest_of(one, 2, 8), digest_of(other, 2, 8));
}

Test(state_schema, everything_else_changes_the_digest)
{
    static const ls_field variants[][2] = {
        {{"a", "m", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"c", "m", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"a", "s", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "m", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"a", "m", LS_FIELD_I32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"a", "m", LS_FIELD_U16, 2, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"a", "m", LS_FIELD_U16, 1, 2, 0, 2}, {"b", "", LS_FIELD_U32, 1, 1, 4, 0}},
        {{"a", "m", LS_FIELD_U16, 1, 2, 0, 6}, {"b", "", LS_FIELD_U32, 1, 1, 2, 0}},
        {{"a", "m", LS_FIELD_U32, 1, 1, 4, 0}, {"b", "", LS_FIELD_U32, 1, 1, 0, 0}},
    };
    enum {
        VARIANTS = sizeof variants / sizeof variants[0]
    };
    uint64_t digests[VARIANTS];
    for (size_t i = 0; i < VARIANTS; i++) {
        digests[i] = digest_of(variants[i], 2, 8);
        for (size_t j = 0; j < i; j++) {
            cr_assert_neq(digests[i], digests[j], "variants %zu and %zu", i, j);
        }
    }
}

Test(state_schema, strides_alone_change_the_digest)
{
    const ls_field even_and_odd[] = {
        {"a", "", LS_FIELD_U8, 1, 2, 0, 2},
        {"b", "", LS_FIELD_U8, 1, 2, 1, 2},
    };
    const ls_field outer_and_inner[] = {
        {"a", "", LS_FIELD_U8, 1, 2, 0, 3},
        {"b", "", LS_FIELD_U8, 1, 2, 1, 1},
    };
    cr_assert_neq(digest_of(even_and_odd, 2, 4), digest_of(outer_and_inner, 2, 4));
}

/* ---- byte order ---- */

Test(state_schema, the_canonical_copy_is_little_endian)
{
    ls_schema *schema = make_sample();
    sample state = {.u64 = UINT64_C(0x0102030405060708), .u16 = 0x0a0b};
    state.items[1].cells[2] = 0x0c0d;
    uint8_t canonical[sizeof state];
    ls_schema_to_canonical(schema, &state, canonical);
    cr_assert_arr_eq(canonical + offsetof(sample, u64), ((uint8_t[]){8, 7, 6, 5, 4, 3, 2, 1}), 8);
    cr_assert_arr_eq(canonical + offsetof(sample, u16), ((uint8_t[]){0x0b, 0x0a}), 2);
    cr_assert_arr_eq(canonical + offsetof(sample, items[1].cells[2]), ((uint8_t[]){0x0d, 0x0c}), 2);
    bool is_copy = memcmp(canonical, &state, sizeof state) == 0;
    cr_assert_eq(is_copy, ls_schema_is_canonical_here());
    sample back;
    memset(&back, 0xee, sizeof back);
    ls_schema_from_canonical(schema, canonical, &back);
    cr_assert_eq(memcmp(&back, &state, sizeof state), 0);
}

Test(state_schema, swapping_reverses_every_element_and_only_within_it)
{
    ls_schema *schema = make_sample();
    uint8_t state[sizeof(sample)];
    uint8_t swapped[sizeof(sample)];
    uint8_t again[sizeof(sample)];
    for (size_t byte = 0; byte < sizeof state; byte++) {
        state[byte] = (uint8_t)(byte + 1);
    }
    memset(swapped, 0, sizeof swapped);
    ls_schema_copy_swapped(schema, state, swapped);
    for (size_t byte = 0; byte < sizeof state; byte++) {
        ls_schema_place place = ls_schema_at(schema, byte);
        size_t bytes = ls_field_type_bytes(place.field->type);
        size_t mirror = place.offset + (bytes - 1) - (byte - place.offset);
        cr_assert_eq(swapped[mirror], state[byte], "byte %zu", byte);
    }
    ls_schema_copy_swapped(schema, swapped, again);
    cr_assert_arr_eq(again, state, sizeof state);
}

Test(state_schema, questions_never_allocate)
{
    counting_allocator counting;
    counting_allocator_init(&counting);
    ls_schema *schema = NULL;
    cr_assert_eq(ls_schema_create(sample_fields, SAMPLE_FIELDS, sizeof(sample), &counting.allocator,
                                  &schema, NULL),
                 LS_OK);
    uint64_t allocations = counting.allocations;
    uint64_t calls = heap_calls();
    sample a = {.u8 = 1};
    sample b = {.u8 = 2};
    ls_schema_place place;
    char text[64];
    size_t offset;
    cr_assert(ls_schema_first_difference(schema, &a, &b, &place));
    ls_schema_place_name(&place, text, sizeof text);
    ls_schema_place_value(&place, &a, text, sizeof text);
    cr_assert_not(ls_schema_dirty_padding(schema, &a, &offset));
    ls_schema_to_canonical(schema, &a, (uint8_t *)&b);
    ls_schema_digest(schema);
    cr_assert_eq(counting.allocations, allocations);
    cr_assert_eq(heap_calls(), calls);
    ls_schema_destroy(schema);
    cr_assert_eq(counting.live_blocks, 0);
}
