#include "lockstep/tests/support/engine_simulation.h"

#include "lockstep/common/base/byte_io.h"

#include <stdlib.h>
#include <string.h>

enum {
    BODIES = 40,
    BODY_BYTES = 20,
    WORLD_HEAD_BYTES = 8,
    REGISTER_BYTES = 16,
    SOUNDS_MAX = 64,
    JUNK_BYTES = 256,
    NAME_FAULTS = ENGINE_FAULT_COUNT,
};

/* ---- faults ---- */

static uint32_t calls;
static bool has_flipped;

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
__attribute__((noinline))
#endif
static uint32_t
unset_member(void)
{
    volatile uint8_t junk[JUNK_BYTES];
    uint32_t sum = 0;
    for (uint32_t i = 0; i < JUNK_BYTES; i++) {
        sum = sum * 3 + junk[i];
    }
    return sum;
}
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static uint32_t wrong_of(engine_fault fault, ls_tick tick)
{
    bool is_late = tick >= ENGINE_BAD_TICK;
    bool is_flip = fault == ENGINE_FLIP && tick == ENGINE_BAD_TICK && !has_flipped;
    calls += fault == ENGINE_STATIC;
    has_flipped = has_flipped || is_flip;
    switch (fault) {
    case ENGINE_BUILD:
        return is_late ? 1 : 0;
    case ENGINE_STATIC:
        return is_late ? calls : 0;
    case ENGINE_UNSET:
        return is_late ? unset_member() : 0;
    case ENGINE_FLIP:
        return is_flip ? 1u << 20 : 0;
    default:
        return 0;
    }
}

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return sum;
}

static uint32_t input_sum(const ls_step *step)
{
    uint32_t sum = 0;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        sum = sum * 31 + input->events + (input->size > 0 ? input->bytes[0] : 0u);
    }
    return sum;
}

/* ---- objects on the heap ---- */

typedef struct body {
    struct body *next;
    uint32_t id, x, y, vx, vy;
} body;

typedef struct world {
    body *first;
    uint32_t count;
    uint32_t pushes;
} world;

typedef struct world_block {
    world *world;
} world_block;

static world *world_of(const void *state)
{
    return ((const world_block *)state)->world;
}

static size_t world_block_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(world_block);
}

static void drop_bodies(world *dropped)
{
    while (dropped->first) {
        body *next = dropped->first->next;
        free(dropped->first);
        dropped->first = next;
    }
    dropped->count = 0;
}

static body *add_body(world *into, body **last)
{
    body *added = calloc(1, sizeof *added);
    if (added) {
        *(last && *last ? &(*last)->next : &into->first) = added;
        into->count++;
    }
    return added;
}

static ls_status world_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    world *made = calloc(1, sizeof *made);
    body *last = NULL;
    ((world_block *)state)->world = made;
    for (uint32_t i = 0; made && i < BODIES; i++) {
        last = add_body(made, &last);
        if (!last) {
            return LS_NO_MEMORY;
        }
        last->id = i;
        last->x = (uint32_t)config->seed * 77 + i * 1000;
        last->vx = i + 1;
    }
    return made ? LS_OK : LS_NO_MEMORY;
}

static void world_deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    drop_bodies(world_of(state));
    free(world_of(state));
}

static void push(const ls_step *step)
{
    world *pushed = world_of(step->state);
    pushed->pushes = pushed->pushes * 17 + input_sum(step);
    pushed->first->vy += pushed->pushes & 0xffu;
}

static void move(const ls_step *step, engine_fault fault)
{
    uint32_t index = 0;
    uint32_t wrong = wrong_of(fault, step->inputs->tick);
    for (body *moved = world_of(step->state)->first; moved; moved = moved->next, index++) {
        moved->x += moved->vx;
        moved->y += moved->vy + (index == 7 ? wrong : 0);
        moved->vy += moved->x & 3u;
    }
}

