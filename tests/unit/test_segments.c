#include "lockstep/server/broadcast/segments.h"

#include "lockstep/tests/support/journal_sample.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* At 60 Hz a segment has 120 ticks, or fewer where a snapshot begins the next one. */
enum {
    TICKS = 1000,
    SNAPSHOT_TICKS = 300,
    TICKS_OF_SEGMENT = 120,
};

static journal_sample sample;
static ls_segments *segments;

static void make(journal_sample_config config)
{
    journal_sample_make(&sample, &config);
    cr_assert_eq(ls_segments_create(ls_allocator_heap(), &segments), LS_OK);
}

static journal_sample_config public_sample(void)
{
    journal_sample_config config = journal_sample_default();
    config.ticks = TICKS;
    config.snapshot_ticks = SNAPSHOT_TICKS;
    config.is_public = true;
    return config;
}

static void release(void)
{
    ls_segments_destroy(segments);
    journal_sample_release(&sample);
}

TestSuite(segments, .fini = release);

/* As a file that grows by so many bytes between two looks. */
static void read_by(size_t step, size_t size)
{
    for (size_t end = step; end < size + step; end += step) {
        size_t have = end < size ? end : size;
        size_t at = (size_t)ls_segments_offset(segments);
        if (have > at) {
            ls_segments_read(segments, sample.bytes + at, have - at, end);
        }
    }
}

/* The bytes that a spectator gets from segment `first` on, as one journal. */
static uint8_t *put_together(uint32_t first, size_t *size)
{
    uint8_t *bytes = malloc(sample.size + LS_SEGMENT_HEAD_BYTES_MAX);
    *size = 0;
    for (uint32_t i = first; i < ls_segments_count(segments); i++) {
        const ls_segment *segment = ls_segments_at(segments, i);
        const ls_segment_run *runs = ls_segments_runs(segments, segment);
        if (i == first) {
            *size = ls_segments_write_head(segments, segment, bytes);
        }
        for (uint32_t r = 0; r < segment->run_count; r++) {
            memcpy(bytes + *size, sample.bytes + runs[r].offset, (size_t)runs[r].bytes);
            *size += (size_t)runs[r].bytes;
        }
    }
    return bytes;
}

static ls_journal *open_from(uint32_t first, uint8_t **bytes)
{
    ls_journal *journal = NULL;
    ls_text why = {{0}};
    size_t size = 0;
    *bytes = put_together(first, &size);
    cr_assert_eq(
        ls_journal_open(*bytes, size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(), &journal, &why),
        LS_OK, "%s", why.bytes);
    return journal;
}

Test(segments, together_they_are_the_journal)
{
    make(public_sample());
    read_by(1000, sample.size);
    uint8_t *bytes = NULL;
    ls_journal *journal = open_from(0, &bytes);
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect_eq(info->ticks, (uint64_t)TICKS);
    cr_expect_eq(info->ticks_missing, 0u);
    cr_expect_eq(info->lost_bytes, 0u);
    cr_expect_eq(info->snapshots, 3u);
    cr_expect_eq(info->tick_chain, sample.chain);
    cr_expect(info->is_complete);
    cr_expect_eq(info->end.final_hash, journal_sample_hash(TICKS));
    cr_expect(ls_segments_are_over(segments));
    ls_journal_close(journal);
    free(bytes);
}

Test(segments, key_of_the_match_its_build_and_its_events_stay)
{
    make(public_sample());
    read_by(sample.size, sample.size);
    uint8_t *bytes = NULL;
    ls_journal *journal = open_from(0, &bytes);
    const ls_journal_header *header = ls_journal_header_of(journal);
    static const ls_secret_key none;
    static const ls_build_fingerprint unknown;
    cr_expect_eq(memcmp(&header->key, &none, sizeof none), 0);
    cr_expect_eq(memcmp(&header->print, &unknown, sizeof unknown), 0);
    cr_expect_str_eq(header->simulation, "sample");
    cr_expect_eq(ls_journal_info_of(journal)->records[LS_JOURNAL_EVENT], 0u);
    cr_expect_eq(ls_journal_info_of(journal)->records[LS_JOURNAL_INDEX], 0u);
    ls_journal_close(journal);
    free(bytes);
}

Test(segments, every_key_begins_a_journal_of_its_own)
{
    make(public_sample());
    read_by(sample.size, sample.size);
    uint32_t keys = 0;
    for (uint32_t i = 0; i < ls_segments_count(segments); i++) {
        const ls_segment *segment = ls_segments_at(segments, i);
        if (!segment->is_key) {
            continue;
        }
        uint8_t *bytes = NULL;
        ls_journal_snapshot snapshot;
        ls_journal *journal = open_from(i, &bytes);
        cr_expect_eq(ls_journal_header_of(journal)->first_tick, segment->first_tick);
        cr_expect_eq(ls_journal_info_of(journal)->ticks, (uint64_t)TICKS - segment->first_tick);
        cr_expect_eq(segment->first_tick, SNAPSHOT_TICKS * keys);
        if (keys > 0) {
            cr_expect_eq(ls_journal_find_snapshot(journal, segment->first_tick, &snapshot), LS_OK);
        }
        keys++;
        ls_journal_close(journal);
        free(bytes);
    }
    cr_expect_eq(keys, 1u + TICKS / SNAPSHOT_TICKS);
}

