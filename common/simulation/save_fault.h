/* Save fault: in words what is wrong with a simulation's save, when the state that was loaded from
 * one is not the state that was saved: where the save is another one when it is made again, or that
 * it leaves out what the hash reads. Runs save and steps nothing. Called after a snapshot was
 * loaded, by session and match, and by synctest. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SAVE_FAULT_H
#define LOCKSTEP_COMMON_SIMULATION_SAVE_FAULT_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/sim_instance.h"

LS_C_BEGIN

/* A save, and the one that was made of the state that was loaded from it. Both are as
 * ls_sim_instance_save gives them, the head counted. */
typedef struct ls_save_pair {
    const uint8_t *saved;
    size_t saved_bytes;
    const uint8_t *again;
    size_t again_bytes;
} ls_save_pair;

/* "the simulation's save does not come back as it was loaded: first differing byte 12 of 808 was 4,
 * and is 0". Bytes are counted without the head, and named where the engine names regions. */
void ls_save_fault_describe(const ls_sim_instance *instance, const ls_save_pair *pair,
                            ls_text *out);

/* The instance was just loaded from `saved`, and has not the state hash of what was saved: adds
 * what is wrong, and what to do next. Nothing for a simulation with a schema, which saves and loads
 * nothing itself, and without memory. */
void ls_save_fault_add(const ls_sim_instance *instance, const uint8_t *saved,
                       const ls_allocator *allocator, ls_text *why);

LS_C_END

#endif
