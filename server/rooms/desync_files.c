#include "lockstep/server/rooms/desync_files.h"

#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/common/system/output.h"
#include "lockstep/server/investigation/desync_finding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* When bundles that wait to be written take more, none is begun. */
#define WAITING_BYTES_MAX (UINT64_C(512) << 20)

/* One bundle as it is to be written. */
typedef struct bundle_task {
    ls_desync_files *files;
    struct bundle_task *next; /* that was begun later; NULL: none was */
    ls_desync_file_task what; /* its match may be gone once the draft is made */
    char planned[LS_BUNDLE_PATH_BYTES_MAX];
    ls_bundle_draft draft;
    ls_status status;
    char path[LS_BUNDLE_PATH_BYTES_MAX];
    size_t bytes;
    ls_text why;
} bundle_task;

/* The job writes the first task, one after another. */
struct ls_desync_files {
    ls_desync_files_config config;
    ls_loop_job *job;
    bundle_task *first; /* NULL: nothing is written */
    bundle_task *last;
    uint64_t waiting_bytes;
    uint64_t bytes_left; /* that may still be written */
};

/* Too large for a stack. */
typedef struct bundle_memory {
    ls_desync_bundle bundle;
    ls_field fields[LS_FIELDS_MAX];
    uint64_t server_hashes[LS_BUNDLE_HASHES_MAX];
    uint64_t client_hashes[1];
    uint8_t *states[2]; /* canonical */
} bundle_memory;

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

/* The running match is beyond it. */
static ls_status fill_first_state(const ls_sim_instance *running, bundle_memory *memory)
{
    ls_sim_instance *first = NULL;
    ls_status status =
        ls_sim_instance_create(ls_sim_instance_simulation(running), ls_sim_instance_config(running),
                               ls_allocator_heap(), &first, NULL);
    bool has_schema = status == LS_OK && ls_sim_instance_image_schema(running);
    memory->states[0] =
        has_schema ? ls_allocate(ls_allocator_heap(), ls_sim_instance_image_bytes(first)) : NULL;
    if (memory->states[0] && ls_sim_instance_image(first, memory->states[0]) == LS_OK) {
        memory->bundle.server.state = memory->states[0];
    }
    ls_sim_instance_destroy(first);
    return status;
}

/* The client is gone: of its side the hash is known, and the rest on its machine. */
static ls_status fill_refusal(const bundle_task *task, bundle_memory *memory)
{
    const ls_sim_instance *running = ls_match_instance(task->what.match);
    const ls_match_refusal *refusal = ls_match_refusal_of(task->what.match);
    ls_desync_bundle *bundle = &memory->bundle;
    ls_desync_bundle_describe(bundle, running, memory->fields);
    bundle->slot = refusal->slot;
    ls_name_copy(bundle->player, sizeof bundle->player, refusal->name);
    bundle->server_hash = refusal->server_hash;
    bundle->client_hash = refusal->client_hash;
    ls_text_set(&bundle->verdict.why, "%s", task->what.why);
    add_side(&bundle->server, task->what.print, NULL, NULL);
    return refusal->status == LS_INITIAL_STATE_MISMATCH ? fill_first_state(running, memory) : LS_OK;
}

static ls_status fill(const bundle_task *task, bundle_memory *memory)
{
    if (task->what.slot == LS_DESYNC_FILES_NO_SLOT) {
        return fill_refusal(task, memory);
    }
    ls_desync_evidence_set set;
    ls_match *match = task->what.match;
    const ls_desync_finding *finding = ls_match_desync_of(match, task->what.slot);
    if (!finding || !ls_match_desync_evidence_of(match, task->what.slot, &set)) {
        return LS_NOT_FOUND;
    }
    ls_desync_bundle *bundle = &memory->bundle;
    const ls_schema *schema = ls_sim_instance_image_schema(ls_match_instance(match));
    ls_desync_bundle_describe(bundle, ls_match_instance(match), memory->fields);
    bundle->tick = set.tick;
    bundle->slot = task->what.slot;
    ls_match_slot player = ls_match_slot_of(match, task->what.slot);
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
    add_side(&bundle->server, task->what.print, set.server_figures, set.server_passes);
    add_side(&bundle->client, set.client_fingerprint, set.client_figures, set.client_passes);
    add_hashes(&set, memory);
    ls_status status =
        add_state(schema, set.server_state, &memory->states[0], &bundle->server.state);
    return status == LS_OK
               ? add_state(schema, set.client_state, &memory->states[1], &bundle->client.state)
               : status;
}

/* A copy of what the match has now: it goes on meanwhile. */
static ls_status draft_bundle(bundle_task *task)
{
    bundle_memory *memory = ls_allocate(ls_allocator_heap(), sizeof *memory);
    if (!memory) {
        return LS_NO_MEMORY;
    }
    ls_status status = fill(task, memory);
    LS_THEN(status, ls_bundle_draft_make(&memory->bundle, ls_allocator_large(), &task->draft));
    ls_release(ls_allocator_heap(), memory->states[0]);
    ls_release(ls_allocator_heap(), memory->states[1]);
    ls_release(ls_allocator_heap(), memory);
    return status;
}

/* ---- in the thread of the job ---- */

