#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/common/simulation/arithmetic_check.h"
#include "lockstep/common/simulation/state_hash.h"

#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"
#include "lockstep/tests/support/strict_arguments.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* Arithmetic, random numbers, sorting and hashes, which every simulation stands on. */

/* ---- rng ---- */

Test(rng, the_published_vector_comes_out)
{
    /* pcg32-demo of the PCG reference implementation: seed 42, stream 54. */
    static const uint32_t published[] = {UINT32_C(0xa15c02b7), UINT32_C(0x7b47f409),
                                         UINT32_C(0xba1d3330), UINT32_C(0x83d2f293),
                                         UINT32_C(0xbfa4784b), UINT32_C(0xcbed606e)};
    ls_rng rng = ls_rng_make(42, 54);
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        cr_assert_eq(ls_rng_next(&rng), published[i], "draw %zu", i);
    }
}

Test(rng, same_seed_gives_same_sequence_and_another_does_not)
{
    ls_rng a = ls_rng_make(1, 2), b = ls_rng_make(1, 2), c = ls_rng_make(2, 2);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t draw = ls_rng_next(&a);
        cr_assert_eq(draw, ls_rng_next(&b));
        equal += draw == ls_rng_next(&c);
    }
    cr_assert_lt(equal, 3);
}

Test(rng, streams_of_one_seed_differ_and_the_top_bit_names_none)
{
    ls_rng a = ls_rng_make(1, 0), b = ls_rng_make(1, 1);
    ls_rng c = ls_rng_make(1, UINT64_C(1) << 63);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t draw = ls_rng_next(&a);
        equal += draw == ls_rng_next(&b);
        cr_assert_eq(draw, ls_rng_next(&c));
    }
    cr_assert_lt(equal, 3);
}

Test(rng, below_stays_below_at_the_limits)
{
    ls_rng rng = ls_rng_make(5, 5);
    for (int i = 0; i < 10000; i++) {
        cr_assert_eq(ls_rng_below(&rng, 1), 0);
        cr_assert_lt(ls_rng_below(&rng, 2), 2);
        cr_assert_lt(ls_rng_below(&rng, UINT32_MAX), UINT32_MAX);
    }
}

/* Chi-squared of `bins` equally likely values; about bins, with deviation sqrt(2*bins). */
static double chi_squared(ls_rng *rng, uint32_t bound, uint32_t bins, uint32_t draws)
{
    uint32_t counts[64] = {0};
    for (uint32_t i = 0; i < draws; i++) {
        counts[(uint64_t)ls_rng_below(rng, bound) * bins / bound]++;
    }
    double expected = (double)draws / bins, sum = 0;
    for (uint32_t i = 0; i < bins; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

Test(rng, below_is_uniform)
{
    ls_rng rng = ls_rng_make(6, 6);
    cr_assert_lt(chi_squared(&rng, 60, 60, 600000), 120.0);
    cr_assert_lt(chi_squared(&rng, 7, 7, 700000), 30.0);
    cr_assert_lt(chi_squared(&rng, UINT32_C(3) << 30, 48, 480000), 100.0);
}

Test(rng, below_has_no_bias_where_the_plain_product_has)
{
    /* For 3*2^30 the product alone gives multiples of 3 twice as often as the others. */
    ls_rng rng = ls_rng_make(7, 6);
    const uint32_t draws = 300000;
    uint32_t counts[3] = {0}, plain[3] = {0};
    for (uint32_t i = 0; i < draws; i++) {
        counts[ls_rng_below(&rng, UINT32_C(3) << 30) % 3]++;
        plain[((uint64_t)ls_rng_next(&rng) * (UINT32_C(3) << 30) >> 32) % 3]++;
    }
    cr_assert_gt(plain[0], draws * 45 / 100);
    for (int i = 0; i < 3; i++) {
        cr_assert(counts[i] > draws * 33 / 100 && counts[i] < draws * 337 / 1000, "%d: %u", i,
                  counts[i]);
    }
}

Test(rng, between_reaches_both_ends_and_spans_everything)
{
    ls_rng rng = ls_rng_make(8, 8);
    uint32_t seen = 0;
    int negative = 0;
    for (int i = 0; i < 1000; i++) {
        int32_t value = ls_rng_between(&rng, -2, 2);
        cr_assert(value >= -2 && value <= 2);
        seen |= 1u << (value + 2);
        negative += ls_rng_between(&rng, INT32_MIN, INT32_MAX) < 0;
        cr_assert_eq(ls_rng_between(&rng, 9, 9), 9);
    }
    cr_assert_eq(seen, 0x1fu);
    cr_assert(negative > 400 && negative < 600, "%d", negative);
}

Test(rng, unit_is_in_range_with_every_bit_in_use)
{
    ls_rng rng = ls_rng_make(9, 9);
    uint64_t ones = 0, zeros = 0;
    for (int i = 0; i < 1000; i++) {
        ls_fixed unit = ls_rng_unit(&rng);
        cr_assert(unit >= 0 && unit < LS_FIXED_ONE);
        ones |= (uint64_t)unit;
        zeros |= ~(uint64_t)unit;
    }
    cr_assert_eq(ones & UINT32_MAX, UINT32_MAX);
    cr_assert_eq(zeros & UINT32_MAX, UINT32_MAX);
}

Test(rng, below_zero_is_a_programmers_mistake, .signal = SIGABRT)
{
    ls_rng rng = ls_rng_make(1, 1);
    ls_rng_below(&rng, 0);
}

/* ---- stable_sort ---- */

#define COUNT_MAX 3000

/* Where a run of scratch memory must not be written any more. */
static const ls_key_index guard = {UINT32_C(0xdeadbeef), UINT32_C(0xcafef00d)};

typedef struct arrays {
    ls_key_index pairs[COUNT_MAX + 1];
    ls_key_index expected[COUNT_MAX + 1];
    ls_key_index scratch[COUNT_MAX + 1];
} arrays;

static arrays work;

static int compare_keys(const void *a, const void *b, const void *context)
{
    uint32_t left = ((const ls_key_index *)a)->key;
    uint32_t right = ((const ls_key_index *)b)->key;
    int order = (left > right) - (left < right);
    return context != NULL ? -order : order;
}

static void insertion_sort(ls_key_index *pairs, size_t count, bool is_descending)
{
    for (size_t i = 1; i < count; i++) {
        ls_key_index moved = pairs[i];
        size_t at = i;
        for (; at > 0; at--) {
            uint32_t before = pairs[at - 1].key;
            if (is_descending ? before >= moved.key : before <= moved.key) {
                break;
            }
            pairs[at] = pairs[at - 1];
        }
        pairs[at] = moved;
    }
}

static void fill_numbers(ls_rng *rng, size_t count, uint32_t key_bound)
{
    for (size_t i = 0; i < count; i++) {
        work.pairs[i] = (ls_key_index){ls_rng_below(rng, key_bound), (uint32_t)i};
    }
    work.pairs[count] = guard;
    work.scratch[count] = guard;
    memcpy(work.expected, work.pairs, sizeof work.expected);
}

static void assert_as_expected(size_t count, uint32_t key_bound)
{
    cr_assert_eq(memcmp(work.pairs, work.expected, (count + 1) * sizeof guard), 0,
                 "%zu keys below %u", count, key_bound);
    cr_assert_eq(memcmp(&work.scratch[count], &guard, sizeof guard), 0);
}

static const size_t counts[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 1000};
static const uint32_t key_bounds[] = {1, 2, 10, 256, 257, 65536, 1u << 24, UINT32_MAX};

Test(stable_sort, matches_an_insertion_sort_with_many_and_few_ties)
{
    ls_rng rng = ls_rng_make(21, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof key_bounds / sizeof key_bounds[0]; j++) {
            fill_numbers(&rng, counts[i], key_bounds[j]);
            insertion_sort(work.expected, counts[i], false);
            ls_stable_sort(work.pairs, counts[i], sizeof guard, work.scratch, compare_keys, NULL);
            assert_as_expected(counts[i], key_bounds[j]);
        }
    }
}

Test(stable_sort, keys_are_sorted_as_an_insertion_sort_does)
{
    ls_rng rng = ls_rng_make(22, 1);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < sizeof key_bounds / sizeof key_bounds[0]; j++) {
            fill_numbers(&rng, counts[i], key_bounds[j]);
            insertion_sort(work.expected, counts[i], false);
            ls_stable_sort_keys(work.pairs, counts[i], work.scratch);
            assert_as_expected(counts[i], key_bounds[j]);
        }
    }
}

