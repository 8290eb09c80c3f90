/* Broadcast HTTP: answers the spectators of broadcasts, and the proxies between: what never changes
 * may be kept for ever, and the rest for a second. Called by the door. */
#ifndef LOCKSTEP_SERVER_BROADCAST_BROADCAST_HTTP_H
#define LOCKSTEP_SERVER_BROADCAST_BROADCAST_HTTP_H

#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/control/http_daemon.h"

typedef struct ls_broadcast_http ls_broadcast_http;

/* Of the journals in a folder, whose path is borrowed. NO_MEMORY. */
ls_status ls_broadcast_http_create(const char *folder, uint32_t delay_s, ls_event_loop *loop,
                                   ls_broadcast_http **out);
/* When no connection is left. NULL is allowed. */
void ls_broadcast_http_destroy(ls_broadcast_http *http);

/* Whether a path, or one beneath it, is answered here. */
bool ls_broadcast_http_has(const char *path);
enum MHD_Result ls_broadcast_http_answer(ls_broadcast_http *http, struct MHD_Connection *connection,
                                         const char *path);

#endif
