/* Batch: verifies all journals of a folder, each in a process of its own, several at a time: one
 * that crashes its simulation, or never ends, spoils no other. Called by lockstep_replay.c. */
#ifndef LOCKSTEP_TOOLS_REPLAY_BATCH_H
#define LOCKSTEP_TOOLS_REPLAY_BATCH_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/program/console.h"
#include "lockstep/common/program/exit_code.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Journal list: the journals in a folder and in the folders below it, by their names.
 * Reads none of them ---- */

typedef struct replay_journal_list {
    char **paths; /* sorted */
    uint32_t count;
    uint32_t capacity;
} replay_journal_list;

bool replay_is_folder(const char *path);

/* ---- the batch ---- */

#define REPLAY_JOBS_MAX 64u
#define REPLAY_TIME_LIMIT_S_MAX 86400u

typedef struct replay_batch_config {
    const char *path;               /* a folder, or one journal */
    const char *simulation;         /* NULL: the built-ins that the journals name */
    const char *const *assignments; /* of --param */
    uint32_t assignment_count;
    const char *junit_path; /* NULL: no such report; "-": standard output */
    const char *json_path;  /* likewise */
    uint32_t jobs;          /* at a time; 0: as many as there are processors */
    uint32_t time_limit_s;  /* of one journal */
    bool is_quiet;          /* prints nothing but warnings */
} replay_batch_config;

ls_exit_code replay_batch_run(const replay_batch_config *config, ls_console *console);

#endif
