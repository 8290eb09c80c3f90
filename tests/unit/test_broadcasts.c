#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/server/broadcast/broadcast_path.h"
#include "lockstep/server/broadcast/broadcasts.h"
#include "lockstep/tests/support/journal_sample.h"
#include "lockstep/tools/replay/broadcast_index.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

Test(broadcast_index, empty_list_is_not_found)
{
    replay_broadcast_index index;
    cr_expect_eq(read_text("{\"matches\":[]}", &index), LS_NOT_FOUND);
}

Test(broadcast_index, what_makes_no_sense_is_malformed_and_changes_nothing)
{
    static const char *const odd[] = {
        "",
        "[]",
        "{}",
        "7",
        "{\"match\":\"0123456789abcdef\",\"segments\":7,\"key\":7,\"is_over\":false}",
        "{\"match\":\"0123456789abcdef\",\"segments\":0,\"key\":0,\"is_over\":false}",
        "{\"match\":\"0123456789abcdef\",\"segments\":-1,\"key\":0,\"is_over\":false}",
        "{\"match\":\"0123456789abcdef\",\"segments\":1.5,\"key\":0,\"is_over\":false}",
        "{\"match\":\"0123456789abcde/\",\"segments\":7,\"key\":4,\"is_over\":false}",
        "{\"match\":\"0123456789abcdef0\",\"segments\":7,\"key\":4,\"is_over\":false}",
        "{\"match\":7,\"segments\":7,\"key\":4,\"is_over\":false}",
        "{\"match\":\"0123456789abcdef\",\"segments\":7,\"key\":4,\"is_over\":1}",
        "{\"match\":\"0123456789abcdef\",\"segments\":7,\"key\":4}",
        "{\"matches\":[[]]}",
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        replay_broadcast_index index = {.segments = 77};
        cr_expect_eq(read_text(odd[i], &index), LS_MALFORMED, "%s", odd[i]);
        cr_expect_eq(index.segments, 77u);
    }
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
