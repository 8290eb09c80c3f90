/* Play mode: the ways in which a perturbation plays the recorded match. Each compares the state
 * hash of every state it makes with the reference's, and stops at the first difference or fault.
 * The exchange's outcome says how it went. Called by the perturbed process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_PLAY_MODE_H
#define LOCKSTEP_TOOLS_SYNCTEST_PLAY_MODE_H

#include "lockstep/tools/synctest/exchange.h"
#include "lockstep/tools/synctest/player.h"

/* ---- Crash: what a perturbed process does when the code in it crashes: it notes the signal and
 * ends. In a guarded call it may find that the memory that was touched is what must not be written
 * to. A plug-in's crash is a finding, never a crash of the program. Called by the perturbed process
 * alone ---- */

/* From here on a crash is written to the outcome. */
void synctest_crash_watch(synctest_exchange *exchange);

/* Plays the reference run with its bots and script, and records it: inputs, state hashes, saves. */
void synctest_play_mode_record(synctest_player *player);

/* Plays the recorded match. */
void synctest_play_mode_run(synctest_player *player, synctest_play_mode mode);

#endif
