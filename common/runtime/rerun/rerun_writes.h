/* Rerun writes: runs a stretch once more and notes which passes, and which functions that may only
 * read, write to variables of the plug-in or to files: what they leave there is neither saved nor
 * hashed. In a copy of a process that ends behind it, since it has the system refuse writes to
 * files. Called by rerun_helper, and by the main of a
 * helper for the names. */
#ifndef LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_WRITES_H
#define LOCKSTEP_COMMON_RUNTIME_RERUN_RERUN_WRITES_H

#include "lockstep/common/diagnosis/rerun_pipe.h"
#include "lockstep/common/loader/plugin_statics.h"

#define LS_RERUN_WRITES_MAX 8u /* that are named */

/* The first write of each place to each variable, and the first one to each file: bytes that one
 * process may send another one. */
typedef struct ls_rerun_writes {
    uint32_t count;
    struct {
        uint64_t address;             /* as the file has it */
        uint32_t place;               /* a pass by its number, or one of the functions */
        char file[LS_NAME_BYTES_MAX]; /* "": it is a variable */
    } list[LS_RERUN_WRITES_MAX];
} ls_rerun_writes;

/* The simulation is that of the match, loaded in this process. False: it cannot be run. */
bool ls_rerun_writes_find(const ls_simulation *simulation, const ls_rerun_match *match,
                          const ls_replay_stretch *stretch, ls_rerun_writes *out);

/* How the names of variables are read: without this call those of C++ and Rust stay as symbols have
 * them. */
void ls_rerun_writes_read_symbols_by(ls_plugin_symbol_reader *reader);

/* Says in the outcome what writes where. The bytes may be any. */
void ls_rerun_writes_name(const ls_rerun_writes *writes, const ls_simulation *simulation,
                          const ls_rerun_match *match, ls_rerun_outcome *outcome);

#endif
