#include "lockstep/common/diagnosis/desync_bundle.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/compress.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/diagnosis/desync_bundle_format.h"

#include <string.h>

typedef struct writing {
    ls_desync_bundle bundle; /* a copy: the lists of fields take what they may change */
    const ls_allocator *allocator;
    uint8_t *out;
    size_t size;
    size_t capacity;
    uint8_t *raw; /* one section, before it is compressed */
    size_t raw_capacity;
} writing;

/* ---- sections that are more than a list of fields ---- */

static void fields_stream(ls_byte_stream *stream, const ls_desync_bundle *bundle)
{
    uint32_t count = bundle->field_count;
    ls_byte_stream_u32(stream, &count);
    for (uint32_t i = 0; i < count; i++) {
        char path[LS_NAME_BYTES_MAX];
        char unit[LS_NAME_BYTES_MAX];
        ls_field field = bundle->fields[i];
        ls_name_copy(path, sizeof path, field.path);
        ls_name_copy(unit, sizeof unit, field.unit);
        ls_bundle_field_stream(stream, &field, path, unit);
    }
}

static void add_bytes(ls_byte_stream *stream, const uint8_t *bytes, size_t size)
{
    LS_ASSERT(stream->mode != LS_STREAM_READ);
    ls_byte_stream_bytes(stream, (uint8_t *)(uintptr_t)bytes, size); /* only read when writing */
}

static void snapshot_stream(ls_byte_stream *stream, ls_desync_bundle *bundle)
{
    ls_byte_stream_u32(stream, &bundle->snapshot_tick);
    ls_byte_stream_u64(stream, &bundle->snapshot_hash);
    add_bytes(stream, bundle->snapshot, bundle->state_bytes);
}

static void inputs_stream(ls_byte_stream *stream, const ls_desync_bundle *bundle)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    uint32_t first = bundle->snapshot_tick;
    uint32_t count = bundle->tick - first;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_u32(stream, &count);
    for (uint32_t i = 0; i < count; i++) {
        ls_status status = ls_input_buffer_tick(bundle->inputs, first + i, slots);
        LS_ASSERT(status == LS_OK); /* has_inputs looked */
        for (uint32_t slot = 0; slot < bundle->config.players; slot++) {
            ls_bundle_input_stream(stream, bundle->input_bytes_max, &slots[slot].size,
                                   &slots[slot].events);
            add_bytes(stream, slots[slot].bytes, slots[slot].size);
        }
    }
}

static void hashes_stream(ls_byte_stream *stream, const ls_bundle_side *side)
{
    uint32_t first = side->hashes_first;
    uint32_t count = side->hash_count;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_u32(stream, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t state_hash = side->state_hashes[i];
        ls_byte_stream_u64(stream, &state_hash);
    }
}

static bool has_inputs(const ls_desync_bundle *bundle)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    bool has = bundle->snapshot && bundle->inputs && bundle->tick > bundle->snapshot_tick &&
               bundle->tick - bundle->snapshot_tick <= LS_WINDOW_TICKS;
    for (ls_tick tick = bundle->snapshot_tick; has && tick < bundle->tick; tick++) {
        has = ls_input_buffer_tick(bundle->inputs, tick, slots) == LS_OK;
    }
    return has;
}

static bool has_section(const ls_desync_bundle *bundle, ls_bundle_section section)
{
    switch (section) {
    case LS_BUNDLE_FIELDS:
        return bundle->field_count > 0;
    case LS_BUNDLE_SNAPSHOT:
        return bundle->snapshot != NULL;
    case LS_BUNDLE_INPUTS:
        return has_inputs(bundle);
    case LS_BUNDLE_SERVER_HASHES:
        return bundle->server.hash_count > 0;
    case LS_BUNDLE_CLIENT_HASHES:
        return bundle->client.hash_count > 0;
    case LS_BUNDLE_SERVER_STATE:
        return bundle->server.state != NULL;
    case LS_BUNDLE_CLIENT_STATE:
        return bundle->client.state != NULL;
    default:
        return true;
    }
}

static void section_stream(ls_byte_stream *stream, ls_desync_bundle *bundle,
                           ls_bundle_section section)
{
    switch (section) {
    case LS_BUNDLE_MATCH:
        ls_bundle_match_stream(stream, bundle);
        break;
    case LS_BUNDLE_VERDICT:
        ls_bundle_verdict_stream(stream, bundle);
        break;
    case LS_BUNDLE_FIELDS:
        fields_stream(stream, bundle);
        break;
    case LS_BUNDLE_PASSES:
        ls_bundle_passes_stream(stream, bundle);
        break;
    case LS_BUNDLE_SNAPSHOT:
        snapshot_stream(stream, bundle);
        break;
    case LS_BUNDLE_INPUTS:
        inputs_stream(stream, bundle);
        break;
    case LS_BUNDLE_SERVER:
        ls_bundle_side_stream(stream, &bundle->server);
        break;
    case LS_BUNDLE_CLIENT:
        ls_bundle_side_stream(stream, &bundle->client);
        break;
    case LS_BUNDLE_SERVER_HASHES:
        hashes_stream(stream, &bundle->server);
        break;
    case LS_BUNDLE_CLIENT_HASHES:
        hashes_stream(stream, &bundle->client);
        break;
    case LS_BUNDLE_SERVER_STATE:
        add_bytes(stream, bundle->server.state, bundle->state_bytes);
        break;
    case LS_BUNDLE_CLIENT_STATE:
        add_bytes(stream, bundle->client.state, bundle->state_bytes);
        break;
    case LS_BUNDLE_END:
    case LS_BUNDLE_SECTION_COUNT:
        break;
    }
}

