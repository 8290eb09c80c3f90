#include "lockstep/server/program/desync_files.h"

#include "lockstep/common/diagnosis/desync_bundle.h"
#include "lockstep/common/program/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Too large for a stack. */
typedef struct bundle_memory {
    ls_desync_bundle bundle;
    ls_field fields[LS_FIELDS_MAX];
    uint64_t server_hashes[LS_BUNDLE_HASHES_MAX];
    uint64_t client_hashes[1];
    uint8_t *states[2]; /* canonical */
} bundle_memory;

static ls_status write_path(const ls_desync_files *files, const bundle_memory *memory,
                            char path[LS_BUNDLE_PATH_BYTES_MAX])
{
    char number[24] = "";
    if (files->matches > 1) {
        snprintf(number, sizeof number, "match%" PRIu32 "-", files->match);
    }
    int bytes =
        snprintf(path, LS_BUNDLE_PATH_BYTES_MAX,
                 "%s/desync-%s%s-tick%" PRIu32 "-slot%" PRIu32 ".bundle", files->directory, number,
                 memory->bundle.simulation, memory->bundle.tick, memory->bundle.slot);
    return bytes > 0 && (size_t)bytes < LS_BUNDLE_PATH_BYTES_MAX ? LS_OK : LS_FULL;
}

/* The hashes go on to the newest, but that of the bad tick is among them in any case. */
static ls_tick first_of_hashes(const ls_desync_evidence_set *set)
{
    ls_tick oldest = ls_replay_window_oldest(set->window);
    bool is_far = set->tick >= oldest && set->tick - oldest >= LS_BUNDLE_HASHES_MAX;
    return is_far ? set->tick - (LS_BUNDLE_HASHES_MAX - 1) : oldest;
}

static void add_hashes(const ls_desync_evidence_set *set, bundle_memory *memory)
{
    ls_bundle_side *server = &memory->bundle.server;
    ls_tick newest = ls_replay_window_newest(set->window);
    server->state_hashes = memory->server_hashes;
    server->hashes_first = first_of_hashes(set);
    for (ls_tick tick = server->hashes_first;
         tick <= newest && server->hash_count < LS_BUNDLE_HASHES_MAX; tick++) {
        uint64_t *state_hash = &memory->server_hashes[server->hash_count];
        if (ls_replay_window_hash(set->window, tick, state_hash) != LS_OK) {
            break;
        }
        server->hash_count++;
    }
    memory->client_hashes[0] = set->client_hash;
    memory->bundle.client.state_hashes = memory->client_hashes;
    memory->bundle.client.hashes_first = memory->bundle.tick;
    memory->bundle.client.hash_count = 1;
}

/* Where states are canonical as they lie in memory they are written from there. */
static ls_status add_state(const ls_schema *schema, const void *state, uint8_t **copy,
                           const uint8_t **out)
{
    if (!state || ls_schema_is_canonical_here()) {
        *out = state;
        return LS_OK;
    }
    *copy = ls_allocate(ls_allocator_heap(), ls_schema_state_bytes(schema));
    if (!*copy) {
        return LS_NO_MEMORY;
    }
    ls_schema_to_canonical(schema, state, *copy);
    *out = *copy;
    return LS_OK;
}

static void add_side(ls_bundle_side *side, const ls_build_fingerprint *print,
                     const ls_rerun_figures *figures, const ls_pass_trace *passes)
{
    if (print) {
        side->print = *print;
    }
    if (figures) {
        side->figures = *figures;
    }
    if (passes) {
        side->passes = *passes;
    }
}

static void add_after_pass(const ls_desync_finding *finding, ls_bundle_pass_places *out)
{
    if (!finding->is_after_pass) {
        return;
    }
    *out = (ls_bundle_pass_places){.pass = finding->pass_index,
                                   .elements = finding->elements,
                                   .fields = finding->fields,
                                   .is_lower_bound = finding->is_lower_bound,
                                   .count = finding->place_count};
    memcpy(out->places, finding->places, sizeof out->places);
}

static ls_status fill(const ls_desync_files *files, ls_match *match, uint32_t slot,
                      bundle_memory *memory)
{
    ls_desync_evidence_set set;
    const ls_desync_finding *finding = ls_match_desync_of(match, slot);
    if (!finding || !ls_match_desync_evidence_of(match, slot, &set)) {
        return LS_NOT_FOUND;
    }
    ls_desync_bundle *bundle = &memory->bundle;
    const ls_schema *schema = ls_sim_instance_image_schema(ls_match_instance(match));
    ls_desync_bundle_describe(bundle, ls_match_instance(match), memory->fields);
    bundle->tick = set.tick;
    bundle->slot = slot;
    ls_match_slot player = ls_match_slot_of(match, slot);
    ls_name_copy(bundle->player, sizeof bundle->player, player.name);
    bundle->server_hash = set.server_hash;
    bundle->client_hash = set.client_hash;
    bundle->verdict = finding->verdict;
    bundle->client_state_is_partial = set.is_lower_bound;
    bundle->elements_differing = set.elements;
    add_after_pass(finding, &bundle->after_pass);
    if (set.has_stretch) {
        bundle->snapshot_tick = set.stretch.first;
        bundle->snapshot_hash = ls_replay_stretch_hash(&set.stretch, set.stretch.first);
        bundle->snapshot = set.stretch.snapshot;
        bundle->inputs = set.stretch.inputs;
    }
    add_side(&bundle->server, files->print, set.server_figures, set.server_passes);
    add_side(&bundle->client, set.client_fingerprint, set.client_figures, set.client_passes);
    add_hashes(&set, memory);
    ls_status status =
        add_state(schema, set.server_state, &memory->states[0], &bundle->server.state);
    return status == LS_OK
               ? add_state(schema, set.client_state, &memory->states[1], &bundle->client.state)
               : status;
}

static ls_status write_file(const ls_desync_files *files, const bundle_memory *memory,
                            char path[LS_BUNDLE_PATH_BYTES_MAX], ls_text *why)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    ls_status status = write_path(files, memory, path);
    if (status == LS_OK) {
        status = ls_desync_bundle_write(&memory->bundle, ls_allocator_heap(), &bytes, &size);
    }
    if (status == LS_OK) {
        status = ls_output_write_new(path, LS_BUNDLE_PATH_BYTES_MAX, "bundle", bytes, size, why);
    }
    ls_release(ls_allocator_heap(), bytes);
    return status;
}

ls_status ls_desync_files_write(const ls_desync_files *files, ls_match *match, uint32_t slot,
                                char path[LS_BUNDLE_PATH_BYTES_MAX], ls_text *why)
{
    bundle_memory *memory = ls_allocate(ls_allocator_heap(), sizeof *memory);
    if (!memory) {
        return LS_NO_MEMORY;
    }
    ls_status status = fill(files, match, slot, memory);
    if (status == LS_OK) {
        status = write_file(files, memory, path, why);
    }
    ls_release(ls_allocator_heap(), memory->states[0]);
    ls_release(ls_allocator_heap(), memory->states[1]);
    ls_release(ls_allocator_heap(), memory);
    return status;
}
