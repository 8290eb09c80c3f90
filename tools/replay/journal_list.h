/* Journal list: the journals in a folder and in the folders below it, by their names. Reads none of
 * them. Called by batch. */
#ifndef LOCKSTEP_TOOLS_REPLAY_JOURNAL_LIST_H
#define LOCKSTEP_TOOLS_REPLAY_JOURNAL_LIST_H

#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct replay_journal_list {
    char **paths; /* sorted */
    uint32_t count;
    uint32_t capacity;
} replay_journal_list;

bool replay_is_folder(const char *path);

/* Adds the file, or each "*.journal" of the folder; links to folders are not followed. IO with the
 * reason, or NO_MEMORY: free the list all the same. */
ls_status replay_journal_list_fill(replay_journal_list *list, const char *path, ls_text *why);
void replay_journal_list_free(replay_journal_list *list);

#endif
