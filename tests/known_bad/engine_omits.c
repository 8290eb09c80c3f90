/* Cause 9, of a wrapped engine: its steps read a value that is kept beside it, and not in its save.
 * With ENGINE_MAP it names what lies where in a save. */
#include "lockstep/tests/known_bad/sound.h"

#include <stdlib.h>

typedef struct engine {
    uint32_t seen;  /* bytes of inputs */
    uint32_t level; /* of the water */
    uint32_t momentum;
} engine;

#ifdef GAME_HEALTHY
enum {
    SAVED_WORDS = 3,
};
#define MOMENTUM(e) (&(e)->momentum)
#else
enum {
    SAVED_WORDS = 2,
};
static uint32_t shared_momentum; /* of all engines in the process */
#define MOMENTUM(e) (&shared_momentum)
#endif

static engine *engine_of(const void *state)
{
    engine *found = NULL;
    memcpy(&found, state, sizeof found);
    return found;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    (void)config;
    engine *made = calloc(1, sizeof *made);
    memcpy(state, &made, sizeof made);
    if (made) {
        *MOMENTUM(made) = 0;
    }
    return made ? LS_OK : LS_NO_MEMORY;
}

static void deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    free(engine_of(state));
}

static void flow(const ls_step *step)
{
    engine *e = engine_of(step->state);
    e->seen += sound_inputs(step);
    *MOMENTUM(e) += e->seen % 3;
    e->level += *MOMENTUM(e);
}

static uint64_t hash(const ls_sim_config *config, const void *state)
{
    const engine *e = engine_of(state);
    (void)config;
    return ((uint64_t)e->seen << 32) + e->level;
}

static size_t save(const ls_sim_config *config, const void *state, uint8_t *bytes, size_t capacity)
{
    (void)config;
    if (capacity >= SAVED_WORDS * sizeof(uint32_t)) {
        memcpy(bytes, engine_of(state), SAVED_WORDS * sizeof(uint32_t));
    }
    return SAVED_WORDS * sizeof(uint32_t);
}

static ls_status load(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size)
{
    (void)config;
    if (size != SAVED_WORDS * sizeof(uint32_t)) {
        return LS_MALFORMED;
    }
    memcpy(engine_of(state), bytes, size);
    return LS_OK;
}

#ifdef ENGINE_MAP
static uint32_t give_map(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {
        {"seen", "bytes", LS_FIELD_U32, 1, 1, offsetof(engine, seen), 0},
        {"water.level", "mm", LS_FIELD_U32, 1, 1, offsetof(engine, level), 0},
    };
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}
#else
#define give_map NULL
#endif

SOUND_PLUGIN("engine_omits", flow, sizeof(engine *), .init = init, .deinit = deinit, .hash = hash,
             .save = save, .load = load, .save_fields = give_map)