Test(stable_sort, keys_that_differ_in_one_byte_alone_are_sorted)
{
    ls_rng rng = ls_rng_make(23, 1);
    for (int byte = 0; byte < 4; byte++) {
        fill_numbers(&rng, 500, 256);
        for (size_t i = 0; i < 500; i++) {
            work.pairs[i].key = work.pairs[i].key << (8 * byte) | UINT32_C(0x40) << (8 * byte ^ 8);
        }
        memcpy(work.expected, work.pairs, sizeof work.expected);
        insertion_sort(work.expected, 500, false);
        ls_stable_sort_keys(work.pairs, 500, work.scratch);
        assert_as_expected(500, 256);
    }
}

Test(stable_sort, the_context_reaches_the_comparison)
{
    ls_rng rng = ls_rng_make(24, 1);
    fill_numbers(&rng, 777, 50);
    insertion_sort(work.expected, 777, true);
    ls_stable_sort(work.pairs, 777, sizeof guard, work.scratch, compare_keys, &rng);
    assert_as_expected(777, 50);
}

Test(stable_sort, no_elements_need_no_memory)
{
    ls_stable_sort(NULL, 0, 8, NULL, compare_keys, NULL);
    ls_stable_sort_keys(NULL, 0, NULL);
}

static int compare_first_bytes(const void *a, const void *b, const void *context)
{
    (void)context;
    return *(const uint8_t *)a - *(const uint8_t *)b;
}

Test(stable_sort, elements_of_any_size_move_whole)
{
    for (size_t bytes = 1; bytes <= 40; bytes += 13) {
        uint8_t elements[100 * 40], scratch[100 * 40];
        for (size_t i = 0; i < 100; i++) {
            memset(elements + i * bytes, (int)(i * 37 % 100), bytes);
        }
        ls_stable_sort(elements, 100, bytes, scratch, compare_first_bytes, NULL);
        for (size_t i = 0; i < 100 * bytes; i++) {
            cr_assert_eq(elements[i], i / bytes);
        }
    }
}

/* ---- arithmetic_check ---- */

Test(arithmetic_check, keeps_nothing_from_one_call_to_the_next)
{
    uint64_t first = ls_arithmetic_check();
    cr_assert_eq(ls_arithmetic_check(), first);
}

