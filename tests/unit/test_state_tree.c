#include "lockstep/common/diagnosis/state_tree.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/tests/support/counter_simulation.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

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
