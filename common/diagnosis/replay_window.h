/* Replay window: what a machine keeps of its newest ticks so that any of them can be simulated
 * again: snapshots now and then, the newest states whole, the closed inputs and the state hashes
 * between. Memory is fixed at create; recording copies and never allocates. Holds what is
 * confirmed, never what was guessed. Called by match and session after every confirmed step.
 * Snapshots lie on multiples of the interval, so that both sides of a match have the same ones. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_REPLAY_WINDOW_H
#define LOCKSTEP_COMMON_DIAGNOSIS_REPLAY_WINDOW_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/simulation/sim_instance.h"

LS_C_BEGIN

typedef struct ls_replay_window_config {
    uint32_t window_ticks;   /* of inputs and state hashes; a power of two */
    uint32_t interval_ticks; /* between snapshots; a power of two <= window_ticks / 2 */
    uint32_t recent_states;  /* newest states kept as they were; 0 .. window_ticks */

    /* Where every slot's inputs of the ticks recorded are kept anyway, borrowed: what has left it
     * cannot be simulated again. NULL: the window copies them. */
    const ls_input_buffer *inputs;
} ls_replay_window_config;

/* LS_WINDOW_TICKS, with as many snapshots (2 to 16) and recent states (0 to 128) as 64 MiB hold. */
ls_replay_window_config ls_replay_window_config_default(size_t state_bytes);

typedef struct ls_replay_window ls_replay_window;

/* For matches of this simulation and configuration. UNSUPPORTED for one that hashes by callback:
 * its saves have no fixed size; BAD_ARGUMENT, NO_MEMORY. The instance is not kept. */
ls_status ls_replay_window_create(const ls_replay_window_config *config,
                                  const ls_sim_instance *instance, const ls_allocator *allocator,
                                  ls_replay_window **out);
void ls_replay_window_destroy(ls_replay_window *window);

/* Forgets everything; the instance's state is the first one, a snapshot whatever its tick, which is
 * not before any tick recorded so far unless the inputs are borrowed. */
void ls_replay_window_start(ls_replay_window *window, const ls_sim_instance *instance,
                            uint64_t state_hash);

/* The instance has just made its state out of `inputs`; inputs->tick is the newest tick recorded
 * (the tick of start, at first) and the instance is one tick on. A state hash of 0: not hashed. */
void ls_replay_window_record(ls_replay_window *window, const ls_tick_inputs *inputs,
                             const ls_sim_instance *instance, uint64_t state_hash);

/* The same for a match that guesses ahead and may never stand at this state: `saved` is what
 * ls_sim_instance_save gave for it, or NULL when that is not to be had: then a snapshot may be
 * missing. */
void ls_replay_window_record_saved(ls_replay_window *window, const ls_tick_inputs *inputs,
                                   const uint8_t *saved, uint64_t state_hash);

/* Tick of the newest state, and of the oldest whose state hash is held. */
ls_tick ls_replay_window_newest(const ls_replay_window *window);
ls_tick ls_replay_window_oldest(const ls_replay_window *window);

/* NOT_FOUND outside the window. */
ls_status ls_replay_window_hash(const ls_replay_window *window, ls_tick tick, uint64_t *out);

/* The state itself, canonical, as it was when it was recorded; NULL when it is not kept. */
const uint8_t *ls_replay_window_state(const ls_replay_window *window, ls_tick tick);

/* A piece of a match that can be simulated again. Everything is borrowed. */
typedef struct ls_replay_stretch {
    ls_tick first;                /* of the snapshot */
    ls_tick agreed;               /* of the newest state known to be the same on both sides */
    ls_tick last;                 /* of the state to reach; first <= agreed < last */
    const uint8_t *snapshot;      /* canonical: what ls_sim_instance_load takes */
    const uint64_t *state_hashes; /* as they were recorded: of tick t at [t & hashes_mask] */
    uint32_t hashes_mask;
    const ls_input_buffer *inputs; /* of ticks first .. last-1, every slot's */
} ls_replay_stretch;

/* From the newest snapshot not after `agreed` to state `last` (agreed < last). NOT_FOUND when
 * either has left the window. Borrowed until the next start or the window_ticks-th record. */
ls_status ls_replay_window_stretch(const ls_replay_window *window, ls_tick agreed, ls_tick last,
                                   ls_replay_stretch *out);

/* As it was recorded; first <= tick <= last. 0: it was not hashed. */
uint64_t ls_replay_stretch_hash(const ls_replay_stretch *stretch, ls_tick tick);

/* Loads the stretch's snapshot into an instance of the same match; PLUGIN when it is refused. */
ls_status ls_replay_stretch_load(const ls_replay_stretch *stretch, ls_sim_instance *instance);

/* The inputs of the instance's tick. NOT_FOUND when the buffer has moved on. */
ls_status ls_replay_stretch_inputs(const ls_replay_stretch *stretch,
                                   const ls_sim_instance *instance,
                                   ls_slot_input slots[LS_PLAYERS_MAX], ls_tick_inputs *out);

/* Steps the instance up to state `tick` (<= last). */
ls_status ls_replay_stretch_run(const ls_replay_stretch *stretch, ls_sim_instance *instance,
                                ls_tick tick);

LS_C_END

#endif