Test(arithmetic_check, finds_a_machine_that_rounds_differently)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    uint64_t nearest = ls_arithmetic_check();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        fesetround(modes[i]);
        uint64_t check = ls_arithmetic_check();
        fesetround(FE_TONEAREST);
        cr_assert_neq(check, nearest, "mode %zu", i);
    }
}

#if defined(__SSE2__)
Test(arithmetic_check, finds_a_processor_that_treats_denormals_as_zero)
{
    enum {
        FLUSHES = 0x8000,
        READS_AS_ZERO = 0x0040,
    };
    static const unsigned modes[] = {FLUSHES, READS_AS_ZERO, FLUSHES | READS_AS_ZERO};
    const unsigned usual = __builtin_ia32_stmxcsr();
    uint64_t kept = ls_arithmetic_check();
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        __builtin_ia32_ldmxcsr(usual | modes[i]);
        uint64_t check = ls_arithmetic_check();
        __builtin_ia32_ldmxcsr(usual);
        cr_expect_neq(check, kept, "mode %zu", i);
    }
}
#endif

/* ---- hash ---- */

#define PRIME_32 UINT64_C(2654435761)
#define PRIME_64 UINT64_C(11400714785074694797)

enum {
    SAMPLE_BYTES = 2048
};

/* The sample of xxHash's own sanity checks (xxhash v0.8, tests/sanity_test.c). */
static void fill_sample(uint8_t sample[SAMPLE_BYTES])
{
    uint64_t generator = PRIME_32;
    for (size_t i = 0; i < SAMPLE_BYTES; i++) {
        sample[i] = (uint8_t)(generator >> 56);
        generator *= PRIME_64;
    }
}

Test(hash, equals_the_published_vectors_of_xxh3)
{
    static const struct {
        size_t size;
        uint64_t seed;
        uint64_t hash;
    } vectors[] = {
        {0, 0, UINT64_C(0x2D06800538D394C2)},    {0, PRIME_64, UINT64_C(0xA8A6B918B2F0364A)},
        {1, 0, UINT64_C(0xC44BDFF4074EECDB)},    {1, PRIME_64, UINT64_C(0x032BE332DD766EF8)},
        {6, 0, UINT64_C(0x27B56A84CD2D7325)},    {6, PRIME_64, UINT64_C(0x84589C116AB59AB9)},
        {12, 0, UINT64_C(0xA713DAF0DFBB77E7)},   {24, 0, UINT64_C(0xA3FE70BF9D3510EB)},
        {48, 0, UINT64_C(0x397DA259ECBA1F11)},   {80, 0, UINT64_C(0xBCDEFBBB2C47C90A)},
        {195, 0, UINT64_C(0xCD94217EE362EC3A)},  {403, 0, UINT64_C(0xCDEB804D65C6DEA4)},
        {2048, 0, UINT64_C(0xDD59E2C3A5F038E0)},
    };
    uint8_t sample[SAMPLE_BYTES];
    fill_sample(sample);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint64_t hash = ls_hash_bytes(sample, vectors[i].size, vectors[i].seed);
        cr_expect_eq(hash, vectors[i].hash, "%zu bytes: %016llx", vectors[i].size,
                     (unsigned long long)hash);
    }
}

Test(hash, chunks_are_hashed_each_for_itself)
{
    uint8_t sample[SAMPLE_BYTES];
    uint8_t hashes[3 * sizeof(uint64_t)];
    fill_sample(sample);
    ls_hash_chunks(sample, 2000, 900, hashes);
    cr_expect_eq(ls_load_u64(hashes), ls_hash_bytes(sample, 900, 0));
    cr_expect_eq(ls_load_u64(hashes + 8), ls_hash_bytes(sample + 900, 900, 0));
    cr_expect_eq(ls_load_u64(hashes + 16), ls_hash_bytes(sample + 1800, 200, 0));
}

/* ---- processors with wide registers ---- */

#if defined(__x86_64__)
typedef uint64_t (*bytes_hash)(const void *bytes, size_t size, uint64_t seed);
typedef void (*chunks_hash)(const void *bytes, size_t size, size_t chunk_bytes, uint8_t *hashes);

static void expect_same(bytes_hash wide, chunks_hash chunks)
{
    enum {
        LEAST_CHUNK_BYTES = 900
    };
    static const size_t chunk_bytes[] = {4096, 1024, 2048, LEAST_CHUNK_BYTES};
    static uint8_t bytes[1 << 17];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * i >> 3);
    }
    for (size_t size = 0; size + 4 <= sizeof bytes; size += 1 + size / 7) {
        for (size_t at = 0; at < 3; at++) {
            cr_assert_eq(wide(bytes + at, size, size), ls_hash_bytes_plain(bytes + at, size, size),
                         "%zu bytes from %zu", size, at);
        }
        for (size_t i = 0; i < sizeof chunk_bytes / sizeof chunk_bytes[0]; i++) {
            uint8_t hashes[2][sizeof bytes / LEAST_CHUNK_BYTES * 8 + 8] = {{0}};
            chunks(bytes + i, size, chunk_bytes[i], hashes[0]);
            ls_hash_chunks_plain(bytes + i, size, chunk_bytes[i], hashes[1]);
            cr_assert_arr_eq(hashes[0], hashes[1], sizeof hashes[0], "%zu bytes in chunks of %zu",
                             size, chunk_bytes[i]);
        }
    }
}

