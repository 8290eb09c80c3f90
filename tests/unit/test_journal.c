#include "lockstep/common/journal/journal.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/tests/support/journal_sample.h"
#include "lockstep/tests/support/kept.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static journal_sample sample;

static void make(journal_sample_config config)
{
    journal_sample_make(&sample, &config);
}

static void release(void)
{
    destroy_kept();
    journal_sample_release(&sample);
}

TestSuite(journal, .fini = release);

static void close_journal(void *journal)
{
    ls_journal_close(journal);
}

static ls_journal *open_bytes(const uint8_t *bytes, size_t size, ls_journal_trust trust)
{
    ls_journal *journal = NULL;
    ls_text why = {{0}};
    cr_assert_eq(ls_journal_open(bytes, size, trust, ls_allocator_heap(), &journal, &why), LS_OK,
                 "%s", why.bytes);
    return keep_until_end(journal, close_journal);
}

static ls_journal *open_sample(ls_journal_trust trust)
{
    return open_bytes(sample.bytes, sample.size, trust);
}

/* Reads ticks from `first` on and expects them to be those up to `end`. */
static void expect_ticks(ls_journal *journal, ls_tick first, ls_tick end)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input expected[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_tick_inputs made;
    uint64_t state_hash = 0;
    ls_journal_seek(journal, first);
    for (ls_tick tick = first; tick < end; tick++) {
        cr_assert_eq(ls_journal_next_tick(journal, slots, &inputs, &state_hash), LS_OK, "tick %u",
                     tick);
        cr_assert_eq(inputs.tick, tick);
        cr_assert_eq(state_hash, journal_sample_hash(tick + 1));
        journal_sample_inputs(tick, expected, &made);
        for (uint32_t slot = 0; slot < JOURNAL_SAMPLE_SLOTS; slot++) {
            cr_assert_eq(slots[slot].size, expected[slot].size);
            cr_assert_eq(slots[slot].events, expected[slot].events);
            cr_assert_arr_eq(slots[slot].bytes, expected[slot].bytes, expected[slot].size);
        }
    }
}

static void expect_no_more(ls_journal *journal)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    cr_assert_eq(ls_journal_next_tick(journal, slots, &inputs, &state_hash), LS_NOT_FOUND);
}

static void expect_snapshot(ls_journal *journal, ls_tick asked, ls_tick found)
{
    ls_journal_snapshot snapshot;
    cr_assert_eq(ls_journal_find_snapshot(journal, asked, &snapshot), LS_OK);
    cr_assert_eq(snapshot.tick, found);
    cr_assert_eq(snapshot.state_hash, journal_sample_hash(found));
    cr_assert_eq(snapshot.hash_chain, found + 1000);
    cr_assert_eq(snapshot.state_bytes, sample.config.state_bytes);
    uint8_t *state = malloc((size_t)snapshot.state_bytes);
    cr_assert_eq(ls_journal_read_snapshot(journal, &snapshot, state), LS_OK);
    for (size_t i = 0; i < snapshot.state_bytes; i++) {
        cr_assert_eq(state[i], journal_sample_state_byte(found, i));
    }
    free(state);
}

/* ---- what was written is read ---- */

Test(journal, header_comes_back)
{
    make(journal_sample_default());
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    ls_journal_header expected = journal_sample_header(&sample.config);
    cr_expect_eq(memcmp(ls_journal_header_of(journal), &expected, sizeof expected), 0);
}

Test(journal, ticks_come_back_from_any_tick_on)
{
    make(journal_sample_default());
    for (int trust = LS_JOURNAL_CHECK_ALL; trust <= LS_JOURNAL_TRUST_INDEX; trust++) {
        ls_journal *journal = open_sample((ls_journal_trust)trust);
        for (ls_tick first = 0; first <= 200; first += 7) {
            expect_ticks(journal, first, 200);
            expect_no_more(journal);
        }
    }
}

