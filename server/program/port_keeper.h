/* Port keeper: has the router of this network lead a port to the server, for as long as the server
 * runs, and says in the log what the router gave. A process of its own asks, which is made before
 * anything is there that could be large: so nothing that a router does, or does not do, holds up a
 * tick, and what it says is read where there is nothing to take. That process takes the mapping
 * back also when the server was killed. Called by the server. */
#ifndef LOCKSTEP_SERVER_PROGRAM_PORT_KEEPER_H
#define LOCKSTEP_SERVER_PROGRAM_PORT_KEEPER_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/log.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/runtime/event_loop.h"

typedef struct ls_port_keeper ls_port_keeper;

typedef struct ls_port_keeper_site {
    ls_event_loop *loop; /* outlives the keeper */
    uint16_t port;       /* of the server */
    /* The server's place outside, or all zero: it has none any more. */
    void (*on_mapped)(void *user, const ls_endpoint *outside);
    void *user;
} ls_port_keeper_site;

/* As early in the program as can be, and before it knows any key. The log is borrowed. NULL, where
 * this build knows no routers, this system no copies of processes, or memory is out: a server does
 * without, and the log says why, with a warning where the operator has asked for it. */
ls_port_keeper *ls_port_keeper_make(const ls_log *log, bool is_told);
/* Has the mapping taken back, for which it waits 2 s at most. NULL is allowed. */
void ls_port_keeper_destroy(ls_port_keeper *keeper);

/* Begins. NULL is allowed. IO, NO_MEMORY. */
ls_status ls_port_keeper_attach(ls_port_keeper *keeper, const ls_port_keeper_site *site);

#endif