Test(hash, is_the_same_with_avx2)
{
    if (!__builtin_cpu_supports("avx2")) {
        cr_skip("this processor has no AVX2");
    }
    expect_same(ls_hash_bytes_avx2, ls_hash_chunks_avx2);
}

Test(hash, is_the_same_with_avx512)
{
    if (!__builtin_cpu_supports("avx512f")) {
        cr_skip("this processor has no AVX-512");
    }
    expect_same(ls_hash_bytes_avx512, ls_hash_chunks_avx512);
}
#endif

Test(hash, no_bytes_at_all_need_no_address)
{
    cr_assert_eq(ls_hash_bytes(NULL, 0, 0), ls_hash_bytes("x", 0, 0));
}

Test(hash, does_not_depend_on_the_address)
{
    uint8_t sample[SAMPLE_BYTES];
    uint8_t moved[SAMPLE_BYTES + 16];
    fill_sample(sample);
    uint64_t hash = ls_hash_bytes(sample, SAMPLE_BYTES, 0);
    for (size_t at = 0; at < 16; at++) {
        memcpy(moved + at, sample, SAMPLE_BYTES);
        cr_assert_eq(ls_hash_bytes(moved + at, SAMPLE_BYTES, 0), hash);
    }
}

Test(hash, every_flipped_bit_changes_it)
{
    uint8_t sample[SAMPLE_BYTES];
    fill_sample(sample);
    uint64_t hash = ls_hash_bytes(sample, SAMPLE_BYTES, 0);
    for (size_t bit = 0; bit < 8 * SAMPLE_BYTES; bit++) {
        sample[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_neq(ls_hash_bytes(sample, SAMPLE_BYTES, 0), hash, "bit %zu", bit);
        sample[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

Test(hash, a_pair_is_the_hash_of_its_little_endian_bytes)
{
    static const uint8_t bytes[] = {8,    7,    6,    5,    4,    3,    2,    1,
                                    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
    cr_assert_eq(ls_hash_pair(UINT64_C(0x0102030405060708), UINT64_C(0x1112131415161718)),
                 ls_hash_bytes(bytes, sizeof bytes, 0));
}

Test(hash, a_pair_has_an_order)
{
    cr_assert_neq(ls_hash_pair(1, 2), ls_hash_pair(2, 1));
    cr_assert_neq(ls_hash_pair(0, 0), 0);
    cr_assert_neq(ls_hash_pair(0, 1), ls_hash_pair(0, 0));
}

/* ---- state_hash ---- */

enum {
    BYTES_MAX = 3 * LS_HASH_CHUNK_BYTES + 100
};

static void fill_bytes(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i * i + i / 251);
    }
}

static void destroy_schema(void *schema)
{
    ls_schema_destroy(schema);
}

static void destroy_hasher(void *hasher)
{
    ls_state_hasher_destroy(hasher);
}

static ls_schema *make_schema(const ls_field *fields, uint32_t count, size_t bytes)
{
    ls_schema *schema = NULL;
    cr_assert_eq(ls_schema_create(fields, count, bytes, ls_allocator_heap(), &schema, NULL), LS_OK);
    return keep_until_end(schema, destroy_schema);
}

static ls_state_hasher *make_hasher(const ls_schema *schema)
{
    ls_state_hasher *hasher = NULL;
    cr_assert_eq(ls_state_hasher_create(schema, ls_allocator_heap(), &hasher), LS_OK);
    return keep_until_end(hasher, destroy_hasher);
}

/* Of a block of single bytes: the same on either byte order. */
static ls_state_hasher *make_byte_hasher(uint32_t bytes)
{
    const ls_field field = {"bytes", "", LS_FIELD_U8, bytes, 1, 0, 0};
    return make_hasher(make_schema(&field, 1, bytes));
}

static uint64_t hash_of(const uint8_t *state, uint32_t bytes)
{
    return ls_state_hash(make_byte_hasher(bytes), state);
}

TestSuite(state_hash, .fini = destroy_kept);

/* Golden: these state hashes are what journals and other machines hold. */
Test(state_hash, hashes_of_known_states_never_change)
{
    static const struct {
        uint32_t bytes;
        uint64_t state_hash;
    } golden[] = {
        {1, UINT64_C(0x113425e2d3c1afc3)},
        {100, UINT64_C(0x33d629db8388835d)},
        {LS_HASH_CHUNK_BYTES - 1, UINT64_C(0x95afbda4ef3e5108)},
        {LS_HASH_CHUNK_BYTES, UINT64_C(0xc980159ea335db5f)},
        {LS_HASH_CHUNK_BYTES + 1, UINT64_C(0xaf85190043c733e9)},
        {BYTES_MAX, UINT64_C(0xa12b12ebef1c7736)},
    };
    static uint8_t state[BYTES_MAX];
    fill_bytes(state, sizeof state);
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        uint64_t state_hash = hash_of(state, golden[i].bytes);
        cr_expect_eq(state_hash, golden[i].state_hash, "%u bytes: 0x%016llx", golden[i].bytes,
                     (unsigned long long)state_hash);
    }
}

Test(state_hash, the_hash_is_the_hash_of_the_chunks_hashes)
{
    static uint8_t state[BYTES_MAX];
    fill_bytes(state, sizeof state);
    uint8_t hashes[4 * 8];
    for (size_t i = 0; i < 4; i++) {
        size_t size = i < 3 ? LS_HASH_CHUNK_BYTES : BYTES_MAX - 3 * LS_HASH_CHUNK_BYTES;
        uint64_t hash = ls_hash_bytes(state + i * LS_HASH_CHUNK_BYTES, size, 0);
        for (size_t byte = 0; byte < 8; byte++) {
            hashes[8 * i + byte] = (uint8_t)(hash >> (8 * byte));
        }
    }
    cr_assert_eq(hash_of(state, BYTES_MAX), ls_hash_bytes(hashes, sizeof hashes, 0));
}

Test(state_hash, a_flipped_bit_anywhere_changes_the_hash)
{
    static uint8_t state[BYTES_MAX];
    fill_bytes(state, sizeof state);
    ls_state_hasher *hasher = make_byte_hasher(BYTES_MAX);
    uint64_t state_hash = ls_state_hash(hasher, state);
    for (size_t byte = 0; byte < BYTES_MAX; byte++) {
        uint8_t bit = (uint8_t)(1u << byte % 8);
        state[byte] ^= bit;
        cr_assert_neq(ls_state_hash(hasher, state), state_hash, "byte %zu", byte);
        state[byte] ^= bit;
    }
    cr_assert_eq(ls_state_hash(hasher, state), state_hash, "hashing has a memory");
}

Test(state_hash, chunks_that_change_places_change_the_hash)
{
    static uint8_t state[BYTES_MAX];
    static uint8_t moved[BYTES_MAX];
    fill_bytes(state, sizeof state);
    memcpy(moved, state, sizeof state);
    memcpy(moved, state + LS_HASH_CHUNK_BYTES, LS_HASH_CHUNK_BYTES);
    memcpy(moved + LS_HASH_CHUNK_BYTES, state, LS_HASH_CHUNK_BYTES);
    cr_assert_neq(memcmp(moved, state, sizeof state), 0);
    cr_assert_neq(hash_of(moved, BYTES_MAX), hash_of(state, BYTES_MAX));
}

Test(state_hash, a_hash_is_that_of_the_canonical_bytes)
{
    const ls_field fields[] = {
        {"numbers", "", LS_FIELD_U32, 2, 1, 0, 0},
        {"small", "", LS_FIELD_U16, 1, 1, 8, 0},
    };
    struct {
        uint32_t numbers[2];
        uint16_t small;
    } state = {{0x01020304, 0x05060708}, 0x090a};
    static const uint8_t canonical[] = {4, 3, 2, 1, 8, 7, 6, 5, 10, 9};
    ls_state_hasher *hasher = make_hasher(make_schema(fields, 2, 10));
    cr_assert_eq(ls_state_hash(hasher, &state), hash_of(canonical, sizeof canonical));
}

/* Golden, as above. */
Test(state_hash, chains_of_known_hashes_never_change)
{
    uint64_t chain = ls_hash_chain_start(1);
    cr_expect_eq(chain, UINT64_C(0x048ef6b6bffab6bb), "0x%016llx", (unsigned long long)chain);
    chain = ls_hash_chain_next(chain, 2);
    cr_expect_eq(chain, UINT64_C(0x6dcf5d96b5b21233), "0x%016llx", (unsigned long long)chain);
    chain = ls_hash_chain_next(chain, 3);
    cr_expect_eq(chain, UINT64_C(0xeaf8a37b9a7f1a66), "0x%016llx", (unsigned long long)chain);
}

static uint64_t chain_of(const uint64_t *state_hashes, size_t count)
{
    uint64_t chain = ls_hash_chain_start(state_hashes[0]);
    for (size_t i = 1; i < count; i++) {
        chain = ls_hash_chain_next(chain, state_hashes[i]);
    }
    return chain;
}

Test(state_hash, a_chain_remembers_every_hash_and_their_order)
{
    uint64_t state_hashes[] = {10, 20, 30, 40, 50};
    const size_t count = sizeof state_hashes / sizeof state_hashes[0];
    uint64_t chain = chain_of(state_hashes, count);
    cr_assert_neq(chain_of(state_hashes, count - 1), chain);
    for (size_t i = 0; i < count; i++) {
        state_hashes[i] ^= 1;
        cr_assert_neq(chain_of(state_hashes, count), chain, "root %zu is forgotten", i);
        state_hashes[i] ^= 1;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        const uint64_t kept = state_hashes[i];
        state_hashes[i] = state_hashes[i + 1];
        state_hashes[i + 1] = kept;
        cr_assert_neq(chain_of(state_hashes, count), chain, "roots %zu and %zu can be swapped", i,
                      i + 1);
        state_hashes[i + 1] = state_hashes[i];
        state_hashes[i] = kept;
    }
    cr_assert_eq(chain_of(state_hashes, count), chain);
}

Test(state_hash, every_failed_allocation_is_survived)
{
    const ls_field field = {"bytes", "", LS_FIELD_U8, BYTES_MAX, 1, 0, 0};
    const ls_schema *schema = make_schema(&field, 1, BYTES_MAX);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_state_hasher *hasher = NULL;
        refused.status = ls_state_hasher_create(schema, &refused.counting.allocator, &hasher);
        cr_assert_eq(hasher != NULL, refused.status == LS_OK);
        ls_state_hasher_destroy(hasher);
    }
}

/* ==== strict_math ==== */

#define PI 0x1.921fb54442d18p+1
#define NOT_A_NUMBER UINT64_C(0x7ff8000000000000)

static const double nan_value = (double)NAN;
static const double infinity = (double)INFINITY;

enum {
    ROUNDS = 20000,
};

static void expect(double found, double expected, const char *what)
{
    uint64_t bits = isnan(expected) ? NOT_A_NUMBER : strict_value_bits(expected);
    cr_expect_eq(strict_value_bits(found), bits, "%s: %a, expected %a", what, found, expected);
}

#define EXPECT(call, expected) expect(call, expected, #call)

Test(strict_math, a_result_that_is_no_number_is_always_the_same_one)
{
    static const uint64_t payloads[] = {UINT64_C(0x7ff8000000000000), UINT64_C(0xfff8000000000000),
                                        UINT64_C(0x7ff8000000000001), UINT64_C(0xffffffffffffffff),
                                        UINT64_C(0x7fffdeadbeef0000)};
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++) {
        double x = strict_value_of(payloads[i]);
        for (uint32_t f = 0; f < STRICT_FUNCTION_COUNT; f++) {
            const strict_function *function = &strict_functions[f];
            expect(strict_function_call(function, x, x), nan_value, function->name);
            if (function->binary) {
                expect(function->binary(x, 2), nan_value, function->name);
                expect(function->binary(2, x), nan_value, function->name);
            }
        }
        EXPECT(ls_strict_floor(x), nan_value);
        EXPECT(ls_strict_ceil(x), nan_value);
        EXPECT(ls_strict_trunc(x), nan_value);
        EXPECT(ls_strict_round(x), nan_value);
        EXPECT(ls_strict_rint(x), nan_value);
        EXPECT(ls_strict_fmod(x, 1), nan_value);
        EXPECT(ls_strict_remainder(1, x), nan_value);
    }
}

