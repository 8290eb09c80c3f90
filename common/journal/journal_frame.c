#include "lockstep/common/journal/journal_frame.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

#include <string.h>

enum {
    CHECKED_BYTES = 16, /* of a frame's head, before the checksum */
    FLAG_COMPRESSED = 1,
};

static const uint8_t mark[4] = {'L', 'S', 'J', 'R'};

#define PATIENCE_BYTES (UINT64_C(64) << 20)

static uint64_t checksum(const uint8_t *head, const uint8_t *payload, size_t size)
{
    return ls_hash_bytes(payload, size, ls_hash_bytes(head, CHECKED_BYTES, 0));
}

void ls_journal_frame_write(uint8_t *head, ls_journal_kind kind, bool is_compressed,
                            uint32_t stored_bytes, uint32_t raw_bytes)
{
    memcpy(head, mark, sizeof mark);
    head[4] = (uint8_t)kind;
    head[5] = is_compressed ? FLAG_COMPRESSED : 0;
    ls_store_u16(head + 6, 0);
    ls_store_u32(head + 8, stored_bytes);
    ls_store_u32(head + 12, raw_bytes);
    ls_store_u64(head + CHECKED_BYTES, checksum(head, head + LS_JOURNAL_FRAME_BYTES, stored_bytes));
}

/* All but the checksum. */
static bool read_head(const uint8_t *bytes, size_t size, uint64_t offset, ls_journal_frame *out)
{
    if (offset > size || size - offset < LS_JOURNAL_FRAME_BYTES) {
        return false;
    }
    const uint8_t *head = bytes + offset;
    *out = (ls_journal_frame){.kind = head[4],
                              .is_compressed = head[5] == FLAG_COMPRESSED,
                              .stored_bytes = ls_load_u32(head + 8),
                              .raw_bytes = ls_load_u32(head + 12),
                              .offset = offset,
                              .payload = head + LS_JOURNAL_FRAME_BYTES};
    bool is_sized = out->is_compressed ? out->stored_bytes < out->raw_bytes
                                       : out->stored_bytes == out->raw_bytes;
    return memcmp(head, mark, sizeof mark) == 0 && head[5] <= FLAG_COMPRESSED &&
           ls_load_u16(head + 6) == 0 && is_sized && out->raw_bytes <= LS_JOURNAL_RAW_BYTES_MAX &&
           out->stored_bytes <= size - offset - LS_JOURNAL_FRAME_BYTES;
}

static bool is_intact(const ls_journal_frame *frame)
{
    const uint8_t *head = frame->payload - LS_JOURNAL_FRAME_BYTES;
    return ls_load_u64(head + CHECKED_BYTES) == checksum(head, frame->payload, frame->stored_bytes);
}

bool ls_journal_frame_read(const uint8_t *bytes, size_t size, uint64_t offset,
                           ls_journal_frame *out)
{
    ls_journal_frame frame;
    if (!read_head(bytes, size, offset, &frame) || !is_intact(&frame)) {
        return false;
    }
    *out = frame;
    return true;
}

ls_journal_walk ls_journal_walk_from(const uint8_t *bytes, size_t size, uint64_t offset)
{
    return (ls_journal_walk){
        .bytes = bytes, .size = size, .at = LS_MIN(offset, size), .patience = PATIENCE_BYTES};
}

/* The offset of the next mark at or behind `from`, or the file's size. */
static uint64_t next_mark(const ls_journal_walk *walk, uint64_t from)
{
    while (walk->size - from >= sizeof mark) {
        const uint8_t *found =
            memchr(walk->bytes + from, mark[0], walk->size - from - (sizeof mark - 1));
        if (!found) {
            break;
        }
        if (memcmp(found, mark, sizeof mark) == 0) {
            return (uint64_t)(found - walk->bytes);
        }
        from = (uint64_t)(found - walk->bytes) + 1;
    }
    return walk->size;
}

static void lose(ls_journal_walk *walk, uint64_t to)
{
    if (walk->lost_bytes == 0) {
        walk->lost_offset = walk->at;
    }
    walk->lost_bytes += to - walk->at;
    walk->at = to;
}

bool ls_journal_walk_next(ls_journal_walk *walk, ls_journal_frame *out)
{
    uint64_t place = walk->at;
    while (place < walk->size) {
        ls_journal_frame frame;
        bool has_head = read_head(walk->bytes, walk->size, place, &frame);
        if (has_head && is_intact(&frame)) {
            if (place != walk->at) {
                lose(walk, place);
            }
            walk->at = ls_journal_frame_end(&frame);
            *out = frame;
            return true;
        }
        uint64_t cost = has_head ? frame.stored_bytes : 0;
        if (cost > walk->patience) {
            break;
        }
        walk->patience -= cost;
        place = next_mark(walk, place + 1);
    }
    if (walk->at < walk->size) {
        lose(walk, walk->size);
    }
    return false;
}
