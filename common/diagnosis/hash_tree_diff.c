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
    other_node *nodes; /* [LS_DESCENT_HASHES_MAX] */
    uint32_t count;
} node_list;

/* What a round asks: ranges of nodes one after another, and how far that has come. */
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

struct ls_state_descent {
    const ls_allocator *allocator;
    const ls_state_tree *tree;
    const void *state; /* borrowed from start on */
    uint8_t *other;    /* [state_bytes] */
    phase phase;
    ask *asks; /* [LS_DESCENT_HASHES_MAX] */
    uint32_t ask_count;
    cursor asked;
    cursor answered;
    node_list found;  /* inner nodes that differ, of this round */
    node_list leaves; /* that differ, of all rounds */
    uint32_t ranks[LS_FIELDS_MAX];
    bool differs[LS_FIELDS_MAX];
    ls_descent_figures figures;
};

/* ---- create ---- */

static bool allocate_lists(ls_state_descent *descent)
{
    const ls_allocator *allocator = descent->allocator;
    size_t count = LS_DESCENT_HASHES_MAX;
    descent->other =
        ls_allocate(allocator, ls_schema_state_bytes(ls_state_tree_schema(descent->tree)));
    descent->asks = ls_allocate_array(allocator, count, sizeof *descent->asks);
    descent->found.nodes = ls_allocate_array(allocator, count, sizeof(other_node));
    descent->leaves.nodes = ls_allocate_array(allocator, count, sizeof(other_node));
    return descent->other && descent->asks && descent->found.nodes && descent->leaves.nodes;
}

ls_status ls_state_descent_create(const ls_state_tree *tree, const ls_allocator *allocator,
                                  ls_state_descent **out)
{
    ls_state_descent *descent = ls_allocate(allocator, sizeof *descent);
    if (!descent) {
        return LS_NO_MEMORY;
    }
    descent->allocator = allocator;
    descent->tree = tree;
    descent->phase = PHASE_DONE;
    if (!allocate_lists(descent)) {
        ls_state_descent_destroy(descent);
        return LS_NO_MEMORY;
    }
    *out = descent;
    return LS_OK;
}

void ls_state_descent_destroy(ls_state_descent *descent)
{
    if (!descent) {
        return;
    }
    ls_release(descent->allocator, descent->leaves.nodes);
    ls_release(descent->allocator, descent->found.nodes);
    ls_release(descent->allocator, descent->asks);
    ls_release(descent->allocator, descent->other);
    ls_release(descent->allocator, descent);
}

/* ---- a round ---- */

static void begin_round(ls_state_descent *descent, phase next)
{
    descent->phase = descent->ask_count > 0 ? next : PHASE_DONE;
    descent->asked = (cursor){0};
    descent->answered = (cursor){0};
    descent->figures.rounds += descent->ask_count > 0;
}

static void add_ask(ls_state_descent *descent, ls_tree_range range, uint64_t hash)
{
    LS_ASSERT(descent->ask_count < LS_DESCENT_HASHES_MAX);
    descent->asks[descent->ask_count++] = (ask){range, hash, true};
}

void ls_state_descent_start(ls_state_descent *descent, const void *state)
{
    const ls_schema *schema = ls_state_tree_schema(descent->tree);
    descent->state = state;
    memcpy(descent->other, state, ls_schema_state_bytes(schema));
    descent->found.count = 0;
    descent->leaves.count = 0;
    descent->ask_count = 0;
    memset(descent->differs, 0, sizeof descent->differs);
    descent->figures = (ls_descent_figures){0};
    add_ask(descent, ls_state_tree_below(descent->tree, 0, LS_FIELDS_MAX), 0);
    begin_round(descent, PHASE_HASHES);
}

/* The query that begins at the cursor, as large as an answer can be; neighbouring ranges share one.
 * Moves the cursor behind it. */