Test(strict_math, what_is_not_defined_is_no_number)
{
    EXPECT(ls_strict_sin(infinity), nan_value);
    EXPECT(ls_strict_cos(-infinity), nan_value);
    EXPECT(ls_strict_tan(infinity), nan_value);
    EXPECT(ls_strict_asin(0x1.0000000000001p0), nan_value);
    EXPECT(ls_strict_acos(-2), nan_value);
    EXPECT(ls_strict_log(-1), nan_value);
    EXPECT(ls_strict_log2(-0x1p-1074), nan_value);
    EXPECT(ls_strict_log10(-infinity), nan_value);
    EXPECT(ls_strict_log1p(-1.5), nan_value);
    EXPECT(ls_strict_pow(-2, 0.5), nan_value);
    EXPECT(ls_strict_fmod(1, 0), nan_value);
    EXPECT(ls_strict_fmod(infinity, 1), nan_value);
    EXPECT(ls_strict_remainder(-1, 0), nan_value);
    EXPECT(ls_strict_remainder(-infinity, 3), nan_value);
}

Test(strict_math, zeros_keep_their_sign)
{
    double (*const odd[])(double) = {
        ls_strict_sin,   ls_strict_tan,   ls_strict_asin,  ls_strict_atan, ls_strict_expm1,
        ls_strict_log1p, ls_strict_cbrt,  ls_strict_sinh,  ls_strict_tanh, ls_strict_floor,
        ls_strict_ceil,  ls_strict_trunc, ls_strict_round, ls_strict_rint};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        EXPECT(odd[i](0.0), 0.0);
        EXPECT(odd[i](-0.0), -0.0);
    }
    EXPECT(ls_strict_ceil(-0.5), -0.0);
    EXPECT(ls_strict_round(-0.25), -0.0);
    EXPECT(ls_strict_rint(-0.5), -0.0);
    EXPECT(ls_strict_fmod(-6, 3), -0.0);
    EXPECT(ls_strict_remainder(-6, 3), -0.0);
}

