/* Fuzzes the reading of journals and of blocks of ticks. Ticks that were read of a block are
 * written again and must read the same.
 *
 *   u8 mode     0: the rest is the file as it stands; 1: a block of ticks;
 *               2: records, which get frames with the right checksums, behind a good header; 3:
 *               likewise, without that header
 *   a block:    u8 slots, u8 longest input / 4, the block
 *   a record:   u8 kind: lowest four bits; bit 4: it is compressed
 *               u16 size
 *               bytes: as many, or what is left
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1 << 18,
    SLOTS = 2,
    INPUT_BYTES = 16,
};

static const ls_allocator bounded = {fuzz_allocate_bounded, fuzz_release_bounded, NULL, NULL};

/* ---- blocks of ticks ---- */

static bool is_same(const ls_slot_input *a, const ls_slot_input *b)
{
    return a->size == b->size && a->events == b->events &&
           (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}

/* Both blocks hold the same ticks, as far as the first one can be read. */
static void compare_blocks(ls_tick_block_reader *a, ls_tick_block_reader *b)
{
    ls_slot_input slots[2][LS_PLAYERS_MAX];
    ls_tick_inputs inputs[2];
    uint64_t state_hashes[2] = {0, 0};
    while (ls_tick_block_next(b, slots[1], &inputs[1], &state_hashes[1]) == LS_OK) {
        LS_ASSERT(ls_tick_block_next(a, slots[0], &inputs[0], &state_hashes[0]) == LS_OK);
        LS_ASSERT(inputs[0].tick == inputs[1].tick && state_hashes[0] == state_hashes[1]);
        for (uint32_t slot = 0; slot < a->head.slot_count; slot++) {
            LS_ASSERT(is_same(&slots[0][slot], &slots[1][slot]));
        }
    }
}

static void check_block(const uint8_t *bytes, size_t size, uint32_t slots, uint32_t longest)
{
    static ls_tick_block_reader reader;
    static ls_tick_block_reader again;
    static ls_tick_block_writer writer;
    static uint8_t memory[1 << 20];
    ls_slot_input inputs[LS_PLAYERS_MAX];
    ls_tick_inputs tick;
    uint64_t state_hash = 0;
    if (ls_tick_block_open(&reader, bytes, size, slots, longest) != LS_OK) {
        return;
    }
    ls_tick_block_start(&writer, memory, sizeof memory, slots);
    while (ls_tick_block_next(&reader, inputs, &tick, &state_hash) == LS_OK) {
        LS_ASSERT(tick.tick == reader.head.first + writer.count);
        for (uint32_t slot = 0; slot < slots; slot++) {
            LS_ASSERT(inputs[slot].size <= longest);
        }
        if (!ls_tick_block_add(&writer, &tick, state_hash)) {
            break;
        }
    }
    if (writer.count == 0) {
        return;
    }
    size_t written = ls_tick_block_finish(&writer, reader.head.chain);
    LS_ASSERT(ls_tick_block_open(&reader, bytes, size, slots, longest) == LS_OK);
    LS_ASSERT(ls_tick_block_open(&again, memory, written, slots, longest) == LS_OK);
    compare_blocks(&reader, &again);
    LS_ASSERT(again.at == again.end && again.state_hashes == again.hashes_end);
}

/* ---- files ---- */

static size_t add_record(uint8_t *file, size_t at, uint32_t kind, bool is_compressed,
                         const uint8_t *bytes, size_t size)
{
    uint8_t *place = file + at;
    size_t room = FILE_BYTES_MAX - at;
    if (room < LS_RECORD_MARKED_BYTES + ls_compress_bound(size)) {
        return at;
    }
    if (is_compressed) {
        return at + ls_record_pack(&ls_journal_format, place, room, kind, bytes, size);
    }
    memmove(place + LS_RECORD_MARKED_BYTES, bytes, size);
    ls_record_seal(&ls_journal_format, place,
                   &(ls_record){.kind = kind, .stored_bytes = size, .raw_bytes = size});
    return at + LS_RECORD_MARKED_BYTES + size;
}

static size_t add_header(uint8_t *file, size_t at)
{
    uint8_t bytes[LS_JOURNAL_HEADER_BYTES_MAX];
    ls_journal_header header = {.simulation = "fuzz",
                                .config = {.tick_rate_hz = 60, .players = SLOTS},
                                .input_bytes_max = INPUT_BYTES,
                                .hash_interval_ticks = 1};
    ls_byte_stream stream = ls_byte_stream_write(bytes, sizeof bytes);
    ls_journal_header_stream(&stream, &header);
    return add_record(file, at, LS_JOURNAL_HEADER, false, bytes, stream.at);
}

static size_t make_file(fuzz_input *input, bool has_header, uint8_t *file)
{
    size_t at = LS_RECORD_FILE_HEAD_BYTES;
    ls_record_file_begin(&ls_journal_format, file);
    at = has_header ? add_header(file, at) : at;
    while (input->size > 0) {
        uint8_t kind = fuzz_take_u8(input);
        size_t size = fuzz_take_u16(input);
        const uint8_t *bytes = fuzz_take_bytes(input, size, &size);
        at = add_record(file, at, kind & 15u, (kind & 16u) != 0, bytes, size);
    }
    return at;
}

static void check_ticks(ls_journal *journal)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    uint64_t next = 0;
    ls_journal_seek(journal, 0);
    while (ls_journal_next_tick(journal, slots, &inputs, &state_hash) == LS_OK) {
        LS_ASSERT(inputs.tick >= next);
        next = (uint64_t)inputs.tick + 1;
        for (uint32_t slot = 0; slot < inputs.slot_count; slot++) {
            LS_ASSERT(slots[slot].size <= ls_journal_header_of(journal)->input_bytes_max);
        }
    }
}

