/* Operators: the people who may ask something of a service, each by a token of its own: that of
 * [http] token-file, whose holder may do all, and those of the file of operators, of which each has
 * a name and a role. Reads the files again when they change. Called by the supervisor and
 * http_routes. */
#ifndef LOCKSTEP_SERVER_CONTROL_OPERATORS_H
#define LOCKSTEP_SERVER_CONTROL_OPERATORS_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/program/json.h"
#include "lockstep/common/system/file.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_OPERATORS_MAX 64u
#define LS_OPERATOR_NAME_BYTES_MAX 32u
#define LS_OPERATOR_TOKEN_BYTES_MIN 16u
#define LS_OPERATOR_TOKEN_BYTES_MAX 256u /* with its NUL */

/* Each may do what those before it may. */
typedef enum ls_operator_role {
    LS_OPERATOR_VIEW,     /* sees */
    LS_OPERATOR_MODERATE, /* pauses, speaks, sends players away */
    LS_OPERATOR_ADMIN,    /* opens and ends rooms, stops the service */
} ls_operator_role;

typedef struct ls_operator {
    char name[LS_OPERATOR_NAME_BYTES_MAX];
    ls_operator_role role;
    char token[LS_OPERATOR_TOKEN_BYTES_MAX];
} ls_operator;

typedef struct ls_operators {
    uint32_t count; /* 0: the API answers nobody */
    ls_operator rows[LS_OPERATORS_MAX];
} ls_operators;

const char *ls_operator_role_word(ls_operator_role role);

/* FULL, or BAD_ARGUMENT: a name or token that is none, or another one's. */
ls_status ls_operators_add(ls_operators *operators, const char *name, ls_operator_role role,
                           const char *token, ls_text *why);

/* Adds those of the text of a file, a line "NAME ROLE TOKEN" each; '#' begins a remark. `path` is
 * for the sentence, in which nothing of the text stands. */
ls_status ls_operators_parse(ls_operators *operators, const char *text, const char *path,
                             ls_text *why);

/* NULL: no operator has this token. Takes as long whatever the token is. */
const ls_operator *ls_operators_find(const ls_operators *operators, const char *token);

/* ---- the files ---- */

typedef struct ls_operator_files {
    const char *token_path;     /* of one that holds a token alone, of the operator "token" */
    const char *operators_path; /* both: NULL or "" for none */
    ls_file_facts seen[2];
} ls_operator_files;

/* Private files. NOT_FOUND, IO, BAD_ARGUMENT, with `why`; `out` stays as it was then. */
ls_status ls_operators_read(ls_operator_files *files, ls_operators *out, ls_text *why);

/* Reads them anew when one was changed, and tells the log; once a second, say. */
void ls_operators_watch(ls_operator_files *files, ls_operators *operators, const ls_log *log);

/* ---- Audit log: what operators have asked of the service, who, when, and what came of it: the
 * newest ones, and a line of the log for each. Called by http_routes. */

#define LS_AUDIT_KEPT 256u

typedef struct ls_audit_entry {
    uint64_t number; /* from 1, without gaps */
    uint64_t unix_ms;
    char name[LS_OPERATOR_NAME_BYTES_MAX];
    char role[16];
    char what[160];  /* "POST rooms/duel/players/1/kick" */
    char body[256];  /* the beginning of what came with it */
    uint32_t status; /* of HTTP */
    ls_text result;
} ls_audit_entry;

/* All zero at first, but for `log`. */
typedef struct ls_audit_log {
    const ls_log *log; /* NULL: none */
    uint64_t newest;   /* its number; 0: there is none */
    ls_audit_entry entries[LS_AUDIT_KEPT];
} ls_audit_log;

/* Gives it its number and its time. Texts may hold anything. Commands of one operator that his role
 * does not do share an entry when they come in a row, so that they push no other one out. */
void ls_audit_log_add(ls_audit_log *audit, const ls_audit_entry *entry);

/* {"entries": [...]}, the oldest first. */
void ls_audit_log_write(const ls_audit_log *audit, ls_json *object);

#endif