Test(strict_math, limits_are_those_of_annex_f)
{
    EXPECT(ls_strict_atan(-infinity), -PI / 2);
    EXPECT(ls_strict_acos(1), 0.0);
    EXPECT(ls_strict_acos(-1), PI);
    EXPECT(ls_strict_asin(1), PI / 2);
    EXPECT(ls_strict_exp(-infinity), 0.0);
    EXPECT(ls_strict_exp(infinity), infinity);
    EXPECT(ls_strict_exp(-0.0), 1.0);
    EXPECT(ls_strict_exp(709.79), infinity);
    EXPECT(ls_strict_exp(-745.2), 0.0);
    EXPECT(ls_strict_exp2(infinity), infinity);
    EXPECT(ls_strict_exp2(-infinity), 0.0);
    EXPECT(ls_strict_expm1(-infinity), -1.0);
    EXPECT(ls_strict_expm1(infinity), infinity);
    EXPECT(ls_strict_log(0.0), -infinity);
    EXPECT(ls_strict_log2(-0.0), -infinity);
    EXPECT(ls_strict_log10(1), 0.0);
    EXPECT(ls_strict_log(infinity), infinity);
    EXPECT(ls_strict_log1p(-1), -infinity);
    EXPECT(ls_strict_log1p(infinity), infinity);
    EXPECT(ls_strict_cbrt(-infinity), -infinity);
    EXPECT(ls_strict_sinh(-infinity), -infinity);
    EXPECT(ls_strict_cosh(-infinity), infinity);
    EXPECT(ls_strict_tanh(-infinity), -1.0);
    EXPECT(ls_strict_hypot(-infinity, nan_value), infinity);
    EXPECT(ls_strict_hypot(nan_value, infinity), infinity);
    EXPECT(ls_strict_hypot(-0.0, -0.0), 0.0);
    EXPECT(ls_strict_floor(-infinity), -infinity);
    EXPECT(ls_strict_rint(infinity), infinity);
    EXPECT(ls_strict_round(-infinity), -infinity);
    EXPECT(ls_strict_fmod(-5, infinity), -5.0);
    EXPECT(ls_strict_remainder(5, -infinity), 5.0);
}

