/* Admin command: what lockstep-admin can be told to do: the words of its command line become a
 * request, the answer becomes text. Called by the main of lockstep-admin. */
#ifndef LOCKSTEP_TOOLS_ADMIN_ADMIN_COMMAND_H
#define LOCKSTEP_TOOLS_ADMIN_ADMIN_COMMAND_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/tools/admin/admin_ask.h"

#include <stdbool.h>
#include <stdio.h>

#define ADMIN_WORDS_MAX 72u

typedef struct admin_words {
    uint32_t count; /* the command is the first */
    const char *words[ADMIN_WORDS_MAX];
} admin_words;

/* Whether the words can be right: BAD_ARGUMENT. */
ls_status admin_check_words(const admin_words *words, ls_text *why);

/* As admin_ask_fetch. The words were checked. */
ls_status admin_run(const admin_service *service, const admin_words *words, bool prints_json,
                    ls_text *why);

/* For --help. */
void admin_print_commands(FILE *file);

#endif
