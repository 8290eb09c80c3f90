#include "lockstep/common/diagnosis/desync_bundle.h"

#include "lockstep/common/base/compress.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/diagnosis/desync_bundle_format.h"

#include <inttypes.h>
#include <string.h>

_Static_assert((LS_BUNDLE_HASHES_MAX & (LS_BUNDLE_HASHES_MAX - 1)) == 0,
               "roots are kept in a ring");

enum {
    HASHES_MASK = LS_BUNDLE_HASHES_MAX - 1,
    FIELD_BYTES_MIN = 36, /* of a field in its section */
};

struct ls_bundle_reading {
    const ls_allocator *allocator;
    ls_desync_bundle bundle;
    uint32_t seen;  /* bit s: section s was there and intact */
    uint32_t tried; /* bit s: section s was there */
    ls_field *fields;
    char (*names)[LS_NAME_BYTES_MAX]; /* path and unit of each field */
    uint8_t *snapshot;
    ls_input_buffer *inputs;
    uint64_t *server_hashes;
    uint64_t *client_hashes;
    uint8_t *server_state;
    uint8_t *client_state;
    ls_schema *schema;
    uint64_t ring[LS_BUNDLE_HASHES_MAX]; /* the server's state hashes for the stretch */
};

static bool has_seen(const ls_bundle_reading *reading, ls_bundle_section section)
{
    return (reading->seen & UINT32_C(1) << section) != 0;
}

/* ---- sections: true when they make sense ---- */

static bool is_at_end(const ls_byte_stream *stream)
{
    return !stream->has_failed && stream->at == stream->size;
}

static bool read_match(ls_bundle_reading *reading, ls_byte_stream *stream)
{
    ls_bundle_match_stream(stream, &reading->bundle);
    return is_at_end(stream);
}

static bool read_verdict(ls_bundle_reading *reading, ls_byte_stream *stream)
{
    ls_bundle_verdict_stream(stream, &reading->bundle);
    return is_at_end(stream);
}

static bool allocate_fields(ls_bundle_reading *reading, uint32_t count)
{
    reading->fields = ls_allocate_array(reading->allocator, count, sizeof *reading->fields);
    reading->names =
        ls_allocate_array(reading->allocator, (size_t)count * 2, sizeof *reading->names);
    return reading->fields && reading->names;
}

static bool read_fields(ls_bundle_reading *reading, ls_byte_stream *stream)
{
    ls_desync_bundle *bundle = &reading->bundle;
    uint32_t count = 0;
    ls_byte_stream_ranged(stream, &count, 1, LS_FIELDS_MAX);
    if (stream->has_failed || (stream->size - stream->at) / FIELD_BYTES_MIN < count ||
        !allocate_fields(reading, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        ls_field *field = &reading->fields[i];
        field->path = reading->names[2 * i];
        field->unit = reading->names[2 * i + 1];
        ls_bundle_field_stream(stream, field, reading->names[2 * i], reading->names[2 * i + 1]);
    }
    if (!is_at_end(stream) || ls_schema_create(reading->fields, count, bundle->state_bytes,
                                               reading->allocator, &reading->schema, NULL)) {
        return false;
    }
    bundle->fields = reading->fields;
    bundle->field_count = count;
    return true;
}

static bool read_passes(ls_bundle_reading *reading, ls_byte_stream *stream)
{
    ls_bundle_passes_stream(stream, &reading->bundle);
    if (!is_at_end(stream)) {
        reading->bundle.pass_count = 0;
        return false;
    }
    return true;
}

/* A state fills the rest of its section. */
static bool read_state(ls_bundle_reading *reading, ls_byte_stream *stream, uint8_t **memory,
                       const uint8_t **out)
{
    size_t bytes = reading->bundle.state_bytes;
    if (stream->has_failed || stream->size - stream->at != bytes) {
        return false;
    }
    *memory = ls_allocate(reading->allocator, bytes);
    if (!*memory) {
        return false;
    }
    ls_byte_stream_bytes(stream, *memory, bytes);
    *out = *memory;
    return true;
}

static bool read_snapshot(ls_bundle_reading *reading, ls_byte_stream *stream)
{
    ls_desync_bundle *bundle = &reading->bundle;
    ls_byte_stream_u32(stream, &bundle->snapshot_tick);
    ls_byte_stream_u64(stream, &bundle->snapshot_hash);
    return bundle->snapshot_tick < bundle->tick &&
           read_state(reading, stream, &reading->snapshot, &bundle->snapshot);
}

static bool create_inputs(ls_bundle_reading *reading, ls_tick first)
{
    const ls_desync_bundle *bundle = &reading->bundle;
    ls_input_buffer_config config = {
        .slots = bundle->config.players,
        .input_bytes_max = bundle->input_bytes_max,
        .window_ticks = LS_WINDOW_TICKS,
    };
    if (ls_input_buffer_create(&config, reading->allocator, &reading->inputs) != LS_OK) {
        return false;
    }
    ls_input_buffer_forget_before(reading->inputs, first);
    return true;
}

static bool read_input(ls_bundle_reading *reading, ls_byte_stream *stream, ls_tick tick,
                       uint32_t slot)
{
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    uint32_t events = 0;
    ls_bundle_input_stream(stream, reading->bundle.input_bytes_max, &size, &events);
    ls_byte_stream_bytes(stream, bytes, size);
    return !stream->has_failed &&
           ls_input_buffer_put(reading->inputs, tick, slot, bytes, size, events) == LS_OK;
}

static bool read_inputs(ls_bundle_reading *reading, ls_byte_stream *stream)
{
    ls_desync_bundle *bundle = &reading->bundle;
    uint32_t first = 0;
    uint32_t count = 0;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_ranged(stream, &count, 1, LS_WINDOW_TICKS);
    bool fits = has_seen(reading, LS_BUNDLE_SNAPSHOT) && first == bundle->snapshot_tick &&
                count == bundle->tick - first;
    if (stream->has_failed || !fits || !create_inputs(reading, first)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t slot = 0; slot < bundle->config.players; slot++) {
            if (!read_input(reading, stream, first + i, slot)) {
                return false;
            }
        }
    }
    if (!is_at_end(stream)) {
        return false;
    }
    bundle->inputs = reading->inputs;
    return true;
}