static void check_snapshots(ls_journal *journal)
{
    static const ls_tick asked[] = {0, 5, 100, UINT32_MAX};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        ls_journal_snapshot snapshot;
        if (ls_journal_find_snapshot(journal, asked[i], &snapshot) != LS_OK) {
            continue;
        }
        LS_ASSERT(snapshot.tick <= asked[i]);
        uint8_t *state = ls_allocate(&bounded, (size_t)snapshot.state_bytes);
        LS_ASSERT(!state || ls_journal_read_snapshot(journal, &snapshot, state) == LS_OK);
        free(state);
        ls_journal_next_snapshot(journal, asked[i], &snapshot);
    }
}

static void check_file(const uint8_t *bytes, size_t size)
{
    for (int trust = LS_JOURNAL_CHECK_ALL; trust <= LS_JOURNAL_TRUST_INDEX; trust++) {
        ls_journal *journal = NULL;
        ls_journal_event event;
        ls_text why = {{0}};
        uint64_t offset = 0;
        ls_status status =
            ls_journal_open(bytes, size, (ls_journal_trust)trust, &bounded, &journal, &why);
        LS_ASSERT(status == LS_OK || why.bytes[0] != '\0');
        if (status != LS_OK) {
            return;
        }
        LS_ASSERT(ls_journal_info_of(journal)->lost_bytes <= size);
        LS_ASSERT(ls_journal_info_of(journal)->append_offset <= size);
        check_ticks(journal);
        check_snapshots(journal);
        while (ls_journal_next_event(journal, &offset, &event) == LS_OK) {
            LS_ASSERT(offset <= size);
        }
        ls_journal_close(journal);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t file[FILE_BYTES_MAX];
    fuzz_input input = {bytes, size};
    uint32_t mode = fuzz_take_u8(&input) & 3u;
    if (mode == 0) {
        check_file(input.bytes, input.size);
    } else if (mode == 1) {
        uint32_t slots = fuzz_take_u8(&input) % LS_PLAYERS_MAX + 1;
        uint32_t longest = fuzz_take_u8(&input) * 4u;
        check_block(input.bytes, input.size, slots, longest);
    } else {
        check_file(file, make_file(&input, mode == 2, file));
    }
    return 0;
}
