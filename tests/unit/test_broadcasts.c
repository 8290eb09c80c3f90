#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/broadcast/broadcasts.h"
#include "lockstep/tests/support/journal_sample.h"
#include "lockstep/tools/replay/broadcast_index.h"
#include "lockstep/tools/replay/playback.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- broadcasts ---- */

/* ---- broadcast_index ---- */

static ls_status read_text(const char *text, replay_broadcast_index *out)
{
    return replay_broadcast_index_read(text, strlen(text), out);
}

#define MATCH "{\"match\":\"0123456789abcdef\",\"segments\":7,\"key\":4,\"is_over\":false}"

Test(broadcast_index, match_and_list_are_read)
{
    replay_broadcast_index index;
    cr_assert_eq(read_text(MATCH, &index), LS_OK);
    cr_expect_str_eq(index.match, "0123456789abcdef");
    cr_expect_eq(index.segments, 7u);
    cr_expect_eq(index.key, 4u);
    cr_expect(!index.is_over);
    index = (replay_broadcast_index){.segments = 0};
    cr_assert_eq(read_text("{\"matches\":[" MATCH "]}", &index), LS_OK);
    cr_expect_eq(index.segments, 7u);
}

/* The page of client/web reads the same ones: tests/web/test_broadcast.mjs. */
Test(broadcast_index, samples_are_read_as_each_line_says)
{
    char line[512];
    uint32_t count = 0;
    FILE *samples = fopen(LS_TEST_SAMPLES "/broadcast_indexes.txt", "r");
    cr_assert_not_null(samples);
    while (fgets(line, sizeof line, samples)) {
        line[strcspn(line, "\n")] = '\0';
        const char *text = line + strcspn(line, " ") + 1;
        ls_status expected = strncmp(line, "good ", 5) == 0   ? LS_OK
                             : strncmp(line, "none ", 5) == 0 ? LS_NOT_FOUND
                                                              : LS_MALFORMED;
        replay_broadcast_index index = {.segments = 77};
        cr_expect_eq(read_text(text, &index), expected, "%s", line);
        cr_expect_eq(index.segments == 77u, expected != LS_OK, "%s", line);
        count++;
    }
    fclose(samples);
    cr_expect_gt(count, 20u);
}

Test(broadcast_index, head_of_a_segment_ends_behind_its_header)
{
    journal_sample sample;
    journal_sample_config config = journal_sample_default();
    journal_sample_make(&sample, &config);
    size_t head = replay_broadcast_segment_head(sample.bytes, sample.size);
    cr_assert(head > 0 && head < sample.size);
    cr_expect_eq(memcmp(sample.bytes + head, "LSJR", 4), 0, "another record begins there");
    cr_expect_eq(replay_broadcast_segment_head(sample.bytes, head), head);
    for (size_t size = 0; size < head; size++) {
        cr_expect_eq(replay_broadcast_segment_head(sample.bytes, size), 0u, "%zu bytes", size);
    }
    sample.bytes[head - 1] ^= 1;
    cr_expect_eq(replay_broadcast_segment_head(sample.bytes, sample.size), 0u);
    journal_sample_release(&sample);
}

/* ---- broadcast_path ---- */

static bool is_read(const char *path)
{
    ls_broadcast_path out;
    return ls_broadcast_path_read(path, &out);
}

Test(broadcast_path, each_path_names_one_thing)
{
    ls_broadcast_path path;
    cr_assert(ls_broadcast_path_read("/broadcast", &path));
    cr_expect_eq(path.kind, LS_BROADCAST_PATH_LIST);
    cr_assert(ls_broadcast_path_read("/broadcast/00ff0123456789ab", &path));
    cr_expect_eq(path.kind, LS_BROADCAST_PATH_INDEX);
    cr_expect_eq(path.match_id, UINT64_C(0x00ff0123456789ab));
    cr_assert(ls_broadcast_path_read("/broadcast/ffffffffffffffff/0", &path));
    cr_expect_eq(path.kind, LS_BROADCAST_PATH_SEGMENT);
    cr_expect_eq(path.match_id, UINT64_MAX);
    cr_expect_eq(path.segment, 0u);
    cr_assert(ls_broadcast_path_read("/broadcast/0000000000000000/99999999", &path));
    cr_expect_eq(path.segment, 99999999u);
}

