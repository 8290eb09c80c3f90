/* Sim instance: one running simulation: configuration, state, scratch, schema and hasher.
 * Everything is allocated at create; stepping, hashing, saving and loading never allocate.
 * The only caller of a simulation's functions. A game gets the one of its match or session. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SIM_INSTANCE_H
#define LOCKSTEP_COMMON_SIMULATION_SIM_INSTANCE_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/simulation.h"

LS_C_BEGIN

struct ls_schema; /* state_schema.h */

typedef struct ls_sim_instance ls_sim_instance;

/* The digests that two machines compare before they share a match. */
typedef struct ls_sim_digests {
    uint64_t parameters; /* tick rate, players, every parameter's name and value, seed */
    uint64_t schema;     /* 0 for a simulation that hashes by callback and names no save_fields */
    uint64_t content;    /* 0 when the simulation has none */
    uint64_t initial;    /* state hash of state 0 */
} ls_sim_digests;

/* Whether this machine's simulation is the one that was written down elsewhere, as far as digests
 * tell: SIMULATION_MISMATCH with the first item that differs in `why`. */
ls_status ls_sim_digests_check(const ls_sim_digests *here, const ls_sim_digests *there,
                               ls_text *why);

/* Checks the simulation and the config, builds the schema, makes state 0. The simulation is
 * borrowed, the config copied. Errors: those of the checks, PLUGIN for a state size that cannot be,
 * SCHEMA (also when init wrote to padding), NO_MEMORY, and whatever init returns; `why` explains.
 * After a failed init deinit is not called. */
ls_status ls_sim_instance_create(const ls_simulation *simulation, const ls_sim_config *config,
                                 const ls_allocator *allocator, ls_sim_instance **out,
                                 ls_text *why);
void ls_sim_instance_destroy(ls_sim_instance *instance);

const ls_simulation *ls_sim_instance_simulation(const ls_sim_instance *instance);
const ls_sim_config *ls_sim_instance_config(const ls_sim_instance *instance);
const struct ls_schema *
ls_sim_instance_schema(const ls_sim_instance *instance); /* NULL by callback */
ls_sim_digests ls_sim_instance_digests(const ls_sim_instance *instance);

/* The live state: state_bytes of it, borrowed until destroy. Tools may write to it between steps
 * (fault injection, healing); no other code does. */
void *ls_sim_instance_state(ls_sim_instance *instance);
const void *ls_sim_instance_view(const ls_sim_instance *instance); /* the same, for reading */
size_t ls_sim_instance_state_bytes(const ls_sim_instance *instance);

/* The block that a large state lies in, with room for a copy that one caller may make there; NULL
 * where the allocator has no pairs. Borrowed until destroy or rest. */
const ls_block_pair *ls_sim_instance_block_pair(const ls_sim_instance *instance);
ls_tick ls_sim_instance_tick(const ls_sim_instance *instance); /* of the live state */

/* Back to state 0, as create made it. Returns the status of init; after a failure only destroy may
 * follow. */
ls_status ls_sim_instance_restart(ls_sim_instance *instance);

/* Gives the memory of state 0 back until it is made again. Between the two only what create made of
 * the state can be asked for: its size, schema and digests. No effect on an engine, which hashes by
 * callback, nor once writes are trusted. */
void ls_sim_instance_rest(ls_sim_instance *instance);
/* NO_MEMORY, what init returns, or PLUGIN: init made another state than the first time. It still
 * rests then. No effect when it does not rest. */
ls_status ls_sim_instance_wake(ls_sim_instance *instance);

/* Sets what the next steps are told of this machine. At first one worker and warnings. */
void ls_sim_instance_tune(ls_sim_instance *instance, ls_sim_tuning tuning);

/* Runs every pass on this tick's inputs. inputs->tick is the live tick. */
void ls_sim_instance_step(ls_sim_instance *instance, const ls_tick_inputs *inputs);

/* Asks for the memory that the next step will need, in two steps. */
void ls_sim_instance_prefetch(const ls_sim_instance *instance);
void ls_sim_instance_prefetch_more(const ls_sim_instance *instance);

/* For tools that want to know what each pass did, or that prepare something for it. */
typedef struct ls_step_watch {
    /* Stands in for pass `index` of the step, and calls pass->run(step) itself, once. */
    void (*run_pass)(void *user, const ls_step *step, const ls_pass *pass, uint32_t index);
    void *user;
} ls_step_watch;

/* The same step, watched. */
void ls_sim_instance_step_watched(ls_sim_instance *instance, const ls_tick_inputs *inputs,
                                  const ls_step_watch *watch);

