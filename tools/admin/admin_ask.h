/* Admin ask: one request of lockstep-admin to the API of a service, and what a refusal means to a
 * shell. Called by its commands. */
#ifndef LOCKSTEP_TOOLS_ADMIN_ADMIN_ASK_H
#define LOCKSTEP_TOOLS_ADMIN_ADMIN_ASK_H

#include "lockstep/common/program/http_client.h"
#include "lockstep/common/program/json_read.h"

#include <stdbool.h>

#define ADMIN_URL_BYTES_MAX 1024u
#define ADMIN_TOKEN_BYTES_MAX 1024u
#define ADMIN_URL "http://localhost:9300"

typedef struct admin_service {
    const char *url;                   /* up to where /api begins, without a slash at its end */
    char token[ADMIN_TOKEN_BYTES_MAX]; /* "": none */
    uint32_t retry_s;                  /* for so long `events` looks for one that is gone */
} admin_service;

/* A token alone in a file that its owner alone may read. IO, BAD_ARGUMENT. */
ls_status admin_read_token(const char *path, admin_service *out, ls_text *why);

/* The request for a path below /api/v1/; `url` has ADMIN_URL_BYTES_MAX and stays as long as it. */
ls_http_ask admin_request(const admin_service *service, const char *method, const char *path,
                          char *url);

/* OK and the answer, for ls_json_destroy; or the service's own sentence: BAD_ARGUMENT when the
 * request cannot be right, REFUSED otherwise; or why nothing came. `body` may be NULL, and is
 * destroyed. */
ls_status admin_ask_fetch(const admin_service *service, const char *method, const char *path,
                          ls_json *body, ls_json **out, ls_text *why);

/* Prints the body of the answer, whatever it is. */
ls_status admin_print_body(const admin_service *service, const char *path, ls_text *why);

/* Of a reply that is no success: the sentence in it. */
ls_status admin_refusal(const ls_http_got *got, ls_text *why);

#endif
