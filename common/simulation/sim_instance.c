#include "lockstep/common/simulation/sim_instance.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/prefetch.h"
#include "lockstep/common/simulation/plugin_place.h"
#include "lockstep/common/simulation/save_image.h"
#include "lockstep/common/simulation/state_hash.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

_Thread_local ls_plugin_place ls_plugin_place_here;

/* Under AddressSanitizer the slack that alignment leaves around a block is forbidden ground. */
#if LS_HAS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define FORBID(bytes, size) ASAN_POISON_MEMORY_REGION(bytes, size)
#define ALLOW(bytes, size) ASAN_UNPOISON_MEMORY_REGION(bytes, size)
#else
#define FORBID(bytes, size) ((void)(bytes), (void)(size))
#define ALLOW(bytes, size) ((void)(bytes), (void)(size))
#endif

/* A cache line, so that a simulation's layout decides which fields share one. */
#define BLOCK_ALIGNMENT 64u

/* A larger state is read and written in an order that only its simulation knows. */
#define PREFETCHED_BYTES_MAX ((size_t)1024)

/* Of smaller states a copy takes less than the bookkeeping of its pages is worth. */
#define PAIRED_BYTES_MIN ((size_t)16 << 20)

/* A callback's save begins with the count of the engine's own bytes. */
#define SAVE_HEADER_BYTES LS_SAVE_HEAD_BYTES

typedef struct aligned_block {
    uint8_t *memory; /* as the allocator gave it */
    size_t memory_bytes;
    void *bytes;        /* aligned, inside memory */
    ls_block_pair pair; /* or in the place of memory */
} aligned_block;

/* Bytes that changed and that no pass has named, between two hashes of all bytes. */
typedef struct unnamed_write {
    size_t offset;
    ls_tick after;
    ls_tick until; /* 0: there are none, or they were told */
} unnamed_write;

struct ls_sim_instance {
    const ls_allocator *allocator;
    const ls_simulation *simulation;
    ls_sim_config config;
    size_t state_bytes;
    size_t scratch_bytes;
    aligned_block state;
    aligned_block scratch;   /* an allocation of its own: tools see an overrun of either */
    ls_schema *schema;       /* NULL when the simulation hashes by callback */
    ls_state_hasher *hasher; /* NULL likewise */
    ls_save_image *image;    /* of an engine that saves and loads, else NULL */
    ls_sim_digests digests;
    ls_sim_tuning tuning;
    ls_tick tick;
    bool is_initialised; /* init succeeded, so deinit is owed */
    bool is_hashed;      /* the hasher has hashed the live state as it is */

    /* Of a simulation whose named writes are trusted. */
    ls_written written; /* since the state that the hasher knows; count 0: not trusted */
    bool is_followed;   /* steps alone have written since then */
    ls_tick whole_tick; /* of the newest hash of all bytes */
    unnamed_write unnamed;
};

static bool block_allocate(const ls_allocator *allocator, size_t bytes, aligned_block *out)
{
    if (bytes > SIZE_MAX - BLOCK_ALIGNMENT) {
        return false;
    }
    out->memory_bytes = bytes + BLOCK_ALIGNMENT - 1;
    out->memory = ls_allocate(allocator, out->memory_bytes);
    if (!out->memory) {
        return false;
    }
    size_t past = (uintptr_t)out->memory % BLOCK_ALIGNMENT;
    size_t before = past == 0 ? 0 : BLOCK_ALIGNMENT - past;
    out->bytes = out->memory + before;
    FORBID(out->memory, before);
    FORBID(out->memory + before + bytes, out->memory_bytes - before - bytes);
    return true;
}

static bool pair_allocate(const ls_allocator *allocator, size_t bytes, aligned_block *out)
{
    bool is_paired = bytes >= PAIRED_BYTES_MIN && ls_allocate_pair(allocator, bytes, &out->pair);
    if (is_paired) {
        out->bytes = out->pair.block;
    }
    return is_paired;
}

