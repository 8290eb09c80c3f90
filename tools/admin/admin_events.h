/* Admin events: follows the events of a service and prints each as a line. Called by
 * admin_command. */
#ifndef LOCKSTEP_TOOLS_ADMIN_ADMIN_EVENTS_H
#define LOCKSTEP_TOOLS_ADMIN_ADMIN_EVENTS_H

#include "lockstep/tools/admin/admin_ask.h"

#include <stdbool.h>

/* Until the service has ended the stream, or is lost, and is not found again within its `retry_s`.
 * Goes on behind the newest event then. `prints_json`: an object a line. */
ls_status admin_follow_events(const admin_service *service, bool prints_json, ls_text *why);

#endif
