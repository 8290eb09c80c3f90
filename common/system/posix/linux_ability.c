#include "lockstep/common/system/ability.h"

bool ls_ability_is_there(ls_ability ability, ls_text *why)
{
#if !defined(__x86_64__)
    if (ability == LS_ABILITY_WRITE_TRACES) {
        ls_text_set(why, "Single writes are told on Linux on x86-64 alone.");
        return false;
    }
#endif
    (void)ability;
    (void)why;
    return true;
}
