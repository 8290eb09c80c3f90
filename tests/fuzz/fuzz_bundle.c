/* Fuzzes the reading of desync bundles. A result that was read is written again and must read the
 * same.
 *
 *   u8 is_raw   odd: the rest is the file as it stands
 *   else sections, which get heads with the right hashes:
 *     u8 kind   lowest four bits: the section; bit 4: it says that it is compressed
 *     u16 size
 *     bytes     as many, or what is left
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/journal/desync_bundle_format.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdlib.h>
#include <string.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
