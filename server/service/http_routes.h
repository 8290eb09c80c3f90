/* HTTP routes: which part answers which path: metrics, health, the API and the dashboard. Decides
 * nothing of its own but 404 and 405. Called by http_listener for each whole request. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_ROUTES_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_ROUTES_H

#include "lockstep/server/service/http_api.h"

/* Answers at once, or later: then the exchange says so when it is answered. */
void ls_http_routes_answer(const ls_http_api *api, const ls_http_request *request,
                           ls_http_exchange *exchange);

#endif