Test(broadcast_path, another_spelling_is_not_there)
{
    static const char *const odd[] = {
        "",
        "/",
        "/broadcas",
        "/broadcasts",
        "/broadcast/",
        "/broadcast/00ff0123456789a",
        "/broadcast/00ff0123456789abc",
        "/broadcast/00FF0123456789ab",
        "/broadcast/00ff0123456789ab/",
        "/broadcast/00ff0123456789ab/00",
        "/broadcast/00ff0123456789ab/-1",
        "/broadcast/00ff0123456789ab/+1",
        "/broadcast/00ff0123456789ab/1x",
        "/broadcast/00ff0123456789ab/1/",
        "/broadcast/00ff0123456789ab/100000000",
        "/broadcast//0",
        "/broadcast/../play",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        cr_expect(!is_read(odd[i]), "%s", odd[i]);
    }
}

/* ---- broadcasts ---- */

#define MATCH_ID UINT64_C(0x123456789abcdef0)
#define DELAY_S 10u

static journal_sample sample;
static char folder[512], path[600];
static ls_broadcasts *broadcasts;

static void setup(void)
{
    cr_assert(ls_folder_make_temporary(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/sample.journal", folder);
    cr_assert_eq(ls_broadcasts_create(folder, DELAY_S, ls_allocator_heap(), &broadcasts), LS_OK);
}

static void release(void)
{
    ls_broadcasts_destroy(broadcasts);
    journal_sample_release(&sample);
    remove(path);
    remove(folder);
}

TestSuite(broadcasts, .init = setup, .fini = release);

static void make(bool is_public, bool is_closed)
{
    journal_sample_config config = journal_sample_default();
    config.ticks = 1000;
    config.snapshot_ticks = 300;
    config.is_public = is_public;
    config.is_closed = is_closed;
    journal_sample_make(&sample, &config);
}

static void write_file(size_t size)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite(sample.bytes, 1, size, file) == size && fclose(file) == 0);
}

static void keep_up(uint64_t second)
{
    ls_broadcasts_keep_up(broadcasts, second * LS_NS_PER_SECOND,
                          (int64_t)(ls_clock_unix_ms() * LS_NS_PER_MS));
}

/* How many segments can be seen then; 0: the match cannot. */
static uint32_t seen(uint64_t second)
{
    uint64_t now_ns = second * LS_NS_PER_SECOND;
    const ls_broadcast *found = ls_broadcasts_find(broadcasts, MATCH_ID, now_ns);
    uint32_t segments = 0;
    if (found) {
        char *line = ls_broadcast_index(broadcasts, found, now_ns);
        ls_json *json = ls_json_parse(line, strlen(line));
        cr_assert(ls_json_read_u32(json, "segments", &segments));
        ls_json_destroy(json);
        ls_json_release_line(line);
    }
    return segments;
}

static bool is_listed(uint64_t second)
{
    char *line = ls_broadcasts_list(broadcasts, second * LS_NS_PER_SECOND);
    bool is_there = strstr(line, "123456789abcdef0") != NULL;
    ls_json_release_line(line);
    return is_there;
}

Test(broadcasts, match_is_seen_once_it_is_late_enough)
{
    make(true, false);
    write_file(sample.size);
    keep_up(100);
    cr_expect_eq(seen(100 + DELAY_S - 1), 0u);
    cr_expect(!is_listed(100 + DELAY_S - 1));
    cr_expect(seen(100 + DELAY_S) > 3);
    cr_expect(is_listed(100 + DELAY_S));
}

Test(broadcasts, each_segment_is_as_late)
{
    make(true, false);
    write_file(sample.size / 2);
    keep_up(100);
    write_file(sample.size);
    keep_up(104);
    uint32_t half = seen(100 + DELAY_S);
    cr_expect(half > 0);
    cr_expect_eq(seen(103 + DELAY_S), half);
    cr_expect(seen(104 + DELAY_S) > half);
}

