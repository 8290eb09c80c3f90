/* TLS files: the certificate of the HTTP interface and its key, from files in PEM that are read
 * again when they change: connections that begin from then on get the new one. The only module
 * that knows GnuTLS. Called by the supervisor,
 * http_daemon and server/door. */
#ifndef LOCKSTEP_SERVER_CONTROL_TLS_FILES_H
#define LOCKSTEP_SERVER_CONTROL_TLS_FILES_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

typedef struct ls_tls_files ls_tls_files;

typedef struct ls_tls_files_config {
    const char *certificate_path; /* with those of its issuers behind it */
    const char *key_path;         /* a private file */
} ls_tls_files_config;

/* There is one at a time in a process. IO, BAD_ARGUMENT (no certificate, no key, or not a pair) or
 * NO_MEMORY with `why`. */
ls_status ls_tls_files_open(const ls_tls_files_config *config, ls_tls_files **out, ls_text *why);
/* The same without keeping them: another process will. */
ls_status ls_tls_files_check(const ls_tls_files_config *config, ls_text *why);
/* NULL is allowed. */
void ls_tls_files_close(ls_tls_files *files);

/* Reads the files anew when one was changed, and tells the log; a pair that is no good changes
 * nothing. Once a second, say. NULL is allowed. */
void ls_tls_files_watch(ls_tls_files *files, const ls_log *log);

/* For libmicrohttpd: the place of a gnutls_certificate_retrieve_function3, which gives what is
 * open; and the versions of TLS that are good enough, in GnuTLS's words. */
void *ls_tls_files_retrieve(void);
char *ls_tls_files_priorities(void);

#endif