/* ---- the file ---- */

static size_t raw_bytes_of(writing *writer, ls_bundle_section section)
{
    ls_byte_stream stream = ls_byte_stream_measure();
    section_stream(&stream, &writer->bundle, section);
    LS_ASSERT(!stream.has_failed);
    return stream.at;
}

static ls_status allocate(writing *writer)
{
    writer->capacity = LS_BUNDLE_HEAD_BYTES + LS_BUNDLE_SECTION_BYTES;
    for (uint32_t i = 1; i < LS_BUNDLE_SECTION_COUNT; i++) {
        if (has_section(&writer->bundle, (ls_bundle_section)i)) {
            size_t raw = raw_bytes_of(writer, (ls_bundle_section)i);
            writer->raw_capacity = raw > writer->raw_capacity ? raw : writer->raw_capacity;
            writer->capacity += LS_BUNDLE_SECTION_BYTES + ls_compress_bound(raw);
        }
    }
    writer->out = ls_allocate(writer->allocator, writer->capacity);
    writer->raw = ls_allocate(writer->allocator, writer->raw_capacity);
    return writer->out && writer->raw ? LS_OK : LS_NO_MEMORY;
}

static void write_head(writing *writer)
{
    uint32_t version = LS_BUNDLE_VERSION;
    uint32_t zero = 0;
    ls_byte_stream stream = ls_byte_stream_write(writer->out, writer->capacity);
    add_bytes(&stream, (const uint8_t *)LS_BUNDLE_MAGIC, LS_BUNDLE_MAGIC_BYTES);
    ls_byte_stream_u32(&stream, &version);
    ls_byte_stream_u32(&stream, &zero);
    writer->size = stream.at;
}

/* `size` bytes stand where a section's bytes belong: adds the head before them. */
static void close_section(writing *writer, ls_bundle_section_head head)
{
    uint8_t *place = writer->out + writer->size;
    head.hash = ls_hash_bytes(place + LS_BUNDLE_SECTION_BYTES, (size_t)head.stored_bytes, 0);
    ls_byte_stream stream = ls_byte_stream_write(place, LS_BUNDLE_SECTION_BYTES);
    ls_bundle_section_head_stream(&stream, &head);
    writer->size += LS_BUNDLE_SECTION_BYTES + (size_t)head.stored_bytes;
}

static void write_section(writing *writer, ls_bundle_section section)
{
    ls_byte_stream stream = ls_byte_stream_write(writer->raw, writer->raw_capacity);
    section_stream(&stream, &writer->bundle, section);
    LS_ASSERT(!stream.has_failed);
    uint8_t *place = writer->out + writer->size + LS_BUNDLE_SECTION_BYTES;
    size_t room = ls_compress_bound(stream.at);
    size_t stored = ls_compress(writer->raw, stream.at, place, room);
    bool is_smaller = stored > 0 && stored < stream.at;
    if (!is_smaller) {
        stored = stream.at;
        memcpy(place, writer->raw, stored);
    }
    close_section(writer, (ls_bundle_section_head){.kind = section,
                                                   .flags = is_smaller ? LS_BUNDLE_COMPRESSED : 0,
                                                   .stored_bytes = stored,
                                                   .raw_bytes = stream.at});
}

ls_status ls_desync_bundle_write(const ls_desync_bundle *bundle, const ls_allocator *allocator,
                                 uint8_t **out, size_t *out_size)
{
    writing writer = {.bundle = *bundle, .allocator = allocator};
    ls_status status = allocate(&writer);
    if (status == LS_OK) {
        write_head(&writer);
        for (uint32_t i = 1; i < LS_BUNDLE_SECTION_COUNT; i++) {
            if (has_section(bundle, (ls_bundle_section)i)) {
                write_section(&writer, (ls_bundle_section)i);
            }
        }
        close_section(&writer, (ls_bundle_section_head){.kind = LS_BUNDLE_END});
        *out = writer.out;
        *out_size = writer.size;
    } else {
        ls_release(allocator, writer.out);
    }
    ls_release(allocator, writer.raw);
    return status;
}
