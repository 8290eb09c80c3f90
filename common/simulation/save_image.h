/* Save image: the states of an engine without a schema in a form that can be compared: what its
 * `save` writes, in a block of fixed size that a schema describes: u64 "save_bytes", the bytes of
 * the save, zeros to the end. The fields are the engine's own (save_fields), and what they leave
 * out is u8s named "save", or "save_4096" where they begin at byte 4096 of the save. Runs nothing
 * of the engine but these two functions. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SAVE_IMAGE_H
#define LOCKSTEP_COMMON_SIMULATION_SAVE_IMAGE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/simulation/state_schema.h"

LS_C_BEGIN

#define LS_SAVE_HEAD_BYTES 8u /* before the engine's own bytes: how many there are */
#define LS_SAVE_SIZE_PATH "save_bytes"

typedef struct ls_save_image ls_save_image;

/* `state`: the block of state 0; `first_bytes`: the engine's save of it, without the head. Where
 * the engine says no largest size, the image has room for a quarter more at least. SCHEMA when the
 * fields overlap or lie outside, PLUGIN for a size that cannot be, both with `why`; NO_MEMORY. */
ls_status ls_save_image_create(const ls_simulation *simulation, const ls_sim_config *config,
                               const void *state, size_t first_bytes, const ls_allocator *allocator,
                               ls_save_image **out, ls_text *why);
void ls_save_image_destroy(ls_save_image *image);

const ls_schema *ls_save_image_schema(const ls_save_image *image);

/* Makes an image of a save that lies, with its head, in `bytes`: fills up with zeros. FULL, when
 * the save is larger than `image_bytes`. The blocks may be the same one. */
ls_status ls_save_image_fill(size_t image_bytes, const uint8_t *save, uint8_t *bytes);

LS_C_END

#endif
