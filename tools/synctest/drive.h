/* Drive: the ways in which a world plays the recorded match. Each compares the state hash of every
 * state it makes with the reference's, and stops at the first difference or fault. What comes of it
 * is the exchange's outcome. Called by the world's process. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_DRIVE_H
#define LOCKSTEP_TOOLS_SYNCTEST_DRIVE_H

#include "lockstep/tools/synctest/player.h"

/* Plays the reference run with its bots and script, and records it: inputs, state hashes, saves. */
void synctest_drive_record(synctest_player *player);

/* Plays the recorded match. */
void synctest_drive_play(synctest_player *player, synctest_drive drive);

/* drive_draw.c: with read-only states, drawn at other rates; true when nothing was found. */
bool synctest_drive_draw(synctest_player *player);

#endif
