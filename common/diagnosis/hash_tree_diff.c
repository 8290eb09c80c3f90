#include "lockstep/common/diagnosis/hash_tree_diff.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

#include <string.h>

enum {
    HASH_BYTES = 8,
    /* Hashes that a round may ask to save a round trip; to look into more nodes it may ask more. */
    DEEPEN_HASHES = 512,
};

/* A node that differs, and the hash that the other machine has for it. */
typedef struct other_node {
    uint32_t node;
    uint32_t rank; /* among the nodes of its field in the same list */
    uint64_t hash;
} other_node;

typedef struct node_list {
    other_node *nodes; /* [LS_HASH_TREE_DIFF_HASHES_MAX] */
    uint32_t count;
} node_list;

/* The questions of a round: ranges of nodes one after another, and how far that has come. */
typedef struct ask {
    ls_tree_range range;
    uint64_t hash;     /* of values: what they must have */
    bool is_unfounded; /* no difference was found under it so far */
} ask;

typedef struct cursor {
    uint32_t ask;
    uint32_t within; /* nodes of that ask that lie behind */
} cursor;

typedef enum phase {
    PHASE_HASHES,
    PHASE_VALUES,
    PHASE_DONE,
} phase;

struct ls_hash_tree_diff {
    const ls_allocator *allocator;
    const ls_schema *schema;
    const ls_state_tree *tree; /* borrowed from start on */
    const void *state;         /* likewise */
    uint8_t *other; /* [state_bytes]: `state` XORed with the other one, so that most is 0 */
    bool is_whole;  /* it is the other state itself */
    phase phase;
    ask *asks; /* [LS_HASH_TREE_DIFF_HASHES_MAX] */
    uint32_t ask_count;
    cursor asked;
    cursor answered;
    node_list found;  /* inner nodes that differ, of this round */
    node_list leaves; /* that differ, of all rounds */
    uint32_t ranks[LS_FIELDS_MAX];
    bool differs[LS_FIELDS_MAX];
    ls_diff_figures figures;
};

/* ---- create ---- */

static bool allocate_lists(ls_hash_tree_diff *diff)
{
    const ls_allocator *allocator = diff->allocator;
    size_t count = LS_HASH_TREE_DIFF_HASHES_MAX;
    diff->other = ls_allocate(allocator, ls_schema_state_bytes(diff->schema));
    diff->asks = ls_allocate_array(allocator, count, sizeof *diff->asks);
    diff->found.nodes = ls_allocate_array(allocator, count, sizeof(other_node));
    diff->leaves.nodes = ls_allocate_array(allocator, count, sizeof(other_node));
    return diff->other && diff->asks && diff->found.nodes && diff->leaves.nodes;
}

ls_status ls_hash_tree_diff_create(const ls_schema *schema, const ls_allocator *allocator,
                                   ls_hash_tree_diff **out)
{
    ls_hash_tree_diff *diff = ls_allocate(allocator, sizeof *diff);
    if (!diff) {
        return LS_NO_MEMORY;
    }
    diff->allocator = allocator;
    diff->schema = schema;
    diff->phase = PHASE_DONE;
    if (!allocate_lists(diff)) {
        ls_hash_tree_diff_destroy(diff);
        return LS_NO_MEMORY;
    }
    *out = diff;
    return LS_OK;
}

size_t ls_hash_tree_diff_memory(const ls_schema *schema)
{
    size_t entries = LS_HASH_TREE_DIFF_HASHES_MAX * (sizeof(ask) + 2 * sizeof(other_node));
    return sizeof(ls_hash_tree_diff) + ls_schema_state_bytes(schema) + entries;
}

void ls_hash_tree_diff_destroy(ls_hash_tree_diff *diff)
{
    if (!diff) {
        return;
    }
    ls_release(diff->allocator, diff->leaves.nodes);
    ls_release(diff->allocator, diff->found.nodes);
    ls_release(diff->allocator, diff->asks);
    ls_release(diff->allocator, diff->other);
    ls_release(diff->allocator, diff);
}

/* ---- a round ---- */

static void begin_round(ls_hash_tree_diff *diff, phase next)
{
    diff->phase = diff->ask_count > 0 ? next : PHASE_DONE;
    diff->asked = (cursor){0};
    diff->answered = (cursor){0};
    diff->figures.rounds += diff->ask_count > 0;
}

