#include "lockstep/common/diagnosis/hash_tree_diff.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/simulations/units/units.h"
#include "lockstep/tests/support/arena_fixture.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void destroy_tree(void *tree)
{
    ls_state_tree_destroy(tree);
}

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

Test(hash_tree_diff, every_flipped_bit_of_an_arena_is_named, .timeout = 110)
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
