#include "lockstep/common/journal/desync_bundle.h"

#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    BAD_TICK = 90,
};

static struct sample {
    diagnosed_match match;
    diagnosed_memory memory;
    ls_desync_bundle bundle;
    uint8_t *bytes;
    size_t size;
} made;

static void open_sample(void)
{
    ls_sim_config config = ls_sim_config_default(fault_simulation());
    diagnosed_match_open(&made.match, fault_simulation(), &config);
    made.match.client.knob = (fault_knob){.kind = FAULT_BUILD, .from = BAD_TICK};
    diagnosed_match_run(&made.match, BAD_TICK + 30);
    diagnosed_match_bundle(&made.match, &made.memory, &made.bundle);
    cr_assert_eq(ls_desync_bundle_write(&made.bundle, ls_allocator_heap(), &made.bytes, &made.size),
                 LS_OK);
}

static void close_sample(void)
{
    ls_release(ls_allocator_heap(), made.bytes);
    diagnosed_match_close(&made.match);
}

TestSuite(desync_bundle, .init = open_sample, .fini = close_sample);

static ls_bundle_reading *open_bytes(const uint8_t *bytes, size_t size, ls_text *why)
{
    ls_bundle_reading *reading = NULL;
    cr_assert_eq(ls_bundle_reading_open(bytes, size, ls_allocator_heap(), &reading, why), LS_OK,
                 "%s", why->bytes);
    return reading;
}

static void expect_same_side(const ls_bundle_side *a, const ls_bundle_side *b, size_t state_bytes)
{
    cr_expect_eq(memcmp(&a->print, &b->print, sizeof a->print), 0);
    cr_expect_eq(memcmp(&a->figures, &b->figures, sizeof a->figures), 0);
    cr_expect_eq(memcmp(&a->passes, &b->passes, sizeof a->passes), 0);
    cr_expect_eq(a->hashes_first, b->hashes_first);
    cr_assert_eq(a->hash_count, b->hash_count);
    cr_expect_eq(memcmp(a->state_hashes, b->state_hashes, a->hash_count * sizeof *a->state_hashes),
                 0);
    cr_expect_eq(memcmp(a->state, b->state, state_bytes), 0);
}

Test(desync_bundle, reads_as_it_was_written)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(made.bytes, made.size, &why);
    const ls_desync_bundle *a = &made.bundle;
    const ls_desync_bundle *b = ls_bundle_reading_bundle(reading);
    cr_expect_str_eq(why.bytes, "");
    cr_expect_str_eq(b->simulation, "fault");
    cr_expect_str_eq(b->player, "Ada");
    cr_expect_eq(memcmp(&a->config, &b->config, sizeof a->config), 0);
    cr_expect_eq(memcmp(&a->digests, &b->digests, sizeof a->digests), 0);
    cr_expect_eq(b->tick, a->tick);
    cr_expect_eq(b->slot, 1);
    cr_expect_eq(b->later_ticks, LS_BUNDLE_LATER_MAX);
    cr_expect_eq(b->server_hash, a->server_hash);
    cr_expect_eq(b->client_hash, a->client_hash);
    cr_expect_eq(b->verdict.kind, LS_DESYNC_CLASS_BUILD);
    cr_expect_str_eq(b->verdict.why.bytes, a->verdict.why.bytes);
    cr_expect_eq(b->pass_count, 3);
    cr_expect_str_eq(b->passes[FAULT_PASS], "spread");
    cr_expect_eq(ls_schema_digest(ls_bundle_reading_schema(reading)), a->digests.schema);
    cr_expect_eq(memcmp(b->snapshot, a->snapshot, a->state_bytes), 0);
    expect_same_side(&b->server, &a->server, a->state_bytes);
    expect_same_side(&b->client, &a->client, a->state_bytes);
    cr_expect_eq(b->after_pass.count, 0);
    ls_bundle_reading_close(reading);
}

