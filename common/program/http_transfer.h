/* HTTP transfer: one request as libcurl has it, and its reply as it comes in, whoever drives it:
 * ls_http_client_ask, which waits for it, or agones, on an event loop. */
#ifndef LOCKSTEP_COMMON_PROGRAM_HTTP_TRANSFER_H
#define LOCKSTEP_COMMON_PROGRAM_HTTP_TRANSFER_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

#include <curl/curl.h>
#include <stddef.h>
#include <stdint.h>

/* ---- HTTP client: one request to a service and its reply, kept whole or handed on as it
 * comes. Blocks: for programs, and for threads of their own. Follows no redirect and asks
 * no proxy, so that a token goes nowhere else ---- */

#define LS_HTTP_REPLY_BYTES_MAX ((size_t)64 << 20)

typedef struct ls_http_ask {
    const char *method;
    const char *url;         /* http:// or https:// */
    const char *token;       /* for Authorization: Bearer; NULL: none */
    const char *header;      /* one more, "Name: value"; NULL: none */
    const char *body;        /* JSON; NULL: none */
    const char *ca_file;     /* in PEM, of who may have issued the server's; NULL: the system's */
    uint32_t timeout_ms;     /* of the whole; 0: none */
    uint32_t idle_timeout_s; /* without a byte; 0: none */
    /* Gets the body of a reply 200 as it comes; any failure ends the request. NULL: it is kept. */
    ls_status (*receive)(void *user, const char *bytes, size_t size);
    void *user;
} ls_http_ask;

typedef struct ls_http_got {
    unsigned status;
    char *body; /* ends with NUL; NULL: it has none, or it was handed on */
    size_t size;
} ls_http_got;

/* An answer of any status is LS_OK. NOT_FOUND: no such host; REFUSED: nothing listens there;
 * TIMED_OUT, DISCONNECTED, FULL (too large), BAD_ARGUMENT (the URL), NO_MEMORY, IO; or what `take`
 * gave; with a sentence. */
ls_status ls_http_client_ask(const ls_http_ask *ask, ls_http_got *out, ls_text *why);

void ls_http_got_deinit(ls_http_got *got);

/* ---- the transfer ---- */

typedef struct ls_http_transfer {
    ls_http_ask ask; /* its texts are the caller's, and copied where libcurl needs them longer */
    CURL *curl;
    struct curl_slist *headers;
    ls_http_got got;
    size_t capacity;
    ls_status status; /* why the reply was given up */
} ls_http_transfer;

/* The transfer stays where it is until it is closed. NO_MEMORY; close it in any case. */
ls_status ls_http_transfer_open(ls_http_transfer *transfer, const ls_http_ask *ask);
void ls_http_transfer_close(ls_http_transfer *transfer);

/* Its end, as ls_http_client_ask gives it: the reply is the caller's now. */
ls_status ls_http_transfer_take(ls_http_transfer *transfer, CURLcode code, ls_http_got *out,
                                ls_text *why);

#endif