/* Appends the sounds of the newest step; `previous` is the state before it, or NULL where the block
 * cannot be copied. A simulation without sounds has none, and neither has the first state. */
void ls_sim_instance_sounds(const ls_sim_instance *instance, const void *previous,
                            ls_sound_list *list);

/* As ls_simulation.status; nothing without one. */
void ls_sim_instance_status(const ls_sim_instance *instance, uint32_t slot, ls_status_list *list);

/* Fills the masks, which are zeroed, with what the simulation says of its inputs; false when it
 * says nothing. */
bool ls_sim_instance_input_bits(const ls_sim_instance *instance, const ls_input_bits *bits);

/* The scratch memory, whose content a step must not rely on, for tools that look for steps which
 * do. NULL, 0: none. */
void *ls_sim_instance_scratch(ls_sim_instance *instance, size_t *bytes);

/* State hash of the live state. */
uint64_t ls_sim_instance_hash(ls_sim_instance *instance);

/* From now on the hash takes what no pass has named for unchanged, until a tick that is a multiple
 * of the tick rate (once a second) has come: then it is that of all bytes again, and what was not
 * named is found. No effect where the simulation does not name what it writes. NO_MEMORY. */
ls_status ls_sim_instance_trust_writes(ls_sim_instance *instance);

/* True once, when a trusted simulation has written without naming it: what and when, as a sentence.
 * It is not trusted any more. */
bool ls_sim_instance_unnamed_write(ls_sim_instance *instance, ls_text *out);

/* Ticks from one hash of all bytes to the next; 1: each is, since nothing is or was trusted. */
uint32_t ls_sim_instance_whole_ticks(const ls_sim_instance *instance);

/* The newest state before `tick` whose hash was that of all bytes, where every `interval_ticks`-th
 * state is hashed: what differs at this tick may do so since then. */
ls_tick ls_sim_instance_whole_before(const ls_sim_instance *instance, uint32_t interval_ticks,
                                     ls_tick tick);

/* The hashes of its chunks (ls_state_hasher_chunk_hashes), borrowed until the next hash; NULL when
 * the live state was not hashed since it may have changed, or is hashed by callback. */
const uint8_t *ls_sim_instance_chunk_hashes(const ls_sim_instance *instance);

/* Copies of the live state, in canonical byte order: a save can be loaded on any machine.
 * UNSUPPORTED for a simulation that hashes by callback and cannot save; its saves differ in size
 * from tick to tick. `bytes` holds ls_sim_instance_save_bytes.
 * Load takes bytes that anybody may have sent, and is the one way to a simulation's own `load`:
 * MALFORMED, and that is not called, where they have not the size that they say. The simulation
 * judges the content. When load fails, the tick stays. An image (below) loads as a save. */
size_t ls_sim_instance_save_bytes(const ls_sim_instance *instance);
size_t ls_sim_instance_save_head_bytes(const ls_sim_instance *instance); /* not of the state */
ls_status ls_sim_instance_save(const ls_sim_instance *instance, uint8_t *bytes);
ls_status ls_sim_instance_load(ls_sim_instance *instance, const uint8_t *bytes, size_t size,
                               ls_tick tick);

/* Whether bytes are a save of the size that they say, as load asks before anything else. */
bool ls_sim_instance_is_save(const ls_sim_instance *instance, const uint8_t *bytes, size_t size);

/* A save that somebody keeps. Borrowed. */
typedef struct ls_saved_state {
    const uint8_t *bytes; /* of ls_sim_instance_save */
    size_t size;
    const uint8_t *chunk_hashes; /* of ls_sim_instance_chunk_hashes then; NULL: not known */
} ls_saved_state;

/* ---- images: states as a diagnosis keeps and compares them ---- */

/* An image is canonical and of a fixed size, and a schema describes it: the saved state of a
 * simulation with a schema; of an engine that saves and loads, its save with zeros behind it
 * (save_image.h). NULL and 0 for an engine that hashes and cannot do both. */
const struct ls_schema *ls_sim_instance_image_schema(const ls_sim_instance *instance);
size_t ls_sim_instance_image_bytes(const ls_sim_instance *instance);

/* Of the live state, or of what save gave; only where there is an image schema. FULL: the engine's
 * save is larger than an image, whose bytes are anything then. */
ls_status ls_sim_instance_image(const ls_sim_instance *instance, uint8_t *bytes);
ls_status ls_sim_instance_image_of_save(const ls_sim_instance *instance, const uint8_t *saved,
                                        uint8_t *bytes);

LS_C_END

#endif
