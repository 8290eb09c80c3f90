/* Noise: what memory holds that nobody has written: zeroes in the reference, in other perturbations
 * bytes that differ from each other and from run to run. Pure. Called by the player, by page memory
 * and by the shims. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_NOISE_H
#define LOCKSTEP_TOOLS_SYNCTEST_NOISE_H

#include "lockstep/common/base/language.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With AddressSanitizer and its kin the heap is theirs, and so are the bytes around a block: they
 * find more than noise does. */
#define SYNCTEST_IS_SANITIZED LS_IS_SANITIZED

/* Names the bytes that memory holds which nobody has written: 0, for zeroes, in the reference; in
 * other perturbations random ones, other for each variant, tick and place. */
uint64_t synctest_noise(bool is_moved, uint32_t variant, uint32_t tick, uint32_t place);
void synctest_noise_fill(void *bytes, size_t byte_count, uint64_t noise);

#endif
