/* HTTP routes: answers each path: metrics, health, the dashboard and the API, below /api/v1/, whose
 * token it looks at. A command goes to the service, whose result may come later. Called by
 * http_listener for each whole request. */
#ifndef LOCKSTEP_SERVER_CONTROL_HTTP_ROUTES_H
#define LOCKSTEP_SERVER_CONTROL_HTTP_ROUTES_H

#include "lockstep/server/control/http_exchange.h"
#include "lockstep/server/control/operators.h"
#include "lockstep/server/service/service_view.h"

typedef struct ls_http_api {
    const ls_service_view *view;
    const ls_operators *operators; /* NULL: the API answers nobody */
    ls_audit_log *audit;           /* of what they ask; outlives the view's answers */
    const char *hosts;             /* names of the service in a Host header; NULL: none */
    ls_http_text metrics;          /* as they were written last; to be deinitialised */
    uint64_t metrics_free_ns;      /* they may be written anew, if not before */
} ls_http_api;

/* Answers at once, or later: then the exchange says so when it is answered. */
void ls_http_routes_answer(ls_http_api *api, const ls_http_request *request,
                           ls_http_exchange *exchange);

/* Whether what is at this path is answered in no time: the probes of orchestrators. */
bool ls_http_routes_is_cheap(const char *path);

/* Whether the events may go on to who asked for them with this header (NULL: none): the token may
 * have been withdrawn since. */
bool ls_http_routes_may_follow(const ls_http_api *api, const char *authorization);

/* Adds the events from number `*next` on that are there, as server-sent events: the number is the
 * id, so that a client that returns goes on where it was. */
void ls_http_routes_add_events(const ls_service_view *view, uint64_t *next, ls_http_text *text);

/* ---- HTTP metrics: the figures of the service in the text format of Prometheus, 0.0.4. The number
 * of lines is bounded: rooms beyond the first LS_HTTP_METRICS_ROOMS_MAX, by name, are one,
 * "_others". Keeps nothing: the service's own sums of rooms that are gone are why no total goes
 * back. Called by http_routes ---- */

#define LS_HTTP_METRICS_ROOMS_MAX 256u
#define LS_HTTP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Between two turns of the loop: the view's reports must stay as they are. */
void ls_http_metrics_write(const ls_service_view *view, ls_http_text *text);

#endif
