/* A state of 2 MiB, of which a step changes some, and scratch that is written before it is read. */
#include "lockstep/tests/known_bad/sound.h"

#define CELLS (512u * 1024u)
#define CHANGED 64u

typedef struct land {
    uint32_t cells[CELLS];
} land;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {LS_FIELD_ARRAY_OF(land, cells, CELLS, LS_FIELD_U32, "m")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static size_t scratch_bytes(const ls_sim_config *config)
{
    (void)config;
    return CHANGED * sizeof(uint32_t);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    land *l = state;
    for (uint32_t i = 0; i < CELLS; i++) {
        l->cells[i] = (uint32_t)config->seed + i;
    }
    return LS_OK;
}

static void dig(const ls_step *step)
{
    land *l = step->state;
    uint32_t *places = step->scratch;
    uint32_t place = sound_inputs(step);
    for (uint32_t i = 0; i < CHANGED; i++) {
        place = place * 1664525u + 1013904223u;
        places[i] = place % CELLS;
    }
    for (uint32_t i = 0; i < CHANGED; i++) {
        l->cells[places[i]] += l->cells[places[CHANGED - 1 - i]] + i;
    }
}

SOUND_PLUGIN("sound_big", dig, sizeof(land), .fields = fields, .init = init,
             .scratch_bytes = scratch_bytes)