static size_t world_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                         size_t capacity)
{
    (void)config;
    const world *saved = world_of(state);
    size_t size = WORLD_HEAD_BYTES + (size_t)saved->count * BODY_BYTES;
    if (capacity < size) {
        return size;
    }
    ls_store_u32(bytes, saved->count);
    ls_store_u32(bytes + 4, saved->pushes);
    uint8_t *at = bytes + WORLD_HEAD_BYTES;
    for (const body *next = saved->first; next; next = next->next, at += BODY_BYTES) {
        ls_store_u32(at, next->id);
        ls_store_u32(at + 4, next->x);
        ls_store_u32(at + 8, next->y);
        ls_store_u32(at + 12, next->vx);
        ls_store_u32(at + 16, next->vy);
    }
    return size;
}

static ls_status world_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                            size_t size)
{
    (void)config;
    world *loaded = world_of(state);
    body *last = NULL;
    if (size < WORLD_HEAD_BYTES || (size - WORLD_HEAD_BYTES) % BODY_BYTES != 0) {
        return LS_PLUGIN;
    }
    drop_bodies(loaded);
    loaded->pushes = ls_load_u32(bytes + 4);
    for (size_t at = WORLD_HEAD_BYTES; at < size; at += BODY_BYTES) {
        last = add_body(loaded, &last);
        if (!last) {
            return LS_NO_MEMORY;
        }
        last->id = ls_load_u32(bytes + at);
        last->x = ls_load_u32(bytes + at + 4);
        last->y = ls_load_u32(bytes + at + 8);
        last->vx = ls_load_u32(bytes + at + 12);
        last->vy = ls_load_u32(bytes + at + 16);
    }
    return LS_OK;
}

static uint64_t world_hash(const ls_sim_config *config, const void *state)
{
    uint8_t bytes[WORLD_HEAD_BYTES + BODIES * BODY_BYTES];
    return hash_of(bytes, world_save(config, state, bytes, sizeof bytes));
}

/* ---- a block of memory ---- */

typedef struct machine {
    uint32_t counter;
    uint32_t accumulator;
    uint32_t seed;
    uint32_t sounds; /* that wait: so long the save is */
    uint8_t memory[ENGINE_MEMORY_BYTES];
    uint8_t queue[SOUNDS_MAX];
} machine;

typedef struct machine_block {
    machine *machine;
} machine_block;

static machine *machine_of(const void *state)
{
    return ((const machine_block *)state)->machine;
}

static ls_status machine_init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    machine *made = calloc(1, sizeof *made);
    ((machine_block *)state)->machine = made;
    if (made) {
        made->seed = (uint32_t)config->seed;
    }
    return made ? LS_OK : LS_NO_MEMORY;
}

static void machine_deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    free(machine_of(state));
}

static void frame(const ls_step *step, engine_fault fault)
{
    machine *run = machine_of(step->state);
    run->accumulator = run->accumulator * 5 + run->seed + input_sum(step);
    run->accumulator += wrong_of(fault, step->inputs->tick);
    for (uint32_t i = 0; i < 200; i++) {
        run->memory[(run->counter + i * 31) % ENGINE_MEMORY_BYTES] += (uint8_t)i;
    }
    run->counter++;
    run->sounds = run->counter % SOUNDS_MAX;
    for (uint32_t i = 0; i < run->sounds; i++) {
        run->queue[i] = (uint8_t)(run->counter + i);
    }
}

static size_t machine_save(const ls_sim_config *config, const void *state, uint8_t *bytes,
                           size_t capacity)
{
    (void)config;
    const machine *saved = machine_of(state);
    size_t size = REGISTER_BYTES + ENGINE_MEMORY_BYTES + saved->sounds;
    if (capacity < size) {
        return size;
    }
    ls_store_u32(bytes, saved->counter);
    ls_store_u32(bytes + 4, saved->accumulator);
    ls_store_u32(bytes + 8, saved->seed);
    ls_store_u32(bytes + 12, saved->sounds);
    memcpy(bytes + REGISTER_BYTES, saved->memory, ENGINE_MEMORY_BYTES);
    memcpy(bytes + REGISTER_BYTES + ENGINE_MEMORY_BYTES, saved->queue, saved->sounds);
    return size;
}

