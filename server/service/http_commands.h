/* HTTP commands: what an operator asks of the service over HTTP: reads the request's body into a
 * command, hands it to the service, and turns its result into the answer, which may come later.
 * Called by http_routes, which has looked at the token and the path. */
#ifndef LOCKSTEP_SERVER_SERVICE_HTTP_COMMANDS_H
#define LOCKSTEP_SERVER_SERVICE_HTTP_COMMANDS_H

#include "lockstep/server/service/http_api.h"

void ls_http_command_answer(ls_http_call *of);

#endif
