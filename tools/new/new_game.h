/* New game: the directory that lockstep-new makes: the files of tools/new/template, which are a
 * game that builds, with the new game's name in place of theirs. Owns the list of files; never
 * writes where there is something. Called by lockstep-new. */
#ifndef LOCKSTEP_TOOLS_NEW_NEW_GAME_H
#define LOCKSTEP_TOOLS_NEW_NEW_GAME_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

/* BAD_ARGUMENT with the reason unless it can name a game, its directory and its files. */
ls_status new_game_check_name(const char *name, ls_text *why);

/* Makes the directory `name` in the current one. BAD_ARGUMENT for a bad name, IO when there is such
 * a file or directory already. */
ls_status new_game_make(const char *name, ls_text *why);

#endif