static ls_status write_bytes(bundle_task *task, const uint8_t *bytes, size_t size)
{
    const ls_desync_files *files = task->files;
    if (!ls_output_has_room(files->config.directory, size)) {
        return ls_fail(LS_FULL, &task->why, "no bundle is written to %s: the disk is nearly full",
                       task->planned);
    }
    if (size > files->bytes_left) {
        return ls_fail(LS_FULL, &task->why,
                       "no bundle is written to %s: it would be more than --bundle-limit allows",
                       task->planned);
    }
    task->bytes = size;
    return ls_output_write_new(task->path, sizeof task->path, "bundle", bytes, size, &task->why);
}

static void work(void *user)
{
    const ls_desync_files *files = user;
    bundle_task *task = files->first;
    uint8_t *bytes = NULL;
    size_t size = 0;
    memcpy(task->path, task->planned, sizeof task->path);
    task->status = ls_bundle_draft_pack(&task->draft, ls_allocator_heap(), &bytes, &size);
    LS_THEN(task->status, write_bytes(task, bytes, size));
    ls_release(ls_allocator_heap(), bytes);
}

/* ---- in the loop's thread ---- */

static void finish_first(ls_desync_files *files)
{
    bundle_task *task = files->first;
    const ls_desync_file file = {.room = task->what.room,
                                 .slot = task->what.slot,
                                 .planned = task->planned,
                                 .status = task->status,
                                 .path = task->path,
                                 .why = task->why.bytes};
    files->first = task->next;
    files->waiting_bytes -= task->draft.size;
    files->bytes_left -= task->status == LS_OK ? task->bytes : 0;
    files->config.on_written(files->config.user, &file);
    ls_release(ls_allocator_large(), task->draft.bytes);
    ls_release(ls_allocator_heap(), task);
}

static void on_done(void *user, uint64_t now_ns)
{
    ls_desync_files *files = user;
    (void)now_ns;
    finish_first(files);
    if (files->first) {
        ls_loop_job_start(files->job);
    }
}

static void start(bundle_task *task)
{
    ls_desync_files *files = task->files;
    files->waiting_bytes += task->draft.size;
    if (files->first) {
        files->last->next = task;
        files->last = task;
    } else {
        files->first = files->last = task;
        ls_loop_job_start(files->job);
    }
}

static ls_status choose_path(bundle_task *task, ls_tick tick)
{
    const ls_desync_files_config *config = &task->files->config;
    const ls_simulation *simulation =
        ls_sim_instance_simulation(ls_match_instance(task->what.match));
    bool is_refusal = task->what.slot == LS_DESYNC_FILES_NO_SLOT;
    uint32_t slot = is_refusal ? ls_match_refusal_of(task->what.match)->slot : task->what.slot;
    bool is_spectator = slot >= ls_match_players(task->what.match);
    ls_text name = ls_desync_bundle_name(task->what.label, simulation, tick, slot, is_spectator);
    int bytes =
        snprintf(task->planned, sizeof task->planned, "%s/%s", config->directory, name.bytes);
    if (bytes < 0 || (size_t)bytes >= sizeof task->planned) {
        return LS_FULL;
    }
    ls_output_new_name(task->planned, sizeof task->planned);
    return LS_OK;
}

ls_status ls_desync_files_write(ls_desync_files *files, const ls_desync_file_task *what,
                                char path[LS_BUNDLE_PATH_BYTES_MAX])
{
    ls_tick tick = 0;
    bool is_refusal = what->slot == LS_DESYNC_FILES_NO_SLOT;
    if (!is_refusal && (!ls_match_desync_of(what->match, what->slot) ||
                        !ls_match_bundle_tick_of(what->match, what->slot, &tick))) {
        return LS_NOT_FOUND;
    }
    if (files->bytes_left == 0) {
        return LS_FULL;
    }
    bool has_room = files->waiting_bytes <= WAITING_BYTES_MAX;
    bundle_task *task = has_room ? ls_allocate(ls_allocator_heap(), sizeof *task) : NULL;
    if (!task) {
        return LS_NO_MEMORY;
    }
    *task = (bundle_task){.files = files, .what = *what};
    ls_status status = choose_path(task, tick);
    LS_THEN(status, draft_bundle(task));
    if (status != LS_OK) {
        ls_release(ls_allocator_large(), task->draft.bytes);
        ls_release(ls_allocator_heap(), task);
        return status;
    }
    memcpy(path, task->planned, LS_BUNDLE_PATH_BYTES_MAX);
    start(task);
    return LS_OK;
}

/* ---- life ---- */

ls_status ls_desync_files_create(const ls_desync_files_config *config, ls_desync_files **out)
{
    ls_desync_files *files = ls_allocate(ls_allocator_heap(), sizeof *files);
    if (!files) {
        return LS_NO_MEMORY;
    }
    *files = (ls_desync_files){.config = *config, .bytes_left = config->bytes_max};
    ls_status status =
        ls_loop_job_create(config->loop, work, (ls_loop_handler){on_done, files}, &files->job);
    if (status != LS_OK) {
        ls_release(ls_allocator_heap(), files);
        return status;
    }
    *out = files;
    return LS_OK;
}

/* The first one has been written by the time that the job is gone. */
void ls_desync_files_destroy(ls_desync_files *files)
{
    if (!files) {
        return;
    }
    bool is_written = files->first != NULL;
    ls_loop_job_destroy(files->job);
    while (files->first) {
        if (!is_written) {
            work(files);
        }
        is_written = false;
        finish_first(files);
    }
    ls_release(ls_allocator_heap(), files);
}
