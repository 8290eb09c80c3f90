#include "lockstep/common/journal/desync_bundle.h"

#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/compress/compress.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/encoding/journal_record.h"
#include "lockstep/common/journal/desync_bundle_format.h"
#include "lockstep/common/simulation/save_image.h"

#include <string.h>

void ls_desync_bundle_describe(ls_desync_bundle *bundle, const ls_sim_instance *instance,
                               ls_field fields[LS_FIELDS_MAX])
{
    const ls_simulation *simulation = ls_sim_instance_simulation(instance);
    const ls_schema *schema = ls_sim_instance_image_schema(instance);
    ls_name_copy(bundle->simulation, sizeof bundle->simulation, simulation->name);
    bundle->simulation_version = simulation->version;
    bundle->config = *ls_sim_instance_config(instance);
    bundle->digests = ls_sim_instance_digests(instance);
    bundle->input_bytes_max = simulation->input_bytes_max;
    bundle->state_bytes =
        schema ? ls_schema_state_bytes(schema) : ls_sim_instance_state_bytes(instance);
    bundle->field_count = schema ? ls_schema_field_count(schema) : 0;
    for (uint32_t i = 0; i < bundle->field_count; i++) {
        fields[i] = *ls_schema_field(schema, i);
    }
    bundle->fields = fields;
    bundle->pass_count = simulation->pass_count;
    for (uint32_t i = 0; i < simulation->pass_count; i++) {
        ls_name_copy(bundle->passes[i], sizeof bundle->passes[i], simulation->passes[i].name);
    }
}

bool ls_desync_bundle_is_of_saves(const ls_desync_bundle *bundle)
{
    for (uint32_t i = 0; i < bundle->field_count; i++) {
        const ls_field *field = &bundle->fields[i];
        if (field->offset == 0) {
            return field->type == LS_FIELD_U64 && strcmp(field->path, LS_SAVE_SIZE_PATH) == 0;
        }
    }
    return false;
}

void ls_bundle_print_libraries(ls_build_fingerprint *print)
{
    ls_text text = {{0}};
    ls_text_set(&text, "%s, %s", ls_hash_library(), ls_compress_library());
    ls_build_fingerprint_set(print, LS_PRINT_LIBRARIES, text.bytes);
}

/* ---- sections, as one list each ---- */

LS_CASE_FUNCTION(const char *, ls_bundle_section_name, ls_bundle_section, LS_BUNDLE_SECTION_MAP,
                 LS_CASE_TEXT, "unknown")

void ls_bundle_match_stream(ls_byte_stream *stream, ls_desync_bundle *bundle)
{
    uint32_t state_bytes = (uint32_t)bundle->state_bytes;
    ls_byte_stream_text(stream, bundle->simulation, sizeof bundle->simulation);
    ls_byte_stream_u32(stream, &bundle->simulation_version);
    ls_sim_config_stream(stream, &bundle->config);
    ls_sim_digests_stream(stream, &bundle->digests);
    ls_byte_stream_ranged(stream, &bundle->input_bytes_max, 0, LS_INPUT_BYTES_MAX);
    ls_byte_stream_ranged(stream, &bundle->tick, 0, UINT32_MAX);
    ls_byte_stream_ranged(stream, &bundle->slot, 0, bundle->config.players);
    ls_byte_stream_text(stream, bundle->player, sizeof bundle->player);
    ls_byte_stream_u64(stream, &bundle->server_hash);
    ls_byte_stream_u64(stream, &bundle->client_hash);
    ls_byte_stream_ranged(stream, &state_bytes, 1, LS_STATE_BYTES_MAX);
    bundle->state_bytes = state_bytes;
    ls_sim_config_end_stream(stream, &bundle->config);
}

void ls_bundle_verdict_stream(ls_byte_stream *stream, ls_desync_bundle *bundle)
{
    uint32_t kind = bundle->verdict.kind;
    uint32_t culprit = bundle->verdict.culprit;
    uint8_t is_partial = bundle->client_state_is_partial;
    ls_byte_stream_ranged(stream, &kind, 0, LS_DESYNC_CLASS_COUNT - 1);
    ls_byte_stream_ranged(stream, &culprit, 0, LS_DESYNC_CULPRIT_BOTH);
    ls_byte_stream_text(stream, bundle->verdict.why.bytes, sizeof bundle->verdict.why.bytes);
    ls_byte_stream_u8(stream, &is_partial);
    ls_byte_stream_u64(stream, &bundle->elements_differing);
    bundle->verdict.kind = (ls_desync_class)kind;
    bundle->verdict.culprit = (ls_desync_culprit)culprit;
    bundle->client_state_is_partial = is_partial != 0;
}

