/* Trees of hashes over states, what differs between two, and looks at one. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/diagnosis/hash_tree_diff.h"
#include "lockstep/common/diagnosis/rerun_local.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/diagnosis/state_inspector.h"
#include "lockstep/common/diagnosis/state_tree.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/support/arena_fixture.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/diagnosed_match.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- state_tree ---- */

enum {
    STATE_BYTES_MAX = 1 << 20
};

static void destroy_schema(void *schema)
{
    ls_schema_destroy(schema);
}

static void destroy_tree(void *tree)
{
    ls_state_tree_destroy(tree);
}

static ls_schema *make_schema(const ls_field *fields, uint32_t count, size_t state_bytes)
{
    ls_schema *schema = NULL;
    ls_text why = {{0}};
    cr_assert_eq(ls_schema_create(fields, count, state_bytes, ls_allocator_heap(), &schema, &why),
                 LS_OK, "%s", why.bytes);
    return keep_until_end(schema, destroy_schema);
}

static ls_state_tree *make_tree(const ls_schema *schema)
{
    ls_state_tree *tree = NULL;
    cr_assert_eq(ls_state_tree_create(schema, ls_allocator_heap(), &tree), LS_OK);
    return keep_until_end(tree, destroy_tree);
}

/* A single field of bytes. */
static ls_state_tree *make_byte_tree(uint32_t bytes)
{
    const ls_field field = {"bytes", "", LS_FIELD_U8, bytes, 1, 0, 0};
    return make_tree(make_schema(&field, 1, bytes));
}

static const ls_field parted[] = {
    {"a.x", "", LS_FIELD_U16, 1, 4, 0, 6},
    {"b", "", LS_FIELD_U32, 1, 4, 2, 6},
    {"c", "", LS_FIELD_U8, 8, 1, 24, 0},
    {"a.y", "", LS_FIELD_U8, 8, 1, 32, 0},
};

TestSuite(state_tree, .fini = destroy_kept);

Test(state_tree, parts_hold_their_fields_wherever_these_lie)
{
    ls_schema *schema = make_schema(parted, 4, 40);
    ls_state_tree *tree = make_tree(schema);
    cr_assert_eq(ls_state_tree_node_count(tree), 1 + 3 + 4);
    ls_tree_node root = ls_state_tree_node(tree, 0);
    cr_expect_eq(root.kind, LS_TREE_STATE);
    cr_expect_eq(root.children.first, 1);
    cr_expect_eq(root.children.count, 3);
    ls_tree_node a = ls_state_tree_node(tree, 1);
    cr_expect_eq(a.kind, LS_TREE_PART);
    cr_assert_eq(a.children.count, 2);
    const char *paths[] = {"a.x", "a.y", "b", "c"};
    for (uint32_t i = 0; i < 4; i++) {
        ls_tree_node field = ls_state_tree_node(tree, 4 + i);
        cr_expect_eq(field.kind, LS_TREE_FIELD);
        cr_expect_str_eq(ls_schema_field(schema, field.field)->path, paths[i]);
    }
}

Test(state_tree, hashes_are_those_that_the_header_states)
{
    uint8_t state[40];
    for (size_t i = 0; i < sizeof state; i++) {
        state[i] = (uint8_t)(i * 7 + 1);
    }
    ls_schema *schema = make_schema(parted, 4, 40);
    ls_state_tree *tree = make_tree(schema);
    ls_state_tree_hash(tree, state);
    uint8_t packed[8];
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(packed + 2 * (size_t)i, state + 6 * (size_t)i, 2);
    }
    if (ls_schema_is_canonical_here()) {
        cr_expect_eq(ls_state_tree_node_hash(tree, 4), ls_hash_bytes(packed, 8, 0));
    }
    cr_expect_eq(ls_state_tree_node_hash(tree, 5), ls_hash_bytes(state + 32, 8, 0));
    uint8_t hashes[16];
    ls_store_u64(hashes, ls_state_tree_node_hash(tree, 4));
    ls_store_u64(hashes + 8, ls_state_tree_node_hash(tree, 5));
    cr_expect_eq(ls_state_tree_node_hash(tree, 1), ls_hash_bytes(hashes, 16, 0));
}

