/* Publisher: keeps a server registered with a relay, and says in the log and in the invite how
 * players come in by it; and keeps it in the relay's directory where it is to be found there.
 * Called by server.c. */
#ifndef LOCKSTEP_SERVER_HOST_PUBLISHER_H
#define LOCKSTEP_SERVER_HOST_PUBLISHER_H

#include "lockstep/common/system/datagram_socket.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/server/host/admission.h"
#include "lockstep/server/host/host.h"

/* The workers of a service share it, zeroed at first. Worker 0 is registered, and lists the sums;
 * the service says how players come in. */
typedef struct ls_publisher_shared {
    ls_relay_flows flows;
    struct ls_publisher_counts {
        atomic_uint players, seats, spectators;
    } workers[LS_SEALED_WORKERS_MAX];
    atomic_uint port;          /* of the relay; stored before the code */
    atomic_uint page;          /* likewise: its door for pages, twice the port and whether by TLS */
    atomic_uint_fast64_t code; /* the characters, the first one lowest; 0: none yet */
} ls_publisher_shared;

typedef struct ls_publisher_config {
    const char *relay;       /* HOST[:PORT]; outlives the publisher */
    const char *key_path;    /* of the relay's key file; NULL: none */
    const char *public_name; /* in the directory, as ls_player_name_read has it; NULL: not there */
    const char *region;      /* there, an ls_relay_is_word; NULL: not told */
    const char *page;        /* there, the link of the page without an invite; NULL: none */
    ls_admission *admission; /* borrowed */
    const ls_log *log;       /* likewise */
    ls_publisher_shared *shared; /* likewise; NULL: this is no worker */
    uint32_t worker;
} ls_publisher_config;

typedef struct ls_publisher ls_publisher;

/* Resolves the relay's name, which may block for seconds. NOT_FOUND, TIMED_OUT, BAD_ARGUMENT, IO
 * and NO_MEMORY, with what is wrong. */
ls_status ls_publisher_create(const ls_publisher_config *config, ls_publisher **out, ls_text *why);
/* Takes its game off the relay's list, while its socket is open. NULL is allowed. */
void ls_publisher_withdraw(ls_publisher *publisher);
/* After the transport that stood on its socket. NULL is allowed. */
void ls_publisher_destroy(ls_publisher *publisher);

/* The socket for the server's transport, once; takes the one that it stands on, and returns it for
 * NULL. */
ls_datagram_socket *ls_publisher_socket_around(ls_publisher *publisher, ls_datagram_socket *inner);

/* Whether the relay runs on this machine, as in trials: no router is in the way. */
bool ls_publisher_is_local(const ls_publisher *publisher);

/* Where a router leads to the server; all zero: nowhere. */
void ls_publisher_set_outside(ls_publisher *publisher, const ls_endpoint *outside);

/* By a service: when its worker has another code than `*announced`, says it in the log and in the
 * invites, and keeps it there. True: it has done so. */
bool ls_publisher_announce(const ls_publisher_shared *shared, const char *relay,
                           ls_admission *admission, uint64_t *announced, const ls_log *log);

/* From now on the host's loop drives it, and its matches are what the directory says; it ends with
 * the loop. NULL is allowed for the publisher. IO, NO_MEMORY. */
ls_status ls_publisher_attach(ls_publisher *publisher, const ls_host *host);

#endif
