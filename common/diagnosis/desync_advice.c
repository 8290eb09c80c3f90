#include "lockstep/common/diagnosis/desync_advice.h"

#include <stddef.h>

static const char *const advice[LS_DESYNC_CLASS_COUNT] = {
    [LS_DESYNC_CLASS_UNKNOWN] = "run every side with --find-causes on, record a journal, and check "
                                "it on each machine with lockstep-replay verify",
    [LS_DESYNC_CLASS_BUILD] =
        "give everybody the same file of the simulation; for builds that are meant to differ, run "
        "lockstep-synctest A.so --against B.so",
    [LS_DESYNC_CLASS_ONE_OFF] =
        "see whether it comes back: once, on one machine, it is that machine's memory or a cheat; "
        "on several, run lockstep-synctest GAME.so --only workers,draw",
    [LS_DESYNC_CLASS_OUTSIDE] = "run lockstep-synctest GAME.so and move what it names (a static, a "
                                "cache, a value that save leaves out) into the state",
    [LS_DESYNC_CLASS_UNSTABLE] =
        "run lockstep-synctest GAME.so --only stack,heap,scratch,addresses and set what the pass "
        "that it names reads",
    [LS_DESYNC_CLASS_ENVIRONMENT] =
        "make the two machines equal in one of what is named and play again; put what the step "
        "reads there into parameters or into content_digest",
    [LS_DESYNC_CLASS_PROCESS] =
        "run lockstep-synctest GAME.so --only fresh,again,addresses,workers,clock and look for "
        "statics, threads, addresses, the time and random seeds",
};

const char *ls_desync_advice(ls_desync_class kind)
{
    const char *text = (unsigned)kind < LS_DESYNC_CLASS_COUNT ? advice[kind] : NULL;
    return text ? text : advice[LS_DESYNC_CLASS_UNKNOWN];
}
