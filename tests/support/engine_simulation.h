/* Engine simulation: two wrapped engines without a schema, which hash, save and load themselves:
 * one with objects on the heap and two passes, as physics libraries have; one with a block of
 * memory, a save of varying length and named regions of it, as emulators have. Each does on demand
 * what an engine must not, from ENGINE_BAD_TICK on. For tests only. */
#ifndef LOCKSTEP_TESTS_SUPPORT_ENGINE_SIMULATION_H
#define LOCKSTEP_TESTS_SUPPORT_ENGINE_SIMULATION_H

#include "lockstep/common/simulation/simulation.h"

#define ENGINE_BAD_TICK 100u
#ifndef ENGINE_MEMORY_BYTES
#define ENGINE_MEMORY_BYTES 8192u /* of the one like an emulator */
#endif

typedef enum engine_fault {
    ENGINE_RIGHT,
    ENGINE_BUILD,  /* another result, always the same */
    ENGINE_STATIC, /* adds how often it was called */
    ENGINE_UNSET,  /* adds what lay on the stack */
    ENGINE_FLIP,   /* one bit, once in the life of the process */
    ENGINE_FAULT_COUNT,
} engine_fault;

/* Each fault is a simulation of its own; call this before a match of it, which starts it anew. */
const ls_simulation *engine_with_objects(engine_fault fault);
const ls_simulation *engine_with_memory(engine_fault fault);

#endif
