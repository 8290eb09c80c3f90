/* Desync files: writes the bundle of a desync while the match still holds what belongs into it.
 * Allocates and does file I/O, outside of the match. Called by server.c. */
#ifndef LOCKSTEP_SERVER_PROGRAM_DESYNC_FILES_H
#define LOCKSTEP_SERVER_PROGRAM_DESYNC_FILES_H

#include "lockstep/server/match/match.h"

#define LS_BUNDLE_PATH_BYTES_MAX 512u

/* Where it goes and what is said of this side. */
typedef struct ls_desync_files {
    const char *directory;
    uint32_t match; /* its number; a part of the name when `matches` > 1 */
    uint32_t matches;
    const ls_build_fingerprint *print; /* of this program */
} ls_desync_files;

/* Writes DIR/desync-SIM-tickT-slotS.bundle; when there is one, -tickT-slotS-2.bundle. NOT_FOUND
 * when the match holds nothing of this slot's desync any more, NO_MEMORY, FULL for a path that is
 * too long, or IO with the reason. */
ls_status ls_desync_files_write(const ls_desync_files *files, ls_match *match, uint32_t slot,
                                char path[LS_BUNDLE_PATH_BYTES_MAX], ls_text *why);

#endif