void ls_bundle_passes_stream(ls_byte_stream *stream, ls_desync_bundle *bundle)
{
    ls_byte_stream_ranged(stream, &bundle->pass_count, 0, LS_PASSES_MAX);
    for (uint32_t i = 0; i < bundle->pass_count; i++) {
        ls_byte_stream_text(stream, bundle->passes[i], sizeof bundle->passes[i]);
    }
}

void ls_bundle_pass_places_stream(ls_byte_stream *stream, ls_bundle_pass_places *after)
{
    ls_byte_stream_ranged(stream, &after->pass, 0, LS_PASSES_MAX - 1);
    ls_byte_stream_u64(stream, &after->elements);
    ls_byte_stream_u32(stream, &after->fields);
    ls_byte_stream_u8(stream, &after->is_lower_bound);
    ls_byte_stream_ranged(stream, &after->count, 1, LS_DIFFERENCES_MAX);
    for (uint32_t i = 0; i < after->count && !stream->has_failed; i++) {
        ls_difference_text *place = &after->places[i];
        ls_byte_stream_text(stream, place->name, sizeof place->name);
        ls_byte_stream_text(stream, place->a, sizeof place->a);
        ls_byte_stream_text(stream, place->b, sizeof place->b);
    }
}

/* As version 0.1.0 has them; surroundings_stream adds the rest. */
static void figures_stream(ls_byte_stream *stream, ls_rerun_figures *figures)
{
    uint8_t bytes[LS_RERUN_FIGURES_BYTES] = {0};
    if (stream->mode != LS_STREAM_READ) {
        ls_rerun_figures_write(figures, bytes);
    }
    ls_byte_stream_bytes(stream, bytes, LS_RERUN_OLD_FIGURES_BYTES);
    if (stream->mode == LS_STREAM_READ && !stream->has_failed) {
        memset(bytes + LS_RERUN_OLD_FIGURES_BYTES, 0, sizeof bytes - LS_RERUN_OLD_FIGURES_BYTES);
        stream->has_failed = ls_rerun_figures_read(bytes, sizeof bytes, figures) != LS_OK;
    }
}

/* Left out where nothing was tried, so that such a bundle is as it always was. */
static void surroundings_stream(ls_byte_stream *stream, ls_rerun_figures *figures)
{
    bool is_reading = stream->mode == LS_STREAM_READ;
    if (is_reading ? !ls_byte_stream_is_at_end(stream) : figures->tried != 0) {
        ls_byte_stream_ranged(stream, &figures->tried, 0, LS_SURROUNDINGS_ALL);
        ls_byte_stream_ranged(stream, &figures->moved, 0, LS_SURROUNDINGS_ALL);
        stream->has_failed = stream->has_failed || (figures->moved & ~figures->tried) != 0;
    }
}

void ls_bundle_side_stream(ls_byte_stream *stream, ls_bundle_side *side)
{
    ls_pass_trace *passes = &side->passes;
    ls_build_fingerprint_stream(stream, &side->print);
    figures_stream(stream, &side->figures);
    ls_byte_stream_u32(stream, &passes->tick);
    ls_byte_stream_ranged(stream, &passes->pass_count, 0, LS_PASSES_MAX);
    ls_byte_stream_u64(stream, &passes->before);
    for (uint32_t i = 0; i < passes->pass_count; i++) {
        ls_byte_stream_u64(stream, &passes->state_hashes[i]);
    }
    surroundings_stream(stream, &side->figures);
}

void ls_bundle_field_stream(ls_byte_stream *stream, ls_field *field, char *path, char *unit)
{
    uint32_t type = field->type;
    uint64_t offset = field->offset;
    uint64_t stride = field->stride;
    ls_byte_stream_text(stream, path, LS_NAME_BYTES_MAX);
    ls_byte_stream_text(stream, unit, LS_NAME_BYTES_MAX);
    ls_byte_stream_ranged(stream, &type, 0, LS_FIELD_TYPE_COUNT - 1);
    ls_byte_stream_ranged(stream, &field->length, 1, LS_STATE_BYTES_MAX);
    ls_byte_stream_ranged(stream, &field->count, 1, LS_STATE_BYTES_MAX);
    ls_byte_stream_u64(stream, &offset);
    ls_byte_stream_u64(stream, &stride);
    stream->has_failed =
        stream->has_failed || offset > LS_STATE_BYTES_MAX || stride > LS_STATE_BYTES_MAX;
    field->type = (ls_field_type)type;
    field->offset = (size_t)offset;
    field->stride = (size_t)stride;
}

void ls_bundle_input_stream(ls_byte_stream *stream, uint32_t input_bytes_max, uint32_t *size,
                            uint32_t *events)
{
    ls_byte_stream_ranged(stream, size, 0, input_bytes_max);
    ls_byte_stream_u32(stream, events);
}
