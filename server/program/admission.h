/* Admission: decides about clients that want into this server: its identity, the invite that it
 * prints, and clients that have an address alone. Owns the identity's file. Called by main and
 * server. */
#ifndef LOCKSTEP_SERVER_PROGRAM_ADMISSION_H
#define LOCKSTEP_SERVER_PROGRAM_ADMISSION_H

#include "lockstep/common/base/log.h"
#include "lockstep/protocol/sealed/sealed_server.h"

#include <stdbool.h>

typedef struct ls_admission_options {
    const char *identity_path; /* NULL: where ls_server_identity_open has it */
    const char *invite_path;   /* gets the invite; NULL: it is printed alone */
    const char *invite_host;   /* in the invite; NULL: what is listened on, or this machine's */
    bool is_insecure;          /* clients with an address alone get in as well */
    bool is_invite_only;       /* clients with the server's public key alone do not */
} ls_admission_options;

typedef struct ls_admission {
    ls_admission_options options;
    const char *bind_host; /* borrowed */
    ls_endpoint bound;     /* what that is */
    bool has_invite;       /* a server for this machine alone that was told nothing needs none */
    ls_sealed_server_config sealed;
} ls_admission;

/* A server that listens on `bind_host`. BAD_ARGUMENT, NOT_FOUND, IO. */
ls_status ls_admission_open(const ls_admission_options *options, const char *bind_host,
                            ls_admission *out, ls_text *why);
/* Overwrites its keys. */
void ls_admission_wipe(ls_admission *admission);

/* Writes the invite to its file, if it has one. IO. */
ls_status ls_admission_write_invite(const ls_admission *admission, uint16_t port, ls_text *why);

/* Says how to get in. */
void ls_admission_log(const ls_admission *admission, uint16_t port, const ls_log *log);

#endif
