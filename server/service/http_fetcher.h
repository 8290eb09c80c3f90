/* HTTP fetcher: requests of the service to other services, several at a time, on the event loop:
 * none of them is waited for, and no thread is made. Called by agones. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_FETCHER_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_FETCHER_H

#include "lockstep/common/program/http_client.h"
#include "lockstep/common/runtime/event_loop.h"

typedef struct ls_http_fetcher ls_http_fetcher;

/* Status and sentence as those of ls_http_client_ask; `got` is good until the call returns. May
 * start another. */
typedef void (*ls_http_fetched)(void *user, ls_status status, const ls_http_got *got,
                                const ls_text *why);

/* NO_MEMORY, IO. The loop must outlive it. */
ls_status ls_http_fetcher_create(ls_event_loop *loop, ls_http_fetcher **out);
/* Ends what is under way, which nobody is told of. Not from within a call. NULL is allowed. */
void ls_http_fetcher_destroy(ls_http_fetcher *fetcher);

/* `done` is called once, later. The texts of the request are copied. NO_MEMORY. */
ls_status ls_http_fetcher_start(ls_http_fetcher *fetcher, const ls_http_ask *ask,
                                ls_http_fetched done, void *user);

#endif