Test(journal, counts_what_is_in_it)
{
    make(journal_sample_default());
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    const ls_journal_info *info = ls_journal_info_of(journal);
    uint64_t bytes = LS_RECORD_FILE_HEAD_BYTES;
    for (uint32_t kind = 0; kind < LS_JOURNAL_KIND_COUNT; kind++) {
        bytes += info->stored_bytes[kind];
    }
    cr_expect(info->is_complete && info->is_counted);
    cr_expect_eq(info->ticks, 200u);
    cr_expect_eq(info->state_hashes, 200u);
    cr_expect_eq(info->end_tick, 200u);
    cr_expect_eq(info->snapshots, 4u);
    cr_expect_eq(info->records[LS_JOURNAL_HEADER], 1u);
    cr_expect_eq(info->records[LS_JOURNAL_EVENT], 3u);
    cr_expect_eq(info->ticks_missing, 0u);
    cr_expect_eq(info->lost_bytes, 0u);
    cr_expect_eq(info->lost_tick, UINT32_MAX);
    cr_expect_eq(info->tick_chain, sample.chain);
    cr_expect_eq(info->end.final_hash, journal_sample_hash(200));
    cr_expect_eq(bytes, info->bytes, "every byte belongs to a record");
}

Test(journal, events_come_back_in_order)
{
    make(journal_sample_default());
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    ls_journal_event event;
    uint64_t offset = 0;
    cr_assert_eq(ls_journal_next_event(journal, &offset, &event), LS_OK);
    cr_expect_eq(event.kind, LS_JOURNAL_EVENT_SEATED);
    cr_expect_str_eq(event.text.bytes, "Ada");
    cr_assert_eq(ls_journal_next_event(journal, &offset, &event), LS_OK);
    cr_assert_eq(ls_journal_next_event(journal, &offset, &event), LS_OK);
    cr_expect_eq(event.kind, LS_JOURNAL_EVENT_ENDED);
    cr_expect_eq(event.tick, 200u);
    cr_expect_eq(ls_journal_next_event(journal, &offset, &event), LS_NOT_FOUND);
}

Test(journal, nearest_snapshot_is_found)
{
    make(journal_sample_default());
    for (int trust = LS_JOURNAL_CHECK_ALL; trust <= LS_JOURNAL_TRUST_INDEX; trust++) {
        ls_journal *journal = open_sample((ls_journal_trust)trust);
        ls_journal_snapshot none;
        cr_expect_eq(ls_journal_find_snapshot(journal, 49, &none), LS_NOT_FOUND);
        expect_snapshot(journal, 50, 50);
        expect_snapshot(journal, 149, 100);
        expect_snapshot(journal, UINT32_MAX, 200);
        cr_expect_eq(ls_journal_next_snapshot(journal, 51, &none), LS_OK);
        cr_expect_eq(none.tick, 100u);
        cr_expect_eq(ls_journal_next_snapshot(journal, 201, &none), LS_NOT_FOUND);
    }
}

Test(journal, large_states_are_written_in_pieces)
{
    journal_sample_config config = journal_sample_default();
    config.ticks = 100;
    config.state_bytes = 2 * LS_JOURNAL_PIECE_BYTES + 12345;
    make(config);
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    cr_expect_eq(ls_journal_info_of(journal)->records[LS_JOURNAL_SNAPSHOT], 6u);
    cr_expect_eq(ls_journal_info_of(journal)->snapshots, 2u);
    expect_snapshot(journal, 99, 50);
}

/* The format: changing it is a new version. */
Test(journal, its_bytes_are_pinned)
{
    make(journal_sample_default());
    static const uint8_t head[] = {'L', 'S', 'J', 'O', 'U', 'R', 'N',
                                   'L', 1,   0,   0,   0,   0,   0,
                                   0,   0,   'L', 'S', 'J', 'R', LS_JOURNAL_HEADER};
    cr_assert_arr_eq(sample.bytes, head, sizeof head);
    /* Of what stands in the records; how small zstd makes it is its own affair. */
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    ls_journal_record record;
    uint64_t offset = 0;
    uint64_t digest = 0;
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        if (record.kind != LS_JOURNAL_INDEX && record.kind != LS_JOURNAL_END) {
            digest =
                ls_hash_pair(digest + record.kind, ls_hash_bytes(record.raw, record.raw_bytes, 0));
        }
    }
    cr_expect_eq(digest, UINT64_C(0x677690de9afb6976), "the payloads hash to 0x%016lx",
                 (unsigned long)digest);
}

