#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/journal/desync_bundle_format.h"

#include <inttypes.h>
#include <string.h>

_Static_assert((LS_BUNDLE_HASHES_MAX & (LS_BUNDLE_HASHES_MAX - 1)) == 0,
               "state hashes are kept in a ring");

const ls_record_format ls_bundle_format = {
    .noun = "desync bundle",
    .magic = "LSDESYNC",
    .version = LS_BUNDLE_VERSION,
    /* No section is larger than a state, every slot's inputs, or what is below that anyway. */
    .raw_bytes_max = LS_STATE_BYTES_MAX + UINT64_C(64) * LS_WINDOW_TICKS * LS_PLAYERS_MAX,
};

enum {
    HASHES_MASK = LS_BUNDLE_HASHES_MAX - 1,
    FIELD_BYTES_MIN = 36, /* of a field in its section */
};

/* A bundle on its way to or from its bytes. Writing uses the bundle alone. */
struct ls_bundle_reading {
    const ls_allocator *allocator;
    ls_desync_bundle
        bundle;     /* when writing a copy: the lists of fields take what they may change */
    uint32_t seen;  /* bit s: section s was there and intact */
    uint32_t tried; /* bit s: section s was there */
    bool has_lost;  /* a damaged section was passed over */
    bool is_client; /* the section is about the client, not the server */
    ls_field *fields;
    char (*names)[LS_NAME_BYTES_MAX]; /* path and unit of each field */
    uint8_t *snapshot;
    ls_input_buffer *inputs;
    uint64_t *hashes[2]; /* the server's and the client's */
    uint8_t *states[2];
    ls_schema *schema;
    ls_record_buffer raw;                /* a section, before it was compressed */
    uint64_t ring[LS_BUNDLE_HASHES_MAX]; /* the server's state hashes for the stretch */
};

static bool has_seen(const ls_bundle_reading *file, ls_bundle_section section)
{
    return (file->seen & UINT32_C(1) << section) != 0;
}

static bool is_reading(const ls_byte_stream *stream)
{
    return stream->mode == LS_STREAM_READ;
}

/* ---- sections: each measures, writes and reads; reading fails when they make no sense ---- */

typedef void section_stream(ls_byte_stream *stream, ls_bundle_reading *file);

static void match_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_bundle_match_stream(stream, &file->bundle);
}

static void verdict_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_bundle_verdict_stream(stream, &file->bundle);
}

/* Memory for as many fields, if the section can hold them. */
static bool make_fields(ls_byte_stream *stream, ls_bundle_reading *file, uint32_t count)
{
    if (stream->has_failed || (stream->size - stream->at) / FIELD_BYTES_MIN < count) {
        return false;
    }
    file->fields = ls_allocate_array(file->allocator, count, sizeof *file->fields);
    file->names = ls_allocate_array(file->allocator, (size_t)count * 2, sizeof *file->names);
    return file->fields && file->names;
}

static void write_fields(ls_byte_stream *stream, const ls_desync_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->field_count; i++) {
        char path[LS_NAME_BYTES_MAX];
        char unit[LS_NAME_BYTES_MAX];
        ls_field field = bundle->fields[i];
        ls_name_copy(path, sizeof path, field.path);
        ls_name_copy(unit, sizeof unit, field.unit);
        ls_bundle_field_stream(stream, &field, path, unit);
    }
}

static void read_fields(ls_byte_stream *stream, ls_bundle_reading *file, uint32_t count)
{
    ls_desync_bundle *bundle = &file->bundle;
    for (uint32_t i = 0; i < count; i++) {
        ls_field *field = &file->fields[i];
        field->path = file->names[2 * i];
        field->unit = file->names[2 * i + 1];
        ls_bundle_field_stream(stream, field, file->names[2 * i], file->names[2 * i + 1]);
    }
    if (!ls_byte_stream_is_at_end(stream) ||
        ls_schema_create(file->fields, count, bundle->state_bytes, file->allocator, &file->schema,
                         NULL) != LS_OK) {
        stream->has_failed = true;
        return;
    }
    bundle->fields = file->fields;
    bundle->field_count = count;
}

