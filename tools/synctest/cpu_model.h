/* CPU model: what the compiler's runtime keeps in a plug-in about the processor, for
 * __builtin_cpu_supports and its kin. Called by the player, in the perturbation `cpu`. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_CPU_MODEL_H
#define LOCKSTEP_TOOLS_SYNCTEST_CPU_MODEL_H

#include <stdbool.h>

/* Takes every feature out of the loaded plug-in's copy, and makes the processor one of no known
 * maker. Nothing happens where it has none, or its names were stripped. */
void synctest_cpu_model_clear(const char *path, bool is_maker_unknown);

#endif