/* ---- gaps ---- */

Test(journal, ticks_that_were_not_recorded_are_told)
{
    journal_sample_config config = journal_sample_default();
    config.gap_first = 60;
    config.gap_end = 93;
    make(config);
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect_eq(info->ticks, 200u - 33);
    cr_expect_eq(info->ticks_missing, 33u);
    cr_expect_eq(info->gaps, 1u);
    cr_expect_eq(info->gap_tick, 60u);
    cr_expect_eq(info->lost_tick, UINT32_MAX, "nothing of the file is damaged");
    expect_ticks(journal, 0, 60);
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    cr_assert_eq(ls_journal_next_tick(journal, slots, &inputs, &state_hash), LS_OK);
    cr_expect_eq(inputs.tick, 93u);
    expect_ticks(journal, 93, 200);
}

/* ---- damage ---- */

/* Looks at all that a journal has; it may have little, but nothing that was not written. */
static void read_everything(const uint8_t *bytes, size_t size, ls_journal_trust trust)
{
    ls_journal *journal = NULL;
    ls_text why = {{0}};
    ls_status status = ls_journal_open(bytes, size, trust, ls_allocator_heap(), &journal, &why);
    if (status != LS_OK) {
        cr_assert_eq(status, LS_MALFORMED);
        cr_assert_neq(why.bytes[0], '\0');
        return;
    }
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_slot_input expected[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    ls_tick_inputs made;
    uint64_t state_hash = 0;
    ls_tick next = 0;
    while (ls_journal_next_tick(journal, slots, &inputs, &state_hash) == LS_OK) {
        cr_assert(inputs.tick >= next && inputs.tick < sample.config.ticks);
        next = inputs.tick + 1;
        cr_assert_eq(state_hash, journal_sample_hash(next));
        journal_sample_inputs(inputs.tick, expected, &made);
        cr_assert_eq(slots[1].size, expected[1].size);
        cr_assert_arr_eq(slots[1].bytes, expected[1].bytes, expected[1].size);
    }
    ls_journal_snapshot snapshot;
    uint8_t state[1024];
    if (ls_journal_find_snapshot(journal, UINT32_MAX, &snapshot) == LS_OK) {
        cr_assert_eq(snapshot.state_bytes, sample.config.state_bytes);
        cr_assert_eq(ls_journal_read_snapshot(journal, &snapshot, state), LS_OK);
        cr_assert_eq(state[1], journal_sample_state_byte(snapshot.tick, 1));
    }
    ls_journal_close(journal);
}

Test(journal, cut_at_every_byte_of_its_last_64_kib_it_opens_or_is_refused)
{
    journal_sample_config config = journal_sample_default();
    config.ticks = 1200;
    config.snapshot_ticks = 100;
    make(config);
    cr_assert_gt(sample.size, (size_t)20000);
    size_t from = sample.size > 65536 ? sample.size - 65536 : 0;
    ls_tick end_before = 0;
    for (size_t cut = from; cut < sample.size; cut++) {
        ls_journal *journal = NULL;
        ls_text why = {{0}};
        if (ls_journal_open(sample.bytes, cut, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(), &journal,
                            &why) != LS_OK) {
            cr_assert_eq(end_before, 0u, "what opened when it was shorter opens");
            continue;
        }
        const ls_journal_info *info = ls_journal_info_of(journal);
        cr_assert(!info->is_complete && why.bytes[0] != '\0');
        cr_assert_geq(info->end_tick, end_before);
        cr_assert_leq(info->append_offset + info->lost_bytes, info->bytes);
        cr_assert_eq(info->lost_tick, info->lost_bytes > 0 ? info->end_tick : UINT32_MAX);
        end_before = info->end_tick;
        ls_journal_close(journal);
    }
    cr_expect_eq(end_before, 1200u);
}

Test(journal, every_flipped_bit_is_noticed_and_costs_one_record)
{
    journal_sample_config config = journal_sample_default();
    config.ticks = 60;
    config.snapshot_ticks = 30;
    make(config);
    uint32_t refused = 0;
    for (size_t bit = 0; bit < sample.size * 8; bit++) {
        ls_journal *journal = NULL;
        ls_text why = {{0}};
        sample.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        if (ls_journal_open(sample.bytes, sample.size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(),
                            &journal, &why) != LS_OK) {
            refused++;
        } else {
            const ls_journal_info *info = ls_journal_info_of(journal);
            bool is_reserved = bit / 8 >= 12 && bit / 8 < 16;
            cr_assert(info->lost_bytes > 0 || is_reserved, "bit %zu", bit);
            cr_assert_leq(info->ticks_missing, 16u);
            ls_journal_close(journal);
        }
        read_everything(sample.bytes, sample.size, LS_JOURNAL_TRUST_INDEX);
        sample.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    cr_expect_gt(refused, 8u * 16, "the file's head, and the header");
}

Test(journal, damage_in_the_middle_says_which_ticks_are_lost)
{
    make(journal_sample_default());
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    ls_journal_record record;
    uint64_t offset = 0;
    uint64_t place = 0;
    ls_tick first = 0;
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        if (record.kind == LS_JOURNAL_TICKS && record.offset > sample.size / 2) {
            place = record.offset;
            first = (ls_tick)(record.raw[0] | record.raw[1] << 8);
            break;
        }
    }
    sample.bytes[place + 30] ^= 1;
    ls_text why = {{0}};
    cr_assert_eq(ls_journal_open(sample.bytes, sample.size, LS_JOURNAL_CHECK_ALL,
                                 ls_allocator_heap(), &journal, &why),
                 LS_OK);
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect_eq(info->lost_offset, place);
    cr_expect_eq(info->lost_tick, first);
    cr_expect_eq(info->end_tick, 200u);
    cr_expect(info->is_complete);
    cr_expect(strstr(why.bytes, "ticks from"), "%s", why.bytes);
    expect_ticks(journal, 0, first);
    ls_journal_close(journal);
    read_everything(sample.bytes, sample.size, LS_JOURNAL_CHECK_ALL);
}

Test(journal, a_damaged_snapshot_gives_way_to_the_one_before)
{
    make(journal_sample_default());
    ls_journal *journal = open_sample(LS_JOURNAL_CHECK_ALL);
    ls_journal_record record;
    uint64_t offset = 0;
    uint64_t newest = 0;
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        newest = record.kind == LS_JOURNAL_SNAPSHOT ? record.offset : newest;
    }
    sample.bytes[newest + 40] ^= 4;
    for (int trust = LS_JOURNAL_CHECK_ALL; trust <= LS_JOURNAL_TRUST_INDEX; trust++) {
        journal = open_sample((ls_journal_trust)trust);
        expect_snapshot(journal, 200, 150);
    }
}

