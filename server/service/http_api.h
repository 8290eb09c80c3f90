/* HTTP API: answers of everything below /api/v1/ that only reads. openapi.json describes them, and
 * a test compares. Called by http_routes, which has looked at the token and the path. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_API_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_API_H

#include "lockstep/server/service/http_exchange.h"
#include "lockstep/server/service/service_view.h"

/* A request whose path is known. */
typedef struct ls_http_call {
    const ls_service_view *view;
    const ls_http_request *request;
    ls_http_exchange *exchange;
    ls_service_command command; /* its kind, room and slot are those of the path */
} ls_http_call;

void ls_http_get_service(const ls_http_call *of);
void ls_http_get_rooms(const ls_http_call *of);
void ls_http_get_room(const ls_http_call *of);
void ls_http_get_workers(const ls_http_call *of);
void ls_http_get_events(const ls_http_call *of);

#endif