static void fields_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    uint32_t count = file->bundle.field_count;
    ls_byte_stream_ranged(stream, &count, 1, LS_FIELDS_MAX);
    if (!is_reading(stream)) {
        write_fields(stream, &file->bundle);
    } else if (make_fields(stream, file, count)) {
        read_fields(stream, file, count);
    } else {
        stream->has_failed = true;
    }
}

static void passes_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_bundle_passes_stream(stream, &file->bundle);
    if (is_reading(stream) && !ls_byte_stream_is_at_end(stream)) {
        file->bundle.pass_count = 0;
    }
}

/* A state fills the rest of its section. */
static void state_stream(ls_byte_stream *stream, ls_bundle_reading *file, uint8_t **memory,
                         const uint8_t **state)
{
    size_t bytes = file->bundle.state_bytes;
    if (!is_reading(stream)) {
        ls_byte_stream_add(stream, *state, bytes);
        return;
    }
    bool fits = !stream->has_failed && stream->size - stream->at == bytes;
    *memory = fits ? ls_allocate(file->allocator, bytes) : NULL;
    if (!*memory) {
        stream->has_failed = true;
        return;
    }
    ls_byte_stream_bytes(stream, *memory, bytes);
    *state = *memory;
}

static void snapshot_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_desync_bundle *bundle = &file->bundle;
    ls_byte_stream_u32(stream, &bundle->snapshot_tick);
    ls_byte_stream_u64(stream, &bundle->snapshot_hash);
    if (is_reading(stream) && bundle->snapshot_tick >= bundle->tick) {
        stream->has_failed = true;
    }
    state_stream(stream, file, &file->snapshot, &bundle->snapshot);
}

static void write_inputs(ls_byte_stream *stream, const ls_desync_bundle *bundle, ls_tick first,
                         ls_tick end)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    for (ls_tick tick = first; tick < end; tick++) {
        ls_status status = ls_input_buffer_tick(bundle->inputs, tick, slots);
        LS_ASSERT(status == LS_OK); /* has_inputs and count_later looked */
        for (uint32_t slot = 0; slot < bundle->config.players; slot++) {
            ls_bundle_input_stream(stream, bundle->input_bytes_max, &slots[slot].size,
                                   &slots[slot].events);
            ls_byte_stream_add(stream, slots[slot].bytes, slots[slot].size);
        }
    }
}

static bool read_input(ls_byte_stream *stream, ls_bundle_reading *file, ls_tick tick, uint32_t slot)
{
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    uint32_t size = 0;
    uint32_t events = 0;
    ls_bundle_input_stream(stream, file->bundle.input_bytes_max, &size, &events);
    ls_byte_stream_bytes(stream, bytes, size);
    return !stream->has_failed &&
           ls_input_buffer_put(file->inputs, tick, slot, bytes, size, events) == LS_OK;
}

static bool read_ticks(ls_byte_stream *stream, ls_bundle_reading *file, ls_tick first, ls_tick end)
{
    for (ls_tick tick = first; tick < end; tick++) {
        for (uint32_t slot = 0; slot < file->bundle.config.players; slot++) {
            if (!read_input(stream, file, tick, slot)) {
                return false;
            }
        }
    }
    return true;
}

static bool read_inputs(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_desync_bundle *bundle = &file->bundle;
    ls_input_buffer_config config = {
        .slots = bundle->config.players,
        .input_bytes_max = bundle->input_bytes_max,
        .window_ticks = LS_WINDOW_TICKS,
    };
    if (ls_input_buffer_create(&config, file->allocator, &file->inputs) != LS_OK) {
        return false;
    }
    ls_input_buffer_forget_before(file->inputs, bundle->snapshot_tick);
    if (!read_ticks(stream, file, bundle->snapshot_tick, bundle->tick)) {
        return false;
    }
    bundle->inputs = ls_byte_stream_is_at_end(stream) ? file->inputs : NULL;
    return true;
}

