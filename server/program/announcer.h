/* Announcer: answers the queries of clients that look for servers on the local network. A server
 * without one is only not found. Called by server.c. */
#ifndef LOCKSTEP_SERVER_PROGRAM_ANNOUNCER_H
#define LOCKSTEP_SERVER_PROGRAM_ANNOUNCER_H

#include "lockstep/common/base/text.h"
#include "lockstep/server/host/host.h"

typedef struct ls_announcer_config {
    const ls_host *host; /* that outlives the announcer */
    const char *bind_host;
    uint32_t matches;
    uint16_t find_port; /* UDP, for queries */
} ls_announcer_config;

typedef struct ls_announcer ls_announcer;

/* NO_MEMORY or IO, with the reason. */
ls_status ls_announcer_create(const ls_announcer_config *config, const ls_allocator *allocator,
                              ls_announcer **out, ls_text *why);
void ls_announcer_destroy(ls_announcer *announcer); /* NULL is allowed */

#endif
