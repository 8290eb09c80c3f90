/* Connection paths: the addresses of a server's connection: where it is reached, where its newest
 * packet came from, which ones are challenged, and when it moves, as protocol/SEALED.md has it.
 * Knows no cipher and sends nothing. Private to sealed_server. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_CONNECTION_PATHS_H
#define LOCKSTEP_PROTOCOL_SEALED_CONNECTION_PATHS_H

#include "lockstep/common/base/endpoint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Zeroed but for `active`: it has been nowhere else. */
typedef struct ls_connection_paths {
    ls_endpoint active;      /* where the connection is reached */
    bool has_candidate;      /* the newest packet came from `candidate`, which is not `active` */
    bool is_candidate_heard; /* the client hears what is sent there */
    bool is_active_heard;    /* likewise, since challenges go there */
    bool has_answered;       /* something else than a challenge went to the candidate since one */
    uint8_t unanswered;      /* challenges to `active` since the last one that was answered */
    uint32_t credit_bytes;   /* that the candidate may be sent, with headers */
    ls_endpoint candidate;
    uint64_t challenged_ns; /* both; 0: never */
    uint64_t silent_ns;     /* `active` has not answered since then */
    uint32_t moves;         /* PATH_MOVED's count when it moved last */
    ls_endpoint former; /* left because it was silent, until former_until_ns; 0: there is none */
    uint64_t former_until_ns;
    uint64_t former_challenged_ns;
} ls_connection_paths;

/* The newest packet so far came from there: a datagram of `size` bytes. */
void ls_connection_paths_receive(ls_connection_paths *paths, const ls_endpoint *from, size_t size,
                                 uint64_t now_ns);

/* Whether there is more than one address, so that challenges may be due. */
static inline bool ls_connection_paths_are_several(const ls_connection_paths *paths)
{
    return paths->has_candidate || paths->former_until_ns != 0;
}

/* Bytes that a datagram to the candidate may have, as an answer to what came from there; 0: none
 * may go there. */
size_t ls_connection_paths_room(const ls_connection_paths *paths);
/* A datagram of at most so many bytes goes there. */
void ls_connection_paths_spend(ls_connection_paths *paths, size_t size);

/* Where everything goes beside the active address, while it is not known which of both the client
 * will keep; NULL: nowhere. */
const ls_endpoint *ls_connection_paths_second(const ls_connection_paths *paths);

/* The addresses that are challenged now, with `size` bytes each; returns how many. */
uint32_t ls_connection_paths_challenge(ls_connection_paths *paths, size_t size, uint64_t now_ns,
                                       ls_endpoint to[LS_PATH_CHALLENGES_MAX]);

/* The client has answered the challenge of this address; it says that it moved so often, or 0.
 * Returns whether that is where the connection is reached from now on. */
bool ls_connection_paths_prove(ls_connection_paths *paths, const ls_endpoint *address,
                               uint32_t moves, uint64_t now_ns);

LS_C_END

#endif