static ls_status machine_load(const ls_sim_config *config, void *state, const uint8_t *bytes,
                              size_t size)
{
    (void)config;
    machine *loaded = machine_of(state);
    size_t least = REGISTER_BYTES + ENGINE_MEMORY_BYTES;
    if (size < least || size - least > SOUNDS_MAX || size - least != ls_load_u32(bytes + 12)) {
        return LS_PLUGIN;
    }
    loaded->counter = ls_load_u32(bytes);
    loaded->accumulator = ls_load_u32(bytes + 4);
    loaded->seed = ls_load_u32(bytes + 8);
    loaded->sounds = (uint32_t)(size - least);
    memcpy(loaded->memory, bytes + REGISTER_BYTES, ENGINE_MEMORY_BYTES);
    memcpy(loaded->queue, bytes + least, loaded->sounds);
    return LS_OK;
}

static uint64_t machine_hash(const ls_sim_config *config, const void *state)
{
    uint8_t bytes[REGISTER_BYTES + ENGINE_MEMORY_BYTES + SOUNDS_MAX];
    return hash_of(bytes, machine_save(config, state, bytes, sizeof bytes));
}

static size_t machine_bytes_max(const ls_sim_config *config)
{
    (void)config;
    return REGISTER_BYTES + ENGINE_MEMORY_BYTES + SOUNDS_MAX;
}

static uint32_t machine_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        {"cpu.counter", "", LS_FIELD_U32, 1, 1, 0, 0},
        {"cpu.accumulator", "", LS_FIELD_U32, 1, 1, 4, 0},
        {"memory", "", LS_FIELD_U8, ENGINE_MEMORY_BYTES, 1, REGISTER_BYTES, 0},
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

/* ---- a simulation for each fault ---- */

#define EACH_FAULT(X) X(RIGHT) X(BUILD) X(STATIC) X(UNSET) X(FLIP)
#define FUNCTIONS(name)                                                                            \
    static void move_##name(const ls_step *step)                                                   \
    {                                                                                              \
        move(step, ENGINE_##name);                                                                 \
    }                                                                                              \
    static void frame_##name(const ls_step *step)                                                  \
    {                                                                                              \
        frame(step, ENGINE_##name);                                                                \
    }
EACH_FAULT(FUNCTIONS)

#define WORLD_PASSES(name) {{"push", push}, {"move", move_##name}},
#define MACHINE_PASS(name) {"frame", frame_##name},
static const ls_pass world_passes[NAME_FAULTS][2] = {EACH_FAULT(WORLD_PASSES)};
static const ls_pass machine_passes[NAME_FAULTS] = {EACH_FAULT(MACHINE_PASS)};

static const ls_simulation common = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = 4,
    .input_bytes_max = 4,
    .state_bytes = world_block_bytes,
};

static void start_anew(void)
{
    calls = 0;
    has_flipped = false;
}

const ls_simulation *engine_with_objects(engine_fault fault)
{
    static ls_simulation simulations[ENGINE_FAULT_COUNT];
    ls_simulation *made = &simulations[fault];
    start_anew();
    *made = common;
    made->name = "objects";
    made->summary = "an engine with objects on the heap";
    made->passes = world_passes[fault];
    made->pass_count = 2;
    made->init = world_init;
    made->deinit = world_deinit;
    made->hash = world_hash;
    made->save = world_save;
    made->load = world_load;
    return made;
}

const ls_simulation *engine_with_memory(engine_fault fault)
{
    static ls_simulation simulations[ENGINE_FAULT_COUNT];
    ls_simulation *made = &simulations[fault];
    start_anew();
    *made = common;
    made->name = "memory";
    made->summary = "an engine with a block of memory";
    made->passes = &machine_passes[fault];
    made->pass_count = 1;
    made->init = machine_init;
    made->deinit = machine_deinit;
    made->hash = machine_hash;
    made->save = machine_save;
    made->load = machine_load;
    made->save_bytes_max = machine_bytes_max;
    made->save_fields = machine_fields;
    return made;
}
