#include "lockstep/tools/synctest/surroundings.h"

#include "lockstep/common/system/float_mode.h"
#include "lockstep/common/system/memory.h"
#include "lockstep/tools/synctest/perturbation.h"
#include "lockstep/tools/synctest/process_changes.h"

#include <errno.h>
#include <fenv.h>
#include <stdlib.h>

/* A block that is mapped now takes the addresses that libraries and blocks would have had. */
static void move_addresses(uint32_t variant)
{
    size_t bytes = ((size_t)variant * 5 + 3) << 20;
    ls_heap_leave_hole(bytes);
    for (size_t i = 1; i < 40; i++) {
        void *block = malloc(i * (24 + 40 * variant)); /* kept: the heap begins elsewhere */
        if (block && i % 3 == 0) {
            free(block);
        }
    }
}

void synctest_surroundings_enter(uint32_t changes, uint32_t variant)
{
    synctest_process_changes_enter(changes, variant);
    if (changes & SYNCTEST_CHANGES_ADDRESSES) {
        move_addresses(variant);
    }
    if (changes & SYNCTEST_CHANGES_FLUSH) {
        ls_float_mode_flush();
    }
}

void synctest_surroundings_leave_behind(bool is_set)
{
    feclearexcept(FE_ALL_EXCEPT);
    if (is_set) {
        feraiseexcept(FE_ALL_EXCEPT);
    }
    errno = is_set ? ERANGE : 0;
}