Test(strict_math, angles_of_the_axes_and_of_infinite_points)
{
    EXPECT(ls_strict_atan2(0.0, 0.0), 0.0);
    EXPECT(ls_strict_atan2(-0.0, 0.0), -0.0);
    EXPECT(ls_strict_atan2(0.0, -0.0), PI);
    EXPECT(ls_strict_atan2(-0.0, -1), -PI);
    EXPECT(ls_strict_atan2(-0.0, 1), -0.0);
    EXPECT(ls_strict_atan2(-1, 0.0), -PI / 2);
    EXPECT(ls_strict_atan2(1, -0.0), PI / 2);
    EXPECT(ls_strict_atan2(infinity, infinity), PI / 4);
    EXPECT(ls_strict_atan2(-infinity, -infinity), -0x1.2d97c7f3321d2p+1);
    EXPECT(ls_strict_atan2(infinity, 3), PI / 2);
    EXPECT(ls_strict_atan2(-3, infinity), -0.0);
    EXPECT(ls_strict_atan2(3, -infinity), PI);
    EXPECT(ls_strict_atan2(0x1p-1074, 0x1p1000), 0.0);
    EXPECT(ls_strict_atan2(0x1p-1074, 0x1p-1074), PI / 4);
    EXPECT(ls_strict_atan2(-0x1.8p1023, 0x1.8p1023), -PI / 4);
}

Test(strict_math, powers_of_limits_are_those_of_annex_f)
{
    EXPECT(ls_strict_pow(nan_value, 0.0), 1.0);
    EXPECT(ls_strict_pow(1, nan_value), 1.0);
    EXPECT(ls_strict_pow(-1, infinity), 1.0);
    EXPECT(ls_strict_pow(0.0, -3), infinity);
    EXPECT(ls_strict_pow(-0.0, -3), -infinity);
    EXPECT(ls_strict_pow(-0.0, -2), infinity);
    EXPECT(ls_strict_pow(-0.0, -infinity), infinity);
    EXPECT(ls_strict_pow(-0.0, 3), -0.0);
    EXPECT(ls_strict_pow(-0.0, 2.5), 0.0);
    EXPECT(ls_strict_pow(0.5, -infinity), infinity);
    EXPECT(ls_strict_pow(-2, -infinity), 0.0);
    EXPECT(ls_strict_pow(0.5, infinity), 0.0);
    EXPECT(ls_strict_pow(-infinity, -3), -0.0);
    EXPECT(ls_strict_pow(-infinity, -0.5), 0.0);
    EXPECT(ls_strict_pow(-infinity, 5), -infinity);
    EXPECT(ls_strict_pow(-infinity, 0x1p53), infinity);
    EXPECT(ls_strict_pow(infinity, -0.1), 0.0);
    EXPECT(ls_strict_pow(infinity, 0.1), infinity);
    EXPECT(ls_strict_pow(-3, 3), -27.0);
    EXPECT(ls_strict_pow(-2, 0x1.fffffffffffffp52), -infinity);
    EXPECT(ls_strict_pow(-2, 0x1p53), infinity);
    EXPECT(ls_strict_pow(2, -1074), 0x1p-1074);
    EXPECT(ls_strict_pow(0x1p-1074, 0.5), 0x1p-537);
    EXPECT(ls_strict_pow(0x1.fffffffffffffp-1, 1e300), 0.0);
    EXPECT(ls_strict_pow(7, 1e-300), 1.0);
}

Test(strict_math, exact_results_are_exact)
{
    for (int n = -1022; n <= 1023; n++) {
        double power = ls_strict_exp2(n);
        cr_assert_eq(power, ldexp(1, n), "2^%d", n);
        cr_assert_eq(ls_strict_log2(power), n, "log2 2^%d", n);
    }
    double ten = 1;
    for (int n = 0; n <= 22; n++, ten *= 10) {
        cr_assert_eq(ls_strict_log10(ten), n, "log10 1e%d", n);
        cr_assert_eq(ls_strict_pow(10, n), ten, "10^%d", n);
    }
    for (int n = -2000; n <= 2000; n++) {
        double x = n;
        cr_assert_eq(ls_strict_cbrt(x * x * x), x, "%d", n);
        cr_assert_eq(ls_strict_pow(x, 2), x * x, "%d", n);
        cr_assert_eq(ls_strict_hypot(3 * x, -4 * x), 5 * fabs(x), "%d", n);
    }
}

