/* Fuzz save: what a hostile save may do to an instance of an engine. Called by the fuzz targets of
 * plug-ins that save by themselves. */
#ifndef LOCKSTEP_TESTS_FUZZ_FUZZ_SAVE_H
#define LOCKSTEP_TESTS_FUZZ_FUZZ_SAVE_H

#include "lockstep/common/base/assert.h"
#include "lockstep/common/simulation/sim_instance.h"

#include <stdlib.h>
#include <string.h>

/* A number at which sizes turn over. */
static inline uint32_t fuzz_save_edge(uint8_t which)
{
    static const uint32_t edges[] = {0, 1, 2, 0x0a000000, INT32_MAX, 0x80000000u, UINT32_MAX};
    return edges[which % (sizeof edges / sizeof edges[0])];
}

/* So many ticks in which two players do nothing. */
static inline void fuzz_save_step(ls_sim_instance *instance, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const ls_slot_input slots[2] = {{0}};
        ls_tick_inputs inputs = {ls_sim_instance_tick(instance), 2, slots};
        ls_sim_instance_step(instance, &inputs);
    }
}

/* A state that was loaded steps, draws, and is saved and loaded as any other. */
static inline void fuzz_save_use(ls_sim_instance *instance)
{
    const ls_sim_config *config = ls_sim_instance_config(instance);
    static ls_draw_shape shapes[64];
    ls_draw_list list = {.shapes = shapes, .capacity = 64};
    const void *state = ls_sim_instance_view(instance);
    fuzz_save_step(instance, 2);
    ls_sim_instance_simulation(instance)->draw(config, state, state, LS_FIXED_HALF, &list);
    size_t size = ls_sim_instance_save_bytes(instance);
    uint8_t *save = malloc(size);
    uint64_t state_hash = ls_sim_instance_hash(instance);
    LS_ASSERT(save && ls_sim_instance_save(instance, save) == LS_OK);
    LS_ASSERT(ls_sim_instance_load(instance, save, size, 1) == LS_OK);
    LS_ASSERT(ls_sim_instance_hash(instance) == state_hash);
    free(save);
}

/* Loads a copy of the bytes, of its own size, so that a read past its end is found. A save that is
 * refused changes nothing. */
static inline void fuzz_save_load(ls_sim_instance *instance, const uint8_t *save, size_t size)
{
    uint64_t state_hash = ls_sim_instance_hash(instance);
    uint8_t *sent = malloc(size > 0 ? size : 1);
    LS_ASSERT(sent != NULL);
    memcpy(sent, save, size);
    if (ls_sim_instance_load(instance, sent, size, 1) == LS_OK) {
        fuzz_save_use(instance);
    } else {
        LS_ASSERT(ls_sim_instance_hash(instance) == state_hash);
    }
    free(sent);
}

#endif