static void inputs_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    uint32_t first = file->bundle.snapshot_tick;
    uint32_t wanted = file->bundle.tick - first;
    uint32_t count = wanted;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_ranged(stream, &count, 1, LS_WINDOW_TICKS);
    if (!is_reading(stream)) {
        write_inputs(stream, &file->bundle, first, file->bundle.tick);
        return;
    }
    bool fits = !stream->has_failed && has_seen(file, LS_BUNDLE_SNAPSHOT) &&
                first == file->bundle.snapshot_tick && count == wanted;
    stream->has_failed = !fits || !read_inputs(stream, file);
}

/* As the inputs before, from the bad tick on. */
static void later_inputs_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_desync_bundle *bundle = &file->bundle;
    uint32_t first = bundle->tick;
    uint32_t count = bundle->later_ticks;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_ranged(stream, &count, 1, LS_BUNDLE_LATER_MAX);
    if (!is_reading(stream)) {
        write_inputs(stream, bundle, first, first + count);
        return;
    }
    bool fits = !stream->has_failed && bundle->inputs && first == bundle->tick &&
                first <= UINT32_MAX - count;
    stream->has_failed = !fits || !read_ticks(stream, file, first, first + count);
    bundle->later_ticks = ls_byte_stream_is_at_end(stream) ? count : 0;
}

/* Of the section that is read or written. */
static ls_bundle_side *side_of(ls_bundle_reading *file)
{
    return file->is_client ? &file->bundle.client : &file->bundle.server;
}

static void side_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_bundle_side_stream(stream, side_of(file));
    if (is_reading(stream) && !ls_byte_stream_is_at_end(stream)) {
        *side_of(file) = (ls_bundle_side){0};
    }
}

static void hashes_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_bundle_side *side = side_of(file);
    uint64_t **memory = &file->hashes[file->is_client];
    uint32_t first = side->hashes_first;
    uint32_t count = side->hash_count;
    ls_byte_stream_u32(stream, &first);
    ls_byte_stream_ranged(stream, &count, 1, LS_BUNDLE_HASHES_MAX);
    if (is_reading(stream)) {
        bool fits = !stream->has_failed && first <= UINT32_MAX - count;
        *memory = fits ? ls_allocate_array(file->allocator, count, sizeof **memory) : NULL;
        stream->has_failed = !*memory;
    }
    for (uint32_t i = 0; i < count && !stream->has_failed; i++) {
        uint64_t hash = is_reading(stream) ? 0 : side->state_hashes[i];
        ls_byte_stream_u64(stream, &hash);
        if (is_reading(stream)) {
            (*memory)[i] = hash;
        }
    }
    if (is_reading(stream) && ls_byte_stream_is_at_end(stream)) {
        side->hashes_first = first;
        side->hash_count = count;
        side->state_hashes = *memory;
    }
}

static void side_state_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    state_stream(stream, file, &file->states[file->is_client], &side_of(file)->state);
}

static void after_pass_stream(ls_byte_stream *stream, ls_bundle_reading *file)
{
    ls_bundle_pass_places_stream(stream, &file->bundle.after_pass);
    if (is_reading(stream) && !ls_byte_stream_is_at_end(stream)) {
        file->bundle.after_pass = (ls_bundle_pass_places){0};
    }
}

/* The same order as the file's; everything else depends on the match, which comes first. */
static section_stream *const sections[LS_BUNDLE_SECTION_COUNT] = {
    [LS_BUNDLE_MATCH] = match_stream,
    [LS_BUNDLE_VERDICT] = verdict_stream,
    [LS_BUNDLE_FIELDS] = fields_stream,
    [LS_BUNDLE_PASSES] = passes_stream,
    [LS_BUNDLE_SNAPSHOT] = snapshot_stream,
    [LS_BUNDLE_INPUTS] = inputs_stream,
    [LS_BUNDLE_SERVER] = side_stream,
    [LS_BUNDLE_CLIENT] = side_stream,
    [LS_BUNDLE_SERVER_HASHES] = hashes_stream,
    [LS_BUNDLE_CLIENT_HASHES] = hashes_stream,
    [LS_BUNDLE_SERVER_STATE] = side_state_stream,
    [LS_BUNDLE_CLIENT_STATE] = side_state_stream,
    [LS_BUNDLE_AFTER_PASS] = after_pass_stream,
    [LS_BUNDLE_LATER_INPUTS] = later_inputs_stream,
};