/* Another thread makes the file of it while the match goes on. */
Test(desync_bundle, a_draft_needs_nothing_more_of_the_match)
{
    ls_bundle_draft draft;
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_bundle_draft_make(&made.bundle, ls_allocator_heap(), &draft), LS_OK);
    diagnosed_match_run(&made.match, BAD_TICK + 60);
    memset(&made.memory, 0x5a, sizeof made.memory);
    memset(&made.bundle, 0x5a, sizeof made.bundle);
    cr_assert_eq(ls_bundle_draft_pack(&draft, ls_allocator_heap(), &bytes, &size), LS_OK);
    cr_assert_eq(size, made.size);
    cr_expect_eq(memcmp(bytes, made.bytes, size), 0);
    ls_release(ls_allocator_heap(), draft.bytes);
    ls_release(ls_allocator_heap(), bytes);
}

Test(desync_bundle, what_differs_after_the_pass_reads_as_it_was_written)
{
    ls_desync_bundle bundle = made.bundle;
    bundle.after_pass = (ls_bundle_pass_places){
        .pass = FAULT_PASS, .elements = 700, .fields = 2, .is_lower_bound = 1, .count = 2};
    ls_difference_text *place = &bundle.after_pass.places[1];
    ls_name_copy(place->name, sizeof place->name, "cells[3]");
    ls_name_copy(place->b, sizeof place->b, "7 points");
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(bytes, size, &why);
    const ls_bundle_pass_places *read = &ls_bundle_reading_bundle(reading)->after_pass;
    cr_expect_str_eq(why.bytes, "");
    cr_expect_eq(memcmp(read, &bundle.after_pass, sizeof *read), 0);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

Test(desync_bundle, keeps_which_surroundings_change_the_result)
{
    ls_text why = {{0}};
    ls_desync_bundle bundle = made.bundle;
    bundle.server.figures.tried = LS_SURROUNDINGS_ALL;
    bundle.server.figures.moved = LS_SURROUNDING_BIT(LS_SURROUNDING_CORES);
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    ls_bundle_reading *reading = open_bytes(bytes, size, &why);
    const ls_desync_bundle *read = ls_bundle_reading_bundle(reading);
    cr_expect_str_eq(why.bytes, "");
    cr_expect_eq(read->server.figures.tried, LS_SURROUNDINGS_ALL);
    cr_expect_eq(read->server.figures.moved, LS_SURROUNDING_BIT(LS_SURROUNDING_CORES));
    cr_expect_eq(read->client.figures.tried, 0);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

Test(desync_bundle, can_be_simulated_again)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(made.bytes, made.size, &why);
    ls_replay_stretch stretch;
    cr_assert_eq(ls_bundle_reading_stretch(reading, &stretch), LS_OK);
    ls_rerun_start(made.match.server.rerun, &stretch);
    fault = (fault_knob){.kind = FAULT_NONE};
    cr_assert(ls_rerun_advance(made.match.server.rerun, UINT32_MAX));
    const ls_rerun_figures *figures = ls_rerun_figures_of(made.match.server.rerun);
    cr_expect_eq(figures->live, made.bundle.server_hash);
    cr_expect_eq(figures->fresh, made.bundle.server_hash);
    cr_expect_eq(figures->strayed, made.bundle.tick);
    ls_bundle_reading_close(reading);
}

Test(desync_bundle, unknown_facts_are_left_out_and_named)
{
    ls_desync_bundle bundle = made.bundle;
    uint8_t *bytes = NULL;
    size_t size = 0;
    bundle.snapshot = NULL;
    bundle.client.state = NULL;
    bundle.client.hash_count = 0;
    cr_assert_eq(ls_desync_bundle_write(&bundle, ls_allocator_heap(), &bytes, &size), LS_OK);
    ls_text why = {{0}};
    ls_bundle_reading *reading = open_bytes(bytes, size, &why);
    cr_expect_str_eq(why.bytes, "missing from the bundle, or damaged: snapshot, inputs, "
                                "client's hashes, client's state");
    cr_expect_null(ls_bundle_reading_bundle(reading)->client.state);
    cr_expect_null(ls_bundle_reading_bundle(reading)->snapshot);
    ls_replay_stretch stretch;
    cr_expect_eq(ls_bundle_reading_stretch(reading, &stretch), LS_NOT_FOUND);
    ls_bundle_reading_close(reading);
    ls_release(ls_allocator_heap(), bytes);
}

/* ---- damage ---- */

Test(desync_bundle, cut_anywhere_it_opens_with_a_sentence_or_is_refused)
{
    uint32_t opened = 0;
    for (size_t size = 0; size < made.size; size++) {
        /* Memory of just that size, so that reading past it is found. */
        uint8_t *cut = malloc(size > 0 ? size : 1);
        memcpy(cut, made.bytes, size);
        ls_text why = {{0}};
        ls_bundle_reading *reading = NULL;
        ls_status status = ls_bundle_reading_open(cut, size, ls_allocator_heap(), &reading, &why);
        cr_assert(status == LS_OK || status == LS_MALFORMED);
        cr_assert_neq(why.bytes[0], '\0', "%zu bytes", size);
        opened += status == LS_OK;
        ls_bundle_reading_close(reading);
        free(cut);
    }
    cr_expect_gt(opened, made.size / 2);
}

Test(desync_bundle, any_flipped_bit_is_refused_or_costs_one_section)
{
    uint32_t opened = 0;
    for (size_t bit = 0; bit < made.size * 8; bit += 3) {
        ls_text why = {{0}};
        ls_bundle_reading *reading = NULL;
        made.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        bool is_reserved = bit / 8 >= 12 && bit / 8 < 16;
        ls_status status =
            ls_bundle_reading_open(made.bytes, made.size, ls_allocator_heap(), &reading, &why);
        cr_assert(status == LS_OK || status == LS_MALFORMED);
        cr_assert(is_reserved || why.bytes[0] != '\0', "bit %zu went unnoticed", bit);
        opened += status == LS_OK;
        ls_bundle_reading_close(reading);
        made.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_expect_gt(opened, 0);
}

static void expect_no_bundle(uint8_t *bytes, size_t size, const char *sentence)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = NULL;
    cr_expect_eq(ls_bundle_reading_open(bytes, size, ls_allocator_heap(), &reading, &why),
                 LS_MALFORMED);
    cr_expect_str_eq(why.bytes, sentence);
}

Test(desync_bundle, other_files_are_refused_by_name)
{
    expect_no_bundle(made.bytes, 0, "this is no desync bundle");
    expect_no_bundle(made.bytes, 15, "this is no desync bundle");
    expect_no_bundle(made.bytes, 16, "the bundle is damaged: not even its match can be read");
    made.bytes[8] = 2;
    expect_no_bundle(made.bytes, made.size,
                     "this is a desync bundle of format 2, and this build reads 1");
    made.bytes[0] = 'X';
    expect_no_bundle(made.bytes, made.size, "this is no desync bundle");
}

Test(desync_bundle, refused_memory_is_survived)
{
    uint32_t whole = 0;
    for (uint64_t allowed = 0; whole == 0 && allowed < 100; allowed++) {
        counting_allocator counting;
        counting_allocator_init(&counting);
        counting.allowed = allowed;
        ls_text why = {{0}};
        ls_bundle_reading *reading = NULL;
        ls_status status =
            ls_bundle_reading_open(made.bytes, made.size, &counting.allocator, &reading, &why);
        cr_assert(status == LS_OK || reading == NULL);
        whole += status == LS_OK && why.bytes[0] == '\0';
        ls_bundle_reading_close(reading);
        cr_assert_eq(counting.live_blocks, 0);
    }
    cr_expect_eq(whole, 1);
    counting_allocator counting;
    counting_allocator_init(&counting);
    counting.allowed = 1;
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_expect_eq(ls_desync_bundle_write(&made.bundle, &counting.allocator, &bytes, &size),
                 LS_NO_MEMORY);
    cr_expect_eq(counting.live_blocks, 0);
}