static void add_ask(ls_hash_tree_diff *diff, ls_tree_range range, uint64_t hash)
{
    LS_ASSERT(diff->ask_count < LS_HASH_TREE_DIFF_HASHES_MAX);
    diff->asks[diff->ask_count++] = (ask){range, hash, true};
}

/* A block of a large state that was never written to takes no memory, and is not to. */
static void clear_other(ls_hash_tree_diff *diff)
{
    const uint8_t zeros[LS_TREE_LEAF_BYTES] = {0};
    if (diff->is_whole) {
        memset(diff->other, 0, ls_schema_state_bytes(diff->schema));
    }
    for (uint32_t i = 0; i < diff->figures.leaves && !diff->is_whole; i++) {
        ls_state_tree_write_leaf(diff->tree, diff->leaves.nodes[i].node, zeros, diff->other);
    }
    diff->is_whole = false;
}

void ls_hash_tree_diff_start(ls_hash_tree_diff *diff, const ls_state_tree *tree, const void *state)
{
    diff->tree = tree;
    clear_other(diff);
    diff->state = state;
    diff->found.count = 0;
    diff->leaves.count = 0;
    diff->ask_count = 0;
    memset(diff->differs, 0, sizeof diff->differs);
    diff->figures = (ls_diff_figures){0};
    add_ask(diff, ls_state_tree_below(diff->tree, 0, LS_FIELDS_MAX), 0);
    begin_round(diff, PHASE_HASHES);
}

/* The query that begins at the cursor, as large as an answer can be; neighbouring ranges share one.
 * Moves the cursor behind it. */
static bool query_at(const ls_hash_tree_diff *diff, cursor *at, ls_tree_query *out)
{
    if (at->ask == diff->ask_count) {
        return false;
    }
    ls_tree_query query = {.wants_values = diff->phase == PHASE_VALUES};
    query.nodes.first = diff->asks[at->ask].range.first + at->within;
    while (at->ask < diff->ask_count) {
        ls_tree_range range = diff->asks[at->ask].range;
        ls_tree_query longer = query;
        longer.nodes.count++;
        if (range.first + at->within != query.nodes.first + query.nodes.count ||
            ls_state_tree_answer_bytes(diff->tree, &longer) == 0) {
            break;
        }
        query = longer;
        at->within++;
        if (at->within == range.count) {
            at->ask++;
            at->within = 0;
        }
    }
    *out = query;
    return true;
}

bool ls_hash_tree_diff_next_query(ls_hash_tree_diff *diff, ls_tree_query *out)
{
    if (diff->phase == PHASE_DONE || !query_at(diff, &diff->asked, out)) {
        return false;
    }
    diff->figures.queries++;
    return true;
}

/* ---- what differs ---- */

static void add_node(ls_hash_tree_diff *diff, node_list *list, uint32_t node, uint64_t hash)
{
    if (list->count == LS_HASH_TREE_DIFF_HASHES_MAX) {
        diff->figures.left_out++;
        return;
    }
    list->nodes[list->count++] = (other_node){.node = node, .hash = hash};
}

static void compare_hash(ls_hash_tree_diff *diff, ask *parent, uint32_t node, uint64_t hash)
{
    if (hash == ls_state_tree_node_hash(diff->tree, node)) {
        return;
    }
    ls_tree_node info = ls_state_tree_node(diff->tree, node);
    bool is_leaf = info.children.count == 0;
    parent->is_unfounded = false;
    if (info.kind == LS_TREE_FIELD) {
        diff->differs[info.field] = true;
    }
    add_node(diff, is_leaf ? &diff->leaves : &diff->found, node, hash);
}

static void receive_hashes(ls_hash_tree_diff *diff, ls_tree_range nodes, const uint8_t *bytes)
{
    cursor at = diff->answered;
    for (uint32_t i = 0; i < nodes.count; i++) {
        ask *parent = &diff->asks[at.ask];
        compare_hash(diff, parent, nodes.first + i, ls_load_u64(bytes + (size_t)i * HASH_BYTES));
        at.within++;
        if (at.within == parent->range.count) {
            at = (cursor){at.ask + 1, 0};
        }
    }
}

