/* Desync files: writes the bundles of desyncs, one after another. All that a match has at the
 * desync is copied at once; a thread of the loop's pool compresses and writes it, so that the match
 * does not wait for that. Called by rooms.c. */
#ifndef LOCKSTEP_SERVER_ROOMS_DESYNC_FILES_H
#define LOCKSTEP_SERVER_ROOMS_DESYNC_FILES_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/match/match.h"

#define LS_BUNDLE_PATH_BYTES_MAX 512u

typedef struct ls_desync_files ls_desync_files;

/* A bundle was written, or could not be. */
typedef struct ls_desync_file {
    uint64_t room; /* as write was given it */
    uint32_t slot;
    const char *planned; /* the path that write told */
    ls_status status;    /* OK: it is at `path` */
    const char *path;
    const char *why; /* a sentence, or empty */
} ls_desync_file;

/* Where bundles go and what is said of this side. */
typedef struct ls_desync_files_config {
    const char *directory;
    uint64_t bytes_max;  /* of all bundles together */
    ls_event_loop *loop; /* outlives the files */
    void (*on_written)(void *user, const ls_desync_file *file);
    void *user;
} ls_desync_files_config;

/* NO_MEMORY, IO. The texts are borrowed until destroy. */
ls_status ls_desync_files_create(const ls_desync_files_config *config, ls_desync_files **out);

/* Waits for what is being written, and says it. NULL is allowed. */
void ls_desync_files_destroy(ls_desync_files *files);

/* The slot of a bundle that is of a refusal. */
#define LS_DESYNC_FILES_NO_SLOT UINT32_MAX

/* The desync that a bundle is to tell of. */
typedef struct ls_desync_file_task {
    uint64_t room;                     /* a number that no other room ever has */
    const char *label;                 /* a part of the name; "": none */
    const ls_build_fingerprint *print; /* of this program; NULL: unknown */
    ls_match *match;
    uint32_t slot;   /* NO_SLOT: of the newest refusal (match.h) in its place */
    const char *why; /* of that the sentence; else NULL */
} ls_desync_file_task;

/* Begins to write DIR/desync-LABEL-SIM-tickT-slotS.bundle, or when there is one,
 * -tickT-slotS-2.bundle, of tick 0 for a refusal: `path` is its name. NOT_FOUND when the match
 * holds nothing of this slot's desync any more, NO_MEMORY, also where too much waits to be written,
 * or FULL for a path that is too long, or when all bytes are written already; with OK on_written
 * follows, perhaps at once, with FULL when the bundle would be more than is left. */
ls_status ls_desync_files_write(ls_desync_files *files, const ls_desync_file_task *task,
                                char path[LS_BUNDLE_PATH_BYTES_MAX]);

#endif