static void run_section(uint32_t section, ls_byte_stream *stream, ls_bundle_reading *file)
{
    file->is_client = section == LS_BUNDLE_CLIENT || section == LS_BUNDLE_CLIENT_HASHES ||
                      section == LS_BUNDLE_CLIENT_STATE;
    sections[section](stream, file);
}

/* ---- writing ---- */

/* A draft has the sections one behind the other, each behind its kind and its size. */
enum {
    DRAFT_HEAD_BYTES = 12,
};

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

/* Ticks that the server had closed by then: it has hashed the states that they made. */
static uint32_t count_later(const ls_desync_bundle *bundle)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick end = bundle->server.hashes_first + bundle->server.hash_count; /* of states */
    uint32_t room = LS_WINDOW_TICKS - (bundle->tick - bundle->snapshot_tick);
    uint32_t count = 0;
    while (count < LS_MIN(room, LS_BUNDLE_LATER_MAX) && bundle->tick + count + 1 < end &&
           ls_input_buffer_tick(bundle->inputs, bundle->tick + count, slots) == LS_OK) {
        count++;
    }
    return count;
}

/* Bit s: the bundle has what section s holds. */
static uint32_t known_sections(const ls_desync_bundle *bundle)
{
    bool is_missing[LS_BUNDLE_SECTION_COUNT] = {
        [LS_BUNDLE_END] = true,
        [LS_BUNDLE_FIELDS] = bundle->field_count == 0,
        [LS_BUNDLE_SNAPSHOT] = !bundle->snapshot,
        [LS_BUNDLE_INPUTS] = !has_inputs(bundle),
        [LS_BUNDLE_SERVER_HASHES] = bundle->server.hash_count == 0,
        [LS_BUNDLE_CLIENT_HASHES] = bundle->client.hash_count == 0,
        [LS_BUNDLE_SERVER_STATE] = !bundle->server.state,
        [LS_BUNDLE_CLIENT_STATE] = !bundle->client.state,
        [LS_BUNDLE_AFTER_PASS] = bundle->after_pass.count == 0,
        [LS_BUNDLE_LATER_INPUTS] = bundle->later_ticks == 0,
    };
    uint32_t known = 0;
    for (uint32_t i = 0; i < LS_BUNDLE_SECTION_COUNT; i++) {
        known |= is_missing[i] ? 0 : UINT32_C(1) << i;
    }
    return known;
}

static size_t measure(ls_bundle_reading *file)
{
    size_t size = 0;
    for (uint32_t i = 1; i < LS_BUNDLE_SECTION_COUNT; i++) {
        if (has_seen(file, (ls_bundle_section)i)) {
            ls_byte_stream stream = ls_byte_stream_measure();
            run_section(i, &stream, file);
            LS_ASSERT(!stream.has_failed);
            size += DRAFT_HEAD_BYTES + stream.at;
        }
    }
    return size;
}

ls_status ls_bundle_draft_make(const ls_desync_bundle *bundle, const ls_allocator *allocator,
                               ls_bundle_draft *out)
{
    ls_bundle_reading file = {.bundle = *bundle, .allocator = allocator};
    file.bundle.later_ticks = has_inputs(bundle) ? count_later(bundle) : 0;
    file.seen = known_sections(&file.bundle);
    *out = (ls_bundle_draft){.size = measure(&file)};
    out->bytes = ls_allocate(allocator, out->size);
    size_t at = 0;
    for (uint32_t i = 1; i < LS_BUNDLE_SECTION_COUNT && out->bytes; i++) {
        if (has_seen(&file, (ls_bundle_section)i)) {
            uint8_t *head = out->bytes + at;
            at += DRAFT_HEAD_BYTES;
            ls_byte_stream stream = ls_byte_stream_write(out->bytes + at, out->size - at);
            run_section(i, &stream, &file);
            LS_ASSERT(!stream.has_failed);
            ls_store_u32(head, i);
            ls_store_u64(head + 4, stream.at);
            at += stream.at;
        }
    }
    return out->bytes ? LS_OK : LS_NO_MEMORY;
}