Test(journal, a_file_full_of_marks_costs_no_more_than_a_large_one)
{
    make(journal_sample_default());
    size_t size = 1 << 20;
    uint8_t *bytes = calloc(1, size);
    memcpy(bytes, sample.bytes, sample.size);
    for (size_t at = sample.size; at + LS_RECORD_MARKED_BYTES <= size; at += 24) {
        memcpy(bytes + at, "LSJR\2\0\0\0\0\0\10\0\0\0\10\0", 16); /* 512 KiB each */
    }
    ls_journal *journal = open_bytes(bytes, size, LS_JOURNAL_CHECK_ALL);
    cr_expect_eq(ls_journal_info_of(journal)->ticks, 200u);
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect_eq(info->lost_bytes + info->surplus_bytes, size - sample.size);
    free(bytes);
}

Test(journal, bytes_that_are_no_journal_are_refused_with_a_reason)
{
    make(journal_sample_default());
    ls_journal *journal = NULL;
    ls_text why = {{0}};
    cr_expect_eq(
        ls_journal_open(NULL, 0, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(), &journal, &why),
        LS_MALFORMED);
    cr_expect_str_eq(why.bytes, "this is no journal");
    sample.bytes[8] = 9;
    cr_expect_eq(ls_journal_open(sample.bytes, sample.size, LS_JOURNAL_CHECK_ALL,
                                 ls_allocator_heap(), &journal, &why),
                 LS_MALFORMED);
    cr_expect(strstr(why.bytes, "format 9"), "%s", why.bytes);
    sample.bytes[8] = 1;
    sample.bytes[60] ^= 1;
    cr_expect_eq(ls_journal_open(sample.bytes, sample.size, LS_JOURNAL_CHECK_ALL,
                                 ls_allocator_heap(), &journal, &why),
                 LS_MALFORMED);
    cr_expect(strstr(why.bytes, "header"), "%s", why.bytes);
}

