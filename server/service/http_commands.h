/* HTTP commands: what an operator asks of the service over HTTP: reads the request's body into a
 * command, hands it to the service, and turns its result into the answer, which may come later.
 * Called by http_api, which has looked at the token and the path. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_COMMANDS_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_COMMANDS_H

#include "lockstep/server/service/http_exchange.h"
#include "lockstep/server/service/service_view.h"

typedef struct ls_http_command {
    ls_service_command_kind kind;
    const char *room; /* of the path; NULL: there is none */
    uint32_t slot;
} ls_http_command;

void ls_http_commands_run(const ls_service_view *view, const ls_http_command *command,
                          const ls_http_request *request, ls_http_exchange *exchange);

#endif