/* The section of a draft at *at, which goes behind it; NULL: there are no more. */
static const uint8_t *next_drafted(const ls_bundle_draft *draft, size_t *at, uint32_t *kind,
                                   size_t *size)
{
    if (*at == draft->size) {
        return NULL;
    }
    const uint8_t *head = draft->bytes + *at;
    *kind = ls_load_u32(head);
    *size = (size_t)ls_load_u64(head + 4);
    *at += DRAFT_HEAD_BYTES + *size;
    return head + DRAFT_HEAD_BYTES;
}

ls_status ls_bundle_draft_pack(const ls_bundle_draft *draft, const ls_allocator *allocator,
                               uint8_t **out, size_t *out_size)
{
    size_t capacity = LS_RECORD_FILE_HEAD_BYTES + LS_RECORD_UNMARKED_BYTES;
    size_t size = 0, used = LS_RECORD_FILE_HEAD_BYTES;
    uint32_t kind = 0;
    for (size_t at = 0; next_drafted(draft, &at, &kind, &size);) {
        capacity += LS_RECORD_UNMARKED_BYTES + ls_compress_bound(size);
    }
    uint8_t *bytes = ls_allocate(allocator, capacity);
    if (!bytes) {
        return LS_NO_MEMORY;
    }
    ls_record_file_begin(&ls_bundle_format, bytes);
    const uint8_t *raw = NULL;
    for (size_t at = 0; (raw = next_drafted(draft, &at, &kind, &size)) != NULL;) {
        used += ls_record_pack(&ls_bundle_format, bytes + used, capacity - used, kind, raw, size);
    }
    used += ls_record_pack(&ls_bundle_format, bytes + used, capacity - used, LS_BUNDLE_END,
                           draft->bytes, 0);
    *out = bytes;
    *out_size = used;
    return LS_OK;
}

ls_status ls_desync_bundle_write(const ls_desync_bundle *bundle, const ls_allocator *allocator,
                                 uint8_t **out, size_t *out_size)
{
    ls_bundle_draft draft;
    ls_status status = ls_bundle_draft_make(bundle, allocator, &draft);
    LS_THEN(status, ls_bundle_draft_pack(&draft, allocator, out, out_size));
    ls_release(allocator, draft.bytes);
    return status;
}

/* ---- reading ---- */

static void read_section(ls_bundle_reading *file, const ls_record *section)
{
    uint32_t bit = UINT32_C(1) << section->kind;
    bool was_tried = (file->tried & bit) != 0; /* intact or not: its memory is taken once */
    file->tried |= bit;
    const uint8_t *raw = was_tried ? NULL : ls_record_payload(section, &file->raw);
    if (raw) {
        ls_byte_stream stream = ls_byte_stream_read(raw, (size_t)section->raw_bytes);
        run_section(section->kind, &stream, file);
        file->seen |= ls_byte_stream_is_at_end(&stream) ? bit : 0;
    }
}

/* Takes sections until the end, or until the file is cut or a section's head is damaged. */
static void walk(ls_bundle_reading *file, const uint8_t *bytes, size_t size)
{
    ls_record section;
    ls_record_walk way =
        ls_record_walk_from(&ls_bundle_format, bytes, size, LS_RECORD_FILE_HEAD_BYTES);
    while (!has_seen(file, LS_BUNDLE_END) && ls_record_walk_next(&way, &section)) {
        if (section.kind == LS_BUNDLE_END) {
            file->seen |= UINT32_C(1) << LS_BUNDLE_END;
        } else if (section.kind == LS_BUNDLE_MATCH ||
                   (section.kind < LS_BUNDLE_SECTION_COUNT && has_seen(file, LS_BUNDLE_MATCH))) {
            read_section(file, &section);
        }
    }
    file->has_lost = way.lost_bytes > 0;
}

static void fill_ring(ls_bundle_reading *file)
{
    const ls_desync_bundle *bundle = &file->bundle;
    const ls_bundle_side *server = &bundle->server;
    for (uint32_t i = 0; i < server->hash_count; i++) {
        ls_tick tick = server->hashes_first + i;
        if (tick <= bundle->tick && bundle->tick - tick < LS_BUNDLE_HASHES_MAX) {
            file->ring[tick & HASHES_MASK] = server->state_hashes[i];
        }
    }
    file->ring[bundle->tick & HASHES_MASK] = bundle->server_hash;
}