static void block_release(const ls_allocator *allocator, aligned_block *block)
{
    ls_release_pair(&block->pair);
    if (block->memory) {
        ALLOW(block->memory, block->memory_bytes);
    }
    ls_release(allocator, block->memory);
    *block = (aligned_block){.memory = NULL};
}

/* ---- create ---- */

static bool take_blocks(ls_sim_instance *instance)
{
    const ls_allocator *allocator = instance->allocator;
    return (pair_allocate(allocator, instance->state_bytes, &instance->state) ||
            block_allocate(allocator, instance->state_bytes, &instance->state)) &&
           (instance->scratch_bytes == 0 ||
            block_allocate(allocator, instance->scratch_bytes, &instance->scratch));
}

static void release_blocks(ls_sim_instance *instance)
{
    block_release(instance->allocator, &instance->scratch);
    block_release(instance->allocator, &instance->state);
}

static ls_status allocate_blocks(ls_sim_instance *instance, ls_text *why)
{
    const ls_simulation *simulation = instance->simulation;
    size_t state_bytes = simulation->state_bytes(&instance->config);
    if (state_bytes == 0 || state_bytes > LS_STATE_BYTES_MAX) {
        return ls_fail(LS_PLUGIN, why,
                       "simulation '%s' asks for %zu bytes of state; it can have 1..%u",
                       simulation->name, state_bytes, LS_STATE_BYTES_MAX);
    }
    size_t scratch_bytes =
        simulation->scratch_bytes ? simulation->scratch_bytes(&instance->config) : 0;
    instance->state_bytes = state_bytes;
    instance->scratch_bytes = scratch_bytes;
    if (!take_blocks(instance)) {
        return ls_fail(LS_NO_MEMORY, why, "no memory for %zu bytes of state and %zu of scratch",
                       state_bytes, scratch_bytes);
    }
    return LS_OK;
}

static ls_status build_schema(ls_sim_instance *instance, ls_text *why)
{
    const ls_simulation *simulation = instance->simulation;
    if (simulation->hash) {
        return LS_OK;
    }
    ls_field *fields = ls_allocate_array(instance->allocator, LS_FIELDS_MAX, sizeof *fields);
    if (!fields) {
        return ls_fail(LS_NO_MEMORY, why, "no memory for the state schema");
    }
    uint32_t count = simulation->fields(&instance->config, fields, LS_FIELDS_MAX);
    ls_status status = LS_OK;
    if (count > LS_FIELDS_MAX) {
        ls_text_set(why, "the state schema of '%s' has %u fields; it can have %u", simulation->name,
                    count, LS_FIELDS_MAX);
        status = LS_SCHEMA;
    } else {
        status = ls_schema_create(fields, count, instance->state_bytes, instance->allocator,
                                  &instance->schema, why);
    }
    ls_release(instance->allocator, fields);
    if (status != LS_OK) {
        return status;
    }
    status = ls_state_hasher_create(instance->schema, instance->allocator, &instance->hasher);
    return status == LS_OK ? LS_OK : ls_fail(status, why, "no memory for hashing the state");
}

static ls_status make_state_0(ls_sim_instance *instance, ls_text *why)
{
    const ls_simulation *simulation = instance->simulation;
    ls_plugin_place_enter(LS_PLUGIN_CALL_INIT);
    ls_text said = {""};
    ls_status status = simulation->init(&instance->config, instance->state.bytes, &said);
    ls_plugin_place_leave();
    if (status != LS_OK) {
        said.bytes[sizeof said.bytes - 1] = '\0'; /* it is the plug-in's */
        ls_text_make_printable(said.bytes, strlen(said.bytes));
        ls_text_set(why, "simulation '%s' could not make its first state: %s", simulation->name,
                    said.bytes[0] != '\0' ? said.bytes : ls_status_text(status));
        return status;
    }
    instance->is_initialised = true;
    size_t offset = 0;
    if (instance->schema &&
        ls_schema_dirty_padding(instance->schema, instance->state.bytes, &offset)) {
        ls_schema_place place = ls_schema_at(instance->schema, offset);
        return ls_fail(LS_SCHEMA, why,
                       "simulation '%s' wrote to byte %zu of its state, which is padding (\"%s\")",
                       simulation->name, offset, place.field->path);
    }
    return LS_OK;
}

