#include "lockstep/common/diagnosis/state_tree.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

#include <string.h>

enum {
    HASH_BYTES = 8,
    LEVELS_MAX = 4, /* of chunks: enough for LS_STATE_BYTES_MAX of single bytes */
};

/* A field in the order of its node. */
typedef struct tree_field {
    const ls_field *field;
    uint32_t schema_index;
    uint32_t element_bytes;
    uint32_t element_count;
    uint32_t per_leaf;
    uint32_t level_count; /* 0: the field is a leaf itself */
    uint32_t level_size[LEVELS_MAX];
    uint32_t level_first[LEVELS_MAX]; /* node */
    uint32_t chunks_first;            /* node; of the next field's chunks when there are none */
} tree_field;

/* Fields with neighbouring nodes. */
typedef struct tree_part {
    uint32_t first_field; /* in the order of nodes */
    uint32_t field_count;
} tree_part;

struct ls_state_tree {
    const ls_allocator *allocator;
    const ls_schema *schema;
    uint32_t part_count;
    uint32_t field_count;
    uint32_t node_count;
    tree_part *parts;
    tree_field *fields;
    uint64_t *hashes; /* [node_count] */
};

/* ---- create ---- */

static size_t part_bytes(const char *path)
{
    return strcspn(path, ".");
}

static bool is_same_part(const ls_field *a, const ls_field *b)
{
    size_t bytes = part_bytes(a->path);
    return bytes == part_bytes(b->path) && memcmp(a->path, b->path, bytes) == 0;
}

static bool is_first_of_part(const ls_schema *schema, uint32_t index)
{
    for (uint32_t i = 0; i < index; i++) {
        if (is_same_part(ls_schema_field(schema, i), ls_schema_field(schema, index))) {
            return false;
        }
    }
    return true;
}

/* Levels from the leaves up, until a field's own children are few enough. */
static void measure_levels(tree_field *made)
{
    uint32_t sizes[LEVELS_MAX] = {0};
    uint32_t size = (made->element_count + made->per_leaf - 1) / made->per_leaf;
    while (size > 1) {
        LS_ASSERT(made->level_count < LEVELS_MAX);
        sizes[made->level_count++] = size;
        size = size <= LS_TREE_FAN ? 1 : (size + LS_TREE_FAN - 1) / LS_TREE_FAN;
    }
    for (uint32_t level = 0; level < made->level_count; level++) {
        made->level_size[level] = sizes[made->level_count - 1 - level];
    }
}

static tree_field make_field(const ls_schema *schema, uint32_t index)
{
    const ls_field *field = ls_schema_field(schema, index);
    tree_field made = {
        .field = field,
        .schema_index = index,
        .element_bytes = ls_field_type_bytes(field->type),
        .element_count = field->count * field->length,
    };
    made.per_leaf = LS_TREE_LEAF_BYTES / made.element_bytes;
    measure_levels(&made);
    return made;
}

/* The schema's fields, part by part. */
static void list_fields(ls_state_tree *tree)
{
    const ls_schema *schema = tree->schema;
    uint32_t listed = 0;
    for (uint32_t i = 0; i < tree->field_count; i++) {
        if (!is_first_of_part(schema, i)) {
            continue;
        }
        tree_part *part = &tree->parts[tree->part_count++];
        part->first_field = listed;
        for (uint32_t j = i; j < tree->field_count; j++) {
            if (is_same_part(ls_schema_field(schema, i), ls_schema_field(schema, j))) {
                tree->fields[listed++] = make_field(schema, j);
            }
        }
        part->field_count = listed - part->first_field;
    }
}

static void number_nodes(ls_state_tree *tree)
{
    uint32_t next = 1 + tree->part_count + tree->field_count;
    for (uint32_t i = 0; i < tree->field_count; i++) {
        tree_field *field = &tree->fields[i];
        field->chunks_first = next;
        for (uint32_t level = 0; level < field->level_count; level++) {
            field->level_first[level] = next;
            next += field->level_size[level];
        }
    }
    tree->node_count = next;
}

static bool build(ls_state_tree *tree)
{
    const ls_allocator *allocator = tree->allocator;
    tree->parts = ls_allocate_array(allocator, tree->field_count, sizeof *tree->parts);
    tree->fields = ls_allocate_array(allocator, tree->field_count, sizeof *tree->fields);
    if (!tree->parts || !tree->fields) {
        return false;
    }
    list_fields(tree);
    number_nodes(tree);
    tree->hashes = ls_allocate_array(allocator, tree->node_count, sizeof *tree->hashes);
    return tree->hashes != NULL;
}

