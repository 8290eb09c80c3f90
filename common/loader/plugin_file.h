/* Plug-in file: whether a shared object has all the bytes that it says it has. The dynamic linker
 * maps a file that was cut off and dies of a bus error. Called by the plug-in loader, before it
 * opens the file, and by tools that read plug-ins. */
#ifndef LOCKSTEP_COMMON_LOADER_PLUGIN_FILE_H
#define LOCKSTEP_COMMON_LOADER_PLUGIN_FILE_H

#include "lockstep/common/base/text.h"

/* PLUGIN when bytes are missing, with "it is cut off: 3000 bytes of 15312". OK for anything else,
 * also for files that cannot be read or are no shared objects of this machine: the linker has
 * better words for those. */
ls_status ls_plugin_file_check(const char *path, ls_text *why);

#endif