static size_t save(const ls_sim_instance *instance, uint8_t *bytes, size_t size)
{
    ls_plugin_place_enter(LS_PLUGIN_CALL_SAVE);
    size_t saved =
        instance->simulation->save(&instance->config, instance->state.bytes, bytes, size);
    ls_plugin_place_leave();
    return saved;
}

static ls_status build_image(ls_sim_instance *instance, ls_text *why)
{
    const ls_simulation *simulation = instance->simulation;
    if (instance->schema || !simulation->save || !simulation->load) {
        return LS_OK;
    }
    return ls_save_image_create(simulation, &instance->config, instance->state.bytes,
                                save(instance, NULL, 0), instance->allocator, &instance->image,
                                why);
}

static uint64_t digest_parameters(const ls_simulation *simulation, const ls_sim_config *config)
{
    uint64_t digest = ls_hash_pair(config->seed, config->tick_rate_hz);
    digest = ls_hash_pair(digest, config->players);
    digest = ls_hash_pair(digest, config->param_count);
    for (uint32_t i = 0; i < config->param_count; i++) {
        const char *name = simulation->params[i].name;
        digest = ls_hash_pair(digest, ls_hash_bytes(name, strlen(name), 0));
        digest = ls_hash_pair(digest, (uint64_t)config->params[i]);
    }
    if (config->tick_rate.denominator > 0) { /* others have the digest that they always had */
        digest = ls_hash_pair(digest, config->tick_rate.numerator);
        digest = ls_hash_pair(digest, config->tick_rate.denominator);
    }
    for (uint32_t i = 0; i < config->string_count; i++) {
        const char *text = config->strings[i];
        digest = ls_hash_pair(digest, ls_hash_bytes(text, strlen(text), 0));
    }
    for (uint32_t i = 0; i < config->file_count; i++) {
        digest = ls_hash_pair(digest, config->files[i].size);
        digest = ls_hash_pair(digest, config->files[i].digest);
    }
    return digest;
}

static ls_sim_digests make_digests(ls_sim_instance *instance)
{
    const ls_simulation *simulation = instance->simulation;
    const ls_sim_config *config = &instance->config;
    bool has_own_schema = instance->schema || ls_simulation_names_saves(simulation);
    return (ls_sim_digests){
        .parameters = digest_parameters(simulation, config),
        .schema = has_own_schema ? ls_schema_digest(ls_sim_instance_image_schema(instance)) : 0,
        .content = simulation->content_digest ? simulation->content_digest(config) : 0,
        .initial = ls_sim_instance_hash(instance),
    };
}

static ls_status build(ls_sim_instance *instance, ls_text *why)
{
    ls_status status = allocate_blocks(instance, why);
    LS_THEN(status, build_schema(instance, why));
    LS_THEN(status, make_state_0(instance, why));
    LS_THEN(status, build_image(instance, why));
    if (status == LS_OK) {
        instance->digests = make_digests(instance);
    }
    return status;
}

ls_status ls_sim_instance_create(const ls_simulation *simulation, const ls_sim_config *config,
                                 const ls_allocator *allocator, ls_sim_instance **out, ls_text *why)
{
    ls_status status = ls_simulation_check(simulation, why);
    LS_THEN(status, ls_sim_config_check(simulation, config, why));
    if (status != LS_OK) {
        return status;
    }
    ls_sim_instance *instance = ls_allocate(allocator, sizeof *instance);
    if (!instance) {
        return ls_fail(LS_NO_MEMORY, why, "no memory for a simulation");
    }
    instance->allocator = allocator;
    instance->simulation = simulation;
    instance->config = *config;
    instance->config.user = simulation->user;
    instance->tuning = (ls_sim_tuning){.workers = 1, .log_level = LS_LOG_WARNING};
    status = build(instance, why);
    if (status != LS_OK) {
        ls_sim_instance_destroy(instance);
        return status;
    }
    *out = instance;
    return LS_OK;
}

