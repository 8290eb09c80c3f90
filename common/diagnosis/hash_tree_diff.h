/* State hash-tree diff: finds what differs between this machine's state and another's by asking for
 * hashes of nodes and values of leaves: what to ask next, given the answers. A pure state machine:
 * the caller carries queries and answers. Memory, round trips (LS_HASH_TREE_DIFF_ROUNDS_MAX) and
 * bytes (LS_HASH_TREE_DIFF_BYTES_MAX) are bounded whatever the other machine answers; its answers
 * are checked against one another. Allocates at create only. Called by the arbiter of a match, and
 * by tests. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_HASH_TREE_DIFF_H
#define LOCKSTEP_COMMON_DIAGNOSIS_HASH_TREE_DIFF_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/diagnosis/state_tree.h"

LS_C_BEGIN

#define LS_HASH_TREE_DIFF_HASHES_MAX 4096u /* asked in one round */
#define LS_HASH_TREE_DIFF_LEAVES_MAX 64u   /* leaves to fetch values of */
#define LS_HASH_TREE_DIFF_ROUNDS_MAX 6u    /* five levels of hashes, then values */
#define LS_HASH_TREE_DIFF_BYTES_MAX                                                                \
    ((LS_HASH_TREE_DIFF_ROUNDS_MAX - 1) * LS_HASH_TREE_DIFF_HASHES_MAX * 8u +                      \
     LS_HASH_TREE_DIFF_LEAVES_MAX * LS_TREE_LEAF_BYTES)

typedef struct ls_hash_tree_diff ls_hash_tree_diff;

typedef struct ls_diff_figures {
    uint32_t rounds;    /* round trips: all queries of a round are asked at once */
    uint32_t queries;   /* asked */
    uint64_t bytes;     /* of answers, without message headers */
    uint32_t leaves;    /* with fetched values */
    uint64_t left_out;  /* nodes that differ and were not looked into */
    uint64_t unfounded; /* nodes said to differ under which nothing does: the answers contradict */
} ls_diff_figures;

/* Borrows the schema; holds a block as large as a state, of which it uses what differs. NO_MEMORY.
 */
ls_status ls_hash_tree_diff_create(const ls_schema *schema, const ls_allocator *allocator,
                                   ls_hash_tree_diff **out);
size_t ls_hash_tree_diff_memory(const ls_schema *schema); /* bytes that one takes */
void ls_hash_tree_diff_destroy(ls_hash_tree_diff *diff);

/* Begins with a state and a tree of the schema that has hashed it; both are borrowed and stay as
 * they are until the end. Forgets what was found before. */
void ls_hash_tree_diff_start(ls_hash_tree_diff *diff, const ls_state_tree *tree, const void *state);

/* The next query to send, or false: nothing to ask before more answers have come, or the end. */
bool ls_hash_tree_diff_next_query(ls_hash_tree_diff *diff, ls_tree_query *out);

/* The answer to the oldest query without one. MALFORMED when it is the answer to another, when its
 * size is wrong or when values do not have the hash that was told before; nothing changes then.
 * STALE when nothing was asked. */
ls_status ls_hash_tree_diff_answer(ls_hash_tree_diff *diff, const ls_tree_query *query,
                                   const uint8_t *bytes, size_t size);

/* Everything was asked and answered. */
bool ls_hash_tree_diff_is_done(const ls_hash_tree_diff *diff);

/* The result so far; place values of `a` are this machine's, of `b` the other's. */
void ls_hash_tree_diff_result(const ls_hash_tree_diff *diff, ls_state_difference *out);

/* The leaves whose values were fetched, once it is done: all that differ unless the result is a
 * lower bound. Healing writes this machine's values of them into the other's state. */
uint32_t ls_hash_tree_diff_leaf_count(const ls_hash_tree_diff *diff);
uint32_t ls_hash_tree_diff_leaf(const ls_hash_tree_diff *diff, uint32_t index);

/* Writes the other machine's values of these leaves into a copy of this machine's state, or into
 * that state itself, and once more takes them out. */
void ls_hash_tree_diff_exchange(ls_hash_tree_diff *diff, void *state);

/* The other machine's state as far as it is known: this machine's where nothing else was told. It
 * fills the block: of a large state, for a process that ends soon. */
const void *ls_hash_tree_diff_other_state(ls_hash_tree_diff *diff);
ls_diff_figures ls_hash_tree_diff_figures(const ls_hash_tree_diff *diff);

LS_C_END

#endif
