/* Admission: decides about clients that want into this server: its identity, the invite that it
 * prints, the connect tokens that it takes, and clients that have an address alone; and says in the
 * log who was kept out. Owns the files of the identity and of the tokens' key. Called by main and
 * server. */
#ifndef LOCKSTEP_SERVER_HOST_ADMISSION_H
#define LOCKSTEP_SERVER_HOST_ADMISSION_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/system/file.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/sealed/sealed_server.h"
#include "lockstep/protocol/transport/transport.h"

#include <stdbool.h>

typedef struct ls_admission_options {
    const char *identity_path;  /* NULL: where ls_server_identity_open has it */
    const char *invite_path;    /* gets the invite; NULL: it is printed alone */
    const char *invite_host;    /* in the invite; NULL: what is listened on, or this machine's */
    bool is_insecure;           /* clients with an address alone get in as well */
    bool is_invite_only;        /* clients with the server's public key alone do not */
    const char *token_key_path; /* clients with a connect token get in, and others only by the
                                 * invite's secret; NULL: there are no tokens */
    const char *token_servers;  /* "HOST[:PORT],...": tokens for one of these; NULL: for any */
    uint64_t token_protocol_id; /* of the tokens */
    bool is_published;          /* at a relay: its players know the server by its key */
} ls_admission_options;

typedef struct ls_admission {
    ls_admission_options options;
    const char *bind_host; /* borrowed */
    ls_endpoint bound;     /* what that is */
    ls_invite published;   /* its host and port, as ls_admission_publish had them */
    bool has_invite;       /* a server for this machine alone that was told nothing needs none */
    ls_sealed_server_config sealed;
    ls_token_gate *gate;    /* NULL: no tokens are taken */
    ls_file_facts key_file; /* all zero: there was none */
    /* Of those who were kept out, so many are in the log. */
    uint64_t logged_refusals[LS_TOKEN_REFUSAL_COUNT];
    uint64_t logged_denials[LS_DENIAL_END];
    ls_log_budget lines;
} ls_admission;

/* Whether options fit together: BAD_ARGUMENT in the words of the command line. */
ls_status ls_admission_check(const ls_admission_options *options, ls_text *why);

/* A server that listens on `bind_host`. BAD_ARGUMENT, NOT_FOUND, IO. */
ls_status ls_admission_open(const ls_admission_options *options, const char *bind_host,
                            ls_admission *out, ls_text *why);
/* Overwrites its keys; the transport that was made with its config is gone by then. */
void ls_admission_wipe(ls_admission *admission);

/* The invite to a room of a worker; "" when a client needs none, or gets in by a token alone. */
void ls_admission_invite(const ls_admission *admission, const ls_invite *to, char *out,
                         size_t capacity);

/* Writes the invite to its file, if it has one. IO. */
ls_status ls_admission_write_invite(const ls_admission *admission, uint16_t port, ls_text *why);

/* From now on invites name this place, CODE@HOST and the port of a relay, in place of the server's
 * own. The host is borrowed for the call. */
void ls_admission_publish(ls_admission *admission, const char *host, uint16_t port);
/* The same with the place where a router leads to the server, unless the operator has named one;
 * all zero: it leads there no more. Writes the invite's file, and says how to get in. */
void ls_admission_map(ls_admission *admission, const ls_endpoint *outside, uint16_t own_port,
                      const ls_log *log);

/* Says how to get in. */
void ls_admission_log(const ls_admission *admission, uint16_t port, const ls_log *log);

/* To be called about once a second, and at the end: tells tokens the time, reads the file of their
 * key again when it is another one, and tells the log who was kept out since. */
void ls_admission_watch(ls_admission *admission, const ls_transport *transport, ls_log *log,
                        uint64_t now_ns);

/* Connect tokens that were no good, so far. */
uint64_t ls_admission_tokens_refused(const ls_admission *admission);

#endif
