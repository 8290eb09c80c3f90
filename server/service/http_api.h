/* HTTP API: everything below /api/v1/. Looks at the token, finds out what a method and a path mean,
 * and answers what only reads. Changes go through http_commands. Its description is openapi.json,
 * which a test compares with the answers. Called by http_routes. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_API_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_API_H

#include "lockstep/server/service/http_exchange.h"
#include "lockstep/server/service/service_view.h"

#define LS_HTTP_API_PREFIX "/api/v1/"

typedef struct ls_http_api {
    const ls_service_view *view;
    const char *token; /* NULL or "": the API answers nobody */
} ls_http_api;

/* The path begins with the prefix. */
void ls_http_api_answer(const ls_http_api *api, const ls_http_request *request,
                        ls_http_exchange *exchange);

#endif