static bool read_side(ls_byte_stream *stream, ls_bundle_side *side)
{
    ls_bundle_side_stream(stream, side);
    if (!is_at_end(stream)) {
        *side = (ls_bundle_side){0};
        return false;
    }
    return true;
}

static bool read_hashes(ls_bundle_reading *reading, ls_byte_stream *stream, uint64_t **memory,
                        ls_bundle_side *side)
{
    uint32_t first = 0;
    uint32_t count = 0;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_ranged(stream, &count, 1, LS_BUNDLE_HASHES_MAX);
    if (stream->has_failed || first > UINT32_MAX - count) {
        return false;
    }
    *memory = ls_allocate_array(reading->allocator, count, sizeof **memory);
    for (uint32_t i = 0; i < count && *memory; i++) {
        ls_byte_stream_u64(stream, &(*memory)[i]);
    }
    if (!*memory || !is_at_end(stream)) {
        return false;
    }
    side->hashes_first = first;
    side->hash_count = count;
    side->state_hashes = *memory;
    return true;
}

static bool read_section(ls_bundle_reading *reading, ls_bundle_section section,
                         ls_byte_stream *stream)
{
    ls_desync_bundle *bundle = &reading->bundle;
    switch (section) {
    case LS_BUNDLE_MATCH:
        return read_match(reading, stream);
    case LS_BUNDLE_VERDICT:
        return read_verdict(reading, stream);
    case LS_BUNDLE_FIELDS:
        return read_fields(reading, stream);
    case LS_BUNDLE_PASSES:
        return read_passes(reading, stream);
    case LS_BUNDLE_SNAPSHOT:
        return read_snapshot(reading, stream);
    case LS_BUNDLE_INPUTS:
        return read_inputs(reading, stream);
    case LS_BUNDLE_SERVER:
        return read_side(stream, &bundle->server);
    case LS_BUNDLE_CLIENT:
        return read_side(stream, &bundle->client);
    case LS_BUNDLE_SERVER_HASHES:
        return read_hashes(reading, stream, &reading->server_hashes, &bundle->server);
    case LS_BUNDLE_CLIENT_HASHES:
        return read_hashes(reading, stream, &reading->client_hashes, &bundle->client);
    case LS_BUNDLE_SERVER_STATE:
        return read_state(reading, stream, &reading->server_state, &bundle->server.state);
    case LS_BUNDLE_CLIENT_STATE:
        return read_state(reading, stream, &reading->client_state, &bundle->client.state);
    default:
        return false;
    }
}

