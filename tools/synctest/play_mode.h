/* Play mode: the ways in which a perturbation plays the recorded match. Each compares the state
 * hash of every state it makes with the reference's, and stops at the first difference or fault.
 * The exchange's outcome says how it went. Called by the perturbed process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PLAY_MODE_H
#define LOCKSTEP_TOOLS_SYNCTEST_PLAY_MODE_H

#include "lockstep/tools/synctest/player.h"

/* Plays the reference run with its bots and script, and records it: inputs, state hashes, saves. */
void synctest_play_mode_record(synctest_player *player);

/* Plays the recorded match. */
void synctest_play_mode_run(synctest_player *player, synctest_play_mode mode);

#endif
