/* Fuzzes what a spectator of a broadcast is told, the paths that it asks for, and the journal that
 * is cut into segments.
 *
 *   u8 what % 3: 0 an index or a list, 1 a path, 2 u8 step, a journal that grows by so many times
 *   16 bytes; then its bytes
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/broadcast/broadcasts.h"
#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tools/replay/broadcast_index.h"
#include "lockstep/tools/replay/playback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_index(const uint8_t *bytes, size_t size)
{
    replay_broadcast_index index;
    if (replay_broadcast_index_read((const char *)bytes, size, &index) == LS_OK) {
        LS_ASSERT(index.key < index.segments);
        LS_ASSERT(strspn(index.match, "0123456789abcdef") == REPLAY_BROADCAST_ID_BYTES - 1);
    }
    size_t head = replay_broadcast_segment_head(bytes, size);
    LS_ASSERT(head <= size);
}

/* Each thing has one path. */
static void read_path(const uint8_t *bytes, size_t size)
{
    char path[256], again[64];
    ls_broadcast_path read;
    size = size < sizeof path ? size : sizeof path - 1;
    memcpy(path, bytes, size);
    path[size] = '\0';
    if (!ls_broadcast_path_read(path, &read)) {
        return;
    }
    int written = snprintf(again, sizeof again, LS_BROADCAST_ROOT);
    if (read.kind != LS_BROADCAST_PATH_LIST) {
        written += snprintf(again + written, sizeof again - (size_t)written, "/%016llx",
                            (unsigned long long)read.match_id);
    }
    if (read.kind == LS_BROADCAST_PATH_SEGMENT) {
        snprintf(again + written, sizeof again - (size_t)written, "/%u", read.segment);
    }
    LS_ASSERT(strcmp(path, again) == 0);
}

static void check_segments(const ls_segments *segments)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < ls_segments_count(segments); i++) {
        const ls_segment *segment = ls_segments_at(segments, i);
        const ls_segment_run *runs = ls_segments_runs(segments, segment);
        static uint8_t head[LS_SEGMENT_HEAD_BYTES_MAX];
        size_t head_bytes = ls_segments_write_head(segments, segment, head);
        LS_ASSERT(replay_broadcast_segment_head(head, head_bytes) == head_bytes);
        for (uint32_t r = 0; r < segment->run_count; r++) {
            LS_ASSERT(runs[r].offset >= end && runs[r].bytes > 0);
            end = runs[r].offset + runs[r].bytes;
        }
    }
    LS_ASSERT(end <= ls_segments_offset(segments));
    LS_ASSERT(ls_segments_are_public(segments) || ls_segments_count(segments) == 0);
}

static void read_journal(fuzz_input *input)
{
    ls_segments *segments = NULL;
    size_t step = 16 * (size_t)fuzz_take_u8(input) + 1;
    LS_ASSERT(ls_segments_create(ls_allocator_heap(), &segments) == LS_OK);
    for (size_t have = step; have < input->size + step; have += step) {
        size_t end = have < input->size ? have : input->size;
        size_t at = (size_t)ls_segments_offset(segments);
        LS_ASSERT(at <= end || ls_segments_are_over(segments));
        if (at < end) {
            ls_segments_read(segments, input->bytes + at, end - at, have);
        }
    }
    check_segments(segments);
    ls_segments_destroy(segments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    uint8_t what = fuzz_take_u8(&input) % 3;
    if (what == 0) {
        read_index(input.bytes, input.size);
    } else if (what == 1) {
        read_path(input.bytes, input.size);
    } else {
        read_journal(&input);
    }
    return 0;
}
