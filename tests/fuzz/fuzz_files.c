/* Fuzzes the readers of files: bundles, journals, broadcasts, plug-ins. */
#define _GNU_SOURCE
#include "lockstep/common/base/assert.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/journal/desync_bundle_format.h"
#include "lockstep/common/journal/journal_index.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/server/broadcast/broadcasts.h"
#include "lockstep/tools/replay/broadcast_index.h"
#include "lockstep/tools/replay/playback.h"
#include "lockstep/tools/schema/debug_types.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ==== bundle ==== */

/* Fuzzes the reading of desync bundles. A result that was read is written again and must read the
 * same.
 *
 *   u8 is_raw   odd: the rest is the file as it stands
 *   else sections, which get heads with the right hashes:
 *     u8 kind   lowest four bits: the section; bit 4: it says that it is compressed
 *     u16 size
 *     bytes     as many, or what is left
 */

enum {
    FILE_BYTES_MAX = 1 << 17,
};

static const ls_allocator bounded = {fuzz_allocate_bounded, fuzz_release_bounded, NULL, NULL};

/* ---- the file ---- */

static size_t add_section(uint8_t *file, size_t at, const ls_record *section)
{
    uint8_t *place = file + at;
    if (FILE_BYTES_MAX - at < LS_RECORD_UNMARKED_BYTES + section->stored_bytes) {
        return at;
    }
    if (section->stored_bytes > 0) {
        memcpy(place + LS_RECORD_UNMARKED_BYTES, section->payload, (size_t)section->stored_bytes);
    }
    ls_record_seal(&ls_bundle_format, place, section);
    return at + LS_RECORD_UNMARKED_BYTES + (size_t)section->stored_bytes;
}

static size_t make_file(fuzz_input *input, uint8_t *file)
{
    size_t at = LS_RECORD_FILE_HEAD_BYTES;
    ls_record_file_begin(&ls_bundle_format, file);
    while (input->size > 0) {
        uint8_t kind = fuzz_take_u8(input);
        size_t size = fuzz_take_u16(input);
        const uint8_t *bytes = fuzz_take_bytes(input, size, &size);
        bool is_compressed = (kind >> 4 & 1u) != 0;
        ls_record section = {.kind = kind & 15u,
                             .is_compressed = is_compressed,
                             .stored_bytes = size,
                             .raw_bytes = is_compressed ? size * 2 : size,
                             .payload = bytes};
        at = add_section(file, at, &section);
    }
    return add_section(file, at, &(ls_record){.kind = LS_BUNDLE_END});
}

/* ---- what must hold ---- */

static void check_side(const ls_bundle_side *a, const ls_bundle_side *b, size_t state_bytes)
{
    LS_ASSERT(memcmp(&a->figures, &b->figures, sizeof a->figures) == 0);
    LS_ASSERT(memcmp(&a->passes, &b->passes, sizeof a->passes) == 0);
    LS_ASSERT(a->hash_count == b->hash_count && a->hashes_first == b->hashes_first);
    LS_ASSERT(!a->state_hashes || memcmp(a->state_hashes, b->state_hashes,
                                         a->hash_count * sizeof *a->state_hashes) == 0);
    LS_ASSERT(!a->state == !b->state);
    LS_ASSERT(!a->state || memcmp(a->state, b->state, state_bytes) == 0);
}

static void check_again(const ls_desync_bundle *bundle)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    ls_bundle_reading *again = NULL;
    if (ls_desync_bundle_write(bundle, &bounded, &bytes, &size) != LS_OK) {
        return; /* no memory for it */
    }
    LS_ASSERT(ls_bundle_reading_open(bytes, size, &bounded, &again, NULL) == LS_OK);
    const ls_desync_bundle *read = ls_bundle_reading_bundle(again);
    LS_ASSERT(read->tick == bundle->tick && read->slot == bundle->slot);
    LS_ASSERT(memcmp(&read->config, &bundle->config, sizeof read->config) == 0);
    LS_ASSERT(read->field_count == bundle->field_count);
    LS_ASSERT(read->verdict.kind == bundle->verdict.kind);
    LS_ASSERT(!read->snapshot == !bundle->snapshot && !read->inputs == !bundle->inputs);
    check_side(&read->server, &bundle->server, bundle->state_bytes);
    check_side(&read->client, &bundle->client, bundle->state_bytes);
    ls_bundle_reading_close(again);
    free(bytes);
}

/* Every input of the stretch can be had. */
static void check_stretch(const ls_bundle_reading *reading)
{
    ls_replay_stretch stretch;
    ls_slot_input slots[LS_PLAYERS_MAX];
    if (ls_bundle_reading_stretch(reading, &stretch) != LS_OK) {
        return;
    }
    LS_ASSERT(stretch.first <= stretch.agreed && stretch.agreed < stretch.last);
    for (ls_tick tick = stretch.first; tick < stretch.last; tick++) {
        LS_ASSERT(ls_input_buffer_tick(stretch.inputs, tick, slots) == LS_OK);
    }
}