/* ---- the file ---- */

/* Memory for a section as it was before it was compressed, or NULL. */
static uint8_t *unpack(const ls_bundle_reading *reading, const ls_bundle_section_head *head,
                       const uint8_t *stored)
{
    /* No section is larger than a state, every slot's inputs, or what is below that anyway. */
    const uint64_t raw_max = LS_STATE_BYTES_MAX + UINT64_C(64) * LS_WINDOW_TICKS * LS_PLAYERS_MAX;
    if (head->raw_bytes == 0 || head->raw_bytes > raw_max) {
        return NULL;
    }
    uint8_t *raw = ls_allocate(reading->allocator, (size_t)head->raw_bytes);
    if (!raw) {
        return NULL;
    }
    if (ls_decompress(stored, (size_t)head->stored_bytes, raw, (size_t)head->raw_bytes) != LS_OK) {
        ls_release(reading->allocator, raw);
        return NULL;
    }
    return raw;
}

/* Whether a section came before, intact or not: its memory is taken once. */
static bool was_tried(ls_bundle_reading *reading, ls_bundle_section section)
{
    bool was = (reading->tried & UINT32_C(1) << section) != 0;
    reading->tried |= UINT32_C(1) << section;
    return was;
}

static void take_section(ls_bundle_reading *reading, const ls_bundle_section_head *head,
                         const uint8_t *stored)
{
    ls_bundle_section section = (ls_bundle_section)head->kind;
    bool is_packed = (head->flags & LS_BUNDLE_COMPRESSED) != 0;
    uint8_t *raw = is_packed ? unpack(reading, head, stored) : NULL;
    if (was_tried(reading, section) || (is_packed && !raw)) {
        ls_release(reading->allocator, raw);
        return;
    }
    ls_byte_stream stream = is_packed ? ls_byte_stream_read(raw, (size_t)head->raw_bytes)
                                      : ls_byte_stream_read(stored, (size_t)head->stored_bytes);
    if (read_section(reading, section, &stream)) {
        reading->seen |= UINT32_C(1) << section;
    }
    ls_release(reading->allocator, raw);
}

/* Takes sections until the end, or until the file is cut or a section's head is damaged. Everything
 * else depends on the match, which comes first. */
static void walk(ls_bundle_reading *reading, const uint8_t *bytes, size_t size)
{
    size_t at = LS_BUNDLE_HEAD_BYTES;
    while (size - at >= LS_BUNDLE_SECTION_BYTES) {
        ls_bundle_section_head head = {0};
        ls_byte_stream stream = ls_byte_stream_read(bytes + at, LS_BUNDLE_SECTION_BYTES);
        ls_bundle_section_head_stream(&stream, &head);
        at += LS_BUNDLE_SECTION_BYTES;
        if (stream.has_failed || head.stored_bytes > size - at) {
            return;
        }
        if (head.kind == LS_BUNDLE_END) {
            reading->seen |= UINT32_C(1) << LS_BUNDLE_END;
            return;
        }
        bool is_intact = ls_hash_bytes(bytes + at, (size_t)head.stored_bytes, 0) == head.hash;
        bool is_known = head.kind < LS_BUNDLE_SECTION_COUNT;
        if (is_intact && is_known &&
            (head.kind == LS_BUNDLE_MATCH || has_seen(reading, LS_BUNDLE_MATCH))) {
            take_section(reading, &head, bytes + at);
        }
        at += (size_t)head.stored_bytes;
    }
}

static void fill_ring(ls_bundle_reading *reading)
{
    const ls_desync_bundle *bundle = &reading->bundle;
    const ls_bundle_side *server = &bundle->server;
    for (uint32_t i = 0; i < server->hash_count; i++) {
        ls_tick tick = server->hashes_first + i;
        if (tick <= bundle->tick && bundle->tick - tick < LS_BUNDLE_HASHES_MAX) {
            reading->ring[tick & HASHES_MASK] = server->state_hashes[i];
        }
    }
    reading->ring[bundle->tick & HASHES_MASK] = bundle->server_hash;
}

