#include "lockstep/common/simulation/save_image.h"

#include "lockstep/common/base/byte_io.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ROOM_BYTES_MIN = 4096, /* of an engine that says no largest size */
    GAP_NAME_BYTES = 32,
};

struct ls_save_image {
    const ls_allocator *allocator;
    ls_schema *schema;
    char (*names)[GAP_NAME_BYTES]; /* of what the engine's fields leave out */
};

/* The fields as they are collected. */
typedef struct collection {
    ls_field *fields; /* [2 * LS_FIELDS_MAX] */
    uint32_t count;
    uint32_t gaps;
    char (*names)[GAP_NAME_BYTES];
} collection;

/* ---- size ---- */

static size_t room_for(size_t first_bytes)
{
    size_t least = LS_SAVE_HEAD_BYTES + first_bytes + first_bytes / 4;
    size_t room = ROOM_BYTES_MIN;
    while (room < least) {
        room *= 2;
    }
    return room;
}

static ls_status choose_bytes(const ls_simulation *simulation, const ls_sim_config *config,
                              size_t first_bytes, size_t *bytes, ls_text *why)
{
    size_t most = simulation->save_bytes_max ? simulation->save_bytes_max(config) : first_bytes;
    if (most > LS_STATE_BYTES_MAX - LS_SAVE_HEAD_BYTES || most == 0) {
        return ls_fail(LS_PLUGIN, why, "simulation '%s' saves up to %zu bytes; it can be 1..%u",
                       simulation->name, most, LS_STATE_BYTES_MAX - LS_SAVE_HEAD_BYTES);
    }
    *bytes = simulation->save_bytes_max ? LS_SAVE_HEAD_BYTES + most : room_for(first_bytes);
    return LS_OK;
}

/* ---- fields ---- */

/* One past the last byte of a field, in the save. */
static size_t end_of(const ls_field *field)
{
    size_t item = (size_t)field->length * ls_field_type_bytes(field->type);
    return field->offset + (field->count > 1 ? (field->count - 1) * field->stride : 0) + item;
}

static bool covers(const ls_field *field, size_t offset)
{
    size_t item = (size_t)field->length * ls_field_type_bytes(field->type);
    if (offset < field->offset || offset >= end_of(field)) {
        return false;
    }
    return field->count <= 1 || (offset - field->offset) % field->stride < item;
}

/* Where the range that begins at `offset`, and is covered or not, ends at the latest: the next
 * place at which a field, or an item of one, begins or ends. */
static size_t next_edge(const collection *own, size_t offset, size_t end)
{
    for (uint32_t i = 0; i < own->count; i++) {
        const ls_field *field = &own->fields[i];
        size_t item = (size_t)field->length * ls_field_type_bytes(field->type);
        size_t edge = field->offset;
        if (offset >= field->offset && offset < end_of(field)) {
            size_t stride = field->count > 1 ? field->stride : item;
            size_t within = (offset - field->offset) % stride;
            edge = offset - within + (within >= item ? stride : item);
        }
        if (edge > offset && edge < end) {
            end = edge;
        }
    }
    return end;
}

static bool is_covered(const collection *own, size_t offset)
{
    bool is = false;
    for (uint32_t i = 0; i < own->count && !is; i++) {
        is = covers(&own->fields[i], offset);
    }
    return is;
}

static bool add_gap(collection *all, size_t offset, size_t end)
{
    if (all->count + all->gaps >= LS_FIELDS_MAX) {
        return false;
    }
    char *name = all->names[all->gaps];
    if (offset == 0) {
        snprintf(name, GAP_NAME_BYTES, "save");
    } else {
        snprintf(name, GAP_NAME_BYTES, "save_%zu", offset);
    }
    all->fields[all->count + all->gaps] =
        (ls_field){name, "", LS_FIELD_U8, (uint32_t)(end - offset), 1, offset, 0};
    all->gaps++;
    return true;
}

