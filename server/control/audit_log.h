/* Audit log: what operators have asked of the service, who, when, and what came of it: the newest
 * ones, and a line of the log for each. Called by http_routes. */
#ifndef LOCKSTEP_SERVER_CONTROL_AUDIT_LOG_H
#define LOCKSTEP_SERVER_CONTROL_AUDIT_LOG_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/program/json.h"
#include "lockstep/server/control/operators.h"

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