Test(state_tree, hashing_in_pieces_gives_the_same)
{
    uint8_t state[40];
    memset(state, 7, sizeof state);
    ls_schema *schema = make_schema(parted, 4, 40);
    ls_state_tree *whole = make_tree(schema);
    ls_state_tree *pieced = make_tree(schema);
    uint32_t nodes = ls_state_tree_node_count(whole);
    ls_state_tree_hash(whole, state);
    uint32_t left = nodes;
    for (uint32_t calls = 0; left > 0; calls++) {
        cr_assert_lt(calls, (nodes + 2) / 3);
        ls_state_tree_hash_some(pieced, state, 3, &left);
    }
    for (uint32_t node = 0; node < nodes; node++) {
        cr_expect_eq(ls_state_tree_node_hash(pieced, node), ls_state_tree_node_hash(whole, node));
    }
}

/* Every node but the root is some node's child exactly once, and children split their parent. */
static void expect_whole(const ls_state_tree *tree)
{
    uint32_t next = 1;
    uint32_t nodes = ls_state_tree_node_count(tree);
    for (uint32_t node = 0; node < nodes; node++) {
        ls_tree_node info = ls_state_tree_node(tree, node);
        if (info.children.count == 0) {
            cr_assert_neq(ls_state_tree_leaf_bytes(tree, node), 0);
            continue;
        }
        cr_assert_eq(ls_state_tree_leaf_bytes(tree, node), 0);
        cr_assert_leq(info.children.count, LS_FIELDS_MAX);
        cr_assert(info.kind < LS_TREE_FIELD || info.children.count <= LS_TREE_FAN);
        uint32_t element = info.first_element;
        for (uint32_t i = 0; i < info.children.count; i++) {
            ls_tree_node child = ls_state_tree_node(tree, info.children.first + i);
            if (info.kind >= LS_TREE_FIELD) {
                cr_assert_eq(child.first_element, element);
                element += child.element_count;
            }
            next++;
        }
        cr_assert(info.kind < LS_TREE_FIELD || element == info.first_element + info.element_count);
    }
    cr_assert_eq(next, nodes);
}

Test(state_tree, children_split_their_parent_at_every_size)
{
    const uint32_t leaf = LS_TREE_LEAF_BYTES;
    const uint32_t sizes[] = {1,
                              leaf,
                              leaf + 1,
                              leaf * LS_TREE_FAN,
                              leaf * LS_TREE_FAN + 1,
                              3 * leaf * LS_TREE_FAN + 7,
                              leaf * LS_TREE_FAN * 130};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ls_state_tree *tree = make_byte_tree(sizes[i]);
        expect_whole(tree);
    }
}

static uint32_t root_path_length(const ls_state_tree *tree, const uint64_t *before)
{
    uint32_t changed = 0;
    for (uint32_t node = 0; node < ls_state_tree_node_count(tree); node++) {
        changed += ls_state_tree_node_hash(tree, node) != before[node];
    }
    return changed;
}

Test(state_tree, a_change_shows_on_its_path_and_nowhere_else)
{
    enum {
        BYTES = 3 * LS_TREE_LEAF_BYTES * LS_TREE_FAN + 7
    };
    static uint8_t state[BYTES];
    static uint64_t before[2048];
    ls_state_tree *tree = make_byte_tree(BYTES);
    cr_assert_leq(ls_state_tree_node_count(tree), 2048);
    ls_state_tree_hash(tree, state);
    for (uint32_t node = 0; node < ls_state_tree_node_count(tree); node++) {
        before[node] = ls_state_tree_node_hash(tree, node);
    }
    const size_t places[] = {0, LS_TREE_LEAF_BYTES, BYTES / 2, BYTES - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        state[places[i]] ^= 0x10;
        ls_state_tree_hash(tree, state);
        /* state, part, field, two levels of chunks */
        cr_expect_eq(root_path_length(tree, before), 5, "byte %zu", places[i]);
        state[places[i]] ^= 0x10;
    }
}

Test(state_tree, below_goes_as_deep_as_it_may)
{
    ls_state_tree *tree = make_byte_tree(300 * LS_TREE_LEAF_BYTES);
    const uint32_t field = 2;
    cr_expect_eq(ls_state_tree_below(tree, 0, LS_FIELDS_MAX).first, field);
    cr_expect_eq(ls_state_tree_below(tree, field, 2).count, 3, "its children are more than asked");
    cr_expect_eq(ls_state_tree_below(tree, field, 299).count, 3);
    cr_expect_eq(ls_state_tree_below(tree, field, 300).count, 300);
    ls_tree_range chunks = ls_state_tree_below(tree, field, 3);
    cr_expect_eq(ls_state_tree_below(tree, chunks.first + 2, 1000).count, 300 - 2 * 128);
    ls_tree_range leaves = ls_state_tree_below(tree, field, 300);
    cr_expect_eq(ls_state_tree_below(tree, leaves.first, 1000).count, 0);
}

