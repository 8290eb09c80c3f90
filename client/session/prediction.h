/* Prediction: lets one simulation run ahead of the closed ticks, with this player's own inputs and
 * a guess at the others': what each played last, as with a pad that is held, or nothing more, when
 * a player's inputs are orders that come one at a time. Where a tick closes otherwise, it goes back
 * to the state before it and steps again. Decides what is stepped and when, and steps through its
 * host; never draws, sends or reads a clock; allocates at create only. */
#ifndef LOCKSTEP_CLIENT_SESSION_PREDICTION_H
#define LOCKSTEP_CLIENT_SESSION_PREDICTION_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulation/snapshot_ring.h"

/* Closed ticks stepped in one call at most: a machine that was away comes back over some frames. */
#define LS_PREDICTION_CLOSED_STEPS_MAX 64u

typedef struct ls_prediction_host {
    /* Steps the instance once, on closed inputs or on guessed ones; a tick that was guessed wrong
     * is stepped again from the state before it. */
    void (*step)(void *user, const ls_tick_inputs *inputs);

    /* State `tick` is the result of closed ticks alone. Called for every state after state 0, once
     * and in order; `state hash` is 0 unless the hash interval divides the tick. */
    void (*settle)(void *user, ls_tick tick, uint64_t state_hash);

    void *user;
} ls_prediction_host;

/* Its pointers are borrowed. */
typedef struct ls_prediction_config {
    ls_sim_instance *instance;     /* at state 0 */
    const ls_input_buffer *closed; /* of every slot; 2 * LS_PREDICT_TICKS_MAX ticks are kept */
    const ls_input_buffer *own;    /* of one slot: this player's */
    uint32_t slot;                 /* this player's among the closed */
    uint32_t ticks;                /* guessed at most: 1 .. LS_PREDICT_TICKS_MAX */
    uint32_t hash_interval_ticks;
    ls_prediction_host host;
} ls_prediction_config;

typedef struct ls_prediction_figures {
    uint64_t rollbacks;
    uint64_t rollback_ticks; /* guessed steps thrown away: the sum of all depths */
    uint32_t rollback_depth_p99;
    uint32_t rollback_depth_max;
} ls_prediction_figures;

typedef struct ls_prediction ls_prediction;

/* UNSUPPORTED for a simulation that cannot save. */
ls_status ls_prediction_create(const ls_prediction_config *config, const ls_allocator *allocator,
                               ls_prediction **out);
void ls_prediction_destroy(ls_prediction *prediction);

/* The instance's state, whatever its tick, is the newest settled one from now on, and `slot` this
 * player's; no guess is left. Until a tick after it has closed nothing is guessed. */
void ls_prediction_restart(ls_prediction *prediction, uint32_t slot);

/* Takes the closed ticks before `closed_end` (never less than before), then guesses on, so that the
 * live state is that of tick `head`, or the nearest to it from the newest closed state to `ticks`
 * beyond. Until a tick has closed nobody knows who takes part: nothing is guessed. Fails with the
 * simulation's status when it cannot load what it saved; the live state then means nothing. */
ls_status ls_prediction_advance(ls_prediction *prediction, ls_tick closed_end, ls_tick head);

/* Makes the newest closed state the live one. Fails as advance does. */
ls_status ls_prediction_drop_guesses(ls_prediction *prediction);

/* The newest state that is the result of closed ticks alone. */
ls_tick ls_prediction_settled_tick(const ls_prediction *prediction);

/* The saved state of a tick, borrowed until the next call; without bytes when it is not held, as
 * for the live one. */
ls_saved_state ls_prediction_saved(const ls_prediction *prediction, ls_tick tick);

ls_prediction_figures ls_prediction_figures_of(const ls_prediction *prediction);

/* ---- sound schedule: which sounds of the newest ticks have been given out, so that a tick that is
 * stepped again, because its inputs were guessed wrong, gives out only what is new, and nothing
 * that comes too late to make sense. Compares and remembers; plays nothing, and reads no clock ----
 * */

/* Ticks whose sounds are remembered: no guess goes back further. */
#define LS_SOUND_SCHEDULE_TICKS (2 * LS_PREDICT_TICKS_MAX)

typedef struct ls_sound_schedule ls_sound_schedule;

/* `late_ns`: how old a tick may be whose sounds are still worth hearing, cut to what is remembered;
 * `dt_ns`: of one tick. NO_MEMORY. */
ls_status ls_sound_schedule_create(uint64_t late_ns, uint64_t dt_ns, const ls_allocator *allocator,
                                   ls_sound_schedule **out);
void ls_sound_schedule_destroy(ls_sound_schedule *schedule);

/* The first tick that the steps which follow do not reach: it is now. */
void ls_sound_schedule_set_now(ls_sound_schedule *schedule, ls_tick tick);

/* Whether a tick's sounds are not too old: else nobody need ask for them. */
bool ls_sound_schedule_is_due(const ls_sound_schedule *schedule, ls_tick tick);

/* Leaves in `list` the sounds that were never given out for this tick, which is due, and counts
 * them as given out. Anything but cues and samples that can be is left out as well. */
void ls_sound_schedule_filter(ls_sound_schedule *schedule, ls_tick tick, ls_sound_list *list);

#endif