Test(broadcasts, segment_that_cannot_be_seen_cannot_be_fetched)
{
    make(true, false);
    write_file(sample.size / 2);
    keep_up(100);
    write_file(sample.size);
    keep_up(104);
    uint64_t then_ns = (100 + DELAY_S) * LS_NS_PER_SECOND;
    ls_broadcast *found = ls_broadcasts_find(broadcasts, MATCH_ID, then_ns);
    uint32_t count = seen(100 + DELAY_S);
    uint8_t *bytes = NULL;
    size_t size = 0;
    cr_expect_eq(ls_broadcast_segment(broadcasts, found, count, then_ns, &bytes, &size),
                 LS_NOT_FOUND);
    cr_expect_eq(ls_broadcast_segment(broadcasts, found, count - 1, then_ns, &bytes, &size), LS_OK);
    cr_expect_eq(memcmp(bytes, "LSJOURNL", 8), 0);
    ls_release(ls_allocator_heap(), bytes);
}

Test(broadcasts, match_that_is_not_public_is_never_seen)
{
    make(false, false);
    write_file(sample.size);
    keep_up(100);
    keep_up(200);
    cr_expect_eq(seen(1000), 0u);
    cr_expect(!is_listed(1000));
}

Test(broadcasts, match_that_is_over_is_shown_for_a_while)
{
    make(true, true);
    write_file(sample.size);
    keep_up(100);
    keep_up(200);
    cr_expect(is_listed(200));
    remove(path);
    keep_up(300);
    cr_expect(is_listed(300), "its file may be gone by then");
    keep_up(1000);
    cr_expect(!is_listed(1000));
}

Test(broadcasts, match_whose_journal_was_deleted_goes_at_once)
{
    make(true, false);
    write_file(sample.size);
    keep_up(100);
    keep_up(120);
    cr_assert(is_listed(120));
    remove(path);
    keep_up(123);
    cr_expect(!is_listed(123));
}

Test(broadcasts, old_journal_is_not_followed)
{
    make(true, false);
    write_file(sample.size);
    ls_broadcasts_keep_up(broadcasts, LS_NS_PER_SECOND,
                          (int64_t)(ls_clock_unix_ms() * LS_NS_PER_MS) +
                              (int64_t)(61 * LS_NS_PER_SECOND));
    cr_expect(!is_listed(1000));
}

Test(broadcasts, journal_that_was_cut_is_read_anew)
{
    make(true, false);
    write_file(sample.size);
    keep_up(100);
    uint32_t all = seen(100 + DELAY_S);
    write_file(sample.size / 2);
    keep_up(101);
    uint32_t half = seen(101 + DELAY_S);
    cr_expect(half > 0 && half < all);
    write_file(sample.size);
    keep_up(102);
    cr_expect_eq(seen(102 + DELAY_S), all);
}

/* ---- segments ---- */

/* At 60 Hz a segment has 120 ticks, or fewer where a snapshot begins the next one. */
enum {
    TICKS = 1000,
    SNAPSHOT_TICKS = 300,
    TICKS_OF_SEGMENT = 120,
};

static journal_sample segments_sample;
static ls_segments *segments;