static bool query_at(const ls_state_descent *descent, cursor *at, ls_tree_query *out)
{
    if (at->ask == descent->ask_count) {
        return false;
    }
    ls_tree_query query = {.wants_values = descent->phase == PHASE_VALUES};
    query.nodes.first = descent->asks[at->ask].range.first + at->within;
    while (at->ask < descent->ask_count) {
        ls_tree_range range = descent->asks[at->ask].range;
        ls_tree_query longer = query;
        longer.nodes.count++;
        if (range.first + at->within != query.nodes.first + query.nodes.count ||
            ls_state_tree_answer_bytes(descent->tree, &longer) == 0) {
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

bool ls_state_descent_next_query(ls_state_descent *descent, ls_tree_query *out)
{
    if (descent->phase == PHASE_DONE || !query_at(descent, &descent->asked, out)) {
        return false;
    }
    descent->figures.queries++;
    return true;
}

/* ---- what differs ---- */

static void add_node(ls_state_descent *descent, node_list *list, uint32_t node, uint64_t hash)
{
    if (list->count == LS_DESCENT_HASHES_MAX) {
        descent->figures.left_out++;
        return;
    }
    list->nodes[list->count++] = (other_node){.node = node, .hash = hash};
}

static void compare_hash(ls_state_descent *descent, ask *parent, uint32_t node, uint64_t hash)
{
    if (hash == ls_state_tree_node_hash(descent->tree, node)) {
        return;
    }
    ls_tree_node info = ls_state_tree_node(descent->tree, node);
    bool is_leaf = info.children.count == 0;
    parent->is_unfounded = false;
    if (info.kind == LS_TREE_FIELD) {
        descent->differs[info.field] = true;
    }
    add_node(descent, is_leaf ? &descent->leaves : &descent->found, node, hash);
}

static void take_hashes(ls_state_descent *descent, ls_tree_range nodes, const uint8_t *bytes)
{
    cursor at = descent->answered;
    for (uint32_t i = 0; i < nodes.count; i++) {
        ask *parent = &descent->asks[at.ask];
        compare_hash(descent, parent, nodes.first + i, ls_load_u64(bytes + (size_t)i * HASH_BYTES));
        at.within++;
        if (at.within == parent->range.count) {
            at = (cursor){at.ask + 1, 0};
        }
    }
}

/* Whether every leaf's values have the hash that was told. An ask for values is one leaf. */
static bool are_values_as_told(const ls_state_descent *descent, ls_tree_range leaves,
                               const uint8_t *bytes)
{
    for (uint32_t i = 0; i < leaves.count; i++) {
        size_t size = ls_state_tree_leaf_bytes(descent->tree, leaves.first + i);
        if (ls_hash_bytes(bytes, size, 0) != descent->asks[descent->answered.ask + i].hash) {
            return false;
        }
        bytes += size;
    }
    return true;
}

static void take_values(ls_state_descent *descent, ls_tree_range leaves, const uint8_t *bytes)
{
    for (uint32_t i = 0; i < leaves.count; i++) {
        uint32_t leaf = leaves.first + i;
        ls_state_tree_write_leaf(descent->tree, leaf, bytes, descent->other);
        descent->asks[descent->answered.ask + i].is_unfounded = false;
        bytes += ls_state_tree_leaf_bytes(descent->tree, leaf);
    }
    descent->figures.leaves += leaves.count;
}

/* ---- from round to round ---- */

/* Numbers each node of a list among those of its field, so that fields can take turns. */
static void rank_by_field(ls_state_descent *descent, node_list *list)
{
    memset(descent->ranks, 0, sizeof descent->ranks);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t field = ls_state_tree_node(descent->tree, list->nodes[i].node).field;
        list->nodes[i].rank = descent->ranks[field]++;
    }
}

/* How far down a list goes when fields take turns and nodes cost `cost` each: every node of a lower
 * rank than what comes back is taken, and of that rank as many as still fit. */
typedef struct turn_limit {
    uint32_t rank;
    uint32_t of_rank;
} turn_limit;

static uint32_t cost_of(const ls_state_descent *descent, const other_node *entry)
{
    uint32_t children = ls_state_tree_node(descent->tree, entry->node).children.count;
    return children > 0 ? children : 1;
}

static turn_limit share_turns(const ls_state_descent *descent, const node_list *list,
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
            uint32_t cost = cost_of(descent, &list->nodes[i]);
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
static void apply_limit(ls_state_descent *descent, node_list *list, turn_limit limit)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        bool is_last_turn = list->nodes[i].rank == limit.rank && limit.of_rank > 0;
        limit.of_rank -= is_last_turn;
        if (is_last_turn || list->nodes[i].rank < limit.rank) {
            list->nodes[kept++] = list->nodes[i];
        }
    }
    descent->figures.left_out += list->count - kept;
    list->count = kept;
}

static void keep_share(ls_state_descent *descent, node_list *list, uint32_t budget)
{
    rank_by_field(descent, list);
    apply_limit(descent, list, share_turns(descent, list, budget));
}

static void ask_below_found(ls_state_descent *descent)
{
    keep_share(descent, &descent->found, LS_DESCENT_HASHES_MAX - DEEPEN_HASHES);
    uint32_t each = DEEPEN_HASHES / descent->found.count;
    for (uint32_t i = 0; i < descent->found.count; i++) {
        uint32_t node = descent->found.nodes[i].node;
        add_ask(descent, ls_state_tree_below(descent->tree, node, each), 0);
    }
    descent->found.count = 0;
    begin_round(descent, PHASE_HASHES);
}

static void ask_values(ls_state_descent *descent)
{
    keep_share(descent, &descent->leaves, LS_DESCENT_LEAVES_MAX);
    for (uint32_t i = 0; i < descent->leaves.count; i++) {
        ls_tree_range leaf = {descent->leaves.nodes[i].node, 1};
        add_ask(descent, leaf, descent->leaves.nodes[i].hash);
    }
    begin_round(descent, PHASE_VALUES);
}

static void end_round(ls_state_descent *descent)
{
    for (uint32_t i = 0; i < descent->ask_count; i++) {
        descent->figures.unfounded += descent->asks[i].is_unfounded;
    }
    descent->ask_count = 0;
    if (descent->phase == PHASE_VALUES) {
        descent->phase = PHASE_DONE;
    } else if (descent->found.count > 0) {
        ask_below_found(descent);
    } else {
        ask_values(descent);
    }
    LS_ASSERT(descent->figures.rounds <= LS_DESCENT_ROUNDS_MAX);
}

ls_status ls_state_descent_answer(ls_state_descent *descent, const ls_tree_query *query,
                                  const uint8_t *bytes, size_t size)
{
    cursor next = descent->answered;
    bool is_asked = next.ask < descent->asked.ask || next.within < descent->asked.within;
    ls_tree_query expected;
    if (descent->phase == PHASE_DONE || !is_asked || !query_at(descent, &next, &expected)) {
        return LS_STALE;
    }
    if (query->wants_values != expected.wants_values ||
        query->nodes.first != expected.nodes.first || query->nodes.count != expected.nodes.count ||
        size != ls_state_tree_answer_bytes(descent->tree, &expected)) {
        return LS_MALFORMED;
    }
    if (expected.wants_values && !are_values_as_told(descent, expected.nodes, bytes)) {
        return LS_MALFORMED;
    }
    descent->figures.bytes += size;
    if (expected.wants_values) {
        take_values(descent, expected.nodes, bytes);
    } else {
        take_hashes(descent, expected.nodes, bytes);
    }
    descent->answered = next;
    if (next.ask == descent->ask_count) {
        end_round(descent);
    }
    return LS_OK;
}

/* ---- what came out ---- */

bool ls_state_descent_is_done(const ls_state_descent *descent)
{
    return descent->phase == PHASE_DONE;
}

void ls_state_descent_result(const ls_state_descent *descent, ls_state_difference *out)
{
    const ls_schema *schema = ls_state_tree_schema(descent->tree);
    ls_state_difference_find(schema, descent->state, descent->other, out);
    uint32_t fields = 0;
    for (uint32_t i = 0; i < ls_schema_field_count(schema); i++) {
        fields += descent->differs[i];
    }
    out->fields = fields;
    out->elements += descent->figures.left_out;
    out->is_lower_bound = descent->phase != PHASE_DONE || descent->figures.left_out > 0 ||
                          descent->figures.unfounded > 0;
}

uint32_t ls_state_descent_leaf_count(const ls_state_descent *descent)
{
    return descent->phase == PHASE_DONE ? descent->figures.leaves : 0;
}

uint32_t ls_state_descent_leaf(const ls_state_descent *descent, uint32_t index)
{
    LS_ASSERT(index < ls_state_descent_leaf_count(descent));
    return descent->leaves.nodes[index].node;
}

const void *ls_state_descent_other_state(const ls_state_descent *descent)
{
    return descent->other;
}

ls_descent_figures ls_state_descent_figures(const ls_state_descent *descent)
{
    return descent->figures;
}