/* Names what the engine's fields leave out. False: there are too many pieces. */
static bool add_gaps(collection *all, size_t bytes)
{
    size_t offset = 0;
    while (offset < bytes) {
        size_t end = next_edge(all, offset, bytes);
        if (is_covered(all, offset)) {
            offset = end;
            continue;
        }
        while (end < bytes && !is_covered(all, end)) {
            end = next_edge(all, end, bytes);
        }
        if (!add_gap(all, offset, end)) {
            return false;
        }
        offset = end;
    }
    return true;
}

static ls_status collect(const ls_simulation *simulation, const ls_sim_config *config,
                         const void *state, size_t image_bytes, collection *all, ls_text *why)
{
    size_t bytes = image_bytes - LS_SAVE_HEAD_BYTES;
    if (simulation->save_fields_of) {
        all->count = simulation->save_fields_of(config, state, all->fields, LS_FIELDS_MAX - 1);
    } else if (simulation->save_fields) {
        all->count = simulation->save_fields(config, all->fields, LS_FIELDS_MAX - 1);
    }
    if (all->count >= LS_FIELDS_MAX) {
        return ls_fail(LS_SCHEMA, why, "the save of '%s' has %" PRIu32 " fields; it can have %u",
                       simulation->name, all->count, LS_FIELDS_MAX - 1);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        const ls_field *field = &all->fields[i];
        if (field->count == 0 || field->length == 0 || end_of(field) > bytes ||
            (field->count > 1 && field->stride == 0)) {
            return ls_fail(LS_SCHEMA, why,
                           "field \"%s\" of the save of '%s' lies beyond its %zu bytes",
                           field->path ? field->path : "", simulation->name, bytes);
        }
    }
    if (!add_gaps(all, bytes)) {
        return ls_fail(LS_SCHEMA, why,
                       "the fields of the save of '%s' leave out too many pieces of it",
                       simulation->name);
    }
    all->count += all->gaps;
    for (uint32_t i = 0; i < all->count; i++) {
        all->fields[i].offset += LS_SAVE_HEAD_BYTES;
    }
    all->fields[all->count++] = (ls_field){LS_SAVE_SIZE_PATH, "bytes", LS_FIELD_U64, 1, 1, 0, 0};
    return LS_OK;
}

/* ---- life ---- */

ls_status ls_save_image_create(const ls_simulation *simulation, const ls_sim_config *config,
                               const void *state, size_t first_bytes, const ls_allocator *allocator,
                               ls_save_image **out, ls_text *why)
{
    size_t bytes = 0;
    ls_status status = choose_bytes(simulation, config, first_bytes, &bytes, why);
    if (status != LS_OK) {
        return status;
    }
    ls_save_image *image = ls_allocate(allocator, sizeof *image);
    collection all = {.fields = ls_allocate_array(allocator, LS_FIELDS_MAX + 1, sizeof(ls_field))};
    if (image) {
        image->allocator = allocator;
        image->names = ls_allocate_array(allocator, LS_FIELDS_MAX, sizeof *image->names);
        all.names = image->names;
    }
    status = image && image->names && all.fields
                 ? collect(simulation, config, state, bytes, &all, why)
                 : ls_fail(LS_NO_MEMORY, why, "no memory for the fields of a save");
    if (status == LS_OK) {
        status = ls_schema_create(all.fields, all.count, bytes, allocator, &image->schema, why);
    }
    ls_release(allocator, all.fields);
    if (status != LS_OK) {
        ls_save_image_destroy(image);
        return status;
    }
    *out = image;
    return LS_OK;
}

void ls_save_image_destroy(ls_save_image *image)
{
    if (image) {
        ls_schema_destroy(image->schema);
        ls_release(image->allocator, image->names);
        ls_release(image->allocator, image);
    }
}

const ls_schema *ls_save_image_schema(const ls_save_image *image)
{
    return image->schema;
}

ls_status ls_save_image_fill(size_t image_bytes, const uint8_t *save, uint8_t *bytes)
{
    uint64_t saved = ls_load_u64(save);
    if (saved > image_bytes - LS_SAVE_HEAD_BYTES) {
        return LS_FULL;
    }
    size_t used = LS_SAVE_HEAD_BYTES + (size_t)saved;
    if (bytes != save) {
        memcpy(bytes, save, used);
    }
    memset(bytes + used, 0, image_bytes - used);
    return LS_OK;
}
