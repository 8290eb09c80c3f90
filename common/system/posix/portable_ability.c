#include "lockstep/common/system/ability.h"

static const char *const lacks[] = {
    [LS_ABILITY_PERTURBED_PROCESSES] =
        "Plug-in files are read, and processes perturbed, on Linux alone: test there as well.",
    [LS_ABILITY_WRITE_TRACES] = "Single writes are told on Linux on x86-64 alone.",
    [LS_ABILITY_SHARED_PORTS] =
        "Several workers share a UDP port on Linux alone: here there can be one.",
    [LS_ABILITY_APART_WINDOWS] = "Windows belong to the first thread of a program here.",
};

bool ls_ability_is_there(ls_ability ability, ls_text *why)
{
#if !defined(__APPLE__)
    if (ability == LS_ABILITY_APART_WINDOWS) {
        return true;
    }
#endif
    ls_text_set(why, "%s", lacks[ability]);
    return false;
}