/* Names what is missing. A machine may not have known everything, so this is no failure; not every
 * desync has a pass that did other work, or ticks after it. */
static void say_what_is_missing(const ls_bundle_reading *file, ls_text *why)
{
    uint32_t count = 0;
    bool is_whole = has_seen(file, LS_BUNDLE_END);
    ls_text_set(why, "%s", is_whole ? "" : "the bundle is cut or damaged");
    for (uint32_t i = 1; i < LS_BUNDLE_SECTION_COUNT; i++) {
        if (!has_seen(file, (ls_bundle_section)i) && i < LS_BUNDLE_AFTER_PASS) {
            bool is_first = count++ == 0;
            bool begins = is_first && is_whole;
            ls_text_add(why, "%s%s",
                        begins     ? "missing from the bundle, or damaged: "
                        : is_first ? "; missing from it: "
                                   : ", ",
                        ls_bundle_section_name((ls_bundle_section)i));
        }
    }
    if (count == 0 && is_whole && file->has_lost) {
        ls_text_set(why, "the bundle is damaged, in what not every bundle has");
    }
}

ls_status ls_bundle_reading_open(const uint8_t *bytes, size_t size, const ls_allocator *allocator,
                                 ls_bundle_reading **out, ls_text *why)
{
    ls_status status = ls_record_file_check(&ls_bundle_format, bytes, size, why);
    if (status != LS_OK) {
        return status;
    }
    ls_bundle_reading *file = ls_allocate(allocator, sizeof *file);
    if (!file) {
        return ls_fail(LS_NO_MEMORY, why, "no memory to read a bundle");
    }
    file->allocator = allocator;
    file->raw.allocator = allocator;
    walk(file, bytes, size);
    if (!has_seen(file, LS_BUNDLE_MATCH) || !has_seen(file, LS_BUNDLE_VERDICT)) {
        ls_text_set(why, "the bundle is damaged: not even its %s can be read",
                    has_seen(file, LS_BUNDLE_MATCH) ? "verdict" : "match");
        ls_bundle_reading_close(file);
        return LS_MALFORMED;
    }
    fill_ring(file);
    say_what_is_missing(file, why);
    *out = file;
    return LS_OK;
}

void ls_bundle_reading_close(ls_bundle_reading *file)
{
    if (!file) {
        return;
    }
    const ls_allocator *allocator = file->allocator;
    ls_schema_destroy(file->schema);
    for (uint32_t i = 0; i < 2; i++) {
        ls_release(allocator, file->states[i]);
        ls_release(allocator, file->hashes[i]);
    }
    ls_input_buffer_destroy(file->inputs);
    ls_release(allocator, file->snapshot);
    ls_release(allocator, file->names);
    ls_release(allocator, file->fields);
    ls_release(allocator, file->raw.bytes);
    ls_release(allocator, file);
}

/* ---- questions ---- */

ls_status ls_bundle_reading_provide(ls_bundle_reading *reading, const ls_sim_files *files,
                                    const ls_simulation *simulation, ls_text *why)
{
    return ls_sim_files_provide(files, simulation, &reading->bundle.config, why);
}

const ls_desync_bundle *ls_bundle_reading_bundle(const ls_bundle_reading *file)
{
    return &file->bundle;
}

const ls_schema *ls_bundle_reading_schema(const ls_bundle_reading *file)
{
    return file->schema;
}

ls_status ls_bundle_reading_stretch(const ls_bundle_reading *file, ls_replay_stretch *out)
{
    const ls_desync_bundle *bundle = &file->bundle;
    if (!bundle->snapshot || !bundle->inputs) {
        return LS_NOT_FOUND;
    }
    *out = (ls_replay_stretch){
        .first = bundle->snapshot_tick,
        .agreed = bundle->tick - 1,
        .last = bundle->tick,
        .snapshot = bundle->snapshot,
        .snapshot_bytes = bundle->state_bytes,
        .state_hashes = file->ring,
        .hashes_mask = HASHES_MASK,
        .inputs = bundle->inputs,
    };
    return LS_OK;
}