ls_status ls_state_tree_create(const ls_schema *schema, const ls_allocator *allocator,
                               ls_state_tree **out)
{
    ls_state_tree *tree = ls_allocate(allocator, sizeof *tree);
    if (!tree) {
        return LS_NO_MEMORY;
    }
    tree->allocator = allocator;
    tree->schema = schema;
    tree->field_count = ls_schema_field_count(schema);
    if (!build(tree)) {
        ls_state_tree_destroy(tree);
        return LS_NO_MEMORY;
    }
    *out = tree;
    return LS_OK;
}

void ls_state_tree_destroy(ls_state_tree *tree)
{
    if (!tree) {
        return;
    }
    ls_release(tree->allocator, tree->hashes);
    ls_release(tree->allocator, tree->fields);
    ls_release(tree->allocator, tree->parts);
    ls_release(tree->allocator, tree);
}

const ls_schema *ls_state_tree_schema(const ls_state_tree *tree)
{
    return tree->schema;
}

uint32_t ls_state_tree_node_count(const ls_state_tree *tree)
{
    return tree->node_count;
}

/* ---- where a node stands ---- */

static uint32_t first_field_node(const ls_state_tree *tree)
{
    return 1 + tree->part_count;
}

/* The field that a chunk belongs to: the last one whose chunks do not begin behind it. */
static const tree_field *field_of_chunk(const ls_state_tree *tree, uint32_t node)
{
    uint32_t low = 0, high = tree->field_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (tree->fields[middle].chunks_first <= node) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &tree->fields[low];
}

static uint32_t level_of_chunk(const tree_field *field, uint32_t node)
{
    uint32_t level = 0;
    while (node - field->level_first[level] >= field->level_size[level]) {
        level++;
    }
    return level;
}

/* Elements under one node of a level. */
static uint32_t elements_each(const tree_field *field, uint32_t level)
{
    uint32_t elements = field->per_leaf;
    for (uint32_t i = level + 1; i < field->level_count; i++) {
        elements *= LS_TREE_FAN;
    }
    return elements;
}

/* The children of neighbours in one level, by their places in it. */
static ls_tree_range children_of(const tree_field *field, uint32_t level, ls_tree_range places)
{
    uint32_t size = field->level_size[level + 1];
    uint32_t first = places.first * LS_TREE_FAN;
    uint32_t count = places.count * LS_TREE_FAN;
    return (ls_tree_range){first, count < size - first ? count : size - first};
}

static ls_tree_range as_nodes(const tree_field *field, uint32_t level, ls_tree_range places)
{
    return (ls_tree_range){field->level_first[level] + places.first, places.count};
}

static ls_tree_node chunk_node(const tree_field *field, uint32_t node)
{
    uint32_t level = level_of_chunk(field, node);
    uint32_t place = node - field->level_first[level];
    uint32_t each = elements_each(field, level);
    uint32_t rest = field->element_count - place * each;
    ls_tree_node made = {
        .kind = LS_TREE_CHUNK,
        .field = field->schema_index,
        .first_element = place * each,
        .element_count = LS_MIN(rest, each),
    };
    if (level + 1 < field->level_count) {
        ls_tree_range below = children_of(field, level, (ls_tree_range){place, 1});
        made.children = as_nodes(field, level + 1, below);
    }
    return made;
}

static ls_tree_node field_node(const tree_field *field)
{
    ls_tree_node made = {
        .kind = LS_TREE_FIELD,
        .field = field->schema_index,
        .element_count = field->element_count,
    };
    if (field->level_count > 0) {
        made.children = (ls_tree_range){field->level_first[0], field->level_size[0]};
    }
    return made;
}

static ls_tree_node part_node(const ls_state_tree *tree, const tree_part *part)
{
    return (ls_tree_node){
        .kind = LS_TREE_PART,
        .children = {first_field_node(tree) + part->first_field, part->field_count},
        .field = tree->fields[part->first_field].schema_index,
    };
}

ls_tree_node ls_state_tree_node(const ls_state_tree *tree, uint32_t node)
{
    LS_ASSERT(node < tree->node_count);
    if (node == 0) {
        return (ls_tree_node){.kind = LS_TREE_STATE, .children = {1, tree->part_count}};
    }
    if (node < first_field_node(tree)) {
        return part_node(tree, &tree->parts[node - 1]);
    }
    if (node - first_field_node(tree) < tree->field_count) {
        return field_node(&tree->fields[node - first_field_node(tree)]);
    }
    return chunk_node(field_of_chunk(tree, node), node);
}

/* As deep as `count_max` allows from some chunks of a level on. */
static ls_tree_range deepest(const tree_field *field, uint32_t level, ls_tree_range places,
                             uint32_t count_max)
{
    while (level + 1 < field->level_count) {
        ls_tree_range below = children_of(field, level, places);
        if (below.count > count_max) {
            break;
        }
        places = below;
        level++;
    }
    return as_nodes(field, level, places);
}