static void segments_make(journal_sample_config config)
{
    journal_sample_make(&segments_sample, &config);
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

static void segments_release(void)
{
    ls_segments_destroy(segments);
    journal_sample_release(&segments_sample);
}

TestSuite(segments, .fini = segments_release);

/* As a file that grows by so many bytes between two looks. */
static void read_by(size_t step, size_t size)
{
    for (size_t end = step; end < size + step; end += step) {
        size_t have = end < size ? end : size;
        size_t at = (size_t)ls_segments_offset(segments);
        if (have > at) {
            ls_segments_read(segments, segments_sample.bytes + at, have - at, end);
        }
    }
}

/* The bytes that a spectator gets from segment `first` on, as one journal. */
static uint8_t *put_together(uint32_t first, size_t *size)
{
    uint8_t *bytes = malloc(segments_sample.size + LS_SEGMENT_HEAD_BYTES_MAX);
    *size = 0;
    for (uint32_t i = first; i < ls_segments_count(segments); i++) {
        const ls_segment *segment = ls_segments_at(segments, i);
        const ls_segment_run *runs = ls_segments_runs(segments, segment);
        if (i == first) {
            *size = ls_segments_write_head(segments, segment, bytes);
        }
        for (uint32_t r = 0; r < segment->run_count; r++) {
            memcpy(bytes + *size, segments_sample.bytes + runs[r].offset, (size_t)runs[r].bytes);
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
    segments_make(public_sample());
    read_by(1000, segments_sample.size);
    uint8_t *bytes = NULL;
    ls_journal *journal = open_from(0, &bytes);
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect_eq(info->ticks, (uint64_t)TICKS);
    cr_expect_eq(info->ticks_missing, 0u);
    cr_expect_eq(info->lost_bytes, 0u);
    cr_expect_eq(info->snapshots, 3u);
    cr_expect_eq(info->tick_chain, segments_sample.chain);
    cr_expect(info->is_complete);
    cr_expect_eq(info->end.final_hash, journal_sample_hash(TICKS));
    cr_expect(ls_segments_are_over(segments));
    ls_journal_close(journal);
    free(bytes);
}

Test(segments, key_of_the_match_its_build_and_its_events_stay)
{
    segments_make(public_sample());
    read_by(segments_sample.size, segments_sample.size);
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
    segments_make(public_sample());
    read_by(segments_sample.size, segments_sample.size);
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
    segments_make(public_sample());
    read_by(segments_sample.size, segments_sample.size);
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
    segments_make(public_sample());
    read_by(segments_sample.size, segments_sample.size);
    ls_segments *at_once = segments;
    for (size_t step = 97; step < segments_sample.size; step *= 3) {
        cr_assert_eq(ls_segments_create(ls_allocator_heap(), &segments), LS_OK);
        read_by(step, segments_sample.size);
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
    segments_make(config);
    read_by(500, segments_sample.size / 2);
    uint32_t half = ls_segments_count(segments);
    cr_expect(half > 0 && !ls_segments_are_over(segments));
    read_by(500, segments_sample.size);
    cr_expect(ls_segments_count(segments) > half && !ls_segments_are_over(segments));
    cr_expect(ls_segments_at(segments, ls_segments_count(segments) - 1)->end_tick < TICKS);
}

Test(segments, snapshot_of_several_pieces_is_in_one)
{
    journal_sample_config config = public_sample();
    config.state_bytes = 2 * LS_JOURNAL_PIECE_BYTES + 5;
    segments_make(config);
    read_by(1 << 20, segments_sample.size);
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
    segments_make(config);
    read_by(segments_sample.size, segments_sample.size);
    cr_expect(!ls_segments_are_public(segments));
    cr_expect(ls_segments_are_over(segments));
    cr_expect_eq(ls_segments_count(segments), 0u);
    cr_expect(ls_segments_offset(segments) < segments_sample.size / 10,
              "no further than its first tick");
}

Test(segments, damage_ends_it_and_keeps_what_was_whole)
{
    segments_make(public_sample());
    read_by(segments_sample.size, segments_sample.size);
    uint32_t all = ls_segments_count(segments);
    ls_segments_destroy(segments);
    cr_assert_eq(ls_segments_create(ls_allocator_heap(), &segments), LS_OK);
    segments_sample.bytes[segments_sample.size / 2] ^= 1;
    /* The record might still be written: only when there is no room for one is it damaged. */
    read_by(segments_sample.size, segments_sample.size);
    uint32_t half = ls_segments_count(segments);
    cr_expect(half > 0 && half < all && !ls_segments_are_over(segments));
    size_t at = (size_t)ls_segments_offset(segments);
    uint8_t *longer = calloc(1, LS_SEGMENTS_READ_BYTES);
    memcpy(longer, segments_sample.bytes + at, segments_sample.size - at);
    ls_segments_read(segments, longer, LS_SEGMENTS_READ_BYTES, 1);
    cr_expect(ls_segments_are_over(segments));
    cr_expect_eq(ls_segments_count(segments), half);
    free(longer);
}

Test(segments, another_file_is_none)
{
    segments_make(public_sample());
    memset(segments_sample.bytes, 'x', 8);
    read_by(segments_sample.size, segments_sample.size);
    cr_expect(ls_segments_are_over(segments));
    cr_expect_eq(ls_segments_count(segments), 0u);
}
