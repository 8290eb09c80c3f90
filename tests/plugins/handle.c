/* Handle: what a wrapped engine looks like: the block holds a pointer, and everything else is
 * behind it; hash, save and load are the engine's. With HANDLE_KEEPS_TO_ITSELF it cannot save, with
 * HANDLE_GROWS its save is a byte longer after each turn. */
#include "lockstep/common/simulation/simulation.h"

#include <stdlib.h>
#include <string.h>

enum {
    CELLS = 16,
};

typedef struct engine {
    uint32_t cells[CELLS];
    uint32_t turns;
} engine;

typedef struct block {
    engine *engine;
} block;

static engine *engine_of(const void *state)
{
    return ((const block *)state)->engine;
}

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(block);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    block *made = (block *)state;
    made->engine = calloc(1, sizeof *made->engine);
    if (!made->engine) {
        return LS_NO_MEMORY;
    }
    made->engine->cells[0] = (uint32_t)config->seed;
    return LS_OK;
}

static void deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    free(engine_of(state));
}

static void turn(const ls_step *step)
{
    engine *e = engine_of(step->state);
    for (uint32_t i = 0; i < CELLS; i++) {
        e->cells[i] = e->cells[i] * 1664525u + 1013904223u + step->inputs->tick;
    }
    e->turns++;
}

static uint64_t hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    uint64_t sum = 14695981039346656037u;
    for (uint32_t i = 0; i < CELLS; i++) {
        sum = (sum ^ engine_of(state)->cells[i]) * 1099511628211u;
    }
    return sum;
}

#ifndef HANDLE_KEEPS_TO_ITSELF
static size_t save_bytes(const engine *e)
{
#ifdef HANDLE_GROWS
    return sizeof *e + e->turns;
#else
    return sizeof *e;
#endif
}

static size_t save(const ls_sim_config *config, const void *state, uint8_t *bytes, size_t capacity)
{
    (void)config;
    size_t size = save_bytes(engine_of(state));
    if (capacity >= size) {
        memset(bytes, 0, size);
        memcpy(bytes, engine_of(state), sizeof(engine));
    }
    return size;
}

static ls_status load(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size)
{
    (void)config;
    engine loaded;
    if (size < sizeof loaded) {
        return LS_PLUGIN;
    }
    memcpy(&loaded, bytes, sizeof loaded);
    if (size != save_bytes(&loaded)) {
        return LS_PLUGIN;
    }
    *engine_of(state) = loaded;
    return LS_OK;
}
#endif

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"turn", turn};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "handle",
        .summary = "an engine behind a pointer",
        .default_tick_rate_hz = 60,
        .default_players = 2,
        .players_max = 4,
        .input_bytes_max = 4,
        .passes = &pass,
        .pass_count = 1,
        .state_bytes = state_bytes,
        .init = init,
        .deinit = deinit,
        .hash = hash,
#ifndef HANDLE_KEEPS_TO_ITSELF
        .save = save,
        .load = load,
#endif
    };
    return &simulation;
}
