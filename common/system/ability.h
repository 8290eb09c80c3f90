/* Ability: things that not every system has, and that cannot be had another way. A program asks
 * here before it uses one, and shows its user the sentence. Called by synctest, desync, the
 * supervisor and the window. */
#ifndef LOCKSTEP_COMMON_SYSTEM_ABILITY_H
#define LOCKSTEP_COMMON_SYSTEM_ABILITY_H

#include "lockstep/common/base/text.h"

#include <stdbool.h>

typedef enum ls_ability {
    LS_ABILITY_PERTURBED_PROCESSES, /* copies of a process, other addresses, memory and calls of
                                     * the C library, and a look into what is loaded */
    LS_ABILITY_WRITE_TRACES,        /* every write of a step by itself */
    LS_ABILITY_SHARED_PORTS,        /* one UDP port for several processes */
    LS_ABILITY_APART_WINDOWS,       /* a window that a thread has which is not the first */
} ls_ability;

/* Whether this system has it; if not, `why` (may be NULL) is the sentence. */
bool ls_ability_is_there(ls_ability ability, ls_text *why);

#endif
