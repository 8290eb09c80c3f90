/* Step noise: the bytes that a step finds where it has written nothing: on the stack below each
 * pass, and in scratch. A step that reads them gets another result with other noise, so that two
 * runs tell it. Counter-based: the same seed and kind give the same bytes. Called by re-runs and by
 * synctest. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_STEP_NOISE_H
#define LOCKSTEP_COMMON_DIAGNOSIS_STEP_NOISE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/sim_instance.h"

LS_C_BEGIN

/* Three kinds, because two do not find every use of a byte that was not set. */
typedef enum ls_noise_kind {
    LS_NOISE_RANDOM,   /* differs from byte to byte and from pass to pass */
    LS_NOISE_OPPOSITE, /* every bit of RANDOM turned: what was less is more, what was odd is even */
    LS_NOISE_ZERO,     /* what was set is not, and any two are the same */
} ls_noise_kind;

typedef struct ls_step_noise {
    uint64_t seed;
    ls_noise_kind kind;
    uint64_t passes; /* of the match that have run: noise goes by it */
    bool is_deep;    /* as far down as only a program's own thread has a stack */
} ls_step_noise;

/* How far below a pass's first frame there is noise; and of deep one. */
#define LS_NOISE_STACK_BYTES (64u << 10)
#define LS_NOISE_DEEP_BYTES (512u << 10)

/* Calls pass->run(step), once, with this noise in the registers that hold none of its arguments: a
 * variable that is not set may be in any. Without noise but on x86-64. */
void ls_step_noise_call(uint64_t noise, const ls_step *step, const ls_pass *pass);

/* Calls run(user) on a stack full of noise. */
void ls_step_noise_run(const ls_step_noise *noise, void (*run)(void *user), void *user);

/* Calls a pass with both. */
void ls_step_noise_run_pass(ls_step_noise *noise, const ls_step *step, const ls_pass *pass);

/* Steps the instance once on its tick's inputs, each pass as above. */
void ls_step_noise_step(ls_step_noise *noise, ls_sim_instance *instance,
                        const ls_tick_inputs *inputs);

/* Fills the scratch memory for the step that comes. Not for each pass: a pass may read there what
 * another pass of the same step has written. */
void ls_step_noise_fill_scratch(const ls_step_noise *noise, ls_sim_instance *instance);

/* Fills a block from the heap: by its size, whenever it is taken, so that a step that is run once
 * more finds the same. */
void ls_step_noise_fill_block(const ls_step_noise *noise, uint8_t *bytes, size_t size);

LS_C_END

#endif
