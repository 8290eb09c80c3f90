/* Replay window: what a machine keeps of its newest ticks so that any of them can be simulated
 * again: the newest states, or a few of them where too much changes, the closed inputs and the
 * state hashes. States are kept by time: as far back as a difference may be found late. Memory is
 * fixed at create, and said by a function; recording copies what has changed and never allocates.
 * Holds what is confirmed, never what was guessed. Called by match and session after every
 * confirmed step. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_REPLAY_WINDOW_H
#define LOCKSTEP_COMMON_DIAGNOSIS_REPLAY_WINDOW_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/state_loan.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/simulation/sim_instance.h"

LS_C_BEGIN

typedef struct ls_replay_window_config {
    uint32_t window_ticks; /* of inputs and state hashes; a power of two */
    uint32_t recent_ticks; /* newest states kept, as far as there is room for them; > reach_ticks */
    uint32_t reach_ticks;  /* a state that is so old is there whatever changes */
    uint32_t snapshots;    /* older states kept where much changes; 2 .. LS_HISTORY_SNAPSHOTS_MAX */
    size_t log_bytes;      /* room for what changes from state to state; a multiple of 8 */

    /* Where every slot's inputs of the ticks recorded are kept anyway, borrowed: what has left it
     * cannot be simulated again. NULL: the window copies them. */
    const ls_input_buffer *inputs;

    uint32_t every_ticks; /* every so many a state is kept; 0: all */
    bool is_saved;        /* the states are of an engine without a schema: what it saves */
    size_t tick_bytes;    /* compared for each tick, on average and at most; 0: any */
} ls_replay_window_config;

/* A match and its desyncs make these demands of a window. */
typedef struct ls_replay_needs {
    size_t state_bytes;
    uint32_t tick_rate_hz;
    uint32_t hash_interval_ticks; /* between the states that are compared; at least 1 */
    bool is_saved;                /* see ls_replay_window_config */
} ls_replay_needs;

/* Those of a match of the instance, which has an image schema. */
ls_replay_needs ls_replay_needs_of(const ls_sim_instance *instance, uint32_t hash_interval_ticks);

/* A difference between compared states that is found no later than this can be simulated again: 2.4
 * s, of which 0.4 s are for the way of the message, and LS_REPLAY_LATE_TICKS_MIN at least. */
#define LS_REPLAY_LATE_TICKS_MIN 144u
uint32_t ls_replay_late_ticks(uint32_t tick_rate_hz);

/* The newest ticks whose inputs that takes, whatever the size of the state. */
uint32_t ls_replay_input_ticks(uint32_t tick_rate_hz, uint32_t hash_interval_ticks);

/* Up to LS_REPLAY_SMALL_STATE_BYTES all states of that time are kept, in 16 MiB at most; of larger
 * ones what changes, as far as three and a half states and 1 MiB reach in all. */
#define LS_REPLAY_SMALL_STATE_BYTES (16u << 10)
/* Larger states cost a match time whenever they are copied or hashed. */
#define LS_REPLAY_MEDIUM_STATE_BYTES (16u << 20)
ls_replay_window_config ls_replay_window_config_default(const ls_replay_needs *needs);

/* All memory that a window takes, but for the inputs that it copies. */
size_t ls_replay_window_bytes(const ls_replay_window_config *config, size_t state_bytes);

typedef struct ls_replay_window ls_replay_window;

/* For matches of this simulation and configuration. UNSUPPORTED for one whose states have no image
 * (sim_instance.h); BAD_ARGUMENT, NO_MEMORY. The instance of an engine is borrowed, any other is
 * not kept. */
ls_status ls_replay_window_create(const ls_replay_window_config *config,
                                  const ls_sim_instance *instance, const ls_allocator *allocator,
                                  ls_replay_window **out);
void ls_replay_window_destroy(ls_replay_window *window);

/* Forgets everything; the instance's state is the first one, whatever its tick. */
void ls_replay_window_start(ls_replay_window *window, const ls_sim_instance *instance,
                            uint64_t state_hash);

/* The instance has just made its state out of `inputs`; inputs->tick is the newest tick recorded
 * (the tick of start, at first) and the instance is one tick on. A state hash of 0: not hashed. */
