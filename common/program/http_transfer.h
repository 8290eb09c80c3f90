/* HTTP transfer: one request as libcurl has it, and its reply as it comes in, whoever drives it:
 * http_client, which waits for it, or agones, on an event loop. Called by those alone. */
#ifndef LOCKSTEP_COMMON_PROGRAM_HTTP_TRANSFER_H
#define LOCKSTEP_COMMON_PROGRAM_HTTP_TRANSFER_H

#include "lockstep/common/program/http_client.h"

#include <curl/curl.h>

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