/* ---- going on ---- */

Test(journal, one_that_was_cut_is_gone_on_with)
{
    journal_sample_config config = journal_sample_default();
    config.is_closed = false;
    make(config);
    ls_journal *journal = open_bytes(sample.bytes, sample.size - 37, LS_JOURNAL_CHECK_ALL);
    ls_journal_writer_destroy(sample.writer);
    cr_assert_eq(ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, journal, ls_allocator_heap(),
                                          &sample.writer),
                 LS_OK);
    ls_journal_end end = {.final_tick = 200, .final_hash = 5, .ticks = 200};
    ls_journal_raw raw = {.kind = LS_JOURNAL_END};
    ls_byte_stream stream = ls_byte_stream_write(raw.head, sizeof raw.head);
    ls_journal_end_stream(&stream, &end);
    raw.head_bytes = (uint32_t)stream.at;
    journal_sample_append(&sample, &raw);
    for (int trust = LS_JOURNAL_CHECK_ALL; trust <= LS_JOURNAL_TRUST_INDEX; trust++) {
        journal = open_sample((ls_journal_trust)trust);
        cr_expect(ls_journal_info_of(journal)->is_complete);
        cr_expect_eq(ls_journal_info_of(journal)->lost_bytes, 0u);
        expect_ticks(journal, 77, 200);
        expect_snapshot(journal, 160, 150);
    }
}

/* ---- the index ---- */

Test(journal, a_long_one_is_found_in_although_the_index_leaves_out_much)
{
    journal_sample_config config = journal_sample_default();
    config.ticks = 2 * LS_JOURNAL_INDEX_MAX + 300;
    config.block_ticks = 1;
    config.snapshot_ticks = 1;
    config.state_bytes = 16;
    make(config);
    ls_journal *journal = open_sample(LS_JOURNAL_TRUST_INDEX);
    cr_expect(!ls_journal_info_of(journal)->is_counted, "by its index");
    uint64_t number = 0;
    ls_journal_index_entry entry;
    while (ls_journal_next_place(journal, &number, &entry)) {
        /* counted */
    }
    cr_expect_lt(number, config.ticks);
    for (ls_tick tick = 1; tick < config.ticks; tick += 97) {
        expect_ticks(journal, tick, tick + 3);
        expect_snapshot(journal, tick, tick);
    }
}

/* ---- memory ---- */

Test(journal, every_failed_allocation_is_survived)
{
    make(journal_sample_default());
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        ls_journal *journal = NULL;
        refused.status = ls_journal_open(sample.bytes, sample.size, LS_JOURNAL_CHECK_ALL,
                                         &refused.counting.allocator, &journal, NULL);
        ls_journal_close(journal);
    }
}