void ls_replay_window_record(ls_replay_window *window, const ls_tick_inputs *inputs,
                             const ls_sim_instance *instance, uint64_t state_hash);

/* Asks for the memory that recording the next tick will need, in two steps. */
void ls_replay_window_prefetch(const ls_replay_window *window);
void ls_replay_window_prefetch_more(const ls_replay_window *window);

/* The same for a match that guesses ahead and may never stand at this state: `saved` has no
 * bytes when they are not to be had. */
void ls_replay_window_record_saved(ls_replay_window *window, const ls_tick_inputs *inputs,
                                   const ls_saved_state *saved, uint64_t state_hash);

/* The state of a tick to come is recorded, whatever it costs. A few at a time; any more than that
 * take the place of the oldest. */
void ls_replay_window_want(ls_replay_window *window, ls_tick tick);

/* Tick of the newest state, and of the oldest whose state hash is held. */
ls_tick ls_replay_window_newest(const ls_replay_window *window);
ls_tick ls_replay_window_oldest(const ls_replay_window *window);

/* NOT_FOUND outside the window. */
ls_status ls_replay_window_hash(const ls_replay_window *window, ls_tick tick, uint64_t *out);

/* Whether the state is kept; and the state itself, canonical, as it was when it was recorded; NULL
 * when it is not kept. Borrowed until the next question for a state or a stretch, start or record.
 */
bool ls_replay_window_has_state(const ls_replay_window *window, ls_tick tick);
const uint8_t *ls_replay_window_state(const ls_replay_window *window, ls_tick tick);

/* A piece of a match that can be simulated again. Everything is borrowed, the snapshot as a state
 * is. */
typedef struct ls_replay_stretch {
    ls_tick first;           /* of the snapshot */
    ls_tick agreed;          /* of the newest state known to be the same on both sides */
    ls_tick last;            /* of the state to reach; first <= agreed < last */
    const uint8_t *snapshot; /* canonical: what ls_sim_instance_load takes */
    size_t snapshot_bytes;
    const uint64_t *state_hashes; /* as they were recorded: of tick t at [t & hashes_mask] */
    uint32_t hashes_mask;
    const ls_input_buffer *inputs; /* of ticks first .. last-1, every slot's */
} ls_replay_stretch;

/* To state `last` from a state that is not after `agreed` (agreed < last), some ticks before it if
 * there is one. NOT_FOUND when either has left the window. The inputs and hashes are borrowed until
 * the next start, or until as many ticks as the window holds are recorded. */
ls_status ls_replay_window_stretch(const ls_replay_window *window, ls_tick agreed, ls_tick last,
                                   ls_replay_stretch *out);

/* The snapshot of the stretch that was asked for last stays until the loan is over; see
 * ls_state_history_lend. */
void ls_replay_window_lend(const ls_replay_window *window, const ls_state_loan *loan);
void ls_replay_window_reclaim(const ls_replay_window *window); /* ends a loan */

/* The stretch from `agreed` to `last` is to be had until it was let go of as often as this was
 * called, however many ticks are recorded: a case needs it until its report is written. It takes
 * memory of its own for inputs and hashes, and for a snapshot of up to 1 MiB; a larger one stays in
 * the history. Without memory, beyond some stretches, or when the ticks have left the window
 * already, nothing is kept. */
void ls_replay_window_keep(ls_replay_window *window, ls_tick agreed, ls_tick last);
void ls_replay_window_let_go(ls_replay_window *window, ls_tick agreed);

/* States from this one on may still be found to differ: a machine that is slow tells of them late.
 * As far as inputs reach a stretch from it stays to be had. The newest call counts; UINT32_MAX:
 * none may. */
void ls_replay_window_await(ls_replay_window *window, ls_tick agreed);

/* The last steps to state `last`: `steps` at most where one of the states before them is kept
 * itself, else as many as the stretch from the state before has. NOT_FOUND as for that. Borrowed
 * likewise. */
ls_status ls_replay_window_steps(const ls_replay_window *window, ls_tick last, uint32_t steps,
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
