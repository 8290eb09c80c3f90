/* Verification: a playback simulated from its first tick to its last, in as many parts as wanted,
 * and compared with all that the journal says: state hashes, the chain of the inputs, the end.
 * Prints nothing. Called by the command verify, and by the page's module. */
#ifndef LOCKSTEP_TOOLS_REPLAY_VERIFICATION_H
#define LOCKSTEP_TOOLS_REPLAY_VERIFICATION_H

#include "lockstep/common/base/log.h"
#include "lockstep/tools/replay/playback.h"

/* Others only read it. */
typedef struct replay_verification {
    replay_playback *playback; /* loaded; borrowed, and nobody else moves it */
    const ls_log *log;         /* of ticks that are missing */
    uint64_t ticks;
    uint64_t state_hashes;
    uint64_t ticks_skipped;
    uint64_t chains; /* of ticks, at the ends of blocks */
    bool is_done;

    /* After DESYNCED: the first state that differs. */
    ls_tick differing_tick;
    uint64_t recorded;
    uint64_t here;
} replay_verification;

/* Stands at the first tick, and compares it. DESYNCED, or the errors of replay_playback_seek. */
ls_status replay_verification_begin(replay_playback *playback, const ls_log *log,
                                    replay_verification *out, ls_text *why);

/* Goes on for so many ticks, or until all is done. DESYNCED: a state differs. MALFORMED: the inputs
 * are not those that were recorded. */
ls_status replay_verification_go_on(replay_verification *work, uint32_t ticks, ls_text *why);

/* The journal has grown, and there may be more to do. */
void replay_verification_read_on(replay_verification *work);

/* Everything that could be compared was right; MALFORMED, and what is missing, when it was not
 * everything. */
ls_status replay_verification_judge(const replay_verification *work, ls_text *why);

#endif