static void deinit(ls_sim_instance *instance)
{
    if (instance->is_initialised && instance->simulation->deinit) {
        ls_plugin_place_enter(LS_PLUGIN_CALL_DEINIT);
        instance->simulation->deinit(&instance->config, instance->state.bytes);
        ls_plugin_place_leave();
    }
}

void ls_sim_instance_destroy(ls_sim_instance *instance)
{
    if (!instance) {
        return;
    }
    deinit(instance);
    ls_state_hasher_destroy(instance->hasher);
    ls_release(instance->allocator, instance->written.chunks);
    ls_schema_destroy(instance->schema);
    ls_save_image_destroy(instance->image);
    release_blocks(instance);
    ls_release(instance->allocator, instance);
}

/* Somebody else than a step has written, or may. */
static void forget_hash(ls_sim_instance *instance)
{
    instance->is_hashed = false;
    instance->is_followed = false;
}

/* ---- what it is ---- */

ls_status ls_sim_instance_restart(ls_sim_instance *instance)
{
    deinit(instance);
    instance->is_initialised = false;
    forget_hash(instance);
    instance->tick = 0;
    memset(instance->state.bytes, 0, instance->state_bytes);
    return make_state_0(instance, NULL);
}

void ls_sim_instance_rest(ls_sim_instance *instance)
{
    LS_ASSERT(instance->tick == 0);
    if (!instance->schema || instance->written.count > 0) {
        return;
    }
    forget_hash(instance);
    release_blocks(instance);
    instance->is_initialised = false;
}

ls_status ls_sim_instance_wake(ls_sim_instance *instance)
{
    if (instance->state.bytes) {
        return LS_OK;
    }
    ls_status status = take_blocks(instance) ? make_state_0(instance, NULL) : LS_NO_MEMORY;
    if (status == LS_OK && ls_sim_instance_hash(instance) != instance->digests.initial) {
        status = LS_PLUGIN;
    }
    if (status != LS_OK) {
        instance->is_initialised = false;
        release_blocks(instance);
    }
    return status;
}

const ls_simulation *ls_sim_instance_simulation(const ls_sim_instance *instance)
{
    return instance->simulation;
}

const ls_sim_config *ls_sim_instance_config(const ls_sim_instance *instance)
{
    return &instance->config;
}

const ls_schema *ls_sim_instance_schema(const ls_sim_instance *instance)
{
    return instance->schema;
}

ls_sim_digests ls_sim_instance_digests(const ls_sim_instance *instance)
{
    return instance->digests;
}

void *ls_sim_instance_state(ls_sim_instance *instance)
{
    forget_hash(instance);
    return instance->state.bytes;
}

const void *ls_sim_instance_view(const ls_sim_instance *instance)
{
    return instance->state.bytes;
}

const ls_block_pair *ls_sim_instance_block_pair(const ls_sim_instance *instance)
{
    return instance->state.pair.memory ? &instance->state.pair : NULL;
}

size_t ls_sim_instance_state_bytes(const ls_sim_instance *instance)
{
    return instance->state_bytes;
}

ls_tick ls_sim_instance_tick(const ls_sim_instance *instance)
{
    return instance->tick;
}

/* ---- what it does ---- */

void ls_sim_instance_tune(ls_sim_instance *instance, ls_sim_tuning tuning)
{
    uint32_t workers_max = instance->simulation->workers_max;
    LS_ASSERT(tuning.workers >= 1 && (tuning.workers == 1 || tuning.workers <= workers_max));
    instance->tuning = tuning;
}

LS_TICK_CODE static void run_unwatched(void *user, const ls_step *step, const ls_pass *pass,
                                       uint32_t index)
{
    (void)user;
    (void)index;
    pass->run(step);
}

void ls_sim_instance_step(ls_sim_instance *instance, const ls_tick_inputs *inputs)
{
    ls_sim_instance_step_watched(instance, inputs, &(ls_step_watch){run_unwatched, NULL});
}