ls_tree_range ls_state_tree_below(const ls_state_tree *tree, uint32_t node, uint32_t count_max)
{
    ls_tree_range children = ls_state_tree_node(tree, node).children;
    if (node == 0 && tree->field_count <= count_max) {
        return (ls_tree_range){first_field_node(tree), tree->field_count};
    }
    if (node < first_field_node(tree) || children.count == 0) {
        return children;
    }
    bool is_field = node - first_field_node(tree) < tree->field_count;
    const tree_field *field =
        is_field ? &tree->fields[node - first_field_node(tree)] : field_of_chunk(tree, node);
    uint32_t level = is_field ? 0 : level_of_chunk(field, node) + 1;
    ls_tree_range places = {children.first - field->level_first[level], children.count};
    return deepest(field, level, places, count_max);
}

/* ---- values ---- */

/* From one order of bytes to the other, either way. */
static void copy_swapped(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = from[bytes - 1 - i];
    }
}

/* Where elements lie, and how far apart. */
typedef struct spaced {
    uint8_t *at;
    size_t stride;
} spaced;

/* `bytes` is known where this is inlined, and so is the copy: ten times the speed of a call. */
static inline void copy_spaced(spaced to, spaced from, uint32_t count, uint32_t bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to.at, from.at, bytes);
        to.at += to.stride;
        from.at += from.stride;
    }
}

/* `stride` is known as well: the compiler reads and packs many elements at once. */
static inline void pack(uint8_t *restrict to, const uint8_t *restrict from, size_t stride,
                        uint32_t count, uint32_t bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + (size_t)i * bytes, from + i * stride, bytes);
    }
}

/* Leaves that are read one after another, and every second or fourth element of a table, are what
 * hashing a whole state comes down to. */
static inline void copy_any(spaced to, spaced from, uint32_t count, uint32_t bytes)
{
    if (to.stride != bytes) {
        copy_spaced(to, from, count, bytes);
    } else if (from.stride == bytes) {
        memcpy(to.at, from.at, (size_t)count * bytes);
    } else if (from.stride == 2 * (size_t)bytes) {
        pack(to.at, from.at, 2 * (size_t)bytes, count, bytes);
    } else if (from.stride == 4 * (size_t)bytes) {
        pack(to.at, from.at, 4 * (size_t)bytes, count, bytes);
    } else {
        copy_spaced(to, from, count, bytes);
    }
}

static void copy_elements(spaced to, spaced from, uint32_t count, uint32_t bytes)
{
    if (bytes > 1 && !ls_schema_is_canonical_here()) {
        for (uint32_t i = 0; i < count; i++) {
            copy_swapped(to.at + i * to.stride, from.at + i * from.stride, bytes);
        }
        return;
    }
    switch (bytes) {
    case 1:
        copy_any(to, from, count, 1);
        break;
    case 2:
        copy_any(to, from, count, 2);
        break;
    case 4:
        copy_any(to, from, count, 4);
        break;
    default:
        LS_ASSERT(bytes == 8);
        copy_any(to, from, count, 8);
    }
}

/* Elements of a leaf that are equally far apart: where the first lies in the state, and how many.
 */
typedef struct element_run {
    size_t offset;
    size_t stride;
    uint32_t count;
} element_run;

static element_run run_at(const ls_field *field, uint32_t element, uint32_t count_max)
{
    uint32_t bytes = ls_field_type_bytes(field->type);
    uint32_t place = element % field->length;
    bool is_dense = field->stride == ls_field_item_bytes(field);
    bool is_lone = field->length == 1;
    uint32_t count = is_dense || is_lone ? count_max : field->length - place;
    return (element_run){
        .offset = field->offset + (size_t)(element / field->length) * field->stride +
                  (size_t)place * bytes,
        .stride = is_lone ? field->stride : bytes,
        .count = LS_MIN(count, count_max),
    };
}

size_t ls_state_tree_leaf_bytes(const ls_state_tree *tree, uint32_t leaf)
{
    ls_tree_node node = ls_state_tree_node(tree, leaf);
    if (node.children.count > 0 || node.element_count == 0) {
        return 0;
    }
    const ls_field *field = ls_schema_field(tree->schema, node.field);
    return (size_t)node.element_count * ls_field_type_bytes(field->type);
}

/* Between a state and a leaf's elements one after another. */
static void copy_leaf(const ls_state_tree *tree, uint32_t leaf, uint8_t *state, uint8_t *bytes,
                      bool is_reading)
{
    ls_tree_node node = ls_state_tree_node(tree, leaf);
    const ls_field *field = ls_schema_field(tree->schema, node.field);
    uint32_t element_bytes = ls_field_type_bytes(field->type);
    LS_ASSERT(node.children.count == 0);
    for (uint32_t done = 0; done < node.element_count;) {
        element_run run = run_at(field, node.first_element + done, node.element_count - done);
        spaced there = {state + run.offset, run.stride};
        spaced packed = {bytes + (size_t)done * element_bytes, element_bytes};
        copy_elements(is_reading ? packed : there, is_reading ? there : packed, run.count,
                      element_bytes);
        done += run.count;
    }
}

