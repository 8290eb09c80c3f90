/* HTTP event text: the events of the service as server-sent events (text/event-stream): the number
 * as the id, so that a client that returns goes on where it was. Called by http_listener. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_EVENT_TEXT_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_EVENT_TEXT_H

#include "lockstep/server/service/http_text.h"
#include "lockstep/server/service/service_view.h"

/* Adds the events from number `*next` on that are there, up to some kilobytes; `*next` becomes the
 * number of the one behind them. */
void ls_http_event_text_write(const ls_service_view *view, uint64_t *next, ls_http_text *text);

#endif
