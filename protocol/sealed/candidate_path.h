/* Candidate path: the address that the newest packet of a connection came from while it is not
 * proven to be the client's, and how many bytes may go there: as many as have come from there,
 * headers of IP and UDP counted on both sides. Called by sealed_server. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_CANDIDATE_PATH_H
#define LOCKSTEP_PROTOCOL_SEALED_CANDIDATE_PATH_H

#include "lockstep/protocol/transport/endpoint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: there is none. */
typedef struct ls_candidate_path {
    ls_endpoint endpoint;
    uint32_t credit_bytes;
    bool is_there;
} ls_candidate_path;

/* A datagram of the connection that is its newest has come from there; with another address than
 * before what is left of that one's bytes is gone. */
void ls_candidate_path_receive(ls_candidate_path *path, const ls_endpoint *from, size_t size);

/* Bytes that a datagram to there may have; 0: none may go there. */
size_t ls_candidate_path_room(const ls_candidate_path *path);

/* A datagram of so many bytes goes there; there is room for it. */
void ls_candidate_path_take(ls_candidate_path *path, size_t size);

#endif
