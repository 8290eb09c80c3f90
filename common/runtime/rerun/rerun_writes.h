/* Rerun writes: runs a stretch once more and notes which passes, and which functions that may only
 * read, write to variables outside the state or to files: what they leave there is neither saved
 * nor hashed. Then it runs the stretch with each variable set back before every tick: one that
 * changes the result by that is a part of the state that was forgotten. In a copy of a process that
 * ends behind it, since it has the system refuse writes to files. Called by rerun_helper, and by
 * the main of a helper for the names. */
#ifndef LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_WRITES_H
#define LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_WRITES_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_statics.h"

/* Texts that one process may send another one; see ls_rerun_outcome. */
typedef struct ls_rerun_writes {
    ls_text outside;
    ls_text harmless;
} ls_rerun_writes;

/* The simulation is that of the match, loaded in this process. The texts are handed on twice:
 * before any variable is known to change the result, since setting one back may crash the plug-in,
 * and at the end. False: it cannot be run, or handed on. */
bool ls_rerun_writes_find(const ls_simulation *simulation, const ls_rerun_match *match,
                          const ls_replay_stretch *stretch,
                          bool (*hand_on)(const ls_rerun_writes *writes));

/* How the names of variables are read: without this call those of C++ and Rust stay as symbols have
 * them. */
void ls_rerun_writes_read_symbols_by(ls_plugin_symbol_reader *reader);

#endif
