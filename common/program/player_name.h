/* Player name: what a person may be called, which names look alike, and how wide a name stands in a
 * table of a console. The rules are those for nicknames (RFC 8266, over the freeform class of RFC
 * 8264) with sequences of emoji, and without letters that nobody sees. Called by mains, by the
 * rooms of a server and by the writers of tables. */
#ifndef LOCKSTEP_COMMON_PROGRAM_PLAYER_NAME_H
#define LOCKSTEP_COMMON_PROGRAM_PLAYER_NAME_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

/* Reads a name in UTF-8: in Unicode's normalisation form KC, so that letters of any width are the
 * same, without spaces around it and with single ones in it. BAD_ARGUMENT for one that is blank,
 * too long, malformed, or holds a character that may not stand there: one that cannot be seen, a
 * mark without a letter, a joiner that joins nothing. */
ls_status ls_player_name_read(const char *text, char out[LS_PLAYER_NAME_BYTES_MAX], ls_text *why);

/* Makes a name of whatever somebody asks to be called, in its place: without what may not stand in
 * one, cut where it does not fit, "player" when nothing is left. The number behind a name, as in
 * "Ann (2)", is a server's: LS_NAME_AS_GIVEN leaves it there, in a name that a server gave; with
 * every other number, all that looks like one is taken off first, and this one is put there, none
 * for 1. Returns what the name looks like; names that differ in the case of letters alone look
 * alike. */
ls_name_look ls_player_name_clean(char name[LS_PLAYER_NAME_BYTES_MAX], uint32_t number);

/* The width to give printf's "%-*s" so that a name takes 16 columns of a terminal. */
int ls_player_name_width(const char *name);

#endif