/* Those of every other library: C leaves no choice. */
Test(strict_math, rounding_and_remainders_are_those_of_any_library)
{
    static const strict_range wide = STRICT_SIGNED(-1074, 1023);
    static const strict_range around = STRICT_NEAR(-1000, 1000, 0.5);
    ls_rng rng = ls_rng_make(5, 5);
    for (int i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, i % 2 ? &wide : &around);
        double y = strict_argument(&rng, i % 3 ? &wide : &around);
        EXPECT(ls_strict_floor(x), floor(x));
        EXPECT(ls_strict_ceil(x), ceil(x));
        EXPECT(ls_strict_trunc(x), trunc(x));
        EXPECT(ls_strict_round(x), round(x));
        EXPECT(ls_strict_rint(x), rint(x));
        EXPECT(ls_strict_fmod(x, y), fmod(x, y));
        EXPECT(ls_strict_remainder(x, y), remainder(x, y));
    }
    EXPECT(ls_strict_round(0x1.fffffffffffffp-2), 0.0);
    EXPECT(ls_strict_rint(0x1.fffffffffffffp51), 0x1p52);
    EXPECT(ls_strict_remainder(5, 2), 1.0);
    EXPECT(ls_strict_remainder(7, 2), -1.0);
    EXPECT(ls_strict_remainder(3, 2), -1.0);
    EXPECT(ls_strict_remainder(1, 2), 1.0);
}

Test(strict_math, functions_are_odd_or_even_to_the_bit)
{
    double (*const odd[])(double) = {ls_strict_sin,  ls_strict_tan,  ls_strict_asin, ls_strict_atan,
                                     ls_strict_cbrt, ls_strict_sinh, ls_strict_tanh};
    static const strict_range sizes = STRICT_SIZES(-60, 60);
    ls_rng rng = ls_rng_make(6, 6);
    for (int i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, &sizes);
        for (size_t f = 0; f < sizeof odd / sizeof odd[0]; f++) {
            expect(odd[f](-x), -odd[f](x), "odd");
        }
        EXPECT(ls_strict_cos(-x), ls_strict_cos(x));
        EXPECT(ls_strict_cosh(-x), ls_strict_cosh(x));
        EXPECT(ls_strict_atan2(-x, -1), -ls_strict_atan2(x, -1));
    }
}

Test(strict_math, sine_and_cosine_at_once_are_those_of_each)
{
    ls_rng rng = ls_rng_make(7, 7);
    for (int i = 0; i < ROUNDS; i++) {
        double x = strict_argument(&rng, &strict_functions[0].x[i % 6]), sine = 0, cosine = 0;
        ls_strict_sincos(x, &sine, &cosine);
        EXPECT(sine, ls_strict_sin(x));
        EXPECT(cosine, ls_strict_cos(x));
    }
    double sine = 0, cosine = 0;
    ls_strict_sincos(-0.0, &sine, &cosine);
    EXPECT(sine, -0.0);
    EXPECT(cosine, 1.0);
    ls_strict_sincos(infinity, &sine, &cosine);
    EXPECT(sine, nan_value);
    EXPECT(cosine, nan_value);
}

/* Next to a multiple of pi / 2 nearly all bits of the angle cancel: of doubles, these come closest.
 * The expected values were computed with 300 bits. */
Test(strict_math, angles_of_any_size_are_reduced_by_enough_bits_of_pi)
{
    EXPECT(ls_strict_sin(0x1.6ac5b262ca1ffp+849), 0x1.0000000000000p+0);
    EXPECT(ls_strict_cos(0x1.6ac5b262ca1ffp+849), -0x1.14ae72e6ba22fp-61);
    EXPECT(ls_strict_tan(0x1.6ac5b262ca1ffp+849), -0x1.d9ba9a7975636p+60);
    EXPECT(ls_strict_sin(0x1.6ac5b262ca1ffp+849), 0x1.0000000000000p+0);
    EXPECT(ls_strict_cos(0x1.6ac5b262ca1ffp+849), -0x1.14ae72e6ba22fp-61);
    EXPECT(ls_strict_tan(0x1.6ac5b262ca1ffp+849), -0x1.d9ba9a7975636p+60);
    EXPECT(ls_strict_sin(0x1.fffffffffffffp+1023), 0x1.452fc98b34e97p-8);
    EXPECT(ls_strict_cos(0x1.fffffffffffffp+1023), -0x1.fffe62ecfab75p-1);
    EXPECT(ls_strict_tan(0x1.fffffffffffffp+1023), -0x1.4530cfe729484p-8);
    EXPECT(ls_strict_sin(0x1.0f0cf064dd592p+73), -0x1.b453ab76bf397p-1);
    EXPECT(ls_strict_cos(0x1.0f0cf064dd592p+73), 0x1.0be2cef01c8f4p-1);
    EXPECT(ls_strict_tan(0x1.0f0cf064dd592p+73), -0x1.a0f79c1b6b257p+0);
    EXPECT(ls_strict_sin(0x1.0000000000000p+20), 0x1.526ccb2fc8656p-2);
    EXPECT(ls_strict_cos(0x1.0000000000000p+20), 0x1.e33ada92fe2aep-1);
    EXPECT(ls_strict_tan(0x1.0000000000000p+20), 0x1.6692e5779206fp-2);
    EXPECT(ls_strict_sin(0x1.921fb54442d18p+21), -0x1.1a62633145c07p-33);
    EXPECT(ls_strict_cos(0x1.921fb54442d18p+21), 0x1.0000000000000p+0);
    EXPECT(ls_strict_tan(0x1.921fb54442d18p+21), -0x1.1a62633145c07p-33);
    EXPECT(ls_strict_sin(0x1.921fb54442d18p+0), 0x1.0000000000000p+0);
    EXPECT(ls_strict_cos(0x1.921fb54442d18p+0), 0x1.1a62633145c07p-54);
    EXPECT(ls_strict_tan(0x1.921fb54442d18p+0), 0x1.d02967c31cdb5p+53);
}