void ls_state_tree_read_leaf(const ls_state_tree *tree, uint32_t leaf, const void *state,
                             uint8_t *bytes)
{
    copy_leaf(tree, leaf, (uint8_t *)(uintptr_t)state, bytes, true); /* only read */
}

void ls_state_tree_write_leaf(const ls_state_tree *tree, uint32_t leaf, const uint8_t *bytes,
                              void *state)
{
    copy_leaf(tree, leaf, state, (uint8_t *)(uintptr_t)bytes, false); /* only read */
}

/* ---- hashes ---- */

/* Writes neighbouring nodes' hashes as they travel and as they are hashed. */
static void store_hashes(const ls_state_tree *tree, ls_tree_range nodes, uint8_t *bytes)
{
    for (uint32_t i = 0; i < nodes.count; i++) {
        ls_store_u64(bytes + (size_t)i * HASH_BYTES, tree->hashes[nodes.first + i]);
    }
}

static uint64_t hash_children(const ls_state_tree *tree, ls_tree_range children)
{
    uint8_t bytes[LS_FIELDS_MAX * HASH_BYTES];
    LS_ASSERT(children.count <= LS_FIELDS_MAX);
    store_hashes(tree, children, bytes);
    return ls_hash_bytes(bytes, (size_t)children.count * HASH_BYTES, 0);
}

static uint64_t hash_leaf(const ls_state_tree *tree, uint32_t leaf, const void *state)
{
    uint8_t bytes[LS_TREE_LEAF_BYTES];
    ls_state_tree_read_leaf(tree, leaf, state, bytes);
    return ls_hash_bytes(bytes, ls_state_tree_leaf_bytes(tree, leaf), 0);
}

static uint64_t hash_node(const ls_state_tree *tree, uint32_t node, const void *state)
{
    ls_tree_range children = ls_state_tree_node(tree, node).children;
    return children.count > 0 ? hash_children(tree, children) : hash_leaf(tree, node, state);
}

/* Children have higher numbers than their parents. */
void ls_state_tree_hash_some(ls_state_tree *tree, const void *state, uint32_t count, uint32_t *left)
{
    LS_ASSERT(*left <= tree->node_count);
    for (uint32_t end = *left - LS_MIN(*left, count); *left > end;) {
        --*left;
        tree->hashes[*left] = hash_node(tree, *left, state);
    }
}

void ls_state_tree_hash(ls_state_tree *tree, const void *state)
{
    uint32_t left = tree->node_count;
    ls_state_tree_hash_some(tree, state, left, &left);
}

uint64_t ls_state_tree_node_hash(const ls_state_tree *tree, uint32_t node)
{
    LS_ASSERT(node < tree->node_count);
    return tree->hashes[node];
}

/* ---- queries ---- */

static size_t value_bytes(const ls_state_tree *tree, ls_tree_range leaves)
{
    size_t size = 0;
    for (uint32_t i = 0; i < leaves.count; i++) {
        size_t more = ls_state_tree_leaf_bytes(tree, leaves.first + i);
        if (more == 0 || size + more > LS_TREE_ANSWER_BYTES_MAX) {
            return 0;
        }
        size += more;
    }
    return size;
}

size_t ls_state_tree_answer_bytes(const ls_state_tree *tree, const ls_tree_query *query)
{
    ls_tree_range nodes = query->nodes;
    if (nodes.first >= tree->node_count || nodes.count > tree->node_count - nodes.first) {
        return 0;
    }
    if (query->wants_values) {
        return value_bytes(tree, nodes);
    }
    return nodes.count <= LS_TREE_ANSWER_BYTES_MAX / HASH_BYTES ? nodes.count * HASH_BYTES : 0;
}

size_t ls_state_tree_answer(const ls_state_tree *tree, const void *state,
                            const ls_tree_query *query, uint8_t bytes[LS_TREE_ANSWER_BYTES_MAX])
{
    size_t size = ls_state_tree_answer_bytes(tree, query);
    if (size == 0) {
        return 0;
    }
    if (!query->wants_values) {
        store_hashes(tree, query->nodes, bytes);
        return size;
    }
    size_t done = 0;
    for (uint32_t i = 0; i < query->nodes.count; i++) {
        uint32_t leaf = query->nodes.first + i;
        ls_state_tree_read_leaf(tree, leaf, state, bytes + done);
        done += ls_state_tree_leaf_bytes(tree, leaf);
    }
    return size;
}
