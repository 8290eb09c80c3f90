/* Rerun: simulates a stretch of a match again in fresh instances and tells what came out: the
 * figures from which the cause of a desync is classified, the state hashes behind the passes of its
 * last step, and the state that it led to. In small portions, so that a live match goes on beside
 * it. Allocates at create, and for a large state once more behind the first run. Called on both
 * sides of a match, and by tools. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_RERUN_H
#define LOCKSTEP_COMMON_DIAGNOSIS_RERUN_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/pass_trace.h"
#include "lockstep/common/diagnosis/replay_window.h"
#include "lockstep/common/diagnosis/step_noise.h"

LS_C_BEGIN

/* Bits of ls_rerun_figures.known. */
#define LS_RERUN_LIVE 0x01u
#define LS_RERUN_FRESH 0x02u
#define LS_RERUN_AGAIN 0x04u
#define LS_RERUN_RELOADED 0x08u
/* Played again from one loaded plug-in, in processes of their own, the runs came out in several
 * ways that no process has to itself: `apart` is how many times of LS_RERUN_TIMES they came out
 * otherwise than the first time. Version 0.1.0 never set this bit. */
#define LS_RERUN_RACES 0x10u
#define LS_RERUN_TIMES 4u
#define LS_RERUN_APART 0x20u
/* At most one of the two, and only where `again` is not `fresh`: what a run with the noise of
 * `fresh` gave after it. */
#define LS_RERUN_REPEATED 0x40u /* `fresh` once more: the noise alone made the difference */
#define LS_RERUN_CHANGED 0x80u  /* something else: what ran before made it, or the time */

/* The state hash of state `tick` that each way of getting there gave; this is what travels. Noise
 * is what a step finds on its stack and in scratch, see step_noise.h. */
typedef struct ls_rerun_figures {
    uint32_t known;  /* which of them are */
    ls_tick first;   /* of the snapshot */
    ls_tick tick;    /* of the state */
    ls_tick strayed; /* first state agreed on whose recorded state hash fresh missed, of those that
                    it compares: the last one, and all or every n-th before; `tick`: none */
    uint64_t live;   /* in the match */
    uint64_t fresh;  /* a new instance, from the snapshot */
    uint64_t again;  /* once more, in other memory, with other noise on the stack: the first of two
                        kinds that gave another result than fresh, or the last */
    uint64_t reloaded; /* saved, and loaded into another instance with other scratch, every tick
                          or, where states are large, every n-th and the one before the last */
    uint64_t apart;    /* fresh, when all runs gave the same in another process, with other
                          addresses, seeds and time; else a result that only one of the two had.
                          The host of a re-run makes it, where it has processes. With RACES
                          see there */
    uint32_t tried;    /* desync_class.h: made equal in other processes, which the host makes too */
    uint32_t moved; /* those of them that gave another result than fresh, and the same one twice */
} ls_rerun_figures;

#define LS_RERUN_FIGURES_BYTES 55u
#define LS_RERUN_OLD_FIGURES_BYTES 53u /* those of version 0.1.0: without the last two */
void ls_rerun_figures_write(const ls_rerun_figures *figures, uint8_t bytes[LS_RERUN_FIGURES_BYTES]);
ls_status ls_rerun_figures_read(const uint8_t *bytes, size_t size, ls_rerun_figures *out);

typedef struct ls_rerun ls_rerun;

/* Makes the two instances it needs. UNSUPPORTED for a simulation that hashes by callback and cannot
 * save and load, else the errors of ls_sim_instance_create. */
ls_status ls_rerun_create(const ls_simulation *simulation, const ls_sim_config *config,
                          const ls_allocator *allocator, ls_rerun **out, ls_text *why);

/* The same for a large state: the second instance is made when the first run is through, which is
 * the one that counts. */
ls_status ls_rerun_create_large(const ls_simulation *simulation, const ls_sim_config *config,
                                const ls_allocator *allocator, ls_rerun **out, ls_text *why);

/* The same with one instance, for a large state: the first run is all that it makes. */
ls_status ls_rerun_create_single(const ls_simulation *simulation, const ls_sim_config *config,
                                 const ls_allocator *allocator, ls_rerun **out, ls_text *why);
void ls_rerun_destroy(ls_rerun *rerun);

/* Right behind create: how many workers its steps may use, at most the simulation's own maximum,
 * and which noise is in memory that is not set. As it is: 1 and 0. */
void ls_rerun_vary(ls_rerun *rerun, uint32_t workers, uint32_t noise);

/* Right behind create, in a process that does nothing else: noise lies further down on the stack as
 * well, and on_noise is told of that of each run and step before it begins, for memory that is not
 * the rerun's own. */
void ls_rerun_own_process(ls_rerun *rerun, void (*on_noise)(const ls_step_noise *noise));

/* The noise that the first run of a stretch begins with, of passes that are so many in a step. */
ls_step_noise ls_rerun_first_noise(const ls_replay_stretch *stretch, uint32_t pass_count,
                                   uint32_t noise);

/* Begins: fresh, again (twice at most, or once and once repeated), reloaded. All of the stretch is
 * borrowed to the end. */
void ls_rerun_start(ls_rerun *rerun, const ls_replay_stretch *stretch);

/* Right behind start: the state after this pass of the last step is wanted too, or its writers
 * (LS_PASS_OF_WRITERS, with run_once only). */
void ls_rerun_keep_pass(ls_rerun *rerun, uint32_t pass);

/* Right behind start and keep_pass: the first run is all that is wanted, and without a pass no
 * state. */
void ls_rerun_run_once(ls_rerun *rerun);

/* Right behind start: the first run alone, with this noise on the stack in the place of its own. */
void ls_rerun_run_alone(ls_rerun *rerun, ls_noise_kind noise);

/* Right behind start: the state that it leads to is not wanted. */
void ls_rerun_leave_state(ls_rerun *rerun);

/* Runs up to `steps_max` (> 0) steps more; true when there is nothing left to do. */
bool ls_rerun_advance(ls_rerun *rerun, uint32_t steps_max);

/* The tick that is simulated now; and the size of the states below, which are images
 * (sim_instance.h). */
ls_tick ls_rerun_tick(const ls_rerun *rerun);
size_t ls_rerun_state_bytes(const ls_rerun *rerun);

/* As far as is known; whole once advance has said so. */
const ls_rerun_figures *ls_rerun_figures_of(const ls_rerun *rerun);

/* The last step is run several times more from one state. A static makes the same of that in every
 * process; threads and the time do not. */
typedef struct ls_rerun_repeats {
    uint32_t count;  /* 0: it was not */
    uint64_t digest; /* of all results */
    uint64_t other;  /* one of them that is not `fresh`; 0: there is none */
} ls_rerun_repeats;
const ls_rerun_repeats *ls_rerun_repeats_of(const ls_rerun *rerun);

/* The first pass of the last step that gave another result when it was run in another way, from the
 * same state on: it has the fault, whatever the other machine got. NO_PASS: not known. */
uint32_t ls_rerun_unstable_pass(const ls_rerun *rerun);

/* Of the first run, once it is through: the last step, pass by pass, and the state after it.
 * pass_count 0 and NULL before. */
const ls_pass_trace *ls_rerun_passes(const ls_rerun *rerun);
const uint8_t *ls_rerun_state(const ls_rerun *rerun);
const uint8_t *ls_rerun_pass_state(const ls_rerun *rerun); /* NULL also when no pass was wanted */

/* Canonical: the state before the last step of the first run, good until `reloaded` runs. */
const uint8_t *ls_rerun_state_before(const ls_rerun *rerun);

LS_C_END

#endif
