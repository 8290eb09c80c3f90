/* Player name: what a person may be called, and how wide a name stands in a table of a console. The
 * only place that names utf8proc. Called by mains and by the writers of tables. */
#ifndef LOCKSTEP_COMMON_PROGRAM_PLAYER_NAME_H
#define LOCKSTEP_COMMON_PROGRAM_PLAYER_NAME_H

#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

/* Reads a name in UTF-8: in Unicode's normalisation form C, without spaces around it. BAD_ARGUMENT
 * for one that is blank, too long, malformed, or holds a character that cannot be seen. */
ls_status ls_player_name_read(const char *text, char out[LS_PLAYER_NAME_BYTES_MAX], ls_text *why);

/* The width to give printf's "%-*s" so that a name takes 16 columns of a terminal. */
int ls_player_name_width(const char *name);

#endif