static const ls_sim_instance *open_thousand_cells(void)
{
    ls_sim_config config = ls_sim_config_default(counter_simulation());
    config.params[COUNTER_PARAM_CELLS] = 1000;
    return keep_instance(counter_simulation(), &config);
}

Test(state_tree, leaves_written_to_another_state_make_it_the_same)
{
    const ls_sim_instance *instance = open_thousand_cells();
    ls_state_tree *tree = make_tree(ls_sim_instance_schema(instance));
    static uint8_t other[STATE_BYTES_MAX];
    size_t bytes = ls_sim_instance_state_bytes(instance);
    memset(other, 0xee, bytes);
    for (uint32_t node = 0; node < ls_state_tree_node_count(tree); node++) {
        uint8_t values[LS_TREE_LEAF_BYTES];
        if (ls_state_tree_leaf_bytes(tree, node) > 0) {
            ls_state_tree_read_leaf(tree, node, ls_sim_instance_view(instance), values);
            ls_state_tree_write_leaf(tree, node, values, other);
        }
    }
    cr_assert_eq(memcmp(other, ls_sim_instance_view(instance), bytes), 0);
}

/* The same on every machine, whatever its byte order. */
Test(state_tree, the_first_state_of_a_match_has_the_root_that_it_always_had)
{
    const ls_sim_instance *instance = open_thousand_cells();
    ls_state_tree *tree = make_tree(ls_sim_instance_schema(instance));
    ls_state_tree_hash(tree, ls_sim_instance_view(instance));
    cr_expect_eq(ls_state_tree_node_hash(tree, 0), UINT64_C(0xa869e7235cd2ee37), "%016" PRIx64,
                 ls_state_tree_node_hash(tree, 0));
}

static size_t answer_size(const ls_state_tree *tree, bool wants_values, uint32_t first,
                          uint32_t count)
{
    uint8_t bytes[LS_TREE_ANSWER_BYTES_MAX];
    static uint8_t state[300 * LS_TREE_LEAF_BYTES];
    ls_tree_query query = {wants_values, {first, count}};
    size_t size = ls_state_tree_answer(tree, state, &query, bytes);
    cr_assert_eq(size, ls_state_tree_answer_bytes(tree, &query));
    return size;
}

Test(state_tree, queries_that_make_no_sense_have_no_answer)
{
    ls_state_tree *tree = make_byte_tree(300 * LS_TREE_LEAF_BYTES);
    uint32_t nodes = ls_state_tree_node_count(tree);
    cr_expect_eq(answer_size(tree, false, 0, 1), 8);
    cr_expect_eq(answer_size(tree, false, 0, 128), 1024);
    cr_expect_eq(answer_size(tree, false, 0, 129), 0, "too much for one answer");
    cr_expect_eq(answer_size(tree, false, 0, 0), 0);
    cr_expect_eq(answer_size(tree, false, nodes - 1, 1), 8);
    cr_expect_eq(answer_size(tree, false, nodes - 1, 2), 0, "past the last node");
    cr_expect_eq(answer_size(tree, false, nodes, 1), 0);
    cr_expect_eq(answer_size(tree, false, UINT32_MAX, UINT32_MAX), 0);
    cr_expect_eq(answer_size(tree, true, nodes - 2, 2), 1024);
    cr_expect_eq(answer_size(tree, true, nodes - 3, 3), 0);
    cr_expect_eq(answer_size(tree, true, 0, 1), 0, "the state is no leaf");
    cr_expect_eq(answer_size(tree, true, nodes, UINT32_MAX), 0);
}

Test(state_tree, an_unknown_node_is_a_mistake, .signal = SIGABRT)
{
    ls_state_tree *tree = make_byte_tree(10);
    ls_state_tree_node(tree, 3);
}