LS_TICK_CODE void ls_sim_instance_step_watched(ls_sim_instance *instance,
                                               const ls_tick_inputs *inputs,
                                               const ls_step_watch *watch)
{
    LS_ASSERT(inputs->tick == instance->tick);
    LS_ASSERT(inputs->slot_count == instance->config.players);
    const ls_simulation *simulation = instance->simulation;
    instance->is_hashed = false;
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        LS_ASSERT(inputs->slots[slot].size <= simulation->input_bytes_max);
    }
    const ls_step step = {
        .config = &instance->config,
        .inputs = inputs,
        .state = instance->state.bytes,
        .scratch = instance->scratch.bytes,
        .tuning = &instance->tuning,
        .written = instance->written.count > 0 ? &instance->written : NULL,
    };
    for (uint32_t i = 0; i < simulation->pass_count; i++) {
        ls_plugin_place_here =
            (ls_plugin_place){LS_PLUGIN_CALL_PASS, inputs->tick, simulation->passes[i].name};
        watch->run_pass(watch->user, &step, &simulation->passes[i], i);
    }
    ls_plugin_place_leave();
    instance->tick++;
}

void ls_sim_instance_prefetch(const ls_sim_instance *instance)
{
    size_t first = offsetof(ls_sim_instance, state);
    ls_prefetch(instance, LS_CACHE_LINE_BYTES);
    ls_prefetch((const char *)instance + first, sizeof *instance - first);
}

void ls_sim_instance_prefetch_more(const ls_sim_instance *instance)
{
    ls_prefetch(instance->state.bytes, LS_MIN(instance->state_bytes, PREFETCHED_BYTES_MAX));
    ls_prefetch(instance->hasher, LS_CACHE_LINE_BYTES);
}

void ls_sim_instance_sounds(const ls_sim_instance *instance, const void *previous,
                            ls_sound_list *list)
{
    const ls_simulation *simulation = instance->simulation;
    const void *current = instance->state.bytes;
    if (simulation->sounds && instance->tick > 0) {
        ls_plugin_place_enter(LS_PLUGIN_CALL_SOUNDS);
        simulation->sounds(&instance->config, previous ? previous : current, current, list);
        ls_plugin_place_leave();
    }
}

void ls_sim_instance_status(const ls_sim_instance *instance, uint32_t slot, ls_status_list *list)
{
    if (instance->simulation->status) {
        ls_plugin_place_enter(LS_PLUGIN_CALL_STATUS);
        instance->simulation->status(&instance->config, instance->state.bytes, slot, list);
        ls_plugin_place_leave();
    }
}

bool ls_sim_instance_input_bits(const ls_sim_instance *instance, const ls_input_bits *bits)
{
    const ls_simulation *simulation = instance->simulation;
    if (!simulation->input_bits || simulation->input_bytes_max == 0) {
        return false;
    }
    ls_plugin_place_enter(LS_PLUGIN_CALL_INPUT_BITS);
    simulation->input_bits(&instance->config, instance->state.bytes, bits);
    ls_plugin_place_leave();
    return true;
}

void *ls_sim_instance_scratch(ls_sim_instance *instance, size_t *bytes)
{
    *bytes = instance->scratch_bytes;
    return instance->scratch.bytes;
}

ls_status ls_sim_instance_trust_writes(ls_sim_instance *instance)
{
    size_t count = (instance->state_bytes + LS_HASH_CHUNK_BYTES - 1) / LS_HASH_CHUNK_BYTES;
    if (!instance->simulation->names_writes || instance->written.chunks) {
        return LS_OK;
    }
    instance->written.chunks = ls_allocate(instance->allocator, count);
    instance->written.count = instance->written.chunks ? count : 0;
    return instance->written.chunks ? LS_OK : LS_NO_MEMORY;
}

uint32_t ls_sim_instance_whole_ticks(const ls_sim_instance *instance)
{
    return instance->written.chunks ? instance->config.tick_rate_hz : 1;
}

