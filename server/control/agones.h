/* Agones: tells the sidecar of Agones' SDK how the service is, follows what it says of the game
 * server, and opens the room of an allocation. A sidecar that is slow or away holds up nothing.
 * Decides nothing: agones_plan.h does. Called by supervisor. */
#ifndef LOCKSTEP_SERVER_CONTROL_AGONES_H
#define LOCKSTEP_SERVER_CONTROL_AGONES_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/runtime/event_loop.h"
#include "lockstep/server/service/service_view.h"

#define LS_AGONES_PORT 9358u /* unless AGONES_SDK_HTTP_PORT names another */

typedef struct ls_agones_config {
    uint16_t port;              /* of the sidecar, on this machine */
    uint32_t join_timeout_s;    /* see agones_plan.h */
    const char *token_key_path; /* gets the key that an allocation brings; NULL: no tokens */
    const ls_service_view *view;
    ls_event_loop *loop;
    const ls_log *log;
} ls_agones_config;

typedef struct ls_agones ls_agones;

/* The port that the environment names. BAD_ARGUMENT when that is none, with `why`. */
ls_status ls_agones_find_port(uint16_t *port, ls_text *why);

/* NO_MEMORY. */
ls_status ls_agones_create(const ls_agones_config *config, ls_agones **out);
/* NULL is allowed. */
void ls_agones_destroy(ls_agones *agones);

/* The sidecar was told that the service has ended, or has not answered for so long that nobody is
 * there. */
bool ls_agones_has_said_goodbye(const ls_agones *agones);

#endif
