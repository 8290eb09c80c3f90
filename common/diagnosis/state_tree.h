/* State tree: the hash tree over a state's schema: state -> part -> field -> chunk of elements.
 * Answers what a machine that compares its state with another's asks: hashes of nodes, values of
 * leaves. Numbered from the schema alone, hashed in canonical byte order: machines with equal
 * schema digests mean the same by a node's number. Needed after a mismatch only, never per tick.
 * Owns the hashes of one state at a time; never allocates after create, never changes a state
 * unless asked to write a leaf. Called by the hash-tree diff, by match and session, and by healing.
 *
 * Node 0 is the state; then the parts (what stands before the first dot of a path) in the order of
 * their first byte; then the fields, part by part, each part's by offset; then each field's chunks,
 * level by level from the top. A field of at most LS_TREE_LEAF_BYTES is a leaf itself; a longer one
 * has leaves of that many bytes (the last one less) and up to LS_TREE_FAN children a node between.
 * An element's number in its field is item * length + place. A leaf's hash is XXH3-64 of its
 * elements, each little-endian, one after another; any other node's that of its children's hashes,
 * each little-endian. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STATE_TREE_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STATE_TREE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/state_schema.h"

LS_C_BEGIN

#define LS_TREE_LEAF_BYTES 512u
#define LS_TREE_FAN 128u

/* The size limit of one answer: hashes of 128 nodes, or the values of two whole leaves. With the
 * header of a message it fits a packet. */
#define LS_TREE_ANSWER_BYTES_MAX 1024u

typedef enum ls_tree_node_kind {
    LS_TREE_STATE,
    LS_TREE_PART,
    LS_TREE_FIELD,
    LS_TREE_CHUNK,
} ls_tree_node_kind;

/* Nodes with neighbouring numbers. */
typedef struct ls_tree_range {
    uint32_t first;
    uint32_t count;
} ls_tree_range;

typedef struct ls_tree_node {
    ls_tree_node_kind kind;
    ls_tree_range children; /* none: a leaf */
    uint32_t field;         /* schema index; of a part its first one; 0 for the state */
    uint32_t first_element; /* of a field or chunk: the elements under it */
    uint32_t element_count; /* 0 for the state and for parts */
} ls_tree_node;

/* A question of one machine to another: 8 bytes of hash per node, or the values of leaves. */
typedef struct ls_tree_query {
    bool wants_values;
    ls_tree_range nodes;
} ls_tree_query;

typedef struct ls_state_tree ls_state_tree;

/* Borrows the schema. NO_MEMORY. */
ls_status ls_state_tree_create(const ls_schema *schema, const ls_allocator *allocator,
                               ls_state_tree **out);
void ls_state_tree_destroy(ls_state_tree *tree);

const ls_schema *ls_state_tree_schema(const ls_state_tree *tree);
uint32_t ls_state_tree_node_count(const ls_state_tree *tree);
ls_tree_node ls_state_tree_node(const ls_state_tree *tree, uint32_t node); /* < node_count */

/* The deepest level of nodes below `node` with at most `count_max` of them that covers all of it;
 * its children when even those are more; count 0 for a leaf. */
ls_tree_range ls_state_tree_below(const ls_state_tree *tree, uint32_t node, uint32_t count_max);

/* Hashes every node over one state, laid out as this machine has it. Until then hashes are 0. */
void ls_state_tree_hash(ls_state_tree *tree, const void *state);

/* The same in pieces: the nodes from the last of `*left` on, `count` at most; *left is the node
 * count at first, and 0 once all are hashed. */
void ls_state_tree_hash_some(ls_state_tree *tree, const void *state, uint32_t count,
                             uint32_t *left);
uint64_t ls_state_tree_node_hash(const ls_state_tree *tree, uint32_t node); /* < node_count */

/* A leaf's elements, little-endian, one after another; writing is how a state is healed. */
size_t ls_state_tree_leaf_bytes(const ls_state_tree *tree, uint32_t leaf); /* 0: not a leaf */
void ls_state_tree_read_leaf(const ls_state_tree *tree, uint32_t leaf, const void *state,
                             uint8_t *bytes);
void ls_state_tree_write_leaf(const ls_state_tree *tree, uint32_t leaf, const uint8_t *bytes,
                              void *state);

/* Bytes of the answer to a query, 0 when there is none: no nodes, unknown nodes, values of a node
 * that is no leaf, or more than LS_TREE_ANSWER_BYTES_MAX. Safe for queries from anywhere. */
size_t ls_state_tree_answer_bytes(const ls_state_tree *tree, const ls_tree_query *query);

/* Writes the answer about the state that was hashed last and returns its size, 0 likewise. */
size_t ls_state_tree_answer(const ls_state_tree *tree, const void *state,
                            const ls_tree_query *query, uint8_t bytes[LS_TREE_ANSWER_BYTES_MAX]);

LS_C_END

#endif