ls_tick ls_sim_instance_whole_before(const ls_sim_instance *instance, uint32_t interval_ticks,
                                     ls_tick tick)
{
    uint32_t ticks = ls_sim_instance_whole_ticks(instance);
    ls_tick hashed = (LS_MAX(tick, 1) - 1) / interval_ticks * interval_ticks;
    return (hashed / ticks * ticks + interval_ticks - 1) / interval_ticks * interval_ticks;
}

bool ls_sim_instance_unnamed_write(ls_sim_instance *instance, ls_text *out)
{
    unnamed_write found = instance->unnamed;
    if (found.until == 0) {
        return false;
    }
    size_t end = LS_MIN(found.offset + LS_HASH_CHUNK_BYTES, instance->state_bytes);
    ls_text_set(out,
                "between tick %" PRIu32 " and tick %" PRIu32 " simulation '%s' wrote to bytes %zu "
                "to %zu of its state (from \"%s\" on) and did not name them: all bytes are hashed "
                "every time from now on",
                found.after, found.until, instance->simulation->name, found.offset, end - 1,
                ls_schema_at(instance->schema, found.offset).field->path);
    instance->unnamed.until = 0;
    return true;
}

/* After a hash of all bytes where it is due. */
static void check_writes(ls_sim_instance *instance, size_t unnamed)
{
    if (unnamed < instance->written.count) {
        instance->unnamed =
            (unnamed_write){unnamed * LS_HASH_CHUNK_BYTES, instance->whole_tick, instance->tick};
        instance->written.count = 0;
    }
}

static uint64_t hash_trusted(ls_sim_instance *instance)
{
    const void *state = instance->state.bytes;
    uint64_t state_hash = 0;
    size_t unnamed = instance->written.count;
    uint32_t ticks = ls_sim_instance_whole_ticks(instance);
    bool is_whole = !instance->is_followed || instance->tick / ticks > instance->whole_tick / ticks;
    if (!instance->is_followed) {
        state_hash = ls_state_hash(instance->hasher, state);
    } else if (is_whole) {
        state_hash = ls_state_hash_check(instance->hasher, state, &instance->written, &unnamed);
    } else {
        state_hash = ls_state_hash_written(instance->hasher, state, &instance->written);
    }
    memset(instance->written.chunks, 0, instance->written.count);
    check_writes(instance, unnamed);
    instance->whole_tick = is_whole ? instance->tick : instance->whole_tick;
    instance->is_followed = true;
    return state_hash;
}

LS_TICK_CODE uint64_t ls_sim_instance_hash(ls_sim_instance *instance)
{
    if (instance->hasher) {
        instance->is_hashed = true;
        return instance->written.count > 0 ? hash_trusted(instance)
                                           : ls_state_hash(instance->hasher, instance->state.bytes);
    }
    ls_plugin_place_enter(LS_PLUGIN_CALL_HASH);
    uint64_t state_hash = instance->simulation->hash(&instance->config, instance->state.bytes);
    ls_plugin_place_leave();
    return state_hash;
}

const uint8_t *ls_sim_instance_chunk_hashes(const ls_sim_instance *instance)
{
    return instance->is_hashed ? ls_state_hasher_chunk_hashes(instance->hasher) : NULL;
}

size_t ls_sim_instance_save_bytes(const ls_sim_instance *instance)
{
    const ls_simulation *simulation = instance->simulation;
    if (instance->schema) {
        return instance->state_bytes;
    }
    if (!simulation->save) {
        return 0;
    }
    return SAVE_HEADER_BYTES + save(instance, NULL, 0);
}

size_t ls_sim_instance_save_head_bytes(const ls_sim_instance *instance)
{
    return instance->schema ? 0 : SAVE_HEADER_BYTES;
}

ls_status ls_sim_instance_save(const ls_sim_instance *instance, uint8_t *bytes)
{
    const ls_simulation *simulation = instance->simulation;
    if (instance->schema) {
        ls_schema_to_canonical(instance->schema, instance->state.bytes, bytes);
        return LS_OK;
    }
    if (!simulation->save) {
        return LS_UNSUPPORTED;
    }
    size_t size = ls_sim_instance_save_bytes(instance) - SAVE_HEADER_BYTES;
    ls_store_u64(bytes, size);
    size_t written = save(instance, bytes + SAVE_HEADER_BYTES, size);
    return written == size ? LS_OK : LS_PLUGIN;
}

