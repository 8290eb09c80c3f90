#include "lockstep/tools/replay/broadcast_index.h"

#include "lockstep/tests/support/journal_sample.h"

#include <criterion/criterion.h>
#include <string.h>

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