/* Whether every leaf's values have the hash that was told. An ask for values is one leaf. */
static bool are_values_as_sent(const ls_hash_tree_diff *diff, ls_tree_range leaves,
                               const uint8_t *bytes)
{
    for (uint32_t i = 0; i < leaves.count; i++) {
        size_t size = ls_state_tree_leaf_bytes(diff->tree, leaves.first + i);
        if (ls_hash_bytes(bytes, size, 0) != diff->asks[diff->answered.ask + i].hash) {
            return false;
        }
        bytes += size;
    }
    return true;
}

static void xor_bytes(uint8_t *to, const uint8_t *with, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        to[i] ^= with[i];
    }
}

static void receive_values(ls_hash_tree_diff *diff, ls_tree_range leaves, const uint8_t *bytes)
{
    for (uint32_t i = 0; i < leaves.count; i++) {
        uint32_t leaf = leaves.first + i;
        size_t size = ls_state_tree_leaf_bytes(diff->tree, leaf);
        uint8_t both[LS_TREE_LEAF_BYTES];
        ls_state_tree_read_leaf(diff->tree, leaf, diff->state, both);
        xor_bytes(both, bytes, size);
        ls_state_tree_write_leaf(diff->tree, leaf, both, diff->other);
        diff->asks[diff->answered.ask + i].is_unfounded = false;
        bytes += size;
    }
    diff->figures.leaves += leaves.count;
}

/* ---- from round to round ---- */

/* Numbers each node of a list among those of its field, so that fields can take turns. */
static void rank_by_field(ls_hash_tree_diff *diff, node_list *list)
{
    memset(diff->ranks, 0, sizeof diff->ranks);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t field = ls_state_tree_node(diff->tree, list->nodes[i].node).field;
        list->nodes[i].rank = diff->ranks[field]++;
    }
}

/* How far down a list goes when fields take turns and nodes cost `cost` each: every node of a lower
 * rank than what comes back is taken, and of that rank as many as still fit. */
typedef struct turn_limit {
    uint32_t rank;
    uint32_t of_rank;
} turn_limit;

static uint32_t cost_of(const ls_hash_tree_diff *diff, const other_node *entry)
{
    uint32_t children = ls_state_tree_node(diff->tree, entry->node).children.count;
    return children > 0 ? children : 1;
}

static turn_limit share_generations(const ls_hash_tree_diff *diff, const node_list *list,
                                    uint32_t budget)
{
    turn_limit limit = {0, 0};
    uint32_t taken = 0;
    for (uint32_t seen = 1; seen > 0; limit = (turn_limit){limit.rank + 1, 0}) {
        seen = 0;
        for (uint32_t i = 0; i < list->count; i++) {
            if (list->nodes[i].rank != limit.rank) {
                continue;
            }
            uint32_t cost = cost_of(diff, &list->nodes[i]);
            if (taken + cost > budget) {
                return limit;
            }
            taken += cost;
            limit.of_rank++;
            seen++;
        }
    }
    return limit;
}

/* Keeps what the limit lets through; the rest is left out. */
static void apply_limit(ls_hash_tree_diff *diff, node_list *list, turn_limit limit)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        bool is_last_turn = list->nodes[i].rank == limit.rank && limit.of_rank > 0;
        limit.of_rank -= is_last_turn;
        if (is_last_turn || list->nodes[i].rank < limit.rank) {
            list->nodes[kept++] = list->nodes[i];
        }
    }
    diff->figures.left_out += list->count - kept;
    list->count = kept;
}

static void keep_share(ls_hash_tree_diff *diff, node_list *list, uint32_t budget)
{
    rank_by_field(diff, list);
    apply_limit(diff, list, share_generations(diff, list, budget));
}

static void ask_below_found(ls_hash_tree_diff *diff)
{
    keep_share(diff, &diff->found, LS_HASH_TREE_DIFF_HASHES_MAX - DEEPEN_HASHES);
    uint32_t each = DEEPEN_HASHES / diff->found.count;
    for (uint32_t i = 0; i < diff->found.count; i++) {
        uint32_t node = diff->found.nodes[i].node;
        add_ask(diff, ls_state_tree_below(diff->tree, node, each), 0);
    }
    diff->found.count = 0;
    begin_round(diff, PHASE_HASHES);
}

static void ask_values(ls_hash_tree_diff *diff)
{
    keep_share(diff, &diff->leaves, LS_HASH_TREE_DIFF_LEAVES_MAX);
    for (uint32_t i = 0; i < diff->leaves.count; i++) {
        ls_tree_range leaf = {diff->leaves.nodes[i].node, 1};
        add_ask(diff, leaf, diff->leaves.nodes[i].hash);
    }
    begin_round(diff, PHASE_VALUES);
}