/* ---- images ---- */

const ls_schema *ls_sim_instance_image_schema(const ls_sim_instance *instance)
{
    return instance->image ? ls_save_image_schema(instance->image) : instance->schema;
}

size_t ls_sim_instance_image_bytes(const ls_sim_instance *instance)
{
    const ls_schema *schema = ls_sim_instance_image_schema(instance);
    return schema ? ls_schema_state_bytes(schema) : 0;
}

ls_status ls_sim_instance_image(const ls_sim_instance *instance, uint8_t *bytes)
{
    if (!instance->image) {
        return ls_sim_instance_save(instance, bytes);
    }
    size_t image_bytes = ls_sim_instance_image_bytes(instance);
    size_t size = save(instance, bytes + SAVE_HEADER_BYTES, image_bytes - SAVE_HEADER_BYTES);
    ls_store_u64(bytes, size);
    return ls_save_image_fill(image_bytes, bytes, bytes);
}

ls_status ls_sim_instance_image_of_save(const ls_sim_instance *instance, const uint8_t *saved,
                                        uint8_t *bytes)
{
    size_t image_bytes = ls_sim_instance_image_bytes(instance);
    if (instance->image) {
        return ls_save_image_fill(image_bytes, saved, bytes);
    }
    memcpy(bytes, saved, image_bytes);
    return LS_OK;
}

bool ls_sim_instance_is_save(const ls_sim_instance *instance, const uint8_t *bytes, size_t size)
{
    if (instance->schema) {
        return size == instance->state_bytes;
    }
    return size >= SAVE_HEADER_BYTES && ls_load_u64(bytes) == size - SAVE_HEADER_BYTES;
}

static bool is_image(const ls_sim_instance *instance, const uint8_t *bytes, size_t size)
{
    return instance->image && size == ls_sim_instance_image_bytes(instance) &&
           ls_load_u64(bytes) <= size - SAVE_HEADER_BYTES;
}

static ls_status load_engine(ls_sim_instance *instance, const uint8_t *bytes)
{
    const ls_simulation *simulation = instance->simulation;
    ls_plugin_place_enter(LS_PLUGIN_CALL_LOAD);
    ls_status status = simulation->load(&instance->config, instance->state.bytes,
                                        bytes + SAVE_HEADER_BYTES, (size_t)ls_load_u64(bytes));
    ls_plugin_place_leave();
    return status;
}

ls_status ls_sim_instance_load(ls_sim_instance *instance, const uint8_t *bytes, size_t size,
                               ls_tick tick)
{
    ls_status status = LS_OK;
    forget_hash(instance);
    if (!instance->schema && !instance->simulation->load) {
        status = LS_UNSUPPORTED;
    } else if (!ls_sim_instance_is_save(instance, bytes, size) &&
               !is_image(instance, bytes, size)) {
        status = LS_MALFORMED;
    } else if (instance->schema) {
        ls_schema_from_canonical(instance->schema, bytes, instance->state.bytes);
    } else {
        status = load_engine(instance, bytes);
    }
    if (status == LS_OK) {
        instance->tick = tick;
    }
    return status;
}

ls_status ls_sim_digests_check(const ls_sim_digests *here, const ls_sim_digests *there,
                               ls_text *why)
{
    const struct {
        const char *what;
        uint64_t here;
        uint64_t there;
    } items[] = {
        {"state schema", here->schema, there->schema},
        {"parameters", here->parameters, there->parameters},
        {"content", here->content, there->content},
        {"first state", here->initial, there->initial},
    };
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        if (items[i].here != items[i].there) {
            return ls_fail(LS_SIMULATION_MISMATCH, why,
                           "the simulation here has another %s (%016" PRIx64
                           ") than the server's (%016" PRIx64 ")",
                           items[i].what, items[i].here, items[i].there);
        }
    }
    return LS_OK;
}
