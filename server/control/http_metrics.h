/* HTTP metrics: the figures of the service in the text format of Prometheus, 0.0.4. The number of
 * lines is bounded: rooms beyond the first LS_HTTP_METRICS_ROOMS_MAX, by name, are one, "_others".
 * Keeps nothing: the service's own sums of rooms that are gone are why no total goes back. Called
 * by http_routes. */
#ifndef LOCKSTEP_SERVER_CONTROL_HTTP_METRICS_H
#define LOCKSTEP_SERVER_CONTROL_HTTP_METRICS_H

#include "lockstep/server/control/http_exchange.h"
#include "lockstep/server/service/service_view.h"

#define LS_HTTP_METRICS_ROOMS_MAX 256u
#define LS_HTTP_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Between two turns of the loop: the view's reports must stay as they are. */
void ls_http_metrics_write(const ls_service_view *view, ls_http_text *text);

#endif