Test(segments, they_follow_one_another_and_none_is_long)
{
    make(public_sample());
    read_by(sample.size, sample.size);
    ls_tick next = 0;
    for (uint32_t i = 0; i < ls_segments_count(segments); i++) {
        const ls_segment *segment = ls_segments_at(segments, i);
        cr_expect_eq(segment->first_tick, next);
        cr_expect(segment->end_tick - segment->first_tick < TICKS_OF_SEGMENT + 2 * 16);
        next = segment->end_tick;
    }
    cr_expect_eq(next, (ls_tick)TICKS);
}

Test(segments, they_are_the_same_whenever_they_are_cut)
{
    make(public_sample());
    read_by(sample.size, sample.size);
    ls_segments *at_once = segments;
    for (size_t step = 97; step < sample.size; step *= 3) {
        cr_assert_eq(ls_segments_create(ls_allocator_heap(), &segments), LS_OK);
        read_by(step, sample.size);
        cr_assert_eq(ls_segments_count(segments), ls_segments_count(at_once));
        for (uint32_t i = 0; i < ls_segments_count(segments); i++) {
            const ls_segment *a = ls_segments_at(segments, i);
            const ls_segment *b = ls_segments_at(at_once, i);
            cr_expect_eq(a->first_tick, b->first_tick);
            cr_expect_eq(a->is_key, b->is_key);
            cr_expect_eq(a->bytes, b->bytes);
        }
        ls_segments_destroy(segments);
    }
    segments = at_once;
}

Test(segments, match_that_goes_on_has_segments_that_are_whole)
{
    journal_sample_config config = public_sample();
    config.is_closed = false;
    make(config);
    read_by(500, sample.size / 2);
    uint32_t half = ls_segments_count(segments);
    cr_expect(half > 0 && !ls_segments_are_over(segments));
    read_by(500, sample.size);
    cr_expect(ls_segments_count(segments) > half && !ls_segments_are_over(segments));
    cr_expect(ls_segments_at(segments, ls_segments_count(segments) - 1)->end_tick < TICKS);
}

Test(segments, snapshot_of_several_pieces_is_in_one)
{
    journal_sample_config config = public_sample();
    config.state_bytes = 2 * LS_JOURNAL_PIECE_BYTES + 5;
    make(config);
    read_by(1 << 20, sample.size);
    uint32_t keys = 0;
    for (uint32_t i = 0; i < ls_segments_count(segments); i++) {
        keys += ls_segments_at(segments, i)->is_key;
    }
    cr_expect_eq(keys, 1u + TICKS / SNAPSHOT_TICKS);
    uint8_t *bytes = NULL;
    ls_journal *journal = open_from(0, &bytes);
    cr_expect_eq(ls_journal_info_of(journal)->snapshots, (uint64_t)(TICKS / SNAPSHOT_TICKS));
    ls_journal_close(journal);
    free(bytes);
}

Test(segments, journal_that_is_not_public_is_not_read)
{
    journal_sample_config config = public_sample();
    config.is_public = false;
    make(config);
    read_by(sample.size, sample.size);
    cr_expect(!ls_segments_are_public(segments));
    cr_expect(ls_segments_are_over(segments));
    cr_expect_eq(ls_segments_count(segments), 0u);
    cr_expect(ls_segments_offset(segments) < sample.size / 10, "no further than its first tick");
}

Test(segments, damage_ends_it_and_keeps_what_was_whole)
{
    make(public_sample());
    read_by(sample.size, sample.size);
    uint32_t all = ls_segments_count(segments);
    ls_segments_destroy(segments);
    cr_assert_eq(ls_segments_create(ls_allocator_heap(), &segments), LS_OK);
    sample.bytes[sample.size / 2] ^= 1;
    /* The record might still be written: only when there is no room for one is it damaged. */
    read_by(sample.size, sample.size);
    uint32_t half = ls_segments_count(segments);
    cr_expect(half > 0 && half < all && !ls_segments_are_over(segments));
    size_t at = (size_t)ls_segments_offset(segments);
    uint8_t *longer = calloc(1, LS_SEGMENTS_READ_BYTES);
    memcpy(longer, sample.bytes + at, sample.size - at);
    ls_segments_read(segments, longer, LS_SEGMENTS_READ_BYTES, 1);
    cr_expect(ls_segments_are_over(segments));
    cr_expect_eq(ls_segments_count(segments), half);
    free(longer);
}

Test(segments, another_file_is_none)
{
    make(public_sample());
    memset(sample.bytes, 'x', 8);
    read_by(sample.size, sample.size);
    cr_expect(ls_segments_are_over(segments));
    cr_expect_eq(ls_segments_count(segments), 0u);
}