/* Names what is missing. A machine may not have known everything, so this is no failure. */
static void say_what_is_missing(const ls_bundle_reading *reading, ls_text *why)
{
    uint32_t count = 0;
    ls_text_set(why, "%s", has_seen(reading, LS_BUNDLE_END) ? "" : "the bundle is cut or damaged");
    for (uint32_t i = 1; i < LS_BUNDLE_SECTION_COUNT; i++) {
        if (!has_seen(reading, (ls_bundle_section)i)) {
            bool is_first = count++ == 0;
            bool begins = is_first && has_seen(reading, LS_BUNDLE_END);
            ls_text_add(why, "%s%s",
                        begins     ? "the bundle does not have, or not intact: "
                        : is_first ? ": without "
                                   : ", ",
                        ls_bundle_section_name((ls_bundle_section)i));
        }
    }
}

static ls_status check_head(const uint8_t *bytes, size_t size, ls_text *why)
{
    char magic[LS_BUNDLE_MAGIC_BYTES] = {0};
    uint32_t version = 0;
    ls_byte_stream stream = ls_byte_stream_read(bytes, size);
    ls_byte_stream_bytes(&stream, (uint8_t *)magic, sizeof magic);
    ls_byte_stream_u32(&stream, &version);
    if (stream.has_failed || size < LS_BUNDLE_HEAD_BYTES ||
        memcmp(magic, LS_BUNDLE_MAGIC, sizeof magic) != 0) {
        ls_text_set(why, "this is no desync bundle");
        return LS_MALFORMED;
    }
    if (version != LS_BUNDLE_VERSION) {
        ls_text_set(why, "the bundle has format version %" PRIu32 ", this program reads %u",
                    version, LS_BUNDLE_VERSION);
        return LS_MALFORMED;
    }
    return LS_OK;
}

ls_status ls_bundle_reading_open(const uint8_t *bytes, size_t size, const ls_allocator *allocator,
                                 ls_bundle_reading **out, ls_text *why)
{
    ls_status status = check_head(bytes, size, why);
    if (status != LS_OK) {
        return status;
    }
    ls_bundle_reading *reading = ls_allocate(allocator, sizeof *reading);
    if (!reading) {
        ls_text_set(why, "no memory to read a bundle");
        return LS_NO_MEMORY;
    }
    reading->allocator = allocator;
    walk(reading, bytes, size);
    if (!has_seen(reading, LS_BUNDLE_MATCH) || !has_seen(reading, LS_BUNDLE_VERDICT)) {
        ls_text_set(why, "the bundle is damaged: not even its %s can be read",
                    has_seen(reading, LS_BUNDLE_MATCH) ? "verdict" : "match");
        ls_bundle_reading_close(reading);
        return LS_MALFORMED;
    }
    fill_ring(reading);
    say_what_is_missing(reading, why);
    *out = reading;
    return LS_OK;
}

void ls_bundle_reading_close(ls_bundle_reading *reading)
{
    if (!reading) {
        return;
    }
    const ls_allocator *allocator = reading->allocator;
    ls_schema_destroy(reading->schema);
    ls_release(allocator, reading->client_state);
    ls_release(allocator, reading->server_state);
    ls_release(allocator, reading->client_hashes);
    ls_release(allocator, reading->server_hashes);
    ls_input_buffer_destroy(reading->inputs);
    ls_release(allocator, reading->snapshot);
    ls_release(allocator, reading->names);
    ls_release(allocator, reading->fields);
    ls_release(allocator, reading);
}

/* ---- questions ---- */

const ls_desync_bundle *ls_bundle_reading_bundle(const ls_bundle_reading *reading)
{
    return &reading->bundle;
}

const ls_schema *ls_bundle_reading_schema(const ls_bundle_reading *reading)
{
    return reading->schema;
}

ls_status ls_bundle_reading_stretch(const ls_bundle_reading *reading, ls_replay_stretch *out)
{
    const ls_desync_bundle *bundle = &reading->bundle;
    if (!bundle->snapshot || !bundle->inputs) {
        return LS_NOT_FOUND;
    }
    *out = (ls_replay_stretch){
        .first = bundle->snapshot_tick,
        .agreed = bundle->tick - 1,
        .last = bundle->tick,
        .snapshot = bundle->snapshot,
        .state_hashes = reading->ring,
        .hashes_mask = HASHES_MASK,
        .inputs = bundle->inputs,
    };
    return LS_OK;
}