Test(state_tree, hashing_never_allocates_and_refused_memory_is_survived)
{
    ls_schema *schema = make_schema(parted, 4, 40);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_state_tree *made = NULL;
        refused.status = ls_state_tree_create(schema, &refused.counting.allocator, &made);
        cr_expect_eq(made != NULL, refused.status == LS_OK);
        ls_state_tree_destroy(made);
    }
    ls_state_tree *tree = make_tree(schema);
    const uint8_t state[40] = {1};
    uint64_t calls = heap_calls();
    ls_state_tree_hash(tree, state);
    cr_expect_eq(heap_calls(), calls);
    ls_state_tree_destroy(NULL);
}

/* ---- state_difference ---- */

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

static ls_schema *state_difference_make_schema(void)
{
    ls_schema *schema = NULL;
    cr_assert_eq(ls_schema_create(fields, 5, sizeof(sample), ls_allocator_heap(), &schema, NULL),
                 LS_OK);
    return schema;
}

static ls_state_difference difference_of(const sample *a, const sample *b)
{
    ls_schema *schema = state_difference_make_schema();
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

/* ---- hash_tree_diff ---- */

enum {
    HEADER_BYTES = 12 /* more than a query's, and an answer's, needs on the wire */
};

/* Two machines: this one descends, the other answers. */
typedef struct pair {
    ls_sim_instance *instance;
    const ls_schema *schema;
    size_t bytes;
    uint8_t *mine;
    uint8_t *others;
    ls_state_tree *my_tree;
    ls_state_tree *other_tree;
    ls_hash_tree_diff *diff;
} pair;

static void destroy_diff(void *diff)
{
    ls_hash_tree_diff_destroy(diff);
}

static pair open_pair(ls_sim_instance *instance)
{
    pair made = {.instance = instance,
                 .schema = ls_sim_instance_schema(instance),
                 .bytes = ls_sim_instance_state_bytes(instance)};
    const ls_allocator *heap = ls_allocator_heap();
    made.mine = keep_until_end(malloc(made.bytes), free);
    made.others = keep_until_end(malloc(made.bytes), free);
    memcpy(made.mine, ls_sim_instance_view(instance), made.bytes);
    memcpy(made.others, made.mine, made.bytes);
    cr_assert_eq(ls_state_tree_create(made.schema, heap, &made.my_tree), LS_OK);
    cr_assert_eq(ls_state_tree_create(made.schema, heap, &made.other_tree), LS_OK);
    cr_assert_eq(ls_hash_tree_diff_create(made.schema, heap, &made.diff), LS_OK);
    keep_until_end(made.my_tree, destroy_tree);
    keep_until_end(made.other_tree, destroy_tree);
    keep_until_end(made.diff, destroy_diff);
    ls_state_tree_hash(made.my_tree, made.mine);
    return made;
}

static ls_status answer_once(pair *both, const ls_tree_query *query)
{
    uint8_t answer[LS_TREE_ANSWER_BYTES_MAX];
    size_t size = ls_state_tree_answer(both->other_tree, both->others, query, answer);
    cr_assert_neq(size, 0, "every query has an answer");
    return ls_hash_tree_diff_answer(both->diff, query, answer, size);
}

static ls_diff_figures descend(pair *both)
{
    ls_tree_query query;
    ls_state_tree_hash(both->other_tree, both->others);
    ls_hash_tree_diff_start(both->diff, both->my_tree, both->mine);
    while (ls_hash_tree_diff_next_query(both->diff, &query)) {
        cr_assert_eq(answer_once(both, &query), LS_OK);
    }
    cr_assert(ls_hash_tree_diff_is_done(both->diff));
    return ls_hash_tree_diff_figures(both->diff);
}

static ls_state_difference result_of(const pair *both)
{
    ls_state_difference found;
    ls_hash_tree_diff_result(both->diff, &found);
    return found;
}

static pair open_arena(uint32_t bodies)
{
    ls_sim_config config = arena_config();
    config.params[LS_ARENA_PARAM_BODIES] = bodies;
    arena_fixture arena = arena_open(config);
    arena_run_bots(&arena, 40);
    return open_pair(arena.instance);
}

/* Sizes above 1 MiB ask for so many units. */
static pair open_units(uint32_t units)
{
    ls_sim_config config = ls_sim_config_default(ls_units_simulation());
    config.params[0] = units;
    return open_pair(keep_instance(ls_units_simulation(), &config));
}

static void show(const char *what, const pair *both, ls_diff_figures figures)
{
    printf("%-34s %8zu bytes of state: %u round trips, %3u queries, %6llu bytes with headers\n",
           what, both->bytes, figures.rounds, figures.queries,
           (unsigned long long)(figures.bytes + 2ull * HEADER_BYTES * figures.queries));
}

static void keep_worst(ls_diff_figures *worst, ls_diff_figures figures)
{
    worst->rounds = figures.rounds > worst->rounds ? figures.rounds : worst->rounds;
    worst->queries = figures.queries > worst->queries ? figures.queries : worst->queries;
    worst->bytes = figures.bytes > worst->bytes ? figures.bytes : worst->bytes;
}

TestSuite(hash_tree_diff, .fini = destroy_kept);

Test(hash_tree_diff, every_flipped_bit_of_an_arena_is_named)
{
    pair both = open_arena(40);
    ls_diff_figures worst = {0};
    for (size_t bit = 0; bit < both.bytes * 8; bit++) {
        both.others[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ls_diff_figures figures = descend(&both);
        ls_state_difference found = result_of(&both);
        ls_schema_place expected = ls_schema_at(both.schema, bit / 8);
        cr_assert_eq(found.place_count, 1, "bit %zu", bit);
        cr_assert_eq(found.elements, 1);
        cr_assert_eq(found.fields, 1);
        cr_assert_not(found.is_lower_bound);
        cr_assert_eq(found.places[0].field, expected.field);
        cr_assert_eq(found.places[0].item, expected.item);
        cr_assert_eq(found.places[0].element, expected.element);
        ls_difference_text text = ls_state_difference_text(
            &found.places[0], both.mine, ls_hash_tree_diff_other_state(both.diff));
        ls_difference_text truth = ls_state_difference_text(&expected, both.mine, both.others);
        cr_assert_str_eq(text.name, truth.name);
        cr_assert_str_eq(text.a, truth.a);
        cr_assert_str_eq(text.b, truth.b);
        cr_assert_str_neq(text.a, text.b);
        keep_worst(&worst, figures);
        both.others[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    show("any bit of an arena, the worst", &both, worst);
    cr_expect_leq(worst.rounds, 3);
}

Test(hash_tree_diff, a_bit_in_a_mebibyte_takes_few_round_trips)
{
    pair both = open_units(20000);
    cr_assert_gt(both.bytes, 1u << 20);
    ls_diff_figures worst = {0};
    for (size_t byte = 5; byte < both.bytes; byte += both.bytes / 97) {
        both.others[byte] ^= 4;
        ls_diff_figures figures = descend(&both);
        ls_state_difference found = result_of(&both);
        cr_assert_eq(found.elements, 1);
        cr_assert_eq(found.places[0].offset, ls_schema_at(both.schema, byte).offset);
        keep_worst(&worst, figures);
        both.others[byte] ^= 4;
    }
    show("a bit of units, the worst", &both, worst);
    cr_expect_leq(worst.rounds, 4);
    cr_expect_leq(worst.bytes, 8192);
}

Test(hash_tree_diff, states_that_differ_everywhere_end_as_soon)
{
    pair both = open_units(20000);
    for (size_t i = 0; i < both.bytes; i++) {
        both.others[i] = (uint8_t)~both.others[i];
    }
    ls_diff_figures figures = descend(&both);
    show("every bit of units", &both, figures);
    ls_state_difference found = result_of(&both);
    ls_state_difference truth;
    ls_state_difference_find(both.schema, both.mine, both.others, &truth);
    cr_expect_eq(found.place_count, LS_DIFFERENCES_MAX);
    cr_expect_eq(found.fields, ls_schema_field_count(both.schema));
    cr_expect(found.is_lower_bound);
    cr_expect_gt(found.elements, LS_HASH_TREE_DIFF_LEAVES_MAX);
    cr_expect_leq(found.elements, truth.elements);
    cr_expect_leq(figures.rounds, LS_HASH_TREE_DIFF_ROUNDS_MAX);
    cr_expect_leq(figures.bytes, LS_HASH_TREE_DIFF_BYTES_MAX);
    for (uint32_t i = 0; i < found.place_count; i++) {
        const ls_schema_place *place = &found.places[i];
        ls_difference_text text =
            ls_state_difference_text(place, both.others, ls_hash_tree_diff_other_state(both.diff));
        cr_expect_str_eq(text.a, text.b, "%s was told as it is", text.name);
    }
}

Test(hash_tree_diff, every_field_shows_a_value_when_all_of_an_arena_differs)
{
    pair both = open_arena(200);
    for (size_t i = 0; i < both.bytes; i++) {
        both.others[i] ^= 1;
    }
    ls_diff_figures figures = descend(&both);
    show("every byte of an arena", &both, figures);
    ls_state_difference found = result_of(&both);
    cr_expect_eq(found.fields, ls_schema_field_count(both.schema));
    for (uint32_t i = 1; i < found.place_count; i++) {
        cr_expect_neq(found.places[i].field, found.places[i - 1].field);
    }
}

/* In a copy of this machine's state, and in that state itself. */
static void check_exchange(const pair *both)
{
    uint8_t *copy = keep_until_end(malloc(both->bytes), free);
    uint8_t *const states[] = {copy, both->mine};
    memcpy(copy, both->mine, both->bytes);
    for (uint32_t i = 0; i < 2; i++) {
        ls_hash_tree_diff_exchange(both->diff, states[i]);
        cr_assert_eq(memcmp(states[i], both->others, both->bytes), 0);
        ls_hash_tree_diff_exchange(both->diff, states[i]);
    }
    cr_assert_eq(memcmp(both->mine, copy, both->bytes), 0);
}

Test(hash_tree_diff, the_count_is_exact_when_every_differing_leaf_was_fetched)
{
    pair both = open_arena(200);
    ls_rng rng = ls_rng_make(3, 1);
    for (uint32_t changes = 1; changes < 60; changes++) {
        size_t byte = ls_rng_below(&rng, (uint32_t)both.bytes);
        both.others[byte] ^= 0x21;
        ls_diff_figures figures = descend(&both);
        ls_state_difference found = result_of(&both);
        ls_state_difference truth;
        ls_state_difference_find(both.schema, both.mine, both.others, &truth);
        if (figures.left_out == 0) {
            cr_assert_eq(found.elements, truth.elements);
            cr_assert_not(found.is_lower_bound);
            check_exchange(&both);
            cr_assert_eq(memcmp(ls_hash_tree_diff_other_state(both.diff), both.others, both.bytes),
                         0);
            check_exchange(&both);
            cr_assert_eq(result_of(&both).elements, truth.elements);
        } else {
            cr_assert_leq(found.elements, truth.elements);
        }
    }
}

Test(hash_tree_diff, the_leaves_it_names_heal_the_other_state)
{
    pair both = open_arena(200);
    ls_rng rng = ls_rng_make(4, 1);
    for (uint32_t changes = 0; changes < 20; changes++) {
        both.others[ls_rng_below(&rng, (uint32_t)both.bytes)] ^= 0x42;
    }
    descend(&both);
    cr_assert_not(result_of(&both).is_lower_bound);
    uint32_t leaves = ls_hash_tree_diff_leaf_count(both.diff);
    cr_assert(leaves > 1 && leaves <= 20);
    for (uint32_t i = 0; i < leaves; i++) {
        uint8_t values[LS_TREE_LEAF_BYTES];
        uint32_t leaf = ls_hash_tree_diff_leaf(both.diff, i);
        ls_state_tree_read_leaf(both.my_tree, leaf, both.mine, values);
        ls_state_tree_write_leaf(both.other_tree, leaf, values, both.others);
    }
    cr_expect_eq(memcmp(both.mine, both.others, both.bytes), 0);
}

Test(hash_tree_diff, equal_states_end_after_one_round)
{
    pair both = open_arena(10);
    ls_diff_figures figures = descend(&both);
    cr_expect_eq(figures.rounds, 1);
    cr_expect_eq(result_of(&both).elements, 0);
}

/* ---- another machine that answers wrongly ---- */

Test(hash_tree_diff, answers_that_do_not_fit_change_nothing)
{
    pair both = open_arena(40);
    uint8_t answer[LS_TREE_ANSWER_BYTES_MAX];
    ls_tree_query query, wrong;
    both.others[100] ^= 1;
    ls_state_tree_hash(both.other_tree, both.others);
    ls_hash_tree_diff_start(both.diff, both.my_tree, both.mine);
    wrong = (ls_tree_query){false, {0, 1}};
    cr_expect_eq(ls_hash_tree_diff_answer(both.diff, &wrong, answer, 8), LS_STALE,
                 "nothing was asked");
    while (ls_hash_tree_diff_next_query(both.diff, &query)) {
        size_t size = ls_state_tree_answer(both.other_tree, both.others, &query, answer);
        cr_expect_eq(ls_hash_tree_diff_answer(both.diff, &query, answer, size - 1), LS_MALFORMED);
        wrong = query;
        wrong.nodes.first++;
        cr_expect_eq(ls_hash_tree_diff_answer(both.diff, &wrong, answer, size), LS_MALFORMED);
        wrong = query;
        wrong.wants_values = !wrong.wants_values;
        cr_expect_eq(ls_hash_tree_diff_answer(both.diff, &wrong, answer, size), LS_MALFORMED);
        if (query.wants_values) {
            answer[0] ^= 1;
            cr_expect_eq(ls_hash_tree_diff_answer(both.diff, &query, answer, size), LS_MALFORMED,
                         "values are checked against the hash that was told");
            answer[0] ^= 1;
        }
        cr_assert_eq(ls_hash_tree_diff_answer(both.diff, &query, answer, size), LS_OK);
    }
    cr_expect(ls_hash_tree_diff_is_done(both.diff));
    cr_expect_eq(result_of(&both).elements, 1);
    cr_expect_eq(ls_hash_tree_diff_answer(both.diff, &query, answer, 8), LS_STALE);
}

Test(hash_tree_diff, random_answers_end_within_the_stated_bounds)
{
    pair both = open_units(20000);
    ls_rng rng = ls_rng_make(9, 1);
    for (uint32_t run = 0; run < 20; run++) {
        ls_tree_query query;
        uint32_t queries = 0;
        ls_hash_tree_diff_start(both.diff, both.my_tree, both.mine);
        while (ls_hash_tree_diff_next_query(both.diff, &query)) {
            uint8_t answer[LS_TREE_ANSWER_BYTES_MAX];
            size_t size = ls_state_tree_answer_bytes(both.my_tree, &query);
            for (size_t i = 0; i < size; i++) {
                answer[i] = (uint8_t)ls_rng_next(&rng);
            }
            cr_assert_lt(queries++, 5000);
            if (ls_hash_tree_diff_answer(both.diff, &query, answer, size) != LS_OK) {
                cr_assert(query.wants_values, "random hashes all differ; random values are found");
                break;
            }
        }
        ls_diff_figures figures = ls_hash_tree_diff_figures(both.diff);
        cr_expect_leq(figures.bytes, LS_HASH_TREE_DIFF_BYTES_MAX);
        cr_expect_leq(figures.rounds, LS_HASH_TREE_DIFF_ROUNDS_MAX);
        cr_expect(result_of(&both).is_lower_bound);
    }
}

Test(hash_tree_diff, a_node_that_differs_with_equal_children_is_counted)
{
    pair both = open_units(20000);
    both.others[both.bytes / 2] ^= 1;
    ls_state_tree_hash(both.other_tree, both.others);
    ls_hash_tree_diff_start(both.diff, both.my_tree, both.mine);
    ls_tree_query query;
    while (ls_hash_tree_diff_next_query(both.diff, &query)) {
        bool is_first = ls_hash_tree_diff_figures(both.diff).rounds == 1;
        const ls_state_tree *tree = is_first ? both.other_tree : both.my_tree;
        uint8_t answer[LS_TREE_ANSWER_BYTES_MAX];
        size_t size = ls_state_tree_answer(tree, both.mine, &query, answer);
        cr_assert_eq(ls_hash_tree_diff_answer(both.diff, &query, answer, size), LS_OK);
    }
    cr_expect_eq(ls_hash_tree_diff_figures(both.diff).unfounded, 1);
    cr_expect(result_of(&both).is_lower_bound);
    cr_expect_eq(result_of(&both).fields, 1);
}

Test(hash_tree_diff, allocates_at_create_only_and_survives_refused_memory)
{
    pair both = open_arena(40);
    both.others[77] ^= 1;
    uint64_t calls = heap_calls();
    descend(&both);
    cr_expect_eq(heap_calls(), calls);
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_hash_tree_diff *diff = NULL;
        refused.status = ls_hash_tree_diff_create(both.schema, &refused.counting.allocator, &diff);
        ls_hash_tree_diff_destroy(diff);
    }
}

/* ==== state_inspector ==== */

enum {
    TICKS = 400, /* more than the states that a window keeps whole */
};

static diagnosed_match match;
static ls_state_inspector inspector;
static ls_rerun_local *reruns;

static void open(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&match, fault_simulation(), &config);
    cr_assert_eq(ls_state_inspector_init(&inspector, match.server.instance, match.server.window,
                                         ls_allocator_heap()),
                 LS_OK);
    cr_assert_eq(ls_rerun_local_create(ls_allocator_heap(), &reruns), LS_OK);
    diagnosed_match_run(&match, TICKS);
}

static void close(void)
{
    ls_state_inspector_deinit(&inspector);
    ls_rerun_local_destroy(reruns);
    diagnosed_match_close(&match);
}

static uint64_t recorded_hash(ls_tick tick)
{
    uint64_t state_hash = 0;
    cr_assert_eq(ls_replay_window_hash(match.server.window, tick, &state_hash), LS_OK);
    return state_hash;
}

TestSuite(state_inspector, .init = open, .fini = close);

Test(state_inspector, holds_a_state_of_the_window_after_the_window_has_moved_on)
{
    cr_assert(ls_state_inspector_hold(&inspector, TICKS - 10));
    uint64_t state_hash = recorded_hash(TICKS - 10);
    diagnosed_match_run(&match, TICKS);
    cr_assert_null(ls_replay_window_state(match.server.window, TICKS - 10));
    cr_assert(ls_state_inspector_hold(&inspector, TICKS - 10));
    cr_assert_eq(ls_state_inspector_hash(&inspector), state_hash);
}

Test(state_inspector, does_not_hold_a_state_that_has_left_the_window)
{
    cr_assert_not(ls_state_inspector_hold(&inspector, 10));
    cr_assert(ls_state_inspector_hold(&inspector, TICKS));
    cr_assert_not(ls_state_inspector_hold(&inspector, 10), "it holds another one");
}

static ls_status start_rerun(ls_tick tick, uint32_t pass, uint32_t *ticket)
{
    const ls_rerun_subject subject = {tick - 1, tick, pass, false};
    return ls_state_inspector_start_rerun(&inspector, ls_rerun_local_host(reruns), &subject, 1000,
                                          ticket);
}

Test(state_inspector, holds_a_state_that_a_rerun_has_led_to)
{
    ls_tick gone = TICKS - 10;
    uint64_t state_hash = recorded_hash(gone);
    const ls_rerun_host *host = ls_rerun_local_host(reruns);
    uint32_t ticket = 0;
    cr_assert_eq(start_rerun(gone, 1, &ticket), LS_OK);
    const ls_rerun_outcome *outcome = NULL;
    for (uint64_t now_ns = 1; !outcome; now_ns += LS_NS_PER_SECOND / 60) {
        outcome = host->poll(host->context, ticket, now_ns);
    }
    diagnosed_match_run(&match, TICKS);
    cr_assert_null(ls_replay_window_state(match.server.window, gone));
    cr_assert(ls_state_inspector_hold_rerun(&inspector, outcome));
    cr_assert_eq(ls_state_inspector_hash(&inspector), state_hash);
    ls_rerun_outcome other = *outcome;
    other.figures.live ^= 1;
    cr_assert_not(ls_state_inspector_hold_rerun(&inspector, &other), "it is not what was recorded");
    other.figures.live = 0;
    cr_assert(ls_state_inspector_hold_rerun(&inspector, &other), "nothing was recorded of it");
    cr_assert(ls_state_inspector_hold_pass(&inspector, outcome, 1));
    cr_assert(ls_state_inspector_has(&inspector, gone, 1));
    cr_assert_not(ls_state_inspector_has(&inspector, gone, LS_NO_PASS));
    cr_assert_eq(ls_state_inspector_hash(&inspector), outcome->passes.state_hashes[1]);
    cr_assert_not(ls_state_inspector_hold_pass(&inspector, outcome, 2), "it was asked for another");
    other.state = NULL;
    cr_assert_not(ls_state_inspector_hold_rerun(&inspector, &other), "it was not reached");
    host->release(host->context, ticket);
}

Test(state_inspector, cannot_run_again_what_the_window_never_had)
{
    uint32_t ticket = 0;
    cr_assert_eq(start_rerun(TICKS + 1, LS_NO_PASS, &ticket), LS_NOT_FOUND);
    cr_assert_eq(ticket, 0);
}
