/* Admin command: what lockstep-admin can be told to do: the words of its command line become a
 * request, the answer becomes text. Called by the main of lockstep-admin. */
#ifndef LOCKSTEP_TOOLS_ADMIN_ADMIN_COMMAND_H
#define LOCKSTEP_TOOLS_ADMIN_ADMIN_COMMAND_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define ADMIN_TOKEN_BYTES_MAX 1024u
#define ADMIN_URL "http://localhost:9300"

typedef struct admin_service {
    const char *url;                   /* up to where /api begins, without a slash at its end */
    char token[ADMIN_TOKEN_BYTES_MAX]; /* "": none */
    const char *ca_file;               /* the issuers that HTTPS trusts; NULL: the system's */
    uint32_t retry_s;                  /* for so long `events` looks for one that is gone */
} admin_service;

/* A token alone in a file that its owner alone may read. IO, BAD_ARGUMENT. */
ls_status admin_read_token(const char *path, admin_service *out, ls_text *why);

#define ADMIN_WORDS_MAX 72u

typedef struct admin_words {
    uint32_t count; /* the command is the first */
    const char *words[ADMIN_WORDS_MAX];
} admin_words;

/* Whether the words can be right: BAD_ARGUMENT. */
ls_status admin_check_words(const admin_words *words, ls_text *why);

/* OK, or why not: the service's own sentence, BAD_ARGUMENT when the request cannot be right,
 * REFUSED otherwise; or why nothing came. The words were checked. */
ls_status admin_run(const admin_service *service, const admin_words *words, bool prints_json,
                    ls_text *why);

/* For --help. */
void admin_print_commands(FILE *file);

#endif