static void end_round(ls_hash_tree_diff *diff)
{
    for (uint32_t i = 0; i < diff->ask_count; i++) {
        diff->figures.unfounded += diff->asks[i].is_unfounded;
    }
    diff->ask_count = 0;
    if (diff->phase == PHASE_VALUES) {
        diff->phase = PHASE_DONE;
    } else if (diff->found.count > 0) {
        ask_below_found(diff);
    } else {
        ask_values(diff);
    }
    LS_ASSERT(diff->figures.rounds <= LS_HASH_TREE_DIFF_ROUNDS_MAX);
}

ls_status ls_hash_tree_diff_answer(ls_hash_tree_diff *diff, const ls_tree_query *query,
                                   const uint8_t *bytes, size_t size)
{
    cursor next = diff->answered;
    bool is_asked = next.ask < diff->asked.ask || next.within < diff->asked.within;
    ls_tree_query expected;
    if (diff->phase == PHASE_DONE || !is_asked || !query_at(diff, &next, &expected)) {
        return LS_STALE;
    }
    if (query->wants_values != expected.wants_values ||
        query->nodes.first != expected.nodes.first || query->nodes.count != expected.nodes.count ||
        size != ls_state_tree_answer_bytes(diff->tree, &expected)) {
        return LS_MALFORMED;
    }
    if (expected.wants_values && !are_values_as_sent(diff, expected.nodes, bytes)) {
        return LS_MALFORMED;
    }
    diff->figures.bytes += size;
    if (expected.wants_values) {
        receive_values(diff, expected.nodes, bytes);
    } else {
        receive_hashes(diff, expected.nodes, bytes);
    }
    diff->answered = next;
    if (next.ask == diff->ask_count) {
        end_round(diff);
    }
    return LS_OK;
}

/* ---- what came out ---- */

bool ls_hash_tree_diff_is_done(const ls_hash_tree_diff *diff)
{
    return diff->phase == PHASE_DONE;
}

void ls_hash_tree_diff_result(const ls_hash_tree_diff *diff, ls_state_difference *out)
{
    const ls_schema *schema = diff->schema;
    ls_state_difference_find(schema, diff->other, diff->is_whole ? diff->state : NULL, out);
    uint32_t fields = 0;
    for (uint32_t i = 0; i < ls_schema_field_count(schema); i++) {
        fields += diff->differs[i];
    }
    out->fields = fields;
    out->elements += diff->figures.left_out;
    out->is_lower_bound =
        diff->phase != PHASE_DONE || diff->figures.left_out > 0 || diff->figures.unfounded > 0;
}

uint32_t ls_hash_tree_diff_leaf_count(const ls_hash_tree_diff *diff)
{
    return diff->phase == PHASE_DONE ? diff->figures.leaves : 0;
}

uint32_t ls_hash_tree_diff_leaf(const ls_hash_tree_diff *diff, uint32_t index)
{
    LS_ASSERT(index < ls_hash_tree_diff_leaf_count(diff));
    return diff->leaves.nodes[index].node;
}

void ls_hash_tree_diff_exchange(ls_hash_tree_diff *diff, void *state)
{
    for (uint32_t i = 0; i < diff->figures.leaves; i++) {
        uint32_t leaf = diff->leaves.nodes[i].node;
        uint8_t here[LS_TREE_LEAF_BYTES];
        uint8_t other[LS_TREE_LEAF_BYTES];
        ls_state_tree_read_leaf(diff->tree, leaf, state, here);
        ls_state_tree_read_leaf(diff->tree, leaf, diff->other, other);
        if (diff->is_whole) {
            ls_state_tree_write_leaf(diff->tree, leaf, here, diff->other);
        } else {
            xor_bytes(other, here, ls_state_tree_leaf_bytes(diff->tree, leaf));
        }
        ls_state_tree_write_leaf(diff->tree, leaf, other, state);
    }
}

const void *ls_hash_tree_diff_other_state(ls_hash_tree_diff *diff)
{
    if (!diff->is_whole) {
        xor_bytes(diff->other, diff->state, ls_schema_state_bytes(diff->schema));
    }
    diff->is_whole = true;
    return diff->other;
}

ls_diff_figures ls_hash_tree_diff_figures(const ls_hash_tree_diff *diff)
{
    return diff->figures;
}
