/* Sound: the part that the right plug-ins of sound.c share with engine_omits.c: an entry point of
 * one pass, and a number that follows from a tick's inputs. Owns no state. Included by plug-ins of
 * this folder alone. */
#ifndef LOCKSTEP_TESTS_KNOWN_BAD_SOUND_H
#define LOCKSTEP_TESTS_KNOWN_BAD_SOUND_H

#include "lockstep/common/simulation/simulation.h"

#include <string.h>

/* The entry point of a plug-in with the pass `run`. The other arguments are members of
 * ls_simulation. */
#define SOUND_PLUGIN(plugin_name, run, bytes, ...)                                                 \
    static size_t sound_state_bytes(const ls_sim_config *config)                                   \
    {                                                                                              \
        (void)config;                                                                              \
        return bytes;                                                                              \
    }                                                                                              \
    static const ls_pass sound_pass = {"run", run};                                                \
    static const ls_simulation sound_simulation = {.abi = LS_SIMULATION_ABI,                       \
                                                   .size = sizeof(ls_simulation),                  \
                                                   .version = 1,                                   \
                                                   .name = plugin_name,                            \
                                                   .summary = "a game in which nothing is wrong",  \
                                                   .default_tick_rate_hz = 60,                     \
                                                   .default_players = 2,                           \
                                                   .players_max = 4,                               \
                                                   .input_bytes_max = 4,                           \
                                                   .passes = &sound_pass,                          \
                                                   .pass_count = 1,                                \
                                                   .state_bytes = sound_state_bytes,               \
                                                   __VA_ARGS__};                                   \
    LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);                           \
    const ls_simulation *lockstep_simulation(void)                                                 \
    {                                                                                              \
        return &sound_simulation;                                                                  \
    }

/* A number that follows from all inputs of a tick, in their order. */
static inline uint32_t sound_inputs(const ls_step *step)
{
    uint32_t sum = step->inputs->tick;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        sum = sum * 31 + input->events;
        for (uint32_t i = 0; i < input->size; i++) {
            sum = sum * 31 + input->bytes[i];
        }
    }
    return sum;
}

#endif