static void check(const uint8_t *bytes, size_t size)
{
    ls_text why = {{0}};
    ls_bundle_reading *reading = NULL;
    ls_status status = ls_bundle_reading_open(bytes, size, &bounded, &reading, &why);
    LS_ASSERT(status == LS_OK || why.bytes[0] != '\0');
    if (status != LS_OK) {
        return;
    }
    check_stretch(reading);
    check_again(ls_bundle_reading_bundle(reading));
    ls_bundle_reading_close(reading);
}

FUZZ_TARGET(bundle)
{
    static uint8_t file[FILE_BYTES_MAX];
    fuzz_input input = {bytes, size};
    if (fuzz_take_u8(&input) & 1u) {
        check(input.bytes, input.size);
    } else {
        check(file, make_file(&input, file));
    }
    return 0;
}

/* ==== journal ==== */

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

enum {
    JOURNAL_FILE_BYTES_MAX = 1 << 18,
    SLOTS = 2,
    INPUT_BYTES = 16,
};

static const ls_allocator journal_bounded = {fuzz_allocate_bounded, fuzz_release_bounded, NULL,
                                             NULL};

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
    size_t room = JOURNAL_FILE_BYTES_MAX - at;
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

static size_t journal_make_file(fuzz_input *input, bool has_header, uint8_t *file)
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
        uint8_t *state = ls_allocate(&journal_bounded, (size_t)snapshot.state_bytes);
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
            ls_journal_open(bytes, size, (ls_journal_trust)trust, &journal_bounded, &journal, &why);
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

FUZZ_TARGET(journal)
{
    static uint8_t file[JOURNAL_FILE_BYTES_MAX];
    fuzz_input input = {bytes, size};
    uint32_t mode = fuzz_take_u8(&input) & 3u;
    if (mode == 0) {
        check_file(input.bytes, input.size);
    } else if (mode == 1) {
        uint32_t slots = fuzz_take_u8(&input) % LS_PLAYERS_MAX + 1;
        uint32_t longest = fuzz_take_u8(&input) * 4u;
        check_block(input.bytes, input.size, slots, longest);
    } else {
        check_file(file, journal_make_file(&input, mode == 2, file));
    }
    return 0;
}

/* ==== broadcast ==== */

/* Fuzzes what a spectator of a broadcast is told, the paths that it asks for, and the journal that
 * is cut into segments.
 *
 *   u8 what % 3: 0 an index or a list, 1 a path, 2 u8 step, a journal that grows by so many times
 *   16 bytes; then its bytes
 */

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

FUZZ_TARGET(broadcast)
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

/* ==== object_file ==== */

/* Fuzzes the reading of plug-in files: whether all bytes of an ELF file are there, and the types
 * that its debug information (DWARF) tells of. Any bytes, as a file. */

enum {
    DEPTH_MAX = 16,
    PATH_BYTES = 32,
};

/* Goes through a type as a schema is made of it. */
static void check_type(const schema_debug_type *type, uint32_t depth)
{
    LS_ASSERT(type->spelling != NULL);
    if (depth == DEPTH_MAX) {
        return;
    }
    if (type->kind == SCHEMA_DEBUG_ARRAY && type->element) {
        check_type(type->element, depth + 1);
    }
    for (uint32_t i = 0; i < type->member_count && i < 8; i++) {
        LS_ASSERT(type->members[i].name != NULL);
        if (type->members[i].type && depth < 3) {
            check_type(type->members[i].type, depth + 1);
        }
    }
}

static void check_names(schema_debug_file *file)
{
    uint32_t count = 0;
    const schema_debug_name *names = schema_debug_names(file, &count);
    for (uint32_t i = 0; i < count && i < 8; i++) {
        const schema_debug_type *type = NULL;
        ls_text why = {{0}};
        ls_status status = schema_debug_find(file, names[i].name, &type, &why);
        if (status == LS_OK) {
            check_type(type, 0);
        } else {
            LS_ASSERT(why.bytes[0] != '\0');
        }
    }
}

FUZZ_TARGET(object_file)
{
    static int file = -1;
    char path[PATH_BYTES];
    ls_text why = {{0}};
    if (file < 0) {
        file = memfd_create("fuzz", 0);
        LS_ASSERT(file >= 0);
    }
    bool is_written = ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size;
    LS_ASSERT(is_written);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ls_status status = ls_plugin_file_check(path, &why);
    LS_ASSERT(status == LS_OK || (status == LS_PLUGIN && why.bytes[0] != '\0'));
    schema_debug_file *debug = NULL;
    if (schema_debug_open(path, &debug, &why) == LS_OK) {
        check_names(debug);
        schema_debug_close(debug);
    }
    return 0;
}
