/* A state with every type of field: its digest, its canonical bytes, its root and its words. */
#include "lockstep/tests/golden/golden.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/state_hash.h"

#include <string.h>

enum {
    ITEMS = 500,
    WORDS_BYTES = 96,
};

/* The widest first: no compiler leaves holes, however it aligns 64-bit numbers. */
typedef struct mixed_item {
    uint64_t u64;
    int64_t i64;
    ls_fixed fixed;
    double f64;
    uint32_t u32;
    int32_t i32;
    ls_angle angle;
    float f32;
    uint16_t u16[3];
    int16_t i16;
    uint8_t u8;
    int8_t i8;
    uint8_t padding[6];
} mixed_item;

typedef struct mixed_state {
    uint64_t serial;
    mixed_item items[ITEMS];
    uint16_t tail[4];
} mixed_state;

#define ITEM(member, type, unit)                                                                   \
    LS_FIELD_EACH("items", offsetof(mixed_state, items), ITEMS, mixed_item, member,                \
                  LS_FIELD_##type, unit)

static ls_schema *make_schema(void)
{
    const ls_field fields[] = {
        LS_FIELD_OF(mixed_state, serial, LS_FIELD_U64, ""),
        ITEM(u64, U64, ""),
        ITEM(i64, I64, "J"),
        ITEM(fixed, FIXED, "m"),
        ITEM(f64, F64, "kg"),
        ITEM(u32, U32, "ticks"),
        ITEM(i32, I32, ""),
        ITEM(angle, ANGLE, ""),
        ITEM(f32, F32, ""),
        ls_field_long(ITEM(u16, U16, ""), 3),
        ITEM(i16, I16, ""),
        ITEM(u8, U8, ""),
        ITEM(i8, I8, ""),
        ls_field_long(ITEM(padding, PADDING, ""), 6),
        LS_FIELD_ARRAY_OF(mixed_state, tail, 4, LS_FIELD_U16, ""),
    };
    ls_schema *schema = NULL;
    ls_text why = {{0}};
    if (ls_schema_create(fields, sizeof fields / sizeof fields[0], sizeof(mixed_state),
                         ls_allocator_heap(), &schema, &why) != LS_OK) {
        golden_fail("schema", why.bytes);
    }
    return schema;
}

/* Integers of every size as doubles: conversions that are exact or round once. */
static void fill_item(ls_rng *rng, mixed_item *item)
{
    uint64_t high = ls_rng_next(rng);
    item->u64 = high << 32 | ls_rng_next(rng);
    item->i64 = ls_signed_from_bits(item->u64 * 3);
    item->fixed = ls_rng_unit(rng) * 1000;
    item->f64 = (double)item->i64 / 1024.0;
    item->u32 = ls_rng_next(rng);
    item->i32 = (int32_t)ls_rng_between(rng, INT32_MIN, INT32_MAX);
    item->angle = ls_rng_next(rng);
    item->f32 = (float)(item->i32 >= 0 ? item->i32 / 256 : -(-(item->i32 + 1) / 256));
    for (int i = 0; i < 3; i++) {
        item->u16[i] = (uint16_t)ls_rng_next(rng);
    }
    item->i16 = (int16_t)ls_rng_between(rng, INT16_MIN, INT16_MAX);
    item->u8 = (uint8_t)ls_rng_next(rng);
    item->i8 = (int8_t)ls_rng_between(rng, INT8_MIN, INT8_MAX);
}

static void fill(mixed_state *state)
{
    ls_rng rng = ls_rng_make(77, 1);
    state->serial = UINT64_C(0x0102030405060708);
    for (int i = 0; i < ITEMS; i++) {
        fill_item(&rng, &state->items[i]);
    }
    for (int i = 0; i < 4; i++) {
        state->tail[i] = (uint16_t)ls_rng_next(&rng);
    }
}

/* The words of a report about elements of every field: names and values, to the letter. */
static uint64_t words_sum(const ls_schema *schema, const mixed_state *state)
{
    uint64_t sum = GOLDEN_START;
    char words[WORDS_BYTES];
    for (size_t offset = 0; offset < sizeof *state; offset += 3) {
        ls_schema_place place = ls_schema_at(schema, offset);
        ls_schema_place_name(&place, words, sizeof words);
        sum = golden_fold(sum, ls_hash_bytes(words, strlen(words), 0));
        ls_schema_place_value(&place, state, words, sizeof words);
        sum = golden_fold(sum, ls_hash_bytes(words, strlen(words), 0));
    }
    return sum;
}

static uint64_t root_of(const ls_schema *schema, const mixed_state *state)
{
    ls_state_hasher *hasher = NULL;
    if (ls_state_hasher_create(schema, ls_allocator_heap(), &hasher) != LS_OK) {
        golden_fail("hasher", "out of memory");
    }
    uint64_t root = ls_state_hash(hasher, state);
    ls_state_hasher_destroy(hasher);
    return root;
}

void golden_schema(void)
{
    static mixed_state state, again;
    static uint8_t canonical[sizeof(mixed_state)];
    ls_schema *schema = make_schema();
    fill(&state);
    ls_schema_to_canonical(schema, &state, canonical);
    ls_schema_from_canonical(schema, canonical, &again);
    if (memcmp(&state, &again, sizeof state) != 0) {
        golden_fail("schema", "a state comes back from its canonical form as another");
    }
    golden_line("schema.digest", ls_schema_digest(schema));
    golden_line("schema.canonical", ls_hash_bytes(canonical, sizeof canonical, 0));
    golden_line("schema.root", root_of(schema, &state));
    golden_line("schema.words", words_sum(schema, &state));
    ls_schema_destroy(schema);
}
